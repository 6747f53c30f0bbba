"""Checked rows ⇄ Delta tables: the lake, its row formats, views and exports.

Input: checked milestones. Output: lake rows. A store can be rebuilt from the lake alone. Not allowed here:
verification, and knowledge of a store.
"""

"""Milestones become checked rows of the lake: ids, cones, Merkle roots, signatures, inclusion, proof levels.

Input: milestones as sources read them, or lake rows. Output: rows of the lake with their proof levels, and rejects
with reasons. Not allowed here: rows of the tables, except marks of completeness and proof levels.
"""

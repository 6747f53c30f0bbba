"""Milestones become checked rows: ids, cones, Merkle roots, signatures, inclusion, conflicts, proof levels.

Input: milestones as sources read them, or lake rows. Output: rows with what was proved of them, and rejects with
reasons. Writes no table of a store.
"""

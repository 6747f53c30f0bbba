"""Verifies milestones: ids, cones, Merkle roots, signatures, inclusion, conflicts, proof levels.

Input: milestones as sources read them, or lake rows. Output: rows with their proof level, and rejects with reasons.
Nothing here writes tables of a store.
"""

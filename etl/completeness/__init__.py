"""Milestones of the ledger state → roots for the transparency log, and trees that prove listings complete.

Input: messages of the lake, and the ledger's changes in the store. Output: `milestone_roots`, `interval_roots`,
`listing_tiles`, `listing_parts`. Not allowed: anything in a hash that depends on the store, the engine, the order of
loads or the source files.
"""

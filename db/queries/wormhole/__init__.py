"""Named queries of a Wormhole network's tables.

Input: a store and the query's parameters. Output: rows or values. Depends on no adapter.
"""

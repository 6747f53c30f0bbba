"""Named queries over the tables of a Wormhole network.

Input: a store and the parameters of the question. Output: rows or values. Knows no adapter.
"""

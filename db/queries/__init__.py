"""Named queries: one question a function, each a bounded number of partition reads.

Input: a store and the parameters of the question. Output: rows or values. Knows no adapter.
"""

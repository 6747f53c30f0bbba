"""Computes the rows of each table from lake rows: frames, partition columns, lookups.

Input: lake rows. Output: frames in the columns of the schema. Nothing here writes to a store.
"""

"""Lake rows become rows of each table: frames, partition columns, lookups.

Input: lake rows. Output: frames in the columns of the schema. Nothing here writes into a store.
"""

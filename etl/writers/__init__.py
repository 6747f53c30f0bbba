"""Writes rows to a store in an order that survives crashes: SQLite, a cluster by its connector, a cluster by SSTables.

Input: frames of tables. Output: acknowledged rows. Nothing here computes rows.
"""

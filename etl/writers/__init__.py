"""Rows into a store, in an order that a crash cannot hurt: SQLite, a cluster by its connector, a cluster by SSTables.

Input: frames of tables. Output: acknowledged rows. Nothing here computes rows.
"""

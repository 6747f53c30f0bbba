"""Stores: what is stored, where, and how to query it.

Input: rows of tables (writes) or questions of queries (reads). Output: rows. No Spark, no web framework; no query scans
a table.
"""

"""Stores: the port, the schema, the adapters, and the queries.

Input: rows of tables (writes) or arguments of queries (reads). Output: rows. No Spark, no web framework. No query scans
a table.
"""

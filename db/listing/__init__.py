"""Listings: pages, cursors and streams of rows over one or many partitions.

Input: a slice of a table and a cursor. Output: rows in order and the next cursor. Depends on no adapter and no ledger.
"""

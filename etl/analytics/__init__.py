"""Computes analytics of milestones, days and addresses from lake rows and ledger changes.

Input: lake rows and changes. Output: frames of the analytics tables. Only native Spark columns, no Python per row.
"""

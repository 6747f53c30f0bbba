"""Lake rows and ledger changes become analytics of milestones, days and addresses.

Input: lake rows and changes. Output: frames of the analytics tables. Spark's own columns only, no Python per row.
"""

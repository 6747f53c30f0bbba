"""Complete milestones become the ledger state: changes, balances, unspent outputs, rich list, reasons of conflicts.

Input: lake rows in milestone order, and the state before them. Output: rows of the ledger tables. Not allowed here:
milestones out of order or with gaps.
"""

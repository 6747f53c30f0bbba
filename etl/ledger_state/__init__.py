"""Complete milestones become the ledger state: changes, balances, unspent outputs, address history, rich list.

Input: lake rows in milestone order, and the state before them. Output: frames of the ledger tables.
"""

"""Computes the ledger state from complete milestones: changes, balances, unspent outputs, address history, rich list.

Input: lake rows in milestone order, and the previous state. Output: frames of the ledger tables.
"""

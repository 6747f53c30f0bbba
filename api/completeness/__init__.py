"""Proofs that a listing is complete.

Input: a family of listings and a key. Output: the document of a page (ledger/completeness/document.py). Not allowed:
knowledge of how trees are stored.
"""

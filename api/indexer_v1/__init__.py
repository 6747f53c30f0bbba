"""Indexer API v1 (TIP-26) over the whole history.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

"""Node REST API v1 of Chrysalis (TIP-13), with paging.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

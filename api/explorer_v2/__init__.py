"""Explorer API v2 of inx-chronicle: history by address, children, milestones, balances, richest addresses.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

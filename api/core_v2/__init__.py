"""Core API v2 of Stardust nodes (TIP-25).

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

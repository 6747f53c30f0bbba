"""Proof of inclusion API v1: create and validate.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

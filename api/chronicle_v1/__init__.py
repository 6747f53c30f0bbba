"""Chronicle API v1: the node's routes with paging, `expanded`, analytics and sync.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

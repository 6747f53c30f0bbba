"""Request handlers that several API families share, a module per topic.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of a family.
"""

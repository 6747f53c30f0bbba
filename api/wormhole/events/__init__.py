"""Functions of the Wormhole event database, under their original names.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

"""The guardian's gateway: signed VAAs and guardian sets.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

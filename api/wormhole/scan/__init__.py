"""wormholescan's API v1: VAAs, observations, operations, activity.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

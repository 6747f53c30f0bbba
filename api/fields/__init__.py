"""Parameters and response fields that several API families share.

Input: text of requests, rows. Output: parsed values, response models. Not allowed: handlers, imports of a family.
"""

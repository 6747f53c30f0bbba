"""Analytics API v2: inx-chronicle's endpoints, and series by milestone, hour and day.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

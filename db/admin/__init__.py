"""What operators do with a store: create and migrate it, read its status, compute how large it becomes.

Input: a store or its settings. Output: reports. Never imported by queries or adapters.
"""

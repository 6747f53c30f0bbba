"""Events of a ledger: pages, and streams of server-sent events that continue live. An extension.

Input: a network and parsed parameters. Output: JSON values, and text of a stream. Not allowed: imports of another
family.
"""

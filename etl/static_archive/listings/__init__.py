"""Listings of a static archive: an interval's tree of keys and the rows of each key, as one file.

Input: tiles of the store, rows that follow from the lake. Output: files whose pages lead to a key with a bounded number
of range requests, and the documents of proofs that a client makes from them. Not allowed here: hashing what the store
has hashed; only the check does it again.
"""

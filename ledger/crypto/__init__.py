"""Hashes, signatures, address encodings and Merkle trees.

Input and output are bytes. No I/O, no knowledge of any ledger's values.
"""

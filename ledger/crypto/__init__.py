"""Hashes, signatures, address encodings and Merkle trees.

Input and output are bytes. No input or output, no knowledge of any ledger's values.
"""

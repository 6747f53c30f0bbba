"""Codecs, ids, addresses, message order and proofs of each ledger.

Input: bytes or JSON text. Output: frozen values. No I/O, no framework, no store, no Spark.
"""

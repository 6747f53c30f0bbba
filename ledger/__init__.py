"""What the bytes of each ledger mean: codecs, ids, addresses, order, proofs.

Input: bytes or JSON text. Output: frozen values. No input or output, no framework, no store, no Spark.
"""

"""A transparency log: an append-only Merkle tree of records, its tiles, signed checkpoints and proofs.

Input: records, keys, and a function that reads tiles. Output: contents of tiles, texts and proofs. The formats are
those of C2SP: signed-note, tlog-checkpoint, tlog-cosignature, tlog-tiles and tlog-proof. No I/O, no clock, no
randomness.
"""

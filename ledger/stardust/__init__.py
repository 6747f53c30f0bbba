"""The Stardust protocol: bytes ⇄ values ⇄ JSON, snapshots, protocol parameters, conflict reasons.

No I/O.
"""

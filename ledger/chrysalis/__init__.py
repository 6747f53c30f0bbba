"""The Chrysalis protocol: bytes ⇄ values ⇄ JSON, genesis snapshots, conflict reasons.

No I/O. The Stardust modules may import the values that both protocols share. Nothing here imports Stardust.
"""

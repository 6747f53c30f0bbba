"""The Chrysalis protocol: bytes ⇄ values ⇄ JSON, genesis snapshots, conflict reasons.

No input or output. Stardust's modules may import the values that both protocols share; nothing here imports Stardust.
"""

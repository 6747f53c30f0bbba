"""The Wormhole protocol: signed VAAs, their payloads, chains, addresses and guardian sets.

Input: bytes. Output: frozen values and verdicts. No I/O.
"""

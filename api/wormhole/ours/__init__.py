"""Extensions of this server for Wormhole networks: signers, verdicts, gaps.

Input: a network and parsed parameters. Output: JSON values. Not allowed: imports of another family.
"""

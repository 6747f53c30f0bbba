"""How far a complete milestone is verified. Each level includes the weaker ones.

believed   Ids match the bytes, and the cone is what the milestone reaches. Which transactions changed the ledger is
           taken from the source.
merkle     Which transactions changed the ledger also follows from the milestone's Merkle root. In Chrysalis the root
           covers the messages that changed the ledger; in Stardust there is a second root over all blocks of the cone.
signed     Enough of the authorized keys signed the milestone, and (Stardust) it names its predecessor.
full       The effect of each transaction, or its conflict reason, follows from the ledger state before it: unlocks,
           signatures, sums. Every parent is known, so nothing is missing.

The checks are in etl/verification/milestone_checks.py and etl/verification/full_verification.py.
"""

BELIEVED, MERKLE, SIGNED, FULL = "believed", "merkle", "signed", "full"
LEVELS = (BELIEVED, MERKLE, SIGNED, FULL)
"""Weakest first."""


def weakest(verified: str | None) -> str:
    """The level stored in a table. A value that an earlier version wrote counts as the weakest."""
    return verified if verified in LEVELS else BELIEVED

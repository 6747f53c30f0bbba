"""How far a complete milestone is proved: four levels, each of which holds only where every weaker one does.

believed   ids are those of the bytes, and the cone is what the milestone reaches; which transactions changed the
           ledger is the source's word
merkle     that follows from the milestone's Merkle root: in Chrysalis over the messages that changed the ledger, in
           Stardust over those and over all blocks of the cone
signed     the milestone is signed by enough of the keys that may sign it, and names the one before it (Stardust)
full       what each transaction of it did, or why it did nothing, follows from the ledger state before it: unlocks,
           signatures, sums; and every parent is known, so that nothing is missing

Rules of this file: names and their order; what proves a level stands in etl/verification/milestone_checks.py and
etl/verification/full_verification.py.
"""

BELIEVED, MERKLE, SIGNED, FULL = "believed", "merkle", "signed", "full"
LEVELS = (BELIEVED, MERKLE, SIGNED, FULL)
"""Weakest first."""


def weakest(verified: str | None) -> str:
    """The level that a table names; what an earlier version wrote there is worth the weakest."""
    return verified if verified in LEVELS else BELIEVED

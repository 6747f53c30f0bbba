"""What a milestone did to a message, in words."""

from collections.abc import Mapping
from typing import Any

CHRYSALIS_ONLY: Mapping[int, str] = {6: "The outputs would leave an address with more dust than it may have."}

REASONS: Mapping[int, str] = {
    1: "An earlier milestone had already spent one of its inputs.",
    2: "An earlier transaction of the same milestone had already spent one of its inputs.",
    3: "One of its inputs does not exist.",
    4: "The sum of its outputs differs from the sum of its inputs.",
    5: "One of its signatures is not valid.",
    6: "One of its inputs was under a timelock.",
    7: "Its native tokens are not balanced: some were created or destroyed without a foundry.",
    8: "It does not return the storage deposit of one of its inputs.",
    9: "One of its unlocks does not fit its input.",
    10: "The commitment to its inputs does not match them.",
    11: "The sender of one of its outputs did not unlock an input.",
    12: "It changes an alias, NFT or foundry in a way that is not allowed.",
    255: "It violates another rule of the ledger.",
}
"""Conflict reason → its meaning. Reason 6 has another one in Chrysalis."""


def reason_of(metadata: Mapping[str, Any], *, is_stardust: bool) -> str:
    """Returns why a transaction conflicts, from its message's metadata. Empty if the archive does not have a reason."""
    reason = metadata.get("conflictReason")
    if reason is None:
        return ""
    words = REASONS if is_stardust else {**REASONS, **CHRYSALIS_ONLY}
    return words.get(reason, f"Reason {reason}.")

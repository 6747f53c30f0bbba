"""The proof that its coordinator signed a milestone, in both protocols.

Rules of this file: pure. A key is believed because the operator configured it or gave the genesis that names it: what a
line of an archive says of keys proves nothing by itself, as whoever alters the line alters that too.
"""

from collections.abc import Sequence
from typing import TypeAlias

from ledger import ids
from ledger.chrysalis import codec as chrysalis
from ledger.crypto import ed25519
from ledger.eras import Coordinator, KeyRange
from ledger.stardust import codec as stardust
from ledger.stardust import values as stardust_values

Milestone: TypeAlias = chrysalis.Milestone | stardust_values.Milestone


def parse_key_range(text: str) -> KeyRange:
    """From `KEY`, `KEY:FIRST` or `KEY:FIRST:LAST`, the key as hex. Raises ValueError."""
    key, *ends = text.split(":")
    try:
        public_key = bytes.fromhex(key.removeprefix("0x"))
        first, last = [int(end) if end else None for end in (*ends, "", "")[:2]]
    except ValueError:
        public_key, first, last = b"", None, None
    if len(public_key) != 32 or len(ends) > 2 or (last is not None and last < (first or 0)):
        forms = "KEY, KEY:FIRST or KEY:FIRST:LAST"
        raise ValueError(f"a coordinator's key, 64 hex digits, as {forms} expected, not {text!r}")
    return KeyRange(public_key, first or 0, last)


def parse_coordinator(texts: Sequence[str], threshold: int) -> Coordinator | None:
    """Of key ranges as text, None for none of them; threshold 0: as many as least_keys(). Raises ValueError."""
    ranges = tuple(map(parse_key_range, texts))
    return Coordinator(ranges, threshold or least_keys(ranges)) if ranges else None


def least_keys(ranges: Sequence[KeyRange]) -> int:
    """How many keys may sign where the fewest may: as many must, where nobody says how many."""
    return min(sum(other.holds(each.first) for other in ranges) for each in ranges)


def find_signature_fault(milestone: Milestone, coordinator: Coordinator) -> str | None:
    """Why a milestone is not signed as it must be; None where it is."""
    signed = signatures(milestone)
    keys = [key for key, _ in signed]
    if len(set(keys)) != len(keys):
        return "signatures: each public key once expected"
    if len(keys) < coordinator.threshold:
        return f"signatures: {coordinator.threshold} or more expected, found {len(keys)}"
    allowed = coordinator.keys_at(milestone.index)
    digest = signed_hash(milestone)
    for key, signature in signed:
        if key not in allowed:
            return f"signatures: no coordinator's key of milestone {milestone.index} is {key.hex()}"
        if not ed25519.verify(key, digest, signature):
            return f"signatures: that of {key.hex()} does not hold"
    return None


def signatures(milestone: Milestone) -> Sequence[tuple[bytes, bytes]]:
    """Public key and signature of each signer."""
    if isinstance(milestone, stardust_values.Milestone):
        return [(each.public_key, each.signature) for each in milestone.signatures]
    return list(zip(milestone.public_keys, milestone.signatures, strict=True))


def signed_hash(milestone: Milestone) -> bytes:
    """The 32 bytes that its signatures sign."""
    if isinstance(milestone, stardust_values.Milestone):
        return stardust.milestone_id(milestone)
    return ids.signing_hash(chrysalis.encode_milestone_essence(milestone))

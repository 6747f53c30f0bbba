"""Verifies a milestone's signatures, in both protocols.

The module is pure. Trusted keys come only from the configuration or from the genesis. Keys in an archive prove nothing,
because whoever alters a line can alter its keys too.
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
    """Parses `KEY`, `KEY:FIRST` or `KEY:FIRST:LAST`, with the key as hex. Raises ValueError."""
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
    """Parses key ranges; None if there are none. A threshold of 0 means `default_threshold`. Raises ValueError."""
    ranges = tuple(map(parse_key_range, texts))
    return Coordinator(ranges, threshold or default_threshold(ranges)) if ranges else None


def default_threshold(ranges: Sequence[KeyRange]) -> int:
    """The default threshold: the number of keys that may sign the milestone which the fewest may sign. Where a key
    replaces another one, both may sign some milestones, and one of them does.
    """
    edges = {edge for each in ranges for edge in (each.first, each.first if each.last is None else each.last + 1)}
    return min(filter(None, (len({each.public_key for each in ranges if each.holds(edge)}) for edge in edges)))


def find_signature_fault(milestone: Milestone, coordinator: Coordinator) -> str | None:
    """Why a milestone's signatures are invalid; None if they are valid."""
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
    """The public key and signature of each signer."""
    if isinstance(milestone, stardust_values.Milestone):
        return [(each.public_key, each.signature) for each in milestone.signatures]
    return list(zip(milestone.public_keys, milestone.signatures, strict=True))


def signed_hash(milestone: Milestone) -> bytes:
    """The 32 bytes that the milestone's signatures sign."""
    if isinstance(milestone, stardust_values.Milestone):
        return stardust.milestone_id(milestone)
    return ids.signing_hash(chrysalis.encode_milestone_essence(milestone))

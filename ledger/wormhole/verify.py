"""Verifies a VAA's signatures, and learns guardian sets from governance messages.

Invariants:
1. A verdict depends on the VAA and on the set that its header names, not on a clock. An expired set is recorded but
   accepted: an archive contains what was valid at its time.
2. As in the contracts, one bad signature makes a VAA invalid, even beyond the quorum.
3. Nothing here raises. A verdict contains the reason.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ledger.crypto.secp256k1 import recover_address, recover_addresses
from ledger.wormhole.guardians import EXPIRES_AFTER, GuardianSet, find_update
from ledger.wormhole.vaa import Vaa, digest

Fault: TypeAlias = Literal["unknown_set", "order", "index", "signer", "repeated", "quorum"]
"""The first fault found, in this order: unknown set; indices that do not ascend; an index beyond the set; a signature
by another key than the guardian's; a guardian who occurs twice; too few signatures.
"""

History: TypeAlias = Mapping[int, GuardianSet]
"""The guardian sets of a network by index."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a verification. `fault` is None and `reason` is empty if the VAA is valid."""

    fault: Fault | None
    reason: str
    signers: tuple[bytes | None, ...]  # the recovered address of each signature, in order; None if there is none
    valid_signatures: int  # signatures by the guardian at their index
    quorum: int | None  # None if the set is unknown
    expired: bool  # the set had been replaced for a day by the message's own timestamp

    @property
    def verified(self) -> bool:
        """Whether a quorum of the named set signed."""
        return self.fault is None


def verify(vaa: Vaa, history: History, signed: bytes | None = None) -> Verdict:
    """Verifies a VAA by the set that its header names. `signed` is its digest if already computed."""
    signed = signed or digest(vaa)
    signers = recover_addresses(signed, [each.signature for each in vaa.signatures])
    guardians = history.get(vaa.guardian_set_index)
    if guardians is None:
        known = ", ".join(map(str, sorted(history))) or "none"
        reason = f"guardian set {vaa.guardian_set_index} is not known; known are {known}"
        return Verdict("unknown_set", reason, signers, 0, None, expired=False)
    addresses = guardians.addresses
    valid = sum(
        [
            place < len(addresses) and addresses[place] == signer
            for (place, _), signer in zip(vaa.signatures, signers, strict=True)
        ]
    )
    fault, reason = _fault(vaa, guardians, signers)
    return Verdict(fault, reason, signers, valid, guardians.quorum, _expired(vaa, history))


def _fault(vaa: Vaa, guardians: GuardianSet, signers: tuple[bytes | None, ...]) -> tuple[Fault | None, str]:
    addresses = guardians.addresses
    last = -1
    for number, each in enumerate(vaa.signatures, 1):
        if each.place <= last:
            return "order", f"signature {number}: expected a guardian index above {last}, found {each.place}"
        last = each.place
    for number, (each, signer) in enumerate(zip(vaa.signatures, signers, strict=True), 1):
        if each.place >= len(addresses):
            found = f"expected a guardian index below {len(addresses)}, found {each.place}"
            return "index", f"signature {number}: {found}"
        if signer != addresses[each.place]:
            found = "one that no key can have made" if signer is None else f"one by 0x{signer.hex()}"
            expected = f"expected one by guardian {each.place}, 0x{addresses[each.place].hex()}"
            return "signer", f"signature {number}: {expected}, found {found}"
    if len(set(signers)) < len(signers):
        return "repeated", "expected each guardian once, found one at two places of the set"
    if len(signers) < guardians.quorum:
        return "quorum", f"expected {guardians.quorum} signatures of {len(addresses)} guardians, found {len(signers)}"
    return None, ""


def expires_at(index: int, history: History) -> int | None:
    """Unix seconds from which contracts reject a set: a day after the next one starts; None if that is unknown.

    The time follows from message timestamps. Each chain's contract counts from the moment when it saw the next set,
    hours or days later.
    """
    following = history.get(index + 1)
    return following.since + EXPIRES_AFTER if following is not None and following.since else None


def _expired(vaa: Vaa, history: History) -> bool:
    end = expires_at(vaa.guardian_set_index, history)
    return end is not None and vaa.timestamp > end


def learn(
    known: Iterable[GuardianSet], vaas: Iterable[Vaa], written: Mapping[int, Collection[bytes]] | None = None
) -> dict[int, GuardianSet]:
    """Extends known sets by the sets that messages name. Other messages are ignored.

    Set N + 1 must be named by a message that set N signed. If several name it, the earliest counts, then the one with
    the smallest digest. A known set does not change; a message with the same addresses confirms it.

    Args:
        known: sets that are known without a message.
        vaas: copies of messages. Copies of one message that have no quorum alone can have one together.
        written: signatures that were written without a copy, by the sequence of the governance message.
    """
    history = {each.index: each for each in known}
    copies: dict[GuardianSet, list[Vaa]] = defaultdict(list)
    for vaa in vaas:
        named = find_update(vaa)
        if named is not None:
            copies[named].append(vaa)
    # In ascending order, each set is known before a message that it signed is checked.
    for named in sorted(copies, key=lambda each: (each.index, each.since, each.named_by or b"")):
        before, found = history.get(named.index - 1), copies[named]
        if before is None or not _has_signed(before, found, (written or {}).get(found[0].sequence, ())):
            continue
        there = history.get(named.index)
        if there is None:
            history[named.index] = named
        elif there.named_by is None and there.addresses == named.addresses:
            history[named.index] = replace(there, named_by=named.named_by)
    return history


def _has_signed(guardians: GuardianSet, copies: Sequence[Vaa], written: Collection[bytes]) -> bool:
    """Whether a quorum of the set signed a message that at least one copy attributes to this set: in one copy, or in
    all copies and signatures together. A copy with a quorum and a bad signature is invalid, as for contracts.
    """
    if all(each.guardian_set_index != guardians.index for each in copies):
        return False
    signed = digest(copies[0])
    verdicts = [verify(each, {guardians.index: guardians}, signed) for each in copies]
    if any(verdict.valid_signatures >= guardians.quorum for verdict in verdicts):
        return any(verdict.verified for verdict in verdicts)
    signers = {signer for verdict in verdicts for signer in verdict.signers}
    signers.update(recover_address(signed, each) for each in written)
    return len(signers.intersection(guardians.addresses)) >= guardians.quorum

"""Verification of one milestone: ids recomputed, strangers refused, white-flag order derived, the Merkle root tried.

Rules of this file: pure; what is refused is a value with file, line, item and reason; nothing that is good is lost
because something beside it is bad. Several copies of a milestone (files that overlap, rows the lake has) are read until
one is whole; when none is, what is right in any of them is kept.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from etl.sources.cone import INCLUDED, Cone, Entry
from ledger.chrysalis import Milestone, encode_message
from ledger.ids import message_id
from ledger.merkle import merkle_root
from ledger.reader import CodecError
from ledger.rest_json import JsonError
from ledger.white_flag import white_flag_order

IDS = "ids"
MERKLE = "merkle"
LEVELS = (IDS, MERKLE)
"""How far a whole milestone was proved: ids and cone, or its inclusion states by the Merkle root too. Weakest first."""


@dataclass(frozen=True, slots=True)
class Reject:
    """What was refused; `item` is a message id as hex, or '' for a whole line."""

    file: str
    line: int
    item: str
    reason: str


@dataclass(slots=True)
class Checked:
    """A milestone's messages as far as they are right.

    `messages`: (entry, canonical bytes). When the cone is whole they stand in white-flag order, the milestone's own
    message last, and `verified` says how far that was proved; otherwise `verified` is None.
    """

    milestone_index: int
    milestone: Milestone | None = None
    messages: list[tuple[Entry, bytes]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    verified: str | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a milestone: where it stands, and how to read it. `partial`: what it has is right, but something of
    the milestone was refused, so it never stands for the whole.
    """

    file: str
    line: int
    read: Callable[[], Cone]
    partial: bool = False


def check_milestone(index: int, copies: Iterable[Copy], network_id: int) -> Checked:
    """The best that the copies give: the first whole one, a proved one before one that is not."""
    checked: list[Checked] = []
    for copy in copies:
        one = check_copy(index, copy, network_id)
        if one.verified == MERKLE:
            return one
        checked.append(one)
    whole = [one for one in checked if one.verified]
    if whole:
        return _agreeing(whole)
    return checked[0] if len(checked) == 1 else _united(index, checked)


def check_copy(index: int, copy: Copy, network_id: int) -> Checked:
    """One copy on its own."""
    try:
        cone = copy.read()
    except (JsonError, CodecError, EOFError) as refusal:
        return Checked(index, rejects=[Reject(copy.file, copy.line, "", str(refusal))])
    result = Checked(index, cone.milestone)
    result.rejects = [Reject(copy.file, copy.line, refused.item, refused.reason) for refused in cone.refused]
    for entry in cone.entries:
        data = encode_message(entry.message)
        if reason := _stranger(entry, data, index, network_id):
            result.rejects.append(Reject(copy.file, copy.line, entry.message_id.hex(), reason))
        else:
            result.messages.append((entry, data))
    if not copy.partial:
        _order(result, copy)
    return result


def check_pending(copy: Copy, network_id: int) -> Checked:
    """A line of messages that no milestone references: ids and network only."""
    try:
        cone = copy.read()
    except (JsonError, CodecError, EOFError) as refusal:
        return Checked(-1, rejects=[Reject(copy.file, copy.line, "", str(refusal))])
    result = Checked(-1)
    result.rejects = [Reject(copy.file, copy.line, refused.item, refused.reason) for refused in cone.refused]
    for entry in cone.entries:
        data = encode_message(entry.message)
        if reason := _stranger(entry, data, None, network_id):
            result.rejects.append(Reject(copy.file, copy.line, entry.message_id.hex(), reason))
        else:
            result.messages.append((entry, data))
    return result


def _stranger(entry: Entry, data: bytes, index: int | None, network_id: int) -> str | None:
    derived = message_id(data)
    if derived != entry.message_id:
        return f"message id: the bytes hash to {derived.hex()}"
    if entry.referenced_by != index:
        return f"referencedByMilestoneIndex: {index} expected, found {entry.referenced_by}"
    if entry.message.network_id != network_id:
        return f"networkId: {network_id} expected, found {entry.message.network_id}"
    return None


def _order(result: Checked, copy: Copy) -> None:
    """Puts the messages in white-flag order and proves them, or says why that cannot be."""
    by_id = {entry.message_id: (entry, data) for entry, data in result.messages}
    own = [
        identity
        for identity, (entry, _) in by_id.items()
        if isinstance(entry.message.payload, Milestone) and entry.message.payload.index == result.milestone_index
    ]
    if not own:
        if not result.rejects:
            reason = f"milestone: no message carries milestone {result.milestone_index}"
            result.rejects.append(Reject(copy.file, copy.line, "", reason))
        return
    cone = {identity: entry.message.parents for identity, (entry, _) in by_id.items()}
    order = max((white_flag_order(identity, cone) for identity in sorted(own)), key=len)
    milestone = by_id[order[-1]][0].message.payload
    assert isinstance(milestone, Milestone)
    if result.milestone is not None and result.milestone != milestone:
        result.rejects.append(Reject(copy.file, copy.line, "", "milestone: differs from the message that carries it"))
    result.milestone = milestone
    if not result.rejects:
        reached = set(order)
        for identity in by_id.keys() - reached:
            reason = f"parents: not in the cone of milestone {result.milestone_index}"
            result.rejects.append(Reject(copy.file, copy.line, identity.hex(), reason))
        result.messages = [by_id[identity] for identity in order]
    if result.rejects:
        return
    included = [entry.message_id for entry, _ in result.messages if entry.inclusion_state == INCLUDED]
    result.verified = MERKLE if merkle_root(included) == milestone.inclusion_merkle_proof else IDS


def _agreeing(whole: list[Checked]) -> Checked:
    """The first of several whole but unproved copies, unless they tell different inclusion states."""
    first = whole[0]
    states = {entry.message_id: entry.inclusion_state for entry, _ in first.messages}
    for other in whole[1:]:
        for entry, _ in other.messages:
            if states.get(entry.message_id, entry.inclusion_state) != entry.inclusion_state:
                reason = "inclusion state: copies differ and no Merkle root decides"
                first.rejects.append(Reject("", 0, entry.message_id.hex(), reason))
                first.verified = None
    return first


def _united(index: int, checked: list[Checked]) -> Checked:
    """What is right in any copy. A copy whose every reject another copy has right is mended: it may now be whole."""
    right = {entry.message_id.hex(): (entry, data) for one in reversed(checked) for entry, data in one.messages}
    unmended: list[Reject] = []
    for one in checked:
        refused = {reject.item for reject in one.rejects}
        if refused and refused <= right.keys():
            own = refused.union(entry.message_id.hex() for entry, _ in one.messages)
            mended = Checked(index, one.milestone, [right[item] for item in own])
            _order(mended, Copy(one.rejects[0].file, one.rejects[0].line, lambda: Cone(index)))
            if mended.verified:
                return mended
            unmended += mended.rejects
    milestone = next((one.milestone for one in checked if one.milestone is not None), None)
    rejects = [reject for one in checked for reject in one.rejects if reject.item not in right]
    return Checked(index, milestone, list(right.values()), rejects or unmended)

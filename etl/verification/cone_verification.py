"""Verifies one milestone: recomputes ids, rejects messages outside the cone, derives the white-flag order, checks
proofs.

In Chrysalis the cone starts at the message that carries the milestone, which is its last message and has the parents
that the coordinator signed. In Stardust it starts at the milestone payload, which the line contains separately; the
cone may be empty.

Invariants:
1. The functions are pure. A reject is a value with file, line, item and reason.
2. An invalid item does not affect valid ones.
3. Several copies of a milestone (overlapping files, lake rows) are read until one is proved complete. No root of a
   Chrysalis milestone commits to data messages, so there all copies are read, and the proved ones are united. If no
   copy is complete, all of them may be together; if not, their valid parts are kept: the cone that all messages form.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from etl.lake.checked import Checked
from etl.sources.cone import Cone, Entry, Milestone, network_id_of
from etl.sources.rejects import Reject
from etl.verification.milestone_checks import prove
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis.json import JsonError
from ledger.eras import Codec, Coordinator, Era, Eras
from ledger.ids import message_id
from ledger.levels import BELIEVED, LEVELS
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust import values as stardust_values
from ledger.white_flag import white_flag_order

ById: TypeAlias = dict[bytes, Entry]
Order: TypeAlias = tuple[Milestone, list[bytes]]
"""A milestone, and the ids of its cone in white-flag order."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a milestone: its position and a function that reads it. `partial` means that some of it was rejected,
    so it is never the complete milestone. `rejects`: what earlier loads rejected of it; None if that was deleted, so
    that nothing completes it.
    """

    file: str
    line: int
    read: Callable[[], Cone]
    partial: bool = False
    rejects: tuple[Reject, ...] | None = ()


def check_milestone(index: int, copies: Iterable[Copy], eras: Eras, coordinator: Coordinator | None = None) -> Checked:
    """The best result of several copies: the first complete one; a proved one precedes an unproved one.

    `coordinator` is None if it is unknown.
    """
    era = eras.at(index)
    read: list[Copy] = []
    checked: list[Checked] = []
    for copy in copies:
        one = check_copy(index, copy, eras, coordinator)
        if _is_stardust(era.codec) and _is_proved(one) and not one.rejects:
            return one
        read.append(copy)
        checked.append(one)
    if len(checked) == 1:
        return checked[0]
    if proved := [one for one in checked if _is_proved(one)]:
        # The first one without rejects, if there is one.
        best = max(proved, key=lambda one: (LEVELS.index(one.verified or BELIEVED), not one.rejects))
        place = next(copy for copy, one in zip(read, checked, strict=True) if one is best)
        return best if _is_stardust(era.codec) else _with_others(best, proved, place, coordinator)
    if joined := _joined(index, read, era, coordinator):
        return joined
    whole = [one for one in checked if one.verified]
    return _agreeing(whole) if whole else _united(index, read, checked, era, coordinator)


def _is_stardust(codec: Codec) -> bool:
    return codec.protocol_version == stardust.PROTOCOL_VERSION


def _is_proved(one: Checked) -> bool:
    return one.verified not in (None, BELIEVED)


def _with_others(best: Checked, proved: list[Checked], copy: Copy, coordinator: Coordinator | None) -> Checked:
    """A proved Chrysalis milestone, with the messages that only its other proved copies have if that is proved too."""
    found = {entry.message_id: entry for entry in best.messages}
    for one in proved:
        if one.messages[-1].message_id == best.messages[-1].message_id:
            for entry in one.messages:
                found.setdefault(entry.message_id, entry)
    if len(found) == len(best.messages):
        return best
    more = Checked(best.milestone_index, best.milestone, list(found.values()), codec=best.codec, named=best.named)
    _order(more, copy, coordinator)
    return more if more.verified == best.verified and (best.rejects or not more.rejects) else best


def check_copy(index: int, copy: Copy, eras: Eras, coordinator: Coordinator | None = None) -> Checked:
    """Verifies one copy."""
    result = _read(index, copy, eras.at(index))
    if not copy.partial:
        _order(result, copy, coordinator)
    return result


def _read(index: int, copy: Copy, era: Era) -> Checked:
    """The messages of a copy whose bytes match their ids."""
    try:
        cone = copy.read()
    except (JsonError, CodecError, EOFError) as error:
        return Checked(index, rejects=[Reject(copy.file, copy.line, "", str(error))], codec=era.codec)
    if _is_stardust(cone.codec) != _is_stardust(era.codec):
        reason = f"protocol: milestone {index} is of {era.codec.name}, found a line of {cone.codec.name}"
        return Checked(index, rejects=[Reject(copy.file, copy.line, "", reason)], codec=era.codec)
    found = _known_by_id(index, cone, copy, era)
    found.rejects += copy.rejects or ()
    return found


def check_pending(copy: Copy, eras: Eras) -> Checked:
    """Verifies a line of messages that no milestone references: ids and network only."""
    try:
        cone = copy.read()
    except (JsonError, CodecError, EOFError) as error:
        return Checked(-1, rejects=[Reject(copy.file, copy.line, "", str(error))])
    era = eras.read_by(cone.codec)
    if era is None:
        reason = "protocol: expected a Stardust block, found a Chrysalis message"
        if cone.codec.protocol_version == stardust.PROTOCOL_VERSION:
            reason = (
                "protocol: expected a Chrysalis message, found a Stardust block; set `stardust_from` if this network "
                "continues with Stardust"
            )
        return Checked(-1, rejects=[Reject(copy.file, copy.line, "", reason)])
    return _known_by_id(None, cone, copy, era)


def _known_by_id(index: int | None, cone: Cone, copy: Copy, era: Era) -> Checked:
    """The messages of a cone whose bytes match their ids."""
    result = Checked(-1 if index is None else index, cone.milestone, codec=era.codec, named=cone.coordinator)
    result.rejects = [Reject(copy.file, copy.line, rejected.item, rejected.reason) for rejected in cone.rejected]
    network_id = era.network_id
    for entry in cone.entries:
        if reason := _stranger(entry, index, network_id):
            result.rejects.append(Reject(copy.file, copy.line, entry.message_id.hex(), reason))
        else:
            result.messages.append(entry)
    return result


def _stranger(entry: Entry, index: int | None, network_id: int) -> str | None:
    derived = message_id(entry.data)
    if derived != entry.message_id:
        return f"message id: the bytes hash to {derived.hex()}"
    if entry.referenced_by not in (index, None):
        return f"referencedByMilestoneIndex: {index} expected, found {entry.referenced_by}"
    found = network_id_of(entry.message)
    if found not in (None, network_id):
        return f"networkId: {network_id} expected, found {found}"
    return None


def _order(result: Checked, copy: Copy, coordinator: Coordinator | None) -> None:
    """Sorts the messages in white-flag order and verifies them, or returns why that is impossible."""
    by_id = {entry.message_id: entry for entry in result.messages}
    found = _stardust_order(result, by_id) if _is_stardust(result.codec) else _chrysalis_order(result, by_id)
    if isinstance(found, str):
        if not result.rejects:
            result.rejects.append(Reject(copy.file, copy.line, "", found))
        return
    milestone, order = found
    if result.milestone is not None and result.milestone != milestone:
        result.rejects.append(Reject(copy.file, copy.line, "", "milestone: differs from the message that carries it"))
    result.milestone = milestone
    if not result.rejects:
        for identity in by_id.keys() - set(order):
            reason = f"parents: not in the cone of milestone {result.milestone_index}"
            result.rejects.append(Reject(copy.file, copy.line, identity.hex(), reason))
        result.messages = [by_id[identity] for identity in order]
    if not result.rejects:
        proof = prove(milestone, result.messages, coordinator, result.named)
        result.messages, result.verified = proof.messages, proof.level
        result.rejects += [Reject(copy.file, copy.line, each.item, each.reason) for each in proof.rejected]


def _chrysalis_order(result: Checked, by_id: ById) -> Order | str:
    own = [identity for identity, entry in by_id.items() if _carried(entry) == result.milestone_index]
    if not own:
        return _without_carrier(result.milestone_index, by_id)
    cone = {identity: entry.message.parents for identity, entry in by_id.items()}
    order = max((white_flag_order(identity, cone) for identity in sorted(own)), key=len)
    milestone = by_id[order[-1]].message.payload
    assert isinstance(milestone, chrysalis.Milestone)
    return milestone, order


def _carried(entry: Entry) -> int | None:
    """The index of the milestone that a Chrysalis message carries."""
    milestone = chrysalis.milestone_of(entry.message) if isinstance(entry.message, chrysalis.Message) else None
    return None if milestone is None else milestone.index


def _without_carrier(index: int, by_id: ById) -> str:
    for identity, entry in by_id.items():
        payload = entry.message.payload
        if isinstance(payload, chrysalis.Milestone) and payload.index == index:
            return f"parents: those of the payload of milestone {index} expected in message {identity.hex()}"
    return f"milestone: no message carries milestone {index}"


def _stardust_order(result: Checked, by_id: ById) -> Order | str:
    milestone = result.milestone
    if not isinstance(milestone, stardust_values.Milestone):
        return f"milestone: the payload of milestone {result.milestone_index} expected, found none"
    if milestone.index != result.milestone_index:
        result.milestone = None
        return f"milestone: the payload of milestone {result.milestone_index} expected, found that of {milestone.index}"
    cone = {identity: entry.message.parents for identity, entry in by_id.items()}
    root = stardust.milestone_id(milestone)
    *order, _ = white_flag_order(root, cone | {root: milestone.parents})
    return milestone, order


def _joined(index: int, copies: list[Copy], era: Era, coordinator: Coordinator | None) -> Checked | None:
    """The messages of all copies, if they are a complete and proved milestone and each reject has a valid version."""
    if any(copy.rejects is None for copy in copies):
        return None
    joined = _all_messages(index, copies, era)
    if not {reject.item for reject in joined.rejects} <= {entry.message_id.hex() for entry in joined.messages}:
        return None
    joined.rejects = []
    _order(joined, copies[0], coordinator)
    return joined if _is_proved(joined) and not joined.rejects else None


def _all_messages(index: int, copies: list[Copy], era: Era) -> Checked:
    """The messages of all copies whose bytes match their ids, and all rejects."""
    joined = Checked(index, codec=era.codec)
    found: ById = {}
    for copy in copies:
        one = _read(index, copy, era)
        joined.rejects += one.rejects
        joined.milestone = joined.milestone or one.milestone
        joined.named = joined.named or one.named
        for entry in one.messages:
            found.setdefault(entry.message_id, entry)
    joined.messages = list(found.values())
    return joined


def _agreeing(whole: list[Checked]) -> Checked:
    """The first of several complete but unproved copies, unless their inclusion states differ."""
    first = whole[0]
    states = {entry.message_id: entry.inclusion_state for entry in first.messages}
    for other in whole[1:]:
        for entry in other.messages:
            if states.get(entry.message_id, entry.inclusion_state) != entry.inclusion_state:
                reason = "inclusion state: copies differ and no Merkle root decides"
                first.rejects.append(Reject("", 0, entry.message_id.hex(), reason))
                first.verified = None
    return first


def _united(
    index: int, copies: list[Copy], checked: list[Checked], era: Era, coordinator: Coordinator | None
) -> Checked:
    """The valid messages of all copies, and those that only the messages of other copies connect with the milestone. If
    another copy has a valid version of every reject, the copy is repaired and may be complete.
    """
    right = {entry.message_id.hex(): entry for one in reversed(checked) for entry in one.messages}
    incomplete: list[Reject] = []
    for one in checked:
        rejected = {reject.item for reject in one.rejects}
        if rejected and rejected <= right.keys():
            own = rejected.union(entry.message_id.hex() for entry in one.messages)
            completed = Checked(index, one.milestone, [right[item] for item in own], codec=one.codec, named=one.named)
            _order(completed, Copy(one.rejects[0].file, one.rejects[0].line, lambda: Cone(index)), coordinator)
            if completed.verified:
                return completed
            incomplete += completed.rejects
    milestone = next((one.milestone for one in checked if one.milestone is not None), None)
    every = _all_messages(index, copies, era)
    by_id = {entry.message_id: entry for entry in every.messages}
    found = _stardust_order(every, by_id) if _is_stardust(era.codec) else _chrysalis_order(every, by_id)
    if not isinstance(found, str):
        right = {identity.hex(): by_id[identity] for identity in found[1]} | right
    rejects = [reject for one in checked for reject in one.rejects if reject.item not in right]
    united = Checked(index, milestone, list(right.values()), codec=checked[0].codec, named=every.named)
    if rejects or incomplete:
        united.rejects = list(dict.fromkeys(rejects or incomplete))
    elif all(copy.rejects is not None for copy in copies):
        _order(united, copies[0], coordinator)
    return united

"""Reduces a verified milestone to the messages that a selection keeps, each with its proof.

The functions are pure. Nothing is dropped from a milestone before it is `signed`. Worker processes and Spark's
executors import this module, so it imports neither PySpark nor delta-rs.
"""

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence, Set

from etl.lake.checked import Checked, Kept
from etl.sources.cone import INCLUDED, Message
from etl.sources.rejects import Reject
from ledger import ids
from ledger.chrysalis import codec as chrysalis
from ledger.crypto.audit_path import create_audit_paths
from ledger.eras import Codec
from ledger.inclusion_proof import APPLIED, REFERENCED, roots
from ledger.levels import LEVELS, SIGNED, weakest
from ledger.message_proof import MessageProof, encode_proof
from ledger.milestone_proof import Milestone
from ledger.selection import Selection
from ledger.stardust import values as stardust
from ledger.stardust.conditions import ALIAS, NFT
from ledger.stardust.named import named
from ledger.stardust.outputs import owner_at

ZERO_TRANSACTION = bytes(32)


def select(checked: Checked, selection: Selection, file: str, line: int, spent: Set[bytes] = frozenset()) -> Checked:
    """Returns the milestone with the kept messages only: those that a filter matches, and those that spend one of the
    outputs `spent` (ids). Of a milestone that is not `signed`, or a message of which has no proof, nothing is kept, and
    `file` and `line` are the place of the reject.
    """
    if checked.verified is None or LEVELS.index(weakest(checked.verified)) < LEVELS.index(SIGNED):
        reached = "incomplete" if checked.verified is None else checked.verified
        reason = f"selection: only signed milestones are kept in part, and this one is {reached}"
        return _without_messages(checked, file, line, reason)
    milestone = checked.milestone
    assert milestone is not None
    places, elsewhere = [], list[bytes]()
    for place, entry in enumerate(checked.messages):
        if (
            selection.has_milestone(checked.milestone_index)
            or entry.message.payload == milestone
            or matches(entry.message, entry.data, checked.codec, selection)
        ):
            places.append(place)
        elif selection.addresses and entry.inclusion_state == INCLUDED:
            inputs = _spent_by(entry.message)
            if spent and not spent.isdisjoint(inputs):
                places.append(place)
            else:
                elsewhere += inputs
    proofs = _prove(checked, milestone, places)
    for place, proof in zip(places, proofs, strict=True):
        entry = checked.messages[place]
        if REFERENCED not in proof.find_claims(milestone, entry.data):
            reason = f"selection: no path from the milestone to message {entry.message_id.hex()}"
            return _without_messages(checked, file, line, reason)
    kept = Kept(places, [encode_proof(proof) or None for proof in proofs], len(checked.messages), elsewhere)
    messages = [checked.messages[place] for place in places]
    return Checked(
        checked.milestone_index, milestone, messages, checked.rejects, checked.verified, checked.codec, kept=kept
    )


def matches(message: Message, data: bytes, codec: Codec, selection: Selection) -> bool:
    """Whether a filter names a tag or an address of a message. `data`: its canonical bytes."""
    payload = message.payload
    if isinstance(payload, chrysalis.Indexation):
        return payload.index in selection.tags
    if isinstance(payload, stardust.TaggedData):
        return payload.tag in selection.tags
    if isinstance(payload, chrysalis.Transaction):
        inside, unlocks = payload.essence.payload, payload.unlock_blocks
        if inside is not None and inside.index in selection.tags:
            return True
        if any(each.address in selection.addresses for each in payload.essence.outputs):
            return True
        return _unlocks(unlocks, selection.addresses)
    if isinstance(payload, stardust.Transaction):
        tag = payload.essence.payload
        if tag is not None and tag.tag in selection.tags:
            return True
        return _unlocks(payload.unlocks, selection.addresses) or _of_outputs(payload, data, codec, selection)
    return False


def _spent_by(message: Message) -> list[bytes]:
    """The ids of the outputs that a Stardust transaction spends. The owners of Chrysalis outputs sign."""
    payload = message.payload
    if not isinstance(payload, stardust.Transaction):
        return []
    return [ids.output_id(each.transaction_id, each.index) for each in payload.essence.inputs]


def _unlocks(unlocks: Sequence[object], addresses: Collection[bytes]) -> bool:
    return bool(addresses) and any(
        isinstance(each, chrysalis.SignatureUnlock) and ids.ed25519_address(each.public_key) in addresses
        for each in unlocks
    )


def _of_outputs(payload: stardust.Transaction, data: bytes, codec: Codec, selection: Selection) -> bool:
    identity = ids.transaction_id(codec.payload_bytes(data)) if selection.addresses else ZERO_TRANSACTION
    for index, output in enumerate(payload.essence.outputs):
        found = named(output, ids.output_id(identity, index))
        if found.tag is not None and found.tag in selection.tags:
            return True
        addresses = {
            owner_at(output, 0),
            found.sender,
            found.issuer,
            found.state_controller,
            found.governor,
            found.storage_deposit_return,
            found.expiration_return,
        }
        if isinstance(output, stardust.AliasOutput | stardust.NftOutput) and found.chain_id is not None:
            kind = ALIAS if isinstance(output, stardust.AliasOutput) else NFT
            addresses.add(bytes([kind]) + found.chain_id)
        if addresses & selection.addresses:
            return True
    return False


def _prove(checked: Checked, milestone: Milestone, places: Sequence[int]) -> list[MessageProof]:
    """The proofs of the messages at these places of the cone."""
    stated = roots(milestone)
    identities = [entry.message_id for entry in checked.messages]
    applied = [place for place, entry in enumerate(checked.messages) if entry.inclusion_state == INCLUDED]
    rank = {place: number for number, place in enumerate(applied)}
    of_applied = [place for place in places if place in rank]
    leaves = [identities[place] for place in applied]
    changed = dict(zip(of_applied, create_audit_paths(leaves, [rank[place] for place in of_applied]), strict=True))
    if REFERENCED in stated:
        all_paths = create_audit_paths(identities, places)
        referenced = {place: path.steps for place, path in zip(places, all_paths, strict=True)}
        parents: Mapping[int, Sequence[bytes]] = {}
    else:
        referenced = {}
        without = [place for place in places if place not in rank and not _carries(checked, place, milestone)]
        parents = dict(zip(without, find_paths(checked, milestone, without), strict=True))
    proofs = []
    for place in places:
        paths = {REFERENCED: referenced[place]} if place in referenced else {}
        if place in changed:
            paths[APPLIED] = changed[place].steps
        proofs.append(MessageProof(paths, parents.get(place)))
    return proofs


def _carries(checked: Checked, place: int, milestone: Milestone) -> bool:
    message = checked.messages[place].message
    return isinstance(message, chrysalis.Message) and chrysalis.milestone_of(message) == milestone


def find_paths(checked: Checked, milestone: Milestone, places: Sequence[int]) -> list[Sequence[bytes]]:
    """For each place of the cone the canonical bytes of the messages between the milestone and the message there: the
    path through parents with the fewest bytes. Empty for an unreachable message, whose proof then fails.
    """
    cone = {entry.message_id: entry for entry in checked.messages}
    wanted = {checked.messages[place].message_id for place in places}
    child: dict[bytes, bytes | None] = {}
    ahead: list[tuple[int, bytes, bytes]] = [(0, parent, b"") for parent in sorted(set(milestone.parents))]
    heapq.heapify(ahead)
    while ahead and wanted:
        size, identity, through = heapq.heappop(ahead)
        if identity in child or identity not in cone:
            continue
        child[identity] = through or None
        wanted.discard(identity)
        entry = cone[identity]
        for parent in entry.message.parents:
            if parent not in child:
                heapq.heappush(ahead, (size + len(entry.data), parent, identity))

    def upwards(identity: bytes) -> Iterator[bytes]:
        while (through := child.get(identity)) is not None:
            yield cone[through].data
            identity = through

    return [[*upwards(checked.messages[place].message_id)][::-1] for place in places]


def _without_messages(checked: Checked, file: str, line: int, reason: str) -> Checked:
    rejects = checked.rejects or [Reject(file, line, "", reason)]
    return Checked(checked.milestone_index, rejects=rejects, codec=checked.codec)

"""What a selection keeps of verified milestones, for every tag and address of both oracle ledgers, and its proofs."""

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

import pytest

from etl.lake.checked import Checked
from etl.lake.message_rows import MessageRows
from etl.sources import read_cone
from etl.verification.cone_verification import Copy, check_milestone
from etl.verification.kept_check import check_kept
from etl.verification.selection import select
from ledger.chrysalis.codec import decode_message, encode_message
from ledger.crypto.audit_path import Step
from ledger.eras import CHRYSALIS, STARDUST, Eras
from ledger.ids import message_id
from ledger.inclusion_proof import APPLIED, REFERENCED
from ledger.levels import MERKLE, SIGNED
from ledger.message_proof import MessageProof, decode_proof, encode_proof
from ledger.reader import CodecError
from ledger.selection import ADDRESS, MILESTONES, TAG, Filter, Selection
from tests.etl import archives, stardust_archives
from tests.etl.archives import dump
from tests.etl.verification.test_tamper import COORDINATOR
from tests.selections import NETWORKS, Selectable, addressed, selectable, tagged

ERAS = pytest.mark.parametrize("era", ["chrysalis", "stardust"])


def eras_of(era: str) -> Eras:
    return archives.eras_of(NETWORKS[era], STARDUST if era == "stardust" else CHRYSALIS)


@cache
def verified(era: str) -> tuple[Checked, ...]:
    lines = stardust_archives.oracle() if era == "stardust" else archives.oracle()

    def one(line: object, index: int) -> Checked:
        data = dump(line)
        return check_milestone(index, [Copy("a", 1, lambda: read_cone(data, index))], eras_of(era), COORDINATOR)

    return tuple(one(line, line["milestone"]["index"]) for line in lines)


def kept(era: str, *filters: Filter) -> list[Checked]:
    return [select(each, Selection(frozenset(filters)), "a.log", 3) for each in verified(era)]


def places(found: Sequence[Checked]) -> set[tuple[int, int, str]]:
    """Milestone, white-flag index and id of each kept message."""
    rows = set()
    for each in found:
        assert each.kept is not None
        ids = [entry.message_id.hex() for entry in each.messages]
        rows |= {(each.milestone_index, place, message) for place, message in zip(each.kept.places, ids, strict=True)}
    return rows


def expected(era: str, selected: Sequence[Selectable]) -> set[tuple[int, int, str]]:
    """These messages and those that carry Chrysalis milestones."""
    carriers = [each for each in selectable(era) if each.carries]
    return {(each.milestone, each.place, each.message_id) for each in [*selected, *carriers]}


@ERAS
def test_each_tag_keeps_its_messages_at_their_places(era: str) -> None:
    assert len(tagged(era)) > 5
    for tag, selected in tagged(era).items():
        assert places(kept(era, Filter(TAG, bytes.fromhex(tag)))) == expected(era, selected)


@ERAS
def test_each_address_keeps_what_pays_it_and_what_it_signed(era: str) -> None:
    assert len(addressed(era)) > 5
    for address, selected in addressed(era).items():
        assert places(kept(era, Filter(ADDRESS, bytes.fromhex(address)))) == expected(era, selected)


@ERAS
def test_filters_add_up_and_a_range_keeps_whole_milestones(era: str) -> None:
    tag, of_tag = max(tagged(era).items(), key=lambda each: len(each[1]))
    address, of_address = max(addressed(era).items(), key=lambda each: len(each[1]))
    found = kept(
        era,
        Filter(TAG, bytes.fromhex(tag)),
        Filter(ADDRESS, bytes.fromhex(address)),
        Filter(MILESTONES, first=11, last=13),
    )
    inside = [each for each in selectable(era) if 11 <= each.milestone <= 13]
    assert places(found) == expected(era, [*of_tag, *of_address, *inside])
    for each in found:
        whole = verified(era)[each.milestone_index - 1]
        assert each.kept is not None
        assert (each.milestone, each.verified, each.kept.cone_size) == (whole.milestone, SIGNED, len(whole.messages))


def rows_of(found: Checked) -> list[dict[str, object]]:
    """The rows of the lake."""
    rows = MessageRows()
    rows.add(found)
    return [
        row | {"milestone": row["milestone"]["payload"] if row["message_id"] is None else None}
        for row in rows.batch().to_pylist()
    ]


@pytest.mark.thorough
@ERAS
def test_every_message_is_proved_by_what_is_stored_with_it(era: str) -> None:
    everything = Filter(MILESTONES, first=1, last=1_000)
    states = {each.message_id: each.state for each in selectable(era)}
    longest = 0
    for found in kept(era, everything):
        again = check_kept(found.milestone_index, rows_of(found), eras_of(era), COORDINATOR)
        assert (again.verified, again.rejects) == (SIGNED, [])
        assert check_kept(found.milestone_index, rows_of(found), eras_of(era), None).verified == MERKLE
        assert found.kept is not None
        assert found.milestone is not None
        for entry, proof in zip(found.messages, found.kept.proofs, strict=True):
            decoded = MessageProof() if proof is None else decode_proof(proof)
            is_applied = states[entry.message_id.hex()] == "included"
            assert decoded.find_claims(found.milestone, entry.data) == {REFERENCED, *([APPLIED] if is_applied else [])}
            assert (decoded.parents is not None) is (era == "chrysalis" and not is_applied and proof is not None)
            longest = max(longest, len(decoded.parents or ()))
    assert longest > (1 if era == "chrysalis" else -1)


@ERAS
def test_a_changed_proof_or_message_proves_nothing(era: str) -> None:
    chance = random.Random(44)
    found = kept(era, Filter(MILESTONES, first=1, last=20))
    for each in found:
        other = found[each.milestone_index % len(found)]
        assert each.kept is not None
        assert each.milestone is not None
        assert other.milestone is not None
        for entry, proof in zip(each.messages, each.kept.proofs, strict=True):
            if proof is None:
                continue
            decoded = decode_proof(proof)
            assert encode_proof(decoded) == proof
            assert not decoded.find_claims(other.milestone, entry.data)
            for changed in (entry.data[:-1] + bytes([entry.data[-1] ^ 1]), entry.data[:-1], entry.data + b"\0"):
                assert not decoded.find_claims(each.milestone, changed)
            bit = chance.randrange(8 * len(proof))
            broken = bytearray(proof)
            broken[bit // 8] ^= 1 << bit % 8
            with suppress(CodecError):
                assert not decode_proof(bytes(broken)).find_claims(each.milestone, entry.data)
            for cut in (proof[:-1], proof[:1], proof + b"\0", proof + proof):
                with pytest.raises(CodecError):
                    decode_proof(cut)


def test_a_milestone_in_a_message_with_other_parents_is_proved_by_nothing() -> None:
    for found in kept("chrysalis", Filter(MILESTONES, first=1, last=50)):
        assert found.milestone is not None
        rows = rows_of(found)
        (own,) = (row for row in rows if row["proof"] is None)
        genuine = decode_message(own["message"])
        message = encode_message(replace(genuine, parents=tuple(sorted((*genuine.parents, bytes(31) + b"\1")))))
        assert MessageProof().find_claims(found.milestone, own["message"]) == {REFERENCED}
        assert not MessageProof().find_claims(found.milestone, message)
        forged = [row | {"message_id": message_id(message), "message": message} if row is own else row for row in rows]
        again = check_kept(found.milestone_index, forged, eras_of("chrysalis"), COORDINATOR)
        assert (again.verified, [each.reason for each in again.rejects]) == (
            None,
            ["milestone: its payload is missing"],
        )


def test_a_path_needs_every_message_on_it() -> None:
    for each in kept("chrysalis", Filter(MILESTONES, first=1, last=50)):
        assert each.kept is not None
        assert each.milestone is not None
        for entry, proof in zip(each.messages, each.kept.proofs, strict=True):
            parents = decode_proof(proof or b"").parents
            for missing in range(len(parents or ())):
                shorter = [one for position, one in enumerate(parents or ()) if position != missing]
                claims = MessageProof(parents=shorter).find_claims(each.milestone, entry.data)
                # A message on the path can have a shorter way by itself.
                assert not claims or len(shorter) == 0 or missing == 0


def test_paths_have_the_fewest_bytes() -> None:
    """Compared with all paths of small cones, by the nodes' JSON."""
    for each in kept("chrysalis", Filter(MILESTONES, first=1, last=50)):
        assert each.kept is not None
        assert each.milestone is not None
        sizes = {entry.message_id: (len(entry.data), entry.message.parents) for entry in each.messages}
        cost: dict[bytes, int] = dict.fromkeys(each.milestone.parents, 0)
        for _ in sizes:
            for identity, (size, parents) in sizes.items():
                if identity in cost:
                    for parent in parents:
                        cost[parent] = min(cost.get(parent, 1 << 60), cost[identity] + size)
        for entry, proof in zip(each.messages, each.kept.proofs, strict=True):
            parents = decode_proof(proof or b"").parents
            if parents is not None:
                assert sum(map(len, parents)) == cost[entry.message_id]


@ERAS
def test_milestones_below_signed_are_rejected_as_a_whole(era: str) -> None:
    selection = Selection(frozenset({Filter(MILESTONES, first=1, last=50)}))
    whole = verified(era)[4]
    for level, name in ((MERKLE, "merkle"), (None, "incomplete")):
        found = select(replace(whole, verified=level), selection, "a.log", 3)
        assert (found.messages, found.milestone, found.verified, found.kept) == ([], None, None, None)
        (reject,) = found.rejects
        assert (reject.file, reject.line) == ("a.log", 3)
        assert reject.reason.endswith(f"this one is {name}")


def test_a_message_without_a_path_from_the_milestone_rejects_it() -> None:
    whole = verified("chrysalis")[4]
    assert whole.milestone is not None
    moved = replace(whole, milestone=replace(whole.milestone, parents=(bytes(32), bytes([1]) * 32)))
    found = select(moved, Selection(frozenset({Filter(MILESTONES, first=1, last=50)})), "a.log", 3)
    assert "selection: no path from the milestone to message" in found.rejects[0].reason


def test_a_step_on_the_other_side_has_another_root() -> None:
    found = kept("stardust", Filter(MILESTONES, first=5, last=5))[4]
    assert found.kept is not None
    assert found.milestone is not None
    data, proof = found.messages[0].data, found.kept.proofs[0]
    steps = decode_proof(proof or b"").paths[REFERENCED]
    turned = [Step(each.sibling, is_left=not each.is_left) for each in steps]
    assert not MessageProof({REFERENCED: turned}).find_claims(found.milestone, data)

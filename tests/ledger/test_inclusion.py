"""Proofs of inclusion for real ledgers and oracle ledgers: equal to their definition, and invalid after any change."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.crypto.audit_path import create_audit_path
from ledger.eras import Coordinator
from ledger.inclusion_proof import (
    APPLIED,
    REFERENCED,
    InclusionProof,
    find_claims,
    form_of,
    parse_proof_json,
    proof_json,
)
from ledger.json_reader import JsonError
from ledger.milestone_proof import find_signature_fault, parse_key_range
from tests.conftest import needs_shared
from tests.inclusion import (
    SHIMMER_THRESHOLD,
    Json,
    Provable,
    edited,
    folded,
    foreign,
    inside,
    keys,
    ledger,
    places,
    raw,
    root,
    same,
    shimmer,
    shimmer_keys,
)

ERAS = ["chrysalis", "stardust"]

provable = cache(ledger)


@cache
def coordinator(era: str) -> Coordinator:
    return Coordinator(tuple(map(parse_key_range, keys(era))), 2)


def proofs(each: Provable) -> Iterator[tuple[Json, set[str]]]:
    """The proofs that a message can have by definition, and the verdict on each."""
    if each.is_applied:
        yield each.proof(each.applied), {APPLIED, REFERENCED} if each.referenced is None else {APPLIED}
    if each.referenced is not None:
        assert each.referenced != each.applied
        yield each.proof(each.referenced), {REFERENCED}


@pytest.mark.parametrize("era", ERAS)
def test_every_message_of_the_oracle_ledgers_is_proved(era: str) -> None:
    seen = set()
    for each in provable(era):
        for expected, claims in proofs(each):
            leaves = each.applied if APPLIED in claims else each.referenced
            proof = parse_proof_json(expected)
            path = create_audit_path(leaves or (), (leaves or []).index(raw(each.message_id)))
            assert proof == InclusionProof(proof.milestone, each.data, path)
            assert proof_json(proof) == expected
            assert find_claims(proof) == claims
            assert find_signature_fault(proof.milestone, coordinator(era)) is None
            seen.add((len(path.steps), frozenset(claims)))
    assert {1, 2, 3, 4} <= {steps for steps, _ in seen}
    expected = [{APPLIED, REFERENCED}] if era == "chrysalis" else [{APPLIED}, {REFERENCED}]
    assert {claims for _, claims in seen} == set(map(frozenset, expected))


@needs_shared
def test_every_block_of_three_real_milestones_is_proved() -> None:
    real = Coordinator(tuple(map(parse_key_range, shimmer_keys())), SHIMMER_THRESHOLD)
    steps, claimed = set(), []
    for each in shimmer():
        for leaves in (each.referenced or (), each.applied):
            if raw(each.message_id) not in leaves:
                continue
            milestone = parse_proof_json(foreign() | {"milestone": each.milestone}).milestone
            proof = InclusionProof(
                milestone, each.data, create_audit_path(leaves, list(leaves).index(raw(each.message_id)))
            )
            written = proof_json(proof)
            assert written["proof"] == each.proof(leaves)["proof"]
            assert same(written["milestone"], each.milestone)
            assert parse_proof_json(written) == proof
            assert find_signature_fault(milestone, real) is None
            claimed += find_claims(proof)
            steps.add(len(proof.path.steps))
    assert len(steps) > 3
    assert claimed.count(REFERENCED) > claimed.count(APPLIED) > 0


@needs_shared
def test_a_proof_that_another_implementation_made_holds() -> None:
    proof = parse_proof_json(foreign())
    assert find_claims(proof) == {REFERENCED}
    assert proof_json(proof) == foreign()
    signers = [each["publicKey"] for each in foreign()["milestone"]["signatures"]]
    assert find_signature_fault(proof.milestone, Coordinator(tuple(map(parse_key_range, signers)), 2)) is None


def judged(value: Any, era: str) -> bool:
    """Whether a proof is valid in any way."""
    try:
        proof = parse_proof_json(value)
    except JsonError:
        return False
    return bool(find_claims(proof)) and find_signature_fault(proof.milestone, coordinator(era)) is None


@pytest.mark.parametrize("era", ERAS)
@given(data=st.data())
def test_a_proof_with_anything_changed_does_not_hold(era: str, data: st.DataObject) -> None:
    each = data.draw(st.sampled_from(provable(era)))
    candidates = [expected for expected, _ in proofs(each)]
    assume(candidates)
    proof = data.draw(st.sampled_from(candidates))
    assert judged(proof, era)
    changed = edited(proof, data)
    assume(not same(proof, changed))
    assert not judged(changed, era)


@pytest.mark.parametrize("era", ERAS)
@given(data=st.data())
def test_parts_of_two_proofs_do_not_make_a_third(era: str, data: st.DataObject) -> None:
    applied = st.sampled_from([each for each in provable(era) if each.is_applied])
    one, other = data.draw(st.lists(applied, min_size=2, max_size=2, unique_by=lambda each: each.message_id))
    first, second = one.proof(one.applied), other.proof(other.applied)
    for key in first:
        # A path belongs to its message, but a milestone may have several of both.
        if key != "milestone" or one.milestone != other.milestone:
            assert not judged(first | {key: second[key]}, era)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("era", ERAS)
@given(data=st.data())
def test_an_invalid_proof_raises_the_one_error(era: str, data: st.DataObject) -> None:
    proof = copy.deepcopy(next(iter(proofs(next(each for each in provable(era) if each.is_applied))))[0])
    place = data.draw(st.sampled_from(list(places(proof))))[: data.draw(st.integers(1, 6))]
    strange = data.draw(JSON)
    inside(proof, place[:-1])[place[-1]] = strange
    assert not judged(proof, era) or same(strange, inside(proofs_of(era), place))


def proofs_of(era: str) -> Json:
    return next(iter(proofs(next(each for each in provable(era) if each.is_applied))))[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"milestone": None}, "milestone: expected an object with key 'type'"),
        ({"milestone": {"type": 2}}, "milestone.type: expected 1 (Chrysalis) or 7 (Stardust)"),
        ({"block": {}}, "block.parents: expected a value, found none"),
        ({"block": {"protocolVersion": 2, "parents": [], "nonce": "0"}}, "block.parents: expected a list of 1 to 8"),
        ({"proof": []}, "proof: expected a node of l and r"),
    ],
)
def test_the_error_names_the_place(change: Json, message: str) -> None:
    with pytest.raises(JsonError) as raised:
        parse_proof_json(proofs_of("stardust") | change)
    assert str(raised.value) == message


def test_what_only_bytes_show_is_named_too() -> None:
    proof = copy.deepcopy(proofs_of("stardust"))
    proof["block"]["parents"].reverse()
    with pytest.raises(JsonError, match=r"^block: expected parents in ascending order, each once \(byte 2 of"):
        parse_proof_json(proof)


def test_eras_are_distinguished_by_the_milestone() -> None:
    names = [form_of(parse_proof_json(proofs_of(era)).milestone).codec.name for era in ERAS]
    assert names == ["Chrysalis", "Stardust"]
    strange = proofs_of("stardust") | {"milestone": proofs_of("chrysalis")["milestone"]}
    with pytest.raises(JsonError, match=r"^message: expected a value, found none"):
        parse_proof_json(strange)


def test_two_values_are_no_proof_as_one_may_hide_the_other() -> None:
    """inx-poi and inx-chronicle search for the block anywhere in the tree, and would accept this one."""
    each = next(each for each in provable("stardust") if each.is_applied)
    first, second = each.applied[:2]
    crafted = {"l": {"value": f"0x{first.hex()}"}, "r": {"value": f"0x{second.hex()}"}}
    assert folded(crafted) == (root([first, second]), [first, second])
    with pytest.raises(JsonError, match=r"^proof: expected a hash as one of l and r"):
        parse_proof_json(each.proof(each.applied) | {"proof": crafted})

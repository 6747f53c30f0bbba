"""Proofs of inclusion as whole bodies, for every message of both oracle ledgers and of real milestones."""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from api.network import NetworkMount
from api.poi_v1.responses import InclusionProof
from tests.api.asgi import ask
from tests.api.conftest import STORES, Some
from tests.api.oracle import Oracle
from tests.api.poi import BASE, INVALID, VALID, provable, proving, rejection, validate
from tests.api.stardust import StardustLedger
from tests.conftest import needs_shared
from tests.inclusion import Json, Provable, edited, foreign, keys, same

both_eras = pytest.mark.parametrize(
    ("store", "stardust_store"),
    [pytest.param(*each.values, *each.values, marks=each.marks, id=each.id) for each in STORES],
    indirect=True,
)
"""For tests that need both eras in stores of one kind."""


@pytest.fixture(scope="module")
def chrysalis(mount: NetworkMount) -> Any:
    return proving(mount, keys("chrysalis"))


@pytest.fixture(scope="module")
def shimmering(stardust: StardustLedger, stardust_store: Any) -> Any:
    return proving(stardust.mount(stardust_store), keys("stardust"))


async def assert_proved(app: Any, each: Provable) -> None:
    """The proof equals the definition, or the error says why there is none; every route validates it correctly."""
    message_id = each.message_id.removeprefix("0x")
    not_applied = f"message {message_id} was not applied to the ledger"
    nothing_else = "; Chrysalis proves nothing of other messages"
    if each.is_applied:
        applied: Any = (200, each.proof(each.applied))
        await assert_judged(app, applied[1], whole=each.referenced is None or each.referenced == each.applied)
    else:
        applied = rejection(400, not_applied)
    if each.referenced is not None:
        referenced: Any = (200, each.proof(each.referenced))
        assert await validate(app, "/referenced-block", referenced[1]) == VALID
        assert await validate(app, "/applied-block", referenced[1]) == (
            VALID if each.referenced == each.applied else INVALID
        )
    else:
        referenced = applied if each.is_applied else rejection(400, not_applied + nothing_else)
    assert await ask(app, f"{BASE}/applied-block/create/{each.message_id}") == applied
    assert await ask(app, f"{BASE}/referenced-block/create/{each.message_id}") == referenced
    for status, answer in (applied, referenced):
        if status == 200:
            InclusionProof.model_validate(answer, strict=True)


async def assert_judged(app: Any, proof: Json, *, whole: bool) -> None:
    """A proof of application. If the milestone applied everything that it commits to, it also proves the reference."""
    assert await validate(app, "/applied-block", proof) == VALID
    for route in ("", "/referenced-block"):
        assert await validate(app, route, proof) == (VALID if whole else INVALID)


@pytest.mark.thorough
async def test_every_message_of_chrysalis_is_proved_or_rejected(chrysalis: Any, some: Some[Provable]) -> None:
    assert len(provable("chrysalis")) > 800
    for each in some(provable("chrysalis")):
        await assert_proved(chrysalis, each)


@pytest.mark.thorough
async def test_every_block_of_stardust_is_proved(shimmering: Any, some: Some[Provable]) -> None:
    assert len(provable("stardust")) > 800
    for each in some(provable("stardust")):
        await assert_proved(shimmering, each)


@both_eras
async def test_the_other_routes_create_the_same(chrysalis: Any, shimmering: Any) -> None:
    for app, era in ((chrysalis, "chrysalis"), (shimmering, "stardust")):
        for each in provable(era)[::20]:
            expected = await ask(app, f"{BASE}/referenced-block/create/{each.message_id}")
            upper = each.message_id.removeprefix("0x").upper()
            assert await ask(app, f"{BASE}/create/{each.message_id}") == expected
            assert await ask(app, f"/api/proving/poi/v1/create/{upper}") == expected


@both_eras
async def test_what_no_milestone_references_is_rejected(
    chrysalis: Any, shimmering: Any, oracle: Oracle, stardust: StardustLedger
) -> None:
    for app, pending in ((chrysalis, oracle.pending), (shimmering, stardust.pending)):
        for entry in pending:
            message_id = entry["id"].removeprefix("0x")
            rejected = rejection(400, f"message {message_id} was not referenced by a milestone")
            for route in ("/referenced-block", "/applied-block", ""):
                assert await ask(app, f"{BASE}{route}/create/{message_id}") == rejected
        unknown = rejection(404, f"message {'ab' * 32} is not in this archive")
        assert await ask(app, f"{BASE}/create/0x{'ab' * 32}") == unknown


async def test_without_keys_milestones_must_be_the_archive_s_own(stardust: StardustLedger, stardust_store: Any) -> None:
    app = proving(stardust.mount(stardust_store))
    each = next(each for each in provable("stardust") if each.is_applied)
    proof = each.proof(each.applied)
    assert await validate(app, "/applied-block", proof) == VALID
    milestone = proof["milestone"]
    for change in ({"timestamp": milestone["timestamp"] + 1}, {"signatures": milestone["signatures"][:1]}):
        changed = proof | {"milestone": milestone | change}
        assert await validate(app, "/applied-block", changed) == INVALID
    elsewhere = proof | {"milestone": milestone | {"index": 51}}
    assert await validate(app, "/applied-block", elsewhere) == rejection(404, "milestone 51 is not in this archive")


async def test_keys_of_another_time_or_too_few_signatures_do_not_do(
    stardust: StardustLedger, stardust_store: Any
) -> None:
    each = next(each for each in provable("stardust") if each.is_applied and each.milestone["index"] == 9)
    proof, (one, other) = each.proof(each.applied), keys("stardust")
    for signers, threshold, expected in (
        ([one, other], 2, VALID),
        ([f"{one}:9", f"0x{other}:3:9"], 2, VALID),
        ([f"{one}:10", other], 1, INVALID),
        ([one, f"{other}:1:8"], 1, INVALID),
        ([one], 1, INVALID),
        ([one, other, "ab" * 32], 3, INVALID),
    ):
        app = proving(stardust.mount(stardust_store), signers, threshold)
        assert await validate(app, "/applied-block", proof) == expected, (signers, threshold)


@pytest.mark.thorough
@both_eras
@pytest.mark.parametrize("era", ["chrysalis", "stardust"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
async def test_a_proof_with_anything_changed_is_never_valid(
    chrysalis: Any, shimmering: Any, era: str, data: st.DataObject
) -> None:
    each = data.draw(st.sampled_from(provable(era)))
    assume(each.is_applied)
    proof = each.proof(each.applied)
    changed = edited(proof, data)
    assume(not same(proof, changed))
    status, answer = await validate(chrysalis if era == "chrysalis" else shimmering, "/applied-block", changed)
    assert (status, answer) == INVALID or (status, answer["error"]["message"][:5]) == (400, "body,")


@needs_shared
async def test_a_proof_of_another_network_is_judged_by_its_keys(stardust: StardustLedger, stardust_store: Any) -> None:
    signers = [each["publicKey"] for each in foreign()["milestone"]["signatures"]]
    theirs = proving(stardust.mount(stardust_store), signers)
    own = proving(stardust.mount(stardust_store), keys("stardust"))
    assert await validate(theirs, "", foreign()) == VALID
    assert await validate(theirs, "/applied-block", foreign()) == INVALID
    assert await validate(own, "", foreign()) == INVALID

"""Proofs of generated and real milestones: one that references a single block, and cones that are incomplete."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from api.network import NetworkMount
from api.poi_v1 import routes as poi_v1
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.store import WritableStore
from tests.api.asgi import ask
from tests.api.poi import BASE, INVALID, VALID, provable, proving, rejection, validate
from tests.conftest import needs_shared
from tests.inclusion import SHIMMER_THRESHOLD, Json, Provable, hashed, raw, same, shimmer, shimmer_keys


@pytest.fixture
def small(tmp_path: Path) -> Iterator[WritableStore]:
    """An empty store."""
    where = StoreSettings(url=f"sqlite:///{tmp_path}", network="small-1")
    migrate(where)
    with_rows = open_store(where, writable=True)
    yield with_rows
    with_rows.close()


def put(store: WritableStore, cones: Sequence[Sequence[Provable]]) -> None:
    """Milestones with the messages that they reference, with the columns that proofs read."""
    with store.batch() as batch:
        for cone in cones:
            index, ids = cone[0].milestone["index"], [raw(each.message_id) for each in cone]
            states = [1 if each.is_applied else 0 for each in cone]
            rows = [(each, 2, member.data, index, state) for each, member, state in zip(ids, cone, states, strict=True)]
            batch.upsert(
                schema.messages, ("message_id", "version", "message", "milestone_index", "inclusion_state"), rows
            )
            listed = [(index, at, each, state) for at, (each, state) in enumerate(zip(ids, states, strict=True))]
            batch.upsert(
                schema.messages_by_milestone,
                ("milestone_index", "white_flag_index", "message_id", "inclusion_state"),
                listed,
            )
            payload = milestone_bytes(cone[0].milestone)
            batch.upsert(schema.milestones, ("milestone_index", "payload"), [(index, payload)])


def essence_bytes(milestone: Json) -> bytes:
    """The signed part of a Stardust milestone (TIP-29), without options."""
    assert not milestone.get("options")
    parents, metadata = list(map(raw, milestone["parents"])), raw(milestone.get("metadata", ""))
    return b"".join(
        (
            *(milestone[key].to_bytes(4, "little") for key in ("index", "timestamp")),
            bytes([milestone["protocolVersion"]]),
            raw(milestone["previousMilestoneId"]),
            bytes([len(parents)]),
            *parents,
            *(raw(milestone[key]) for key in ("inclusionMerkleRoot", "appliedMerkleRoot")),
            len(metadata).to_bytes(2, "little"),
            metadata,
            bytes([0]),
        )
    )


def milestone_bytes(milestone: Json) -> bytes:
    signatures = [b"\0" + raw(each["publicKey"]) + raw(each["signature"]) for each in milestone["signatures"]]
    return (7).to_bytes(4, "little") + essence_bytes(milestone) + bytes([len(signatures)]) + b"".join(signatures)


@needs_shared
async def test_every_block_of_three_real_milestones_is_proved(small: WritableStore) -> None:
    blocks = shimmer()
    by_index: dict[int, list[Provable]] = {}
    for each in blocks:
        by_index.setdefault(each.milestone["index"], []).append(each)
    assert list(by_index) == [17339, 17340, 17341]
    put(small, list(by_index.values()))
    app = proving(NetworkMount(small, "small-1", "smr"), shimmer_keys(), SHIMMER_THRESHOLD)
    applied = 0
    for each in blocks:
        for route, leaves in (("/referenced-block", each.referenced or ()), ("/applied-block", each.applied)):
            status, answer = await ask(app, f"{BASE}{route}/create/{each.message_id}")
            if raw(each.message_id) not in leaves:
                assert status == 400
                continue
            applied += route == "/applied-block"
            assert status == 200
            assert answer["proof"] == each.proof(leaves)["proof"]
            assert same(answer["milestone"], each.milestone)
            assert await validate(app, route, answer) == VALID
            other = next(one for one in blocks if one is not each)
            _, others = await ask(app, f"{BASE}/create/{other.message_id}")
            assert await validate(app, route, answer | {"block": others["block"]}) == INVALID
    assert 0 < applied < len(blocks)


def alone() -> tuple[Provable, str]:
    """A milestone that references one block and applied it, signed by a key generated here."""
    each = next(each for each in provable("stardust") if each.is_applied)
    only = [raw(each.message_id)]
    merkle_root = "0x" + hashed(b"\0" + only[0]).hex()
    roots = {"inclusionMerkleRoot": merkle_root, "appliedMerkleRoot": merkle_root}
    signer = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    key = signer.public_key().public_bytes_raw()
    unsigned = each.milestone | roots | {"index": 7, "parents": ["0x" + "ab" * 32]}
    signature = signer.sign(hashed(essence_bytes(unsigned)))
    signed = unsigned | {
        "signatures": [{"type": 0, "publicKey": f"0x{key.hex()}", "signature": f"0x{signature.hex()}"}]
    }
    return replace(each, milestone=signed, referenced=only, applied=only), key.hex()


async def test_a_block_that_is_the_whole_tree_is_proved_and_no_other_beside_it(small: WritableStore) -> None:
    """inx-poi makes no such proof, and inx-chronicle panics on another block beside it."""
    each, key = alone()
    put(small, [[each]])
    app = proving(NetworkMount(small, "small-1", "tst"), [key])
    proof = each.proof(each.applied)
    assert proof["proof"] == {"l": {"value": each.message_id}}
    for route in ("/referenced-block", "/applied-block", ""):
        assert await ask(app, f"{BASE}{route}/create/{each.message_id}") == (200, proof)
        assert await validate(app, route, proof) == VALID
        for other in provable("stardust")[:20]:
            if other.message_id != each.message_id:
                assert await validate(app, route, proof | {"block": other.message}) == INVALID


async def test_a_cone_that_is_not_whole_has_no_proofs(small: WritableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    cone = [each for each in provable("stardust") if each.milestone["index"] == 9]
    put(small, [cone])
    app = proving(NetworkMount(small, "small-1", "tst"))
    path = f"{BASE}/create/{cone[0].message_id}"
    assert await ask(app, path) == (200, cone[0].proof(cone[0].by_reference))
    monkeypatch.setattr(poi_v1, "CONE_MAX", len(cone) - 1)
    too_many = f"milestone 9 references more than {len(cone) - 1} messages: the maximum for a proof"
    assert await ask(app, path) == rejection(501, too_many)
    monkeypatch.undo()
    with small.batch() as batch:
        batch.delete(schema.messages_by_milestone, (9, 1))
    other = "a cone of milestone 9 that has the Merkle root of its messages referenced is not in this archive"
    assert await ask(app, path) == rejection(404, other)
    with small.batch() as batch:
        batch.delete(schema.messages_by_milestone, (9,))
    assert await ask(app, path) == rejection(404, "the whole cone of milestone 9 is not in this archive")


async def test_a_long_cone_is_read_in_parts(small: WritableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    cone = [each for each in provable("stardust") if each.milestone["index"] == 9]
    put(small, [cone])
    app = proving(NetworkMount(small, "small-1", "tst"))
    for at_once in (1, 2, len(cone) - 1, len(cone)):
        monkeypatch.setattr("db.queries.milestones.CONE_AT_ONCE", at_once)
        for each in cone:
            found = await ask(app, f"{BASE}/create/{each.message_id}")
            assert found == (200, each.proof(each.by_reference))

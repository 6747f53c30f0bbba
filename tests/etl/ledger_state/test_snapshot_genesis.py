"""Responses about ledgers that begin with a snapshot, compared with the oracle's expectations.

The milestone of each snapshot is loaded, too. Outputs that it created and spent are not in the snapshot.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from api.app import ApiSettings, create_app
from db import schema
from db.connect import open_adapter, open_store
from db.queries.milestones import find_timestamps
from etl.engine.session import engine_session
from etl.lake.delta import Lake
from tests.api.asgi import ask
from tests.api.explorer import Explorer
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.etl.archives import Json, dump
from tests.etl.conftest import ON_SAIL, Loading, Stores, mounted
from tests.etl.ledger_state import test_ledger as chrysalis
from tests.etl.ledger_state import test_stardust_ledger as stardust
from tests.etl.listings import whole_oracle
from tests.etl.stardust_archives import NETWORK

pytestmark = pytest.mark.loads

BEGINNING, CHRYSALIS_BEGINNING = 24, 23
LAST = 50


@dataclass(frozen=True)
class SinceSnapshot(Explorer):
    """The ledger that begins with the outputs that were unspent after milestone BEGINNING."""

    @cached_property
    def outputs(self) -> dict[str, Json]:
        found = {}
        for output_id, each in Explorer(self.ledger, self.last).outputs.items():
            metadata = each["metadata"]
            if not metadata["isSpent"] or metadata["milestoneIndexSpent"] > BEGINNING:
                index = max(metadata["milestoneIndexBooked"], BEGINNING)
                found[output_id] = each | {"metadata": metadata | {"milestoneIndexBooked": index}}
        return found


@pytest.fixture(scope="module")
def from_snapshot(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """A Stardust ledger."""
    folder = tmp_path_factory.mktemp("snapshot")
    file = folder / "full.bin"
    file.write_bytes(stardust.snapshot_after(BEGINNING))
    loading = stores((7, 3), NETWORK, analytics=True)
    report = loading.load(*stardust.milestones(folder, *range(BEGINNING, LAST + 1)), genesis=file)
    assert (report.exit_code, report.ledger_index, report.held) == (0, LAST, "")
    return loading


@pytest.fixture(scope="module")
def snapshot_alone(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """A store with the Stardust ledger after its last milestone, and without milestones."""
    file = tmp_path_factory.mktemp("alone") / "full.bin"
    file.write_bytes(stardust.snapshot_after(LAST))
    loading = stores((7, 3), NETWORK)
    assert loading.load(genesis=file).ledger_index == LAST
    return loading


@pytest.fixture(scope="module")
def without_time(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """The same from a genesis.json, which has no time."""
    left = [key for key, each in stardust.expected()["outputs"].items() if not each["metadata"]["isSpent"]]
    document = {
        "ledgerIndex": LAST,
        "coordinatorPublicKeys": [],
        "treasury": stardust.expected()["treasury"],
        "outputs": [{"outputId": each, "output": stardust.expected()["outputs"][each]["output"]} for each in left],
    }
    file = tmp_path_factory.mktemp("timeless") / "genesis.json"
    file.write_bytes(dump(document))
    loading = stores((7, 3), NETWORK, eras={"bech32_hrp": "tst"})
    assert loading.load(genesis=file).ledger_index == LAST
    return loading


@contextmanager
def serving(loading: Loading) -> Iterator[Any]:
    """The API over a store."""
    with mounted(loading.store) as network:
        yield create_app({network.name: network}, network.name, ApiSettings())


async def updates_of(app: Any, bech32: str, **query: Any) -> list[Json]:
    """All pages of the updates of an address."""
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        path = f"/api/explorer/v2/ledger/updates/by-address/{bech32}"
        status, body = await ask(app, path, {"pageSize": 7} | query | cursor)
        assert (status, body["address"]) == (200, bech32)
        found += body["items"]
        if body["cursor"] is None:
            return found
        cursor = {"cursor": body["cursor"]}


async def test_updates_of_an_address_begin_with_its_outputs_in_the_snapshot(from_snapshot: Loading) -> None:
    expected = SinceSnapshot(StardustLedger.read())
    own = {each["metadata"]["milestoneIndexBooked"] for each in Explorer(expected.ledger).outputs.values()}
    assert {BEGINNING - 1, BEGINNING} <= own
    with serving(from_snapshot) as app:
        for address in expected.addresses:
            updates = expected.updates_of(address)
            assert await updates_of(app, address) == updates
            assert await updates_of(app, address, sort="oldest") == updates[::-1]


async def test_the_snapshot_is_in_the_spans_that_contain_its_time(snapshot_alone: Loading) -> None:
    explorer = Explorer(StardustLedger.read())
    time = explorer.time_of[LAST]
    address = max(explorer.owned().items(), key=itemgetter(1))[0]
    held = {
        output_id
        for output_id, each in explorer.outputs.items()
        if not each["metadata"]["isSpent"] and explorer.owner(each["output"], -1)[1] == address
    }
    with serving(snapshot_alone) as app:
        for span, expected in (
            ({"start": time}, held),
            ({"end": time}, held),
            ({"start": time, "end": time}, held),
            ({"start": LAST}, held),
            ({"start": time + 1}, set()),
            ({"end": time - 1}, set()),
            ({"start": time + 1, "end": LAST}, set()),
        ):
            assert {each["outputId"] for each in await updates_of(app, address, **span)} == expected, span
            query = {"addresses": address, "pageSize": 1000} | span
            status, statement = await ask(app, "/api/explorer/v2/ledger/statement", query)
            assert status == 200
            assert bool(statement["items"]) == bool(expected), span


async def test_conditions_are_compared_with_the_time_of_the_snapshot(snapshot_alone: Loading) -> None:
    explorer = Explorer(StardustLedger.read())
    with serving(snapshot_alone) as app:
        for address in explorer.addresses:
            found = await ask(app, f"/api/explorer/v2/balance/{address}")
            expected = explorer.balance(address)
            assert found == (200, expected) if expected else found[0] == 404
        for token_id, holders in holders_of_tokens(explorer, explorer.time_of[LAST]).items():
            status, body = await ask(app, f"/api/explorer/v2/native-tokens/{token_id}/holders", {"pageSize": 1000})
            assert status == 200
            assert {each["address"]: int(each["amount"], 16) for each in body["items"]} == holders


def holders_of_tokens(explorer: Explorer, unix_time: int) -> dict[str, Counter[str]]:
    """Token → address → amount at a time."""
    found = defaultdict[str, Counter[str]](Counter)
    for each in explorer.unspent():
        _, owner = explorer.owner(each["output"], unix_time)
        for token in each["output"].get("nativeTokens", ()):
            found[token["id"]][owner] += int(token["amount"], 16)
    return found


def conditions(output: Json, *types: int) -> list[Json]:
    return [each for each in output["unlockConditions"] if each["type"] in types]


TIMELOCK, EXPIRATION = 2, 3


async def test_conditions_need_the_time_of_the_genesis(without_time: Loading) -> None:
    explorer = Explorer(StardustLedger.read())
    outputs = [each["output"] for each in explorer.unspent()]
    roles = ("address", "stateController", "expirationReturn")
    timed = {
        explorer.roles(each).get(role) for each in outputs if conditions(each, TIMELOCK, EXPIRATION) for role in roles
    }
    expiring = {
        token["id"] for each in outputs if conditions(each, EXPIRATION) for token in each.get("nativeTokens", ())
    }
    known = 0
    reason = "the time of this ledger index is not known, because the genesis does not contain it"
    with serving(without_time) as app:
        for address in explorer.addresses:
            status, body = await ask(app, f"/api/explorer/v2/balance/{address}")
            expected = explorer.balance(address)
            if address in timed:
                assert status == 501
                assert reason in str(body)
            elif expected:
                assert (status, body) == (200, expected)
                known += 1
        for token_id, holders in holders_of_tokens(explorer, 0).items():
            status, body = await ask(app, f"/api/explorer/v2/native-tokens/{token_id}/holders", {"pageSize": 1000})
            if token_id in expiring:
                assert status == 501
                assert reason in str(body)
            else:
                assert {each["address"]: int(each["amount"], 16) for each in body["items"]} == holders
    assert known
    assert timed


def test_a_load_adds_the_time_to_an_older_store(stores: Stores, tmp_path: Path) -> None:
    file = tmp_path / "full.bin"
    file.write_bytes(stardust.snapshot_after(LAST))
    loading = stores((7, 3), NETWORK)
    loading.load(genesis=file)
    with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
        batch.delete(schema.keyspace_info, ("genesis_time",))
    assert loading.load(genesis=file).exit_code == 0
    with closing(open_store(loading.store)) as store:
        found = asyncio.run(find_timestamps(store, [LAST, LAST + 1]))
    assert found == [stardust.oracle()[LAST - 1]["milestone"]["timestamp"], None]


async def test_outputs_of_a_snapshot_have_the_milestones_that_booked_them(from_snapshot: Loading) -> None:
    left = SinceSnapshot(StardustLedger.read()).outputs
    assert {stardust.expected()["outputs"][each]["metadata"]["milestoneIndexBooked"] for each in left} >= {
        3,
        BEGINNING,
        LAST,
    }
    with serving(from_snapshot) as app:
        for output_id in left:
            metadata = stardust.expected()["outputs"][output_id]["metadata"]
            found = await ask(app, f"/api/core/v2/outputs/{output_id}/metadata")
            assert found == (200, metadata | {"ledgerIndex": LAST})


def unclaimed_after(index: int) -> tuple[int, int]:
    """Number and base tokens of the outputs of milestone 0 that were unspent after a milestone."""
    held = [
        int(each["output"]["amount"])
        for each in stardust.expected()["outputs"].values()
        if each["metadata"]["milestoneIndexBooked"] == 0
        and (not each["metadata"]["isSpent"] or each["metadata"]["milestoneIndexSpent"] > index)
    ]
    return len(held), sum(held)


@pytest.mark.parametrize("ledger_near", [stardust.FAR, stardust.NEAR])
@pytest.mark.parametrize("beginning", [1, BEGINNING])
def test_only_outputs_of_milestone_0_are_unclaimed(
    stores: Stores, tmp_path: Path, ledger_near: int, beginning: int
) -> None:
    file = tmp_path / "full.bin"
    file.write_bytes(stardust.snapshot_after(beginning))
    loading = stores((7, 3), NETWORK, ledger_near=ledger_near, analytics=True)
    report = loading.load(*stardust.milestones(tmp_path, *range(beginning + 1, LAST + 1)), genesis=file)
    assert (report.exit_code, report.ledger_index) == (0, LAST)
    with closing(open_adapter(loading.store, writable=False)) as store:
        rows = store.read_all(schema.ms_analytics)
    found = {row["milestone_index"]: (row["unclaimed_count"], row["unclaimed_amount"]) for row in rows}
    assert found == {index: unclaimed_after(index) for index in range(beginning, LAST + 1)}


def test_a_lake_of_an_older_version_gets_the_milestones_from_the_same_snapshot(stores: Stores, tmp_path: Path) -> None:
    file = tmp_path / "full.bin"
    file.write_bytes(stardust.snapshot_after(BEGINNING))
    loading = stores((7, 3), NETWORK)
    loading.load(genesis=file)
    booked = loading.rows()["booked_outputs"]
    assert booked
    with engine_session(ON_SAIL) as spark:
        lake = Lake(spark, str(loading.folder / "lake"))
        rows = lake.genesis().withColumns(
            {
                "booked_milestone_index": F.expr("CAST(NULL AS INT)"),
                "booked_ms_timestamp": F.expr("CAST(NULL AS BIGINT)"),
            }
        )
        lake.replace("genesis", rows)
    loading.rebuild()
    assert loading.rows()["booked_outputs"] == []
    assert loading.load(genesis=file).exit_code == 0
    loading.rebuild()
    assert loading.rows()["booked_outputs"] == booked


def chrysalis_snapshot(oracle: Oracle) -> bytes:
    """A full snapshot of Hornet 1 after milestone CHRYSALIS_BEGINNING, written here. Its time is that of the file."""
    left = unspent_after(oracle, CHRYSALIS_BEGINNING)
    treasury = oracle.milestones[CHRYSALIS_BEGINNING - 1]["milestone"]["treasury"]
    head = b"\x01\x00" + u64(oracle.time_of[CHRYSALIS_BEGINNING]) + u64(int(oracle.expected["networkId"]))
    head += (
        2 * stardust.u32(CHRYSALIS_BEGINNING)
        + u64(1)
        + u64(len(left))
        + u64(0)
        + bytes.fromhex(treasury["milestoneId"])
        + u64(treasury["amount"])
    )
    return head + bytes(32) + b"".join(chrysalis_output(output_id, each) for output_id, each in left.items())


def u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


def chrysalis_output(output_id: str, each: Json) -> bytes:
    output = each["output"]
    owner = b"\0" + bytes.fromhex(output["address"]["address"])
    ids = bytes.fromhex(each["messageId"] + output_id)
    return ids + bytes([output["type"]]) + owner + u64(output["amount"])


def unspent_after(oracle: Oracle, index: int) -> dict[str, Json]:
    return {
        output_id: each
        for output_id, each in oracle.outputs.items()
        if oracle.milestone_of[each["messageId"]] <= index < each.get("milestoneIndexSpent", LAST + 1)
    }


def chrysalis_updates(oracle: Oracle, address: str) -> list[Json]:
    """The updates of an address since the snapshot, newest first."""
    found = []
    for output_id in oracle.all_outputs(address):
        each = oracle.outputs[output_id]
        created, spent = oracle.milestone_of[each["messageId"]], each.get("milestoneIndexSpent")
        if spent is not None and spent <= CHRYSALIS_BEGINNING:
            continue
        events = [(False, max(created, CHRYSALIS_BEGINNING), each["transactionId"])]
        if spent is not None:
            events.append((True, spent, each["transactionIdSpent"]))
        found += [
            {
                "outputId": f"0x{output_id}",
                "isSpent": is_spent,
                "milestoneIndex": index,
                "milestoneTimestamp": oracle.time_of[index],
                "amount": str(each["output"]["amount"]),
                "transactionId": f"0x{transaction_id}",
                "role": "address",
            }
            for is_spent, index, transaction_id in events
        ]
    return sorted(found, key=lambda each: (each["milestoneIndex"], each["outputId"], each["isSpent"]), reverse=True)


@pytest.fixture(scope="module")
def from_chrysalis_snapshot(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """A Chrysalis ledger."""
    folder = tmp_path_factory.mktemp("snapshot")
    file = folder / "full.bin"
    file.write_bytes(chrysalis_snapshot(whole_oracle()))
    loading = stores((7, 3))
    files = chrysalis.milestones(folder, *range(CHRYSALIS_BEGINNING, LAST + 1))
    report = loading.load(*files, genesis=file)
    assert (report.exit_code, report.ledger_index, report.held) == (0, LAST, "")
    return loading


async def test_updates_of_a_chrysalis_address_begin_with_its_outputs_in_the_snapshot(
    from_chrysalis_snapshot: Loading,
) -> None:
    oracle = whole_oracle()
    bech32 = {each["address"]: each["bech32"] for each in oracle.expected["addresses"]}
    with serving(from_chrysalis_snapshot) as app:
        for address in oracle.addresses:
            updates = chrysalis_updates(oracle, address)
            assert await updates_of(app, bech32[address]) == updates
            assert await updates_of(app, bech32[address], sort="oldest") == updates[::-1]

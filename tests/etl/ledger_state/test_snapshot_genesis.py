"""Responses about ledgers that begin with a snapshot, compared with the oracle's expectations.

The milestone of each snapshot is loaded, too. Outputs that it created and spent are not in the snapshot.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from cli.serving import mount
from tests.api.asgi import ask
from tests.api.explorer import Explorer
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.etl.archives import Json
from tests.etl.conftest import Loading, Stores
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


@contextmanager
def serving(loading: Loading) -> Iterator[Any]:
    """The API over a store."""
    network = mount(loading.store)
    with closing(network.store):  # type: ignore[type-var]
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

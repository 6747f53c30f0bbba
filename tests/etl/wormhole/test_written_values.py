"""Values in written cells of any form: the sums of a day, and the deep check, which recomputes them in SQL.

The network is invented, the guardian's key is a test key. The tests state their expected values.
"""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import open_store
from etl.deep_check import wormhole as deep_check
from etl.wormhole import load
from etl.wormhole.values import summand
from ledger.wormhole.payloads import TokenTransfer
from ledger.wormhole.vaa import Vaa, encode_vaa
from tests.etl.conftest import Loading, Stores
from tests.etl.deep_check.checking import checked, differing
from tests.etl.vaas import cell_line, write_lines
from tests.ledger.wormhole.cases import PRIVATE, guardian_set, signed, written

NETWORK = "wormhole-devnet"
BRIDGE = bytes.fromhex("0290fb167208af455bb137780163b7b7a9a10c16".zfill(64))
"""The token bridge of chain 2 on devnet."""

AMOUNTS = [
    ("12.5", "12.5"),
    ("5.", "5"),
    (".00000005", "0.00000005"),
    ("-0.5", "-0.5"),
    ("+7", "7"),
    ("1e5", "100000"),
    ("2.5E-3", "0.0025"),
    ("0.000000005", "0.00000001"),
    ("0.0000000049999", "0"),
    ("1e-999", "0"),
    ("999999999999999999999999999999.99999999", "999999999999999999999999999999.99999999"),
    ("999999999999999999999999999999.999999995", None),
    ("1e30", None),
    ("1e999", None),
    ("1_000", None),
    ("\u0663", None),
    ("NaN", None),
    ("-Infinity", None),
    ("0x10", None),
    ("1,5", None),
    (" 5", None),
    ("much", None),
]
"""A text in a cell of an amount, and its number in sums."""


@pytest.mark.parametrize(("text", "number"), [*AMOUNTS, ("", None), (None, None), ("0" * 4_000, "0")])
def test_a_text_is_a_number_in_sums_only_if_it_has_ascii_digits(text: str | None, number: str | None) -> None:
    assert summand(text) == number


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (load, deep_check):
        monkeypatch.setattr(module, "PUBLISHED", {"devnet": [guardian_set(0, PRIVATE[:1])]})


def transfer(sequence: int) -> str:
    """A transfer on a day of its own, of a token that no message describes."""
    payload = written(TokenTransfer(5, bytes([0x11] * 32), 2, bytes([0x33] * 32), 4, 0))
    vaa = Vaa(0, (), 1_700_000_000 + 86_400 * sequence, 0, 2, BRIDGE, sequence, 1, payload)
    return json.dumps({"vaa": encode_vaa(signed(vaa, PRIVATE[:1])).hex()})


def key(sequence: int) -> str:
    return f"2:{BRIDGE.hex()}:{sequence:016d}"


@pytest.mark.loads
@pytest.mark.usefixtures("published")
def test_written_amounts_are_summed_in_the_same_way_everywhere(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network=NETWORK)
    numbered = list(enumerate(AMOUNTS))
    lines = [transfer(number) for number, _ in numbered]
    lines += [cell_line(key(number), "TokenTransferDetails", "Amount", text) for number, (text, _) in numbered]
    loading.load(write_lines(tmp_path / "written.jsonl", lines))
    sums = [row for row in loading.rows()["vaa_daily"] if row["measure"] == "transfers"]
    first = min(row["day"] for row in sums)
    assert {row["day"] - first: row["amount"] for row in sums} == {at: number for at, (_, number) in numbered}
    assert differing(checked(loading)) == []


ZERO_TIME = "0001-01-01 00:00:00 +0000 UTC"
"""What Go writes for a time that was never set."""


@pytest.mark.loads
@pytest.mark.usefixtures("published")
def test_a_message_is_found_by_a_time_that_was_never_set(stores: Stores, tmp_path: Path) -> None:
    loading = stores(network=NETWORK)
    lines = [transfer(1), cell_line(key(1), "MessagePublication", "Timestamp", ZERO_TIME)]
    loading.load(write_lines(tmp_path / "zero.jsonl", lines))
    asked = {"columnFamily": "MessagePublication", "columnName": "Timestamp", "value": ZERO_TIME}
    (row,) = found_rows(loading, asked)
    assert (row["RowKey"], row["MessagePublication"]["Timestamp"]) == (key(1), ZERO_TIME)
    assert differing(checked(loading)) == []


def found_rows(loading: Loading, asked: dict[str, str]) -> list[dict[str, Any]]:
    """Rows by value, each with its published columns."""

    async def read(app: Any) -> list[dict[str, Any]]:
        events = "/api/wormhole/events"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            rows = (await client.get(f"{events}/findrows", params=asked)).json()["Rows"]
            found = []
            for row in rows:
                chain, emitter, sequence = row["RowKey"].split(":")
                place = {"emitterChain": chain, "emitterAddress": emitter, "sequence": sequence}
                given = place | {"families": "MessagePublication"}
                found.append(row | (await client.get(f"{events}/readrow", params=given)).json())
            return found

    with closing(open_store(loading.store)) as store:
        mount = NetworkMount(store, NETWORK, wormhole="devnet")
        return asyncio.run(read(create_app({NETWORK: mount}, NETWORK, ApiSettings())))

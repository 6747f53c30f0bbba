"""The token list of the sample: details of all its transfers, compared with the files, computed in plain Python."""

import csv
import gzip
import json
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest

from db.schema.wormhole_tables import OWN
from etl.wormhole.token_list import read_token_list
from ledger.wormhole.addresses import format_address
from tests.conftest import ROOT
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.vaas import write_lines

pytestmark = pytest.mark.loads

SAMPLE = ROOT / "sample" / "wormhole"
PRICES, TOKENS = SAMPLE / "prices.csv", SAMPLE / "tokens.csv.gz"

Json = dict[str, Any]


def bodies() -> Iterator[tuple[str, int, bytes]]:
    """Row key, timestamp and payload of each VAA of the sample, split by hand."""
    with gzip.open(SAMPLE / "vaas.jsonl.gz", "rt") as file:
        for line in file:
            data = bytes.fromhex(json.loads(line)["hex"])
            body = data[6 + 66 * data[5] :]
            timestamp, _, chain, emitter, sequence, _ = struct.unpack(">IIH32sQB", body[:51])
            yield f"{chain}:{emitter.hex()}:{sequence:016d}", timestamp, body[51:]


def listed() -> dict[str, Json]:
    with gzip.open(TOKENS, "rt", newline="") as file:
        return {f"{row['chain']}/{row['address']}": row for row in csv.DictReader(file)}


def attested() -> dict[str, tuple[int, str, str]]:
    """Decimals, symbol and name in the AssetMeta messages of the sample: a token's own description comes first."""
    found: dict[str, tuple[int, str, str]] = {}
    for _, _, payload in sorted(bodies(), key=lambda each: -each[1]):
        if len(payload) == 100 and payload[0] == 2:
            chain = struct.unpack(">H", payload[33:35])[0]
            texts = [each.decode("utf-8", "replace").strip("\0") for each in (payload[36:68], payload[68:])]
            found[f"{chain}/{payload[1:33].hex()}"] = (payload[35], *texts)
    return found


def prices() -> dict[str, Decimal]:
    with PRICES.open(newline="") as file:
        return {row["token_key"]: Decimal(row["price_usd"]) for row in csv.DictReader(file)}


def plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


COINS = {"3/010000000000000000000000000000000000000000000000000000756c756e61": "uluna"}
"""Tokens that the event database wrote by name: process-transfer.go of wormhole-foundation/wormhole."""


def details(names: dict[str, Json]) -> dict[str, Json]:
    """Row key → TokenTransferDetails of each transfer, with the token list `names`."""
    metas, worth = attested(), prices()
    found = {}
    for key, timestamp, payload in bodies():
        if not (len(payload) == 133 and payload[0] == 1) and not (len(payload) > 133 and payload[0] == 3):
            continue
        amount, chain = int.from_bytes(payload[1:33]), struct.unpack(">H", payload[65:67])[0]
        token = f"{chain}/{payload[33:65].hex()}"
        at = datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
        row: Json = dict.fromkeys(COLUMNS) | {
            "details_origin_token_address": COINS.get(token) or format_address(chain, payload[33:65]),
            "details_transfer_timestamp": at,
        }
        if token in names:
            row["details_coin_gecko_coin_id"] = names[token]["coingecko_id"]
        known = metas.get(token)
        if known is None and token in names:
            known = (int(names[token]["decimals"]), names[token]["symbol"], names[token]["name"])
        if known is not None:
            moved = Decimal(amount).scaleb(-min(8, known[0]))
            row |= {
                "details_amount": plain(moved),
                "details_decimals": known[0],
                "details_origin_symbol": known[1],
                "details_origin_name": known[2],
            }
            if token in worth:
                row["details_token_price_usd"] = plain(worth[token])
                usd = (moved * worth[token]).quantize(Decimal("1e-8"), ROUND_HALF_EVEN)
                row["details_notional_usd"] = plain(usd)
        found[key] = row
    return found


COLUMNS = (
    "details_amount",
    "details_notional_usd",
    "details_origin_symbol",
    "details_origin_name",
    "details_origin_token_address",
    "details_decimals",
    "details_token_price_usd",
    "details_transfer_timestamp",
    "details_coin_gecko_coin_id",
)


def reported(loading: Loading) -> dict[str, Json]:
    rows = loading.rows()["vaa_payloads"]
    return {
        row["row_key"]: {name: row[name] for name in COLUMNS}
        for row in rows
        if row["digest"] and row["transfer_payload_id"] is not None
    }


@on(SQLITE, LATER_CASSANDRA)
def test_every_transfer_of_the_sample_has_the_details_of_its_token(everywhere: Stores) -> None:
    loading = everywhere(network="wormhole-mainnet")
    loading.load(SAMPLE / "vaas.jsonl.gz", prices=PRICES, tokens=TOKENS)
    expected = details(listed())
    assert reported(loading) == expected
    with_amount = [key for key, row in expected.items() if row["details_amount"] is not None]
    assert (len(with_amount), len(expected)) == (22, 24)


def test_a_list_that_is_loaded_later_gives_the_same_rows(stores: Stores, tmp_path: Path) -> None:
    first, second = stores(network="wormhole-mainnet"), stores(network="wormhole-mainnet")
    first.load(SAMPLE / "vaas.jsonl.gz", prices=PRICES, tokens=TOKENS)
    second.load(SAMPLE / "vaas.jsonl.gz", prices=PRICES)
    assert reported(second) == details({})
    second.load(tokens=TOKENS)
    same(first, second)
    second.rebuild()
    same(first, second)
    # A later list replaces the tokens that it names, and no others.
    key = next(key for key, row in details(listed()).items() if row["details_coin_gecko_coin_id"])
    token = next(
        f"{struct.unpack('>H', payload[65:67])[0]}/{payload[33:65].hex()}" for at, _, payload in bodies() if at == key
    )
    chain, address = token.split("/")
    file = write_lines(
        tmp_path / "own.csv", ["chain,address,symbol,name,decimals,coingecko_id", f"{chain},{address},X,An x,3,x"]
    )
    second.load(tokens=file)
    names = listed() | {token: {"symbol": "X", "name": "An x", "decimals": "3", "coingecko_id": "x"}}
    assert reported(second) == details(names) != details(listed())


def same(one: Loading, other: Loading) -> None:
    found, expected = one.rows(), other.rows()
    for table in OWN:
        assert found[table.name] == expected[table.name], table.name


def test_the_table_has_all_tokens_of_the_list(stores: Stores) -> None:
    loading = stores(network="wormhole-mainnet")
    loading.load(SAMPLE / "vaas.jsonl.gz", tokens=TOKENS)
    metas, names = attested(), listed()
    rows = {row["token_key"]: row for row in loading.rows()["tokens"]}
    moved = {key: row for key, row in rows.items() if key not in names}
    assert moved.keys() <= metas.keys()
    assert {key: (row["decimals"], row["symbol"], row["name"], row["coin_gecko_id"]) for key, row in rows.items()} == {
        key: (
            *metas.get(key, (int(row["decimals"]), row["symbol"], row["name"])),
            row["coingecko_id"],
        )
        for key, row in names.items()
    } | {key: (*metas[key], None) for key in moved}
    assert {key for key, row in rows.items() if row["digest"] is not None} == metas.keys() & rows.keys()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"1,{'ab' * 31},X,,6,", f"address: expected 64 hex digits, found '{'ab' * 31}'"),
        (f"70000,{'ab' * 32},X,,6,", "chain: expected a number up to 65535, found '70000'"),
        (f"1,{'ab' * 32},X,,256,", "decimals: expected a number up to 255, found '256'"),
        (f"1,{'ab' * 32},,,6,", "symbol: expected a text, found ''"),
    ],
)
def test_an_invalid_line_names_what_was_expected(tmp_path: Path, line: str, reason: str) -> None:
    file = write_lines(tmp_path / "bad.csv", ["chain,address,symbol,name,decimals,coingecko_id", line])
    with pytest.raises(ValueError, match=r"bad\.csv:2: ") as caught:
        read_token_list(file)
    assert str(caught.value).endswith(reason)


def test_a_list_needs_its_columns_and_one_row_for_each_token(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "bad.csv", ["chain,address"])
    with pytest.raises(ValueError, match=r"bad\.csv:1: expected a header with .*; symbol, decimals is missing"):
        read_token_list(file)
    rows = [f"1,{'ab' * 32},X,,6,x", f"1,{'AB' * 32},Y,,6,y"]
    file = write_lines(tmp_path / "twice.csv", ["chain,address,symbol,name,decimals,coingecko_id", *rows])
    with pytest.raises(ValueError, match=rf"twice\.csv:3: expected one description of 1/{'ab' * 32}, found another"):
        read_token_list(file)


def test_a_list_of_a_spreadsheet_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    with gzip.open(TOKENS, "rt", encoding="utf-8", newline="") as file:
        text = file.read()
    marked = tmp_path / "tokens.csv"
    marked.write_bytes(text.encode("utf-8-sig"))
    assert read_token_list(marked) == read_token_list(TOKENS)

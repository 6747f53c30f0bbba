"""Functions of the event database that find rows by a column's value, compared with the records; GET and POST."""

from collections import defaultdict
from typing import Any

import httpx
import pytest

from api.wormhole.events import value_routes as wormhole_event_values
from api.wormhole.events.params import COLUMNS_FOUND
from db.listing import page as paging
from tests.api.wormhole.test_wormhole_events import both, row_of
from tests.api.wormhole_network import SHARED_TX, UNSIGNED, UNSIGNED_TX, Message, World
from tests.conftest import needs_shared

Json = dict[str, Any]

VALUES_PER_COLUMN = 3
"""Values of a column, the ones with the most rows."""

TRANSFERS = ("token_transfer", "token_transfer_with_payload")


def lookup_values(world: World, message: Message) -> dict[tuple[str, str], str]:
    """Columns of a message that lookups use, with their values."""
    record = message.served
    decoded, kind = record["decoded"], record["payload_kind"]
    found = {
        ("MessagePublication", "EmitterChain"): record["emitter_chain_name"],
        ("MessagePublication", "EmitterAddress"): record["emitter_address"],
    }
    family = "TokenTransferPayload" if kind in TRANSFERS else "NFTTransferPayload"
    if kind in (*TRANSFERS, "nft_transfer"):
        found |= {(family, "OriginAddress"): decoded["token_address"], (family, "TargetAddress"): decoded["to_address"]}
    if kind == "asset_meta":
        found["AssetMetaPayload", "TokenAddress"] = decoded["token_address"]
    if record["row_key"] == world.first_transfer["row_key"]:
        found["ChainDetails", "SenderAddress"] = "aNativeSender"
    return found


def check_rows(
    world: World, found: list[Json], expected: list[Message], *, with_bytes: bool = False, with_key: bool = False
) -> None:
    """Whole rows of those messages, in that order, without SignedVAA."""
    assert [each["Sequence"] for each in found] == [str(each.served["sequence"]) for each in expected]
    for row, message in zip(found, expected, strict=True):
        whole = row_of(world, message) | {"EmitterChain": message.served["emitter_chain_name"], "SignedVAA": None}
        if not with_bytes:
            whole["SignedVAABytes"] = None
        if with_key:
            whole["RowKey"] = message.served["row_key"]
        assert {name: row[name] for name in whole} == whole
        assert row.keys() - whole.keys() == {
            "TransferDetails", "AssetMetaPayload", "NFTTransferPayload", "ChainDetails",
        }  # fmt: skip


async def test_rows_by_what_any_column_holds_that_is_looked_up(signed: httpx.AsyncClient, world: World) -> None:
    by_value: dict[tuple[tuple[str, str], str], list[Message]] = defaultdict(list)
    for message in world.verified:
        for column, value in lookup_values(world, message).items():
            by_value[column, value].append(message)
    columns = {column for column, _ in by_value}
    assert len(columns) == 8
    often = sorted(by_value, key=lambda each: -len(by_value[each]))
    requested = [each for column in columns for each in [at for at in often if at[0] == column][:VALUES_PER_COLUMN]]
    for (family, name), value in requested:
        expected = by_value[(family, name), value]
        given = {"columnFamily": family, "columnName": name, "value": value}
        if len(expected) <= 100:
            check_rows(world, await both(signed, "findvalues", **given), expected)
        few = await both(signed, "findvalues", **given, numRows="2", vaaBytes="false")
        check_rows(world, few, expected[:2], with_bytes=True)
        pages, cursor = [], ""
        while True:
            page = await both(signed, "findrows", **given, numRows="40", **({"cursor": cursor} if cursor else {}))
            pages.append(page["Rows"])
            cursor = page["Next"]
            if not cursor:
                break
        assert all(len(each) <= 40 for each in pages)
        check_rows(world, [row for rows in pages for row in rows], expected, with_key=True)


@needs_shared
async def test_old_bug_rows_of_a_chain_or_contract_are_of_that_alone(signed: httpx.AsyncClient, world: World) -> None:
    by_token: dict[str, list[Message]] = defaultdict(list)
    for each in world.verified:
        if each.served["payload_kind"] in TRANSFERS:
            by_token[each.served["decoded"]["token_address"]].append(each)
    several = {
        token: held for token, held in by_token.items() if len({each.served["emitter_chain"] for each in held}) > 1
    }
    assert several
    for token, held in several.items():
        given = {"columnFamily": "TokenTransferPayload", "columnName": "OriginAddress", "value": token}
        for one in held[:2]:
            chain, emitter = one.served["emitter_chain"], one.served["emitter_address"]
            of_chain = [each for each in held if each.served["emitter_chain"] == chain]
            check_rows(world, await both(signed, "findvalues", **given, emitterChain=str(chain)), of_chain)
            of_emitter = [each for each in held if each.served["emitter_address"] == emitter]
            check_rows(world, await both(signed, "findvalues", **given, emitterAddress=emitter), of_emitter)
        assert await both(signed, "findvalues", **given, emitterChain="65535") == []


async def test_rows_by_their_transaction_are_found_whoever_signed_them(signed: httpx.AsyncClient, world: World) -> None:
    given = {"columnFamily": "MessagePublication", "columnName": "InitiatingTxID"}
    (alone,) = await both(signed, "findvalues", **given, value=UNSIGNED_TX)
    assert ([alone["EmitterChain"], alone["EmitterAddress"], alone["Sequence"]], alone["InitiatingTxID"]) == (
        ["bsc", UNSIGNED.split(":")[1], "7"],
        UNSIGNED_TX,
    )
    shared = {each.record["row_key"] for each in world.observed if each.tx_id == SHARED_TX}
    found = await both(signed, "findvalues", **given, value=SHARED_TX.removeprefix("0x"))
    assert len(found) == len(shared) == 2
    expected = [world.canonical[key] for key in shared]
    check_rows(world, found, sorted(expected, key=lambda each: each.order, reverse=True))
    assert await both(signed, "findvalues", **given, value="cd" * 32) == []


async def test_more_rows_than_one_answer_has_are_rejected_where_all_are_requested(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = world.verified[0].served["emitter_chain_name"]
    count = sum(each.served["emitter_chain_name"] == chain for each in world.verified)
    given = {"columnFamily": "MessagePublication", "columnName": "EmitterChain", "value": chain}
    monkeypatch.setattr(wormhole_event_values, "ROWS_MAX", count - 1)
    found = await both(signed, "findvalues", **given)
    fewer = "request fewer with numRows, or use findrows, which has pages"
    assert (found["code"], found["message"]) == (12, f"more rows than one response reads: {fewer}")
    monkeypatch.setattr(wormhole_event_values, "ROWS_MAX", count)
    assert len(await both(signed, "findvalues", **given)) == count
    # None of the rows that were read matches, and there are more.
    monkeypatch.setattr(wormhole_event_values, "ROWS_MAX", 1)
    monkeypatch.setattr(paging, "EXAMINED_AT_LEAST", 1)
    assert (await both(signed, "findvalues", **given, emitterAddress="cd" * 32))["message"] == found["message"]
    assert (await both(signed, "findvalues", **given, emitterAddress="cd" * 32, numRows="1"))["code"] == 12


WHOLE = {"columnFamily": "TokenTransferPayload", "columnName": "TargetAddress", "value": "ab" * 32}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columnName": "Colour"}, f"parameter columnName: expected {COLUMNS_FOUND}, found 'TokenTransferPayload:Col"),
        ({"columnFamily": "AssetMetaPayload"}, f"parameter columnName: expected {COLUMNS_FOUND}, found 'AssetMetaPayl"),
        ({"columnName": "EmitterChain"}, f"parameter columnName: expected {COLUMNS_FOUND}, found 'TokenTransferPayl"),
        ({"value": "AB" * 32}, "parameter value: expected 64 lower-case hex digits, found 'ABAB"),
        (
            {"value": ""},
            "parameter value: expected 1 to 12000 characters, none of them a control character, found nothing",
        ),
        ({"numRows": "101"}, "parameter numRows: expected an integer from 0 to 100, found '101'"),
    ],
)
async def test_a_column_or_value_that_no_row_can_have_is_a_400(
    signed: httpx.AsyncClient, given: Json, message: str
) -> None:
    found = await both(signed, "findvalues", **WHOLE | given)
    assert (found["code"], found["details"]) == (3, [])
    assert found["message"].startswith(message)
    paged = await both(signed, "findrows", **WHOLE, cursor="abc")
    assert paged["code"] == 3

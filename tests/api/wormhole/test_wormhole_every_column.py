"""Rows by the value of every column of the event tables, and the columns that follow from a payload, compared with the
records and with cells that are written here.
"""

import base64
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import base58
import httpx
import pytest

from db.schema.event_columns import FAMILY_COLUMNS
from tests.api.conftest import Some
from tests.api.wormhole.test_wormhole_events import both
from tests.api.wormhole_network import CELLS, WRITTEN, Message, World, b64, plain

Json = dict[str, Any]

VALUES_PER_COLUMN = 2
"""Values of a column: one that many rows have, and one that few have."""

PYTHNET = 26

EVM = {2, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 16, 23, 24, 30}

WRAPPED_ON_SOLANA = {
    f"2/{'a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48':0>64}": "A9mUU4qviSctJVPJdBJWkb28deg915LYJKrzQ19ji3FM",
    f"2/{'c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2':0>64}": "7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs",
    f"2/{'dac17f958d2ee523a2206206994597c13d831ec7':0>64}": "Dn4noZ5jgGfkntzcQSUZ8czkreiZ1ForXYoV2H8Dm7S1",
    f"2/{'2260fac5e5542a773aa44fbcfedf7c193bc2c599':0>64}": "3NZ9JMVBmGAqocybic2c7LQCJScmgsAZ6vQqTDzcqmJh",
}
"""Published mints of wrapped tokens: USDCet, WETH, USDTet and WBTC of Solana's token lists."""


def native(chain: int, address: str) -> str | None:
    """An account or contract as its chain writes it; None on chains that this test does not format."""
    if chain in EVM:
        return f"0x{address[24:]}" if address.startswith("0" * 24) else address
    return base58.b58encode(bytes.fromhex(address)).decode() if chain in (1, PYTHNET) else None


COINS = {"3/010000000000000000000000000000000000000000000000000000756c756e61": "uluna"}
"""Tokens that the event database wrote by name: process-transfer.go of wormhole-foundation/wormhole."""


def columns(world: World, message: Message) -> dict[tuple[str, str], str | None]:
    """The values of a verified message by family and column; None if this test does not know the value."""
    record, decoded = message.served, message.served["decoded"]
    kind = record["payload_kind"]
    data = bytes.fromhex(record["hex"])
    found: dict[tuple[str, str], str | None] = {
        ("MessagePublication", "EmitterChain"): record["emitter_chain_name"],
        ("MessagePublication", "EmitterAddress"): record["emitter_address"],
        ("QuorumState", "SignedVAA"): record["hex"],
    }
    if record["emitter_chain"] != PYTHNET:
        found |= {
            ("MessagePublication", "Version"): "1",
            ("MessagePublication", "GuardianSetIndex"): str(record["guardian_set"]),
            ("MessagePublication", "Nonce"): str(record["nonce"]),
            ("MessagePublication", "Sequence"): str(record["sequence"]),
            ("MessagePublication", "Payload"): b64(data[6 + 66 * record["num_signatures"] + 51 :].hex()),
        }
    of: dict[str, Json] = defaultdict(dict)
    if kind.startswith("token_transfer"):
        key = world.token_key(record)
        of["TokenTransferPayload"] = {
            "PayloadId": 1 if kind == "token_transfer" else 3,
            "Amount": decoded["amount"],
            "OriginAddress": decoded["token_address"],
            "OriginChain": decoded["token_chain"],
            "TargetAddress": decoded["to_address"],
            "TargetChain": decoded["to_chain"],
        }
        of["TokenTransferDetails"] = details(world, message)
        of["ChainDetails"] = {"ReceiverAddress": native(decoded["to_chain"], decoded["to_address"])}
        at_home = decoded["to_chain"] == decoded["token_chain"]
        if at_home:
            of["ChainDetails"]["ResultingTokenAddress"] = native(decoded["token_chain"], decoded["token_address"])
        elif decoded["to_chain"] == 1:
            of["ChainDetails"]["ResultingTokenAddress"] = WRAPPED_ON_SOLANA.get(key)
        if world.amount(message) is not None:
            name = world.metas[key]["name"]
            of["ChainDetails"]["ResultingTokenSymbol"] = world.metas[key]["symbol"]
            if at_home or decoded["to_chain"] in EVM:
                of["ChainDetails"]["ResultingTokenName"] = name if at_home else f"{name} (Wormhole)"
    if kind == "asset_meta":
        of["AssetMetaPayload"] = {
            "PayloadId": 2,
            "TokenAddress": decoded["token_address"],
            "TokenChain": decoded["token_chain"],
            "Decimals": decoded["decimals"],
            "Symbol": decoded["symbol"],
            "Name": decoded["name"],
            "NativeAddress": native(decoded["token_chain"], decoded["token_address"]),
        }
    if kind == "nft_transfer":
        of["NFTTransferPayload"] = {
            "PayloadId": 1,
            "OriginAddress": decoded["token_address"],
            "OriginChain": decoded["token_chain"],
            "Symbol": decoded["symbol"],
            "Name": decoded["name"],
            "TokenId": decoded["token_id"],
            "URI": decoded["uri"],
            "TargetAddress": decoded["to_address"],
            "TargetChain": decoded["to_chain"],
        }
        of["ChainDetails"] = {"ReceiverAddress": native(decoded["to_chain"], decoded["to_address"])}
    if record["row_key"] == world.first_transfer["row_key"]:
        of["ChainDetails"]["SenderAddress"] = "aNativeSender"
    for family, values in of.items():
        found |= {
            (family, name): None if value is None else str(value).replace("\0", "") for name, value in values.items()
        }
    return found


def details(world: World, message: Message) -> Json:
    record, decoded = message.served, message.served["decoded"]
    at = datetime.fromtimestamp(record["timestamp"], UTC)
    found: Json = {
        "OriginTokenAddress": COINS.get(world.token_key(record))
        or native(decoded["token_chain"], decoded["token_address"]),
        "TransferTimestamp": f"{at:%Y-%m-%d %H:%M:%S} +0000 UTC",
    }
    amount = world.amount(message)
    if amount is not None:
        key = world.token_key(record)
        meta, price, usd = world.metas[key], world.price(key, message.day), world.usd(message)
        found |= {
            "Amount": plain(amount),
            "Decimals": meta["decimals"],
            "OriginSymbol": meta["symbol"],
            "OriginName": meta["name"],
            "TokenPriceUSD": plain(price),
            "TokenPriceUSDStr": plain(price),
            "NotionalUSD": plain(usd),
            "NotionalUSDStr": plain(usd),
        }
    return found


async def keys_of(client: httpx.AsyncClient, family: str, name: str, value: str, **more: str) -> list[str]:
    """The row keys of all pages of findrows."""
    given = {"columnFamily": family, "columnName": name, "value": value, "numRows": "100"} | more
    keys, cursor = [], ""
    while True:
        page = await both(client, "findrows", **given, **({"cursor": cursor} if cursor else {}))
        keys += [row["RowKey"] for row in page["Rows"]]
        cursor = page["Next"]
        if not cursor:
            return keys


async def test_every_column_of_a_signed_message_is_found_by_its_value(
    signed: httpx.AsyncClient, world: World, some: Some[Any]
) -> None:
    held: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    unknown: set[tuple[str, str]] = set()
    for message in world.verified:
        for column, value in columns(world, message).items():
            if value is None:
                unknown.add(column)
            elif value:
                held[column][value].append(message.served["row_key"])
    assert len(held) >= 35
    for (family, name), by_value in some(held.items()):
        often = sorted(by_value, key=lambda value: (-len(by_value[value]), value))
        for value in dict.fromkeys((*often[: VALUES_PER_COLUMN - 1], often[-1])):
            found = await keys_of(signed, family, name, value)
            # The cells written here are of a message without a VAA, which comes last.
            assert [key for key in found if key != WRITTEN] == by_value[value], (family, name, value)
        assert await keys_of(signed, family, name, often[0], emitterChain="65535") == []


async def test_every_column_is_found_by_what_was_written_without_a_vaa(signed: httpx.AsyncClient) -> None:
    written = {(family, name) for family, name, _, _ in CELLS}
    assert written >= FAMILY_COLUMNS.keys() - {("MessagePublication", "InitiatingTxID"), *ELSEWHERE}
    for family, name, _, value in CELLS:
        if (family, name) not in ELSEWHERE:
            assert (await keys_of(signed, family, name, value))[-1:] == [WRITTEN], (family, name)


ELSEWHERE = {("MessagePublication", "EmitterChain"), ("MessagePublication", "EmitterAddress")}
"""Columns that are part of the key, which say nothing about a message without a VAA."""


async def test_the_receiver_and_the_resulting_token_follow_from_the_payload(
    signed: httpx.AsyncClient, world: World
) -> None:
    names = ("ReceiverAddress", "ResultingTokenAddress", "ResultingTokenSymbol", "ResultingTokenName", "SenderAddress")
    shown, on_solana = 0, 0
    for message in world.transfers:
        record = message.served
        key = {"emitterChain": str(record["emitter_chain"]), "emitterAddress": record["emitter_address"]}
        row = await both(signed, "readrow", **key, sequence=str(record["sequence"]), families="ChainDetails")
        expected = columns(world, message)
        for name in names:
            value = expected.get(("ChainDetails", name), "")
            assert value is None or row["ChainDetails"][name] == value, (record["row_key"], name)
            shown += bool(value)
        on_solana += bool(
            expected.get(("ChainDetails", "ResultingTokenAddress")) and record["decoded"]["to_chain"] == 1
        )
    assert shown > len(world.transfers)


async def test_bytes_are_searched_in_hex_and_in_base64(signed: httpx.AsyncClient, world: World) -> None:
    record = world.verified[0].served
    data = bytes.fromhex(record["hex"])
    payload = data[6 + 66 * record["num_signatures"] + 51 :]
    for family, name, value in (("QuorumState", "SignedVAA", data), ("MessagePublication", "Payload", payload)):
        for spelled in (value.hex(), f"0x{value.hex()}", base64.b64encode(value).decode()):
            assert record["row_key"] in await keys_of(signed, family, name, spelled)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"columnFamily": "QuorumState", "columnName": "SignedVAA", "value": "00"},
            "parameter value: expected a VAA in",
        ),
        ({"columnFamily": "Signatures", "columnName": "Nobody", "value": "00"}, "parameter columnName: expected a col"),
        ({"columnFamily": "VAAState", "columnName": "Signatures:1", "value": "!"}, "parameter value: expected signatu"),
        (
            {"columnFamily": "Colours", "columnName": "Red", "value": "1"},
            "parameter columnFamily: expected one of Mess",
        ),
        (
            {"columnFamily": "ChainDetails", "columnName": "Red", "value": "1"},
            "parameter columnName: expected a column",
        ),
    ],
)
async def test_what_no_row_can_have_is_a_400(signed: httpx.AsyncClient, given: Json, message: str) -> None:
    found = await both(signed, "findvalues", **given)
    assert (found["code"], found["message"][: len(message)]) == (3, message)

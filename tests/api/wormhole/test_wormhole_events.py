"""Functions of the event database: whole rows and counts, compared with the records; GET and POST return the same."""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from api.wormhole.events import row_routes as wormhole_event_rows
from api.wormhole.events import sum_routes as wormhole_event_sums
from tests.api.wormhole_network import (
    DAY_S,
    LAUNCH_DAY,
    NETWORK,
    SHARED_TX,
    UNSIGNED,
    UNSIGNED_TX,
    Message,
    World,
    b64,
    plain,
    utc,
)

Json = dict[str, Any]

API = "/api/wormhole/events"
TRANSFERS = ("token_transfer", "token_transfer_with_payload")
NAMES = {1: "solana", 2: "ethereum", 3: "terra", 4: "bsc", 5: "polygon", 26: "pythnet"}


async def both(client: httpx.AsyncClient, function: str, **given: str) -> Json:
    """The body of the GET, which equals that of the POST."""
    requested = await client.get(f"{API}/{function}", params=given)
    sent = await client.post(f"{API}/{function}", json=given)
    assert (requested.status_code, requested.json()) == (sent.status_code, sent.json())
    body: Json = requested.json()
    return body


def written_first(world: World, key: str) -> str | None:
    """One transaction is returned per id, whatever its body: the earliest that was written."""
    observed = [each for each in world.observed if each.record["row_key"] == key and each.tx_id is not None]
    return min(((each.seen_ms is None, each.seen_ms or 0, each.tx_id) for each in observed), default=(None,) * 3)[2]


def row_of(world: World, message: Message) -> Json:
    """Details of a row, without the emitter's chain if its name is not in NAMES."""
    record = message.served
    data = bytes.fromhex(record["hex"])
    at = [6 + 66 * number for number in range(record["num_signatures"])]
    payload = b64(data[6 + 66 * record["num_signatures"] + 51 :].hex())
    seen = message.seen_ms
    moment = None if seen is None else datetime.fromtimestamp(seen // 1000, UTC)
    found = {
        "EmitterChain": NAMES.get(record["emitter_chain"]),
        "EmitterAddress": record["emitter_address"],
        "Sequence": str(record["sequence"]),
        "InitiatingTxID": written_first(world, record["row_key"]) or "",
        "Payload": payload,
        "SignedVAABytes": b64(record["hex"]),
        "QuorumTime": "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}.789 +0000 UTC",
        "SignedVAA": {
            "Version": 1,
            "GuardianSetIndex": record["guardian_set"],
            "Signatures": [{"Index": data[start], "Signature": data[start + 1 : start + 66].hex()} for start in at],
            "Timestamp": utc(record["timestamp"]),
            "Nonce": record["nonce"],
            "Sequence": record["sequence"],
            "ConsistencyLevel": record["consistency_level"],
            "EmitterChain": record["emitter_chain"],
            "EmitterAddress": record["emitter_address"],
            "Payload": payload,
        },
    }
    kind, decoded = record["payload_kind"], record["decoded"]
    transfer = None
    if kind in ("token_transfer", "token_transfer_with_payload") and record["network"] == "mainnet":
        transfer = {
            "Amount": decoded["amount"],
            "OriginAddress": decoded["token_address"],
            "OriginChain": str(decoded["token_chain"]),
            "TargetAddress": decoded["to_address"],
            "TargetChain": str(decoded["to_chain"]),
        }
    return found | {"TokenTransferPayload": transfer}


async def test_every_row_is_answered_whole_by_its_key(signed: httpx.AsyncClient, world: World) -> None:
    transfers = 0
    for message in world.canonical.values():
        record = message.served
        if record["network"] != "mainnet":
            continue
        key = {"emitterChain": str(record["emitter_chain"]), "emitterAddress": record["emitter_address"]}
        found = await both(signed, "readrow", **key, sequence=f"{record['sequence']:016d}")
        expected = row_of(world, message)
        name = found["EmitterChain"]
        if expected["EmitterChain"] is None:
            del expected["EmitterChain"]
        assert {key: found[key] for key in expected} == expected
        assert name
        rest = {key: found[key] for key in found if key not in expected and key != "EmitterChain"}
        is_asset, is_nft = record["payload_kind"] == "asset_meta", record["payload_kind"] == "nft_transfer"
        assert (rest["AssetMetaPayload"] is not None) is is_asset
        assert (rest["NFTTransferPayload"] is not None) is is_nft
        if is_asset:
            assert rest["AssetMetaPayload"]["Symbol"] == record["decoded"]["symbol"]
            assert rest["AssetMetaPayload"]["Decimals"] == str(record["decoded"]["decimals"])
        if is_nft:
            assert rest["NFTTransferPayload"]["TokenId"] == record["decoded"]["token_id"]
        assert (rest["ChainDetails"] is not None) is (is_nft or record["payload_kind"] in TRANSFERS)
        if expected["TokenTransferPayload"] is not None and world.amount(message) is not None:
            transfers += 1
            assert rest["TransferDetails"]["Amount"] == plain(world.amount(message))
            assert rest["TransferDetails"]["OriginSymbol"] == world.metas[world.token_key(record)]["symbol"]
    assert transfers


FAMILIES = {
    "MessagePublication": {"InitiatingTxID", "Payload", "MessagePublication"},
    "QuorumState": {"SignedVAABytes", "QuorumTime", "SignedVAA"},
    "TokenTransferPayload": {"TokenTransferPayload"},
    "TokenTransferDetails": {"TransferDetails"},
    "ChainDetails": {"ChainDetails"},
    "TokenTransferPayload,ChainDetails,QuorumState": {
        "TokenTransferPayload", "ChainDetails", "SignedVAABytes", "QuorumTime", "SignedVAA",
    },
}  # fmt: skip


RESULTING = {
    "ReceiverAddress": "0xce96a707a4e0b0fe34d28d3c4e580c48634519e5",
    **dict.fromkeys(("ResultingTokenAddress", "ResultingTokenSymbol", "ResultingTokenName"), ""),
}
"""Of the first transfer, a token of Solana to Ethereum that no message describes."""


class Watched:
    """A Store that records which tables and columns were read. What a selective store keeps, read from time to time, is
    not recorded.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self.get = store.get
        self.read: dict[str, set[str]] = defaultdict(set)

    async def get_many(self, table: Any, keys: Any) -> Any:
        self.read[table.name] |= set(table.names)
        return await self._store.get_many(table, keys)

    async def slice(self, table: Any, *query: Any, **bounds: Any) -> Any:
        self.read[table.name] |= set(bounds.get("columns") or table.names)
        return await self._store.slice(table, *query, **bounds)


@pytest.mark.parametrize("families", FAMILIES)
async def test_of_a_row_only_the_requested_families_are_read(wormhole_store: Any, world: World, families: str) -> None:
    store: Any = Watched(wormhole_store)
    app = create_app({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    record = world.first_transfer
    key = {name: str(record[name]) for name in ("emitter_chain", "emitter_address", "sequence")}
    given = {
        "emitterChain": key["emitter_chain"],
        "emitterAddress": key["emitter_address"],
        "sequence": key["sequence"],
    }
    whole = row_of(world, world.of_record(record)) | {
        "ChainDetails": {"SenderAddress": "aNativeSender", **RESULTING},
        "MessagePublication": None,
    }
    whole["TokenTransferPayload"]["PayloadId"] = "1"
    found = await both(client, "readrow", **given, families=families)
    assert found.keys() == {"EmitterChain", "EmitterAddress", "Sequence"} | FAMILIES[families]
    details = found.pop("TransferDetails", None)
    assert (details is not None) is ("TokenTransferDetails" in families)
    assert found == {name: whole[name] for name in found}
    signed_too = "MessagePublication" in families or "QuorumState" in families
    assert ("signed_vaa" in store.read["vaas"]) is signed_too
    read = {name.partition("_")[0] for name in store.read["vaa_payloads"]} - {"digest"}
    names = {"TokenTransferPayload": "transfer", "TokenTransferDetails": "details", "ChainDetails": "chain"}
    assert read == {names[each] for each in families.split(",") if each in names}


@pytest.mark.parametrize("page_size", [7, 100])
async def test_rows_by_the_beginning_of_their_keys(signed: httpx.AsyncClient, world: World, page_size: int) -> None:
    by_key = sorted(
        world.canonical.values(), key=lambda each: (each.served["emitter_address"], each.served["sequence"])
    )
    chains = [1, 2, 10]
    busiest = Counter((each.served["emitter_chain"], each.served["emitter_address"]) for each in by_key).most_common(2)
    prefixes = [f"{chain}:" for chain in chains] + [f"{chain}:{emitter}:" for (chain, emitter), _ in busiest]
    for prefix in prefixes:
        found, cursor = [], ""
        while True:
            given = {"prefix": prefix, "numRows": str(page_size)} | ({"cursor": cursor} if cursor else {})
            page = (await signed.get(f"{API}/readrows", params=given)).json()
            assert 0 < len(page["Rows"]) <= page_size
            found += page["Rows"]
            cursor = page["Next"]
            if not cursor:
                break
        expected = [each for each in by_key if each.served["row_key"].startswith(prefix)]
        assert len(found) == len(expected) > 0
        for row, message in zip(found, expected, strict=True):
            whole = row_of(world, message) | {"EmitterChain": message.served["emitter_chain_name"]}
            if message.served["network"] != "mainnet":
                # The records do not contain which of them came from contracts of another network or from forgers.
                whole["TokenTransferPayload"] = row["TokenTransferPayload"]
            whole["RowKey"] = message.served["row_key"]
            assert {name: row[name] for name in whole} == whole
            assert row.keys() - whole.keys() == {
                "TransferDetails", "AssetMetaPayload", "NFTTransferPayload", "ChainDetails",
            }  # fmt: skip
        brief = await both(signed, "readrows", prefix=prefix, families="MessagePublication")
        assert [each["Payload"] for each in brief["Rows"]] == [each["Payload"] for each in found[:30]]
    assert (await both(signed, "readrows", prefix="1:", cursor="abc"))["code"] == 3
    assert (await both(signed, "readrows", prefix="1"))["message"].startswith("parameter prefix: expected CHAIN:ADD")


async def test_a_chain_is_known_by_its_name_and_what_is_not_there_is_a_404(
    signed: httpx.AsyncClient, world: World
) -> None:
    record = world.first_transfer
    key = {"emitterAddress": record["emitter_address"], "sequence": str(record["sequence"])}
    chain = record["emitter_chain"]
    assert await both(signed, "readrow", **key, emitterChain=NAMES[chain]) == await both(
        signed, "readrow", **key, emitterChain=str(chain)
    )
    found = await both(signed, "readrow", **(key | {"sequence": "18446744073709551615"}), emitterChain=str(chain))
    assert (found["code"], found["details"]) == (5, [])


async def test_a_row_by_its_transaction(signed: httpx.AsyncClient, world: World) -> None:
    requested = 0
    for tx_id in {each.tx_id for each in world.observed if each.tx_id not in (None, SHARED_TX)}:
        keys = {each.record["row_key"] for each in world.observed if each.tx_id == tx_id}
        (key,) = keys
        message = world.canonical[key]
        found = await both(signed, "transaction", id=str(tx_id))
        assert (found["SignedVAABytes"], found["InitiatingTxID"]) == (
            b64(message.served["hex"]),
            written_first(world, key),
        )
        requested += 1
    assert requested > 5
    assert (await both(signed, "transaction", id="cd" * 32))["code"] == 5


async def test_a_transaction_leads_to_a_message_of_which_nobody_brought_a_vaa(signed: httpx.AsyncClient) -> None:
    nothing = ("SignedVAABytes", "Payload", "SignedVAA", "TokenTransferPayload", "AssetMetaPayload")
    found = await both(signed, "transaction", id=UNSIGNED_TX)
    assert found == {
        "EmitterChain": "bsc",
        "EmitterAddress": UNSIGNED.split(":")[1],
        "Sequence": "7",
        "InitiatingTxID": UNSIGNED_TX,
        "QuorumTime": "",
    } | dict.fromkeys([*nothing, "NFTTransferPayload", "TransferDetails", "ChainDetails"])
    assert (await signed.get("/api/wormhole/v1/vaas/", params={"txHash": UNSIGNED_TX})).json()["data"] == []


def summaries(world: World, found: list[Json], expected: list[Message]) -> None:
    """Summaries of those messages, complete except for the chain's own spelling of a transferred token."""
    assert [each["Sequence"] for each in found] == [str(each.served["sequence"]) for each in expected]
    for summary, message in zip(found, expected, strict=True):
        record, details = message.served, summary.pop("TransferDetails")
        whole = row_of(world, message) | {"EmitterChain": record["emitter_chain_name"]}
        assert summary == {key: whole[key] for key in whole if key not in ("SignedVAA", "TokenTransferPayload")}
        assert (details is None) is (whole["TokenTransferPayload"] is None)
        if details is not None:
            assert details.pop("OriginTokenAddress")
            meta, amount = world.metas.get(world.token_key(record)), world.amount(message)
            names = ("Amount", "NotionalUSDStr", "TokenPriceUSDStr", "Decimals", "OriginSymbol", "OriginName")
            values: tuple[Any, ...] = ("",) * len(names)
            if meta is not None and amount is not None:
                price = plain(world.price(world.token_key(record), message.day))
                usd = plain(world.usd(message))
                values = plain(amount), usd, price, str(meta["decimals"]), meta["symbol"], meta["name"]
            sent = f"{datetime.fromtimestamp(record['timestamp'], UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
            assert details == dict(zip(names, values, strict=True)) | {"TransferTimestamp": sent}


@pytest.mark.parametrize("group", ["", "chain", "address"])
async def test_the_newest_rows_of_each_group(signed: httpx.AsyncClient, world: World, group: str) -> None:
    def names(message: Message) -> tuple[str, str, str]:
        record = message.served
        return "*", str(record["emitter_chain"]), f"{record['emitter_chain']}:{record['emitter_address']}"

    chain, contract = names(next(each for each in world.verified if each.served["emitter_chain"] == 2))[1:]
    address = {"forChain": chain, "forAddress": contract.partition(":")[2]}
    for given, scope, finest in (({}, "*", ""), ({"forChain": chain}, chain, "chain"), (address, contract, "address")):
        place = {"": 0, "chain": 1, "address": 2}[group or finest]
        expected: dict[str, list[Message]] = defaultdict(list)
        for each in world.verified:
            if scope in names(each) and each.served["emitter_chain"] != 26:
                expected[names(each)[place]].append(each)
        requested = given | ({"groupBy": group} if group else {})
        for most in (30, 2):
            found = await both(signed, "recent", **requested, **({"numRows": "2"} if most == 2 else {}))
            assert found.keys() == expected.keys()
            assert expected
            for key, held in expected.items():
                summaries(world, found[key], held[:most])


async def test_old_bug_the_newest_rows_of_a_contract_are_there_however_random_its_sequences(
    signed: httpx.AsyncClient, world: World
) -> None:
    governance = f"{4:064d}"
    expected = [
        each
        for each in world.verified
        if (each.served["emitter_chain"], each.served["emitter_address"]) == (1, governance)
    ]
    assert sum(each.served["sequence"] >= 10**16 for each in expected[:100]) > 10
    found = await both(signed, "recent", forChain="1", forAddress=governance, numRows="100")
    assert found.keys() == {f"1:{governance}"}
    summaries(world, found[f"1:{governance}"], expected[:100])


@pytest.mark.thorough
@pytest.mark.parametrize("function", ["totals", "nfts"])
@pytest.mark.parametrize("group", ["", "chain", "address"])
async def test_counts_by_day(signed: httpx.AsyncClient, world: World, function: str, group: str) -> None:
    held = [
        each
        for each in world.verified
        if each.served["emitter_chain"] != 26
        and (function == "totals" or each.served["payload_kind"] == "nft_transfer")
    ]
    last = max(each.day for each in held)
    record = next(each.served for each in held if each.served["emitter_chain"] == 1)
    one = str(record["emitter_chain"]), record["emitter_address"]
    for days, (chain, address) in ((7, ("", "")), (400, ("", "")), (400, (one[0], "")), (600, one)):
        first = max(last - days, LAUNCH_DAY)
        counts: dict[int, Counter[str]] = {day: Counter() for day in range(first, last + 1)}
        by = group or ("address" if address else "chain" if chain else "")
        for each in held:
            record = each.served
            place = str(record["emitter_chain"])
            if first <= each.day <= last and chain in ("", place) and address in ("", record["emitter_address"]):
                counts[each.day]["*"] += 1
                if by:
                    counts[each.day][place if by == "chain" else f"{place}:{record['emitter_address']}"] += 1
        whole = sum(counts.values(), Counter({"*": 0}))
        keys = sorted({"*", *whole})
        daily = {
            datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat(): {key: found[key] for key in keys}
            for day, found in counts.items()
        }
        until = max(daily)
        given = {"numDays": str(days), "until": until, "last24Hours": "true"}
        requested = {"groupBy": group, "forChain": chain, "forAddress": address}
        given |= {name: value for name, value in requested.items() if value}
        assert await both(signed, function, **given) == {
            "LastDayCount": daily[until],
            "TotalCount": {key: whole[key] for key in keys},
            "TotalCountDurationDays": days,
            "DailyTotals": daily,
        }
        assert whole["*"]
    assert (await both(signed, function))["LastDayCount"] is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"numDays": "-1"}, "parameter numDays: expected an integer from 0 to 10000, found '-1'"),
        ({"groupBy": "day"}, "parameter groupBy: expected chain or address, found 'day'"),
        ({"forChain": "nowhere"}, "parameter forChain: expected the number or the name of a chain, found 'nowhere'"),
        ({"forAddress": "ab" * 32}, "parameter forChain: expected a chain beside forAddress, found nothing"),
    ],
)
async def test_old_bug_what_is_wrong_is_not_a_200(signed: httpx.AsyncClient, given: Json, message: str) -> None:
    assert await both(signed, "totals", **given) == {"code": 3, "message": message, "details": []}


async def test_an_empty_value_counts_for_none(signed: httpx.AsyncClient) -> None:
    for function in ("totals", "recent"):
        empty = await both(signed, function, forChain="", forAddress="", groupBy="", readyCheck="1")
        assert empty == await both(signed, function) != {}
    missing = await both(signed, "readrow", emitterChain="2", emitterAddress="", sequence="1")
    assert missing["message"] == (
        "parameter emitterAddress: expected 64 hex characters, with or without 0x, found nothing"
    )


async def test_an_address_may_start_with_0x(signed: httpx.AsyncClient, world: World) -> None:
    record = next(
        each.served for each in world.verified if any(letter in each.served["emitter_address"] for letter in "abcdef")
    )
    chain, address, sequence = record["message_id"].split("/")
    given = {"emitterChain": chain, "sequence": sequence}
    expected = await both(signed, "readrow", **given, emitterAddress=address)
    assert expected["EmitterAddress"] == address
    for spelled in (f"0x{address}", f"0x{address.upper()}"):
        assert await both(signed, "readrow", **given, emitterAddress=spelled) == expected
    of_contract = {"groupBy": "address", "forChain": chain}
    expected = await both(signed, "recent", **of_contract, forAddress=address)
    assert await both(signed, "recent", **of_contract, forAddress=f"0x{address}") == expected != {}


async def test_a_posted_value_is_a_text_or_an_integer(signed: httpx.AsyncClient, world: World) -> None:
    record = max((each.served for each in world.verified), key=lambda each: each["sequence"])
    chain, address, sequence = record["message_id"].split("/")
    given: Json = {"emitterChain": chain, "emitterAddress": address, "sequence": sequence}
    expected = (await signed.post(f"{API}/readrow", json=given)).json()
    given |= {"emitterChain": int(chain), "sequence": int(sequence)}
    assert (await signed.post(f"{API}/readrow", json=given)).json() == expected
    assert expected["Sequence"].lstrip("0") == sequence
    totals = await both(signed, "totals", numDays="7")
    assert (await signed.post(f"{API}/totals", json={"numDays": 7})).json() == totals
    assert (await signed.post(f"{API}/readrow", json={**given, "sequence": 2**64 - 1})).status_code == 404
    for wrong in (7.5, True, None, [7], 2**64, -(2**70)):
        answer = await signed.post(f"{API}/totals", json={"numDays": wrong})
        expected = {"code": 3, "message": "body, field numDays: expected a text or an integer", "details": []}
        assert (answer.status_code, answer.json()) == (400, expected), wrong


async def test_no_body_is_an_empty_request_where_no_key_is_mandatory(signed: httpx.AsyncClient) -> None:
    for function in ("recent", "notionaltvl"):
        assert (await signed.post(f"{API}/{function}")).json() == (await signed.get(f"{API}/{function}")).json() != {}
    answer = await signed.post(f"{API}/readrow")
    assert answer.json()["message"].startswith("body: expected JSON (")


async def test_counts_of_too_many_keys_and_days_are_not_made(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = max(each.day for each in world.verified if each.served["emitter_chain"] != 26)
    given = {"until": datetime.fromtimestamp(last * DAY_S, UTC).date().isoformat(), "numDays": "9", "groupBy": "chain"}
    keys = (await both(signed, "totals", **given))["TotalCount"]
    monkeypatch.setattr(wormhole_event_sums, "COUNTS_MAX", 10 * len(keys) - 1)
    found = await both(signed, "totals", **given)
    assert (found["code"], found["message"]) == (
        12,
        f"more than {10 * len(keys) - 1} numbers, of {len(keys)} keys on 10 dates: "
        "request fewer with numDays or forChain",
    )
    assert (await both(signed, "totals", **given | {"numDays": "8"}))["TotalCount"]


async def test_the_newest_of_too_many_groups_are_not_returned_and_have_no_pages(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = len({int(UNSIGNED.split(":")[0]), *(each.record["emitter_chain"] for each in world.observed)} - {26})
    monkeypatch.setattr(wormhole_event_rows, "RECENT_MAX", 3 * groups - 1)
    found = await both(signed, "recent", groupBy="chain", numRows="3")
    fewer = f"3 of each of {groups} groups: request fewer with numRows or forChain"
    assert (found["code"], found["message"]) == (12, f"more than {3 * groups - 1} rows, {fewer}")
    assert max(map(len, (await both(signed, "recent", groupBy="chain", numRows="2")).values())) == 2
    found = await both(signed, "recent", cursor="abc")
    expected = "nothing: the newest rows have no pages; use readrows or findrows"
    assert (found["code"], found["message"]) == (3, f"parameter cursor: expected {expected}, found 'abc'")

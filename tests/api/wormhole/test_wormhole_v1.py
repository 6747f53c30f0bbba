"""Wormholescan's VAAs and observations, and this server's extensions: whole bodies, compared with the records."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from api.wormhole.ours import routes as wormhole_ours
from api.wormhole.signatures import signatures_of_body
from db.connect import StoreSettings, open_store
from db.queries.wormhole.vaas import find_bodies, list_signatures
from db.schema import wormhole_tables as tables
from tests.api.wormhole_network import NETWORK, SHARED_TX, Message, World, b64, utc, write_read
from tests.ledger.wormhole.cases import public_sets
from tests.sqlite_stores import create

Json = dict[str, Any]

API = "/api/wormhole/v1"
KINDS = {
    "token_transfer": "PORTAL_TOKEN_BRIDGE",
    "token_transfer_with_payload": "PORTAL_TOKEN_BRIDGE",
    "asset_meta": "PORTAL_TOKEN_BRIDGE",
    "nft_transfer": "PORTAL_NFT_BRIDGE",
    "relayer_delivery": "GENERIC_RELAYER",
    "ntt_transceiver_message": "NATIVE_TOKEN_TRANSFER",
}
UNTOLD = ("emitterNativeAddr", "payload")
"""Keys of a document that the records do not contain; separate tests check them."""


def document(message: Message, *, is_duplicated: bool = False) -> Json:
    """A VaaDoc without the keys of UNTOLD."""
    record = message.served
    seen = None if message.seen_ms is None else utc(message.seen_ms / 1000)
    found = {
        "sequence": record["sequence"],
        "id": record["message_id"],
        "version": 1,
        "emitterChain": record["emitter_chain"],
        "emitterAddr": record["emitter_address"],
        "guardianSetIndex": record["guardian_set"],
        "vaa": b64(record["hex"]),
        "timestamp": utc(record["timestamp"]),
        "updatedAt": seen,
        "indexedAt": seen,
        "digest": record["digest"],
        "isDuplicated": is_duplicated,
    }
    if message.tx_id is not None:
        found["txHash"] = message.tx_id.removeprefix("0x")
    if record["payload_kind"] in KINDS:
        found["appId"] = KINDS[record["payload_kind"]]
    return found


def observed(document: Json) -> Json:
    return {name: value for name, value in document.items() if name not in UNTOLD}


async def all_of(client: httpx.AsyncClient, path: str, **params: Any) -> list[Json]:
    """Every document of a listing, by following cursors."""
    found: list[Json] = []
    cursor = None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        body = (await client.get(f"{API}/{path}", params=params | more)).json()
        assert body.keys() == {"data", "pagination"}, body
        found += body["data"]
        cursor = body["pagination"]["next"]
        if not cursor:
            return found


def checked(world: World, wanted: Callable[[Json], bool]) -> list[Json]:
    """The documents of the verified messages whose records match, newest first."""
    return [document(each) for each in world.verified if wanted(each.served)]


@pytest.mark.parametrize("page_size", [7, 1000])
async def test_every_verified_message_of_every_chain_but_pythnet_newest_first(
    signed: httpx.AsyncClient, world: World, page_size: int
) -> None:
    expected = checked(world, lambda each: each["emitter_chain"] != 26)
    assert len(expected) > 30
    found = await all_of(signed, "vaas", pageSize=page_size)
    assert [observed(each) for each in found] == expected
    found = await all_of(signed, "vaas", pageSize=page_size, sortOrder="ASC")
    assert [observed(each) for each in found] == expected[::-1]


async def test_the_order_is_a_word_in_any_case(signed: httpx.AsyncClient, world: World) -> None:
    expected = [each["id"] for each in checked(world, lambda each: each["emitter_chain"] != 26)][:40]
    last = [each["id"] for each in checked(world, lambda each: each["emitter_chain"] != 26)][-40:]
    for spelled, ids in (("desc", expected), ("Desc", expected), ("asc", last[::-1]), ("aSC", last[::-1])):
        for path, name in (("vaas", "data"), ("operations", "operations"), ("transactions", "transactions")):
            body = (await signed.get(f"{API}/{path}", params={"sortOrder": spelled, "pageSize": 40})).json()
            assert [each["id"] for each in body[name]] == ids, (path, spelled)
    answer = await signed.get(f"{API}/vaas?sortOrder=ascending")
    message = "parameter sortOrder: expected ASC or DESC, found 'ascending'"
    assert (answer.status_code, answer.json()) == (400, {"code": 3, "message": message, "details": []})


async def test_a_path_may_end_with_a_slash_as_wormholescans_own_do(signed: httpx.AsyncClient, world: World) -> None:
    for path, query in (
        ("vaas", "?pageSize=2"),
        (f"vaas/{world.first_transfer['message_id']}", ""),
        ("operations", ""),
    ):
        plain, slashed = [await signed.get(f"{API}/{each}{query}") for each in (path, f"{path}/")]
        assert plain.status_code == slashed.status_code == 200
        assert plain.json() == slashed.json()
    assert (await signed.get(f"{API}/vaas//")).status_code == 404
    assert (await signed.get(f"{API}/vaas/?pageSize=0")).json()["message"].startswith("parameter pageSize: ")
    plain, slashed = [
        await signed.get(f"/v1/signed_vaa/{world.first_transfer['message_id']}{end}") for end in ("", "/")
    ]
    assert plain.status_code == slashed.status_code == 200
    assert plain.json() == slashed.json()


async def test_pages_by_number_are_those_by_cursor(signed: httpx.AsyncClient, world: World) -> None:
    expected = checked(world, lambda each: each["emitter_chain"] != 26)
    for page in (0, 1, 3, len(expected)):
        body = (await signed.get(f"{API}/vaas", params={"page": page, "pageSize": 5})).json()
        assert [observed(each) for each in body["data"]] == expected[5 * page : 5 * page + 5]
        assert bool(body["pagination"]["next"]) == (5 * page + 5 < len(expected))
    answer = await signed.get(f"{API}/vaas", params={"page": 10_000, "pageSize": 1000})
    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith("parameter page: expected pages that begin within 10000 results")


async def test_by_chain_and_emitter_and_where_a_transfer_goes(signed: httpx.AsyncClient, world: World) -> None:
    for chain in {each.served["emitter_chain"] for each in world.verified}:
        expected = checked(world, lambda each, chain=chain: each["emitter_chain"] == chain)
        assert [observed(each) for each in await all_of(signed, f"vaas/{chain}")] == expected
    emitters = Counter((each.served["emitter_chain"], each.served["emitter_address"]) for each in world.verified)
    for (chain, emitter), count in emitters.most_common(4):
        expected = checked(world, lambda each, emitter=emitter: each["emitter_address"] == emitter)
        expected = [each for each in expected if each["emitterChain"] == chain]
        assert len(expected) == count
        for spelled in (emitter, f"0x{emitter.lstrip('0')}"):
            assert [observed(each) for each in await all_of(signed, f"vaas/{chain}/{spelled}")] == expected
    moved = [each.served for each in world.verified if each.served["payload_kind"] == "token_transfer"]
    for record in moved:
        place, to = (record["emitter_chain"], record["emitter_address"]), record["decoded"]["to_chain"]
        expected = [
            document(each)
            for each in world.verified
            if (each.served["emitter_chain"], each.served["emitter_address"]) == place
            and each.served["payload_kind"] in ("token_transfer", "token_transfer_with_payload", "nft_transfer")
            and each.served["decoded"]["to_chain"] == to
        ]
        found = await all_of(signed, f"vaas/{place[0]}/{place[1]}", toChain=to)
        assert [observed(each) for each in found] == expected != []


@pytest.mark.parametrize("app_id", sorted(set(KINDS.values())))
async def test_by_application(signed: httpx.AsyncClient, world: World, app_id: str) -> None:
    expected = checked(world, lambda each: KINDS.get(each["payload_kind"]) == app_id)
    found = await all_of(signed, "vaas", appId=app_id)
    assert [observed(each) for each in found] == expected != []
    for parsed in ("true", "false"):
        assert await all_of(signed, "vaas", appId=app_id, parsedPayload=parsed) == found
    whole = [(await signed.get(f"{API}/vaas/{each['id']}?parsedPayload=true")).json()["data"] for each in found]
    assert found == whole
    assert any("payload" in each for each in found)


async def test_by_transaction_in_any_spelling(signed: httpx.AsyncClient, world: World) -> None:
    hashes = {each.tx_id for each in world.observed if each.tx_id is not None}
    assert len(hashes) > 5
    for tx_id in hashes:
        written = {each.record["row_key"] for each in world.observed if each.tx_id == tx_id}
        expected = checked(world, lambda each, written=written: each["row_key"] in written)
        for spelled in (tx_id, tx_id[2:], f"0x{tx_id[2:].upper()}"):
            found = await all_of(signed, "vaas", txHash=spelled)
            assert [observed(each) for each in found] == expected
    assert await all_of(signed, "vaas", txHash="ab" * 31) == []
    assert len(await all_of(signed, "vaas", txHash=SHARED_TX)) == 2


async def test_by_id_with_what_the_payload_says(signed: httpx.AsyncClient, world: World) -> None:
    requested = 0
    for key, message in world.canonical.items():
        record = message.served
        answer = await signed.get(f"{API}/vaas/{record['message_id']}?parsedPayload=true")
        if not record["quorum"]:
            assert answer.json() == {
                "code": 5,
                "message": f"a verified VAA {key} is not in this archive",
                "details": [],
            }
            continue
        data = answer.json()["data"]
        assert observed(data) == document(message)
        assert data["emitterNativeAddr"]
        if "transfer" in record["payload_kind"] and record["payload_kind"] != "ntt_transceiver_message":
            printed, decoded = data["payload"], record["decoded"]
            requested += 1
            assert printed["payloadType"] == decoded["payload_id"]
            for mine, theirs in (("tokenAddress", "token_address"), ("toAddress", "to_address")):
                assert printed[mine] == f"0x{decoded[theirs]}"
            assert (printed["tokenChain"], printed["toChain"]) == (decoded["token_chain"], decoded["to_chain"])
            if "amount" in decoded:
                assert printed["amount"] == decoded["amount"]
            if "fee" in decoded:
                assert printed["fee"] == decoded["fee"]
            posted = (await signed.post(f"{API}/vaas/parse", json={"vaa": b64(record["hex"])})).json()
            assert posted["parsedPayload"] == printed
            properties = posted["standardizedProperties"]
            assert properties["appIds"] == [data["appId"]]
            assert (properties["fromChain"], properties["toChain"]) == (record["emitter_chain"], decoded["to_chain"])
        elif record["payload_kind"] == "governance" and "module" in record["decoded"]:
            assert data["payload"]["module"] == record["decoded"]["module"]
            assert data["payload"]["action"] == record["decoded"]["action"]
        elif record["payload_kind"] == "relayer_delivery":
            printed = data["payload"]
            assert printed["targetChain"] == record["decoded"]["target_chain"]
            # The last value of 256 bits is before the length of the execution info, 96 bytes, and 131 more.
            payload = bytes.fromhex(record["hex"])[-record["decoded"]["length"] :]
            assert printed["executionInfo"] == f"0x{payload[-227:-131].hex()}"
            assert printed["extraReceiverValue"] == str(int.from_bytes(payload[-263:-231]))
            assert int(printed["extraReceiverValue"]) > 0
    assert requested > 3


async def test_what_payloads_contain_is_returned_by_every_list_on_request(
    signed: httpx.AsyncClient, world: World
) -> None:
    record = world.first_transfer
    place = f"{record['emitter_chain']}/{record['emitter_address']}"
    single = (await signed.get(f"{API}/vaas/{record['message_id']}?parsedPayload=true")).json()["data"]
    recipient = record["decoded"]["to_address"]
    assert single["payload"]["toAddress"] == f"0x{recipient}"
    for path in ("vaas", f"vaas/{record['emitter_chain']}", f"vaas/{place}", f"address/{recipient}"):
        plain = (await signed.get(f"{API}/{path}?pageSize=1000")).json()["data"]
        printed = (await signed.get(f"{API}/{path}?pageSize=1000&parsedPayload=true")).json()["data"]
        plain, printed = (each["vaas"] if isinstance(each, dict) else each for each in (plain, printed))
        assert [{name: each[name] for name in each if name != "payload"} for each in printed] == plain
        assert [each for each in printed if each["id"] == record["message_id"]] == [single]
        for each in printed:
            one = (await signed.get(f"{API}/vaas/{each['id']}?parsedPayload=true")).json()["data"]
            assert each == one


async def test_a_message_by_its_id_is_one_read(wormhole_store: Any, world: World) -> None:
    class Counting:
        def __init__(self) -> None:
            self.get = wormhole_store.get  # of what a selective store keeps, from time to time
            self.read: Counter[str] = Counter()

        async def slice(self, table: Any, *query: Any, **bounds: Any) -> Any:
            self.read[table.name] += 1
            return await wormhole_store.slice(table, *query, **bounds)

    store: Any = Counting()
    app = create_app({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    found = (await client.get(f"{API}/vaas/{world.first_transfer['message_id']}")).json()["data"]
    assert observed(found) == document(world.of_record(world.first_transfer))
    assert store.read == {"vaas": 1}


async def test_emitters_are_found_by_the_address_that_responses_have(signed: httpx.AsyncClient, world: World) -> None:
    chains = set()
    for message in {each.served["emitter_address"]: each for each in world.verified}.values():
        record = message.served
        chain, sequence = record["emitter_chain"], record["sequence"]
        native = (await signed.get(f"{API}/vaas/{record['message_id']}")).json()["data"]["emitterNativeAddr"]
        of_emitter = (await signed.get(f"{API}/vaas/{chain}/{native}", params={"pageSize": 1000})).json()["data"]
        assert record["message_id"] in [each["id"] for each in of_emitter], native
        found = (await signed.get(f"/v1/signed_vaa/{chain}/{native}/{sequence}")).json()
        assert found == {"vaaBytes": b64(record["hex"])}
        chains.add(chain)
    assert len(chains) > 5
    for named in ("contract.portalbridge.near", "not-a.contract"):
        answer = await signed.get(f"{API}/vaas/15/{named}")
        assert answer.status_code == (200 if named == "contract.portalbridge.near" else 400)


async def test_what_is_known_of_a_transfer_from_solana(signed: httpx.AsyncClient, world: World) -> None:
    """The expected document in full, from the guardians' own record: USDT from Solana to an Ethereum account."""
    record = next(
        each.served
        for each in world.verified
        if each.served["payload_kind"] == "token_transfer" and each.served["emitter_chain"] == 1
    )
    decoded = record["decoded"]
    found = (await signed.post(f"{API}/vaas/parse", json={"vaa": b64(record["hex"])})).json()
    assert found["parsedPayload"] == {
        "payloadType": 1,
        "amount": decoded["amount"],
        "tokenAddress": f"0x{decoded['token_address']}",
        "tokenChain": decoded["token_chain"],
        "toAddress": f"0x{decoded['to_address']}",
        "toChain": decoded["to_chain"],
        "fee": decoded["fee"],
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{}", "body, field vaa: expected a VAA in base64"),
        (b'{"vaa": ""}', "body, field vaa: expected a VAA in base64"),
        (b'{"vaa": "AAAA"}', "body, field vaa: expected a VAA ("),
        (b'{"vaa": "%"}', "body, field vaa: expected a VAA in base64 ("),
        (b"[1]", "body, field vaa: expected a VAA in base64"),
        (b"{", "body: expected JSON ("),
    ],
)
async def test_an_invalid_vaa_cannot_be_parsed(signed: httpx.AsyncClient, body: bytes, message: str) -> None:
    answer = await signed.post(f"{API}/vaas/parse", content=body)
    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith(message)


async def test_a_payload_that_nobody_understands_is_a_404(signed: httpx.AsyncClient, world: World) -> None:
    record = next(each.served for each in world.verified if each.served["payload_kind"] == "generic")
    answer = await signed.post(f"{API}/vaas/parse", json={"vaa": b64(record["hex"])})
    expected = {"code": 5, "message": "the meaning of this payload is not in this archive", "details": []}
    assert (answer.status_code, answer.json()) == (404, expected)


async def test_counts_by_chain_are_of_all_verified_messages(signed: httpx.AsyncClient, world: World) -> None:
    counts = Counter(each.served["emitter_chain"] for each in world.verified)
    expected = [{"chainId": chain, "count": count} for chain, count in sorted(counts.items())]
    assert (await signed.get(f"{API}/vaas/vaa-counts")).json() == {"data": expected}


async def test_other_bodies_under_an_id_are_its_duplicates(signed: httpx.AsyncClient, world: World) -> None:
    several = 0
    for key, message in world.canonical.items():
        others = [each for each in world.messages.values() if each.served["row_key"] == key and each is not message]
        found = (await signed.get(f"{API}/vaas/{message.served['message_id']}/duplicated")).json()["data"]
        expected = []
        for each in others:
            each_document = document(each) | {
                "sequence": str(each.served["sequence"]),
                "verified": each.served["quorum"],
            }
            expected.append({k: v for k, v in each_document.items() if k not in ("txHash", "appId", "isDuplicated")})
        several += bool(expected)
        assert sorted(map(observed, found), key=lambda each: each["digest"]) == sorted(
            expected, key=lambda each: each["digest"]
        )
    assert several
    answer = await signed.get(f"{API}/vaas/2/{'ef' * 32}/1/duplicated")
    assert (answer.status_code, answer.json()["code"]) == (404, 5)


def signers(world: World, message: Message) -> dict[str, tuple[str, int]]:
    """Guardian → its signature and the earliest set in which it was seen, over all forms of a body."""
    sets = public_sets("mainnet")
    found: dict[str, set[tuple[str, int]]] = {}
    for each in message.observed:
        record = each.record
        members = [name.lower() for name in sets.get(str(record["guardian_set"]), {"addresses": []})["addresses"]]
        data = bytes.fromhex(record["hex"])
        for at, signer in enumerate(record["signers"]):
            start = 6 + 66 * at
            index, signature = data[start], data[start + 1 : start + 66].hex()
            guardian = (signer["address"] or "").lower()
            if index < len(members) and members[index] == guardian:
                found.setdefault(guardian, set()).add((signature, record["guardian_set"]))
    return {
        guardian: (min(signature for signature, _ in seen), min(index for _, index in seen))
        for guardian, seen in found.items()
    }


def observations_of(world: World, message: Message) -> list[Json]:
    record = message.served
    digest = bytes.fromhex(record["digest"]).hex()
    return [
        {
            "sequence": record["sequence"],
            "emitterChain": record["emitter_chain"],
            "emitterAddr": record["emitter_address"],
            "hash": b64(digest),
            "txHash": None if message.tx_id is None else b64(message.tx_id[2:]),
            "guardianAddr": guardian,
            "signature": b64(signature),
            "updatedAt": None,
            "indexedAt": None,
            "id": f"{record['message_id']}/{guardian}/{digest}",
        }
        for guardian, (signature, _) in sorted(signers(world, message).items())
    ]


def lowered(found: list[Json]) -> list[Json]:
    """Guardians in lower case, without the checksum."""
    return [each | {name: each[name].lower() for name in ("id", "guardianAddr")} for each in found]


async def test_observations_are_the_guardians_signatures_message_by_message(
    signed: httpx.AsyncClient, world: World
) -> None:
    expected = [
        each
        for message in world.verified
        if message.served["emitter_chain"] != 26
        for each in observations_of(world, message)
    ]
    assert len(expected) > 200
    found = []
    for page in range(-(-len(expected) // 100)):
        found += (await signed.get(f"{API}/observations", params={"page": page, "pageSize": 100})).json()
    assert lowered(found) == expected
    message = next(each for each in world.verified if each.tx_id not in (None, SHARED_TX))
    record = message.served
    expected = observations_of(world, message)
    paths = (f"observations/{record['message_id']}", f"observations?txHash={message.tx_id}")
    for path in paths:
        assert lowered((await signed.get(f"{API}/{path}")).json()) == expected
    one = (await signed.get(f"{API}/observations/{record['message_id']}")).json()[0]
    path = f"{API}/observations/{record['message_id']}/{one['guardianAddr']}/{record['digest']}"
    assert (await signed.get(path)).json() == one
    assert (await signed.get(path.replace(record["digest"], "00" * 32))).status_code == 404


async def test_observations_of_a_chain_and_of_an_emitter(signed: httpx.AsyncClient, world: World) -> None:
    record = world.first_transfer
    for path, wanted in (
        (f"{record['emitter_chain']}", lambda each: each["emitter_chain"] == record["emitter_chain"]),
        (
            f"{record['emitter_chain']}/{record['emitter_address']}",
            lambda each: (
                (each["emitter_chain"], each["emitter_address"]) == (record["emitter_chain"], record["emitter_address"])
            ),
        ),
    ):
        expected = [
            each for message in world.verified if wanted(message.served) for each in observations_of(world, message)
        ]
        found = (await signed.get(f"{API}/observations/{path}", params={"pageSize": 1000})).json()
        assert lowered(found) == expected[:1000] != []


@pytest.mark.thorough
async def test_observations_of_a_message_have_pages_as_other_lists(signed: httpx.AsyncClient, world: World) -> None:
    longest = 0
    for message in world.canonical.values():
        path = f"{API}/observations/{message.served['message_id']}"
        whole = (await signed.get(path)).json()
        assert lowered(whole) == observations_of(world, message)
        longest = max(longest, len(whole))
        for page in (0, 1, 2, 10_000):
            given = {"page": page, "pageSize": 7, "sortOrder": "asc"}
            assert (await signed.get(path, params=given)).json() == whole[7 * page : 7 * page + 7]
        for at in range(0, len(whole), 5):
            given = {"cursor": whole[at]["id"], "page": 9, "pageSize": 3}
            assert (await signed.get(path, params=given)).json() == whole[at + 1 : at + 4]
    assert longest > 12
    foreign = f"1/{'ef' * 32}/1"
    answer = await signed.get(path, params={"cursor": f"{foreign}/0x{'ab' * 20}/{'cd' * 32}"})
    expected_message = f"parameter cursor: expected the ID of an observation in this archive, found '{foreign}'"
    assert (answer.status_code, answer.json()["message"]) == (400, expected_message)
    answer = await signed.get(path, params={"pageSize": 1001})
    assert (answer.status_code, answer.json()["code"]) == (400, 3)


async def test_observations_of_two_bodies_of_a_message_are_in_the_order_of_their_times(
    wormhole_store: Any, world: World, tmp_path: Path
) -> None:
    record = world.first_transfer
    place = record["emitter_chain"], record["emitter_address"], record["sequence"]
    row = next(each for each in await find_bodies(wormhole_store, *place) if each["canonical"])
    signatures = await list_signatures(wormhole_store, record["row_key"])
    digests = [(row["digest"], 0, True), ("cd" * 32, 60, False)]
    settings = StoreSettings(f"sqlite:///{tmp_path}", NETWORK)
    create(settings)
    with closing(open_store(settings, writable=True)) as store:
        bodies = [
            row | {"digest": digest, "timestamp": row["timestamp"] + later, "canonical": canonical}
            for digest, later, canonical in digests
        ]
        signed_by = [each | {"digest": digest} for digest, _, _ in digests for each in signatures]
        write_read(store, {tables.vaas: bodies, tables.vaa_signatures: signed_by})
        app = create_app({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            found = {
                order: (await client.get(f"{API}/observations/{record['message_id']}?sortOrder={order}")).json()
                for order in ("DESC", "ASC")
            }
    guardians = [each["guardianAddr"] for each in observations_of(world, world.of_record(record))]
    later, earlier = (
        [f"{record['message_id']}/{guardian}/{digest}" for guardian in guardians]
        for digest in ("cd" * 32, record["digest"])
    )
    assert [each["id"] for each in lowered(found["DESC"])] == later + earlier
    assert [each["id"] for each in lowered(found["ASC"])] == earlier + later


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["DESC", "ASC"])
async def test_behind_any_observation_the_list_goes_on(signed: httpx.AsyncClient, world: World, order: str) -> None:
    record = world.first_transfer
    for path in ("observations", f"observations/{record['emitter_chain']}/{record['emitter_address']}"):
        requested = {"sortOrder": order, "pageSize": 1000}
        whole = [
            each
            for page in (0, 1, 2)
            for each in (await signed.get(f"{API}/{path}", params=requested | {"page": page})).json()
        ]
        assert len(whole) > 5
        found: list[Json] = []
        while True:
            behind = {"cursor": found[-1]["id"], "page": 10_000} if found else {}
            page = (await signed.get(f"{API}/{path}", params=requested | behind | {"pageSize": 37})).json()
            if not page:
                break
            found += page
        assert found == whole
    unknown = f"1/{'ef' * 32}/1/0x{'ab' * 20}/{'cd' * 32}"
    for cursor, named in ((unknown, f"1/{'ef' * 32}/1"), ("1/ab", "1/ab"), (f"6{unknown}", f"6{unknown}")):
        answer = await signed.get(f"{API}/observations", params={"cursor": cursor})
        message = f"parameter cursor: expected the ID of an observation in this archive, found '{named}'"
        assert (answer.status_code, answer.json()["code"]) == (400, 3)
        assert answer.json()["message"][:90] == message[:90]


async def test_who_signed_and_who_did_not(signed: httpx.AsyncClient, world: World) -> None:
    sets = public_sets("mainnet")
    for message in world.verified:
        record = message.served
        body = (await signed.get(f"{API}/vaas/{record['message_id']}/signatures")).json()
        expected = []
        members = {key: [each.lower() for each in entry["addresses"]] for key, entry in sets.items()}
        for guardian, (signature, index) in sorted(signers(world, message).items()):
            expected.append(
                {
                    "address": guardian,
                    "guardianSetIndex": index,
                    "index": members[str(index)].index(guardian),
                    "signature": f"0x{signature}",
                    "inVaa": signature in record["hex"],
                    "observedAt": None,
                }
            )
        found = [each | {"address": each["address"].lower()} for each in body["signatures"]]
        assert found == expected
        there = {each["address"] for each in expected}
        missing = [each for each in members[str(record["guardian_set"])] if each not in there]
        assert [each.lower() for each in body["missing"]] == missing
        assert (body["id"], body["digest"]) == (record["message_id"], record["digest"])


async def test_who_signed_another_body_alone_did_not_sign_this_one(
    signed: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{API}/vaas/{world.first_transfer['message_id']}/signatures"
    whole = (await signed.get(path)).json()
    first, *others = whole["signatures"]
    read = wormhole_ours.list_signatures

    async def other_body(*query: Any) -> list[Json]:
        return [
            each | ({"digest": "ef" * 32} if f"0x{each['guardian_address']}" == first["address"].lower() else {})
            for each in await read(*query)
        ]

    monkeypatch.setattr(wormhole_ours, "list_signatures", other_body)
    found = (await signed.get(path)).json()
    assert found["signatures"] == others
    assert sorted(found["missing"]) == sorted([*whole["missing"], first["address"]])


def test_a_signature_that_was_written_alone_is_of_the_body_that_it_signs(world: World) -> None:
    record = world.first_transfer
    start = 2 * (6 + 1)
    written = {
        "digest": "",
        "guardian_address": record["signers"][0]["address"].lower().removeprefix("0x"),
        "signature": bytes.fromhex(record["hex"][start : start + 130]),
    }
    assert signatures_of_body([written], record["digest"]) == [written]
    assert signatures_of_body([written], "ef" * 32) == []


async def test_the_verdict_on_every_body_is_what_its_record_states(signed: httpx.AsyncClient, world: World) -> None:
    for key, served in world.canonical.items():
        bodies = {each.served["digest"]: each for each in world.messages.values() if each.served["row_key"] == key}
        body = (await signed.get(f"{API}/vaas/{served.served['message_id']}/verification")).json()
        assert (body["id"], body["rowKey"]) == (served.served["message_id"], key)
        found = {each["digest"]: each for each in body["bodies"]}
        assert found.keys() == bodies.keys()
        assert [each["digest"] for each in body["bodies"] if each["served"]] == [served.served["digest"]]
        assert body["bodies"][0]["served"]
        for digest, message in bodies.items():
            record, verdict = message.served, found[digest]
            assert verdict["verified"] is record["quorum"]
            assert bool(verdict["fault"]) is bool(verdict["reason"]) is (not record["quorum"])
            assert (verdict["signatures"], verdict["guardianSetIndex"]) == (
                record["num_signatures"],
                record["guardian_set"],
            )
            if record["quorum"]:
                assert verdict["validSignatures"] == record["num_signatures"] >= verdict["quorum"]
    assert (await signed.get(f"{API}/vaas/2/{'ef' * 32}/1/verification")).status_code == 404


async def test_gaps_of_an_emitter_are_between_what_is_here(signed: httpx.AsyncClient, world: World) -> None:
    by_emitter: dict[tuple[int, str], set[int]] = {}
    for each in world.verified:
        record = each.served
        by_emitter.setdefault((record["emitter_chain"], record["emitter_address"]), set()).add(record["sequence"])
    gap_count = 0
    for (chain, emitter), here in by_emitter.items():
        held = sorted(here)
        # Sequences of governance are random.
        expected = (
            []
            if (chain, emitter) == (1, "00" * 31 + "04")
            else [{"first": str(low + 1), "last": str(high - 1)} for low, high in pairwise(held) if high > low + 1]
        )
        gap_count += len(expected)
        body = (await signed.get(f"{API}/gaps/{chain}/{emitter}", params={"pageSize": 1000})).json()
        assert (body["missing"], body["cursor"]) == (expected, None)
        assert (body["first"], body["last"]) == (str(held[0]), str(held[-1]))
        found: list[Json] = []
        cursor = None
        for _ in range(len(world.observed)):
            more = {} if cursor is None else {"cursor": cursor}
            body = (await signed.get(f"{API}/gaps/{chain}/{emitter}", params={"pageSize": 3} | more)).json()
            found += body["missing"]
            cursor = body["cursor"]
            if cursor is None:
                break
        assert found == expected
    assert gap_count > 3
    assert (await signed.get(f"{API}/gaps/1/{'04' * 32}?limit=1")).status_code == 400


async def test_the_history_of_guardian_sets(signed: httpx.AsyncClient, world: World) -> None:
    sets = public_sets("mainnet")
    found = (await signed.get(f"{API}/guardian-sets")).json()["guardianSets"]
    assert [each["index"] for each in found] == sorted(map(int, sets), reverse=True)
    for each in found:
        size = len(sets[str(each["index"])]["addresses"])
        assert [name.lower() for name in each["addresses"]] == [
            name.lower() for name in sets[str(each["index"])]["addresses"]
        ]
        assert each["quorum"] == size * 2 // 3 + 1
        # A message in the data names it, signed by the set before.
        if each["namedBy"] is not None:
            record = world.messages[each["namedBy"]].served
            assert (record["guardian_set"], record["decoded"]["new_index"]) == (each["index"] - 1, each["index"])
    assert sum(each["namedBy"] is not None for each in found) >= 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("vaas?pageSize=1001", "parameter pageSize: expected an integer from 1 to 1000, found '1001'"),
        ("vaas?pageSize=0", "parameter pageSize: expected an integer from 1 to 1000, found '0'"),
        ("vaas?page=-1", "parameter page: expected an integer from 0 to 10000, found '-1'"),
        ("vaas?sortOrder=newest", "parameter sortOrder: expected ASC or DESC, found 'newest'"),
        ("vaas?cursor=x", "parameter cursor: "),
        ("vaas?appId=UNKNOWN", "parameter appId: expected one of PORTAL_TOKEN_BRIDGE, "),
        ("vaas/x", "parameter chain: expected an integer from 0 to 65535, found 'x'"),
        ("vaas/2/xyz", "parameter emitter: expected up to 64 hex digits, with or without 0x, or an address as "),
        ("observations?txHash=%2B", "parameter txHash: expected 1 to 128 letters and digits, found '+'"),
        ("observations?page=10001&pageSize=1", "parameter page: "),
    ],
)
async def test_a_bad_parameter_is_a_400_that_names_it(signed: httpx.AsyncClient, path: str, message: str) -> None:
    answer = await signed.get(f"{API}/{path}")
    assert (answer.status_code, answer.json()["code"], answer.json()["details"]) == (400, 3, [])
    assert answer.json()["message"].startswith(message)


@pytest.mark.parametrize(
    ("prefix", "below", "allowed"),
    [
        ("/v1", "guardianset/current", "GET, HEAD, OPTIONS"),
        ("/api/wormhole-mainnet/v1", "guardianset/current", "GET, HEAD, OPTIONS"),
        (API, "vaas", "GET, HEAD, OPTIONS"),
        ("/api/wormhole-mainnet/wormhole/v1", "vaas/parse", "POST, OPTIONS"),
        ("/api/wormhole/events", "readrow", "GET, POST, HEAD, OPTIONS"),
    ],
)
async def test_what_no_operation_answers_is_rejected_in_the_familys_own_words(
    signed: httpx.AsyncClient, prefix: str, below: str, allowed: str
) -> None:
    answer = await signed.request("BREW", f"{prefix}/{below}")
    message = f"method BREW is not allowed here, only {allowed}"
    assert (answer.status_code, answer.json()) == (405, {"code": 12, "message": message, "details": []})
    assert answer.headers["allow"] == allowed
    answer = await signed.get(f"{prefix}/nothing")
    message = f"no endpoint {prefix}/nothing"
    assert (answer.status_code, answer.json()) == (404, {"code": 5, "message": message, "details": []})


async def test_who_is_not_let_in_reads_so_in_the_familys_own_words(wormhole_store: Any) -> None:
    mount = NetworkMount(wormhole_store, NETWORK, wormhole="mainnet")
    app = create_app({NETWORK: mount}, NETWORK, ApiSettings(keys=("a-key",)))
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    for path in (f"{API}/vaas", "/v1/guardianset/current"):
        answer = await client.get(path)
        message = "header Authorization: expected Bearer and a key or a token of this server"
        assert (answer.status_code, answer.json()) == (401, {"code": 16, "message": message, "details": []})
    assert (await client.get("/api/nowhere")).json()["error"]["code"] == "401"


async def test_where_a_cursor_leads_no_page_counts(signed: httpx.AsyncClient, world: World) -> None:
    expected = checked(world, lambda each: each["emitter_chain"] != 26)
    cursor = (await signed.get(f"{API}/vaas", params={"pageSize": 5})).json()["pagination"]["next"]
    bodies = [
        (await signed.get(f"{API}/vaas", params={"pageSize": 3, "cursor": cursor} | given)).json()
        for given in ({}, {"page": 0}, {"page": 3}, {"page": 10_000})
    ]
    assert [observed(each) for each in bodies[0]["data"]] == expected[5:8]
    assert all(each == bodies[0] for each in bodies)
    answer = await signed.get(f"{API}/vaas", params={"cursor": cursor, "page": -1})
    assert answer.json()["message"] == "parameter page: expected an integer from 0 to 10000, found '-1'"


async def test_a_network_by_its_name_is_the_same(signed: httpx.AsyncClient) -> None:
    paths = ("vaas?pageSize=3", "vaas/vaa-counts", "guardian-sets", "observations?pageSize=3")
    for path in paths:
        one, other = await asyncio.gather(
            signed.get(f"{API}/{path}"), signed.get(f"/api/wormhole-mainnet/wormhole/v1/{path}")
        )
        assert one.status_code == 200
        assert one.json() == other.json()

"""Both eras in one store, and networks of each era in one server: which API serves what, and where a 404 points."""

import dataclasses
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli.serving import make_app, mount
from cli.settings import SettingsError, read
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from ledger.base_token import IOTA, SHIMMER, base_token_json, known_token
from ledger.stardust.protocol_parameters import decode_parameters, parameters_json
from tests import reference, reference_stardust
from tests.api.conftest import GEOMETRIES, fill, fill_stardust, filled_with, new_store
from tests.api.oracle import GENESIS, Json, Oracle
from tests.api.stardust import TOKEN, StardustLedger
from tests.reference_rows import Rows, table_rows

SERIALIZED = "application/vnd.iota.serializer-v1"
GEOMETRY = GEOMETRIES["default"]
LATER = 50
"""The number of Chrysalis milestones before Stardust's first."""


def mixed_rows(oracle: Oracle, stardust: StardustLedger, carried: str, spent: str) -> Rows:
    """Chrysalis milestones, then Stardust milestones. The first Stardust milestone also spends the output `spent`; none
    of them spends `carried`.
    """
    facts = [reference.milestone_fact(line) for line in oracle.milestones]
    for line in stardust.milestones:
        fact = reference_stardust.milestone_fact(line)
        facts.append(dataclasses.replace(fact, index=fact.index + LATER))
    rows = table_rows(facts, [], *GEOMETRY, "mixed-1")
    spender = next(message for message in facts[LATER].messages if message.transaction is not None)
    assert spender.transaction is not None
    for row in rows["outputs"]:
        assert row["output_id"] != carried or "spent_milestone_index" not in row
        if row["output_id"] == spent:
            row["spent_milestone_index"] = LATER + 1
            row["spent_white_flag_index"] = 1
            row["spent_transaction_id"] = spender.transaction.transaction_id
            row["spent_message_id"] = spender.message_id
    return rows


@pytest.fixture(scope="session")
def unspent(oracle: Oracle) -> list[str]:
    """Chrysalis outputs that are unspent when Stardust begins, without those of genesis."""
    return [key for key, each in oracle.outputs.items() if not each["isSpent"] and each["messageId"] != GENESIS]


MIXED_STORES = [
    pytest.param(("sqlite", "default"), id="sqlite"),
    pytest.param(("cassandra", ""), id="cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow]),
]


@pytest.fixture(scope="session", params=MIXED_STORES)
def app(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    oracle: Oracle,
    stardust: StardustLedger,
    unspent: list[str],
) -> Iterator[Any]:
    settings = new_store(request, tmp_path_factory, "mixed", "mixed-1")
    store = filled_with(settings, mixed_rows(oracle, stardust, *unspent[:2]))
    yield create_app({"mixed": NetworkMount(store, "mixed-1", "atoi")}, "mixed", ApiSettings())
    store.close()


async def rejection(client: httpx.AsyncClient, path: str, **headers: str) -> str:
    """The message of a 404."""
    answer = await client.get(path, headers=headers)
    assert answer.status_code == 404, (path, answer.text)
    message: str = answer.json()["error"]["message"]
    return message


@pytest.mark.thorough
async def test_each_family_answers_its_own_and_names_the_other(
    client: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    for entry in [each for line in oracle.milestones[::10] for each in line["messages"]]:
        assert (await client.get(f"/api/v1/messages/{entry['id']}")).json()["data"] == entry["message"]
        text = f"message {entry['id']} belongs to the Chrysalis era: use node REST v1"
        for part in ("", "/metadata"):
            assert await rejection(client, f"/api/core/v2/blocks/{entry['id']}{part}") == text
        assert await rejection(client, f"/api/core/v2/blocks/{entry['id']}", accept=SERIALIZED) == text
    for entry in [each for line in stardust.milestones[::10] for each in line["blocks"]]:
        block_id = entry["id"].removeprefix("0x")
        assert (await client.get(f"/api/core/v2/blocks/{block_id}")).json() == entry["block"]
        text = f"block {block_id} belongs to the Stardust era: use core API v2"
        for part in ("", "/metadata", "/raw"):
            assert await rejection(client, f"/api/v1/messages/{block_id}{part}") == text


@pytest.mark.thorough
async def test_included_transactions_milestones_and_outputs_do_too(
    client: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    old, new = next(iter(oracle.included)), next(iter(stardust.expected["transactions"]))
    milestone = stardust.milestones[4]["milestone"]
    for path, named in (
        (f"core/v2/transactions/{old}/included-block", "message "),
        (f"core/v2/transactions/{old}/included-block/metadata", "message "),
        (f"v1/transactions/{new[2:]}/included-message", "block "),
        (f"v1/transactions/{new[2:]}/included-message/metadata", "block "),
        (f"v1/transactions/{new[2:]}/included-message/raw", "block "),
        ("core/v2/milestones/by-index/5", "milestone 5 "),
        (f"core/v2/milestones/{oracle.expected['milestoneIds'][4]['milestoneId']}", "milestone 5 "),
        (f"v1/milestones/{LATER + 5}", f"milestone {LATER + 5} "),
    ):
        text = await rejection(client, f"/api/{path}")
        other = "node REST v1" if "v2" in path else "core API v2"
        assert text.startswith(named)
        assert text.endswith(f"era: use {other}")
    created = (await client.get(f"/api/v1/outputs/{new}0000")).json()["data"]
    assert created["output"] == stardust.outputs[f"{new}0000"]["output"]
    for path in (f"milestones/by-index/{LATER + 5}", f"milestones/{milestone['milestoneId']}"):
        assert (await client.get(f"/api/core/v2/{path}")).json() == milestone["payload"]
    assert (await client.get("/api/v1/milestones/5")).json()["data"]["index"] == 5


async def test_receipts_of_the_other_era_are_left_out(
    client: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    later = [each | {"milestoneIndex": each["milestoneIndex"] + LATER} for each in stardust.expected["receipts"]]
    assert (await client.get("/api/core/v2/receipts")).json() == {"receipts": later}
    first = (await client.get("/api/v1/receipts")).json()["data"]
    assert first == {"receipts": oracle.expected["receipts"], "state": None}
    both = (oracle.expected["receipts"][0]["receipt"]["migratedAt"], later[0]["receipt"]["migratedAt"])
    assert both == (100, 100)
    assert (await client.get("/api/core/v2/receipts/100")).json() == {"receipts": later[:1]}
    assert (await client.get("/api/v1/receipts/100")).json()["data"]["receipts"] == first["receipts"][:1]
    for path, receipts in (("core/v2", later), ("v1", first["receipts"])):
        found: list[list[Json]] = []
        state: str | None = ""
        while state is not None:
            query = {"page_size": 1} | ({"state": state} if state else {})
            answer = (await client.get(f"/api/{path}/receipts", params=query)).json()
            page = answer.get("data", answer)
            found.append(page["receipts"])
            state = page.get("state")
        assert found == [[each] for each in receipts]


async def test_chrysalis_outputs_are_answered_as_stardust_took_them_over(
    client: httpx.AsyncClient, oracle: Oracle, unspent: list[str]
) -> None:
    carried, spent = unspent[:2]
    for output_id in (carried, spent):
        old = oracle.outputs[output_id]
        found = (await client.get(f"/api/core/v2/outputs/{output_id}")).json()
        assert found["output"] == {
            "type": 3,
            "amount": str(old["output"]["amount"]),
            "unlockConditions": [
                {"type": 0, "address": {"type": 0, "pubKeyHash": f"0x{old['output']['address']['address']}"}}
            ],
        }
        booked = oracle.milestone_of[old["messageId"]]
        assert {key: found["metadata"][key] for key in ("blockId", "isSpent", "milestoneIndexBooked")} == {
            "blockId": f"0x{old['messageId']}",
            "isSpent": output_id == spent,
            "milestoneIndexBooked": booked,
        }
        assert found["metadata"]["milestoneTimestampBooked"] == oracle.time_of[booked]
        assert found["metadata"].get("milestoneIndexSpent") == (LATER + 1 if output_id == spent else None)
        raw = await client.get(f"/api/core/v2/outputs/{output_id}", headers={"accept": SERIALIZED})
        assert raw.content == reference_stardust.output_bytes(found["output"])
        assert (await client.get(f"/api/v1/outputs/{output_id}")).json()["data"]["output"] == old["output"]


async def test_outputs_that_chrysalis_spent_itself_were_never_stardust_s(
    client: httpx.AsyncClient, oracle: Oracle
) -> None:
    gone = [key for key, each in oracle.outputs.items() if each["isSpent"] and each["messageId"] != GENESIS]
    assert len(gone) > 100
    for output_id in gone[::20]:
        for part in ("", "/metadata"):
            text = await rejection(client, f"/api/core/v2/outputs/{output_id}{part}")
            assert text == f"output {output_id} belongs to the Chrysalis era: use node REST v1"


async def test_info_of_both_families_reaches_to_the_newest_milestone(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/info")).json()["data"]["confirmedMilestoneIndex"] == LATER + 50
    status = (await client.get("/api/core/v2/info")).json()["status"]
    assert (status["confirmedMilestone"]["index"], status["pruningIndex"]) == (LATER + 50, 0)


async def test_the_explorer_shows_both(client: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger) -> None:
    base = "/api/explorer/v2"
    found, cursor = [], ""
    while cursor is not None:
        page = (await client.get(f"{base}/milestones?pageSize=30{cursor and f'&cursor={cursor}'}")).json()
        found += page["items"]
        cursor = page["cursor"]
    old = [f"0x{each['milestoneId']}" for each in oracle.expected["milestoneIds"]]
    new = [line["milestone"]["milestoneId"] for line in stardust.milestones]
    assert found == [{"milestoneId": each, "index": LATER + 50 - nth} for nth, each in enumerate((old + new)[::-1])]
    for index, name, lines in ((5, "message", oracle.milestones), (LATER + 5, "block", stardust.milestones)):
        entries = lines[4][f"{name}s"]
        blocks = [
            {
                "blockId": f"0x{each['id'].removeprefix('0x')}",
                "payloadType": (each[name].get("payload") or {}).get("type"),
            }
            for each in entries
        ]
        for path in (f"by-index/{index}", found[-index]["milestoneId"]):
            page = (await client.get(f"{base}/milestones/{path}/blocks?sort=oldest")).json()
            assert page == {"blocks": blocks, "cursor": None}
    parent = max(oracle.children, key=lambda each: len(oracle.children[each]))
    children = (await client.get(f"{base}/blocks/{parent}/children")).json()["children"]
    pending = {f"0x{each['id']}" for each in oracle.pending}
    assert children == [f"0x{each}" for each in oracle.children[parent] if f"0x{each}" not in pending][:100]
    assert len(children) > 3
    rejected = await client.get(f"{base}/ledger/richest-addresses")
    assert (rejected.status_code, rejected.json()["code"]) == (501, 501)


@pytest.mark.thorough
async def test_the_explorer_shows_the_state_of_a_chrysalis_ledger(
    networks: dict[str, NetworkMount], oracle: Oracle
) -> None:
    async with client_of(networks, "old") as client:
        for account in oracle.expected["addresses"]:
            answer = await client.get(f"/api/explorer/v2/balance/{account['bech32']}")
            if account["balance"] == 0:
                assert answer.status_code == 404
                continue
            whole = str(account["balance"])
            assert answer.json() == {
                "totalBalance": whole,
                "availableBalance": whole,
                "ledgerIndex": 50,
                "nativeTokens": [],
            }
            path = f"/api/explorer/v2/ledger/updates/by-address/{account['bech32']}?pageSize=1000"
            updates = (await client.get(path)).json()["items"]
            assert sum(int(each["amount"]) * (-1 if each["isSpent"] else 1) for each in updates) == account["balance"]
            ids = {each["outputId"] for each in updates if not each["isSpent"]}
            assert ids == {f"0x{each}" for each in oracle.all_outputs(account["address"])}
            path = f"/api/explorer/v2/ledger/outputs/by-address/{account['bech32']}?pageSize=1000"
            listed = (await client.get(path)).json()["items"]
            assert {each["outputId"] for each in listed} == ids
            assert {role for each in listed for role in each["roles"]} == {"address"}


@pytest.fixture(scope="session")
def networks(tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, stardust: StardustLedger) -> Iterator[Any]:
    """A network of each era."""
    folders = [tmp_path_factory.mktemp(name) for name in ("old", "new")]
    stores = [
        fill(StoreSettings(f"sqlite:///{folders[0]}", "permatest-1"), oracle),
        fill_stardust(StoreSettings(f"sqlite:///{folders[1]}", stardust.network), stardust),
    ]
    yield {"old": NetworkMount(stores[0], "permatest-1", "atoi"), "new": stardust.mount(stores[1])}
    for store in stores:
        store.close()


def client_of(networks: dict[str, NetworkMount], default: str, **settings: Any) -> httpx.AsyncClient:
    app = create_app(networks, default, ApiSettings(**settings))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


@pytest.mark.thorough
async def test_one_server_answers_for_a_network_of_each_era(
    networks: dict[str, NetworkMount], oracle: Oracle, stardust: StardustLedger
) -> None:
    message, block = oracle.entries[3], stardust.entries[3]
    async with client_of(networks, "old", stardust_network="new") as client:
        for path in ("v1", "core/v1", "old"):
            assert (await client.get(f"/api/{path}/messages/{message['id']}")).json()["data"] == message["message"]
        for path in ("core/v2", "new/core/v2"):
            assert (await client.get(f"/api/{path}/blocks/{block['id']}")).json() == block["block"]
            assert (await client.get(f"/api/{path}/info")).json()["protocol"]["networkName"] == stardust.network
        assert f"{block['id'][2:]} is not in this archive" in await rejection(
            client, f"/api/old/core/v2/blocks/{block['id']}"
        )
        none = await client.get("/api/old/core/v2/info")
        assert (none.status_code, none.json()["error"]["code"]) == (501, "501")
        assert none.json()["error"]["message"] == ("network permatest-1 has no Stardust milestone: use node REST v1")
        assert (await client.get("/api/routes")).json() == {
            "routes": [
                "analytics/v2",
                "core/v1",
                "core/v2",
                "explorer/v2",
                "indexer/v1",
                "mqtt/v1",
                "new",
                "old",
                "poi/v1",
                "supply/v1",
                "v1",
            ]
        }


def test_the_network_of_core_v2_has_to_be_there(networks: dict[str, NetworkMount]) -> None:
    with pytest.raises(ValueError, match="stardust_network: nowhere is not among new, old"):
        create_app(networks, "old", ApiSettings(stardust_network="nowhere"))


@pytest.fixture
async def early(tmp_path: Path, stardust: StardustLedger) -> AsyncIterator[httpx.AsyncClient]:
    """A network as it was after milestone 35, when announced parameters were not in force yet."""
    settings = StoreSettings(f"sqlite:///{tmp_path}", stardust.network)
    store = fill_stardust(settings, dataclasses.replace(stardust, milestones=stardust.milestones[:35], pending=[]))
    async with client_of({"new": stardust.mount(store)}, "new") as client:
        yield client
    store.close()


async def test_announced_parameters_are_pending_until_they_hold(
    early: httpx.AsyncClient, stardust: StardustLedger
) -> None:
    (option,) = stardust.milestones[29]["milestone"]["payload"]["options"]
    found = (await early.get("/api/core/v2/info")).json()
    assert found["pendingProtocolParameters"] == [option]
    assert found["protocol"] == stardust.expected["info"]["protocol"]
    assert found["status"]["confirmedMilestone"]["index"] == 35
    assert found["status"]["confirmedMilestone"]["milestoneId"] == stardust.expected["milestoneIds"][34]["milestoneId"]


async def test_without_settings_announced_parameters_are_known_all_the_same(
    networks: dict[str, NetworkMount], stardust: StardustLedger
) -> None:
    (option,) = stardust.milestones[29]["milestone"]["payload"]["options"]
    plain = NetworkMount(networks["new"].store, stardust.network, "tst")
    async with client_of({"new": plain}, "new") as client:
        found = (await client.get("/api/core/v2/info")).json()
    assert found["protocol"] == parameters_json(decode_parameters(bytes.fromhex(option["params"][2:])))
    assert found["baseToken"]["name"] != TOKEN.name


def served(folder: Path, name: str, **more: str) -> Any:
    """The application as `permanode serve` creates it."""
    variables = {"PERMANODE_STORE": f"sqlite:///{folder}", "PERMANODE_NETWORK": name}
    return make_app(read(None, variables | {f"PERMANODE_STORE_{key.upper()}": text for key, text in more.items()}, {}))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "more", "first"),
    [
        ("mainnet", {}, 7_669_901),
        ("shimmer", {}, 0),
        ("mine", {}, 0),
        ("mine", {"stardust_from": 51}, 51),
        ("mine", {"stardust_from": 1}, 0),
    ],
)
def test_a_networks_parameters_hold_from_where_its_stardust_begins(
    tmp_path: Path, name: str, more: dict[str, int], first: int
) -> None:
    """With the genesis if the network begins with Stardust, and without knowledge of another era."""
    store = StoreSettings(f"sqlite:///{tmp_path}", name, **more)
    migrate(store)
    mounted = mount(store)
    mounted.store.close()
    assert mounted.stardust_from == first


async def test_a_node_s_info_is_a_setting(tmp_path: Path, stardust: StardustLedger) -> None:
    """The whole info with its token, or only the protocol parameters."""
    migrate(StoreSettings(f"sqlite:///{tmp_path}", "other-2"))
    expected = stardust.expected["info"]
    files = {"whole": expected, "part": expected["protocol"], "bad": expected | {"protocol": {}}, "list": []}
    for name, document in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document), "utf-8")
    for name, token in (("whole", expected["baseToken"]), ("part", base_token_json(IOTA))):
        app = served(tmp_path, "other-2", protocol_parameters=str(tmp_path / f"{name}.json"))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            found = (await client.get("/api/core/v2/info")).json()
        assert (found["protocol"], found["baseToken"]) == (expected["protocol"], token)
    for name, what in (("bad", "protocol"), ("list", "value: expected an object"), ("none", "No such file")):
        with pytest.raises(SettingsError, match=f"networks.other-2: protocol_parameters: .*{what}"):
            served(tmp_path, "other-2", protocol_parameters=str(tmp_path / f"{name}.json"))


async def test_a_known_network_s_names_and_token_need_no_setting(tmp_path: Path) -> None:
    migrate(StoreSettings(f"sqlite:///{tmp_path}", "mainnet"))
    app = served(tmp_path, "mainnet")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        found = (await client.get("/api/core/v2/info")).json()
    assert (found["protocol"]["networkName"], found["protocol"]["bech32Hrp"]) == ("iota-mainnet", "iota")
    assert found["baseToken"] == base_token_json(IOTA)
    assert known_token("shimmer") == SHIMMER


async def test_an_empty_archive_says_that_it_is_not_healthy(tmp_path: Path) -> None:
    settings = StoreSettings(url=f"sqlite:///{tmp_path}", network="empty-1")
    migrate(settings)
    store: Any = open_store(settings)
    async with client_of({"empty": NetworkMount(store, "empty-1", "atoi")}, "empty") as client:
        found = (await client.get("/api/core/v2/info")).json()
    store.close()
    assert found["status"] == {
        "isHealthy": False,
        "latestMilestone": {"index": 0},
        "confirmedMilestone": {"index": 0},
        "pruningIndex": 0,
    }
    assert found["protocol"]["networkName"] == "empty-1"

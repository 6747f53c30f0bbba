"""Every operation of a selective archive returns what a full one returns, or says what is missing.

A response is the one that the input files lead to, or has the header Permanode-Kept, or is a 404 "not kept here".
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from ledger.crypto.bech32 import format_address
from ledger.milestone_proof import parse_coordinator
from tests.api.contract import described
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.api.wormhole_network import World
from tests.clients.api_requests_poi import BODY
from tests.clients.api_requests_wormhole import parameters, values
from tests.clients.walks import Walk, contract, walks
from tests.etl import archives, stardust_archives
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores
from tests.etl.selective.test_selected_ledger import GENESIS, two_addresses
from tests.etl.selective.test_watched_outputs import expected
from tests.etl.vaas import write_lines
from tests.inclusion import keys
from tests.reference import ORACLE
from tests.selections import NETWORKS, tagged

pytestmark = pytest.mark.loads

TAG = "tag:0x484f524e4554205370616d6d6572"

EQUAL, STATED, NOT_KEPT = "equal", "stated", "not kept"

EXPLORER = ("/api/explorer/v2", "/api/{network}/explorer/v2")

OWN = {"/", "/health", "/api/routes", "/api/{network}/sync"} | {f"{mount}/rejects" for mount in EXPLORER}
"""Paths with a response about this server and its loads."""


def judge(found: httpx.Response, *, equal: bool) -> str:
    """What a response says."""
    if equal:
        return EQUAL
    if found.status_code == 404 and "not kept here" in found.text:
        return NOT_KEPT
    assert found.status_code == 200, (found.request.url, found.text)
    assert found.headers.get("permanode-kept"), (found.request.url, found.text)
    return STATED


def parts(walk: Walk) -> tuple[str, Mapping[str, Any]]:
    """The path and the query of a call."""
    named = {name: value for name, value in walk.given.items() if f"{{{name}}}" in walk.path}
    query = {name: value for name, value in walk.given.items() if name not in named}
    return walk.path.format(**named), query


def is_expected(walk: Walk, found: httpx.Response) -> bool:
    """Whether a full archive returns this."""
    if walk.is_bytes:
        return found.status_code == walk.status and found.content.hex() == walk.answer
    if walk.status != 200 or found.status_code != 200:
        return found.status_code == walk.status and "not kept here" not in found.text
    body = found.json()
    unknown = {key: walk.answer[key] for key in walk.varying if key in body}
    return bool((body | unknown if unknown else body) == walk.answer)


async def check_pages(asked: httpx.AsyncClient, network: str) -> None:
    """The pages of the explorer say the same."""
    digits = TAG.removeprefix("tag:0x")
    other = next(tag for tag in tagged("stardust") if tag != digits)
    for path, status, *texts in (
        ("", 200, "This archive keeps a selection: 2 <a"),
        ("/coverage", 200, '<h2 id="kept">Filters</h2>', TAG, "1 to 50"),
        (f"/tag/{digits}", 200, f"tag 0x{digits}; milestones 1:51"),
        ("/milestone/7", 200, "milestone 7; milestones none"),
        (f"/tag/{other}", 404, f"tag:0x{other} is not kept here", "/coverage#kept"),
        (f"/block/0x{'ab' * 32}", 404, "is not kept here", "/coverage#kept"),
        ("/statistics", 404, "analytics are not kept here", "/coverage#kept"),
    ):
        found = await asked.get(f"/{network}{path}", headers={"accept": "text/html"})
        assert found.status_code == status, path
        for text in texts:
            assert text in found.text, path


@pytest.fixture
def selective(stores: Stores, tmp_path: Path) -> dict[str, Loading]:
    """A store of each era with a tag, an address and the ledger state of this address."""
    lines = {"chrysalis": archives.oracle(), "stardust": stardust_archives.oracle()}
    found = {}
    for era, network in NETWORKS.items():
        found[era] = loading = stores(network=network, eras={"coordinator_keys": tuple(keys(era))})
        file = write(tmp_path / f"{era}.jsonl", lines[era])
        loading.load(file, genesis=GENESIS[era], keep=[f"address:0x{two_addresses(era)[0]}", TAG])
    return found


async def test_no_response_of_an_iota_network_hides_what_is_missing(selective: dict[str, Loading]) -> None:
    oracle, stardust = Oracle.read(ORACLE), StardustLedger.read()
    judged = Counter[str]()
    with ExitStack() as open_stores:
        mounts = {}
        for era, network in NETWORKS.items():
            store = open_stores.enter_context(closing(open_store(selective[era].store, writable=True)))
            mount = stardust.mount(store) if era == "stardust" else NetworkMount(store, network, "atoi")
            mounts[network] = replace(mount, coordinator=parse_coordinator(keys(era), 0))
        app = create_app(mounts, NETWORKS["chrysalis"], ApiSettings(stardust_network=NETWORKS["stardust"]))
        statuses = {(each.path, each.method): each.operation["responses"].keys() for each in described()}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as asked:
            for walk in walks(oracle, stardust):
                if walk.is_alias or walk.method != "get" or walk.path in OWN:
                    continue
                path, query = parts(walk)
                found = await asked.get(path, params=query)
                said = judge(found, equal=is_expected(walk, found))
                judged[said] += 1
                if said == NOT_KEPT:
                    assert "404" in statuses[walk.path, walk.method], walk.path
            await check_pages(asked, NETWORKS["stardust"])
    assert all(judged[each] > 100 for each in (EQUAL, STATED, NOT_KEPT)), judged


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture
def of_one_emitter(stores: Stores, world: World, tmp_path: Path) -> Loading:
    loading = stores(network=WORMHOLE)
    loading.load(write_lines(tmp_path / "vaas.jsonl", world.lines), keep=[selected_of(values(world))])
    return loading


def selected_of(known: Json) -> str:
    return f"emitter:{known['chain']}/{known['emitter']}"


async def test_responses_of_a_wormhole_network_name_the_selected_emitters(
    of_one_emitter: Loading, world: World, tmp_path: Path
) -> None:
    known = values(world)
    selected = selected_of(known)
    other = next(
        each.served
        for each in world.verified
        if (each.served["emitter_chain"], each.served["emitter_address"])
        not in ((known["chain"], known["emitter"]), (1, f"{4:064x}"))
    )
    of_other = {"chain": other["emitter_chain"], "emitter": other["emitter_address"], "sequence": other["sequence"]}
    judged = Counter[str]()
    whole = StoreSettings(f"sqlite:///{tmp_path / 'whole'}", WORMHOLE)
    with closing(world.fill(whole)) as full, closing(open_store(of_one_emitter.store)) as part:
        mounts = {name: NetworkMount(store, WORMHOLE, wormhole="mainnet") for name, store in (("f", full), ("p", part))}
        app = create_app(mounts, "p", ApiSettings())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as asked:
            for path, method, operation, is_alias in contract(of_wormhole=True):
                if is_alias or method != "get" or "{network}" not in path:
                    continue
                for some in (known, known | of_other):
                    given = parameters(operation, some)
                    query = {name: value for name, value in given.items() if name != BODY and f"{{{name}}}" not in path}
                    wanted, found = [
                        await asked.get(path.format(**given | {"network": name}), params=query) for name in ("f", "p")
                    ]
                    if "/v1/signed_vaa/" in path and some is not known:
                        assert found.json()["message"] == "requested VAA not found in store", "clients compare it"
                        continue
                    judged[judge(found, equal=wanted.content == found.content)] += 1
                    if found.status_code == 200:
                        assert found.headers["permanode-kept"] == selected
            covered = (await asked.get("/api/p/wormhole/v1/coverage")).json()
            page = await asked.get("/p/coverage", headers={"accept": "text/html"})
    assert covered["kept"] == [selected]
    assert f'<li class="anywhere">{selected}</li>' in page.text
    assert all(judged[each] > 5 for each in (EQUAL, STATED, NOT_KEPT)), judged


HELD = [("governor", "alias", "governor"), ("expiration_return", "basic", "expirationReturnAddress")]
"""Role of an address, kind of the outputs, and parameter of the indexer."""


def held(role: str, kind: str) -> tuple[str, set[str]]:
    """An address with this role in unspent outputs of a kind, and the ids of all of them."""
    rows = [
        (row["key"], row["output_id"])
        for row in expected("stardust")["unspent_outputs"]
        if (row["lookup"], row["output_kind"], row["spent_milestone_index"]) == (role, kind, None)
    ]
    return rows[0][0], {output_id for key, output_id in rows if key == rows[0][0]}


@pytest.fixture
def of_holders(stores: Stores, tmp_path: Path) -> Loading:
    """A store of the addresses of HELD, with their ledger state."""
    loading = stores(network=NETWORKS["stardust"], eras={"coordinator_keys": tuple(keys("stardust"))})
    file = write(tmp_path / "stardust.jsonl", stardust_archives.oracle())
    loading.load(file, genesis=GENESIS["stardust"], keep=[f"address:0x{held(*each[:2])[0]}" for each in HELD])
    return loading


async def test_unspent_outputs_are_listed_by_governor_and_return_address(of_holders: Loading) -> None:
    """Selected addresses have these outputs, whoever owns them. A sender's may be spent by messages not kept here."""
    network, stardust = NETWORKS["stardust"], StardustLedger.read()
    with closing(open_store(of_holders.store)) as store:
        app = create_app({network: stardust.mount(store)}, network, ApiSettings(stardust_network=network))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as asked:
            for role, kind, name in HELD:
                key, ids = held(role, kind)
                address = format_address(stardust.expected["bech32Hrp"], bytes.fromhex(key))
                found = await asked.get(f"/api/indexer/v1/outputs/{kind}", params={name: address})
                assert {each.removeprefix("0x") for each in found.json()["items"]} == ids
                other = await asked.get(f"/api/indexer/v1/outputs/{kind}", params={"sender": address})
                assert (other.status_code, "not kept here" in other.text) == (404, True)

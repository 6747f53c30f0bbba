"""The guardian API, and that families of one protocol never serve a network of the other."""

import re
from collections import Counter
from collections.abc import Iterator

import base58
import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from api.wormhole.guardian.params import parse_chain
from cli.serving import make_app
from cli.settings import read
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.store import WritableStore
from tests.api.conftest import filled_store
from tests.api.oracle import Oracle
from tests.api.wormhole_network import NETWORK, World, b64
from tests.ledger.wormhole.cases import VECTORS, public_sets

CHAIN = "an integer from 0 to 65535, or a name such as CHAIN_ID_SEI"
EMITTER = "up to 64 hex digits, with or without 0x, or an address as that chain writes it"


def client_of(networks: dict[str, NetworkMount], default: str, **settings: str) -> httpx.AsyncClient:
    app = create_app(networks, default, ApiSettings(**settings))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


@pytest.fixture(scope="module")
def iota(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetworkMount]:
    store = filled_store(tmp_path_factory.mktemp("iota"), oracle, 100_000, 100_000)
    yield NetworkMount(store, oracle.expected["network"], oracle.expected["bech32Hrp"])
    store.close()


async def test_every_verified_vaa_and_no_other_is_answered_by_its_id(signed: httpx.AsyncClient, world: World) -> None:
    statuses: Counter[int] = Counter()
    for message in world.canonical.values():
        record = message.served
        answer = await signed.get(f"/v1/signed_vaa/{record['message_id']}")
        statuses[answer.status_code] += 1
        if record["quorum"]:
            assert answer.json() == {"vaaBytes": b64(record["hex"])}, record["message_id"]
        else:
            assert answer.json() == {"code": 5, "message": "requested VAA not found in store", "details": []}
    assert statuses == {200: len(world.verified), 404: len(world.canonical) - len(world.verified)}
    assert min(statuses.values()) > 5


async def test_the_guardians_of_now_are_the_last_set_that_is_published(signed: httpx.AsyncClient) -> None:
    last = max(public_sets("mainnet"), key=int)
    expected = {"index": int(last), "addresses": public_sets("mainnet")[last]["addresses"]}
    for prefix in ("", f"/api/{NETWORK}"):
        found = (await signed.get(f"{prefix}/v1/guardianset/current")).json()["guardianSet"]
        assert [each.lower() for each in found["addresses"]] == [each.lower() for each in expected["addresses"]]
        assert found["index"] == expected["index"]
    # An Ethereum checksum address, as guardians write their own.
    assert "0xfF6CB952589BDE862c25Ef4392132fb9D4A42157" in found["addresses"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("65536/{emitter}/1", f"parameter chain: expected {CHAIN}, found '65536'"),
        ("CHAIN_ID_NONE/{emitter}/1", f"parameter chain: expected {CHAIN}, found 'CHAIN_ID_NONE'"),
        ("chain_id_sei/{emitter}/1", f"parameter chain: expected {CHAIN}, found 'chain_id_sei'"),
        ("2/{emitter}00/1", f"parameter emitter: expected {EMITTER}, found "),
        ("2/Gv1KWf8DT1jKv5pKBmGaTmVszqa56Xn8YGx2Pg7i7qAk/1", f"parameter emitter: expected {EMITTER}, found 'Gv1K"),
        ("2/{emitter}/-1", "parameter sequence: expected an integer from 0 to 18446744073709551615, found '-1'"),
        ("2/{emitter}/18446744073709551616", "parameter sequence: expected an integer from 0 to "),
    ],
)
async def test_a_bad_id_is_a_400_that_names_it(signed: httpx.AsyncClient, path: str, expected: str) -> None:
    answer = await signed.get(f"/v1/signed_vaa/{path.format(emitter='ab' * 32)}")
    assert (answer.status_code, answer.json()["code"], answer.json()["details"]) == (400, 3, [])
    assert answer.json()["message"].startswith(expected)


async def test_an_id_has_every_form_that_guardians_or_wormholescan_accept(
    signed: httpx.AsyncClient, world: World
) -> None:
    names = {int(number): name for name, number in enum_of_chains()}
    forms = Counter()
    for message in world.verified:
        record = message.served
        chain, emitter, sequence = record["emitter_chain"], record["emitter_address"], record["sequence"]
        address = bytes.fromhex(emitter)
        spelled = {"upper": emitter.upper(), "0x": f"0x{emitter}", "short": f"0x{emitter.lstrip('0') or '0'}"}
        if chain == 1:
            spelled["base58"] = base58.b58encode(address).decode()
        expected = {"vaaBytes": b64(record["hex"])}
        for form, each in spelled.items():
            for prefix in ("", f"/api/{NETWORK}"):
                answer = await signed.get(f"{prefix}/v1/signed_vaa/{chain}/{each}/{sequence}/")
                assert (answer.status_code, answer.json()) == (200, expected), (form, record["message_id"])
            forms[form] += 1
        if chain in names:
            answer = await signed.get(f"/v1/signed_vaa/{names[chain]}/{emitter}/{sequence}")
            assert (answer.status_code, answer.json()) == (200, expected), record["message_id"]
            forms["name"] += 1
    assert min(forms.values()) > 2
    assert len(forms) == 5


async def test_every_chain_has_its_name_in_the_guardians_service(signed: httpx.AsyncClient) -> None:
    for name, number in enum_of_chains():
        assert parse_chain(name) == int(number)
        answer = await signed.get(f"/v1/signed_vaa/{name}/{'ab' * 32}/1")
        assert (answer.status_code, answer.json()["code"]) == (404, 5), name
    assert len(enum_of_chains()) > 90


def enum_of_chains() -> list[tuple[str, str]]:
    """Name and number of each chain in the guardians' publicrpc.proto."""
    return re.findall(r"(CHAIN_ID_\w+) = (\d+);", (VECTORS / "chain_ids.proto").read_text())


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"signed_batch_vaa/2/0x{'5a' * 32}/1", "guardians publish no batches; "),
        (f"signed_batch_vaa/CHAIN_ID_ETHEREUM/{'5a' * 32}/1/?page=1", "guardians publish no batches; "),
        (f"manager/signed_vaa/1/{'ab' * 32}/1", "the manager of a guardian signs transactions for other chains; "),
        (f"manager/signed_vaa/{'ab' * 32}", "the manager of a guardian signs transactions for other chains; "),
        (f"governor/is_vaa_enqueued/CHAIN_ID_SEI/0x{'ab' * 32}/1", "the governor delays messages "),
    ],
)
async def test_what_an_archive_does_not_have_is_a_501(signed: httpx.AsyncClient, path: str, message: str) -> None:
    answer = await signed.get(f"/v1/{path}")
    body = answer.json()
    assert (answer.status_code, body["code"], body["details"]) == (501, 12, [])
    assert body["message"].startswith(message)


async def test_an_empty_store_has_no_guardians_and_is_not_healthy(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('empty')}", NETWORK)
    migrate(settings)
    store = open_store(settings)
    async with client_of({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK) as client:
        answer = await client.get("/v1/guardianset/current")
        unhealthy = await client.get("/health")
    store.close()
    expected = {"code": 14, "message": "guardian set not fetched from chain yet", "details": []}
    assert (answer.status_code, answer.json()) == (503, expected)
    assert unhealthy.status_code == 503
    assert unhealthy.json()["error"]["message"] == f"network {NETWORK} holds no message yet"


@pytest.mark.thorough
async def test_routes_of_one_protocol_never_answer_for_the_other(
    iota: NetworkMount, wormhole_store: WritableStore, world: World
) -> None:
    signed = NetworkMount(wormhole_store, NETWORK, wormhole="mainnet")
    path = f"v1/signed_vaa/{world.verified[0].served['message_id']}"
    of_iota = ("info", "milestones/1", "sync", "service", "core/v2/info", "explorer/v2/milestones")
    for default in ("iota", "signed"):
        async with client_of({"iota": iota, "signed": signed}, default) as client:
            for each in (f"/{path}", f"/api/signed/{path}", "/api/v1/info", "/api/iota/milestones/1", "/api/service"):
                assert (await client.get(each)).status_code == 200, each
            for name in of_iota:
                answer = await client.get(f"/api/signed/{name}")
                expected = "network signed has the protocol wormhole, which this path does not serve"
                error = answer.json().get("error", answer.json())
                assert (answer.status_code, error["message"]) == (404, expected)
            answer = await client.get(f"/api/iota/{path}")
            expected = "network iota has the protocol iota, which this path does not serve"
            assert (answer.status_code, answer.json()) == (404, {"code": 5, "message": expected, "details": []})
            assert (await client.get("/health")).json() == {"isHealthy": True, "networks": ["iota", "signed"]}


@pytest.mark.thorough
async def test_a_server_of_one_protocol_says_so_where_the_other_would_be(
    iota: NetworkMount, signed: httpx.AsyncClient
) -> None:
    nobody = "no network has the protocol of this path"
    answer = await signed.get("/api/v1/info")
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, nobody)
    routes = (await signed.get("/api/routes")).json()["routes"]
    assert routes == ["v1", NETWORK, "wormhole/events", "wormhole/v1"]
    async with client_of({"iota": iota}, "iota") as client:
        answer = await client.get("/v1/guardianset/current")
    assert (answer.status_code, answer.json()["message"]) == (404, nobody)


def test_a_setting_that_names_a_network_of_the_other_protocol_is_rejected(
    iota: NetworkMount, wormhole_store: WritableStore
) -> None:
    both = {"iota": iota, "signed": NetworkMount(wormhole_store, NETWORK, wormhole="mainnet")}
    with pytest.raises(ValueError, match=r"api\.stardust_network: signed is not among iota"):
        create_app(both, "iota", ApiSettings(stardust_network="signed"))
    with pytest.raises(ValueError, match=r"api\.wormhole_network: iota is not among signed"):
        create_app(both, "iota", ApiSettings(wormhole_network="iota"))


async def test_serve_mounts_a_wormhole_network_as_any_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("served")
    world = World()
    world.fill(StoreSettings(f"sqlite:///{folder}", NETWORK)).close()
    app = make_app(read(None, {"PERMANODE_STORE": f"sqlite:///{folder}", "PERMANODE_NETWORK": NETWORK}, {}))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        record = world.verified[0].served
        found = await client.get(f"/v1/signed_vaa/{record['message_id']}")
    assert found.json() == {"vaaBytes": b64(record["hex"])}

"""The indexer through iota.js 2.0.0-rc.4 and iota-sdk 1.1.4, with this server as their only node."""

import time
from pathlib import Path

import pytest

from tests import reference_indexer as reference
from tests.api.oracle import Json
from tests.api.stardust import StardustLedger
from tests.clients import drive
from tests.clients.api_requests_indexer import CHAINS, body, outputs_of, some_filters
from tests.clients.drive import ApiRequests, Driver
from tests.clients.installs import HERE, IOTA_SDK_WHEELS, Node, find_interpreter, python_programs
from tests.reference_indexer import KINDS, TAKES, Indexed

pytestmark = pytest.mark.clients

JS_LISTS = {"basic": "basicOutputs", "alias": "aliases", "nft": "nfts", "foundry": "foundries"}
"""Route → method of IndexerPluginClient. It has no list of all kinds, and no unlockableByAddress."""

JS_ADDRESSES = frozenset(
    {
        "address", "aliasAddress", "storageDepositReturnAddress", "expirationReturnAddress", "stateController",
        "governor", "issuer", "sender",
    }
)  # fmt: skip

SDK_LISTS = {route: "output_ids" if route == "all" else f"{route}_output_ids" for route in TAKES}
PAGE_SIZE = 7


@pytest.fixture(scope="module")
def iota_js(node: Node, server: str, stardust: StardustLedger, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    folder, mnemonic = tmp_path_factory.mktemp("iota_js_indexer"), stardust.expected["mnemonic"]
    return drive.iota_js(node, folder, "iota-stardust.js", server, "/api/", mnemonic)


@pytest.fixture(scope="module")
def iota_sdk(cache: Path, server: str) -> Driver:
    interpreter = find_interpreter("iota-sdk", IOTA_SDK_WHEELS)
    python = python_programs(cache, "iota_sdk", interpreter) / "python"
    return Driver((str(python), str(HERE / "drivers" / "sdk_client.py"), server))


@pytest.fixture(scope="module")
def outputs(stardust: StardustLedger) -> list[Indexed]:
    return outputs_of(stardust)


def in_js(filters: Json) -> Json:
    """Filters by their names in IndexerPluginClient."""
    spelled = {name: f"{name}Bech32" for name in JS_ADDRESSES} | {"tag": "tagHex"}
    return {spelled.get(name, name): value for name, value in filters.items()}


def in_python(filters: Json) -> Json:
    """Filters by their names in iota-sdk's Python."""
    return {"".join(f"_{each.lower()}" if each.isupper() else each for each in name): filters[name] for name in filters}


@pytest.mark.parametrize("route", JS_LISTS)
def test_iota_js_finds_what_a_scan_finds(
    iota_js: Driver, stardust: StardustLedger, outputs: list[Indexed], route: str
) -> None:
    known = [filters for filters in some_filters(outputs, route) if "unlockableByAddress" not in filters]
    api_requests: ApiRequests = [
        ((JS_LISTS[route], in_js(filters)), body(stardust, reference.found(outputs, route, filters)))
        for filters in known
    ]
    iota_js.check("indexer", api_requests)


@pytest.mark.parametrize("kind", CHAINS)
def test_iota_js_finds_each_chain_object(
    iota_js: Driver, stardust: StardustLedger, outputs: list[Indexed], kind: str
) -> None:
    calls = []
    for chain_id, states in reference.chains(outputs, kind).items():
        living = [each.output_id for each in states if not each.metadata["isSpent"]]
        calls.append((["indexer", kind, chain_id], living))
    found = iota_js.ask([call for call, _ in calls])
    for (_, living), each in zip(calls, found, strict=True):
        if living:
            assert each == {"answer": body(stardust, living, 0)}
        else:
            assert each["refused"] == 404
    assert any(living for _, living in calls)


def test_iota_js_balances_are_those_of_the_oracle(
    iota_js: Driver, stardust: StardustLedger, outputs: list[Indexed]
) -> None:
    """The outputs that it sums: basic outputs that the address owns, and those that expired to it."""
    now, api_requests, total = int(time.time()), [], 0
    for account in stardust.expected["addresses"]:
        expired = reference.found(
            outputs, "basic", {"expirationReturnAddress": account["bech32"], "expiresBefore": now}
        )
        balance = int(account["basicBalance"])
        balance += sum(int(stardust.outputs[each]["output"]["amount"]) for each in expired)
        owned = reference.found(outputs, "basic", {"address": account["bech32"]})
        ledger_index = stardust.expected["milestones"] if owned else 0
        tokens = {token_id: str(int(amount, 16)) for token_id, amount in basic_tokens(stardust, owned).items()}
        answer = {"balance": str(balance), "nativeTokens": tokens, "ledgerIndex": ledger_index}
        api_requests.append(((account["bech32"],), answer))
        total += balance if "wallet" in account else 0
    iota_js.check("addressBalance", api_requests)
    iota_js.check("getBalance", [((0,), str(total))])


def basic_tokens(ledger: StardustLedger, output_ids: list[str]) -> dict[str, str]:
    """Native tokens of outputs, by id; amounts in hex."""
    found: dict[str, int] = {}
    for output_id in output_ids:
        for token in ledger.outputs[output_id]["output"].get("nativeTokens", ()):
            found[token["id"]] = found.get(token["id"], 0) + int(token["amount"], 16)
    return {token_id: hex(amount) for token_id, amount in found.items()}


@pytest.mark.parametrize("route", SDK_LISTS)
def test_iota_sdk_finds_what_a_scan_finds_page_by_page(
    iota_sdk: Driver, stardust: StardustLedger, outputs: list[Indexed], route: str
) -> None:
    """Without a cursor the client requests all pages itself, however small."""
    index = stardust.expected["milestones"]
    api_requests: ApiRequests = [
        (
            ({"query": in_python(filters | {"pageSize": PAGE_SIZE})},),
            {"ledgerIndex": index, "items": reference.found(outputs, route, filters)},
        )
        for filters in some_filters(outputs, route)
    ]
    iota_sdk.check(SDK_LISTS[route], api_requests)


@pytest.mark.parametrize("kind", CHAINS)
def test_iota_sdk_finds_each_chain_object(iota_sdk: Driver, outputs: list[Indexed], kind: str) -> None:
    calls = []
    for chain_id, states in reference.chains(outputs, kind).items():
        living = [each.output_id for each in states if not each.metadata["isSpent"]]
        calls.append(([f"{kind}_output_id", chain_id], living))
    found = iota_sdk.ask([call for call, _ in calls])
    for (_, living), each in zip(calls, found, strict=True):
        if living:
            assert each == {"answer": living[0]}
        else:
            assert each["refused"] == 404
    assert any(living for _, living in calls)


def test_iota_sdk_reads_a_wallet_s_totals(iota_sdk: Driver, stardust: StardustLedger, outputs: list[Indexed]) -> None:
    """Like a wallet: the ids that an address may unlock, then the outputs, then their sum."""
    plain = {"hasExpiration": False, "hasTimelock": False, "hasStorageDepositReturn": False}
    accounts = stardust.expected["addresses"]
    listed = iota_sdk.answers(
        [["basic_output_ids", {"query": in_python({"address": each["bech32"], **plain})}] for each in accounts]
    )
    read = iota_sdk.answers(
        [["get_outputs", [{"outputId": output_id} for output_id in page["items"]]] for page in listed]
    )
    found = [sum(int(each["output"]["amount"]) for each in some) for some in read]
    owned = [set(reference.found(outputs, "basic", {"address": each["bech32"]})) for each in accounts]
    held_back = [
        sum(int(each.output["amount"]) for each in outputs if each.output_id in ids and len(each.conditions) > 1)
        for ids in owned
    ]
    assert found == [int(account["basicBalance"]) - back for account, back in zip(accounts, held_back, strict=True)]
    assert sum(found) > 10**15
    assert {each.output["type"] for each in outputs} == KINDS["all"]

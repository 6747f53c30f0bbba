"""PyPI iota-client 1.0.0rc2, the first Rust client of Stardust, with this server as its only node.

An answer is the node's JSON with two differences: the client writes empty fields, which nodes omit, and it cannot read
receipts from any node (it expects funds as a number). Its errors are objects.
"""

from pathlib import Path
from typing import Any

import pytest

from tests import reference_indexer as reference
from tests.api.stardust import StardustLedger
from tests.clients.api_requests_indexer import outputs_of, some_filters
from tests.clients.drive import Driver
from tests.clients.installs import HERE, IOTA_CLIENT_STARDUST_WHEELS, find_interpreter, python_programs
from tests.clients.test_iota_sdk import REQUESTS

pytestmark = pytest.mark.clients

METHODS = (
    "get_info", "get_network_id", "get_bech32_hrp", "get_min_pow_score", "unhealthy_nodes", "get_block_data",
    "get_block_metadata", "get_block_raw", "get_included_block", "get_included_block_metadata", "get_output",
    "get_output_metadata", "get_outputs", "get_milestone_by_id", "get_milestone_by_index", "get_milestone_by_id_raw",
    "get_milestone_by_index_raw", "get_utxo_changes_by_id", "get_utxo_changes_by_index", "get_treasury",
)  # fmt: skip
"""Those that iota-sdk has, too, with the same answers."""

LISTS = {route: f"{route}_output_ids" for route in ("basic", "alias", "foundry", "nft")}

UNKNOWN = {"nft": {"issuer"}}
"""Filters that the client rejects before it sends a request."""


@pytest.fixture(scope="module")
def client(cache: Path, server: str) -> Driver:
    interpreter = find_interpreter("iota-client", IOTA_CLIENT_STARDUST_WHEELS)
    python = python_programs(cache, "iota_client_stardust", interpreter) / "python"
    return Driver((str(python), str(HERE / "drivers" / "stardust_client.py"), server))


def spelled(argument: Any) -> Any:
    """Arguments in this client's form: output ids are text."""
    if isinstance(argument, list):
        return [spelled(each) for each in argument]
    return argument["outputId"] if isinstance(argument, dict) else argument


def without_empty(value: Any) -> Any:
    """JSON without empty fields, at any depth."""
    if isinstance(value, list):
        return [without_empty(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: without_empty(each) for key, each in value.items() if each not in ("", "0x", [], None)}


@pytest.mark.parametrize("method", METHODS)
def test_it_reads_what_the_ledger_holds(client: Driver, stardust: StardustLedger, method: str) -> None:
    requests = list(REQUESTS[method](stardust))
    found = client.answers([[method, *map(spelled, arguments)] for arguments, _ in requests])
    for (arguments, expected), answer in zip(requests, found, strict=True):
        assert without_empty(answer) == without_empty(expected), arguments


@pytest.mark.parametrize("route", LISTS)
def test_it_finds_what_a_scan_finds(client: Driver, stardust: StardustLedger, route: str) -> None:
    outputs = outputs_of(stardust)
    unknown = {"unlockableByAddress", *UNKNOWN.get(route, ())}
    filters = [each for each in some_filters(outputs, route) if not unknown & each.keys()]
    assert len(filters) > 5
    calls = [[LISTS[route], [{name: value} for name, value in each.items()]] for each in filters]
    for each, answer in zip(filters, client.answers(calls), strict=True):
        assert answer == reference.found(outputs, route, each), each


def test_an_error_reaches_it(client: Driver) -> None:
    unknown = f"0x{'ab' * 32}"
    calls = [["get_block_data", unknown], ["get_milestone_by_index", 51], ["alias_output_id", unknown]]
    assert [each["refused"] for each in client.ask(calls)] == [404, 404, 404]
    tips, receipts = client.ask([["get_tips"], ["get_receipts"]])
    assert (tips["refused"], "an archive has no tips" in tips["message"]) == (501, True)
    assert (receipts["refused"], "expected u64" in receipts["message"]) == (None, True)

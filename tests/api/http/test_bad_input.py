"""Invalid input for each parameter of the contract: a 400 that names it, or ignored where a node ignores it."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.listing.cursor import CursorError, parse_cursor
from tests.api.asgi import ask
from tests.api.conftest import ON_ONE_STORE
from tests.api.contract import described, example
from tests.api.http.test_error_shape import assert_shape
from tests.api.http.test_unknown_parameters import STRICT
from tests.api.oracle import Oracle
from tests.api.paths import OF_WORMHOLE
from tests.conftest import some_of

OPERATIONS = [
    (each.path, each.operation)
    for each in described()
    if each.method == "get" and each.operation.get("parameters") and "200" in each.operation["responses"]
    and not OF_WORMHOLE.search(each.path)
]  # fmt: skip
PATH_PARAMETERS = sorted(
    {
        (path, each["name"])
        for path, operation in OPERATIONS
        for each in operation["parameters"]
        if each["in"] == "path" and each["name"] != "network"
    }
)
QUERY_PARAMETERS = sorted(
    (path, each["name"]) for path, operation in OPERATIONS for each in operation["parameters"] if each["in"] == "query"
)
EXAMPLES = {path: {each["name"]: example(each) for each in op["parameters"]} for path, op in OPERATIONS}


def filled(path: str, **other: Any) -> str:
    """The path with the contract's own examples."""
    values = EXAMPLES[path] | {"network": "testing"} | other
    return path.format(**{name: quote(str(value), safe="%") for name, value in values.items()})


WRONG = ("x", "%20", "%00", "ä", "9" * 100, "-1", "0x00", "null", "f" * 63, "f" * 65, "g" * 64)
"""Texts that no path parameter accepts."""


@pytest.mark.thorough
@ON_ONE_STORE
async def test_a_path_parameter_of_wrong_length_or_alphabet_is_named(client: httpx.AsyncClient) -> None:
    for path, name in some_of(PATH_PARAMETERS):
        for text in WRONG:
            message = assert_shape(await client.get(filled(path, **{name: text})), 400)
            assert message.startswith(f"parameter {name}: expected "), (path, text, message)


@ON_ONE_STORE
async def test_a_repeated_parameter_is_named(client: httpx.AsyncClient) -> None:
    for path, name in some_of(QUERY_PARAMETERS):
        value = EXAMPLES[path].get(name) or "1"
        answer = await client.get(filled(path), params=[(name, str(value).lower())] * 2)
        assert assert_shape(answer, 400).startswith(f"parameter {name}: expected one value"), path


EXPLORER = {path for path, _ in OPERATIONS if "/explorer/v2/" in path or "/analytics/v2/" in path}
EXTENSIONS = {
    path: known
    for path, _ in QUERY_PARAMETERS
    for end, known in (
        ("/milestones/{index}/messages", "expanded, page_size, sort, state"),
        ("/core/v2/sync", "end, sort, start"),
    )
    if path.endswith(end)
}
"""Parameters that neither a node nor Chronicle has → the parameters that the operation accepts."""


@ON_ONE_STORE
async def test_unknown_parameters_of_extensions_are_named(client: httpx.AsyncClient) -> None:
    for path in some_of(sorted(EXTENSIONS)):
        assert (await client.get(filled(path), params={"sort": "newest"})).status_code == 200
        message = assert_shape(await client.get(filled(path), params={"limit": "1"}), 400)
        assert message == f"parameter limit: expected only {EXTENSIONS[path]}, found '1'", path


@ON_ONE_STORE
async def test_unknown_parameters_of_the_explorer_are_named_as_inx_chronicle_rejects_them(
    client: httpx.AsyncClient,
) -> None:
    for path in some_of(sorted(EXPLORER)):
        message = assert_shape(await client.get(filled(path), params={"limit": "1"}), 400)
        assert message.startswith("parameter limit: expected only "), path


@ON_ONE_STORE
async def test_unknown_parameters_are_ignored_as_nodes_ignore_them(client: httpx.AsyncClient) -> None:
    for path in some_of(
        path for path in {path for path, _ in QUERY_PARAMETERS} - EXTENSIONS.keys() if not STRICT.search(path)
    ):
        query = {"index": "78"} if "index" in EXAMPLES[path] and "{index}" not in path else {}
        known = await client.get(filled(path), params=query)
        others = [("limit", "x"), ("a", "1"), ("a", "2"), ("", "")]
        unknown = await client.get(filled(path), params=[*query.items(), *others])
        assert (unknown.status_code, unknown.content) == (known.status_code, known.content), path


@ON_ONE_STORE
@pytest.mark.parametrize("prefix", ["v1", "core/v1", "testing"])
@pytest.mark.parametrize(
    "bech32",
    [
        "iota1qrhacyfwlcnzkvzteumekfkrrwks98mpdm37cj4xx3drvmjvnep6xqgyzyx",
        "smr1qrhacyfwlcnzkvzteumekfkrrwks98mpdm37cj4xx3drvmjvnep6x8x4r7t",
        "atoi1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j927htlgf",
    ],
)
async def test_an_address_of_another_network_or_with_a_typo_is_named(
    client: httpx.AsyncClient, prefix: str, bech32: str
) -> None:
    for path in (f"addresses/{bech32}", f"addresses/{bech32}/outputs"):
        message = assert_shape(await client.get(f"/api/{prefix}/{path}"), 400)
        assert message.startswith("parameter address: expected ")


@ON_ONE_STORE
async def test_a_bech32_address_may_mix_cases_where_a_node_reads_it(client: httpx.AsyncClient, oracle: Oracle) -> None:
    """Hornet and inx-api-core-v1 lower the text; inx-chronicle parses it as it is."""
    lower = oracle.expected["addresses"][0]["bech32"]
    for mixed in (lower.title(), lower[:9] + lower[9:].upper(), lower.upper()):
        for prefix in ("v1", "core/v1", "testing"):
            for path in ("", "/outputs", "/tx-history"):
                found, wanted = [await client.get(f"/api/{prefix}/addresses/{each}{path}") for each in (mixed, lower)]
                assert (found.status_code, found.content) == (200, wanted.content), (prefix, mixed, path)
        answer = await client.get(f"/api/explorer/v2/balance/{mixed}")
        assert answer.status_code == (200 if mixed == lower.upper() else 400)
    typo = lower[:-1] + ("q" if lower[-1] != "q" else "p")
    message = assert_shape(await client.get(f"/api/v1/addresses/{typo.title()}"), 400)
    assert message.startswith("parameter address: expected a bech32 address, found ")


@ON_ONE_STORE
async def test_a_damaged_state_is_named_or_means_the_same(app: Any, oracle: Oracle) -> None:
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    _, first = await ask(app, "/api/v1/messages", {"index": tag, "page_size": 3})
    state = first["data"]["state"]
    for position in range(len(state)):
        for other in {"A", "z", "_", "%"} - {state[position]}:
            damaged = state[:position] + other + state[position + 1 :]
            status, body = await ask(app, "/api/v1/messages", {"index": tag, "page_size": 3, "state": damaged})
            assert status == 400, damaged
            assert body["error"]["message"].startswith("parameter state: ")
    for cut in range(1, len(state)):
        status, _ = await ask(app, "/api/v1/messages", {"index": tag, "page_size": 3, "state": state[:cut]})
        assert status == 400


@given(st.text(max_size=80))
def test_no_text_but_a_cursor_is_one(text: str) -> None:
    with pytest.raises(CursorError):
        parse_cursor(text, "some question newest", [])


@ON_ONE_STORE
@pytest.mark.parametrize("prefix", ["v1", "core/v1", "testing"])
async def test_an_index_has_one_to_64_bytes(client: httpx.AsyncClient, prefix: str) -> None:
    path = f"/api/{prefix}/messages"
    assert (await client.get(path, params={"index": "00" * 64})).status_code == 200
    for index in ("00" * 65, "", "0", "0g"):
        message = assert_shape(await client.get(path, params={"index": index}), 400)
        assert message.startswith("parameter index: expected hex of 1 to 64 bytes")

"""Query parameters that an operation does not have, or that are missing, over every operation of the contract.

A name that the contract gives to another operation of the same protocol is rejected, except by operations that always
return 501. Any other name is ignored where an original ignores it, and rejected by operations that no other program
has. Of several missing ones, the error names the first of the description.
"""

import re
from collections import defaultdict
from itertools import combinations
from typing import Any

import orjson
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.store import StoreUnavailable
from tests.api.asgi import ask
from tests.api.contract import Described, described, example, sent
from tests.api.http.test_error_shape import BrokenStore
from tests.api.oracle import Json
from tests.api.paths import OF_WORMHOLE
from tests.conftest import ROOT, some_of

ROUTES = [each for each in described() if each.method == "get"]
SERVED = [each for each in ROUTES if "200" in each.operation["responses"]]

STRICT = re.compile(
    r"/(explorer|analytics)/v2/"  # as inx-chronicle
    r"|^/api/{network}/(outputs|aliases|foundries|nft)(/{(alias|foundry|nft)Id})?$"  # of the Stardust schema plan
    r"|/(wormhole|api)/v1/(gaps(/|$)|coverage$|guardian-sets$|vaas/.*/(signatures|verification)$)"
    r"|/wormhole/events/(readrows|findrows)$"
    r"|/milestones/{index}/messages$|/core/v2/sync$|^/api/{network}/events$|^/api/({network}/)?search$"
    r"|^/api/{network}/(log(/|$)|proofs/listing$)"
)
"""Operations that no other program has, and those whose original rejects unknown parameters."""


def names_of(each: Described) -> set[str]:
    return {parameter["name"] for parameter in each.operation.get("parameters", ()) if parameter["in"] == "query"}


def protocol_of(path: str) -> str:
    return "signed" if OF_WORMHOLE.search(path) else "iota"


DOCUMENTED: dict[str, set[str]] = defaultdict(set)
for _each in ROUTES:
    DOCUMENTED[protocol_of(_each.path)] |= names_of(_each)


@pytest.fixture(scope="module")
def app() -> Any:
    """A server without a working store: what is rejected is rejected before the store is read."""
    store = BrokenStore(StoreUnavailable("away"))
    networks = {
        "iota": NetworkMount(store, "iota", "atoi"),
        "signed": NetworkMount(store, "signed", wormhole="mainnet"),
    }
    return create_app(networks, "iota", ApiSettings())


async def response_to(app: Any, each: Described, query: Json) -> tuple[int, Json]:
    """The response to the operation's own example with more parameters."""
    parameters = each.operation.get("parameters", ())
    values = {parameter["name"]: sent(example(parameter)) for parameter in parameters}
    required = {
        parameter["name"]: values[parameter["name"]]
        for parameter in parameters
        if parameter["in"] == "query" and parameter["required"]
    }
    path = each.path.format(**values | {"network": protocol_of(each.path)})
    return await ask(app, path, required | query)


def message_of(body: Json) -> str:
    message: str = body["error"]["message"] if "error" in body else body["message"]
    return message


@pytest.mark.thorough
async def test_no_parameter_of_another_operation_is_ignored(app: Any) -> None:
    for each in some_of(SERVED):
        others = DOCUMENTED[protocol_of(each.path)] - names_of(each)
        assert len(others) > 10
        for name in sorted(others):
            status, body = await response_to(app, each, {name: "1"})
            assert status == 400, (each.name, name, body)
            assert message_of(body).startswith(f"parameter {name}: expected only "), (each.name, name)


async def test_the_first_missing_parameter_is_named(app: Any) -> None:
    counts = []
    for each in SERVED:
        parameters = each.operation.get("parameters", ())
        values = {parameter["name"]: sent(example(parameter)) for parameter in parameters}
        path = each.path.format(**values | {"network": protocol_of(each.path)})
        names = [each["name"] for each in parameters if each["in"] == "query" and each["required"]]
        counts.append(len(names))
        for given in (given for count in range(len(names)) for given in combinations(names, count)):
            first = next(name for name in names if name not in given)
            status, body = await ask(app, path, {name: values[name] for name in given})
            assert status == 400, (each.name, given)
            assert message_of(body).startswith(f"parameter {first}: expected "), (each.name, given)
            assert message_of(body).endswith(", found nothing"), (each.name, given)
    assert {2, 3} <= set(counts)


async def test_an_operation_that_is_never_served_gives_its_reason_whatever_the_query(app: Any) -> None:
    rejecting = [each for each in ROUTES if each not in SERVED]
    assert len(rejecting) > 60
    for each in rejecting:
        names = dict.fromkeys(sorted(DOCUMENTED[protocol_of(each.path)] | {"no-such"}), "1")
        without = await response_to(app, each, {})
        # The network by default is not of this protocol.
        is_elsewhere = each.path.startswith("/api/v1/") and protocol_of(each.path) == "signed"
        assert without[0] == (404 if is_elsewhere else 501), (each.name, without)
        assert await response_to(app, each, names) == without, each.name


async def test_a_name_that_nothing_has_is_ignored_only_as_an_original_does(app: Any) -> None:
    for each in some_of(ROUTES):
        (status, body), (without, _) = [await response_to(app, each, query) for query in ({"no-such": "1"}, {})]
        if STRICT.search(each.path):
            assert status == 400, each.name
            assert message_of(body).startswith("parameter no-such: expected only "), each.name
        else:
            assert status == without != 400, each.name
            assert "no-such" not in str(body), each.name


async def test_a_name_in_invalid_utf_8_is_rejected_like_any_other(app: Any) -> None:
    status, body = await ask(app, "/api/iota/events", {b"\xff": "1"})
    assert status == 400
    assert message_of(body).startswith("parameter \\udcff: expected only ")


async def test_every_flag_may_be_spelled_as_python_spells_it(app: Any) -> None:
    """A store that is away means that the server has read all parameters."""
    flags = [
        (each, parameter["name"])
        for each in ROUTES
        for parameter in each.operation.get("parameters", ())
        if parameter["schema"].get("type") == "boolean" and parameter["name"] != "follow"
    ]
    assert {"include-spent", "expanded", "utf8", "hasNativeTokens", "parsedPayload"} <= {name for _, name in flags}
    for each, name in some_of(flags):
        for text in ("True", "T"):
            status, body = await response_to(app, each, {name: text})
            assert status != 400, (each.name, name, body)


POSTED = [each for each in described() if each.method == "post" and "/wormhole/events/" in each.path]


async def test_a_posted_object_is_read_as_the_query_is(app: Any) -> None:
    for each in some_of(POSTED):
        schema = each.operation["requestBody"]["content"]["application/json"]["schema"]
        others = set().union(*(names_of(route) for route in ROUTES if "/wormhole/events/" in route.path))
        for name in sorted(others - schema["properties"].keys()):
            status, body = await ask(app, each.path.format(network="signed"), posted=orjson.dumps({name: "1"}))
            assert status == 400, (each.name, name)
            assert message_of(body).startswith(f"body, field {name}: expected only "), (each.name, name)
        status, body = await ask(app, each.path.format(network="signed"), posted=b'{"no-such": "1"}')
        assert ("no-such" in message_of(body)) is bool(STRICT.search(each.path)), each.name


def test_every_extension_of_the_docs_is_strict() -> None:
    """Rows whose remark begins with the word are operations that the original API does not have."""
    page = (ROOT / "docs/supported.md").read_text()
    rows = re.findall(r"^\| GET (/\S+?)[? ]\S* *\| served \| extension", page, re.MULTILINE)
    assert len(rows) > 12
    prefixes = ("", "/api", "/api/{network}", "/api/{network}/wormhole/v1")
    for row in rows:
        assert any(STRICT.search(prefix + row) for prefix in prefixes), row

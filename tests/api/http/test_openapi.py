"""The committed contract equals the application's, and it is complete."""

import asyncio
import csv
import inspect
import json
import re
import threading
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from api.app import ApiSettings, Permanode, create_app, routes
from api.chronicle_v1.routes import CHRONICLE_SERVICE, CHRONICLE_SYNC, CHRONICLE_V1
from api.core_v2.routes import CORE_V2
from api.explorer_v2.routes import EXPLORER_V2
from api.explorer_v2.token_responses import FOUNDRY_ID, NFT_ID
from api.families import WORMHOLE_V1
from api.health import HEALTH
from api.http import openapi
from api.http.docs_page import ASSETS, STYLE
from api.http.operation_route import OperationRoute
from api.http.operations import SERIALIZED, arguments, body_of, params_of
from api.http.page_sizes import CHRONICLE_V1 as CHRONICLE_SIZES
from api.http.page_sizes import NODE_V1 as NODE_V1_SIZES
from api.indexer_v1.routes import INDEXER_V1, SEED_INDEXER
from api.network import NetworkMount
from api.node_v1.routes import NODE_V1
from api.poi_v1.routes import POI_V1
from api.version import VERSION
from api.wormhole.events.routes import EVENTS
from api.wormhole.guardian.routes import GUARDIAN_V1
from db.store import WritableStore
from tests.api.asgi import ask
from tests.api.contract import Described, described, example
from tests.api.http.test_error_shape import BrokenStore
from tests.api.oracle import Json, Oracle
from tests.api.paths import OF_CHAINS, OF_WORMHOLE
from tests.api.stardust import StardustLedger
from tests.conftest import ROOT, some_of

ROUTES = described()
SCHEMAS = openapi.document()["components"]["schemas"]

EXPORTED = [each for each in ROUTES if "text/csv" in each.operation["responses"].get("200", {}).get("content", {})]
"""Operations that return whole listings."""

GRPC = {"400": 3, "401": 16, "404": 5, "413": 3, "429": 8, "500": 13, "501": 12, "503": 14}
"""gRPC's codes for those statuses."""

DOCUMENTED = [each.operation["operationId"] for each in ROUTES if not each.is_alias]

GUARDIAN_RPC = "publicrpc.v1.PublicRPCService"
PAGES = {
    *("/metrics", "/api/metrics", "/openapi.json", "/docs", *(f"/docs/{name}" for name in ASSETS)),
    *(
        f"{prefix}/{GUARDIAN_RPC}/{name}"
        for prefix in ("", "/api/{network}")
        for name in ("GetSignedVAA", "GetCurrentGuardianSet")
    ),
}
"""Paths that a server serves beside operations."""


@pytest.mark.thorough
def test_the_committed_contract_is_the_application_s() -> None:
    committed = yaml.load((ROOT / "openapi.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
    assert committed == openapi.document()
    assert openapi.main(["--check"]) == 0


@pytest.mark.thorough
def test_check_notices_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "openapi.yaml"
    other.write_text(openapi.render() + "x-changed: true\n", "utf-8")
    monkeypatch.setattr(openapi, "COMMITTED", other)
    assert openapi.main(["--check"]) == 1


@pytest.mark.thorough
async def test_the_served_contract_is_the_committed_one(client: httpx.AsyncClient, mount: NetworkMount) -> None:
    served = (await client.get("/openapi.json")).json()
    assert served == openapi.document()
    assert create_app({"a": mount, "b": mount}, "b", ApiSettings()).openapi() == served


async def test_the_document_is_built_once_and_other_requests_are_served_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, may_end = [], threading.Event()

    def build(app: Permanode) -> Json:
        begun.append(app)
        assert may_end.wait(60)
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(Permanode, "openapi", build)
    app = create_app({"a": NetworkMount(BrokenStore(RuntimeError()), "a")}, "a", ApiSettings())
    waiting = [asyncio.create_task(ask(app, "/openapi.json")) for _ in range(3)]
    try:
        for _ in range(3):
            assert (await ask(app, "/api/routes"))[0] == 200
            assert not any(each.done() for each in waiting)
    finally:
        may_end.set()
    assert await asyncio.gather(*waiting, ask(app, "/openapi.json")) == [(200, {"openapi": "3.1.0"})] * 4
    assert begun == [app]


async def test_the_docs_page_and_all_it_loads_come_from_here(client: httpx.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    assert 'data-url="/openapi.json"' in page
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sorted(loaded) == ["/docs/favicon.png", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"]
    _, script, style = answers = [await client.get(path) for path in sorted(loaded)]
    kinds = [each.headers["content-type"].partition(";")[0] for each in answers]
    assert kinds == ["image/png", "text/javascript", "text/css"]
    assert "https://" not in page
    theirs = files("fastapi_offline") / "static"
    assert script.content == (theirs / "swagger-ui-bundle.js").read_bytes()
    assert style.text == (theirs / "swagger-ui.css").read_text("utf-8") + STYLE


def test_every_operation_is_named_by_its_function() -> None:
    assert len(set(DOCUMENTED)) == len(DOCUMENTED)
    assert {*DOCUMENTED} <= {route.operation_id.removesuffix("_of_network") for route in routes({}, "", "", "")}
    for route in routes({}, "", "", ""):
        family = "_v2" if "/core/v2/" in route.path else "_of_analytics" if "/analytics/v2/" in route.path else ""
        suffix = "_of_network" if "{network}" in route.path else "_of_core" if "/core/v1/" in route.path else ""
        assert route.operation_id == route.name + family + suffix


def test_every_served_route_is_an_operation_or_an_alias_of_one_and_nothing_else_is_described() -> None:
    served: list[Any] = create_app({"a": NetworkMount(BrokenStore(RuntimeError()), "a")}, "a", ApiSettings()).routes
    assert {route.path for route in served if not isinstance(route, OperationRoute)} == PAGES
    operations = [route for route in served if isinstance(route, OperationRoute)]
    found = [(route.path_format, method.lower()) for route in operations for method in route.methods or ()]
    assert len(found) == len(set(found)) > 300
    assert sorted((each.path, each.method) for each in ROUTES) == sorted(found)


def test_an_operation_is_documented_at_its_path_with_a_network_where_it_has_one() -> None:
    for path, item in openapi.document()["paths"].items():
        for operation in item.values():
            aliases = operation.get("x-aliases", [])
            assert "{network}" in path or not any("{network}" in alias for alias in aliases)
            assert all(f"`{alias}`" in operation["description"] for alias in aliases)


HANDLERS = {
    (route.path_format, method.lower()): route for route in routes({}, "", "", "") for method in route.methods or ()
}


def test_an_alias_reads_the_parameters_that_the_document_describes() -> None:
    for each in some_of(each for each in ROUTES if each.is_alias):
        check_alias(each)


def check_alias(each: Described) -> None:
    """Compares with the parameters of the route itself."""
    route = HANDLERS[each.path, each.method]
    of_route = [
        *route.mount.params,
        *(each.at(route.mount.dialect) for each in params_of(route.operation)),
    ]
    expected = {(param.name, param.where): param.documented()["schema"] for param in of_route}
    described = {
        (parameter["name"], parameter["in"]): {k: v for k, v in parameter["schema"].items() if k != "examples"}
        for parameter in each.operation.get("parameters", ())
    }
    assert described == expected
    body = body_of(route.operation.handler)
    assert (body is not None) == ("requestBody" in each.operation)
    if body is not None and route.operation.alias_of is not None:
        posted, model = each.operation["requestBody"], body[1].documented()
        (found, wanted) = (what["content"]["application/json"]["schema"] for what in (posted, model))
        assert posted["required"] == model["required"]
        assert found.get("required", []) == wanted.get("required", [])
        assert found["properties"].keys() == wanted["properties"].keys()


def test_every_family_is_explained() -> None:
    tags = [tag["name"] for tag in openapi.document()["tags"]]
    assert {tag for each in ROUTES for tag in each.operation["tags"]} == {*tags}


def test_there_is_one_version() -> None:
    assert openapi.document()["info"]["version"] == VERSION
    assert all(SCHEMAS[name]["examples"][0]["data"]["version"] == VERSION for name in ("InfoResponse",))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "api.version.VERSION"}


def test_every_operation_returns_all() -> None:
    for each in some_of(ROUTES):
        check_operation(each)


def check_operation(each: Described) -> None:
    path, operation = each.path, each.operation
    assert operation["summary"]
    declared = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
    assert declared == {segment[1:-1] for segment in path.split("/") if segment.startswith("{")}
    assert all(each["required"] for each in operation.get("parameters", []) if each["in"] == "path")
    for each in operation.get("parameters", []):
        assert each["description"]
        assert example(each) is not None or each["name"] in ("state", "cursor")
        assert each["required"] == ("example" in each), "/docs prefills what is required, and nothing else"
    assert operation["responses"].keys() & {"200", "501"}
    has_body = "requestBody" in operation
    needed = {"500", "503"} | ({"401", "429"} if path != "/health" else set())
    needed |= {"400"} if operation.get("parameters") or has_body else set()
    needed |= {"413"} if has_body else set()
    assert needed <= set(operation["responses"]) <= needed | {"200", "304", "404", "501"}
    for status, response in operation["responses"].items():
        if status == "304":
            assert "content" not in response
            continue
        content = response["content"]
        if len(content) > 1:
            assert status == "200"
            assert list(content) in (
                ["application/json", "text/csv"],
                ["application/json", "text/csv", "application/x-ndjson"],
                ["application/json", SERIALIZED],
                ["application/json", "text/event-stream"],
            )
            continue
        (content,) = content.values()
        if status != "200" and OF_WORMHOLE.search(path):
            assert (content["example"]["code"], content["example"]["details"]) == (GRPC[status], [])
        elif status != "200" and ("/explorer/v2/" in path or "/analytics/v2/" in path):
            assert content["example"]["code"] == int(status)
        elif status != "200":
            assert content["example"]["error"]["code"] == status


@pytest.mark.thorough
def test_every_answer_has_an_example_that_is_an_answer() -> None:
    models = {route.operation.answer for route in routes({}, "", "", "")} - {None}
    assert len(models) > 5
    for model in models:
        (example,) = model.model_json_schema()["examples"]
        model.model_validate(example, strict=True, extra="forbid")


def of_csv(text: str) -> tuple[list[Any], list[Json]]:
    """The headings above a table, and its rows."""
    *above, table = text.split("\n\n")
    lines = csv.DictReader(table.splitlines())
    titles = [[line[0] for line in csv.reader(each.splitlines())] for each in above]
    return [*titles, lines.fieldnames], list(lines)


def of_ndjson(text: str) -> tuple[list[Any], list[Json]]:
    """The fields in its rows, and the rows."""
    lines = [json.loads(line) for line in text.splitlines()]
    (fields,) = {tuple(each) for each in lines}
    return list(fields), lines


READERS = {"text/csv": of_csv, "application/x-ndjson": of_ndjson}


@pytest.fixture(scope="module")
def stardust_app(stardust: StardustLedger, stardust_store: WritableStore) -> Any:
    return create_app({"testing": stardust.mount(stardust_store)}, "testing", ApiSettings())


@pytest.fixture
def stardust_client(stardust_app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=stardust_app), base_url="http://permanode")


@pytest.mark.thorough
@pytest.mark.parametrize("exported", EXPORTED, ids=lambda each: each.name)
async def test_every_export_has_an_example_with_the_columns_of_a_real_one(
    client: httpx.AsyncClient, stardust_client: httpx.AsyncClient, oracle: Oracle, exported: Described
) -> None:
    path, operation = exported.path, exported.operation
    if OF_CHAINS.search(path):
        # Chrysalis has no native tokens and no NFTs.
        client, path = stardust_client, path.replace("{tokenId}", FOUNDRY_ID).replace("{nftId}", NFT_ID)
    owner = max(oracle.expected["addresses"], key=lambda each: len(oracle.histories.get(each["address"], [])))
    address = owner["address" if "/ed25519/" in path else "bech32"]
    content = operation["responses"]["200"]["content"]
    answer = SCHEMAS[content["application/json"]["schema"]["$ref"].rpartition("/")[2]]["examples"][0]
    lists = [each for each in answer.get("data", answer).values() if isinstance(each, list)]
    (listed,) = (each for each in lists if not all(isinstance(item, str) for item in each))
    query = {each["name"]: address for each in operation["parameters"] if each["required"] and each["in"] == "query"}
    reported = {}
    for media_type in list(content)[1:]:
        whole = path.format(network="testing", address=address)
        real = await client.get(whole, params=query, headers={"accept": media_type})
        assert real.headers["content-type"].partition(";")[0] == media_type
        titles, items = READERS[media_type](real.text)
        assert items
        as_documented, reported[media_type] = READERS[media_type](content[media_type]["example"])
        assert as_documented == titles
        assert len(reported[media_type]) == len(listed)
    if "application/x-ndjson" in reported:
        assert reported["application/x-ndjson"] == [flat(each) for each in listed]
        assert reported["text/csv"] == [{name: in_csv(value) for name, value in flat(each).items()} for each in listed]


def flat(item: Json) -> Json:
    """An item of a response as in a listing: nested fields become siblings of the rest."""
    below = [value for value in item.values() if isinstance(value, dict)]
    return {name: value for each in (*below, item) for name, value in each.items() if not isinstance(value, dict)}


def in_csv(value: Any) -> str:
    """A value as in CSV."""
    if isinstance(value, list):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_aliases_differ_in_nothing_but_defaults_and_what_page_sizes_they_read() -> None:
    differing = {}
    for item in openapi.document()["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                schemas = parameter.get("x-alias-schemas", {})
                assert all(f"Under `{prefix}`: " in parameter["description"] for prefix in schemas)
                for prefix, theirs in schemas.items():
                    assert prefix in ("/api/v1", "/api/core/v1")
                    mine = parameter["schema"]
                    differing[operation["operationId"], parameter["name"], prefix] = theirs["default"], mine["default"]
                    if parameter["name"] == "page_size":
                        assert theirs == NODE_V1_SIZES.schema() | {"default": theirs["default"]}
                        assert mine == CHRONICLE_SIZES.schema() | {k: mine[k] for k in ("default", "examples")}
                    else:
                        assert theirs == {"type": "boolean", "default": theirs["default"]}
    of_100 = ("message_children", "included_message_children", "ed25519_outputs")
    of_1000 = ("messages_by_index", "address_outputs", "milestone_messages", "receipts", "receipts_of")
    expected = {(name, "page_size"): (1000, 100) for name in of_100}
    expected |= {(name, "page_size"): (1000, 1000) for name in of_1000}
    expected |= {("ed25519_outputs", "include-spent"): (False, True)}
    prefixes = ("/api/v1", "/api/core/v1")
    assert differing == {(*place, prefix): values for place, values in expected.items() for prefix in prefixes}


def test_a_handler_whose_argument_nothing_reads_is_rejected() -> None:
    async def handler(network: object, message_id: str) -> None: ...

    with pytest.raises(TypeError, match="message_id"):
        arguments(handler)


def test_handlers_have_no_defaults_of_their_own() -> None:
    families = (
        NODE_V1, CORE_V2, EXPLORER_V2, INDEXER_V1, SEED_INDEXER, POI_V1,
        GUARDIAN_V1, WORMHOLE_V1, EVENTS, HEALTH, CHRONICLE_V1, CHRONICLE_SYNC, CHRONICLE_SERVICE,
    )  # fmt: skip
    for operation in (operation for family in families for operation in family.operations):
        signature = inspect.signature(operation.handler)
        assert all(each.default is inspect.Parameter.empty for each in signature.parameters.values())

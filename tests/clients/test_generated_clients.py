"""Clients generated from openapi.yaml, one in Python and one in TypeScript, call every documented operation.

No generated code is committed. The TypeScript compiler also checks the oracle's answers: a body with a key that the
contract does not describe does not compile.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import World
from tests.clients.api_requests_poi import BODY
from tests.clients.api_requests_wormhole import wormhole_walks
from tests.clients.drive import Driver, shape_of
from tests.clients.installs import HERE, Node, python_programs, run
from tests.clients.walks import CONTRACT, Walk, api_requests, contract, place

pytestmark = pytest.mark.clients


def test_no_operation_is_left_out(oracle: Oracle, stardust: StardustLedger, of_iota: list[Walk]) -> None:
    made = api_requests(oracle, stardust)
    requests = {(mount, below) for mount, requests in made.items() for below in requests}
    described = {place(each.path, each.method) for each in contract()}
    assert requests == described, "api_requests.py has a request for every path"
    assert all(each for requests in made.values() for each in requests.values())
    operations = [each.operation["operationId"] for each in contract()]
    assert list(dict.fromkeys(walk.operation for walk in of_iota)) == operations
    assert len(operations) > 70
    assert {walk.status for walk in of_iota} == {200, 404, 501}


@pytest.fixture(scope="session")
def described(server: str, of_iota: list[Walk], world: World) -> list[Walk]:
    """Calls of all operations and their aliases, for networks of both protocols."""
    of_wormhole = [*wormhole_walks(world, server)]
    assert len(of_wormhole) > 60
    return [*of_iota, *of_wormhole]


@pytest.fixture(scope="session")
def every(described: list[Walk]) -> list[Walk]:
    """Calls of all operations: a generated client has no other functions."""
    return [walk for walk in described if not walk.is_alias]


def test_every_alias_answers_as_its_operation(server: str, described: list[Walk]) -> None:
    """Routes that generated clients do not call; clients of the original APIs do."""
    aliases = [walk for walk in described if walk.is_alias]
    assert len({(walk.method, walk.path) for walk in aliases}) > 200
    with httpx.Client(base_url=server) as client:
        for walk in aliases:
            answer = client.request(walk.method, walk.url, params=walk.query, json=walk.given.get(BODY))
            body = answer.content.hex() if walk.is_bytes else answer.json()
            walk.check({"answer": body} if answer.is_success else {"refused": answer.status_code, "message": body})


def check(driver: Driver, calls: list[object], every: list[Walk]) -> None:
    for walk, found in zip(every, driver.ask(calls), strict=True):
        walk.check(found)


def test_the_python_client_walks_every_operation(cache: Path, server: str, every: list[Walk], tmp_path: Path) -> None:
    programs = python_programs(cache, "generator")
    (tmp_path / "generator.yaml").write_text("post_hooks: []\n", "utf-8")
    options = ["--config", str(tmp_path / "generator.yaml"), "--meta", "none", "--fail-on-warning"]
    output = tmp_path / "permanode_client"
    command = [str(programs / "openapi-python-client"), "generate", "--path", str(CONTRACT), *options]
    run([*command, "--output-path", str(output)])
    driver = Driver((str(programs / "python"), str(HERE / "drivers" / "generated.py"), str(output), server))
    check(driver, [[walk.operation, walk.given] for walk in every], every)


def statement(walk: Walk) -> str:
    """A TypeScript block that calls one operation, and checks the expected body against its type."""
    path = json.dumps(walk.path)
    place = {name: value for name, value in walk.given.items() if f"{{{name}}}" in walk.path}
    query = {name: value for name, value in walk.given.items() if name not in place and name != BODY}
    params = {name: values for name, values in (("path", place), ("query", query)) if values}
    options = ([f"params: {json.dumps(params)}"] if params else []) + (
        ['parseAs: "arrayBuffer"'] if walk.is_bytes else []
    )
    options += [f"body: {json.dumps(walk.given[BODY])}"] if BODY in walk.given else []
    type_of_answer = f'Answer<{path}, "{walk.method}", {walk.status}>'
    typed = (
        ""
        if walk.is_bytes
        else f"const expected: {type_of_answer} = {json.dumps(walk.answer)};\n    void expected;\n    "
    )
    return f"{{\n    {typed}print(await client.{walk.method.upper()}({path}, {{ {', '.join(options)} }}));\n}}\n"


def of_each_shape(every: list[Walk]) -> list[Walk]:
    """Of each operation, the call with the shortest answer of each status and shape: the compiler checks an answer
    against its type, which depends on its shape only.
    """
    found: dict[Any, Walk] = {}
    for walk in sorted(every, key=lambda walk: len(json.dumps(walk.answer))):
        found.setdefault((walk.operation, walk.status, shape_of(walk.answer)), walk)
    return [walk for walk in every if any(walk is each for each in found.values())]


def test_the_typescript_client_walks_every_operation(
    node: Node, server: str, every: list[Walk], tmp_path: Path
) -> None:
    calls = of_each_shape(every)
    assert {call.operation for call in calls} == {walk.operation for walk in every}
    (tmp_path / "node_modules").symlink_to(node.modules)
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    for name in ("walk.ts", "tsconfig.json"):
        shutil.copy(HERE / "drivers" / name, tmp_path)
    statements = "".join(map(statement, calls))
    head = 'import { type Answer, client, print } from "./walk.js";\n'
    (tmp_path / "operations.ts").write_text(head + statements, "utf-8")
    node.run_tool("openapi-typescript", str(CONTRACT), "--output", "api.ts", folder=tmp_path)
    node.run_tool("tsc", folder=tmp_path)
    driver = Driver((node.node, str(tmp_path / "built" / "operations.js"), server))
    check(driver, [[call.operation] for call in calls], calls)

"""Clients that programs make from openapi.yaml, one in Python and one in TypeScript, walk every operation of it.

Rules of this file: nothing generated is kept; the TypeScript compiler sees the oracle's answers too, so that a body the
contract does not describe, to the key, does not compile.
"""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.api.oracle import Oracle
from tests.clients.drive import Driver
from tests.clients.installs import HERE, Node, python_programs, run
from tests.clients.walks import Walk, below, questions, walks
from tests.conftest import ROOT

pytestmark = pytest.mark.clients

CONTRACT = ROOT / "openapi.yaml"


def test_no_operation_is_left_out(oracle: Oracle) -> None:
    paths = yaml.safe_load(CONTRACT.read_text("utf-8"))["paths"]
    assert {below(path) for path in paths} == set(questions(oracle)), "walks.py asks every path something"
    assert all(questions(oracle).values())
    operations = [operation["operationId"] for item in paths.values() for operation in item.values()]
    assert list(dict.fromkeys(walk.operation for walk in walks(oracle))) == operations
    assert len(operations) > 40


def check(driver: Driver, calls: list[object], oracle: Oracle) -> None:
    found = driver.answers(calls)
    for walk, answer in zip(walks(oracle), found, strict=True):
        assert answer == walk.answer, walk.operation


def test_the_python_client_walks_every_operation(cache: Path, server: str, oracle: Oracle, tmp_path: Path) -> None:
    programs = python_programs(cache, "generator")
    (tmp_path / "generator.yaml").write_text("post_hooks: []\n", "utf-8")
    options = ["--config", str(tmp_path / "generator.yaml"), "--meta", "none", "--fail-on-warning"]
    output = tmp_path / "permanode_client"
    command = [str(programs / "openapi-python-client"), "generate", "--path", str(CONTRACT), *options]
    run([*command, "--output-path", str(output)])
    driver = Driver((str(programs / "python"), str(HERE / "drivers" / "generated.py"), str(output), server))
    check(driver, [[walk.operation, walk.given] for walk in walks(oracle)], oracle)


def statement(walk: Walk) -> str:
    """A TypeScript block that asks one operation, and holds the expected body to its type."""
    path = json.dumps(walk.path)
    place = {name: value for name, value in walk.given.items() if f"{{{name}}}" in walk.path}
    query = {name: value for name, value in walk.given.items() if name not in place}
    params = {name: values for name, values in (("path", place), ("query", query)) if values}
    options = ([f"params: {json.dumps(params)}"] if params else []) + (
        ['parseAs: "arrayBuffer"'] if walk.is_bytes else []
    )
    typed = (
        ""
        if walk.is_bytes
        else f"const expected: Answer<{path}> = {json.dumps(walk.answer)};\n    void expected;\n    "
    )
    return f"{{\n    {typed}print(await client.GET({path}, {{ {', '.join(options)} }}));\n}}\n"


def test_the_typescript_client_walks_every_operation(node: Node, server: str, oracle: Oracle, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(node.modules)
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    for name in ("walk.ts", "tsconfig.json"):
        shutil.copy(HERE / "drivers" / name, tmp_path)
    statements = "".join(map(statement, walks(oracle)))
    head = 'import { type Answer, client, print } from "./walk.js";\n'
    (tmp_path / "operations.ts").write_text(head + statements, "utf-8")
    node.run_tool("openapi-typescript", str(CONTRACT), "--output", "api.ts", folder=tmp_path)
    node.run_tool("tsc", folder=tmp_path)
    driver = Driver((node.node, str(tmp_path / "built" / "operations.js"), server))
    check(driver, [[walk.operation] for walk in walks(oracle)], oracle)

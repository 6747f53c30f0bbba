"""What `permanode dependencies` lists, compared with the files that pin it; audits against a server with OSV's API."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from typer.testing import CliRunner

from cli import bill
from cli.main import app
from etl.engine.spark.jars import Jar, check_jar, read_jars, resolve_jars
from tests.conftest import ROOT

VULNERABLE = "pkg:maven/org.yaml/snakeyaml@2.1"


def lines_of(file: str) -> list[str]:
    return (ROOT / file).read_text("utf-8").splitlines()


def written(target: Path) -> Any:
    done = CliRunner().invoke(app, ["dependencies", "sbom", str(target)])
    assert done.exit_code == 0, done.output
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(target.read_text("utf-8")) is None
    return json.loads(target.read_text("utf-8"))


@pytest.mark.thorough
def test_the_bill_is_valid_and_contains_every_package_jar_and_image_with_its_hashes(tmp_path: Path) -> None:
    found = {each["purl"]: each for each in written(tmp_path / "bill.json")["components"]}
    expected: dict[str, set[str]] = {}
    for file in sorted((ROOT / "deploy" / "requirements").iterdir()):
        for line in file.read_text("utf-8").splitlines():
            if pinned := re.match(r"([\w.-]+)==([\w.]+)", line):
                purl = f"pkg:pypi/{pinned[1].lower().replace('_', '-')}@{pinned[2]}"
                expected[purl] = set()
            elif "--hash=sha256:" in line:
                expected[purl].add(line.partition("sha256:")[2].removesuffix(" \\"))
    for file in ("etl/engine/spark/connector_jars.txt", "etl/writers/cassandra_jars.txt"):
        for line in lines_of(file):
            coordinates, digest = line.split()
            group, artifact, version, *classifier = coordinates.split(":")
            purl = f"pkg:maven/{group}/{artifact}@{version}" + "".join(f"?classifier={each}" for each in classifier)
            expected[purl] = {digest}
    for file in ("Containerfile", "compose.yaml", "compose.cassandra.yaml", "compose.scylla.yaml"):
        for name, digest in re.findall(r"([\w/-]+):[\w.-]+@sha256:([0-9a-f]{64})", "\n".join(lines_of(file))):
            path = name if "/" in name else f"library/{name}"
            purls = [purl for purl in found if purl.startswith(f"pkg:docker/{path}@sha256:{digest}?tag=")]
            expected[purls[0]] = {digest}
    assert len(expected) > 200
    assert {purl: {each["content"] for each in component["hashes"]} for purl, component in found.items()} == expected


@contextmanager
def osv(status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A server with the API of OSV's querybatch that knows one vulnerability, and the package URLs it was asked for."""
    requested: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            queries = json.loads(self.rfile.read(int(self.headers["content-length"])))["queries"]
            requested.extend(query["package"]["purl"] for query in queries)
            known = [
                {"vulns": [{"id": "GHSA-0", "modified": "2026-01-01T00:00:00Z"}]}
                if query["package"]["purl"] == VULNERABLE
                else {}
                for query in queries
            ]
            body = json.dumps({"results": known}).encode()
            self.send_response(status if self.path == "/v1/querybatch" else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requested
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_audit_looks_up_every_library_and_names_the_vulnerable_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bill, "AT_ONCE", 50)
    with osv() as (url, requested):
        done = CliRunner().invoke(app, ["dependencies", "audit", "--url", url])
    assert done.exit_code == 1
    assert done.stdout == f"{VULNERABLE}  GHSA-0\n1 components with known vulnerabilities\n"
    versions = {
        f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
        for file in (ROOT / "deploy" / "requirements").iterdir()
        for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", file.read_text("utf-8"), re.MULTILINE)
    }
    assert versions <= set(requested)
    assert len(requested) == len(set(requested))
    assert all("?" not in each for each in requested)


def test_an_audit_without_an_answer_fails() -> None:
    with osv(503) as (url, _):
        done = CliRunner().invoke(app, ["dependencies", "audit", "--url", url])
    assert isinstance(done.exception, RuntimeError)
    assert "503" in str(done.exception)


def test_a_jar_with_another_checksum_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "a-1.0.jar"
    file.write_bytes(b"jar")
    jar = Jar("g", "a", "1.0", "", sha256(b"jar").hexdigest())
    assert jar.name == file.name
    check_jar(file, jar)
    file.write_bytes(b"jaR")
    with pytest.raises(RuntimeError, match=rf"^a-1\.0\.jar from Maven: SHA-256 {jar.sha256} expected, found"):
        check_jar(file, jar)


def test_lists_of_jars_are_sorted_out_by_classifier() -> None:
    jars = read_jars(ROOT / "etl/writers/cassandra_jars.txt")
    names = [jar.name for jar in jars]
    assert "netty-transport-native-epoll-4.1.130.Final-linux-x86_64.jar" in names
    assert len(set(names)) == len(names) == len(lines_of("etl/writers/cassandra_jars.txt"))


def test_jars_that_are_there_need_no_writable_folder(tmp_path: Path) -> None:
    jar = Jar("g", "a", "1.0", "", "0" * 64)
    (tmp_path / jar.name).write_bytes(b"jar")
    assert resolve_jars(tmp_path, [jar]) == [tmp_path / jar.name]
    assert [path.name for path in tmp_path.iterdir()] == [jar.name]

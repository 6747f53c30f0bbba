"""The demo for a new user: it loads once and serves, and every request that it prints has a response."""

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from cli import demo
from cli import main as cli
from cli.settings import Settings, SettingsError
from db.admin.migrate import migrate
from etl.engine.settings import EtlSettings
from etl.report import Report
from tests.api.contract import prefilled
from tests.cassandra_server import CassandraServer
from tests.conftest import ROOT


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def running(folder: Path, port: int, store: str | None = None) -> Iterator[str]:
    """Everything that the demo prints before its last line, while it serves."""
    code = f"import pathlib; from cli import demo; demo.run({port}, pathlib.Path({str(folder)!r}), {store!r})"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder.parent, env=environment, text=True, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line)
            if "Ctrl-C" in line:
                break
        try:
            yield "".join(printed)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)
    assert process.returncode == 0


def ask(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  http on the loopback
        found: dict[str, Any] = json.load(answer)
        return found


def request_line(sample: demo.Sample) -> str:
    """The line with the ids of the example requests."""
    return json.dumps(dict(sample.milestones())[demo.EXAMPLE_MILESTONE])


@pytest.fixture
def no_store() -> None:
    """The demo's own store in its folder."""


@pytest.fixture
def fresh_keyspace(cassandra: CassandraServer) -> str:
    """A store that does not exist yet, on a running server."""
    return f"cassandra://{cassandra.contact}/demo_{os.getpid()}?rf=1"


@pytest.mark.loads
@pytest.mark.parametrize(
    "kind", ["no_store", pytest.param("fresh_keyspace", marks=[pytest.mark.cassandra, pytest.mark.slow])]
)
def test_the_demo_loads_serves_and_loads_nothing_again(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    port, store = free_port(), request.getfixturevalue(kind)
    with running(tmp_path / "demo", port, store) as printed:
        assert "50" in printed
        urls = re.findall(r"curl -s '([^']+)'", printed)
        chrysalis, stardust, wormhole = urls[:5], urls[5:10], urls[10:]
        assert len(wormhole) == 5
        for url in chrysalis:
            assert ask(url)["data"], url
        block, metadata, output, milestone, proof = map(ask, stardust)
        blocks = {each["id"]: each for each in json.loads(request_line(demo.STARDUST))["blocks"]}
        of_sample = blocks[metadata["blockId"]]
        assert (block, metadata) == (of_sample["block"], of_sample["metadata"])
        assert output["metadata"]["milestoneIndexBooked"] == milestone["index"] == demo.EXAMPLE_MILESTONE
        assert proof["block"] == block
        signed, shown, verification, operation, row = map(ask, wormhole)
        (vaa,) = {
            base64.b64decode(each) for each in (signed["vaaBytes"], shown["data"]["vaa"], operation["vaa"]["raw"])
        }
        assert {"hex": vaa.hex()} in demo.WORMHOLE.lines()
        (body,) = verification["bodies"]
        assert (body["served"], body["verified"], body["fault"]) == (True, True, None)
        assert base64.b64decode(row["SignedVAABytes"]) == vaa
        base = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=base) as client:
            assert client.get("/docs").status_code == 200
            for example in prefilled():
                answer = client.request(example.method, example.path, params=example.query, json=example.body)
                assert answer.status_code == 200, (example, answer.text)
    with running(tmp_path / "demo", port, store) as printed:
        assert printed.lstrip().startswith("Serving.")
        assert ask(urls[0])["data"]
        assert ask(urls[5]) == block


def test_the_demo_minds_only_what_a_store_named_on_the_command_line_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERMANODE_STORE", "sqlite:///mine")
    monkeypatch.setenv("PERMANODE_STORE_PASSWORD", "secret")
    monkeypatch.setenv("PERMANODE_ETL_LAKE", "/mine/lake")
    own = demo.demo_settings(tmp_path, None)
    named = demo.demo_settings(tmp_path, "cassandra://me@host/ks?rf=1")
    for settings in (own, named):
        assert settings.store().network == demo.CHRYSALIS.network
        assert settings.networks == tuple(sample.network for sample in demo.SAMPLES)
        assert settings.build("etl", EtlSettings).lake == ""

    def reached(settings: Settings) -> list[tuple[str, str]]:
        stores = [settings.store(network) for network in settings.networks]
        return [(store.url, store.password) for store in stores]

    assert reached(own) == [(f"sqlite:///{tmp_path}/{sample.network}", "") for sample in demo.SAMPLES]
    assert reached(named) == [
        ("cassandra://me@host/ks?rf=1", "secret"),
        ("cassandra://me@host/ks_stardust?rf=1", "secret"),
        ("cassandra://me@host/ks_wormhole?rf=1", "secret"),
    ]


@pytest.mark.parametrize("arguments", [["--store", "cassandra://h/k", "demo"], ["demo", "--store", "cassandra://h/k"]])
def test_the_demo_s_store_is_named_before_or_after_the_command(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = []
    monkeypatch.setattr(demo, "run", lambda port, store: requested.append((port, store)))
    assert CliRunner().invoke(cli.app, [*arguments, "--port", "9"]).exit_code == 0
    assert requested == [(9, "cassandra://h/k")]


def test_the_samples_are_served_while_the_engine_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served, ended = Event(), Event()

    @contextmanager
    def session(*_: Any, **__: Any) -> Iterator[None]:
        yield
        if served.wait(5):
            ended.set()

    monkeypatch.setattr(demo, "engine_session", session)
    monkeypatch.setattr(demo.runs, "load", lambda *_, **__: Report(run="1", engine="sail"))
    settings = demo.demo_settings(tmp_path, None)
    migrate(settings.store())
    demo.load(demo.SAMPLES, settings, tmp_path / "lake")
    served.set()
    assert ended.wait(5)


def test_a_busy_port_is_reported_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"127.0.0.1 port {port}: Address already in use"):
            demo.run(port, tmp_path / "demo")
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize("sample", [demo.CHRYSALIS, demo.STARDUST], ids=lambda sample: sample.name)
def test_the_demo_trusts_the_keys_of_the_sample_s_genesis(sample: demo.Sample, tmp_path: Path) -> None:
    genesis = json.loads((ROOT / "sample" / sample.name / "genesis.json").read_text("utf-8"))
    trusted = demo.demo_settings(tmp_path, None).store(sample.network).coordinator()
    assert trusted is not None
    assert trusted.keys_at(1) == {bytes.fromhex(key.removeprefix("0x")) for key in genesis["coordinatorPublicKeys"]}
    assert trusted.threshold == len(genesis["coordinatorPublicKeys"]) == 2


def test_the_requests_use_the_samples() -> None:
    message, children, *_ = (path for _, path in demo.chrysalis_requests())
    held = request_line(demo.CHRYSALIS)
    assert message.rpartition("/")[2] in held
    assert children.split("/")[-2] in held
    held = request_line(demo.STARDUST)
    assert all(re.findall("0x[0-9a-f]+", path)[0] in held for _, path in demo.stardust_requests())

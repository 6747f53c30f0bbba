"""Every command and every HTTP path of docs/operations.md is run: on copies of the shipped samples and against a real
server. OTHERWISE lists those that need a cluster, root or the network, with the test that checks them.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from operator import itemgetter
from pathlib import Path

import httpx
import pytest
import yaml

from api.version import VERSION
from cli.settings import read
from db import schema
from db.connect import StoreSettings, open_adapter, open_store
from db.store import Row
from tests.api.processes import permanode_of
from tests.cassandra_server import CassandraServer
from tests.conftest import ROOT

# One of the tests needs Cassandra; the others run in the same process, because all need the same two loads.
pytestmark = [pytest.mark.loads, pytest.mark.cassandra]

PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")
PROGRAM = Path(sys.executable).with_name("permanode")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")


def scripts(text: str) -> list[str]:
    """The blocks of commands. Other blocks name what they are, or show the form of a URL."""
    return [block for kind, block in FENCE.findall(text) if not kind and not block.startswith("cassandra://[")]


BLOCKS = scripts(PAGE)
"""Each is one script: a line may depend on the one before it."""

PROGRAMS = (
    "permanode", "curl", "docker", "systemctl", "journalctl", "nodetool", "pip", "pipx", "uv", "uvx", "python",
    "GRANT", "ALTER",
)  # fmt: skip
SPANS = list(
    dict.fromkeys(
        text
        for text in (" ".join(each.split()) for each in SPAN.findall(FENCE.sub("", PAGE)))
        if text.split()[0] in PROGRAMS and len(text.split()) > 1
    )
)
"""Commands within the text."""

OTHERWISE = {
    "permanode --store 'cassandra://": "test_commands_of_a_cluster_run_on_one",
    "permanode load archive/ --keep": "tests/etl/selective/test_commands.py",
    "permanode purge --keep": "tests/etl/selective/test_commands.py",
    "permanode serve --server granian": "tests/cli/test_granian_server.py",
    "permanode proof ": "tests/etl/static_archive/test_signed_archive.py",
    "permanode log ": "tests/etl/transparency/test_log_commands.py",
    "permanode audit": "tests/etl/transparency/test_audit.py",
    "permanode --network NETWORK audit": "tests/etl/transparency/test_audit.py",
    "nodetool": "test_commands_of_a_cluster_run_on_one",
    "GRANT": "tests/api/http/test_secured_store.py",
    "ALTER": "test_commands_of_a_cluster_run_on_one",
    "pip install": "tests/house/test_wheel.py",
    "pipx": "tests/house/test_wheel.py",
    "uv": "tests/house/test_wheel.py",
    "python -m build": "tests/house/test_wheel.py",
    "useradd": "test_the_block_of_systemd_puts_files_where_its_units_expect_them",
    "systemctl": "test_units_and_profiles_that_the_page_names_exist",
    "journalctl": "test_units_and_profiles_that_the_page_names_exist",
    "docker": "test_units_and_profiles_that_the_page_names_exist",
}
"""How commands begin that this machine cannot run → what checks them."""

EXIT_3 = ("permanode fetch --guardian",)
"""How commands begin that end with exit code 3: the server, as a guardian, does not have all requested messages."""


def is_elsewhere(command: str) -> bool:
    return any(command.startswith(start) for start in OTHERWISE)


RUN_BLOCKS = [each for each in BLOCKS if not is_elsewhere(each)]
RUN_LINES = {line.partition("#")[0].strip() for block in RUN_BLOCKS for line in block.splitlines()}
RUN_SPANS = [
    each
    for each in SPANS
    if not is_elsewhere(each) and not any(f"{line} ".startswith(f"{each} ") for line in RUN_LINES)
]
"""Those that no block runs, not with further options either."""


def exported(block: str) -> dict[str, str]:
    """The variables that a block exports."""
    lines = (each for each in block.splitlines() if each.startswith("export "))
    return dict(word.split("=", 1) for line in lines for word in shlex.split(line)[1:])


IOTA = exported(RUN_BLOCKS[0])
"""The variables that apply where a section of the page exports none."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a command of the page finds in a copy of the repository."""
    folder = tmp_path_factory.mktemp("operated")
    for name in ("sample", "deploy", "constraints.txt", "compose.yaml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def operated(folder: Path) -> Iterator[tuple[Path, str]]:
    """The folder after the first load of each protocol on the page, and the URL of a server over both stores."""
    config = folder / "permanode.toml"
    for block in RUN_BLOCKS[:2]:
        run(block, folder, {})
        given = exported(block)
        with config.open("a") as file:
            file.write(f'[networks.{given["PERMANODE_NETWORK"]}]\nurl = "{given["PERMANODE_STORE"]}"\n')
    variables = {"PERMANODE_CONFIG": str(config), "PERMANODE_NETWORK": IOTA["PERMANODE_NETWORK"]}
    config.write_text(config.read_text().replace("sqlite:///", f"sqlite:///{folder}/"))
    with permanode_of(folder / "log", **variables) as base:
        config.unlink()
        yield folder, base


def variables_of(text: str) -> dict[str, str]:
    """The variables that apply to a text of the page: those that its section exports before it, else IOTA."""
    section = PAGE[: PAGE.index(text)].rpartition("\n## ")[2]
    found = [exported(block) for block in scripts(section)]
    return next((each for each in reversed(found) if "PERMANODE_STORE" in each), IOTA)


def run(script: str, folder: Path, variables: Mapping[str, str], path: str = "") -> str:
    """Runs a script like a user's shell, and returns its stdout. It ends at the first line that fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERMANODE_")}
    environment |= {"PATH": f"{path}{PROGRAM.parent}:{os.environ['PATH']}", "PERMANODE_ETL_ENGINE": "sail"}
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=folder, env=environment | dict(variables), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def filled_in(command: str, base: str) -> str:
    """A script with values for what the page writes in capitals, and with this server's address. Only an exit code of
    EXIT_3 may differ from 0.
    """
    names = {"DIR": "sample/chrysalis", "FIRST:LAST": "1:21", "FILE": "sample/chrysalis/41.part"}
    command = re.sub(r"http://127\.0\.0\.1:\d+", base, command)
    for name, value in names.items():
        command = re.sub(rf"(?<![\w/]){name}(?!\w)", value, command)
    lines = command.replace("\\\n", "").splitlines()
    return "\n".join(f"{line} || [ $? = 3 ]" if line.startswith(EXIT_3) else line for line in lines)


def test_the_status_of_the_sample_has_the_lines_of_the_page(operated: tuple[Path, str]) -> None:
    folder, base = operated
    (expected,) = re.findall(r"^```text\n(milestones .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert set(expected.splitlines()) < set(run("permanode status", folder, IOTA).splitlines())
    assert httpx.get(f"{base}/health").status_code == 200


@pytest.mark.parametrize("block", RUN_BLOCKS[2:], ids=lambda block: block.partition("\n")[0][:60])
def test_blocks_run(operated: tuple[Path, str], block: str) -> None:
    folder, base = operated
    run(filled_in(block, base), folder, variables_of(block))


@pytest.mark.parametrize("command", RUN_SPANS)
def test_commands_in_the_text_run(operated: tuple[Path, str], command: str) -> None:
    """Those without an argument that need one only name the command."""
    folder, base = operated
    filled = filled_in(command, base)
    if len(filled.split()) == 2 and filled.split()[1] in ("fetch", "load", "serve"):
        filled += " --help"
    run(filled, folder, IOTA)


def test_the_restored_store_is_the_one_that_was_backed_up(operated: tuple[Path, str]) -> None:
    folder, _ = operated
    shown = [run(f"permanode --store sqlite:///{name} status", folder, IOTA) for name in ("data", "restored")]
    kept = [[line for line in text.splitlines() if not line.startswith(("size", "load"))] for text in shown]
    assert kept[0] == kept[1]


def test_every_path_of_the_server_responds(operated: tuple[Path, str]) -> None:
    _, base = operated
    named = {
        each for each in SPAN.findall(FENCE.sub("", PAGE)) if re.match(r"/(health|metrics|api|docs|info|sync)\b", each)
    }
    paths = named | {each.partition("8000")[2] for each in re.findall(r"http://127\.0\.0\.1:8000[^\s;]*", PAGE)}
    prefix, sockets = "/api/core/v1", "/api/…/mqtt…"
    assert {prefix, sockets, "/health", "/metrics"} < paths
    (emitter,) = re.findall(r"--emitter (\S+)", PAGE)
    for path in (paths - {prefix, sockets}) | {f"{prefix}/info"}:
        found = httpx.get(base + path.replace("CHAIN/ADDRESS", emitter).replace("NETWORK", IOTA["PERMANODE_NETWORK"]))
        # The log of this network has no key, so nothing of it is signed.
        assert found.status_code == (404 if path.endswith("/log/checkpoint") else 200), path
    assert "mqtt/v1" in httpx.get(f"{base}/api/routes").json()["routes"]


def test_nothing_is_checked_elsewhere_that_does_not_exist() -> None:
    commands = [*BLOCKS, *SPANS]
    for start, where in OTHERWISE.items():
        assert any(command.startswith(start) for command in commands), start
        assert where in globals() or (ROOT / where).is_file(), where
    assert len(RUN_BLOCKS) > 8
    assert len(RUN_SPANS) > 12


def test_files_of_the_repository_that_the_page_names_exist() -> None:
    named = {
        each for each in SPAN.findall(FENCE.sub("", PAGE)) if re.match(r"(deploy|tests|sample|docs)/[\w./-]+$", each)
    }
    assert named >= {"deploy/prometheus.yaml", "deploy/prometheus-alerts.yaml"}
    assert [each for each in named if not (ROOT / each).exists()] == []
    (wheel,) = set(re.findall(r"permanode-[\d.]+-py3-none-any\.whl\[([\w,]+)\]", PAGE))
    assert f"permanode-{VERSION}-py3" in PAGE
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(wheel.split(",")) <= extras.keys()


def test_units_and_profiles_that_the_page_names_exist() -> None:
    units = {path.name for path in (ROOT / "deploy" / "systemd").iterdir()}
    for command in SPANS:
        words = command.split()
        if words[0] == "systemctl":
            assert words[1] in ("status", "stop", "start")
            assert {f"{name}.service" for name in words[2:]} <= units
        elif words[0] == "journalctl":
            assert f"{words[words.index('-u') + 1]}.service" in units
        elif words[0] == "docker":
            profile = words[words.index("--profile") + 1]
            services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
            assert any(profile in given.get("profiles", []) for given in services.values())


STUB = """#!/bin/sh
name=$(basename "$0")
echo "$name $*" >>"$STUBS/log"
case $name in
    runuser) shift 3; exec "$@" ;;
    install) eval "set -- $(printf " '%s'" "$@" | sed "s/'-[og]' 'permanode'//g")"; exec /usr/bin/install "$@" ;;
esac
"""
"""Stands for a program that needs root: logs its arguments. `install` leaves out owner and group, and `runuser -u USER
--` runs the command as this user.
"""


def test_the_block_of_systemd_puts_files_where_its_units_expect_them(folder: Path, tmp_path: Path) -> None:
    """The block runs with all folders of the system below tmp_path and with stubs for what needs root."""
    (block,) = (each for each in BLOCKS if each.startswith("useradd"))
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name in ("useradd", "systemctl", "runuser", "install"):
        (stubs / name).write_text(STUB)
        (stubs / name).chmod(0o755)
    for part in ("etc/systemd/system", "var/lib/permanode", "opt/permanode/bin"):
        (tmp_path / part).mkdir(parents=True)
    (tmp_path / "opt/permanode/bin/permanode").symlink_to(PROGRAM)
    moved = re.sub(r"(?<=[ /\"=])/(etc|var|opt)/", rf"{tmp_path}/\1/", block)
    run(moved, folder, {"STUBS": str(stubs)}, f"{stubs}:")
    written = (tmp_path / "etc/permanode/environment").read_text()
    settings = read(None, dict(line.split("=", 1) for line in written.split()), {})
    assert settings.store().network == "mainnet"
    assert (tmp_path / "var/lib/permanode/store/CURRENT").is_file()
    units = tmp_path / "etc/systemd/system"
    (enabled,) = re.findall(r"^systemctl enable --now (.*)$", (stubs / "log").read_text(), re.MULTILINE)
    for name in enabled.split():
        text = (units / name).read_text()
        assert "EnvironmentFile=/etc/permanode/environment" in text or name.endswith(".timer")
    (command,) = re.findall(r"^ExecStart=\S+ (.*)$", (units / "permanode-load.service").read_text(), re.MULTILINE)
    archive = next(word for word in shlex.split(command) if word.startswith("/"))
    assert (tmp_path / archive.removeprefix("/")).is_dir()


def test_commands_of_a_cluster_run_on_one(
    operated: tuple[Path, str], cassandra: CassandraServer, tmp_path: Path
) -> None:
    """The blocks load a keyspace, move a SQLite store to another one, and back it up. Then a table is lost and
    restored.
    """
    folder, _ = operated
    tool = tmp_path / "nodetool"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(cassandra.nodetool())} "$@"\n')
    tool.chmod(0o755)
    keyspace = f"operated_{os.getpid()}"
    names = {"HOST": cassandra.contact, "rf=3": "rf=1", "DATA": f"{cassandra.folder}/data", "NODE": "node1"}
    names |= {" /backup": f" {folder}/backup", "TABLE": schema.messages.name, "KEYSPACE": keyspace}

    def on_cluster(script: str, **others: str) -> str:
        for name, value in (names | others).items():
            script = script.replace(name, value)
        return run(script, folder, IOTA, f"{tmp_path}:")

    def rows() -> list[Row]:
        with closing(open_adapter(settings, writable=False)) as store:
            return store.read_all(schema.messages)

    load, backup, move = (each for each in BLOCKS if each.startswith(("permanode --store 'cassandra://", "nodetool")))
    settings = StoreSettings(f"cassandra://{cassandra.contact}/{keyspace}", IOTA["PERMANODE_NETWORK"])
    on_cluster(load, KEYSPACE=f"{keyspace}_loaded")
    on_cluster(move)
    assert "50 complete, 0 incomplete, 0 missing\n" in on_cluster("permanode --store cassandra://HOST/KEYSPACE status")
    before = rows()
    on_cluster(backup)
    with closing(open_store(settings, writable=True)) as store, store.batch() as batch:
        batch.clear(schema.messages)
    assert rows() == []
    for command in SPANS:
        if command.startswith("nodetool"):
            on_cluster(command)
    assert sorted(rows(), key=itemgetter("message_id")) == sorted(before, key=itemgetter("message_id")) != []
    (alter,) = (each for each in SPANS if each.startswith("ALTER"))
    with closing(open_adapter(settings, writable=True)) as store:
        store.execute([alter.replace("…", keyspace).replace("'DC': 3", "'datacenter1': 1")])

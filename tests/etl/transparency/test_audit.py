"""Audits of three real servers: honest archives, and ones that forge, damage, lie or are behind."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings
from db.queries.log import head_values
from etl.transparency.append import LogAppender
from ledger.transparency.checkpoint import Checkpoint, sign_checkpoint
from ledger.transparency.keys import SigningKey
from ledger.transparency.positions import size_after
from tests.api.processes import free_port, started
from tests.conftest import ROOT
from tests.etl.transparency.logs import KEY, NETWORK, Source, opened, source

pytestmark = pytest.mark.thorough

LAST = 1_300
"""Three intervals of 400 milestones and one of 100 are closed; 1,329 records have six tiles."""

FORGED = 733

HIDDEN = 1_050
"""Its record is in the last tile of the archive with 1,111 milestones, which is not full."""

OTHER_KEY = SigningKey("other.example/log", sha256(b"other").digest())


def archive(folder: Path, name: str, to: int, records: Source, first: int = 1, key: SigningKey = KEY) -> StoreSettings:
    """A store that is served as the network `name`, with a log of permatest-1."""
    settings = StoreSettings(f"sqlite:///{folder}/{name}", name)
    migrate(settings)
    with opened(settings, folder / f"{name}-lake") as log:
        LogAppender(log, NETWORK, records, key).append(first, to)
    return settings


def change_tile(settings: StoreSettings, level: int, number: int) -> None:
    """Changes the first hash of a tile or the first record of a bundle."""
    with opened(settings, "/nowhere") as log:
        (row,) = log._reads.many(schema.log_tiles, [(level, number)])
        assert row is not None
        data = row["data"][:20] + bytes([row["data"][20] ^ 1]) + row["data"][21:]
        with log._store.batch() as batch:
            batch.upsert(schema.log_tiles, schema.log_tiles.names, [(level, number, row["width"], data)])


def take_tile(settings: StoreSettings, number: int, other: StoreSettings) -> None:
    """Replaces the leaf hashes of a tile by those of another log."""
    with opened(other, "/nowhere") as log:
        rows = log._reads.many(schema.log_tiles, [(0, number)])
    with opened(settings, "/nowhere") as log, log._store.batch() as batch:
        batch.upsert(
            schema.log_tiles, schema.log_tiles.names, [(0, number, row["width"], row["data"]) for row in rows if row]
        )


def change_head(settings: StoreSettings, checkpoint: bytes) -> None:
    with opened(settings, "/nowhere") as log:
        head = log._reads.log_head()
        assert head is not None
        with log._store.batch() as batch:
            row = head_values(settings.network, replace(head, checkpoint=checkpoint))
            batch.upsert(schema.log_heads, schema.log_heads.names, [row])


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Name of an archive → the prefix of its log, on three servers."""
    folder = tmp_path_factory.mktemp("operators")
    made = {
        "honest": archive(folder, "honest", LAST, source(), key=OTHER_KEY),
        "older": archive(folder, "older", 1_111, source()),
        "later": archive(folder, "later", 1_250, source(), first=157),
        "forged": archive(folder, "forged", LAST, source(forged_from=FORGED)),
        "laterforged": archive(folder, "laterforged", LAST, source(forged_from=FORGED), first=300),
        "edge": archive(folder, "edge", LAST, source()),
        "tile": archive(folder, "tile", LAST, source(forged_from=FORGED)),
        "bundle": archive(folder, "bundle", LAST, source()),
        "liar": archive(folder, "liar", LAST, source()),
        "unsigned": archive(folder, "unsigned", LAST, source()),
        "hidden": archive(folder, "hidden", LAST, source(forged_from=HIDDEN)),
    }
    change_tile(made["edge"], 0, size_after(1, LAST) // 256)
    change_tile(made["tile"], 0, 2)
    change_tile(made["bundle"], -1, 1)
    take_tile(made["hidden"], 4, made["honest"])
    root = sha256(b"no tree").digest()
    change_head(made["liar"], bytes(sign_checkpoint(Checkpoint(KEY.name, size_after(1, LAST + 50), root), KEY)))
    note = bytes(sign_checkpoint(Checkpoint(KEY.name, size_after(1, LAST), root), KEY))
    change_head(made["unsigned"], note.replace(b"1329", b"1328") if b"1329" in note else note[:-20] + note[-19:])
    servers = ["honest"], ["forged"], [name for name in made if name not in ("honest", "forged")]
    found = {}
    with ExitStack() as stack:
        for number, names in enumerate(servers):
            port = free_port()
            config = folder / f"{number}.toml"
            networks = "".join(f'[networks.{name}]\nurl = "{made[name].url}"\n' for name in names)
            config.write_text(f'network = "{names[0]}"\n[api]\nport = {port}\n{networks}', "utf-8")
            stack.enter_context(
                started(
                    "-c", "from cli.main import main; main()", "serve",
                    log=folder / f"{number}.log", PERMANODE_CONFIG=str(config),
                )
            )  # fmt: skip
            found |= {name: f"http://127.0.0.1:{port}/api/{name}/log" for name in names}
        for url in found.values():
            wait_for(url)
        yield found


def wait_for(url: str) -> None:
    for _ in range(1_200):
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"{url} never answered")


def audited(urls: dict[str, str], *names: str, options: Sequence[str] = ()) -> tuple[int, Any]:
    """The exit code of `permanode audit --json` and its result, with names in place of URLs."""
    command = [sys.executable, "-c", "from cli.main import main; main()", "audit", "--json", *options]
    done = subprocess.run(
        [*command, *(urls[name] for name in names)], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )
    text = done.stdout
    for name, url in urls.items():
        text = text.replace(f'"{url}"', f'"{name}"')
    assert text, done.stderr
    return done.returncode, json.loads(text)


def faults(result: Any) -> dict[str, str]:
    return {each["url"]: each["fault"] for each in result["operators"] if each["fault"]}


def test_honest_archives_agree_and_who_is_behind(urls: dict[str, str]) -> None:
    code, result = audited(urls, "honest", "older", "later")
    assert code == 0
    assert (result["valid"], result["differences"], faults(result)) == (True, [], {})
    assert [(each["url"], each["first"], each["last"], each["behind"]) for each in result["operators"]] == [
        ("honest", 1, LAST, 0),
        ("older", 1, 1_111, LAST - 1_111),
        ("later", 157, 1_250, LAST - 1_250),
    ]
    assert [each["size"] for each in result["operators"]] == [
        size_after(1, LAST),
        size_after(1, 1_111),
        size_after(157, 1_250),
    ]


@pytest.mark.parametrize(
    ("names", "differing"),
    [
        (("honest", "older", "forged"), {("honest", "forged"), ("older", "forged")}),
        (("honest", "later", "laterforged"), {("honest", "laterforged"), ("later", "laterforged")}),
        (("forged", "laterforged", "older"), {("forged", "older"), ("laterforged", "older")}),
    ],
)
def test_the_first_milestone_that_differs(urls: dict[str, str], names: Any, differing: Any) -> None:
    code, result = audited(urls, *names)
    assert (code, result["valid"], faults(result)) == (1, False, {})
    found = {tuple(each["urls"]): (each["milestone"], each["what"]) for each in result["differences"]}
    assert found == dict.fromkeys(differing, (FORGED, "milestone"))
    for each in result["differences"]:
        expected = [
            next(iter((source(forged_from=FORGED) if "forged" in url else source())(1, FORGED - 1, FORGED))).hex()
            for url in each["urls"]
        ]
        assert each["records"] == expected


@pytest.mark.parametrize(
    ("name", "options", "fault"),
    [
        ("edge", (), "do not lead to the signed root"),
        ("liar", (), "is missing: "),
        ("unsigned", (), "invalid signature of permanode/permatest-1/1"),
        ("bundle", ("--all",), "tile/0/001 differs from what it is computed from"),
        ("tile", ("--all",), "tile/0/002 differs from what it is computed from"),
        ("tile", (), "tile/0/002 differs from what it is computed from"),
    ],
)
def test_whose_proof_fails(urls: dict[str, str], name: str, options: Sequence[str], fault: str) -> None:
    code, result = audited(urls, "honest", name, "older", options=options)
    assert (code, result["valid"]) == (1, False)
    found = faults(result)
    assert list(found) == [name]
    assert fault in found[name]
    assert result["differences"] == []


def test_a_fork_is_not_hidden_by_tiles_that_the_signed_root_does_not_prove(urls: dict[str, str]) -> None:
    code, result = audited(urls, "older", "hidden")
    assert (code, result["valid"]) == (1, False)
    assert faults(result) == {"hidden": "tile/0/004 differs from what it is computed from"}


def test_keys_that_are_given(urls: dict[str, str]) -> None:
    keys = ("--key", KEY.verifier.text)
    code, result = audited(urls, "honest", "older", options=keys)
    assert code == 1
    assert faults(result) == {"honest": "expected a signature of one of the given keys"}
    assert audited(urls, "honest", "older", options=(*keys, "--key", OTHER_KEY.verifier.text))[0] == 0


def audit_text(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)


def test_an_archive_without_a_log_has_no_proof_that_fails(urls: dict[str, str]) -> None:
    server = urls["honest"].removesuffix("/api/honest/log")
    code, result = audited(urls, "honest", "older")
    assert (code, [each["is_read"] for each in result["operators"]]) == (0, [True, True])
    for unknown, reason in (
        (f"{server}/api/nothing/log", "404: expected the log of an IOTA network, https://HOST/api/NETWORK/log\n"),
        ("http://127.0.0.1:9/api/honest/log", "connecting failed: Connection refused\n"),
    ):
        done = audit_text("audit", urls["honest"], unknown)
        assert done.returncode == 1
        assert f"{unknown}\n  CANNOT BE READ: " in done.stdout
        assert reason in done.stdout
        assert "PROOF FAILS" not in done.stdout


@pytest.mark.parametrize("path", ["", "/api/wormhole-mainnet", "/api/wormhole-mainnet/log"])
def test_a_wormhole_network_has_no_log(path: str) -> None:
    done = audit_text("--network", "wormhole-mainnet", "audit", f"http://127.0.0.1:9{path}")
    assert done.returncode == 2
    assert "wormhole-mainnet has no transparency log: its guardians sign each message" in done.stderr


def test_the_network_of_a_server_is_named_by_its_url(urls: dict[str, str]) -> None:
    done = audit_text("--network", "another", "audit", urls["honest"].removesuffix("/log"), f"{urls['older']}/")
    assert done.returncode == 0, done.stdout
    assert "no difference, all proofs are valid" in done.stdout


def test_the_text_names_milestone_and_records(urls: dict[str, str]) -> None:
    done = audit_text("audit", urls["honest"], urls["forged"])
    assert done.returncode == 1
    assert f"DIFFERENT from milestone {FORGED} on: milestone" in done.stdout
    assert re.search(rf"  {re.escape(urls['forged'])}: [0-9a-f]{{64}}, 3 messages of 2020-09-13", done.stdout)

"""A load of hostile files keeps what is good; `permanode rejects` lists, exports and clears what it did not accept."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli import main as cli
from cli import rejects
from tests.conftest import ROOT
from tests.etl.archives import Json, dump, sample, write
from tests.etl.conftest import Loading, Stores
from tests.etl.sources.test_limits import good, unreadable_folder

pytestmark = pytest.mark.loads

COLUMNS = ["milestone_index", "file", "line", "item", "reason"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good are the milestones 1, 2 and 5; 6 has an invalid message."""
    folder = tmp_path_factory.mktemp("hostile")
    unreadable_folder(folder)
    write(folder / "README.log", [(ROOT / "README.md").read_bytes()])
    broken = sample()[5]
    del next(iter(broken["messages"].values()))[0]["parents"]
    write(folder / "long.log", [good(5), b"[" * 60_000, b"\n", dump(broken)])
    return folder


@pytest.fixture(scope="module")
def hostile(stores: Stores, folder: Path) -> Loading:
    loading = stores(max_line_bytes=max(map(len, (good(1), good(2), good(5), dump(sample()[5])))))
    assert loading.load(folder).exit_code == 3
    return loading


def run(loading: Loading, *arguments: str) -> Result:
    store = loading.store
    variables = {
        "PERMANODE_STORE": store.url,
        "PERMANODE_NETWORK": store.network,
        "PERMANODE_STORE_CHUNK_SIZE": str(store.chunk_size),
        "PERMANODE_STORE_PARTITION_SIZE": str(store.partition_size),
        "PERMANODE_ETL_ENGINE": "sail",
        **({"PERMANODE_ETL_LAKE": loading.settings.lake} if loading.settings.lake else {}),
    }
    return CliRunner(env=variables).invoke(cli.app, list(arguments), catch_exceptions=False)


def listed(loading: Loading, *arguments: str) -> list[Json]:
    done = run(loading, "rejects", "list", "--json", "--limit", "0", *arguments)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["count"] == len(found["rejects"])
    return list(found["rejects"])


def stored(loading: Loading) -> list[Json]:
    rows = [{name: row[name] for name in COLUMNS} for row in loading.rows()["rejects"]]
    return sorted(rows, key=lambda row: [row[name] for name in COLUMNS[:4]])


def without_rejects(rows: dict[str, list[Json]]) -> dict[str, list[Json]]:
    return {name: each for name, each in rows.items() if name != "rejects"}


def test_each_hostile_file_costs_itself_only(hostile: Loading, folder: Path, stores: Stores, tmp_path: Path) -> None:
    clean = stores()
    broken = sample()[5]
    del next(iter(broken["messages"].values()))[0]["parents"]
    clean.load(write(tmp_path / "clean.log", [good(1, 2, 5), dump(broken)]))
    assert without_rejects(hostile.rows()) == without_rejects(clean.rows())
    assert [row["milestone_index"] for row in hostile.rows()["sync"] if row["synced_by"] is not None] == [1, 2, 5]
    found = {(Path(row["file"]).name, row["line"]): row for row in listed(hostile)}
    assert found.keys() == {
        *((name, 0) for name in ("README.log", "\\xff\\xfe.log", "cut.jsonl.zst", "cut.log.gz", "gone.log")),
        *((name, 0) for name in ("loop.log", "memory.log", "pipe.log")),
        ("long.log", 2),
        ("long.log", 3),
    }
    most = hostile.settings.max_line_bytes
    assert found["long.log", 2]["reason"] == (f"line: at most {most} bytes expected (etl.max_line_bytes), found 60001")
    assert found["README.log", 0]["reason"].startswith("file: no valid line; line 1: line: expected one JSON object")
    assert {row["milestone_index"] for row in found.values()} == {-1, 6}
    assert found["long.log", 3]["milestone_index"] == 6


def test_rejects_are_listed_by_milestone_and_by_file(hostile: Loading, folder: Path) -> None:
    everything = listed(hostile)
    assert everything == stored(hostile)
    name = str(folder / "long.log")
    assert listed(hostile, "--file", name) == [row for row in everything if row["file"] == name]
    assert listed(hostile, "--range", "6:7") == [row for row in everything if row["milestone_index"] == 6]
    assert listed(hostile, "--range", "7:") == []
    lines = run(hostile, "rejects", "list", "--file", name).stdout.splitlines()
    long, broken = (row for row in everything if row["file"] == name)
    assert lines == [f"{name}:2: {long['reason']}", f"{name}:3: {broken['item']}: {broken['reason']}"]
    cut = run(hostile, "rejects", "list", "--limit", "1").stdout.splitlines()
    assert (len(cut), cut[1]) == (2, f"{len(everything) - 1} more; --limit 0 lists all")
    assert json.loads(run(hostile, "rejects", "list", "--json", "--limit", "1").stdout) == {
        "count": len(everything),
        "rejects": everything[:1],
    }
    assert run(hostile, "rejects", "list", "--range", "7:").stdout == "no rejects\n"


@pytest.mark.parametrize("first", "=+-@\t\r")
def test_foreign_text_does_not_become_a_formula_of_a_spreadsheet(first: str) -> None:
    out = io.StringIO()
    found: dict[str, Any] = {"milestone_index": -1, "file": "a.jsonl", "line": 3, "item": f"{first}A1", "reason": "a=b"}
    rejects.write([found], "csv", out)
    assert list(csv.DictReader(io.StringIO(out.getvalue(), newline=""))) == [
        {"milestone_index": "-1", "file": "a.jsonl", "line": "3", "item": f"'{first}A1", "reason": "a=b"}
    ]


def test_rejects_are_exported_as_csv_and_json_lines(hostile: Loading, tmp_path: Path) -> None:
    everything = stored(hostile)
    into = tmp_path / "rejects.csv"
    done = run(hostile, "rejects", "export", "--format", "csv", "--into", str(into))
    assert done.stdout == f"{len(everything)} rejects in {into}\n"
    header, *rows = csv.reader(io.StringIO(into.read_text()))
    assert header == COLUMNS
    assert rows == [[str(row[name]) for name in COLUMNS] for row in everything]
    with pytest.raises(OSError, match="No space left on device") as full:
        run(hostile, "rejects", "export", "--into", "/dev/full")
    assert cli.describe_error(full.value) == "no space left on device: /dev/full"
    lines = run(hostile, "rejects", "export").stdout.splitlines()
    assert [json.loads(line) for line in lines] == everything


def test_cleared_rejects_are_in_neither_store_nor_lake_and_a_load_finds_them_again(
    hostile: Loading, folder: Path
) -> None:
    everything, before = stored(hostile), without_rejects(hostile.rows())
    name = str(folder / "long.log")
    assert run(hostile, "rejects", "clear", "--file", name, "--range", "6:7").stdout == "1 rejects cleared\n"
    rest = [row for row in everything if row["milestone_index"] != 6]
    assert listed(hostile) == stored(hostile) == rest
    assert json.loads(run(hostile, "rejects", "clear", "--all", "--json").stdout) == {"cleared": len(rest)}
    assert listed(hostile) == stored(hostile) == []
    assert without_rejects(hostile.rows()) == before
    assert hostile.load(folder).rejects == len(everything)
    assert listed(hostile) == stored(hostile) == everything


@pytest.mark.parametrize("arguments", [[], ["--all", "--file", "a.log"], ["--all", "--range", "1:2"]])
def test_clearing_nothing_or_too_much_is_a_usage_error(hostile: Loading, arguments: list[str]) -> None:
    before: Any = stored(hostile)
    done = run(hostile, "rejects", "clear", *arguments)
    assert (done.exit_code, stored(hostile) == before) == (2, True)

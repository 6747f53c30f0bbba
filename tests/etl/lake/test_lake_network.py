"""A lake belongs to one network: commands for another one fail before they read or write anything.

Stores of one network may share a lake. Lakes of earlier versions do not name their network.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from db.connect import StoreSettings
from db.store import StoreMismatch
from etl import runs
from etl.engine.delta_log import CommitConflict, DeltaLog
from etl.lake import maintenance
from etl.lake.delta import TABLES
from etl.lake.network import check_network, record_network
from etl.lake.paths import lake_of
from etl.report import quiet
from etl.runs import open_run
from etl.writers.publish import Publication
from ledger.networks import find_network
from tests import reference_stardust
from tests.conftest import ROOT, SAMPLE
from tests.etl.conftest import ON_SAIL, Loading, Stores, Templates

pytestmark = pytest.mark.loads

WORMHOLE = ROOT / "sample" / "wormhole"

COMMANDS = (
    ("load", str(reference_stardust.ORACLE / "milestones.jsonl")),
    ("load", "--genesis", str(reference_stardust.ORACLE / "genesis.json")),
    ("rebuild",),
    ("rebuild", "--range", "1:2"),
    ("analytics", "--all"),
    ("job", "analytics-days"),
    ("verify",),
    ("purge", "--keep", "tag:00"),
    ("compact",),
    ("fsck",),
    ("rejects", "list"),
    ("rejects", "clear", "--all"),
    ("log", "accept", str(SAMPLE / "genesis.json")),
    ("lake", "compact"),
    ("lake", "views"),
    ("export", "milestones", "--into", "rows"),
    ("publish", "archive"),
    ("fetch", "--follow", "--load", "--node", "http://127.0.0.1:9", "--into", "fetched"),
)
"""All that reads or writes a lake."""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def stores(templates: Templates, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"), templates, settings=ON_SAIL)


@pytest.fixture
def failed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Runs a command in an empty folder that stays empty, and returns its error. Exit code 1 is expected."""

    def run(loading: Loading, *arguments: str) -> str:
        monkeypatch.setenv("PERMANODE_STORE", loading.store.url)
        monkeypatch.setenv("PERMANODE_NETWORK", loading.store.network)
        monkeypatch.setenv("PERMANODE_ETL_ENGINE", "sail")
        monkeypatch.setenv("PERMANODE_ETL_LAKE", loading.settings.lake)
        monkeypatch.setattr(sys, "argv", ["permanode", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1, arguments
        return capsys.readouterr().err

    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield run
    assert not [*folder.iterdir()]


def lake_of_loading(loading: Loading) -> str:
    return loading.settings.lake or str(loading.folder / "lake")


def sharing(stores: Stores, loading: Loading, network: str, **options: object) -> Loading:
    """An empty store of a network, with the lake of another store."""
    return stores(network=network, lake=lake_of_loading(loading), **options)


def contents(*folders: Path) -> dict[Path, str]:
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    # SQLite creates these, empty, when a reader opens a store.
    return {file: sha256(file.read_bytes()).hexdigest() for file in files if file.name[-4:] not in ("-shm", "-wal")}


def names(lake: str) -> set[str | None]:
    """The names in the metadata of all tables."""
    found = set()
    for table, layout in TABLES.items():
        log = DeltaLog(f"{lake}/{table}", layout)
        log.refresh()
        if log.exists():
            found.add(log.stored_name())
    return found


def as_earlier_versions_wrote(loading: Loading) -> Loading:
    """Takes the name of the network from the tables."""
    for file in Path(lake_of_loading(loading)).glob("*/_delta_log/*.json"):
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for each in actions:
            each.get("metaData", {}).pop("name", None)
        file.write_text("".join(f"{json.dumps(each)}\n" for each in actions))
    assert names(lake_of_loading(loading)) == {None}
    return loading


def mismatch(found: str) -> str:
    return rf"^the lake /\S+ {found}: give \S+ a lake of its own, for example with \{{network\}} in etl\.lake"


def test_no_command_uses_the_lake_of_another_network(stores: Stores, failed: Run) -> None:
    ours, _ = stores.loaded("chrysalis from genesis")
    theirs = sharing(stores, ours, "permatest-2")
    before = contents(ours.folder, theirs.folder)
    assert names(lake_of_loading(ours)) == {"permatest-1"}
    for command in COMMANDS:
        error = failed(theirs, *command)
        assert f"permanode: the lake {ours.folder}/lake belongs to network permatest-1, not permatest-2: " in error
        assert error.count("\n") == 1, command
    assert contents(ours.folder, theirs.folder) == before
    assert theirs.rows()["sync"] == []


def test_stores_of_one_network_share_a_lake(stores: Stores) -> None:
    ours, _ = stores.loaded("chrysalis from genesis")
    for each in (sharing(stores, ours, "permatest-1"), sharing(stores, ours, "permatest-1")):
        files = contents(Path(lake_of_loading(ours), "messages"))
        each.load(SAMPLE, genesis=SAMPLE / "genesis.json")
        assert each.rows()["messages"] == ours.rows()["messages"]
        assert contents(Path(lake_of_loading(ours), "messages")) == files
        each.rebuild()
        assert each.rows()["messages"] == ours.rows()["messages"]


def test_each_network_has_its_lake_by_a_placeholder(stores: Stores, tmp_path: Path) -> None:
    lake = str(tmp_path / "{network}" / "lake")
    for network, file in (
        ("permatest-1", SAMPLE),
        ("permatest-2", reference_stardust.ORACLE / "milestones.jsonl"),
    ):
        loading = stores(network=network, lake=lake)
        assert runs.lake_path(loading.store, loading.settings) == f"{tmp_path}/{network}/lake"
        assert loading.load(file).complete == 50
        assert names(f"{tmp_path}/{network}/lake") == {network}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["permatest-1", "permatest-2"]


def test_the_placeholder_is_the_only_pattern(tmp_path: Path) -> None:
    assert lake_of("s3://bucket/{network}", "mainnet", "cassandra://host/a") == "s3://bucket/mainnet"
    plain = StoreSettings(f"sqlite:///{tmp_path}/store", "permatest-1")
    for setting, settings in (
        ("lake", replace(ON_SAIL, lake=f"{tmp_path}/{{name}}")),
        ("staging", replace(ON_SAIL, staging=f"{tmp_path}/{{name}}")),
    ):
        expected = (
            rf"^{setting}: unknown field \{{name\}} in /\S+/\{{name\}}; expected \{{network\}}, for the network's name$"
        )
        with pytest.raises(ValueError, match=expected):
            runs.load(plain, settings, [SAMPLE])
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("lake", "staging", "expected"),
    [
        ("lakes/{network}", "", ["lakes/staging-permatest-1", "lakes/staging-permatest-2"]),
        ("{network}/lake", "", ["permatest-1/staging-permatest-1", "permatest-2/staging-permatest-2"]),
        (
            "lakes/{network}",
            "scratch",
            ["scratch/permanode/staging-permatest-1", "scratch/permanode/staging-permatest-2"],
        ),
        (
            "lakes/{network}",
            "{network}/scratch",
            [f"{each}/scratch/permanode/staging-{each}" for each in ("permatest-1", "permatest-2")],
        ),
    ],
    ids=["beside lakes in one folder", "beside lakes", "one folder", "a folder each"],
)
def test_networks_that_load_at_the_same_time_have_scratch_files_of_their_own(
    stores: Stores, tmp_path: Path, lake: str, staging: str, expected: list[str]
) -> None:
    options = {"lake": f"{tmp_path}/{lake}", "staging": staging and f"{tmp_path}/{staging}"}
    one, other = (stores(network=each, **options) for each in ("permatest-1", "permatest-2"))

    def scratch_file(run: Publication) -> Path:
        folder = run.staging.folder("rows")
        folder.mkdir(parents=True)
        file = folder / "part"
        file.write_text(run.store_settings.network)
        return file

    with open_run(one.store, one.settings, quiet) as first:
        of_first = scratch_file(first)
        with open_run(other.store, other.settings, quiet) as second:
            of_second = scratch_file(second)
            folders = [str(each.parent.parent.relative_to(tmp_path)) for each in (of_first, of_second)]
            assert folders == expected
            assert (of_first.read_text(), of_second.read_text()) == ("permatest-1", "permatest-2")
        assert (of_first.exists(), of_second.exists()) == (True, False)
    assert not [*tmp_path.rglob("staging*")]


@pytest.mark.parametrize(
    ("ledger", "other"), [("chrysalis", "permatest-2"), ("stardust from genesis", "permatest-1")], ids=["v1", "v2"]
)
def test_messages_of_earlier_lakes_name_the_network(stores: Stores, ledger: str, other: str) -> None:
    ours = as_earlier_versions_wrote(stores.loaded(ledger)[0])
    lake = Path(lake_of_loading(ours))
    shutil.rmtree(lake / "log", ignore_errors=True)
    theirs = sharing(stores, ours, other)
    before = contents(ours.folder, theirs.folder)
    with pytest.raises(StoreMismatch, match=mismatch(rf"belongs to network id \d{{10,}}, not {other}")):
        theirs.load(SAMPLE)
    assert contents(ours.folder, theirs.folder) == before
    ours.rebuild()
    assert names(str(lake)) == {ours.store.network}
    with pytest.raises(StoreMismatch, match=mismatch(f"belongs to network {ours.store.network}, not {other}")):
        theirs.load(SAMPLE)


def test_logs_of_earlier_lakes_name_the_network(stores: Stores) -> None:
    ours = as_earlier_versions_wrote(stores.loaded("chrysalis from genesis")[0])
    # The same ledger under another name: the log is that of permatest-1.
    theirs = sharing(stores, ours, "renamed", eras={"chrysalis_name": "permatest-1"})
    with pytest.raises(StoreMismatch, match=mismatch("belongs to network permatest-1, not renamed")):
        theirs.rebuild()
    ours.rebuild()
    assert names(lake_of_loading(ours)) == {"permatest-1"}


def test_messages_of_a_public_network_have_its_name(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of_loading(as_earlier_versions_wrote(stores.loaded("chrysalis")[0]))
    mainnet = replace(find_network("mainnet"), id_name="permatest-1")
    monkeypatch.setattr("etl.lake.network.known_networks", lambda: {mainnet})
    check_network(lake, mainnet)
    with pytest.raises(StoreMismatch, match=mismatch("belongs to network mainnet, not shimmer")):
        check_network(lake, find_network("shimmer"))


def test_a_lake_that_does_not_show_its_network_becomes_that_of_the_first(stores: Stores) -> None:
    ours = stores()
    runs.load(ours.store, ours.settings, [], genesis=SAMPLE / "genesis.json")
    as_earlier_versions_wrote(ours)
    lake = Path(lake_of_loading(ours))
    shutil.rmtree(lake / "log", ignore_errors=True)
    theirs = sharing(stores, ours, "renamed", eras={"chrysalis_name": "permatest-1"})
    theirs.rebuild()
    assert names(str(lake)) == {"renamed"}
    with pytest.raises(StoreMismatch, match=mismatch("belongs to network renamed, not permatest-1")):
        ours.load(SAMPLE)


def test_of_two_networks_that_create_a_lake_the_second_fails(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = stores(), stores(network="permatest-2")
    theirs = replace(theirs, settings=replace(theirs.settings, lake=lake_of_loading(ours)))
    check = runs.check_network

    def load_between(*arguments: Any, **options: Any) -> None:
        check(*arguments, **options)
        monkeypatch.setattr(runs, "check_network", check)
        ours.load(SAMPLE)

    monkeypatch.setattr(runs, "check_network", load_between)
    with pytest.raises(CommitConflict, match="milestones: this table is of permatest-1, not of permatest-2"):
        theirs.load(reference_stardust.ORACLE / "milestones.jsonl")
    assert theirs.rows()["sync"] == []
    with pytest.raises(StoreMismatch, match=mismatch("belongs to network permatest-1, not permatest-2")):
        theirs.load(SAMPLE)


def test_lakes_at_urls(stores: Stores) -> None:
    loading, _ = stores.loaded("chrysalis from genesis")
    url = Path(lake_of_loading(loading)).as_uri()

    def rejected(found: str) -> None:
        check_network(url, find_network("permatest-1"))
        with pytest.raises(StoreMismatch, match=f"the lake {url} belongs to network {found}, not permatest-2: "):
            check_network(url, find_network("permatest-2"))

    rejected("permatest-1")
    as_earlier_versions_wrote(loading)
    rejected("permatest-1")
    shutil.rmtree(Path(lake_of_loading(loading), "log"))
    rejected(r"id \d+")
    record_network(url, "permatest-1")
    rejected("permatest-1")


def test_a_failed_first_load_leaves_no_lake(stores: Stores, tmp_path: Path) -> None:
    loading = stores()
    with pytest.raises(FileNotFoundError):
        runs.load(loading.store, loading.settings, [], genesis=tmp_path / "missing" / "genesis.json")
    check_network(lake_of_loading(loading), find_network("permatest-2"))


def test_a_lake_of_wormhole_is_no_other_networks(stores: Stores, failed: Run) -> None:
    ours = stores(network="wormhole-mainnet")
    ours.load(WORMHOLE)
    assert names(lake_of_loading(ours)) == {"wormhole-mainnet"}
    for network in ("wormhole-testnet", "permatest-1"):
        theirs = sharing(stores, ours, network)
        before = contents(ours.folder, theirs.folder)
        error = failed(theirs, "load", str(WORMHOLE if network.startswith("wormhole") else SAMPLE))
        assert f"belongs to network wormhole-mainnet, not {network}: " in error
        assert contents(ours.folder, theirs.folder) == before
    again = sharing(stores, ours, "wormhole-mainnet")
    again.rebuild()
    assert again.rows()["vaas"] == ours.rows()["vaas"]


def test_earlier_lakes_of_the_other_protocol(stores: Stores) -> None:
    vaas = stores(network="wormhole-mainnet")
    vaas.load(WORMHOLE)
    as_earlier_versions_wrote(vaas)
    with pytest.raises(StoreMismatch, match=mismatch("belongs to a Wormhole network, not permatest-1")):
        sharing(stores, vaas, "permatest-1").load(SAMPLE)
    messages = as_earlier_versions_wrote(stores.loaded("chrysalis")[0])
    with pytest.raises(StoreMismatch, match=mismatch("belongs to an IOTA network, not wormhole-mainnet")):
        sharing(stores, messages, "wormhole-mainnet").load(WORMHOLE)
    # Earlier versions let both write to one lake. It stays that of the IOTA network, and the rest can be moved.
    lake, moved = Path(lake_of_loading(messages)), stores(network="wormhole-mainnet")
    shutil.copytree(Path(lake_of_loading(vaas), "vaas"), lake / "vaas")
    messages.rebuild()
    shutil.move(lake / "vaas", Path(lake_of_loading(moved), "vaas"))
    moved.rebuild()
    assert moved.rows()["vaas"] == vaas.rows()["vaas"]
    assert names(str(lake)) == {"permatest-1"}
    assert names(lake_of_loading(moved)) == {"wormhole-mainnet"}


def test_all_names_of_a_public_network_are_one(stores: Stores) -> None:
    loading = as_earlier_versions_wrote(stores.loaded("chrysalis")[0])
    lake = lake_of_loading(loading)
    record_network(lake, find_network("iota-mainnet").name)
    for name in ("mainnet", "chrysalis-mainnet", "iota-mainnet"):
        check_network(lake, find_network(name))
    with pytest.raises(StoreMismatch, match=mismatch("belongs to network mainnet, not shimmer")):
        check_network(lake, find_network("shimmer"))


def test_the_name_survives_maintenance(stores: Stores) -> None:
    loading, _ = stores.loaded("chrysalis")
    lake = lake_of_loading(loading)
    runs.compact_lake(lake, retain_hours=0)
    maintenance.maintain(lake)
    loading.load(SAMPLE, force=True)
    assert names(lake) == {"permatest-1"}


def test_a_damaged_log_is_not_a_mismatch(stores: Stores) -> None:
    loading, _ = stores.loaded("chrysalis")
    lake = Path(lake_of_loading(loading))
    for file in (lake / "sources" / "_delta_log").iterdir():
        file.write_bytes(b"damaged")
    check_network(str(lake), find_network("permatest-1"))
    with pytest.raises(StoreMismatch, match=mismatch("belongs to network permatest-1, not permatest-2")):
        check_network(str(lake), find_network("permatest-2"))

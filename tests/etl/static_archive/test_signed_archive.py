"""Archives of stores with a signed log: log, listings and genesis, from the loads of both oracle ledgers."""

import asyncio
import json
import random
import re
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.log_text import audit_lines
from cli.main import app
from db import schema
from db.connect import open_store
from db.queries.listing_proofs import OF_LEDGER, fetch_trees
from db.queries.log import LogHead, get_audit_path, get_head
from db.store import NotFound, NotKeptHere
from etl import runs
from etl.deep_check.check import Setup, check_rows
from etl.kept_proofs import STORED, keep_proofs
from etl.static_archive.archived_log import ArchivedLog
from etl.static_archive.check import check
from etl.static_archive.download import local_sources
from etl.static_archive.names import read_manifest, write_manifest
from etl.store_reads import StoreReads
from etl.transparency.audit import audit_logs
from etl.transparency.history import LogForked
from etl.transparency.log_files import LogFiles
from etl.transparency.signing_key import create_key
from ledger.completeness import check as completeness_check
from ledger.completeness import intervals, trees
from ledger.completeness.document import render_document
from ledger.completeness.families import BY_NUMBER
from ledger.completeness.intervals import complete_to, log_place_of_cover
from ledger.completeness.proof import Listing, prove_page
from ledger.crypto.log_tree import from_left
from ledger.transparency import positions
from ledger.transparency.checkpoint import Checkpoint, open_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.keys import Kind, VerifierKey
from ledger.transparency.logged_records import LoggedRecords
from ledger.transparency.records import MilestoneRecord
from ledger.transparency.tiled_tree import TiledTree
from ledger.transparency.tiles import Place, places_of
from tests import reference, reference_stardust
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import Loading, Stores, oracle_ledger
from tests.etl.lake_files import lake_rows
from tests.etl.stardust_archives import NETWORK as STARDUST_NETWORK
from tests.etl.stardust_archives import oracle as stardust_oracle
from tests.etl.static_archive.conftest import Case
from tests.etl.static_archive.file_host import FileHost
from tests.etl.static_archive.other_operators import FORKED, HIDDEN, another, forking, hiding, served
from tests.etl.static_archive.proved_pages import ProvedPage, in_javascript, in_python
from tests.etl.static_archive.test_publish import changed_manifests
from tests.inclusion import keys
from tests.reference_completeness import listings
from tests.selections import NETWORKS

pytestmark = pytest.mark.loads

SMALLEST, LAST = 5, 50

NAMES = {"permatest-1": "chrysalis from genesis", STARDUST_NETWORK: "stardust from genesis"}

CHRYSALIS, STARDUST = (pytest.param(network, id=name.split()[0]) for network, name in NAMES.items())

LATER_CHRYSALIS = pytest.param(*CHRYSALIS.values, id=CHRYSALIS.id, marks=pytest.mark.slow)

on_both = pytest.mark.parametrize("signed", [CHRYSALIS, STARDUST], indirect=True)


@pytest.fixture(scope="module", autouse=True)
def small_intervals() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (intervals, trees, completeness_check, positions):
            patch.setattr(module, "SMALLEST", SMALLEST)
        yield


@pytest.fixture(scope="module", params=[LATER_CHRYSALIS, STARDUST])
def signed(
    request: pytest.FixtureRequest, small_intervals: None, stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Case:
    """A store with trees over small intervals and a signed log, and its archive."""
    network, sources, genesis = oracle_ledger(NAMES[request.param], tmp_path_factory.mktemp("ledger") / "oracle")
    key = tmp_path_factory.mktemp("key") / "log.key"
    create_key(key, f"permanode/{network}/1", Kind.SIGNATURE)
    loading = stores((100_000, 100_000), network)
    loading = replace(loading, store=replace(loading.store, log_key=str(key)))
    report = loading.load(*sources, genesis=genesis)
    assert report.ledger_index == LAST
    made = Case(loading, tmp_path_factory.mktemp("signed") / "public")
    made.publish(made.archive)
    return made


@cache
def rows_of(network: str) -> dict[str, list[dict[str, Any]]]:
    if network == STARDUST_NETWORK:
        return dict(reference_stardust.whole_rows(stardust_oracle(), [], 100_000, 100_000, network))
    return dict(reference.whole_rows(chrysalis_oracle(), [], 100_000, 100_000, network))


@cache
def pages_of(network: str) -> list[ProvedPage]:
    """Every listing of the input files, and some without rows."""
    found = [
        ProvedPage(bytes([number]) + key, index, count)
        for (number, key), rows in listings(rows_of(network), 0).items()
        for index, count in {(0, 100), (len(rows) // 2, 3)}
        if index == 0 or index < sum(int.from_bytes(row[:4], "big") < LAST for row in rows)
    ]
    absent = [(1, b"\xff" * 9), (2, bytes(32)), (113, b"\xff" * 33), (16, bytes(33))]
    return found + [ProvedPage(bytes([number]) + key, 0, 100) for number, key in absent]


async def of_server(case: Case, pages: list[ProvedPage]) -> list[str]:
    """The documents that the server makes."""
    found = []
    with closing(open_store(case.loading.store)) as store:
        head = await get_head(store, case.network)
        assert head.checkpoint is not None
        assert head.signed is not None
        end = complete_to(1, LAST)
        assert end == LAST - 1
        at = log_place_of_cover(1, end)
        path = from_left(head.signed.size, at, await get_audit_path(store, head.signed.size, at))
        for place, index, count in pages:
            listing = Listing(case.network, 1, BY_NUMBER[place[0]], place[1:], end)
            fetched = await fetch_trees(store, listing, index, count)
            proof = prove_page(fetched, listing, index, count, path, head.checkpoint.decode())
            found.append(render_document(proof))
    return found


def test_both_clients_make_the_documents_of_the_server(signed: Case, tmp_path: Path) -> None:
    pages = pages_of(signed.network)
    assert len(pages) > 200
    expected = asyncio.run(of_server(signed, pages))
    assert in_python(str(signed.archive), pages) == expected
    some = slice(None, None, 7)
    assert in_javascript(signed.archive.as_uri(), pages[some], tmp_path, SMALLEST) == expected[some]
    with FileHost(signed.archive) as host:
        assert in_python(host.url, pages[:3]) == expected[:3]
        assert in_javascript(host.url, pages[:3], tmp_path, SMALLEST) == expected[:3]


def test_the_checker_accepts_what_the_command_prints(signed: Case, tmp_path: Path) -> None:
    page = next(each for each in pages_of(signed.network) if each.place[0] == 112)
    run, key = CliRunner(), page.place[1:].hex()
    family = ["--family", "ledger_updates_by_address", "--archive", str(signed.archive)]
    done = run.invoke(app, ["archive", "history", key, *family])
    assert done.exit_code == 0, done.output
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    file = tmp_path / "proof.json"
    file.write_text(done.stdout, "utf-8")
    checked = run.invoke(app, ["proof", "check", str(file), "--keys", manifest["log"]["verifier"]])
    assert checked.exit_code == 0, checked.output
    assert "ledger_updates_by_address has exactly" in checked.output
    wrong = run.invoke(app, ["archive", "history", key, "--family", "tags", "--archive", str(signed.archive)])
    assert wrong.exit_code == 2
    assert "messages_by_tag" in wrong.output


def faults_of(folder: Path) -> list[tuple[str, str]]:
    return [(each.file, each.cause) for each in check(folder)]


@on_both
def test_a_signed_archive_has_no_faults(signed: Case) -> None:
    assert faults_of(signed.archive) == []
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    assert (manifest["listings"]["first"], manifest["listings"]["end"], manifest["last"]) == (1, LAST - 1, LAST)
    assert signed.publish(signed.archive).written == []


def test_the_archive_is_a_log_that_can_be_audited(signed: Case, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(signed.archive, tmp_path / "copy"))
    with FileHost(signed.archive) as host, FileHost(copy) as other:
        found = audit_logs([f"{host.url}/log", f"{other.url}/log"], whole=True)
        assert found.is_good, found
        assert [(each.first, each.last) for each in found.operators] == [(1, LAST)] * 2
        tile = copy / "log" / next(places_of(found.operators[0].size)).path
        data = bytearray(tile.read_bytes())
        data[-1] ^= 1
        tile.write_bytes(data)
        assert not audit_logs([f"{other.url}/log"], whole=True).is_good


def test_changed_files_of_the_log_are_faults(signed: Case, tmp_path: Path) -> None:
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    for path in sorted((signed.archive / "log" / "tile").rglob("*")):
        if path.is_file():
            copy = Path(shutil.copytree(signed.archive, tmp_path / path.parent.parent.name / path.name))
            target = copy / path.relative_to(signed.archive)
            data = bytearray(target.read_bytes())
            data[-1] ^= 1
            target.write_bytes(data)
            assert any(name.startswith("log/") for name, _ in faults_of(copy)), path


def test_each_changed_value_of_the_log_and_the_listings_is_a_fault(signed: Case, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(signed.archive, tmp_path / "copy"))
    whole = read_manifest(signed.archive)
    assert whole is not None
    changed = [
        {**whole, name: part[name]}
        for name in ("log", "listings", "genesis")
        for part in map(json.loads, changed_manifests({name: whole[name]}))
    ]
    assert len(changed) > 30
    for each in changed:
        (copy / "manifest.json").write_text(json.dumps(each), "utf-8")
        assert faults_of(copy), each


def test_another_key_than_the_given_one_is_a_fault(signed: Case, tmp_path: Path) -> None:
    other = create_key(tmp_path / "other.key", f"permanode/{signed.network}/1", Kind.SIGNATURE).verifier
    found = [*check(signed.archive, keys=[other])]
    assert [(each.file, each.cause) for each in found] == [
        ("log/checkpoint", "expected a signature of one of the given keys")
    ]


def test_messages_that_differ_from_the_log_are_a_fault(signed: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    record = LoggedRecords.record

    def another(self: LoggedRecords, milestone: int) -> MilestoneRecord:
        return replace(
            record(self, milestone), messages_root=record(self, 9 if milestone == 7 else milestone).messages_root
        )

    monkeypatch.setattr(LoggedRecords, "record", another)
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    cause = "milestone 7: other messages than in the signed log"
    assert faults_of(signed.archive) == [(manifest["messages"][0]["name"], cause)]


def test_a_load_takes_the_genesis_and_agrees_with_the_log(signed: Case, stores: Stores, tmp_path: Path) -> None:
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    key = VerifierKey.parse(manifest["log"]["verifier"])
    with FileHost(signed.archive) as host:
        for place, geometry in ((str(signed.archive), (7, 3)), (host.url, (100_000, 3))):
            loading = stores(geometry, signed.network)
            with local_sources([place], tmp_path / "copies", None, None, [key]) as found:
                report = loading.load(*found.files, default_genesis=found.genesis, logs=found.logs)
            assert (report.complete, report.rejects, report.ledger_index) == (LAST, 0, LAST)
            assert loading.rows()["outputs"] == signed.loading.rows()["outputs"]


def test_a_load_rejects_a_milestone_that_the_log_has_not_signed(
    signed: Case, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    key = VerifierKey.parse(manifest["log"]["verifier"])
    loading = stores((100_000, 100_000), signed.network)
    with local_sources([str(signed.archive)], tmp_path / "copies", None, None, [key]) as found:
        (log,) = found.logs
        bundle = log.bundle

        def forged(place: Place) -> bytes:
            data = bytearray(bundle(place))
            # The first record is that of milestone 1: length u16, type, index, id.
            data[2 + 5] ^= 1
            return bytes(data)

        monkeypatch.setattr(log, "bundle", forged)
        with pytest.raises(LogForked, match=r"at milestone 1: .*Nothing was changed"):
            loading.load(*found.files, default_genesis=found.genesis, logs=found.logs)
    assert loading.rows()["milestones"] == []


def test_a_load_with_another_genesis_does_not_continue_the_log(signed: Case, stores: Stores, tmp_path: Path) -> None:
    """The genesis names another owner of its first output. Messages and milestones are those that were signed."""
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    key = VerifierKey.parse(manifest["log"]["verifier"])
    _, _, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    assert genesis is not None
    text = genesis.read_text("utf-8")
    owner = re.findall(r'"(?:address|pubKeyHash)": "(?:0x)?([0-9a-f]{64})"', text)[0]
    other = tmp_path / "genesis.json"
    other.write_text(text.replace(owner, "ab" * 32), "utf-8")
    loading = stores((100_000, 100_000), signed.network)
    with local_sources([str(signed.archive)], tmp_path / "copies", None, None, [key]) as found:
        with pytest.raises(
            LogForked, match=r"this store and the archive have different records .*log was not continued"
        ):
            loading.load(*found.files, genesis=other, logs=found.logs)
        assert not (loading.folder / "lake" / "log" / signed.network / "head").exists()


def test_an_archive_of_another_key_is_not_loaded(signed: Case, tmp_path: Path) -> None:
    other = create_key(tmp_path / "other.key", f"permanode/{signed.network}/1", Kind.SIGNATURE).verifier
    with (
        pytest.raises(LogError, match="expected a signature of one of the given keys"),
        local_sources([str(signed.archive)], tmp_path / "copies", None, None, [other]),
    ):
        pass


def test_logs_and_listings_grow_with_the_archive(
    signed: Case, small_intervals: None, stores: Stores, tmp_path: Path
) -> None:
    """Publishing after each of several loads gives the files of one publication after all of them."""
    network, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    key = signed.loading.store.log_key
    loading = stores((100_000, 100_000), network)
    loading = replace(loading, store=replace(loading.store, log_key=key))
    folder, numbers, last = tmp_path / "public", random.Random(7), 0
    growing = Case(loading, folder)
    while last < LAST:
        first, last = last + 1, min(LAST, last + numbers.randint(8, 24))
        loading.load(*sources, first=first, last=last + 1, genesis=genesis if first == 1 else None)
        growing.publish(folder)
        assert faults_of(folder) == []
    growing.publish(folder, prune=True)
    ours, whole = read_manifest(folder), read_manifest(signed.archive)
    assert ours == whole
    names = [
        {str(path.relative_to(each)) for path in each.rglob("*") if path.is_file()} for each in (folder, signed.archive)
    ]
    assert names[0] == names[1]


@on_both
def test_the_genesis_file_is_one_that_load_accepts(signed: Case, stores: Stores, tmp_path: Path) -> None:
    manifest = read_manifest(signed.archive)
    assert manifest is not None
    _, sources, _ = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    loading: Loading = stores((100_000, 100_000), signed.network)
    genesis = signed.archive / manifest["genesis"]["name"]
    assert loading.load(*sources, genesis=genesis).ledger_index == LAST
    assert loading.rows()["outputs"] == signed.loading.rows()["outputs"]


def selected_keys(network: str) -> tuple[bytes, bytes]:
    """The tag and the address with the most rows."""
    found = listings(rows_of(network), 0)
    most = {number: max((len(rows), key) for (of, key), rows in found.items() if of == number) for number in (1, 112)}
    return most[1][1], most[112][1]


def test_a_selective_permanode_has_the_proofs_of_its_listings(signed: Case, stores: Stores, tmp_path: Path) -> None:
    tag, address = selected_keys(signed.network)
    _, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    loading = stores((100_000, 100_000), signed.network)
    filters = [f"tag:0x{tag.hex()}", f"address:0x{address.hex()}"]
    loading.load(*sources, genesis=genesis, keep=filters[:1], last=31)
    part = Case(loading, signed.archive)
    with pytest.raises(ValueError, match="load these first"):
        keep_proofs(loading.store, part.lake, str(signed.archive), [])
    loading.load(*sources, keep=filters)
    with pytest.raises(LogError, match="signature of one of the given keys"):
        keep_proofs(loading.store, part.lake, str(signed.archive), [other_key(signed)])
    proved = keep_proofs(loading.store, part.lake, str(signed.archive), [])
    verifier = read_manifest(signed.archive)["log"]["verifier"]
    at = ["--store", loading.store.url, "--network", signed.network]
    again = CliRunner().invoke(app, [*at, "proof", "keep", str(signed.archive), "--log-key", verifier])
    assert f"{proved.listings} listings with {proved.rows} rows are proved up to milestone 49" in again.output
    pages = [each for each in pages_of(signed.network) if each.place[1:] in (tag, address)]
    assert proved.complete_to == LAST - 1
    assert proved.rows > 50
    assert proved.left_out == ()
    assert len({each.place for each in pages}) <= proved.listings
    assert asyncio.run(of_server(part, pages)) == asyncio.run(of_server(signed, pages))
    for other in [page for page in pages_of(signed.network) if page not in pages][::20]:
        with pytest.raises(NotFound, match="the proof of this listing is not kept here"):
            asyncio.run(of_server(part, [other]))
    assert loading.load(*sources).exit_code == 0, "loads do not take the copied log for their own"
    with closing(open_store(loading.store)) as store:
        before = [[*store.read_all(table)] for table in STORED]
    assert loading.rebuild().exit_code == 0
    with closing(open_store(loading.store)) as store:
        assert [[*store.read_all(table)] for table in STORED] == before, "a rebuild keeps proofs"
    assert asyncio.run(of_server(part, pages)) == asyncio.run(of_server(signed, pages))
    with closing(open_store(loading.store)) as store:
        assert [each for each in check_rows(Setup(loading.store, part.lake), store) if each.faults] == []
    with closing(open_store(loading.store, writable=True)) as store:
        (row, *_) = [row for row in store.read_all(schema.tags) if row["tag"] == tag.hex()]
        partition = (tag, *(row[name] for name in schema.tags.partition[1:]))
        with store.batch() as batch:
            batch.delete(schema.tags, partition)
    with pytest.raises(ValueError, match="the archive has other rows of the milestones"):
        keep_proofs(loading.store, part.lake, str(signed.archive), [])
    with pytest.raises(ValueError, match="this store keeps all messages"):
        keep_proofs(signed.loading.store, signed.lake, str(signed.archive), [])


def test_the_proofs_of_a_filter_that_covers_a_part_are_not_kept(signed: Case, stores: Stores, tmp_path: Path) -> None:
    tag, address = selected_keys(signed.network)
    filters = [f"tag:0x{tag.hex()}", f"address:0x{address.hex()}"]
    _, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    era = next(era for era, network in NETWORKS.items() if network == signed.network)
    loading = stores((100_000, 100_000), signed.network, eras={"coordinator_keys": tuple(keys(era))})
    loading.load(*sources, keep=filters[:1])
    loading.load(*sources, keep=filters[1:], first=32)
    part = Case(loading, signed.archive)
    assert keep_proofs(loading.store, part.lake, str(signed.archive), []).left_out == (filters[1],)
    of_tag, of_address = (
        [each for each in pages_of(signed.network) if each.place[1:] == key] for key in (tag, address)
    )
    assert asyncio.run(of_server(part, of_tag)) == asyncio.run(of_server(signed, of_tag))
    for page in of_address:
        with pytest.raises(NotKeptHere, match=f"is not kept here: {filters[1]} does not cover milestones 1:32"):
            asyncio.run(of_server(part, [page]))
    loading.load(*sources)
    keep_proofs(loading.store, part.lake, str(signed.archive), [])
    of_ledger = [each for each in of_address if BY_NUMBER[each.place[0]].name in OF_LEDGER]
    others = [each for each in of_address if each not in of_ledger]
    assert asyncio.run(of_server(part, others)) == asyncio.run(of_server(signed, others))
    for page in of_ledger:
        with pytest.raises(NotKeptHere, match="is not kept here: the ledger state does not reach milestone 49"):
            asyncio.run(of_server(part, [page]))
    loading.load(genesis=genesis)
    keep_proofs(loading.store, part.lake, str(signed.archive), [])
    assert asyncio.run(of_server(part, of_address)) == asyncio.run(of_server(signed, of_address))
    assert of_tag
    assert others
    assert of_ledger


def test_an_added_filter_has_no_proofs_until_they_are_kept_again(
    signed: Case, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles have neighbours of the keys that they were stored for, but the divisions of other keys are missing."""
    tags = sorted(listings_of_tags(signed.network), key=lambda each: len(each[1]), reverse=True)
    added, *others = [f"tag:0x{key.hex()}" for key, _ in tags]
    pages = [each for each in pages_of(signed.network) if each.place[1:] == tags[0][0]]
    expected = asyncio.run(of_server(signed, pages))
    monkeypatch.setattr(schema, "DIVIDED_FROM", 3)
    _, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    loading = stores((100_000, 100_000), signed.network)
    loading.load(*sources, genesis=genesis, keep=others)
    part = Case(loading, signed.archive)
    keep_proofs(loading.store, part.lake, str(signed.archive), [])
    loading.load(*sources, keep=[added])
    for page in pages:
        with pytest.raises(NotKeptHere, match="is not kept here: it was covered after the last `permanode proof keep`"):
            asyncio.run(of_server(part, [page]))
    keep_proofs(loading.store, part.lake, str(signed.archive), [])
    assert asyncio.run(of_server(part, pages)) == expected != []


def listings_of_tags(network: str) -> list[tuple[bytes, list[bytes]]]:
    """Each tag that is not empty and the rows of its listing of messages."""
    return [(key, rows) for (number, key), rows in listings(rows_of(network), 0).items() if number == 1 and key]


def test_the_log_of_kept_proofs_is_extended_only(signed: Case, stores: Stores, tmp_path: Path) -> None:
    tag, _ = selected_keys(signed.network)
    _, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    same = Path(signed.loading.store.log_key)
    older = published(stores, signed, same, tmp_path / "older", last=32)
    key = tmp_path / "other.key"
    created = create_key(key, "other.example/log", Kind.SIGNATURE).verifier
    other = published(stores, signed, key, tmp_path / "other")
    fork, of_fork = forked(signed, stores, tmp_path / "fork")
    part = Case(stores((100_000, 100_000), signed.network), signed.archive)
    part.loading.load(*sources, genesis=genesis, keep=[f"tag:0x{tag.hex()}"])

    def keep(archive: Path, *keys: VerifierKey) -> None:
        keep_proofs(part.loading.store, part.lake, str(archive), keys)

    def stored() -> object:
        with closing(open_store(part.loading.store)) as store:
            rows = [[*store.read_all(table)] for table in STORED]
        return rows, lake_rows(Path(part.lake, "kept_proofs"), ["store_table", "row"])

    def head() -> LogHead:
        with closing(open_store(part.loading.store)) as store:
            return asyncio.run(get_head(store, signed.network))

    keep(older)
    verifier = VerifierKey.parse(read_manifest(signed.archive)["log"]["verifier"])
    assert head() == LogHead(*ends_of(older, verifier))
    for _ in range(2):
        keep(signed.archive)
        assert head() == LogHead(*ends_of(signed.archive, verifier))
    before = stored()
    sizes = [ends_of(each, verifier)[0].size for each in (signed.archive, older)]
    with pytest.raises(ValueError, match=f"proofs here has {sizes[0]} records, that of the archive {sizes[1]}"):
        keep(older, verifier)
    for archive, its_key in ((other, created), (fork, of_fork)):
        with pytest.raises(ValueError, match=re.escape(f"by {its_key.text}: give its key as --log-key to accept it")):
            keep(archive)
    with pytest.raises(LogForked, match="at milestone 50 or before it: the proofs here and the archive have different"):
        keep(fork, of_fork)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArchivedLog, "tile", flipped_tile)
        with pytest.raises(LogError, match=r"the tiles of its first \d+ records do not lead to the root of all"):
            keep(signed.archive)
    assert stored() == before
    keep(other, created)
    assert head() == LogHead(*ends_of(other, created))


def published(stores: Stores, signed: Case, key: Path, folder: Path, **options: Any) -> Path:
    """An archive of a full permanode with this key."""
    _, sources, genesis = oracle_ledger(NAMES[signed.network], folder.with_name(f"files of {folder.name}"))
    loading = stores((100_000, 100_000), signed.network)
    loading = replace(loading, store=replace(loading.store, log_key=str(key)))
    loading.load(*sources, genesis=genesis, **options)
    Case(loading, folder).publish(folder)
    return folder


def forked(signed: Case, stores: Stores, folder: Path) -> tuple[Path, VerifierKey]:
    """An archive with the listings of an honest one, and a log with other milestones; the key that signed it."""
    shutil.copytree(signed.archive, folder)
    made = another(stores, signed.loading, forking)
    files = LogFiles(str(made.folder / "lake"), signed.network)
    head = files.head()
    assert head is not None
    assert head.checkpoint is not None
    assert head.verifier is not None
    shutil.rmtree(folder / "log")
    shutil.copytree(files.folder, folder / "log")
    size = head.newest.size
    at = log_place_of_cover(1, LAST - 1)
    path = from_left(size, at, TiledTree(size, files.tiles(size)).audit_path(at))
    manifest = read_manifest(folder)
    assert manifest is not None
    manifest["log"] = {"checkpoint": head.checkpoint.decode(), "verifier": head.verifier}
    manifest["listings"]["log_path"] = b64encode(b"".join(path)).decode()
    write_manifest(folder, manifest)
    return folder, VerifierKey.parse(head.verifier)


def test_a_purged_permanode_continues_its_log_with_an_archive(
    signed: Case, stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It was reduced at milestone 31, and the archive is that of another operator."""
    tag, address = selected_keys(signed.network)
    _, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    key = tmp_path / "own.key"
    own = create_key(key, "own.example/log", Kind.SIGNATURE).verifier
    loading = stores((100_000, 100_000), signed.network)
    loading = replace(loading, store=replace(loading.store, log_key=str(key)))
    loading.load(*sources, genesis=genesis, last=32)
    part, published = Case(loading, signed.archive), tmp_path / "published"
    part.publish(published)
    runs.reduce(loading.store, loading.settings, [f"tag:0x{tag.hex()}", f"address:0x{address.hex()}"])
    assert "log ends" not in caplog.text
    assert loading.load(*sources).exit_code == 0
    assert "the transparency log ends with milestone 31, because a selection has no records" in caplog.text
    logged = LogFiles(part.lake, signed.network)
    assert keep_proofs(loading.store, part.lake, str(published), []).complete_to == 29
    before = LogHead(*ends_of(published, own))
    assert logged.head() == before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoggedRecords, "record", another_at_7)
        with pytest.raises(LogForked, match="at milestone 7: "):
            loading.load(*sources, force=True, first=5, last=9)
    assert loading.load(*sources, force=True, first=5, last=9).milestones == 4, "messages in part are no fork"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArchivedLog, "tile", flipped_tile)
        with pytest.raises(LogError, match=r"the tiles of its first \d+ records do not lead to the root of all"):
            keep_proofs(loading.store, part.lake, str(signed.archive), [])
    assert logged.head() == before
    with closing(open_store(loading.store)) as store:
        assert asyncio.run(get_head(store, signed.network)) == before
    verifier = VerifierKey.parse(read_manifest(signed.archive)["log"]["verifier"])
    for _ in range(2):
        keep_proofs(loading.store, part.lake, str(signed.archive), [])
        assert logged.head() == LogHead(*ends_of(signed.archive, verifier))
    now = ends_of(signed.archive, verifier)[0].size
    with pytest.raises(ValueError, match=f"its log has {now} records, that of the archive {before.newest.size}"):
        keep_proofs(loading.store, part.lake, str(published), [])
    caplog.clear()
    assert loading.load(*sources).exit_code == loading.rebuild().exit_code == 0
    assert "log ends" not in caplog.text
    pages = [each for each in pages_of(signed.network) if each.place[1:] in (tag, address)]
    assert asyncio.run(of_server(part, pages)) == asyncio.run(of_server(signed, pages))
    with closing(open_store(loading.store)) as store, closing(open_store(signed.loading.store)) as full:
        for table in (schema.log_tiles, schema.log_heads):
            assert [*store.read_all(table)] == [*full.read_all(table)], "the log of the full permanode, from its start"
        assert [each for each in check_rows(Setup(loading.store, part.lake), store) if each.faults] == []


TRUE_RECORD = LoggedRecords.record


def another_at_7(self: LoggedRecords, milestone: int) -> MilestoneRecord:
    """The record in the log, with another id for milestone 7."""
    found = TRUE_RECORD(self, milestone)
    return replace(found, milestone_id=b"\1" * 32) if milestone == 7 else found


def ends_of(archive: Path, verifier: VerifierKey) -> tuple[Checkpoint, str, bytes]:
    """Size and root of the log of an archive, and its signed checkpoint."""
    manifest = read_manifest(archive)
    assert manifest is not None
    data = manifest["log"]["checkpoint"].encode()
    return open_checkpoint(data, f"permanode/{manifest['network']}/1", verifier).checkpoint, verifier.text, data


TRUE_TILE = ArchivedLog.tile


def flipped_tile(self: ArchivedLog, level: int, number: int, width: int) -> bytes:
    """The hashes of a tile, of which the first one is wrong."""
    hashes = TRUE_TILE(self, level, number, width)
    return bytes([hashes[0] ^ 1]) + hashes[1:]


def test_a_selective_permanode_is_compared_as_far_as_possible(signed: Case, stores: Stores, tmp_path: Path) -> None:
    tag, _ = selected_keys(signed.network)
    _, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    part = stores(network=signed.network)
    part.load(*sources, genesis=genesis, keep=[f"tag:0x{tag.hex()}"])
    honest = signed.loading
    archives = {
        "full": honest,
        "part": part,
        "hiding": another(stores, honest, hiding),
        "fork": another(stores, honest, forking),
    }
    with served(archives) as urls:

        def audited(*names: str, whole: bool = False) -> tuple[bool, dict[tuple[str, ...], object], str]:
            found = audit_logs([urls[name] for name in names], whole=whole)
            text = "\n".join(audit_lines(found))
            named = {url: name for name, url in urls.items()}
            assert [each.fault for each in found.operators] == [""] * len(names)
            results: dict[tuple[str, ...], object] = {
                tuple(named[url] for url in each.urls): (each.milestone, each.what, each.is_first)
                for each in found.differences
            }
            results |= {tuple(named[url] for url in each.urls): each.compared for each in found.partial}
            return found.is_good, results, text

        ids = f"16 of the ids of the milestones 1:{LAST + 1}"
        good, results, text = audited("full", "part")
        assert (good, results) == (True, {("full", "part"): (ids,)})
        assert f"  keeps a selection: filters: 1; milestones 1:{LAST + 1}\n  has no signed log\n" in text
        assert "  not compared: listings, changes of the ledger" in text
        assert text.endswith("no difference, all proofs are valid; 1 comparisons in part")
        good, results, text = audited("fork", "part")
        assert (good, results) == (False, {("fork", "part"): (FORKED, "milestone", True)})
        assert f"DIFFERENT from milestone {FORKED} on: milestone\n  {urls['fork']}: {'01' * 32}\n" in text
        keep_proofs(part.store, str(part.folder / "lake"), str(signed.archive), [])
        whole = f"all ids of the milestones 1:{LAST + 1}"
        size = signed_size(signed)
        good, results, _ = audited("full", "part", whole=True)
        assert (good, results) == (True, {("full", "part"): (f"the signed root of {size} records", whole)})
        good, results, text = audited("part", "hiding", "full")
        assert not good
        assert results == {
            ("part", "hiding"): (LAST, "roots of the logs", False),
            ("part", "full"): (f"the signed root of {size} records", ids),
            ("hiding", "full"): (HIDDEN + 4, "trees of listings", True),
        }
        assert f"DIFFERENT at milestone {LAST} or before it: roots of the logs" in text
        assert audited("part", "fork")[1] == {("part", "fork"): (FORKED, "milestone", True)}


def signed_size(signed: Case) -> int:
    """The number of records in the log of the full archive."""
    with closing(open_store(signed.loading.store)) as store, closing(StoreReads(store, signed.network)) as reads:
        head = reads.log_head()
    assert head is not None
    return head.newest.size


def other_key(signed: Case) -> VerifierKey:
    """A key that did not sign the log of the archive."""
    key = signed.archive.parent / "other.key"
    return create_key(key, f"permanode/{signed.network}/1", Kind.SIGNATURE).verifier

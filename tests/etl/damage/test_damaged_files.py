"""Files of the lake are compared with their checksums before any row of them is used. A load with --force repairs."""

import re
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from db.connect import StoreSettings
from db.intervals import Intervals
from etl.engine import checksums
from etl.engine.checksums import check_files, checksum_in
from etl.engine.damage import FileDamaged, LakeDamaged, LogDamaged
from etl.engine.delta_files import stored_schema
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_tables import append_table
from etl.engine.session import Session
from etl.lake import maintenance
from etl.lake.delta import KEY, TABLES, Lake
from etl.lake.fsck import LakeSums, check_lake
from etl.lake.rejects import Wanted, list_rejects
from tests.conftest import SAMPLE
from tests.etl.conftest import Loading, Stores
from tests.etl.damage.test_fsck import without_checksums
from tests.etl.lake_files import live_files

FIRST, SECOND = (1, 20), (21, 50)


@pytest.fixture(scope="module")
def whole(stores: Stores) -> Loading:
    """A store whose lake has two files of messages."""
    loading = stores()
    for first, last in (FIRST, SECOND):
        loading.load(SAMPLE, first=first, last=last + 1)
    return loading


@pytest.fixture
def loading(whole: Loading, tmp_path: Path) -> Loading:
    folder = Path(shutil.copytree(whole.folder, tmp_path / "store"))
    return replace(whole, folder=folder, store=replace_url(whole.store, folder))


def replace_url(store: StoreSettings, folder: Path) -> StoreSettings:
    return replace(store, url=f"sqlite:///{folder}")


def file_with(loading: Loading, table: str, milestones: tuple[int, int]) -> Path:
    """The file of a table that contains exactly these milestones."""
    for path in live_files(loading.folder / "lake" / table):
        indexes = pq.read_table(path, partitioning=None)["milestone_index"].to_pylist()
        if (min(indexes), max(indexes)) == milestones:
            return path
    raise AssertionError(milestones)


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.loads
@pytest.mark.parametrize(
    ("how", "table"),
    [
        pytest.param(damage, "messages", id="flipped-messages"),
        pytest.param(Path.unlink, "milestones", id="missing-milestones"),
        pytest.param(damage, "milestones", id="flipped-milestones", marks=pytest.mark.slow),
        pytest.param(Path.unlink, "messages", id="missing-messages", marks=pytest.mark.slow),
    ],
)
def test_a_damaged_file_stops_a_rebuild_and_a_forced_load_repairs_it(loading: Loading, how: object, table: str) -> None:
    before, path = loading.rows(), file_with(loading, table, SECOND)
    assert callable(how)
    how(path)
    cause = "the file is missing" if how is Path.unlink else "its bytes differ from the checksum in its name"
    expected = (
        f"{path}: damaged: {cause}. It contains rows of {table} with milestone_index 21:51. Restore it from a backup, "
        "or load these again from archive files: permanode load ARCHIVE --range 21:51 --force"
    )
    with pytest.raises(FileDamaged, match=f"^{re.escape(expected)}$"):
        loading.rebuild()
    assert loading.rows() == before
    # A load of some of its milestones cannot keep the rows of the others.
    with pytest.raises(FileDamaged, match=f"^{re.escape(expected)}$"):
        loading.load(SAMPLE, first=25, last=31, force=True)
    assert loading.rows() == before
    loading.load(SAMPLE, first=21, last=51, force=True)
    assert loading.rows() == before
    loading.rebuild()
    assert loading.rows() == before
    assert [*check_lake(str(loading.folder / "lake"), lambda *_: None)] == []


@pytest.mark.loads
@pytest.mark.parametrize("table", ["messages", "milestones"])
def test_no_method_of_a_lake_returns_rows_of_a_damaged_file(loading: Loading, session: Session, table: str) -> None:
    damage(file_with(loading, table, SECOND))
    lake = Lake(session, str(loading.folder / "lake"))
    with pytest.raises(FileDamaged):
        lake.check()
    with pytest.raises(FileDamaged):
        lake.read(table)
    with pytest.raises(FileDamaged):
        lake.local_files(table)
    assert len(lake.local_files(table, [FIRST])) == 1
    rows = {"messages": lake.messages, "milestones": lake.milestones}[table]
    assert rows([FIRST]).select("milestone_index").distinct().count() == 20
    with pytest.raises(FileDamaged):
        rows([SECOND])


@pytest.mark.loads
@pytest.mark.parametrize(("replaced", "is_aside"), [([(21, 50)], True), ([(1, 90)], True), ([(22, 50)], False)])
def test_only_a_file_that_is_replaced_as_a_whole_is_set_aside(
    loading: Loading, session: Session, replaced: Intervals, is_aside: bool
) -> None:
    damage(file_with(loading, "milestones", SECOND))
    lake = Lake(session, str(loading.folder / "lake"))
    if is_aside:
        lake.set_aside(replaced)
        assert lake.held([(15, 60)]) == [(15, 50)]
        assert lake.known([(15, 60)]) == ([(15, 20)], [(15, 20)])
    else:
        with pytest.raises(FileDamaged, match="--range 21:51 --force"):
            lake.set_aside(replaced)


@pytest.mark.loads
def test_a_compaction_of_a_damaged_file_changes_nothing(loading: Loading) -> None:
    root = loading.folder / "lake"
    damage(file_with(loading, "messages", FIRST))
    before = bytes_of(root / "messages")
    with pytest.raises(FileDamaged, match="1:21"):
        maintenance.compact(str(root), 0, lambda _: None)
    assert bytes_of(root / "messages") == before


def bytes_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.loads
def test_a_changed_log_is_not_read(loading: Loading) -> None:
    """With other statistics, a reader would skip a file that has the rows."""
    log = max((loading.folder / "lake/messages/_delta_log").glob("*.json"))
    text = log.read_text("utf-8")
    assert '\\"milestone_index\\": 50' in text
    log.write_text(text.replace('\\"milestone_index\\": 50', '\\"milestone_index\\": 30'), "utf-8")
    with pytest.raises(LogDamaged, match=r"messages/_delta_log: damaged: .* Restore this folder from a backup"):
        loading.rebuild()


@pytest.mark.loads
def test_files_of_earlier_versions_are_read_and_compaction_gives_them_a_checksum(loading: Loading) -> None:
    root, before = loading.folder / "lake", loading.rows()
    without_checksums(root)
    sums = LakeSums()
    assert [*check_lake(str(root), lambda *_: None, sums)] == []
    assert sums.unsummed == sums.files
    loading.rebuild()
    assert loading.rows() == before
    maintenance.compact(str(root), 0, lambda _: None)
    sums = LakeSums()
    assert [*check_lake(str(root), lambda *_: None, sums)] == []
    assert sums.unsummed == 0
    loading.rebuild()
    assert loading.rows() == before


@pytest.mark.loads
def test_damaged_rejects_are_not_listed(tmp_path: Path, stores: Stores) -> None:
    loading = stores()
    line = (SAMPLE / "1to21.log").read_bytes().splitlines()[0]
    archive = tmp_path / "archive.jsonl"
    archive.write_bytes(line + b"\n{\n")
    loading.load(archive)
    root = loading.folder / "lake"
    assert list_rejects(str(root), Wanted())
    (path,) = live_files(root / "rejects")
    damage(path)
    with pytest.raises(FileDamaged):
        list_rejects(str(root), Wanted())


def test_each_file_is_hashed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = list[str]()
    found = checksums.checksum_of
    monkeypatch.setattr(checksums, "checksum_of", lambda system, path: hashed.append(path) or found(system, path))
    log = DeltaLog(str(tmp_path / "rejects"), TABLES["rejects"])
    columns = {"milestone_index": [7], "file": ["a"], "line": [1], "item": ["b"], "reason": ["c"]}
    append_table(log, pa.table(columns, schema=stored_schema(log.layout)), {})
    (file,) = log.files()
    path = Path(log.root, file.path)
    assert checksum_in(file.path) == sha256(path.read_bytes()).hexdigest()
    assert len(hashed) == 1
    hashed.clear()
    check_files(log.root, KEY, [file])
    assert hashed == []
    path.touch()
    for _ in range(2):
        check_files(log.root, KEY, [file])
    assert hashed == [file.path]
    damage(path)
    for _ in range(2):
        with pytest.raises(LakeDamaged):
            check_files(log.root, KEY, [file])

"""One flipped bit at a time in archive files of every format: a load notices it, or loads the same rows.

Ids, signatures and Merkle roots prove messages, milestones and VAAs. Nothing proves the reason of a conflict (only the
ledger state does, where a genesis is loaded), and nothing proves the other cells of the event tables. A flip there is
noticed by the checksum beside the file (NAME.b2sum), which the archive writer leaves.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from etl.report import WITH_REJECTS
from etl.sources.checksum_files import checksum_path, find_change
from etl.sources.genesis import open_genesis
from etl.sources.lines import LineReader
from etl.sources.lines import lines as lines_of
from etl.sources.plan import scan
from etl.sources.unpacking import open_stream
from etl.verification.decode_worker import check_pending_line, check_planned, decode_rows
from etl.wormhole.cells import LineError, read_line
from etl.wormhole.places import find_places
from etl.wormhole.prices import read_prices
from etl.wormhole.token_list import read_token_list
from ledger.eras import STARDUST, Eras
from ledger.levels import LEVELS
from ledger.wormhole.guardians import PUBLISHED
from ledger.wormhole.vaa import decode_vaa
from ledger.wormhole.verify import learn, verify
from tests.conftest import ROOT, SAMPLE
from tests.etl import archives, stardust_archives
from tests.etl.conftest import Stores
from tests.etl.damage.flips import SEED, flipped
from tests.etl.verification.test_tamper import COORDINATOR

Rows: TypeAlias = list[dict[str, Any]]

DETECTED, SAME, UNPROVEN = "detected", "same rows", "changed a value that only the checksum beside the file proves"


@dataclass(frozen=True)
class Loaded:
    """What a load of one file gives: rows, the number of rejects and of VAAs without valid signatures, and the proof
    level of each milestone; 0 if it is incomplete.
    """

    rows: Rows
    faults: int
    levels: dict[int, int] = field(default_factory=dict)


def read_iota(path: Path, eras: Eras) -> Loaded:
    """The rows of the lake, decoded as a load decodes them."""
    plan = scan([path], first=None, last=None)
    planned = [each | {"known": None} for each in plan.copies(plan.milestones(), 1 << 20, 1).to_pylist()]
    check = partial(check_planned, eras=eras, coordinator=COORDINATOR)
    rows = [row for batch in decode_rows(planned, check, None) for row in batch.to_pylist()]
    lines = plan.pending.to_pylist()
    waiting = decode_rows(lines, partial(check_pending_line, eras=eras), None)
    rows += [row for batch in waiting for row in batch.to_pylist()]
    kept = [row for row in rows if row.pop("reject") is None]
    levels = {row["milestone_index"]: 1 + LEVELS.index(row["verified"]) if row["verified"] else 0 for row in kept}
    return Loaded(kept, len(plan.broken) + len(rows) - len(kept), levels)


def read_wormhole(path: Path) -> Loaded:
    """The cells of a file. A VAA without a quorum of valid signatures is loaded, and is in no listing or sum."""
    places, _, broken, _ = find_places([path])
    reader, cells, faults = LineReader(), Rows(), len(broken)
    for place in places.to_pylist():
        try:
            found = read_line(reader.read(place["file"], place["offset"], place["length"]))
        except LineError:
            faults += 1
            continue
        for each in found:
            values = (each.key, each.family, each.qualifier, each.time_ms, each.value)
            cells.append(dict(zip(("key", "family", "qualifier", "time_ms", "value"), values, strict=True)))
            if each.qualifier == "SignedVAA" and verify(decode_vaa(each.value), HISTORY).fault is not None:
                faults += 1
    reader.close()
    return Loaded(cells, faults)


HISTORY = learn(PUBLISHED["mainnet"], [])

CHRYSALIS = partial(read_iota, eras=archives.eras_of(archives.NETWORK))
BLOCKS = partial(read_iota, eras=archives.eras_of(stardust_archives.NETWORK, STARDUST))

Read: TypeAlias = Callable[[Path], Loaded]


def files() -> Iterator[tuple[str, str, bytes, Read]]:
    """Name of a form, name of a file, its bytes, and how a load reads it."""
    sample, nodes, blocks = archives.sample()[11:14], archives.oracle()[11:14], stardust_archives.oracle()[11:14]
    for name, form in archives.ARCHIVE_FORMS.items():
        yield f"archive {name}", "12to15.log", b"".join(archives.dump(form(line)) for line in sample), CHRYSALIS
    lines = b"".join(map(archives.dump, sample))
    for name in ("gzip", "two gzip members", "zstd", "zstd frames"):
        yield f"archive A, {name}", "12to15.log", archives.COMPRESSIONS[name](lines), CHRYSALIS
    yield "node JSON of Chrysalis", "a.jsonl", b"".join(map(archives.dump, nodes)), CHRYSALIS
    yield "pending messages", "p.jsonl", (SAMPLE / "pending.jsonl").read_bytes(), CHRYSALIS
    for name, write in stardust_archives.FORMS.items():
        parts = blocks[:1] if name == "inx-chronicle" else blocks
        yield f"{name} of Stardust", "a.jsonl", b"".join(map(write, parts)), BLOCKS
    gzipped = archives.gzipped(b"".join(map(archives.dump, blocks)))
    yield "node JSON of Stardust, gzip", "a.jsonl.gz", gzipped, BLOCKS
    wormhole = ROOT / "sample/wormhole"
    vaas = archives_lines(wormhole / "vaas.jsonl.gz")
    good = [line for line in vaas if verify(decode_vaa(read_line(line)[0].value), HISTORY).fault is None]
    yield "VAAs as JSON", "v.jsonl", b"".join(good[:20]), read_wormhole
    yield "VAAs as JSON, gzip", "v.jsonl.gz", archives.gzipped(b"".join(good[:20])), read_wormhole
    yield "VAA", "a.vaa", read_line(good[3])[0].value, read_wormhole
    yield "rows of the event tables", "b.jsonl", (wormhole / "bigtable.jsonl").read_bytes(), read_wormhole


def archives_lines(path: Path) -> list[bytes]:
    with open_stream(str(path)) as stream:
        return [line for _, _, line in lines_of(stream)]


FORMS = {name: (file, data, read) for name, file, data, read in files()}

WITHOUT_PROOF = {
    "archive A": {"conflict_reason"},
    "archive B": {"conflict_reason"},
    "archive C": {"conflict_reason"},
    "archive D": {"conflict_reason"},
    "archive D tagged": {"conflict_reason"},
    "archive A, zstd": {"conflict_reason"},
    "archive A, zstd frames": {"conflict_reason"},
    "node JSON of Chrysalis": {"conflict_reason"},
    "node JSON of Stardust": {"conflict_reason"},
    "archive D of Stardust": {"conflict_reason"},
    "inx-chronicle of Stardust": {"conflict_reason"},
    "rows of the event tables": {"family", "key", "qualifier", "time_ms", "value"},
}
"""The columns in which a flip can change rows unnoticed, unless the file has a checksum beside it."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "flips", [pytest.param(8), pytest.param(-(-1_000 // len(FORMS)), marks=pytest.mark.slow)], ids=["few", "1,000"]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_flipped_bit_is_noticed_or_changes_no_row(form: str, flips: int, tmp_path: Path) -> None:
    name, data, read = FORMS[form]
    path = tmp_path / name
    path.write_bytes(data)
    before = read(path)
    assert before.rows
    beside, checksum = checksum_path(path), f"{blake2b(data, digest_size=32).hexdigest()}  {name}\n"
    chance, verdicts = random.Random(f"{SEED} {form}"), Counter[str]()
    for _ in range(flips):
        with flipped(path, chance) as which:
            after = read(path)
            verdict = judge(before, after, WITHOUT_PROOF.get(form, set()))
            assert verdict is not None, which
            verdicts[verdict] += 1
            beside.write_text(checksum, "utf-8")
            assert find_change(path), which
            assert verdict != UNPROVEN or read(path).faults > before.faults, which
            beside.unlink()
    sys.stdout.write(f"{form}: {dict(verdicts)}; seed {SEED}\n")


def judge(before: Loaded, after: Loaded, unproven: set[str]) -> str | None:
    """What became of a flip. None: rows changed unnoticed."""
    # A milestone that is missing is a gap in the report of the load.
    if after.faults > before.faults or any(after.levels.get(at, 0) < level for at, level in before.levels.items()):
        return DETECTED
    if key(after.rows) == key(before.rows):
        return SAME
    if without(after.rows, unproven) == without(before.rows, unproven):
        return UNPROVEN
    return None


def key(rows: Rows) -> list[str]:
    return sorted(map(repr, rows))


def without(rows: Rows, columns: set[str]) -> list[str]:
    return key([{name: value for name, value in row.items() if name not in columns} for row in rows])


def changed_file(path: Path, data: bytes) -> Path:
    """Writes a file whose checksum beside it is that of the file before its last line was changed."""
    path.write_bytes(data)
    checksum_path(path).write_text(f"{blake2b(data[:-1], digest_size=32).hexdigest()}  {path.name}\n", "utf-8")
    return path


@pytest.mark.loads
def test_a_load_rejects_a_file_that_differs_from_its_checksum_and_loads_what_is_proved(
    stores: Stores, tmp_path: Path
) -> None:
    name, data, _ = FORMS["archive A"]
    loading = stores()
    report = loading.load(changed_file(tmp_path / name, data))
    assert (report.exit_code, report.complete, report.rejects) == (WITH_REJECTS, 3, 1)
    (reject,) = loading.rows()["rejects"]
    assert (reject["file"], reject["line"]) == (str(tmp_path / name), 0)
    assert reject["reason"].startswith(f"file: checksum {blake2b(data[:-1], digest_size=32).hexdigest()} expected")
    checksum_path(tmp_path / name).unlink()
    assert loading.load(tmp_path / name).rejects == 0
    assert loading.rows()["rejects"] == []


@pytest.mark.loads
def test_a_load_reads_no_cell_of_a_file_that_differs_from_its_checksum(stores: Stores, tmp_path: Path) -> None:
    name, data, _ = FORMS["rows of the event tables"]
    loading = stores(network="wormhole-mainnet")
    report = loading.load(changed_file(tmp_path / name, data))
    assert (report.messages, report.rejects) == (0, 1)
    assert {table: rows for table, rows in loading.rows().items() if rows and table.startswith("vaa")} == {}
    checksum_path(tmp_path / name).unlink()
    assert loading.load(tmp_path / name).messages == 3


@pytest.mark.parametrize("name", ["prices.csv", "tokens.csv.gz"])
def test_prices_and_tokens_that_differ_from_their_checksum_are_rejected(name: str, tmp_path: Path) -> None:
    path = changed_file(tmp_path / name, (ROOT / "sample/wormhole" / name).read_bytes())
    with pytest.raises(ValueError, match=f"{name}: checksum [0-9a-f]{{64}} expected, as {name}.b2sum has it, found"):
        (read_prices if name.startswith("prices") else read_token_list)(path)


def test_a_genesis_that_differs_from_its_checksum_is_rejected(tmp_path: Path) -> None:
    path = changed_file(tmp_path / "genesis.json", (SAMPLE / "genesis.json").read_bytes())
    with pytest.raises(ValueError, match=r"genesis\.json: checksum"), open_genesis(path):
        pass

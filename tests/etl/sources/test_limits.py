"""Hostile input files: each costs only itself, within bounded memory, and its reject names file, line and limit."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from etl.archive.validate import Level, validate
from etl.engine.settings import EtlSettings
from etl.sources.files import archive_files
from etl.sources.limits import Limits
from etl.sources.plan import REJECTS_A_FILE, Plan, scan
from etl.sources.rejects import Reject
from etl.wormhole.places import find_places, vaa_files
from ledger.stardust.codec import MAX_BLOCK_BYTES
from tests.conftest import ROOT
from tests.etl.archives import dump, sample, write
from tests.etl.stardust_archives import line_of, packed, write_folder

KIB, MIB = 1 << 10, 1 << 20
LIMITS = Limits(MIB, 256 * MIB)
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 9, mtime=0),
    "zstd": zstandard.ZstdCompressor(19).compress,
}


def good(*numbers: int) -> bytes:
    return b"".join(dump(sample()[number - 1]) for number in numbers)


def scanned(*files: Path, limits: Limits = LIMITS) -> Plan:
    return scan(list(files), first=None, last=None, limits=limits)


def places(plan: Plan) -> list[tuple[str, int, int]]:
    """(file, line, milestone) of what is loaded."""
    rows = plan.lines.to_pylist()
    return [(Path(row["file"]).name, row["line"], row["milestone_index"]) for row in rows]


@pytest.mark.parametrize("pack", [bytes, *PACKS.values()], ids=["plain", *PACKS])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["with its end", "without its end"])
def test_a_line_that_is_too_long_is_a_reject_and_its_neighbours_are_read(
    tmp_path: Path, pack: Callable[[bytes], bytes], end: bytes
) -> None:
    longest = b'{"milestone_index":9,"messages":{}}'.ljust(MIB - 1) + b"\n"
    long = b"[" * (3 * MIB) + end
    content = good(1) + longest + long + (good(3) if end else b"")
    path = write(tmp_path / "a.log", [pack(content)])
    plan = scanned(path)
    assert places(plan) == [("a.log", 1, 1), *([("a.log", 4, 3)] if end else []), ("a.log", 2, 9)]
    reason = f"line: at most 1048576 bytes expected (etl.max_line_bytes), found {len(long)}"
    assert plan.broken == [Reject(str(path), 3, "", reason)]
    (fault,) = (each for each in validate([path], Level.LIGHT, limits=LIMITS).faults if each.line)
    assert (fault.file, fault.line, fault.detail) == (str(path), 3, reason)


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_a_file_that_unpacks_to_too_much_is_a_reject_after_its_good_lines(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    content = good(1, 2) + b" " * MIB + b"\n" + good(3)
    path = write(tmp_path / "a.log", [pack(content)])
    most = len(good(1, 2)) + 100 * KIB
    plan = scanned(path, limits=Limits(64 * MIB, most))
    assert places(plan) == [("a.log", 1, 1), ("a.log", 2, 2)]
    reason = f"file: at most {most} bytes expected after decompression (etl.max_unpacked_bytes), found more"
    assert plan.broken == [Reject(str(path), 3, "", reason)]
    whole = scanned(path, limits=Limits(64 * MIB, len(content)))
    assert (places(whole)[-1], whole.broken) == (("a.log", 4, 3), [])
    # A file without compression is as large as it is.
    plain = write(tmp_path / "plain.log", [content])
    assert scanned(plain, limits=Limits(64 * MIB, most)).broken == []


PEAK = """
import sys
from pathlib import Path
from etl.sources.plan import scan
from etl.sources.limits import Limits
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
plan = scan([Path(sys.argv[1])], first=None, last=None, limits=Limits(1 << 20, int(sys.argv[2])))
print(peak() - before, plan.lines.num_rows, plan.broken[-1].reason)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
@pytest.mark.parametrize(
    ("unpacked", "reason"),
    [
        (1 << 40, "line: at most 1048576 bytes expected (etl.max_line_bytes), found 805306369"),
        (1 << 28, "file: at most 268435456 bytes expected after decompression (etl.max_unpacked_bytes), found more"),
    ],
    ids=["line", "file"],
)
def test_a_bomb_uses_little_memory(tmp_path: Path, pack: Callable[[bytes], bytes], unpacked: int, reason: str) -> None:
    """768 MiB of zeros in one line, from less than 1 MB."""
    path = write(tmp_path / "bomb.log", [pack(good(1)), *([pack(bytes(64 * MIB))] * 12), pack(b"\n" + good(2))])
    assert path.stat().st_size < MIB
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path), str(unpacked)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    grown_kib, loaded, found = done.stdout.strip().split(" ", 2)
    assert found == reason
    assert int(loaded) == (2 if "line:" in reason else 1)
    # Up to 16 MiB of a step of decompression, twice while it is copied.
    assert int(grown_kib) < 100 * KIB


def test_a_document_over_several_lines_has_the_limit_of_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [b"{\n", b" " * (2 * MIB), b"\n}\n"])
    (reject,) = scanned(path).broken
    assert (reject.file, reject.line) == (str(path), 0)
    assert "a document of at most 1048576 bytes expected (etl.max_line_bytes), found more" in reject.reason


def test_blocks_of_a_milestone_have_the_limit_of_a_line(tmp_path: Path) -> None:
    data = [packed(line_of(number)) for number in range(1, 8)]
    path = write(tmp_path / "some.blocks", data)
    longest = max(data, key=len)
    plan = scanned(path, limits=Limits(len(longest) - 1, 1))
    (reject,) = plan.broken
    assert (
        reject.reason == f"blocks: at most {len(longest) - 1} bytes expected (etl.max_line_bytes), found {len(longest)}"
    )
    left = [each for each in data if each is not longest]
    with path.open("rb") as file:
        rows = plan.lines.to_pylist()
        assert [(file.seek(row["offset"]), file.read(row["length"]))[1] for row in rows] == left
    before = sum(1 + len(line_of(number)["blocks"]) for number in range(1, 1 + data.index(longest)))
    assert (reject.line, len(scanned(path).lines)) == (1 + before, 7)


@pytest.mark.parametrize("pack", [bytes, *PACKS.values()], ids=["plain", *PACKS])
def test_a_file_without_a_valid_line_is_one_reject(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "README.md", [pack((ROOT / "README.md").read_bytes())])
    plan = scanned(path)
    (reject,) = plan.broken
    assert (reject.file, reject.line, reject.item) == (str(path), 0, "")
    assert reject.reason.startswith("file: no valid line; line 1: line: expected one JSON object, ")
    assert (plan.files, plan.names) == ([], [str(path)])
    vaas, sources, rejects, names = find_places([path], LIMITS)
    assert (vaas.num_rows, sources, names) == (0, [], [str(path)])
    (reject,) = rejects
    assert (reject.file, reject.line) == (str(path), 0)
    assert reject.reason.startswith("file: no valid line; line 1: expected JSON, or the bytes of a VAA")


def test_an_empty_file_is_not_a_reject(tmp_path: Path) -> None:
    plan = scanned(write(tmp_path / "1.part", []), write(tmp_path / "2.part", [b"\n \n"]))
    assert plan.broken == []
    assert len(plan.files) == 2


def test_of_many_rejects_the_first_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", [good(1), b"x\n" * (REJECTS_A_FILE + 7)])
    broken = scanned(path).broken
    assert [each.line for each in broken[:3]] == [2, 3, 4]
    assert len(broken) == REJECTS_A_FILE + 1
    assert broken[-1] == Reject(str(path), 0, "", "file: 7 more lines are rejected")


def test_texts_of_a_reject_are_cut() -> None:
    reject = Reject("a.log", 1, "ab" * 5_000, "x" * 70_000)
    assert (len(reject.item), len(reject.reason)) == (201, 1_001)
    assert Reject("a.log", 1, "ab" * 32, "y" * 1_000) == Reject("a.log", 1, "ab" * 32, "y" * 1_000)


def unreadable_folder(folder: Path) -> dict[str, str]:
    """A folder with one good file and files that cannot be read. Returns the name and reason of each reject."""
    write(folder / "good.log", [good(1, 2)])
    write(folder / os.fsdecode(b"\xff\xfe.log"), [good(3)])
    (folder / "gone.log").symlink_to(folder / "nowhere")
    (folder / "loop.log").symlink_to(folder / "loop.log")
    # Reading the memory of a process at 0 fails, also for root.
    (folder / "memory.log").symlink_to("/proc/self/mem")
    os.mkfifo(folder / "pipe.log")
    write(folder / "cut.log.gz", [gzip.compress(good(4))[:-20]])
    write(folder / "cut.jsonl.zst", [zstandard.compress(good(4))[:40]])
    return {
        "\\xff\\xfe.log": "file: a name in UTF-8 expected",
        "gone.log": "file: readable to its end, FileNotFoundError: [Errno 2] No such file or directory",
        "loop.log": "file: readable to its end, OSError: [Errno 40] Too many levels of symbolic links",
        "memory.log": "file: no valid line; line 1: file: readable to its end, OSError: [Errno 5] Input/output error",
        "pipe.log": "file: a regular file or a directory expected",
        "cut.log.gz": "file: no valid line; line 1: file: readable to its end, EOFError: the compressed file is cut",
        "cut.jsonl.zst": "file: no valid line; line 1: file: readable to its end, EOFError: ",
    }


def test_files_that_cannot_be_read_are_rejects_of_those_files(tmp_path: Path) -> None:
    expected = unreadable_folder(tmp_path)
    plan = scanned(*archive_files([tmp_path]))
    assert places(plan) == [("good.log", 1, 1), ("good.log", 2, 2)]
    found = {each.file.removeprefix(f"{tmp_path}/"): each for each in plan.broken}
    assert found.keys() == expected.keys()
    for name, reason in expected.items():
        assert found[name].reason.startswith(reason), name
        assert (found[name].line, found[name].item) == (0, "")
    assert [Path(each.file).name for each in plan.files] == ["good.log"]
    faults = {
        each.file.removeprefix(f"{tmp_path}/") for each in validate(archive_files([tmp_path]), Level.LIGHT).faults
    }
    assert expected.keys() <= faults
    # The rejects are those of a Wormhole network, too, for the suffixes that it reads.
    *_, rejects, names = find_places(vaa_files([tmp_path]))
    assert [Path(each.file).name for each in rejects] == [Path(each).name for each in names] == ["cut.jsonl.zst"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_files_without_permission_are_rejects_of_those_files(tmp_path: Path) -> None:
    for path in (write(tmp_path / "a.log", [good(1)]), write(tmp_path / "below" / "b.log", [good(2)]).parent):
        path.chmod(0)
    try:
        plan = scanned(*archive_files([tmp_path]))
    finally:
        (tmp_path / "below").chmod(0o700)
    assert [(Path(each.file).name, each.line) for each in plan.broken] == [("a.log", 0), ("below", 0)]
    assert all("PermissionError: [Errno 13] Permission denied" in each.reason for each in plan.broken)


def test_a_file_that_vanishes_after_it_was_listed_is_a_reject(tmp_path: Path) -> None:
    files = [write(tmp_path / "a.log", [good(1)]), write(tmp_path / "b.log", [good(2)])]
    listed = archive_files([tmp_path])
    files[0].unlink()
    plan = scanned(*listed)
    assert places(plan) == [("b.log", 1, 2)]
    (reject,) = plan.broken
    assert (reject.file, reject.line) == (str(files[0]), 0)
    assert "FileNotFoundError" in reject.reason


def test_a_file_of_a_folder_of_raw_blocks_costs_only_itself(tmp_path: Path) -> None:
    whole, folder = (write_folder(tmp_path / name, [line_of(1), line_of(2)]) for name in ("whole", "raw"))
    write(folder / "large.block", [bytes(MAX_BLOCK_BYTES + 1)])
    write(folder / "empty.block", [])
    (folder / "gone.milestone").symlink_to(folder / "nowhere")
    plan, clean = scanned(folder), scanned(whole)
    assert [row["length"] for row in plan.lines.to_pylist()] == [row["length"] for row in clean.lines.to_pylist()]
    assert {(each.file, each.line, each.item): each.reason for each in plan.broken} == {
        (str(folder), 0, "empty.block"): f"file: a block of 1 to {MAX_BLOCK_BYTES} bytes expected, found 0",
        (str(folder), 0, "gone.milestone"): "file: a regular file expected",
        (str(folder), 0, "large.block"): f"file: a block of 1 to {MAX_BLOCK_BYTES} bytes expected, found more",
    }


def test_the_limits_are_settings() -> None:
    assert Limits.of(EtlSettings()) == Limits(64 * MIB, 16 << 30)
    assert Limits.of(EtlSettings(max_line_bytes=5, max_unpacked_bytes=7)) == Limits(5, 7)
    for name in ("max_line_bytes", "max_unpacked_bytes"):
        with pytest.raises(ValueError, match=f"{name} must be 1 or more, not 0"):
            EtlSettings(**{name: 0})

"""The archive writer: the files that a crash leaves, and how the next run continues from them."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from etl.archive import writer as written
from etl.archive.writer import FolderInUse, archive_writer, held_by_closed


def line_of(index: int) -> bytes:
    return json.dumps({"milestone_index": index, "filler": "x" * (index * 7 % 40)}).encode() + b"\n"


def write(folder: Path, indices: list[int], max_bytes: int = 1 << 20) -> None:
    """What every command does: it writes only missing milestones, in ascending order."""
    with archive_writer(folder, max_bytes) as writer:
        held = {index for first, last in writer.held() for index in range(first, last + 1)}
        for index in indices:
            if index not in held:
                writer.append(index, line_of(index))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_file_is_named_by_its_milestones_and_has_its_checksum_beside_it(tmp_path: Path) -> None:
    write(tmp_path, [3, 4, 5])
    data = b"".join(map(line_of, [3, 4, 5]))
    digest = hashlib.blake2b(data, digest_size=32).hexdigest()
    assert contents(tmp_path) == {"3to6.log": data, "3to6.log.b2sum": f"{digest}  3to6.log\n".encode()}


def test_a_hole_and_the_greatest_size_begin_a_new_file(tmp_path: Path) -> None:
    write(tmp_path, [1, 2, 5, 6], max_bytes=len(line_of(5)) + len(line_of(6)))
    names = [name for name in contents(tmp_path) if name.endswith(".log")]
    assert names == ["1to3.log", "5to7.log"]
    write(tmp_path, [1, 2, 5, 6, 7, 8, 9], max_bytes=1)
    names = {name for name in contents(tmp_path) if name.endswith(".log")}
    assert names == {"1to3.log", "5to7.log", "7to8.log", "8to9.log", "9to10.log"}


@given(st.data())
def test_whatever_a_kill_leaves_the_next_run_writes_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    last = data.draw(st.integers(1, 12))
    indices = (
        data.draw(st.lists(st.integers(1, 14), min_size=1, unique=True).map(sorted))
        if last % 2
        else list(range(1, last + 1))
    )
    max_bytes = data.draw(st.sampled_from([1, 60, 150, 1 << 20]))
    root = tmp_path_factory.mktemp("kill")
    write(root / "whole", indices, max_bytes)
    whole = contents(root / "whole")
    # A killed run left closed files and part of an open one, whose last line may be incomplete.
    logs = sorted((name for name in whole if name.endswith(".log")), key=lambda name: int(name.split("to")[0]))
    at = data.draw(st.integers(0, len(logs) - 1))
    (root / "killed").mkdir()
    for name in logs[:at]:
        for each in (name, f"{name}.b2sum"):
            (root / "killed" / each).write_bytes(whole[each])
    torn = whole[logs[at]][: data.draw(st.integers(0, len(whole[logs[at]])))]
    # After a power failure, blocks that were not written contain NUL bytes.
    tail = data.draw(st.sampled_from([b"", b"\0" * 20, b"\0" * 20 + b"\n"]))
    (root / "killed" / f"{logs[at].split('to')[0]}.part").write_bytes(torn + tail)
    write(root / "killed", indices, max_bytes)
    assert contents(root / "killed") == whole


@pytest.mark.parametrize("step", range(9))
def test_a_crash_at_any_step_of_closing_is_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    write(tmp_path / "whole", [1, 2, 3])
    steps: Iterator[int] = iter(range(100))

    def failing(real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if next(steps) == step:
                raise OSError("killed here")
            return real(*arguments)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(written, "sync", failing(written.sync))
        patched.setattr(Path, "replace", failing(Path.replace))
        try:
            write(tmp_path / "killed", [1, 2, 3])
        except OSError:
            crashed = True
        else:
            crashed = False
    # Every file with the name of a closed file is complete and has its checksum.
    for path in (tmp_path / "killed").glob("*.log"):
        assert contents(path.parent)[f"{path.name}.b2sum"] == contents(tmp_path / "whole")["1to4.log.b2sum"]
    write(tmp_path / "killed", [1, 2, 3])
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert crashed or next(steps) <= step


@pytest.mark.parametrize("left", [[10, 12], [11], [11, 11]])
def test_what_another_program_left_is_named_and_stays(tmp_path: Path, left: list[int]) -> None:
    data = b"".join(map(line_of, left))
    (tmp_path / "10.part").write_bytes(data)
    number = 1 if left[0] != 10 else 2
    with pytest.raises(
        ValueError,
        match=rf"10\.part:{number}: expected the line of 1{number - 1} that an earlier run wrote, found another line; "
        "move the file away",
    ):
        write(tmp_path, [1, 2])
    assert contents(tmp_path) == {"10.part": data}


TEN, TWENTY = (b"".join(line_of(index) for index in range(first, first + 9)) for first in (10, 20))

FOREIGN = {
    "gzip": gzip.compress(TEN),
    "gzip of one byte": gzip.compress(b"x"),
    "zstd": zstandard.compress(TEN),
    "text": b"a list of milestones\n10\n11\n",
    "text without a line feed": b"10, 11",
    "JSON over several lines": b'{\n  "milestone_index": 10\n}\n',
    "another JSON, cut off": b'{"name": "part", "milest',
    "a damaged first line": b"x" + TEN,
    "a damaged only line": line_of(10)[1:],
    "a cut first line with its line feed": line_of(10)[:20] + b"\n",
    "NUL bytes before something": b"\0" * 20 + b"\x01\x02",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_no_run_of_this_program_wrote_is_named_and_nothing_changes(tmp_path: Path, name: str) -> None:
    # 1.part would be repaired, but not before every file was read.
    before = {"1.part": line_of(1) + b'{"milest', "10.part": FOREIGN[name], "20.part": TWENTY}
    for file, data in before.items():
        (tmp_path / file).write_bytes(data)
    expected = (
        r"10\.part:1: expected the line of 10 that an earlier run wrote, found (data of|an unr).*; move the file away"
    )
    with pytest.raises(ValueError, match=expected):
        write(tmp_path, [1, 2])
    assert contents(tmp_path) == before


@pytest.mark.parametrize("damage", [b"x", b"\0", b"\n", b"}"])
@pytest.mark.parametrize("line", range(1, 9))
def test_whole_lines_behind_a_damaged_one_are_never_deleted(tmp_path: Path, damage: bytes, line: int) -> None:
    start = len(b"".join(map(line_of, range(10, 9 + line)))) + 1
    data = TEN[:start] + damage + TEN[start + 1 :]
    (tmp_path / "10.part").write_bytes(data)
    with pytest.raises(ValueError, match=rf"10\.part:{line}: expected the line of {9 + line} .* move the file away"):
        write(tmp_path, [10, 11])
    assert contents(tmp_path) == {"10.part": data}


TORN = {
    "nothing": b"",
    "NUL bytes only": b"\0" * 50,
    "the beginning of a line": line_of(13)[:15],
    "a line without its line feed": line_of(13)[:-1],
    "a damaged last line": line_of(13)[1:],
    "NUL bytes in a line, and its end": line_of(13)[:15] + b"\0" * 8 + line_of(13)[23:],
    "NUL bytes in a line, its end, and the beginning of a line": line_of(13)[:15] + b"\0" * 8 + b'"}\n{"mil',
    "NUL bytes over several lines": line_of(13)[:15] + b"\0" * 99 + line_of(15)[20:] + line_of(16)[:20],
}


@pytest.mark.parametrize(
    ("name", "whole_lines"),
    # Without a whole line before it, a damaged line can be any program's.
    [(name, count) for name in TORN for count in (0, 3) if (name, count) != ("a damaged last line", 0)],
)
def test_a_torn_end_is_cut_off(tmp_path: Path, name: str, whole_lines: int) -> None:
    first = 13 - whole_lines
    (tmp_path / f"{first}.part").write_bytes(b"".join(map(line_of, range(first, 13))) + TORN[name])
    write(tmp_path, list(range(first, 17)))
    assert (tmp_path / f"{first}to17.log").read_bytes() == b"".join(map(line_of, range(first, 17)))
    assert len(contents(tmp_path)) == 2


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "1to3.log").write_bytes(b"of another\n")
    with pytest.raises(ValueError, match=r"1to3\.log: exists, but 1\.part must get this name"):
        write(tmp_path, [1, 2])
    assert contents(tmp_path) == {"1to3.log": b"of another\n", "1.part": line_of(1) + line_of(2)}
    (tmp_path / "1to3.log").unlink()
    write(tmp_path, [])
    assert contents(tmp_path)["1to3.log"] == line_of(1) + line_of(2)


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(line_of(1) * 50)
    (tmp_path / "1to5.log.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"1to5\.log\.gz: a file that can be read to its end expected: "):
        write(tmp_path, [7])


def test_two_runs_may_not_write_into_one_folder(tmp_path: Path) -> None:
    with archive_writer(tmp_path), pytest.raises(FolderInUse, match="another run"), archive_writer(tmp_path):
        pass
    with archive_writer(tmp_path):
        pass


def test_a_file_without_checksum_is_read_for_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "1to5.log").write_bytes(line_of(1) + line_of(3) + b"broken\n")
    assert held_by_closed(tmp_path) == [(1, 1), (3, 3)]

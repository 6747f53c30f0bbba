"""The archive writer: the files that a crash leaves, and how the next run continues from them."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
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
    with pytest.raises(ValueError, match=r"10\.part: a file that an earlier run left expected, with a line of 1"):
        write(tmp_path, [1, 2])
    assert contents(tmp_path) == {"10.part": data}


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

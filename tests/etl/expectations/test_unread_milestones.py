"""Milestones in files that are as a decoding wrote them are not read again. All others are."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from db.intervals import Intervals
from etl.engine.delta_state import DataFile
from etl.expectations.lake import unread_milestones
from etl.lake.parts import LakePart, checksum_of

RUN = [(1, 20)]
SPANS = {"first": (1, 9), "second": (10, 15)}


@pytest.fixture
def parts(tmp_path: Path) -> list[LakePart]:
    """Two files of a decoding. Nothing is in 16 to 20."""
    for name in SPANS:
        (tmp_path / name).write_bytes(name.encode() * 100)
    return [LakePart(tmp_path / name, 0, 1, *span, checksum_of(tmp_path / name)) for name, span in SPANS.items()]


def unread(folder: Path, parts: list[LakePart], files: dict[str, tuple[int | None, int | None]]) -> Intervals:
    held = [DataFile(f"part-{name}-{checksum_of(folder / name)}.parquet", 9, (), *span) for name, span in files.items()]
    lake: Any = SimpleNamespace(log=lambda _: SimpleNamespace(files=lambda: held))
    return unread_milestones(lake, parts, RUN)


def test_files_as_they_were_written_are_not_read(tmp_path: Path, parts: list[LakePart]) -> None:
    assert unread(tmp_path, parts, {**SPANS}) == []


def test_a_file_of_the_same_size_with_other_bytes_is_read(tmp_path: Path, parts: list[LakePart]) -> None:
    data = (tmp_path / "second").read_bytes()
    (tmp_path / "second").write_bytes(data[:-1] + b"?")
    assert unread(tmp_path, parts, {**SPANS}) == [(10, 15)]


def test_a_file_of_an_earlier_version_is_read(parts: list[LakePart]) -> None:
    held = [DataFile("part-1.parquet", 9, (), *SPANS["first"])]
    lake: Any = SimpleNamespace(log=lambda _: SimpleNamespace(files=lambda: held))
    assert unread_milestones(lake, parts[:1], [SPANS["first"]]) == [SPANS["first"]]


def test_a_file_that_the_lake_does_not_have_is_read_elsewhere(tmp_path: Path, parts: list[LakePart]) -> None:
    assert unread(tmp_path, parts, {"first": SPANS["first"]}) == [(10, 15)]


def test_a_second_copy_of_a_file_is_read(tmp_path: Path, parts: list[LakePart]) -> None:
    (tmp_path / "copy").write_bytes((tmp_path / "first").read_bytes())
    assert unread(tmp_path, parts, {**SPANS, "copy": (1, 9)}) == [(1, 9)]


@pytest.mark.parametrize(
    ("span", "read"), [((8, 12), [(8, 12)]), ((16, 90), [(16, 20)]), ((21, 90), []), ((None, None), RUN)]
)
def test_milestones_of_other_files_are_read(
    tmp_path: Path, parts: list[LakePart], span: tuple[int | None, int | None], read: Intervals
) -> None:
    (tmp_path / "other").write_bytes(b"other")
    assert unread(tmp_path, parts, {**SPANS, "other": span}) == read


def test_without_files_of_a_decoding_all_is_read(tmp_path: Path, parts: list[LakePart]) -> None:
    assert parts
    assert unread(tmp_path, [], {**SPANS}) == [(1, 15)]

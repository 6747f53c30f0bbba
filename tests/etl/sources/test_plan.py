"""What a run has to read: every line by milestone, divided into tasks, for all kinds of files."""

import random
from hashlib import blake2b
from pathlib import Path

import pytest

from etl.sources.file_eras import LINES_TRIED, codec_of
from etl.sources.limits import Limits
from etl.sources.lines import LineReader, lines
from etl.sources.plan import Plan, scan
from etl.sources.unpacking import open_stream
from ledger.eras import CHRYSALIS, STARDUST
from tests.etl import stardust_archives
from tests.etl.archives import COMPRESSIONS, dump, format_d, gzipped, oracle, pending, sample, write, zstd


def lines_of(*numbers: int) -> list[bytes]:
    milestones = sample()
    return [dump(milestones[number - 1]) for number in numbers]


def planned(plan: Plan, wanted: list[tuple[int, int]] | None = None) -> dict[int, list[tuple[str, int]]]:
    """Milestone → (file name, line) of its copies."""
    table = plan.copies(plan.milestones() if wanted is None else wanted, 64 << 20, 2)
    return {
        row["milestone_index"]: [(Path(each["file"]).name, each["line"]) for each in row["copies"]]
        for row in table.to_pylist()
    }


def test_overlapping_files_in_any_form_give_copies(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.log", lines_of(3, 1, 2)),
        write(tmp_path / "b.part", [b"\n", dump(oracle()[2]), *lines_of(4)]),
        write(tmp_path / "c.log.gz", [gzipped(b"".join([dump(format_d(sample()[0])), b" \n", *lines_of(9)]))]),
    ]
    plan = scan(files, first=None, last=None)
    assert plan.milestones() == [(1, 4), (9, 9)]
    assert planned(plan) == {
        1: [("a.log", 2), ("c.log.gz", 1)],
        2: [("a.log", 3)],
        3: [("a.log", 1), ("b.part", 2)],
        4: [("b.part", 3)],
        9: [("c.log.gz", 3)],
    }
    assert plan.broken == []
    assert planned(plan, [(2, 3), (5, 9)]).keys() == {2, 3, 9}
    assert planned(plan, []) == {}


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, [(1, 5)]),
        (2, 4, [(2, 3)]),
        (4, None, [(4, 5)]),
        (6, 9, []),
        (3, 3, []),
        (2, 10**20, [(2, 5)]),
        (10**20, 2 * 10**20, []),
    ],
)
def test_a_range_leaves_the_others_out(
    tmp_path: Path, first: int | None, last: int | None, expected: list[tuple[int, int]]
) -> None:
    plan = scan([write(tmp_path / "a.log", lines_of(1, 2, 3, 4, 5))], first=first, last=last)
    assert plan.milestones() == expected
    assert plan.files[0].lines == 5


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_place_leads_back_to_its_line(tmp_path: Path, compression: str) -> None:
    content = [b"\n", *lines_of(5, 6, 7)]
    path = write(tmp_path / "a.log", [COMPRESSIONS[compression](b"".join(content))])
    plan = scan([path], first=None, last=None)
    reader = LineReader()
    for row in plan.copies(plan.milestones(), 64 << 20, 1).to_pylist():
        (place,) = row["copies"]
        assert reader.read(place["file"], place["offset"], place["length"]) == content[row["milestone_index"] - 4]
    reader.close()


def test_tasks_are_runs_of_about_equal_bytes(tmp_path: Path) -> None:
    order = random.Random(1).sample(range(1, 51), 50)
    lines = lines_of(*order)
    plan = scan([write(tmp_path / "a.log", lines)], first=None, last=None)
    total, largest_line = sum(map(len, lines)), max(map(len, lines))
    for task_bytes, least in ((64 << 20, 4), (total // 10, 2), (1, 1)):
        rows = plan.copies(plan.milestones(), task_bytes, least).to_pylist()
        assert [row["milestone_index"] for row in rows] == list(range(1, 51))
        tasks = [row["task"] for row in rows]
        assert tasks == sorted(tasks)
        count = max(least, -(-total // task_bytes))
        assert set(tasks) <= set(range(count))
        sizes = dict.fromkeys(tasks, 0)
        for row, task in zip(rows, tasks, strict=True):
            sizes[task] += sum(each["length"] for each in row["copies"])
        assert max(sizes.values()) <= total / count + largest_line


def test_broken_lines_are_named_and_the_others_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.log",
        [
            *lines_of(1), b"not json\n", *lines_of(2), b'{"milestone":5,"messages":[]}\n',
            b'{"milestone_index":4294967296,"messages":{}}\n', *lines_of(3), lines_of(4)[0][:500],
        ],
    )  # fmt: skip
    plan = scan([path], first=None, last=None)
    # The last line is cut off but contains its milestone: decoding rejects it.
    assert planned(plan) == {1: [("a.log", 1)], 2: [("a.log", 3)], 3: [("a.log", 6)], 4: [("a.log", 7)]}
    assert [(Path(each.file).name, each.line, each.item) for each in plan.broken] == [
        ("a.log", 2, ""), ("a.log", 4, ""), ("a.log", 5, "")
    ]  # fmt: skip
    assert plan.broken[0].reason.startswith("line: expected one JSON object")
    assert "4294967296" in plan.broken[2].reason


@pytest.mark.parametrize("pack", [gzipped, zstd])
def test_a_file_that_ends_too_soon_is_named_and_what_is_good_is_read(tmp_path: Path, pack: object) -> None:
    content = b"".join(lines_of(*range(1, 21)))
    packed = gzipped(content) if pack is gzipped else zstd(content)
    path = write(tmp_path / "a.log", [packed[: len(packed) // 2]])
    plan = scan([path], first=None, last=None)
    (broken,) = plan.broken
    read = planned(plan)
    assert (broken.file, broken.line, broken.item) == (str(path), len(read) + 1, "")
    assert broken.reason == "file: readable to its end, EOFError: the compressed file is cut off"
    assert list(read) == list(range(1, len(read) + 1))


def test_pending_lines_are_separate(tmp_path: Path) -> None:
    path = write(tmp_path / "pending.jsonl", [*pending(), *lines_of(1)])
    plan = scan([path], first=None, last=None)
    assert planned(plan) == {1: [("pending.jsonl", len(pending()) + 1)]}
    places = [each["copies"][0] for each in plan.pending.to_pylist()]
    assert [place["line"] for place in places] == list(range(1, len(pending()) + 1))


def test_files_are_noted_with_their_checksum(tmp_path: Path) -> None:
    content = b"".join(lines_of(1, 2))
    plain, packed = write(tmp_path / "a.log", [content]), write(tmp_path / "b.log", [zstd(content)])
    for source in scan([plain, packed], first=2, last=3).files:
        assert (source.lines, source.size) == (2, len(content))
        assert source.checksum == blake2b(content, digest_size=32).digest()


STARDUST_LINES = [dump(stardust_archives.line_of(number)) for number in (1, 2, 3)]

SPOILED_FIRST = {
    "its beginning is missing": STARDUST_LINES[0][50:],
    "its end is missing": STARDUST_LINES[0][:500] + b"\n",
    "it is no JSON": b"# milestones of the network\n",
    "it is another document": b'{"network": "permatest-2"}\n',
    "it is empty": b"{}\n",
    "it is too long": b'{"x": "' + b"x" * 100_000 + b'"}\n',
    "it is one of many": b"broken\n" * 1_000,
}


@pytest.mark.thorough
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", SPOILED_FIRST)
def test_the_first_readable_line_decides_the_era(tmp_path: Path, name: str, compression: str) -> None:
    content = SPOILED_FIRST[name] + b"".join(STARDUST_LINES[1:])
    path = write(tmp_path / "a.jsonl", [COMPRESSIONS[compression](content)])
    limits = Limits(90_000, 1 << 30)
    assert max(map(len, STARDUST_LINES)) < 90_000
    plan = scan([path], first=None, last=None, limits=limits)
    assert plan.codec() is STARDUST
    assert {2, 3} <= planned(plan).keys()
    assert codec_of([str(path)], limits) is STARDUST
    other = write(tmp_path / "b.jsonl", lines_of(1))
    assert codec_of(map(str, [path, other]), limits) is STARDUST
    assert codec_of(map(str, [other, path]), limits) is CHRYSALIS


def test_a_file_without_a_readable_line_decides_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [b"broken\n" * LINES_TRIED, STARDUST_LINES[0]])
    assert codec_of([str(path)]) is None
    assert codec_of([str(tmp_path / "missing"), str(path), str(write(tmp_path / "b.jsonl", lines_of(1)))]) is CHRYSALIS
    cut = write(tmp_path / "c.jsonl.gz", [gzipped(b"".join(STARDUST_LINES))[:200]])
    assert codec_of(map(str, [cut, write(tmp_path / "d.jsonl", STARDUST_LINES)])) is STARDUST
    # The limits are those of the run.
    large = write(tmp_path / "e.jsonl", STARDUST_LINES)
    assert codec_of([str(large)], Limits(100, None)) is None


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_byte_order_mark_is_not_part_of_the_first_line(tmp_path: Path, compression: str) -> None:
    bom = b"\xef\xbb\xbf"
    pack = COMPRESSIONS[compression]
    path = write(tmp_path / "a.jsonl", [pack(bom + b"".join(STARDUST_LINES[1:]))])
    document = write(tmp_path / "b.json", [pack(bom + b"[\n" + b"1]\n")])
    plan = scan([path], first=None, last=None)
    assert (plan.broken, plan.codec()) == ([], STARDUST)
    assert planned(plan) == {2: [("a.jsonl", 1)], 3: [("a.jsonl", 2)]}
    assert plan.files[0].size == len(bom) + sum(map(len, STARDUST_LINES[1:]))
    reader = LineReader()
    found = [row["copies"][0] for row in plan.copies(plan.milestones(), 64 << 20, 1).to_pylist()]
    assert [reader.read(each["file"], each["offset"], each["length"]) for each in found] == STARDUST_LINES[1:]
    with open_stream(str(document)) as stream:
        ((number, offset, data),) = lines(stream)
    assert (number, offset, data) == (1, len(bom), b"[\n1]\n")
    assert reader.read(str(document), offset, len(data)) == data
    reader.close()
    # In any other place it is a fault of that line only.
    middle = write(tmp_path / "c.jsonl", [STARDUST_LINES[0], bom + STARDUST_LINES[1], STARDUST_LINES[2]])
    plan = scan([middle], first=None, last=None)
    assert [each.line for each in plan.broken] == [2]
    assert planned(plan).keys() == {1, 3}

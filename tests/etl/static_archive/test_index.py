"""The index of ids: its size, its false positives, and keys that are chosen to collide."""

import random
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from etl.static_archive import index as built
from etl.static_archive.index import BuiltIndex, IndexBuilder, coefficients
from etl.static_archive.names import boundary, new_file, ranges
from etl.static_client import ENTRY_BYTES, READS, UNIT, Index

WORDS = coefficients("permatest-1", bytes(32))


def key(number: int) -> bytes:
    return sha256(number.to_bytes(8)).digest()


def build(folder: Path, keys: list[bytes], units: list[int], conflicting: list[bool]) -> tuple[Index, bytes]:
    scratch = folder / "scratch"
    scratch.mkdir()
    builder = IndexBuilder(scratch, WORDS, len(keys))
    for at in range(0, len(keys), 10_000):
        part = slice(at, at + 10_000)
        classes = np.array([unit % len(READS) for unit in units[part]], np.uint64)
        ids = np.frombuffer(b"".join(keys[part]), np.uint8)
        builder.add(ids, np.array(units[part], np.uint64), classes, np.array(conflicting[part], np.bool_))
    with new_file(folder, "index", 1, 2, "index") as file:
        made: BuiltIndex = builder.write(file)
    data = (folder / file.stored.name).read_bytes()
    assert file.stored.size == len(data)
    value = {"name": file.stored.name, "size": len(data), "slots": made.slots, "reach": made.reach}
    value |= {"offset_bits": made.offset_bits, "coefficients": [f"{word:016x}" for word in WORDS]}
    assert sum(any(data[at : at + ENTRY_BYTES]) for at in range(0, len(data), ENTRY_BYTES)) == made.keys
    return Index.of(value), data


def look_up(index: Index, data: bytes, wanted: bytes) -> list[tuple[int, int, bool]]:
    start = index.place(wanted) * ENTRY_BYTES
    return [*index.find(wanted, data[start : start + (index.reach + 1) * ENTRY_BYTES])]


@pytest.mark.thorough
@pytest.mark.parametrize("keys_a_part", [1 << 22, 3_000])
def test_every_key_is_found_in_eight_bytes_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys_a_part: int
) -> None:
    monkeypatch.setattr(built, "KEYS_A_PART", keys_a_part)
    count = 50_000
    units = [each * 37 for each in range(count)]
    index, data = build(tmp_path, [key(each) for each in range(count)], units, [each % 3 == 0 for each in range(count)])
    assert len(data) <= 8 * count
    assert (index.reach + 1) * ENTRY_BYTES <= 1_000
    for each in range(0, count, 7):
        expected = (units[each] * UNIT, READS[units[each] % len(READS)], each % 3 == 0)
        assert look_up(index, data, key(each)) == [expected]
    assert not any(look_up(index, data, key(each)) for each in range(count, 2 * count))


def test_files_of_keys_do_not_change_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key(each) for each in range(9_000)]
    units = [*range(9_000)]
    found = []
    for name, keys_a_part in (("one", 1 << 22), ("several", 100)):
        monkeypatch.setattr(built, "KEYS_A_PART", keys_a_part)
        (tmp_path / name).mkdir()
        found.append(build(tmp_path / name, keys, units, [False] * 9_000)[1])
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_small_indexes(tmp_path: Path, count: int) -> None:
    keys = [key(each) for each in range(count)]
    index, data = build(tmp_path, keys, [*range(count)], [False] * count)
    assert [look_up(index, data, each)[0][0] for each in keys] == [each * UNIT for each in range(count)]
    assert look_up(index, data, key(99)) == []


def test_of_several_attachments_the_included_one_is_found_then_the_first(tmp_path: Path) -> None:
    keys = [key(1), key(1), key(1), key(2), key(2)]
    index, data = build(tmp_path, keys, [3, 8, 5, 9, 4], [True, False, False, True, True])
    assert [(position, is_conflicting) for position, _, is_conflicting in look_up(index, data, key(1))] == [
        (5 * UNIT, False)
    ]
    assert [(position, is_conflicting) for position, _, is_conflicting in look_up(index, data, key(2))] == [
        (4 * UNIT, True)
    ]


def test_ids_with_equal_digits_do_not_collide(tmp_path: Path) -> None:
    """The slots of ids depend on the last milestone of the index, which their makers did not know."""
    keys = [bytes(24) + each.to_bytes(8) for each in range(5_000)]
    index, _ = build(tmp_path, keys, [*range(5_000)], [False] * 5_000)
    assert index.reach < 150


def test_ranges_cover_the_milestones_with_aligned_files() -> None:
    numbers = random.Random(28)
    for _ in range(300):
        first = numbers.choice([1, numbers.randrange(1, 400_000)])
        last = first + numbers.randrange(numbers.choice([50, 5_000, 2_000_000]))
        found = [*ranges(first, last)]
        assert found[0][0] == first
        assert found[-1][1] == last
        for (_, end), (start, _) in pairwise(found):
            assert start == end + 1
        for start, end in found[1:-1]:
            assert end - start + 1 in (100, 1_000, 10_000, 100_000)
            assert start % (end - start + 1) == 0
        middle = boundary(first, last)
        assert middle == first or middle in [start for start, _ in found] or middle == last + 1


def test_the_second_index_has_at_most_a_tenth_of_the_milestones() -> None:
    for last in [999, 12_345, 99_999, 100_000, 7_669_900, 8_123_456]:
        assert last + 1 - boundary(1, last) <= max(100, last // 10)
    assert boundary(1, 8_123_456) == 8_100_000
    assert boundary(1, 50) == 1
    assert boundary(7_669_901, 7_669_950) == 7_669_901

"""Discovery of files and reading their lines by offset: plain, gzip, zstd, in one frame and in
many, whole and cut off.
"""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from etl.sources.files import archive_files, unpacked_bytes
from etl.sources.lines import LineReader, lines
from etl.sources.unpacking import open_stream
from etl.wormhole.places import vaa_files
from tests.conftest import SAMPLE
from tests.etl.archives import COMPRESSIONS, dump, gzipped, sample, zstd, zstd_frames


def some_lines() -> list[bytes]:
    return [dump(line) for line in sample()[:6]]


@pytest.mark.parametrize(
    "name",
    [
        "1to21.log", "1to21.log.fin", "1.log.active", "41.part", "pending.jsonl", "1to21.log.gz", "1to21.log.fin.zst",
        "41.part.gz", "1.log.active.zst", "x.jsonl.zst",
    ],
)  # fmt: skip
def test_a_tree_gives_files_of_known_suffixes(tmp_path: Path, name: str) -> None:
    wanted = tmp_path / "a" / "b" / name
    wanted.parent.mkdir(parents=True)
    wanted.write_bytes(b"x")
    for other in ("README.md", "1to5.err", "log", "x.log.bak", "expected.json", "x.gz", "1to21.log.gz.tmp"):
        (tmp_path / "a" / other).write_bytes(b"x")
    (tmp_path / "a" / "folder.log").mkdir()
    assert archive_files([tmp_path]) == [wanted]


def test_files_come_sorted_and_once(tmp_path: Path) -> None:
    names = ["b.log", "a/c.log", "a/a.part"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    everything = sorted(tmp_path / name for name in names)
    assert archive_files([tmp_path, tmp_path / "b.log", tmp_path / "a", tmp_path]) == everything


def test_a_file_named_outright_is_taken_whatever_its_name(tmp_path: Path) -> None:
    odd = tmp_path / "dump of tuesday.txt"
    odd.write_bytes(b"x")
    assert archive_files([odd]) == [odd]


def linked_archive(root: Path) -> tuple[Path, list[Path]]:
    """An archive with links to folders, and its files by their real paths."""
    (root / "disk" / "deep").mkdir(parents=True)
    (root / "archive" / "z").mkdir(parents=True)
    for name in ("archive/1to5.log", "archive/z/5to9.log", "disk/9to11.log", "disk/deep/11to13.log"):
        (root / name).write_bytes(b"x")
    # To another disk, twice, to a folder inside that disk, to a folder of the archive, and in a loop.
    for name, target in (("b", "disk"), ("c", "disk"), ("d", "disk/deep"), ("a", "archive/z"), ("z/up", "archive")):
        (root / "archive" / name).symlink_to(root / target)
    (root / "disk" / "deep" / "back").symlink_to(root / "archive")
    archive = root / "archive"
    return archive, [archive / name for name in ("1to5.log", "b/9to11.log", "b/deep/11to13.log", "z/5to9.log")]


@pytest.mark.parametrize("list_below", [archive_files, vaa_files])
def test_links_to_folders_are_followed_and_each_folder_is_read_once(tmp_path: Path, list_below: Any) -> None:
    archive, expected = linked_archive(tmp_path)
    if list_below is not archive_files:
        for path in expected:
            path.rename(path.with_suffix(".jsonl"))
        expected = [path.with_suffix(".jsonl") for path in expected]
    assert list_below([archive]) == expected
    # Real paths come first, whatever the order of the arguments.
    below = tmp_path / "disk"
    for paths in ([archive, below], [below, archive]):
        assert list_below(paths) == sorted([expected[0], *below.rglob("*to*"), expected[3]])
    # A link that is named is followed as before.
    assert list_below([archive / "c"])[0].parent == archive / "c"


def test_a_link_that_may_have_been_a_folder_is_a_reject(tmp_path: Path) -> None:
    (tmp_path / "1to5.log").write_bytes(b"x")
    (tmp_path / "2021").symlink_to(tmp_path / "unmounted")
    (tmp_path / "README.md").symlink_to(tmp_path / "unmounted")
    assert archive_files([tmp_path]) == [tmp_path / "1to5.log", tmp_path / "2021"]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such file"):
        archive_files([tmp_path / "nowhere"])
    with pytest.raises(ValueError, match=r"no archive file \(\.log, \.log\.fin"):
        archive_files([tmp_path])


def read(path: Path) -> list[tuple[int, int, bytes]]:
    with open_stream(str(path)) as stream:
        return list(lines(stream))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_lines_have_number_and_offset(tmp_path: Path, compression: str) -> None:
    first, second, third, *_ = some_lines()
    path = tmp_path / "misleading.gz.zst"
    path.write_bytes(COMPRESSIONS[compression](b"\n" + first + b" \t \r\n\n" + second + third.rstrip(b"\n")))
    start = 1 + len(first) + 6
    assert read(path) == [(2, 1, first), (5, start, second), (6, start + len(second), third.rstrip(b"\n"))]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_empty_file_has_no_lines(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "empty.log"
    path.write_bytes(COMPRESSIONS[compression](b"") if compression != "zstd frames" else zstd(b"") + zstd(b""))
    assert read(path) == []
    path.write_bytes(b"")
    assert read(path) == []


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_lines_are_read_again_by_offset_in_any_order(tmp_path: Path, compression: str) -> None:
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    for path in paths:
        path.write_bytes(COMPRESSIONS[compression](b"".join(some_lines() * 3)))
    places = [(str(path), *place) for path in paths for place in read(path)]
    reader = LineReader()
    for order in (places, places[::3], list(reversed(places)), random.Random(7).sample(places, len(places))):
        for path, _, offset, line in order:
            assert reader.read(path, offset, len(line)) == line
    reader.close()
    reader.close()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_line_that_is_gone_is_reported(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(COMPRESSIONS[compression](b"{}\n"))
    reader = LineReader()
    assert reader.read(str(path), 0, 3) == b"{}\n"
    for offset, length in ((0, 4), (3, 1), (100, 1)):
        with pytest.raises(EOFError, match=r"a\.log"):
            reader.read(str(path), offset, length)
    reader.close()


DAMAGED: dict[str, Any] = {
    "gzip cut off": lambda data: gzipped(data)[: -len(gzipped(data)) // 3],
    "gzip without its end": lambda data: gzipped(data)[:-8],
    "gzip with a wrong checksum": lambda data: gzipped(data)[:-8] + b"\0" * 8,
    "gzip with noise inside": lambda data: overwritten(gzipped(data)),
    "gzip with noise behind": lambda data: gzipped(data) + b"noise",
    "zstd cut off": lambda data: zstd(data)[: -len(zstd(data)) // 3],
    "zstd with noise inside": lambda data: overwritten(zstd(data)),
    "zstd cut off in its last frame": lambda data: zstd_frames(data)[:-5],
    "zstd with noise behind": lambda data: zstd(data) + b"noise",
}


def overwritten(data: bytes) -> bytes:
    """Sixteen random bytes at two thirds of the file."""
    at = 2 * len(data) // 3
    return data[:at] + bytes(range(0xF0, 0x100)) + data[at + 16 :]


@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_is_one_kind_of_error_after_what_is_good(tmp_path: Path, damage: str) -> None:
    content = [dump(line) for line in sample()[:20]]
    path = tmp_path / "a.log.gz"
    path.write_bytes(DAMAGED[damage](b"".join(content)))
    good = []

    def read_on() -> None:
        with open_stream(str(path)) as stream:
            good.extend(line for _, _, line in lines(stream))

    with pytest.raises((OSError, EOFError)):
        read_on()
    if "noise inside" not in damage:  # which may decode to invalid lines
        assert good == content[: len(good)]
    reader = LineReader()
    offset = 0
    for line in good:
        assert reader.read(str(path), offset, len(line)) == line
        offset += len(line)
    with pytest.raises((OSError, EOFError)):
        reader.read(str(path), offset, 1 << 24)
    reader.close()


@pytest.mark.parametrize("name", ["stardust/milestones.jsonl.gz", "wormhole/vaas.jsonl.gz"])
def test_compressed_files_count_as_about_what_is_in_them(name: str) -> None:
    path = SAMPLE.parent / name
    unpacked = len(gzip.decompress(path.read_bytes()))
    assert unpacked / 2 < unpacked_bytes([path]) < unpacked * 2


def test_files_without_compression_and_folders_of_blocks_count_as_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "blocks").mkdir()
    for name, size in (("1to2.log", 3), ("1to2.log.zst", 5), ("blocks/1.milestone", 7), ("blocks/a.block", 11)):
        (tmp_path / name).write_bytes(bytes(size))
    assert unpacked_bytes([tmp_path / "1to2.log", tmp_path / "blocks"]) == 3 + 7 + 11
    assert unpacked_bytes([tmp_path / "1to2.log.zst", tmp_path / "nowhere"]) > 5

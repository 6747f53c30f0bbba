"""The archives of test_hostile_archives.py, and others, in the JavaScript client. Its limits are those of Python."""

import json
import random
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import zstandard

from etl import static_client
from etl.static_archive.listings import history, interval_file, pages
from etl.static_client import FORMAT, MOST_REACH, MOST_UNPACKED
from ledger.completeness import intervals
from tests.etl.static_archive.proved_pages import CLIENT
from tests.etl.static_archive.test_hostile_archives import INDEX, block, compressed, endless_server, with_listings
from tests.ledger.completeness.javascript import node

KEY = "00" * 33

PAGE = ["ledger_updates_by_address", KEY, 0, 100]


def answers(folder: Path, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the client returns for each case of hostile.mjs."""
    client = shutil.copy(CLIENT, folder / "static_archive.mjs")
    command = [node(), str(Path(__file__).with_name("hostile.mjs")), str(client)]
    lines = "\n".join(map(json.dumps, cases))
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def errors(folder: Path, cases: list[dict[str, Any]]) -> list[str | None]:
    found = [each["error"] for each in answers(folder, cases)]
    assert len(found) == len(cases)
    return found


def unpacked(folder: Path, frames: list[bytes]) -> list[dict[str, Any]]:
    return answers(folder, [{"frame": block(each).hex()} for each in frames])


def test_the_limits_are_those_of_python() -> None:
    script = CLIENT.read_text("utf-8")
    code = script[: script.index("/** A file has other bytes")] + "".join(
        re.findall(r"^const SMALLEST = .*?;\n\n", script, re.DOTALL | re.MULTILINE)
    )
    names = {
        static_client: ("MOST_MANIFEST_BYTES", "MOST_UNPACKED", "MOST_WINDOW", "MOST_REACH", "MOST_INDEXES"),
        history: ("AT_ONCE", "NUMBER_MOST", "PART_BYTES"),
        pages: ("FANOUT", "PAGE_MOST"),
        interval_file: ("TILE_MOST",),
        intervals: ("MILESTONE_MOST",),
    }
    expected = {name: getattr(module, name) for module, some in names.items() for name in some}
    program = f"{code}console.log(JSON.stringify({{ {', '.join(expected)} }}))"
    done = subprocess.run([node(), "-e", program], capture_output=True, text=True, check=True, timeout=100)
    assert json.loads(done.stdout) == expected


def contents() -> list[bytes]:
    """Contents that lead to all kinds of blocks, literals and tables."""
    numbers, text = random.Random(3), Path(__file__).read_bytes()
    found = [b"", b"a", bytes(MOST_UNPACKED), numbers.randbytes(MOST_UNPACKED)]
    for size in (5, 50, 300, 3_000, 33_000, 120_000):
        found += [
            text[:size],
            numbers.randbytes(size),
            bytes(numbers.choices(range(3), k=size)),
            bytes(numbers.choices(range(150), k=size)),
            bytes(min(255, int(abs(numbers.gauss(0, 20)))) for _ in range(size)),
            (numbers.randbytes(17) * size)[:size],
            b"".join(text[at : at + 40] for at in numbers.choices(range(3_000), k=size // 20))[:size],
        ]
    return found


@pytest.mark.thorough
def test_the_decoder_gives_what_was_compressed(tmp_path: Path) -> None:
    expected, frames = list[bytes](), list[bytes]()
    for content in contents():
        for level in (-5, 1, 6, 19):
            for states_size in (True, False):
                frames.append(
                    compressed(content, states_size=states_size, compression_level=level, write_checksum=level > 1)
                )
                expected.append(content)
    found = unpacked(tmp_path, frames)
    assert [each["error"] for each in found] == [None] * len(found)
    assert [each["result"] for each in found] == [each.hex() for each in expected]


def test_a_changed_frame_is_rejected_or_gives_what_the_library_gives(tmp_path: Path) -> None:
    numbers = random.Random(5)
    whole = [compressed(each) for each in contents() if 20 < len(each) < 4_000]
    frames, expected = list[bytes](), list[bytes | None]()
    for _ in range(3_000):
        frame = bytearray(numbers.choice(whole))
        for _ in range(numbers.choice([1, 1, 2, 5])):
            frame[numbers.randrange(6, len(frame))] ^= 1 << numbers.randrange(8)
        frames.append(bytes(frame[: numbers.choice([len(frame), len(frame), numbers.randrange(6, len(frame))])]))
        try:
            expected.append(static_client.unpack_block(block(frames[-1]), "file"))
        except static_client.ArchiveError:
            expected.append(None)
    rejected = 0
    for found, content in zip(unpacked(tmp_path, frames), expected, strict=True):
        if found["error"] is None:
            assert content is not None
            assert found["result"] == content.hex()
        else:
            assert found["error"].startswith("file: a ")
            rejected += 1
    assert 500 < rejected < 2_900


@pytest.mark.parametrize("states_size", [True, False])
def test_a_block_with_more_bytes_than_any_may_have_is_rejected(tmp_path: Path, states_size: bool) -> None:
    wanted = f"file: a block of at most {MOST_UNPACKED} bytes expected"
    frames = [compressed(bytes(MOST_UNPACKED + more), states_size=states_size) for more in (1, 1 << 20, 1 << 26)]
    assert [each["error"] for each in unpacked(tmp_path, frames)] == [wanted] * 3


def test_a_frame_that_states_a_size_or_window_of_terabytes_is_rejected(tmp_path: Path) -> None:
    large = b"\x28\xb5\x2f\xfd\xc0\0" + (1 << 45).to_bytes(8, "little") + b"\x01\0\0"
    stream = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=24)
    ).compressobj()
    wide = stream.compress(b"few bytes") + stream.flush()
    found = [each["error"] for each in unpacked(tmp_path, [large, wide, b"no frame"])]
    assert found == [
        f"file: a block of at most {MOST_UNPACKED} bytes expected",
        f"file: a window of at most {static_client.MOST_WINDOW} bytes expected",
        "file: a frame of zstd expected",
    ]


def test_a_huffman_tree_whose_weights_never_end_is_rejected(tmp_path: Path) -> None:
    """The weights are compressed with a table of one symbol, whose states take no bits."""
    tree, stream = bytes([4, 0xF0, 0x03, 0, 4]), b"\x80"
    literals = (2 | 10 << 4 | len(tree + stream) << 14).to_bytes(3, "little") + tree + stream
    sequences = b"\0"
    content = literals + sequences
    frame = b"\x28\xb5\x2f\xfd\x20\x0a" + (1 | 2 << 1 | len(content) << 3).to_bytes(3, "little") + content
    with pytest.raises(static_client.ArchiveError, match="a readable block expected"):
        static_client.unpack_block(block(frame), "file")
    assert [each["error"] for each in unpacked(tmp_path, [frame])] == ["file: a frame of zstd expected"]


def test_matches_end_with_the_largest_block(tmp_path: Path) -> None:
    """Blocks that state 98,047 matches of at least 65,539 bytes each: a table of one symbol for each code."""
    count, tables = b"\xff\xff\xff", b"\x54" + bytes([0, 0, 52])
    content = b"\x08a" + count + tables + bytes(2_000) + b"\x80"
    head = (2 << 1 | len(content) << 3).to_bytes(3, "little")
    raw = (10 << 3).to_bytes(3, "little") + b"0123456789"
    frame = b"\x28\xb5\x2f\xfd\0\x38" + raw + (head + content) * 10 + b"\x01\0\0"
    with pytest.raises(static_client.ArchiveError):
        static_client.unpack_block(block(frame), "file")
    (found,) = unpacked(tmp_path, [frame])
    assert found["error"] == f"file: a block of at most {MOST_UNPACKED} bytes expected"


IMPOSSIBLE: list[dict[str, Any]] = [
    {"reach": 1 << 40}, {"reach": 1_025}, {"reach": -2}, {"reach": 3.5}, {"reach": "3"}, {"reach": True},
    {"offset_bits": 0}, {"offset_bits": 52}, {"slots": 0}, {"slots": 11}, {"slots": -1}, {"size": None},
    {"size": 70.5}, {"coefficients": []}, {"coefficients": ["f" * 17] * 16},
]  # fmt: skip


def with_indexes(*indexes: dict[str, Any]) -> dict[str, Any]:
    return {"manifest": {"format": FORMAT, "indexes": [*indexes], "messages": []}, "id": "00" * 32}


def test_an_index_with_impossible_numbers_is_rejected(tmp_path: Path) -> None:
    possible = [with_indexes(INDEX), with_indexes(INDEX | {"reach": MOST_REACH, "offset_bits": 51}, INDEX)]
    assert errors(tmp_path, possible) == [None, None]
    found = errors(tmp_path, [with_indexes(INDEX | each) for each in IMPOSSIBLE])
    assert [str(each).partition(" of an index expected")[1] for each in found] == [" of an index expected"] * len(found)
    assert errors(tmp_path, [with_indexes(*[INDEX] * 3)]) == ["manifest.json: at most 2 indexes expected"]


def listings(*pieces: tuple[int, bytes], length: int = 1_000, **file: Any) -> dict[str, Any]:
    """The case of a proof from an archive with one file of listings."""
    return {
        "manifest": with_listings(**file),
        "page": PAGE,
        "length": length,
        "pieces": [(at, data.hex()) for at, data in pieces],
    }


def test_listings_with_impossible_numbers_are_rejected(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [{"size": 1 << 48}, {"size": "9"}, {"directory": -1}, {"keys": 1.5}]
    for error in errors(tmp_path, [listings(**each) for each in changes]):
        assert error == f"the listings of a manifest expected, with sizes from 0 to {history.NUMBER_MOST}"
    cases = []
    for change in ({"end": 1e300}, {"end": (1 << 40) - 1}, {"first": -1e300}, {"first": 0}, {"end": "99"}, {"end": 98}):
        case = listings()
        case["manifest"]["listings"] |= change
        cases.append(case)
    for error in errors(tmp_path, cases):
        assert str(error).startswith("the listings of a manifest expected, up to the last milestone of an interval")


def encoded_page(depth: int, position: int, end: int) -> bytes:
    """A page with one child."""
    return bytes([depth, 1, 0]) + end.to_bytes(6, "little") + b"\0" + position.to_bytes(6, "little")


def test_pages_of_an_impossible_size_are_not_read(tmp_path: Path) -> None:
    wanted = f"listings/1: a page of at most {pages.PAGE_MOST} bytes expected"
    cases = [listings(size=900 + pages.PAGE_MOST + 7), listings(directory=994)]
    for found in answers(tmp_path, cases):
        assert (found["error"], found["parts"]) == (wanted, [])
    ends = (99, 100, 100 + pages.PAGE_MOST + 1)
    cases = [listings((900, encoded_page(1, 100, end)), size=922) for end in ends]
    for found in answers(tmp_path, cases):
        assert (found["error"], found["parts"]) == (wanted, [16])


def test_pages_that_lead_to_each_other_end(tmp_path: Path) -> None:
    (found,) = answers(tmp_path, [listings((900, encoded_page(2, 900, 916)), size=922)])
    assert found["error"] == "listings/1: a page of the directory below depth 2 expected"
    assert found["parts"] == [16, 16]


def tile_of(count: int) -> bytes:
    """The only tile of a tree, with the key's leaf."""
    leaf = bytes([112]) + (33).to_bytes(2, "big") + bytes.fromhex(KEY) + count.to_bytes(4, "big") + bytes(32)
    return interval_file.HEAD.pack(0, len(leaf), 0) + leaf


@pytest.mark.parametrize(
    ("count", "size", "length", "parts", "error"),
    [
        (60_000, 1 << 40, 4 << 20, [1 << 20, 1 << 20, 242_848], "other rows expected"),
        (2**32 - 1, 1 << 40, 2_500_000, [1 << 20, 1 << 20, 1 << 20], "167503724505 bytes of rows expected at byte 80"),
        (2**32 - 1, 1 << 32, 1 << 32, [], "167503724505 bytes of rows expected at byte 80"),
        (60_000, 2_340_000, 4 << 20, [], "2340000 bytes of rows expected at byte 80"),
    ],
    ids=["other rows", "a short file", "a count beyond the file", "a file that ends with its directory"],
)
def test_rows_are_read_in_parts_up_to_the_end_of_the_file(
    tmp_path: Path, count: int, size: int, length: int, parts: list[int], error: str
) -> None:
    assert len(tile_of(count)) == 80
    page = encoded_page(0, 0, interval_file.TILE_MOST)
    directory = size - 6 - len(page)
    pieces = (0, tile_of(count)), (directory, page)
    (found,) = answers(tmp_path, [listings(*pieces, length=length, size=size, keys=1, directory=directory)])
    assert found["error"] == f"listings/1: {error}"
    assert found["parts"] == [len(page), interval_file.TILE_MOST, *parts]


def test_intervals_are_read_some_at_the_same_time(tmp_path: Path) -> None:
    first, case = 100, listings()
    cover = intervals.cover(first, 8_191_899)
    assert len(cover) > 2 * history.AT_ONCE
    (value,) = case["manifest"]["listings"]["files"]
    files = [value | {"name": f"listings/{each.start}", "first": each.start, "last": each.end} for each in cover]
    case["manifest"]["listings"] |= {"first": first, "end": cover[-1].end, "files": files}
    (found,) = answers(tmp_path, [case])
    assert found["error"]
    assert found["at_once"] == history.AT_ONCE


@pytest.mark.parametrize("is_manifest", [True, False])
def test_a_server_that_sends_more_than_expected_is_not_read_to_its_end(tmp_path: Path, is_manifest: bool) -> None:
    manifest = json.dumps({"format": FORMAT, "indexes": [INDEX], "messages": []}).encode()
    given: list[bytes | None] = [b"200 OK"] if is_manifest else [None, b"206 Partial Content"]
    with endless_server(given, manifest) as (url, ended):
        (error,) = errors(tmp_path, [{"url": url, "id": "00" * 32}])
        assert ended.wait(10)
    assert error == (
        f"{url}/manifest.json: at most {static_client.MOST_MANIFEST_BYTES} bytes expected, found more"
        if is_manifest
        else f"{url}/index/1: 28 bytes expected, found more"
    )


def test_a_server_without_an_answer_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        (error,) = errors(tmp_path, [{"url": url, "id": "00" * 32, "timeout_s": 0.2}])
    assert error == f"Error: {url}/manifest.json: no answer within 0.2 s"

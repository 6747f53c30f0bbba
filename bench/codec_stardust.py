"""Speed of the Stardust codec, compared with PyPI's iota-sdk 1.1.4 (Rust) on the same blocks; part of bench/codec.py.

Both compute ids from JSON, in one process each, taking turns: from text, and from parsed JSON, which is what a load has
of a block in a line with several. bench/codec_sdk.py describes the peer's ways. What the API does (bytes → value, id
and JSON text) is measured without a peer. The blocks are those that Shimmer's milestone 2418187 references, mostly
tagged data, and the test vectors, which contain every kind, mostly in transactions. The ids of both sides must be
equal.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from bench.measure import measure
from ledger.ids import message_id
from ledger.stardust.codec import decode_block
from ledger.stardust.json import block_json
from ledger.stardust.json_parse import pack_block_json

VECTORS = Path(__file__).parent.parent / "tests" / "vectors" / "stardust"
PACKAGE = "iota-sdk==1.1.4"
WHEELS = ((3, 11), (3, 12))
"""The Python versions that the package has wheels for."""


def real_blocks() -> list[bytes]:
    """The blocks of a Shimmer milestone."""
    return [bytes.fromhex(each["bytes_hex"]) for each in json.loads((VECTORS / "shimmer.json").read_text())["blocks"]]


def blocks_of_all_kinds() -> list[bytes]:
    """The test vectors without receipts, whose ids the peer computes from other bytes than the network."""
    vectors = json.loads((VECTORS / "block.json").read_text())["vectors"]
    return [bytes.fromhex(each["bytes_hex"]) for each in vectors if not has_receipt(each["json"])]


def has_receipt(block: dict[str, Any]) -> bool:
    """Whether the block contains a milestone with a receipt."""
    payload = block.get("payload") or {}
    return any(option["type"] == 0 for option in payload.get("options", ()))


def text_to_id(text: bytes) -> bytes:
    """What a load does with a block of node JSON until it has the id."""
    return message_id(pack_block_json(orjson.loads(text)))


def json_to_id(block: Any) -> bytes:
    """The same with parsed JSON."""
    return message_id(pack_block_json(block))


def read(data: bytes) -> bytes:
    """What the API does with the stored bytes of a block: decode, hash, render."""
    message_id(data)
    return orjson.dumps(block_json(decode_block(data)))


def find_python() -> str | None:
    """A Python that the peer has wheels for: this one, or one on the path."""
    if sys.version_info[:2] in WHEELS:
        return sys.executable
    return next((found for major, minor in WHEELS if (found := shutil.which(f"python{major}.{minor}"))), None)


def peer_rates(python: str, file: Path, seconds: float) -> dict[str, Any]:
    """One measurement of each way of the peer, in a new process."""
    script = Path(__file__).with_name("codec_sdk.py")
    done = subprocess.run([python, script, file, str(seconds)], check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def compare(name: str, blocks: Sequence[bytes], python: str | None, rounds: int, seconds: float) -> None:
    """Measures in turn, and prints the rates and the ratios. Raises ValueError if the ids differ."""
    texts = [orjson.dumps(block_json(decode_block(data))) for data in blocks]
    digest = blake2b("".join(f"0x{message_id(data).hex()}" for data in blocks).encode(), digest_size=32).hexdigest()
    parsed = [orjson.loads(text) for text in texts]
    works: dict[str, tuple[Callable[[Any], bytes], Sequence[Any]]] = {
        "JSON text → id": (text_to_id, texts),
        "JSON in Python → id": (json_to_id, parsed),
        "bytes → value, id, JSON text": (read, blocks),
    }
    own: dict[str, list[float]] = defaultdict(list)
    theirs: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "blocks.jsonl"
        file.write_bytes(b"\n".join(texts))
        for _ in range(rounds):
            for what, (work, items) in works.items():
                own[what].append(measure(work, items, seconds))
            if python is not None:
                answer = peer_rates(python, file, seconds)
                if answer.pop("digest") != digest:
                    raise ValueError("the peer computed different ids")
                for way, rate in answer.items():
                    theirs[way].append(rate)
    size = statistics.mean(map(len, blocks))
    print(f"{len(blocks)} {name} of {size:.0f} bytes on average, median of {rounds} rounds, one core")
    for what, found in own.items():
        print(f"{what:<44} {statistics.median(found):>10,.0f} blocks/s")
    for way, found in theirs.items():
        what = "JSON in Python → id" if way == "object" else "JSON text → id"
        rate = statistics.median(found)
        ratio = statistics.median(own[what]) / rate
        print(f"{f'{what}, iota-sdk: {way}':<44} {rate:>10,.0f} blocks/s   ours: {ratio:.2f} ×")


def report(python: str | None, rounds: int, seconds: float) -> None:
    """Compares both sets of blocks with the peer in that Python, if given."""
    compare("blocks of Shimmer", real_blocks(), python, rounds, seconds)
    compare("blocks of all kinds", blocks_of_all_kinds(), python, rounds, seconds)

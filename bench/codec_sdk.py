"""The peer of bench/codec_stardust.py: PyPI's iota-sdk 1.1.4 (Rust) on the same blocks, run by a Python that has it.

    python codec_sdk.py BLOCKS_FILE SECONDS

The input has one JSON block per line, the output is one JSON line with three rates. `call` is its lowest-level call for
a block's id, text in and text out, without its Python wrapper. `object` is the same from parsed JSON, which it
serializes as its wrapper does. `documented` is from text through the documented classes and functions.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any


def measure(work: Callable[[Any], object], items: list[Any], seconds: float) -> float:
    """Blocks per second, in whole passes until the time is up."""
    start = time.perf_counter()
    passes = 0
    while (elapsed := time.perf_counter() - start) < seconds:
        for item in items:
            work(item)
        passes += 1
    return passes * len(items) / elapsed


def main() -> None:
    """Computes the ids, measures, and prints the rates and a digest of the ids."""
    file, seconds = Path(sys.argv[1]), float(sys.argv[2])
    sdk: Any = importlib.import_module("iota_sdk")
    block: Any = importlib.import_module("iota_sdk.types.block").Block
    call: Callable[[str], str] = sdk.call_utils_method

    def documented(text: str) -> str:
        found: str = sdk.Utils.block_id(block.from_dict(json.loads(text)))
        return found

    def from_object(value: Any) -> str:
        return call(json.dumps({"name": "blockId", "data": {"block": value}}))

    texts = file.read_text("utf-8").splitlines()
    ids = [documented(text) for text in texts]
    requests = [f'{{"name":"blockId","data":{{"block":{text}}}}}' for text in texts]
    if ids != [json.loads(call(request))["payload"] for request in requests]:
        raise ValueError("the two ways compute different ids")
    answer = {
        "call": measure(call, requests, seconds),
        "object": measure(from_object, [json.loads(text) for text in texts], seconds),
        "documented": measure(documented, texts, seconds),
        "digest": blake2b("".join(ids).encode(), digest_size=32).hexdigest(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

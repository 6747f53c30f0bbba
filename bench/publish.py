"""Speed and size of static archives: keys of an index, published messages, and queries by id.

    python -m bench.publish [--keys 4000000] [--messages 50000] [--queries 2000] [--archives DIR]

First an index of that many random ids is built; seconds of CPU count. Then a generated Stardust archive is loaded with
the embedded engine and published, and its index is used by queries for random messages, transactions and unknown ids.
The queries read files through a reader that counts requests and bytes. Prints keys per second of CPU and bytes per key,
messages per second, and for queries the requests and the bytes beside the answer. Fails if a bar is missed.
"""

import argparse
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from bench.generate import SETTINGS
from bench.load import archive
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from etl import runs
from etl.engine.current import SAIL
from etl.engine.settings import EtlSettings
from etl.static_archive.index import IndexBuilder, coefficients
from etl.static_archive.names import new_file
from etl.static_archive.publish import publish
from etl.static_archive.records import named_records
from etl.static_client import Archive, FolderReader, open_archive
from etl.store_reads import StoreReads

KEYS_PER_S, BYTES_PER_KEY, REQUESTS, OVERHEAD = 250_000, 8, 3, 10_000
"""The bars."""

BATCH = 100_000


class CountingReader(FolderReader):
    """Counts range requests and their bytes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.requests = self.size = 0

    def part(self, name: str, start: int, size: int) -> bytes:
        """Reads and counts."""
        data = super().part(name, start, size)
        self.requests, self.size = self.requests + 1, self.size + len(data)
        return data


def build(folder: Path, keys: int) -> bool:
    """Builds an index and prints its speed and size. Returns whether the bars are met."""
    generator = np.random.default_rng(28)
    cpu = time.process_time()
    scratch = folder / "keys"
    scratch.mkdir()
    builder, made = IndexBuilder(scratch, coefficients("bench", bytes(32)), keys), 0.0
    for first in range(0, keys, BATCH):
        began = time.process_time()
        count = min(BATCH, keys - first)
        ids = generator.bytes(32 * count)
        made += time.process_time() - began
        units = np.arange(first, first + count, dtype=np.uint64) // 20
        builder.add(np.frombuffer(ids, np.uint8), units, np.zeros(count, np.uint64), np.zeros(count, np.bool_))
    with new_file(folder, "index", 1, 1, "index") as file:
        built = builder.write(file)
    cpu = time.process_time() - cpu - made
    rate, size = keys / cpu, file.stored.size / keys
    print(
        f"index of {keys:,} keys: {rate:,.0f} keys/s of CPU (bar {KEYS_PER_S:,}), {size:.2f} bytes per key (bar "
        f"{BYTES_PER_KEY}), {7 * (built.reach + 1):,} bytes per request"
    )
    return rate >= KEYS_PER_S and size <= BYTES_PER_KEY


def published(folder: Path, source: Path) -> Path:
    """Loads an archive, publishes it, prints the speed, and returns the folder of the static archive."""
    generated = SETTINGS["stardust"]()
    store = StoreSettings(f"sqlite:///{folder / 'store'}", generated.network, stardust_from=1)
    settings = EtlSettings(engine=SAIL)
    migrate(store)
    report = runs.load(store, settings, [source], analytics=False)
    into = folder / "public"
    with closing(open_store(store)) as opened, closing(StoreReads(opened, store.network)) as reads:
        wall, cpu = time.perf_counter(), time.process_time()
        done = publish(runs.lake_path(store, settings), reads, into)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    messages = report.messages
    print(
        f"published {messages:,} messages: {messages / cpu:,.0f}/s of CPU, {messages / wall:,.0f}/s; "
        f"{done.bytes_written / messages:,.0f} bytes per message in all files"
    )
    return into


def query(folder: Path, queries: int) -> bool:
    """Queries random ids and prints what they read. Returns whether the bars are met."""
    manifest, chance = open_archive(str(folder)).manifest, random.Random(28)
    keys = [
        key for each in manifest["messages"] for _, named in named_records(folder / each["name"]) for key in named.keys
    ]
    reader = CountingReader(folder)
    opened = Archive(reader, manifest)
    requests, beside, spent = list[int](), list[int](), 0.0
    for key in chance.sample(keys, min(queries, len(keys))):
        reader.requests = reader.size = 0
        began = time.perf_counter()
        found = opened.find(key)
        spent += time.perf_counter() - began
        if found is None:
            raise RuntimeError(f"{key.hex()} was not found")
        requests.append(reader.requests)
        beside.append(reader.size - len(found.record.data))
    print(
        f"{len(requests):,} queries: {sum(requests) / len(requests):.2f} requests, at most {max(requests)} (bar "
        f"{REQUESTS}); {sum(beside) / len(beside):,.0f} bytes beside the answer, at most {max(beside):,} (bar "
        f"{OVERHEAD:,}); {spent / len(requests) * 1e3:.2f} ms"
    )
    reader.requests = reader.size = 0
    for _ in range(queries):
        if opened.find(chance.randbytes(32)) is not None:
            raise RuntimeError("an unknown id was found")
    print(f"{queries:,} unknown ids: {reader.requests / queries:.2f} requests, {reader.size / queries:,.0f} bytes")
    return max(requests) <= REQUESTS and max(beside) <= OVERHEAD


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Speed and size of static archives")
    parser.add_argument("--keys", type=int, default=4_000_000)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.archives) as name:
        is_good = build(Path(name), options.keys)
        source = archive(options.archives, options.messages, SETTINGS["stardust"]()) / "all"
        is_good &= query(published(Path(name), source), options.queries)
    if not is_good:
        raise SystemExit("a bar is missed")


if __name__ == "__main__":
    main()

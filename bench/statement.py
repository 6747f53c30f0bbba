"""The statement of an account with many movements, from a store with the tables of a load to a CSV file.

    python -m bench.statement [--rows 300000] [--addresses 1] [--folder DIR]

Each movement has counterparties of a pool of a million addresses, one of ten has five. `permanode statement` writes the
file; the peer is Python's sqlite3, whose cursor over the same rows in the same order goes into csv.writer, without
balances, checks, texts of addresses or cursors. The stream of the API must be the same bytes. Then the file is cut in
the middle of a line and resumed, and must become the same file. Prints rows per second, the ratio, and the peak memory
of each process.
"""

import argparse
import csv
import hashlib
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from bench.indexer import address
from bench.servers import serving
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.partitions import movement_window
from db.queries.ledger import BALANCE_HINT
from db.store import Value
from ledger.crypto.bech32 import format_address

NETWORK, HRP = "bench-statement", "atoi"
MOVEMENTS_PER_MILESTONE = 4
POOL = 1_000_000
ROWS_AT_ONCE = 100_000
RATE = 100_000
"""The bar: rows per second."""

COLUMNS = ("milestone_index", "white_flag_index", "transaction_id", "kind", "amount", "counterparties", "ms_timestamp")


def movements_of(owner: int, rows: int, step: int) -> Iterator[tuple[int, int, bytes, str, int, bytes, int]]:
    """COLUMNS of the movements of an address. Its milestones are multiples of `step` plus its number."""
    chance = random.Random(owner)
    balance = 0
    for number in range(rows):
        index = 1 + owner + number // MOVEMENTS_PER_MILESTONE * step
        amount = chance.randrange(1, 10**12)
        if balance > amount and chance.random() < 0.5:
            amount = -amount
        balance += amount
        count = 5 if number % 10 == 0 else 1
        others = b"".join(sorted(address(1_000 + chance.randrange(POOL)) for _ in range(count)))
        digest = hashlib.blake2b(b"%d %d" % (owner, number), digest_size=32).digest()
        place = number % MOVEMENTS_PER_MILESTONE
        yield index, place, digest, "transaction", amount, others, 1_600_000_000_000 + 10_000 * index


def fill(folder: Path, rows: int, addresses: int) -> None:
    """Creates a store with that many movements, and their balances."""
    settings = StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK)
    migrate(settings)
    store = open_store(settings, writable=True)
    size, chunk_size, last = movement_window(settings.chunk_size), settings.chunk_size, 0
    for owner in range(addresses):
        key, balance = address(owner), 0
        made = movements_of(owner, rows // addresses, addresses)
        while part := list(islice(made, ROWS_AT_ONCE)):
            balances, placed = dict[int, int](), list[tuple[Value, ...]]()
            for row in part:
                index = row[0]
                balance += row[4]
                balances[index] = balance
                first = index - index % chunk_size % size
                placed.append((key, index // chunk_size, first, *row))
            last = max(last, *balances)
            with store.batch() as batch:
                names = (*schema.address_movements.partition, *COLUMNS)
                batch.upsert(schema.address_movements, names, placed)
                hints: set[tuple[Value, ...]] = {(key, "movement", "address", True, *row[1:3]) for row in placed}
                hints |= {(key, *BALANCE_HINT, row[1], 0) for row in placed}
                batch.upsert(schema.addresses_hints, schema.addresses_hints.names, hints)
                of_balance = ("address", "ms_range_id", "milestone_index", "balance")
                held = [(key, index // chunk_size, index, each) for index, each in balances.items()]
                batch.upsert(schema.address_balances, of_balance, held)
    with store.batch() as batch:
        batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [(NETWORK, 0), (NETWORK, last)])
    store.close()


def peer(store: str, out: str, addresses: int) -> None:
    """Writes the same rows with sqlite3 and csv."""
    generation = (Path(store) / "CURRENT").read_text().strip()
    own = sqlite3.connect(Path(store) / generation)
    owners = [address(each) for each in range(addresses)]
    marks = ", ".join("?" * addresses)
    key = "ms_range_id, partition_id, milestone_index, white_flag_index, transaction_id"
    order = f"address, {key}" if addresses == 1 else key
    rows = own.execute(
        f"SELECT {', '.join(COLUMNS)} FROM address_movements WHERE address IN ({marks}) ORDER BY {order}",  # noqa: S608
        owners,
    )
    with Path(out).open("w", newline="") as file:
        csv.writer(file).writerows((row[3], row[0], row[6] // 1000, row[2].hex(), row[4], row[5].hex()) for row in rows)


def timed(command: Sequence[str]) -> tuple[float, float, float]:
    """Seconds, seconds of the processor, and peak memory in MB of a process: its own, without pages of files that the
    kernel maps into it.
    """
    begun, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(command, env=os.environ | {"PERMANODE_NETWORK": NETWORK})
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        own = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        peak = max(peak, int(own[1]) / 1024 if own else 0)
        time.sleep(0.05)
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, peak


def over_http(store: Path, addresses: Sequence[str], form: str) -> tuple[float, float, str]:
    """Seconds, seconds of the server's processor, and the hash of the same statement as a stream of the API."""
    query = f"addresses={','.join(addresses)}&format={form}&pageSize=1000"
    digest = hashlib.blake2b()
    with serving(f"sqlite:///{store.absolute()}", NETWORK) as server:
        begun, used = time.perf_counter(), server.cpu_seconds()
        with urllib.request.urlopen(f"{server.base}/api/explorer/v2/ledger/statement?{query}") as answer:  # noqa: S310 (loopback)
            while part := answer.read(1 << 20):
                digest.update(part)
        return time.perf_counter() - begun, server.cpu_seconds() - used, digest.hexdigest()


def digest_of(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def main() -> int:
    """Runs the bench. Returns 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000, help="number of movements")
    parser.add_argument("--addresses", type=int, default=1, help="number of addresses that share them")
    parser.add_argument("--format", choices=["csv", "ndjson"], default="csv", help="format of the statement")
    parser.add_argument("--folder", type=Path, help="folder in which the store is kept for another run")
    parser.add_argument("--fill", type=Path, metavar="FOLDER", help="only fill the store")
    parser.add_argument("--peer", nargs=2, metavar=("STORE", "FILE"), help="only write the file of sqlite3")
    options = parser.parse_args()
    if options.peer:
        store_folder, file = options.peer
        peer(store_folder, file, options.addresses)
        return 0
    if options.fill:
        fill(options.fill, options.rows, options.addresses)
        return 0
    this = [sys.executable, "-m", "bench.statement", "--addresses", str(options.addresses)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        if not (folder / "store").exists():
            # In a process of its own: a child begins with the peak memory of its parent.
            subprocess.run([*this, "--fill", str(folder), "--rows", str(options.rows)], check=True)
        store, out, other = folder / "store", folder / "statement", folder / "peer.csv"
        out.unlink(missing_ok=True)
        texts = [format_address(HRP, address(each)) for each in range(options.addresses)]
        own = [sys.executable, "-c", "from cli.main import main; main()", "--store", f"sqlite:///{store.absolute()}"]
        own += ["--network", NETWORK, "statement", *texts, "--format", options.format, "--out", str(out)]
        their_s, their_cpu, their_mb = timed([*this, "--peer", str(store), str(other)])
        own_s, own_cpu, own_mb = timed(own)
        whole, size = digest_of(out), out.stat().st_size
        streamed_s, streamed_cpu, streamed = over_http(store, texts, options.format)
        assert streamed == whole, "the stream of the API is the file"
        with out.open("r+b") as file:
            file.truncate(size // 2)
        resumed_s, *_ = timed([*own, "--resume"])
        assert digest_of(out) == whole, "a resumed file is the same"
        for name, wall, cpu, memory in (
            ("statement", own_s, own_cpu, f", {own_mb:.0f} MB"),
            ("over HTTP", streamed_s, streamed_cpu, ""),
            ("sqlite3", their_s, their_cpu, f", {their_mb:.0f} MB"),
        ):
            print(f"{name:10}{options.rows / wall:>10,.0f} rows/s, {options.rows / cpu:>10,.0f} per CPU second{memory}")
        print(f"{own_s / their_s:.2f} × the time of sqlite3; {size / 2**20:.0f} MB of {options.format}")
        print(f"the second half after a cut: {resumed_s:.1f} s")
        return 0 if options.rows / own_s >= RATE else 1


if __name__ == "__main__":
    sys.exit(main())

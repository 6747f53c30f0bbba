"""Disk use of a selective permanode, compared with that of a full one.

    python -m bench.selective [--protocol stardust] [--messages 50000] [--keep FILTER]
    python -m bench.selective --protocol wormhole --messages 5000

The bench loads a generated archive (bench/generate.py, bench/vaa_signed.py) into a SQLite store and a lake, without
ledger state and analytics: whole, with filters, and with a filter that no message matches, which leaves the milestones
(of Wormhole: governance). The filters are a tag, and the addresses with the most outputs; of Wormhole, an emitter. The
share of a selection is that of the bytes of its messages. Its disk use, without milestones and proofs, is at most 1.2
times this share of the disk use of the full permanode. The disk use of proofs is separate. Exit code 1: more.
"""

import argparse
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from bench.generate import SETTINGS
from bench.load import archive, load
from bench.traffic import HOT_TAG
from bench.vaa_signed import NETWORK as DEVNET
from bench.vaa_signed import write_signed
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl.engine.current import SAIL
from ledger.wormhole.emitters import EMITTERS

MOST = 1.2
"""The most disk use of a selection, in shares of that of the full permanode."""

NOBODY = {"tag": "tag:0x" + "00" * 64, "emitter": f"emitter:1/{'ee' * 32}"}
WORMHOLE = "wormhole"
ADDRESSES = 20
PROOFS = ("message_proofs", "sqlite_autoindex_message_proofs_1")


@dataclass(frozen=True)
class Use:
    """Bytes: of all messages, of store and lake without proofs, and of the proofs in both. `rows`: those of the store,
    without proofs.
    """

    messages: int
    disk: int
    proofs: int
    count: int
    rows: int


def columns_of(file: Path, name: str) -> Iterator[int]:
    """The compressed sizes of a column in a Parquet file."""
    metadata = pq.read_metadata(file)
    for group in range(metadata.num_row_groups):
        chunks = metadata.row_group(group)
        for position in range(chunks.num_columns):
            if chunks.column(position).path_in_schema == name:
                yield chunks.column(position).total_compressed_size


def database_of(folder: Path) -> Path:
    """The database file of a store."""
    return folder / (folder / "CURRENT").read_text().strip()


def use_of(folder: Path, source: str) -> Use:
    """Measures a loaded store and its lake. `source`: the table and the column of its messages."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    in_lake = sum(
        sum(columns_of(file, "proof")) for file in files if file.suffix == ".parquet" and "messages" in file.parts
    )
    table, column = source.split(".")
    with closing(sqlite3.connect(database_of(folder))) as connection:
        query = f"SELECT count(*), coalesce(sum(length({column})), 0) FROM {table}"  # noqa: S608 (our own names)
        ((count, messages),) = connection.execute(query)
        rows = sum(
            connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 (our own names)
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            if name not in PROOFS
        )
        ((in_store,),) = connection.execute("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name IN (?, ?)", PROOFS)
    proofs = in_lake + in_store
    return Use(messages, sum(file.stat().st_size for file in files) - proofs, proofs, count, rows)


@dataclass(frozen=True)
class Source:
    """What is loaded: files of a network, with the table and the column of its messages."""

    files: Path
    network: str
    messages: str
    more: tuple[str, ...] = ()

    def measure(self, keep: str | None, look: Callable[[Path], None] = lambda _: None) -> Use:
        """Loads the files with these filters, None: all. `look` receives the folder of the store."""
        with tempfile.TemporaryDirectory() as into:
            store = StoreSettings(url=f"sqlite:///{into}", network=self.network)
            migrate(store)
            load(store, "local[*]", self.files, *self.more, *(() if keep is None else ("--keep", keep)))
            look(Path(into))
            return use_of(Path(into), self.messages)


def iota(options: argparse.Namespace) -> Source:
    """A generated archive of messages."""
    settings = SETTINGS[options.protocol]()
    folder = archive(options.archives, options.messages, settings)
    keys = json.loads((folder / "all" / "genesis.json").read_bytes())["coordinatorPublicKeys"]
    os.environ["PERMANODE_STORE_COORDINATOR_KEYS"] = ",".join(keys)
    if options.protocol == "stardust":
        os.environ["PERMANODE_STORE_PROTOCOL_PARAMETERS"] = str(folder / "all" / "genesis.json")
    return Source(folder / "all", settings.network, "messages.message", ("--no-analytics",))


def busiest(folder: Path) -> str:
    """Filters of the addresses with the most outputs."""
    with closing(sqlite3.connect(database_of(folder))) as connection:
        found = connection.execute(
            "SELECT lower(hex(address)) FROM outputs_by_address WHERE variant = 'address' AND included "
            "GROUP BY address ORDER BY count(*) DESC, address LIMIT ?",
            [ADDRESSES],
        )
        return " ".join(f"address:0x{address}" for (address,) in found)


def show(name: str, found: Use) -> None:
    """Prints a measurement."""
    print(
        f"{name:<10} {found.count:>8,} messages, {found.messages / 1e6:8.2f} MB of messages, disk "
        f"{found.disk / 1e6:8.2f} MB, proofs {found.proofs / 1e6:7.2f} MB"
    )


def judge(full: Use, kept: Use, alone: Use) -> bool:
    """Prints the share of a selection. Returns whether its disk use is in proportion."""
    share = (kept.messages - alone.messages) / full.messages
    found_share = (kept.disk - alone.disk) / full.disk
    per_message = (kept.proofs - alone.proofs) / max(1, kept.count - alone.count)
    ratio = found_share / share
    of_rows = (kept.rows - alone.rows) / full.rows
    print(
        f"           {share:.1%} of the bytes of messages and, without milestones and proofs, {found_share:.1%} of the "
        f"disk use: {ratio:.2f} times its share (at most {MOST}): {'met' if ratio <= MOST else 'missed'}; "
        f"{of_rows:.1%} of the rows; proofs {per_message:,.0f} bytes per message"
    )
    return ratio <= MOST


def main() -> int:
    """Runs the bench. Returns 1 if a selection uses too much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", choices=(*SETTINGS, WORMHOLE), default="chrysalis", help="of the archive")
    parser.add_argument("--messages", type=int, default=50_000, help="size of the archive")
    parser.add_argument("--keep", help="another filter")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    options = parser.parse_args()
    os.environ["PERMANODE_ETL_ENGINE"] = SAIL
    filters: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        if options.protocol == WORMHOLE:
            file = Path(scratch) / "vaas.jsonl"
            write_signed(options.messages, file)
            source, nobody = Source(file, DEVNET, "vaas.signed_vaa"), NOBODY["emitter"]
            chain, address = EMITTERS["devnet"]["token_bridge"][0]
            filters["emitter"] = f"emitter:{chain}/{address.zfill(64)}"
        else:
            source, nobody = iota(options), NOBODY["tag"]
            filters["tag"] = f"tag:0x{HOT_TAG.hex()}"

        def look(folder: Path) -> None:
            if options.protocol != WORMHOLE:
                filters["addresses"] = busiest(folder)

        full, alone = source.measure(None, look), source.measure(nobody)
        show("full", full)
        show("milestones", alone)
        met = True
        for name, keep in {"filter": options.keep}.items() if options.keep else filters.items():
            kept = source.measure(keep)
            show(name, kept)
            met = judge(full, kept, alone) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())

"""Disk use of a selective permanode, compared with that of a full one.

    python -m bench.selective [--protocol stardust] [--messages 50000] [--keep FILTER]

The bench loads a generated archive (bench/generate.py) three times into a SQLite store and a lake, without ledger state
and analytics: whole, with the filter, and with a filter that no message matches, which leaves the milestones. The share
of a selection is that of the bytes of its messages. Its disk use, without milestones and proofs, is at most 1.2 times
this share of the disk use of the full permanode. The disk use of proofs is reported separately. Exit code 1: more.
"""

import argparse
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from bench.generate import SETTINGS
from bench.load import archive, load
from bench.traffic import HOT_TAG
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl.engine.current import SAIL

MOST = 1.2
"""The most disk use of a selection, in shares of that of the full permanode."""

NOBODY = "tag:0x" + "00" * 64
PROOFS = ("message_proofs", "sqlite_autoindex_message_proofs_1")


@dataclass(frozen=True)
class Use:
    """Bytes: of all messages, of store and lake without proofs, and of the proofs in both."""

    messages: int
    disk: int
    proofs: int
    count: int


def columns_of(file: Path, name: str) -> Iterator[int]:
    """The compressed sizes of a column in a Parquet file."""
    metadata = pq.read_metadata(file)
    for group in range(metadata.num_row_groups):
        chunks = metadata.row_group(group)
        for position in range(chunks.num_columns):
            if chunks.column(position).path_in_schema == name:
                yield chunks.column(position).total_compressed_size


def use_of(folder: Path) -> Use:
    """Measures a loaded store and its lake."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    in_lake = sum(
        sum(columns_of(file, "proof")) for file in files if file.suffix == ".parquet" and "messages" in file.parts
    )
    database = folder / (folder / "CURRENT").read_text().strip()
    with closing(sqlite3.connect(database)) as connection:
        ((count, messages),) = connection.execute("SELECT count(*), coalesce(sum(length(message)), 0) FROM messages")
        ((in_store,),) = connection.execute("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name IN (?, ?)", PROOFS)
    proofs = in_lake + in_store
    return Use(messages, sum(file.stat().st_size for file in files) - proofs, proofs, count)


def main() -> int:
    """Runs the bench. Returns 1 if the selection uses too much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", choices=SETTINGS, default="chrysalis", help="protocol of the archive")
    parser.add_argument("--messages", type=int, default=50_000, help="size of the archive")
    parser.add_argument("--keep", default=f"tag:0x{HOT_TAG.hex()}", help="the filter")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    options = parser.parse_args()
    os.environ["PERMANODE_ETL_ENGINE"] = SAIL
    settings = SETTINGS[options.protocol]()
    folder = archive(options.archives, options.messages, settings)
    os.environ["PERMANODE_STORE_COORDINATOR_KEYS"] = ",".join(
        json.loads((folder / "all" / "genesis.json").read_bytes())["coordinatorPublicKeys"]
    )
    if options.protocol == "stardust":
        os.environ["PERMANODE_STORE_PROTOCOL_PARAMETERS"] = str(folder / "all" / "genesis.json")
    used = {}
    for name, more in (("full", ()), ("selection", ("--keep", options.keep)), ("milestones", ("--keep", NOBODY))):
        with tempfile.TemporaryDirectory() as into:
            store = StoreSettings(url=f"sqlite:///{into}", network=settings.network)
            migrate(store)
            report = load(store, "local[*]", folder / "all", "--no-analytics", *more).report
            used[name] = found = use_of(Path(into))
            print(
                f"{name:<10} {found.count:>8,} messages, {found.messages / 1e6:8.2f} MB of messages, disk "
                f"{found.disk / 1e6:8.2f} MB, proofs {found.proofs / 1e6:7.2f} MB ({report['rejects']} rejects)"
            )
    full, kept, alone = used["full"], used["selection"], used["milestones"]
    share = (kept.messages - alone.messages) / full.messages
    found_share = (kept.disk - alone.disk) / full.disk
    per_message = (kept.proofs - alone.proofs) / max(1, kept.count - alone.count)
    ratio = found_share / share
    print(
        f"the selection has {share:.1%} of the bytes of messages and, without milestones and proofs, "
        f"{found_share:.1%} of the disk use: {ratio:.2f} times its share (at most {MOST}): "
        f"{'met' if ratio <= MOST else 'missed'}; "
        f"proofs {per_message:,.0f} bytes per message"
    )
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())

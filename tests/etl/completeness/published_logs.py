"""The logs of loaded oracle ledgers of both eras, and what the files say that they must contain."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from db.connect import open_adapter, open_store
from db.queries.log import find_head
from db.queries.log_records import closed_records, find_proved
from tests import reference, reference_stardust
from tests.conftest import SAMPLE
from tests.etl.archives import Json, dump, sample, write
from tests.etl.archives import oracle as chrysalis_oracle
from tests.etl.conftest import Loading
from tests.etl.stardust_archives import NETWORK as STARDUST_NETWORK
from tests.etl.stardust_archives import oracle as stardust_oracle
from tests.etl.store_rows import LISTINGS
from tests.ledger.completeness.reference import Ledger, mth
from tests.reference_completeness import listings, milestone_record

SMALLEST = 5
"""Milestones of the smallest interval in these tests, because the oracle ledgers have 50 milestones."""

LAST = 50


@dataclass(frozen=True)
class OracleLedger:
    """One of the oracle ledgers. `lines`: of its archive files, by milestone from 1; `genesis`: where it begins."""

    network: str
    genesis: Path
    lines: Callable[[], Sequence[Json]]
    rows: Callable[[], dict[str, list[dict[str, Any]]]]
    is_stardust: bool

    def files(self, folder: Path, numbers: Iterable[int]) -> list[Path]:
        """Archive files of these milestones."""
        lines = self.lines()
        return [write(folder / f"{number}.jsonl", [dump(lines[number - 1])]) for number in sorted(numbers)]


def chrysalis_rows() -> dict[str, list[dict[str, Any]]]:
    return dict(reference.whole_rows(chrysalis_oracle(), [], 100_000, 100_000, "permatest-1"))


def stardust_rows() -> dict[str, list[dict[str, Any]]]:
    return dict(reference_stardust.whole_rows(stardust_oracle(), [], 100_000, 100_000, STARDUST_NETWORK))


LEDGERS = {
    "chrysalis from genesis": OracleLedger("permatest-1", SAMPLE / "genesis.json", sample, chrysalis_rows, False),
    "stardust from genesis": OracleLedger(
        STARDUST_NETWORK, reference_stardust.ORACLE / "genesis.json", stardust_oracle, stardust_rows, True
    ),
}
"""By their names in tests.etl.conftest.oracle_ledger."""


@cache
def expected(name: str) -> list[bytes]:
    """The leaves of the log."""
    ledger = LEDGERS[name]
    rows = ledger.rows()
    reference_log = Ledger(ledger.network, 1, LAST, listings(rows, 0), SMALLEST).log()
    return [
        milestone_record(rows, int(text.split()[1]), stardust=ledger.is_stardust)
        if text.startswith("milestone")
        else leaf
        for text, leaf in reference_log
    ]


def expected_checkpoint(name: str) -> str:
    """The text that is signed."""
    leaves = expected(name)
    return f"permanode/{LEDGERS[name].network}/1\n{len(leaves)}\n{b64encode(mth(leaves)).decode()}\n"


def log_of(loading: Loading) -> list[bytes]:
    """The leaves of the log that a store has records of."""

    async def read() -> list[bytes]:
        with closing(open_store(loading.store)) as store:
            proved = await find_proved(store)
            if proved is None:
                return []
            records = closed_records(store, proved.start, proved.start - 1, proved.stop - 1)
            return [bytes(each) async for each in records]

    return asyncio.run(read())


def checkpoint_of(loading: Loading) -> str:
    """The text of the newest checkpoint of a store."""

    async def read() -> str:
        with closing(open_store(loading.store)) as store:
            head = await find_head(store, loading.store.network)
            assert head is not None
            return head.newest.text

    return asyncio.run(read())


def tables_of(loading: Loading) -> dict[str, list[dict[str, Any]]]:
    with closing(open_adapter(loading.store, writable=False)) as store:
        return {table.name: sorted(store.read_all(table), key=repr) for table in LISTINGS}

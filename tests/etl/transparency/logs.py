"""Stores with a lake's folder beside them, and records of invented milestones."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from etl.store_reads import StoreReads
from etl.transparency.append import LogAppender
from etl.transparency.log_files import LogFiles
from etl.transparency.stored_log import StoredLog
from ledger.completeness.intervals import Interval
from ledger.transparency.keys import SigningKey
from ledger.transparency.positions import closed_by
from ledger.transparency.records import CoverRecord, IntervalRecord, MilestoneRecord

NETWORK = "permatest-1"

KEY = SigningKey("permanode/permatest-1/1", sha256(b"log").digest())

Source = Callable[[int, int, int], Iterator[bytes]]


def source(forged_from: int = 2**32, salt: bytes = b"") -> Source:
    """Records of a ledger; from `forged_from` on, those of another one."""

    def records(first: int, after: int, to: int) -> Iterator[bytes]:
        for milestone in range(after + 1, to + 1):
            text = b"%d" % milestone + (salt or b"forged" if milestone >= forged_from else b"")
            root = sha256(text).digest()
            yield bytes(MilestoneRecord(milestone, root, 1_600_000_000 + milestone, 3, root, root))
            for each in closed_by(first, milestone):
                yield bytes(IntervalRecord(each, 9, root) if isinstance(each, Interval) else CoverRecord(each, 9, root))

    return records


def made_store(folder: Path) -> StoreSettings:
    settings = StoreSettings(f"sqlite:///{folder}", NETWORK)
    migrate(settings)
    return settings


@contextmanager
def opened(settings: StoreSettings, lake: Path | str) -> Iterator[StoredLog]:
    """Both copies of a log, not yet compared."""
    with (
        closing(open_store(settings, writable=True)) as store,
        closing(StoreReads(store, settings.network)) as reads,
    ):
        lease = store.acquire("test", "test", 60)
        yield StoredLog(LogFiles(str(lake), settings.network), store, reads)
        store.release(lease)


def append(
    settings: StoreSettings,
    lake: Path | str,
    to: int,
    records: Source | None = None,
    first: int = 1,
    key: SigningKey | None = KEY,
) -> None:
    """One load with milestones up to `to`."""
    with opened(settings, lake) as log:
        log.open()
        LogAppender(log, settings.network, records or source(), key).append(first, to)


def files_of(lake: Path) -> dict[str, bytes]:
    """The files of a log by path."""
    folder = lake / "log" / NETWORK
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}

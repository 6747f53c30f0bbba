"""Size of the partitions of a hot tag, and the cost of its thousandth page relative to the first.

    python -m bench.hot [--messages 205000] [--archives DIR] [--seconds 2]

The first part is arithmetic: all messages of a day with ROWS_PER_S messages per second have one tag, 86.4 million rows,
loaded a hundred milestones at a time with the default partition sizes. The second part is a load of a generated archive
in which nearly all messages have one tag, with partitions of PARTITION_SIZE rows. A partition may exceed its size by
one milestone's rows. `permanode serve` (one worker on loopback) returns pages of PAGE_SIZE with that tag to wrk with 32
connections: the first and the thousandth, in turn. The median of five rounds counts.
"""

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

from bench.load import archive, check, load, show
from bench.servers import Server, add_seconds, run_wrk, serving, wrk_is_missing
from bench.tangle import GeneratorSettings
from bench.traffic import HOT_TAG
from db.admin.migrate import migrate
from db.connect import StoreSettings
from tests.partition_model import grow, place

ROWS_PER_S, MILESTONE_S, DAY_S = 1_000, 10, 86_400
LOADED_AT_ONCE = 100
"""Milestones per load."""

GENERATED = GeneratorSettings(indexations=1.0, transactions=0.0, hot_tag=1.0, data_bytes=100)
PARTITION_SIZE = 1_000
PAGE_SIZE, FAR = 100, 1_000
PATH = f"/api/v1/messages?index={HOT_TAG.hex()}&page_size={PAGE_SIZE}"
ROUNDS = 5
MOST = 1.3
"""The bar: the time of the thousandth page divided by that of the first."""


def a_day() -> bool:
    """Prints the partitions of the arithmetic, and returns whether the largest is within its bound."""
    settings = StoreSettings("sqlite:///none", "none")
    per_milestone, milestones = ROWS_PER_S * MILESTONE_S, DAY_S // MILESTONE_S
    splits, tail = None, -1
    for first in range(0, milestones, LOADED_AT_ONCE):
        run = range(first, min(first + LOADED_AT_ONCE, milestones))
        rows = [(index, per_milestone) for index in run]
        splits = grow(splits, rows, run, tail, chunk_size=settings.chunk_size, partition_size=settings.partition_size)
        tail = run[-1]
    firsts = splits.first_milestones if splits else ()
    sizes = Counter(place(firsts, index) for index in range(milestones))
    largest = per_milestone * max(sizes.values())
    return report("a day's arithmetic", per_milestone * milestones, len(sizes), largest, settings, per_milestone)


def report(name: str, rows: int, partitions: int, largest: int, settings: StoreSettings, milestone: int) -> bool:
    """Prints a line, and returns whether the largest partition is within its bound."""
    bound = settings.partition_size + milestone
    print(f"{name:20}{rows:12,} rows {partitions:6,} partitions, the largest of {largest:9,} rows (at most {bound:,})")
    return largest <= bound


def loaded(folder: Path, archives: Path, messages: int) -> tuple[StoreSettings, bool]:
    """A store of such an archive, and whether its largest partition is within its bound."""
    generated = archive(archives, messages, GENERATED)
    settings = StoreSettings(f"sqlite:///{folder.absolute()}", GENERATED.network, partition_size=PARTITION_SIZE)
    migrate(settings)
    run = load(settings, "local[*]", generated / "all")
    show("hot tag", run)
    check(run.report, generated / "all")
    database = folder / (folder / "CURRENT").read_text().strip()
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    of_tag = "FROM tags WHERE tag = ? GROUP BY "
    sizes = [
        count for (count,) in connection.execute(f"SELECT count(*) {of_tag} ms_range_id, partition_id", (HOT_TAG,))
    ]
    milestone = max(count for (count,) in connection.execute(f"SELECT count(*) {of_tag} milestone_index", (HOT_TAG,)))
    connection.close()
    return settings, report("a load", sum(sizes), len(sizes), max(sizes), settings, milestone)


def far_page(server: Server) -> str:
    """The path of the thousandth page."""
    path = PATH
    for _ in range(FAR - 1):
        with urlopen(server.base + path) as answer:  # noqa: S310 (loopback)
            path = f"{PATH}&state={json.load(answer)['data']['state']}"
    return path


def pages(settings: StoreSettings, seconds: int, folder: Path) -> bool:
    """Prints the cost of both pages, and returns whether the bar is met without errors."""
    with serving(settings.url, settings.network) as server:
        requested = {"page 1": PATH, f"page {FAR:,}": far_page(server)}
        rates: dict[str, list[float]] = {name: [] for name in requested}
        errors = 0
        for _ in range(ROUNDS):
            for name, path in requested.items():
                figure = run_wrk(server, [path], seconds, folder)
                rates[name].append(figure.per_second)
                errors += figure.errors
    near, far = (statistics.median(each) for each in rates.values())
    print(
        f"page 1 {near:.0f} req/s, page {FAR:,} {far:.0f} req/s: {near / far:.2f} x (at most {MOST}), {errors} errors"
    )
    return near / far <= MOST and errors == 0


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=205_000, help="size of the archive")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    add_seconds(parser)
    options = parser.parse_args()
    if wrk_is_missing():
        return 2
    in_theory = a_day()
    os.environ["PERMANODE_STORE_PARTITION_SIZE"] = str(PARTITION_SIZE)
    with tempfile.TemporaryDirectory() as name:
        settings, in_practice = loaded(Path(name) / "store", options.archives, options.messages)
        flat = pages(settings, options.seconds, Path(name))
    return 0 if in_theory and in_practice and flat else 1


if __name__ == "__main__":
    sys.exit(main())

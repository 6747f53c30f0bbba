"""A daily series over three years: requests per second, compared with a bare FastAPI route that returns the same bytes.

    python -m bench.series [--seconds 2]

The store is SQLite with generated analytics of four years, one row per day. Requests are for spans of 1 096 days, each
starting on another day, as CSV and NDJSON (whole) and as JSON (pages of 1 000, the maximum). The servers, one process
each, take turns as in bench.http, and the median of three rounds counts. Figures are ratios of one run.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import urllib.request
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from bench.servers import Figure, add_seconds, run_wrk, serving, uvicorn, wrk_is_missing
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.queries.analytics import ANALYSED, ANALYSED_BY
from db.queries.series import OF_DAYS
from db.sync import range_row

NETWORK = "bench-series"
PATH = "/api/analytics/v2/series/day"
FIRST_DAY = date(2020, 1, 1)
DAYS, SPAN = 4 * 365, 3 * 365 + 1
LEAST = 0.6
"""The bar: the least share of a bare route's rate, for every format."""

ROUNDS = 3

FORMS = {"CSV": "text/csv", "NDJSON": "application/x-ndjson", "JSON, page of 1 000": "application/json"}


def fill(folder: Path) -> None:
    """Creates a store with one row per day, and one milestone on the first and on the last day."""
    settings = StoreSettings(f"sqlite:///{folder}", NETWORK)
    migrate(settings)
    chance = random.Random(8)
    days = [FIRST_DAY + timedelta(each) for each in range(DAYS)]
    rows: list[tuple[int | str, ...]] = [
        (day.year, str(day), *(chance.randrange(10**6) for _ in OF_DAYS)) for day in days
    ]
    noon = [1000 * int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()) for day in days]
    milestones = [
        dict(zip(schema.sync.names, (0, index, at, 0, None, 1, "full", schema.LAYOUT), strict=True))
        for index, at in ((1, noon[0]), (2, noon[-1]))
    ]
    store = open_store(settings, writable=True)
    with store.batch() as batch:
        batch.upsert(schema.daily_analytics, ("year", "date", *OF_DAYS), rows)
        batch.upsert(schema.sync, schema.sync.names, [tuple(each.values()) for each in milestones])
        held = range_row(NETWORK, 0, milestones)
        batch.upsert(schema.ranges, tuple(held), [tuple(held.values())])
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [(ANALYSED, "[[1, 2]]"), (ANALYSED_BY, "fill")])
    store.close()


def bare() -> Any:
    """A FastAPI route that returns recorded bodies: no store, no rendering."""
    from fastapi import FastAPI, Query, Response

    with Path(os.environ["BENCH_BODIES"]).open() as lines:
        bodies = {path: body.encode() for path, body in map(json.loads, lines)}
    app, media_type = FastAPI(), os.environ["BENCH_MEDIA_TYPE"]

    @app.get(PATH)
    async def series(start: str, end: str, size: Annotated[int, Query(alias="pageSize")]) -> Response:
        return Response(bodies[f"{PATH}?start={start}&end={end}&pageSize={size}"], media_type=media_type)

    return app


def paths() -> list[str]:
    """Spans of SPAN days, each starting one day later."""
    begins = [FIRST_DAY + timedelta(each) for each in range(DAYS - SPAN + 1)]
    return [f"{PATH}?start={each}&end={each + timedelta(SPAN - 1)}&pageSize=1000" for each in begins]


def recorded(base: str, requested: list[str], media_type: str, target: Path) -> float:
    """Records the API's body for every path for the bare route. Returns the mean size in bytes."""
    bodies = []
    for path in requested:
        request = urllib.request.Request(base + path, headers={"accept": media_type})  # noqa: S310 (loopback)
        bodies.append(urllib.request.urlopen(request).read().decode())  # noqa: S310 (loopback)
    with target.open("w") as lines:
        lines.writelines(json.dumps(pair) + "\n" for pair in zip(requested, bodies, strict=True))
    assert len(set(bodies)) == len(bodies)
    return sum(map(len, bodies)) / len(bodies)


def ratio(name: str, folder: Path, seconds: int) -> float:
    """The API's rate for a format divided by the bare route's."""
    requested, media_type, bodies = paths(), FORMS[name], folder / "bodies.jsonl"
    rates: dict[str, list[Figure]] = {"ours": [], "bare FastAPI": []}
    with serving(f"sqlite:///{(folder / 'store').absolute()}", NETWORK) as own:
        size = recorded(own.base, requested, media_type, bodies)
        with uvicorn("bench.series:bare", BENCH_BODIES=str(bodies), BENCH_MEDIA_TYPE=media_type) as peer:
            for _ in range(ROUNDS):
                for server_name, server in (("ours", own), ("bare FastAPI", peer)):
                    rates[server_name].append(run_wrk(server, requested, seconds, folder, accept=media_type))
    print(f"{name}: {size:,.0f} bytes of {SPAN} days at most")
    for server_name, figures in rates.items():
        middle = sorted(figures, key=lambda each: each.per_second)[ROUNDS // 2]
        print(
            f"  {server_name:14}{middle.per_second:9.0f} req/s {middle.p50_ms:8.2f} {middle.p99_ms:8.2f} ms "
            f"{middle.cpu_us:7.0f} µs {sum(each.errors for each in figures)} errors"
        )
    mine, theirs = (statistics.median(each.per_second for each in figures) for figures in rates.values())
    return mine / theirs


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_seconds(parser)
    options = parser.parse_args()
    if wrk_is_missing():
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "store")
        ratios = {form: ratio(form, folder, options.seconds) for form in FORMS}
    for form, each in ratios.items():
        print(f"{form}: {each:.2f} × a bare FastAPI route (at least {LEAST})")
    return 0 if min(ratios.values()) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())

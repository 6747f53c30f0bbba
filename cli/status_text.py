"""Formats the status of a store as text that fits a terminal of 80 columns and 24 lines."""

import time
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import reduce

from cli.progress import COLUMNS, LABEL, counts, line, milestones_line
from db.admin.sizing import format_size
from db.admin.status import Status
from db.intervals import Intervals, add, in_width, intersect, size
from db.queries.head import Lag, Newest
from db.queries.loads import Loads
from db.queries.log import LogSummary
from db.queries.reconciliation import Reconciliation
from db.queries.wormhole.holdings import Holdings

BAR = 40
"""Maximum width of the coverage bar, in cells."""

CELLS = {"full": "█", "signed": "▓", "merkle": "▒", "believed": "░"}
"""The cell of the coverage bar whose milestones have at least that proof level, strongest first."""

IN_PART, NOTHING = "+", "·"

SHOWN = 8
"""Maximum of day ranges, and of emitters with missing sequences, in the text. JSON contains all."""

UNITS = ((86_400 * 365.25, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def status_lines(status: Status, short: Intervals | None = None) -> list[str]:
    """Formats the status of a store.

    Args:
        status: The status.
        short: Milestones with missing rows; None if they were not counted.
    """
    return [
        line("network", status.network + ("" if status.vaas else f": {status.messages:,} messages")),
        *(milestone_lines(status, short) if status.vaas is None else vaa_lines(status.vaas)),
        line("rejects", f"{status.reject_count:,}; `permanode rejects list`" if status.reject_count else "none"),
        *([] if status.damage is None else [line("damage", f"{status.damage}; `permanode fsck`")]),
        line("size", _size_text(status)),
        line("created as", ", ".join(f"{_short(name)} {value}" for name, value in status.versions.items())),
        line("load", _load_text(status.loads)),
        line("writer", f"{status.writer.owner if status.writer else 'none'}; newest engine {status.engine or 'none'}"),
    ]


def table_lines(status: Status) -> list[str]:
    """Formats rows and bytes of each table, and the migrations."""
    return [
        f"{'table':<32}{'rows':>16}{'bytes':>20}",
        *(f"{each.table:<32}{_number(each.rows):>16}{_number(each.bytes):>20}" for each in status.tables),
        "",
        *(f"migration {name}" for name in status.migrations),
    ]


def milestone_lines(status: Status, short: Intervals | None) -> list[str]:
    """Formats the stored milestones and their proof levels."""
    room = COLUMNS - LABEL
    ledger = "none; load with --genesis" if status.ledger_index is None else f"{status.ledger_index:,}"
    listed = {
        "complete": status.complete,
        "incomplete": status.incomplete,
        "missing": status.missing,
        **{level: held for level, held in reversed(status.proved.items()) if held},
        "unlogged": status.unlogged,
        **({} if short is None else {"short": short}),
    }
    return [
        milestones_line(size(status.complete), size(status.incomplete), size(status.missing)),
        *([] if status.kept is None else [line("keeps", kept_text(status.kept))]),
        line("newest", _newest_text(status.newest)),
        line("dates", _dates_text(status)),
        line("ledger", ledger if status.log is None else f"{ledger}; {log_text(status.log)}{end_text(status)}"),
        *([] if status.reconciliation is None else [line("supply", supply_text(status.reconciliation))]),
        *(coverage_lines(status) if status.complete or status.incomplete else []),
        *(line(name, in_width(milestones, room)) for name, milestones in listed.items()),
        *([] if status.lag is None else lag_lines(status.lag)),
    ]


def kept_text(kept: Mapping[str, Intervals]) -> str:
    """Formats how many filters a selective store has, and which milestones all of them cover."""
    covered = reduce(intersect, kept.values())
    count = f"{len(kept):,} filter{'' if len(kept) == 1 else 's'}"
    return f"{count} (`status --json` lists them); all cover {in_width(covered, 30)}"


def coverage_lines(status: Status) -> list[str]:
    """Draws the milestones from the lowest or first missing one to the highest, and what the cells mean. A cell shows
    the weakest level of its milestones.
    """
    known = add(add(status.complete, status.incomplete), status.missing)
    first, last = known[0][0], known[-1][1]
    width = min(BAR, last - first + 1)
    cells = ""
    for cell in range(width):
        low = first + (last - first + 1) * cell // width
        high = first + (last - first + 1) * (cell + 1) // width - 1
        here = size(intersect(status.complete, [(low, high)]))
        whole = _level(status, low, high) if here == high - low + 1 else IN_PART
        cells += whole if here else NOTHING
    share = size(status.complete) / (last - first + 1)
    meaning = "  ".join(f"{cell} {name}" for name, cell in {**CELLS, "in part": IN_PART, "none": NOTHING}.items())
    # Rounds down: never 100 % while one is missing.
    return [line("coverage", f"{first:,} {cells} {last:,}  {int(1000 * share) / 10:.1f} %"), line("", meaning)]


def _level(status: Status, low: int, high: int) -> str:
    proved = {level: size(intersect(status.proved.get(level, []), [(low, high)])) for level in CELLS}
    if sum(proved.values()) < high - low + 1:
        return CELLS["believed"]
    return [CELLS[level] for level, count in proved.items() if count][-1]


def supply_text(found: Reconciliation) -> str:
    """Formats up to which ledger index balances and treasury add up to the token supply."""
    holds = [(found.first, found.holds_to)] if found.holds_to >= found.first else []
    text = f"{found.supply:,} in balances and treasury after {in_width(holds, COLUMNS)}"
    return text if found.wrong_at is None else f"{text}; {found.wrong_sum:,} after {found.wrong_at}"


def log_text(found: LogSummary) -> str:
    """Formats how far the transparency log is, and what is signed of it."""
    records = f"log of {found.size:,} records"
    if not found.signed_size:
        return f"{records}, unsigned; `permanode log key`"
    signed = "signed" if found.signed_size == found.size else f"{found.signed_size:,} signed"
    witnesses = f"{len(found.witnesses)} witness{'' if len(found.witnesses) == 1 else 'es'}"
    return f"{records}, {signed}" + (f"; {found.cosigned_size:,} by {witnesses}" if found.witnesses else "")


def end_text(status: Status) -> str:
    """Formats where the log of a selective store ends, if it has later milestones."""
    if status.log is None or not status.kept or not status.complete:
        return ""
    last = status.log.last_milestone
    return f", ends with milestone {last:,}" if last < status.complete[-1][1] else ""


def lag_lines(lag: Lag) -> list[str]:
    """Formats how far the store is behind its network."""
    due = ""
    if lag.behind and lag.eta_s:
        due = f", reached at about {_time(lag.seen_at + lag.eta_s)}"
    return [
        line("lag", f"milestone {lag.newest:,} is {lag.seconds:,.1f} s old; {lag.days_due:,} not yet in their days"),
        line("", f"{lag.behind:,} behind the node at {_time(lag.seen_at)}{due}"),
    ]


def vaa_lines(vaas: Holdings) -> list[str]:
    """Formats the stored messages, their verification results and the missing sequences."""
    days = [first if first == last else f"{first} to {last}" for first, last in vaas.days]
    shown = days[-2:]
    more = f" and {len(days) - len(shown):,} more" if len(days) > len(shown) else ""
    part = "" if vaas.is_whole else f", in the first {vaas.examined:,} rows"
    return [
        line("messages", f"{vaas.verified:,} verified, of {vaas.emitters:,} emitters"),
        line("newest", _moment_text("message", vaas.newest_s)),
        line("days", f"{', '.join(shown) or 'none'}{more}; without a timestamp {vaas.undated:,}"),
        line("verdicts", f"{counts(vaas.verdicts)}; without a VAA {vaas.written_alone:,}{part}"),
        line("duplicates", f"{vaas.duplicates:,}{part}"),
        line("missing", f"{vaas.missing:,} sequences{part}"),
        *(
            f"  {each.emitter_chain}/{each.emitter_address[:8]}…{each.emitter_address[-6:]}: {each.missing:,} in "
            f"{each.gaps:,} gaps of {each.first}:{int(each.last) + 1}"
            for each in vaas.gaps[:SHOWN]
        ),
    ]


def _short(name: str) -> str:
    return name.removesuffix("_size").removeprefix("bech32_")


def _newest_text(newest: Newest | None) -> str:
    if newest is None:
        return "none"
    return _moment_text(f"milestone {newest.milestone_index:,}", newest.timestamp_ms / 1_000)


def _moment_text(name: str, seconds: float | None) -> str:
    if seconds is None:
        return "none"
    age = time.time() - seconds
    return f"{name} of {_time(seconds)}, " + (f"{age_text(age)} old" if age >= 0 else f"in {age_text(-age)}")


def age_text(seconds: float) -> str:
    """Formats an age in the longest unit of which two have passed, rounded down."""
    unit_s, name = next((each for each in UNITS if seconds >= 2 * each[0]), UNITS[-1])
    count = int(seconds // unit_s)
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _dates_text(status: Status) -> str:
    if status.oldest_ms is None or status.newest is None:
        return "none"
    return f"{_date(status.oldest_ms)} to {_date(status.newest.timestamp_ms)}"


def _date(timestamp_ms: int) -> date:
    return datetime.fromtimestamp(timestamp_ms / 1_000, UTC).date()


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d %H:%M:%S} UTC"


def _size_text(status: Status) -> str:
    tables, space = status.tables, status.space
    used = sum(each.bytes or 0 for each in tables) if space.used is None else space.used
    free = "" if space.free is None else f", {format_size(space.free)} free"
    unknown = " at least" if any(each.rows is None for each in tables) else ""
    rows = sum(each.rows or 0 for each in tables)
    return f"{format_size(used)}{free}; {rows:,} rows{unknown}; `permanode status --tables`"


def _load_text(loads: Loads) -> str:
    begun = "" if loads.begun_at is None else f"; one began at {_time(loads.begun_at)}, not ended"
    ended = loads.ended
    if ended is None:
        return f"none noted{begun}"
    wrote = f"{ended.messages:,} messages" + (f" of {ended.milestones:,} milestones" if ended.milestones else "")
    result = "failed after" if ended.has_failed else f"{wrote} in"
    return f"{_time(ended.ended_at)}, {result} {ended.seconds:,.1f} s{begun}"


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"

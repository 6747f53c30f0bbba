"""UTC days as numbers since 1970-01-01, by which daily tables are kept; how days and times are written.

Rules of this file: arithmetic alone; it knows no table.
"""

import time
from datetime import UTC, datetime

HOUR_S, DAY_S = 3_600, 86_400


def this_day() -> int:
    """The day that it is now."""
    return int(time.time()) // DAY_S


def format_day(day: int) -> str:
    """The day as 2021-09-13."""
    return f"{datetime.fromtimestamp(day * DAY_S, UTC):%Y-%m-%d}"


def format_time(milliseconds: int) -> str:
    """A time since 1970 as Go writes it, and so the event tables: 2021-09-21 01:52:26.038 +0000 UTC, without zeros
    behind the point.
    """
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    digits = f"{milliseconds % 1000:03d}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}{'.' if digits else ''}{digits} +0000 UTC"

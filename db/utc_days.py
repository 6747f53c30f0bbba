"""UTC days as numbers since 1970-01-01, by which daily tables are kept.

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

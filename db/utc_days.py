"""UTC days as numbers since 1970-01-01, which key the daily tables, and the text form of days and times."""

import time
from datetime import UTC, date, datetime, timedelta

HOUR_S, DAY_S = 3_600, 86_400

EPOCH = date(1970, 1, 1).toordinal()


def this_day() -> int:
    """The current day."""
    return int(time.time()) // DAY_S


def calendar_interval(unit: str, day: int) -> tuple[int, int]:
    """The day, week (ISO 8601), month or year that contains a day: its first day and the day after its last."""
    today = date.fromordinal(EPOCH + day)
    if unit == "day":
        return day, day + 1
    if unit == "week":
        monday = day - today.weekday()
        return monday, monday + 7
    first = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
    end = (first + timedelta(days=31 if unit == "month" else 366)).replace(day=1)
    return first.toordinal() - EPOCH, end.toordinal() - EPOCH


def format_day(day: int) -> str:
    """Formats a day as 2021-09-13."""
    return f"{datetime.fromtimestamp(day * DAY_S, UTC):%Y-%m-%d}"


def format_time(milliseconds: int) -> str:
    """Formats a time since 1970 as Go does, which the event tables use: 2021-09-21 01:52:26.038 +0000 UTC, without
    trailing zeros of the fraction.
    """
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    digits = f"{milliseconds % 1000:03d}".rstrip("0")
    # Not strftime, which writes years before 1000 with fewer than four digits.
    return f"{moment.replace(tzinfo=None).isoformat(' ', 'seconds')}{'.' if digits else ''}{digits} +0000 UTC"

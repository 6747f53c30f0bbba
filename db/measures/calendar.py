"""Addresses that were active so far in the UTC day, ISO week, month and year of a milestone."""

from db.measures.measure import Kind, Measure, MeasureColumn
from db.model import Type

MEASURE = Measure(
    Kind.CALENDAR,
    tuple(
        MeasureColumn(
            f"{interval}_addresses",
            Type.BIGINT,
            f"addresses with outputs created or spent so far in the UTC {interval}",
            interval,
        )
        for interval in ("day", "week", "month", "year")
    ),
    layout=10,
)

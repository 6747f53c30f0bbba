"""Addresses that own base tokens after a milestone."""

from db.measures.measure import Kind, Measure, MeasureColumn
from db.model import Type

MEASURE = Measure(
    Kind.STATE,
    (
        MeasureColumn(
            "holders",
            Type.BIGINT,
            "addresses that own base tokens after the milestone",
            "sum(CAST(balance > 0 AS BIGINT) - CAST(coalesce(balance_before, 0) > 0 AS BIGINT))",
        ),
    ),
    rows="balances",
)

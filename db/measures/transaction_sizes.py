"""Transactions that took effect, in buckets by their number of inputs and by their number of outputs."""

from db.measures.measure import INCLUDED, Kind, Measure, MeasureColumn, messages
from db.model import Type

FIRST = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "small": 8, "medium": 16, "large": 32, "huge": 64}
"""Bucket → the least number in it. It ends before the next bucket."""

SIZES = {name: name for name in "1234567"} | {
    "small": "8–15",
    "medium": "16–31",
    "large": "32–63",
    "huge": "64 or more",
}

ENDS = (*list(FIRST.values())[1:], 1 << 31)


def _bucket(items: str, name: str, end: int) -> MeasureColumn:
    condition = f"inclusion_state = {INCLUDED} AND {items} >= {FIRST[name]} AND {items} < {end}"
    return MeasureColumn(
        f"{items}_{name}", Type.INT, f"transactions that took effect with {SIZES[name]} {items}", messages(condition)
    )


MEASURE = Measure(
    Kind.MESSAGE,
    tuple(_bucket(items, name, end) for items in ("inputs", "outputs") for name, end in zip(FIRST, ENDS, strict=True)),
)

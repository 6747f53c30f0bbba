"""Unspent outputs after a milestone, and the base tokens in them, by kind."""

from db.measures.measure import Kind, Measure, count_and_amount, is_type
from db.output_kinds import KINDS, types_of

COUNTS, AMOUNTS = zip(
    *(
        count_and_amount(kind, is_type(*types_of(kind)), f"unspent {kind} outputs after the milestone")
        for kind in KINDS
    ),
    strict=True,
)

MEASURE = Measure(Kind.STATE, (*COUNTS, *AMOUNTS))

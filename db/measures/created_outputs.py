"""Outputs that a milestone created, and the base tokens in them, by kind."""

from db.measures.measure import Kind, Measure, MeasureColumn, is_type, tokens
from db.model import Type
from db.output_kinds import KINDS, types_of


def _count(kind: str) -> MeasureColumn:
    expression = f"sum(if({is_type(*types_of(kind))}, created, 0))"
    return MeasureColumn(f"{kind}_created_count", Type.INT, f"{kind} outputs created", expression)


def _amount(kind: str) -> MeasureColumn:
    expression = tokens(is_type(*types_of(kind)))
    return MeasureColumn(f"{kind}_created_amount", Type.BIGINT, f"base tokens in created {kind} outputs", expression)


MEASURE = Measure(Kind.MESSAGE, (*map(_count, KINDS), *map(_amount, KINDS)))

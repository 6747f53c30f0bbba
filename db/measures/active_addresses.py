"""Addresses that were active in a milestone. An address may be active in several, so they do not add up."""

from db.measures.measure import Kind, Measure, MeasureColumn
from db.model import Type

MEASURE = Measure(
    Kind.FLOW,
    (MeasureColumn("active_addresses", Type.INT, "addresses with outputs created or spent", "count(milestone_index)"),),
    rows="SELECT DISTINCT milestone_index, owner FROM {changes}",
    is_summable=False,
)

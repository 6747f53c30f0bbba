"""Outputs of genesis that were never spent, such as rewards that nobody claimed."""

from db.measures.measure import Kind, Measure, count_and_amount

MEASURE = Measure(
    Kind.STATE,
    count_and_amount(
        "unclaimed",
        "created_milestone_index = {genesis}",
        "unspent outputs of the loaded genesis",
    ),
)

"""Outputs of genesis that were never spent, such as rewards that nobody claimed.

A snapshot also has outputs that later milestones booked. These do not count if the snapshot contains the milestone.
"""

from db.measures.measure import Kind, Measure, count_and_amount

MEASURE = Measure(
    Kind.STATE,
    count_and_amount(
        "unclaimed",
        "created_milestone_index = {genesis} AND coalesce(booked_milestone_index, 0) = 0",
        "unspent outputs of the loaded genesis, without those that a milestone after 0 booked",
    ),
)

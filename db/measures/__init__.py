"""Measures: what ms_analytics contains about each milestone. One module declares one measure.

Input: nothing. Output: MEASURES, which the schema, the series, the API and the docs are derived from and which
etl/analytics computes. Not allowed: imports other than db.model and db.output_kinds, and code that reads or writes.
"""

from collections.abc import Mapping
from importlib import import_module

from db.measures.measure import Kind, Measure

NAMES = (
    "activity",
    "message_sizes",
    "transaction_sizes",
    "created_outputs",
    "active_addresses",
    "transferred_amount",
    "chains",
    "native_tokens",
    "holders",
    "unspent_outputs",
    "ledger_size",
    "unclaimed_outputs",
    "unlock_conditions",
    "calendar",
)
"""Modules, one per line, in the order of their columns in the table. A new measure goes last."""

MEASURES: Mapping[str, Measure] = {name: import_module(f"{__name__}.{name}").MEASURE for name in NAMES}


def columns_of(*kinds: Kind) -> tuple[str, ...]:
    """Names of the columns of all measures of these kinds, in declared order."""
    return tuple(name for measure in MEASURES.values() if measure.kind in kinds for name in measure.names)

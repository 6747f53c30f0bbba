"""Which commands repair the damage that `permanode fsck` finds in a store."""

from collections.abc import Iterable
from dataclasses import dataclass

from db import schema
from db.damage import Damage
from db.intervals import Intervals, add, subtract, word
from db.schema.protocols import TABLES_OF, WORMHOLE

NEEDED_TO_OPEN = frozenset({"sqlite_schema", schema.keyspace_info.name, schema.migrations.name})
"""Tables without which a store cannot be opened."""

OF_NO_MILESTONE = frozenset({schema.splits.name, schema.tails.name, *(each.name for each in TABLES_OF[WORMHOLE])})
"""Tables whose rows do not follow from the milestones of a range."""


@dataclass(frozen=True)
class Repair:
    """How to repair a store.

    Attributes:
        commands: commands to run, in order.
        before: what to do before, or empty.
    """

    commands: tuple[str, ...]
    before: str = ""


def repair_of(found: Iterable[Damage], known: Intervals) -> Repair:
    """Returns how to repair this damage of a store. `known`: the milestones of its lake."""
    milestones, is_whole = Intervals(), False
    for each in found:
        if each.table in NEEDED_TO_OPEN:
            before = "move the file CURRENT out of the store's directory, which then counts as empty; keep its lake"
            return Repair(("permanode migrate", "permanode rebuild"), before)
        is_whole = is_whole or each.table in OF_NO_MILESTONE or not each.milestones
        milestones = add(milestones, each.milestones)
    milestones = subtract(milestones, subtract(milestones, known))
    if is_whole or not milestones:
        return Repair(("permanode rebuild",))
    ranges = " ".join(f"--range {word(each)}" for each in milestones)
    return Repair((f"permanode rebuild {ranges}",))

"""Which rows the tables of a selective store have of its messages (docs/decisions/0051-rows-of-selective-stores.md).

A lookup by address or tag has the rows of the keys that filters name, and all rows of milestones that are kept as a
whole. Rows of other keys belong to kept messages, too, but no request may read them: they are not all of their key.
"""

from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from db import schema
from ledger.selection import Selection

NOT_KEPT = (schema.transactions,)
"""Tables without rows in a selective store: parts of messages that no request reads."""


def is_kept(selection: Selection, name: str, key: Column) -> Column:
    """Whether a lookup has the rows of a key.

    Args:
        selection: the filters.
        name: what the key is, ADDRESS or TAG of ledger/selection.py. Lookups name their key columns like this.
        key: the key. The row also has the column milestone_index.
    """
    milestone = F.col("milestone_index")
    whole = [(milestone >= first) & (milestone <= last) for first, last in selection.whole_milestones]
    return reduce(or_, whole, key.isin(sorted(selection.values_of(name))))

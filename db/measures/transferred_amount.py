"""Base tokens that changed hands in transactions. A migration spends nothing and is no transfer."""

from db.measures.measure import Kind, Measure, MeasureColumn
from db.model import Type

NETS = """
SELECT milestone_index, white_flag_index, sum(if(is_spent, -1, 1) * amount) AS net, count_if(is_spent) AS spent
FROM {changes}
GROUP BY milestone_index, white_flag_index, owner
"""
"""What each owner gained, or lost, in each transaction."""

MEASURE = Measure(
    Kind.FLOW,
    (
        MeasureColumn(
            "transferred_amount",
            Type.BIGINT,
            "base tokens that owners gained in transactions, without change",
            "sum(gained)",
        ),
    ),
    rows=f"""
SELECT milestone_index, sum(greatest(net, 0)) AS gained
FROM ({NETS})
GROUP BY milestone_index, white_flag_index
HAVING sum(spent) > 0
""",
)

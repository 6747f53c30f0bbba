"""Bytes of the messages of a milestone, by payload. Complete messages count, as in inx-chronicle."""

from db.measures.activity import PAYLOADS
from db.measures.measure import Kind, Measure, MeasureColumn, message_bytes
from db.model import Type


def _bytes(name: str, meaning: str, condition: str) -> MeasureColumn:
    return MeasureColumn(name, Type.BIGINT, meaning, message_bytes(condition))


MEASURE = Measure(
    Kind.MESSAGE,
    (
        _bytes("message_bytes", "bytes of all messages", "TRUE"),
        _bytes("transaction_bytes", "bytes of messages with a transaction", PAYLOADS["transaction"]),
        _bytes(
            "treasury_transaction_bytes",
            "bytes of messages with a treasury transaction",
            PAYLOADS["treasury_transaction"],
        ),
        _bytes("milestone_bytes", "bytes of messages with a milestone", PAYLOADS["milestone"]),
        _bytes("tagged_data_bytes", "bytes of messages with tagged data or an indexation", PAYLOADS["tagged_data"]),
    ),
)

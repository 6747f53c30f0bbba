"""Messages of a milestone by payload and inclusion state, and the base tokens that they moved."""

from db.measures.measure import CONFLICTING, INCLUDED, NO_TRANSACTION, Kind, Measure, MeasureColumn, messages, tokens
from db.model import Type

PAYLOADS = {
    "transaction": "payload_kind IN (0, 6)",
    "treasury_transaction": "payload_kind IN (4)",
    "milestone": "payload_kind IN (1, 7)",
    "tagged_data": "payload_kind IN (2, 5)",
}
"""Payload → whether a message carries it, by its type numbers in both eras."""


def _count(name: str, meaning: str, condition: str) -> MeasureColumn:
    return MeasureColumn(name, Type.INT, meaning, messages(condition))


MEASURE = Measure(
    Kind.MESSAGE,
    (
        _count("message_count", "messages in the cone; in Chrysalis including the milestone's own", "TRUE"),
        _count("transaction_count", "transactions that took effect", f"inclusion_state = {INCLUDED}"),
        MeasureColumn(
            "transferred_tokens",
            Type.BIGINT,
            "base tokens in the outputs of transactions that took effect, including change",
            # A migration creates outputs and moves nothing.
            tokens("NOT is_migrated"),
        ),
        _count("conflicting_count", "transactions that conflict", f"inclusion_state = {CONFLICTING}"),
        _count("no_transaction_count", "messages without a transaction", f"inclusion_state = {NO_TRANSACTION}"),
        _count(
            "transaction_payload_count",
            "messages with a transaction, included or not",
            PAYLOADS["transaction"],
        ),
        _count(
            "treasury_transaction_payload_count",
            "messages with a treasury transaction",
            PAYLOADS["treasury_transaction"],
        ),
        _count("milestone_payload_count", "messages with a milestone", PAYLOADS["milestone"]),
        _count("tagged_data_payload_count", "messages with tagged data or an indexation", PAYLOADS["tagged_data"]),
        _count("no_payload_count", "messages without a payload", "payload_kind IS NULL"),
    ),
)

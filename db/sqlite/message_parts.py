"""Parts of transactions, which are stored as their places in the bytes of the message that contains them.

The stored column PLACE has one or two places, each position << 16 | length. Positions start at 1, as in SQL. The first
part of an input has 35 bytes, so the place of its unlock block is enough for the length of both:

    output   the output
    input    position of the input << 32, then the unlock block
    unlock   the unlock block; the 34 bytes before it are not in the message, so `data` keeps them

A row whose data are not in a stored message has no place, and its data are stored as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import apsw

from db import schema

PLACE = "place"

INPUT_BYTES = 35
"""Bytes of an input."""

SPENT_BY_BYTES = 34
"""Bytes of an unlock row before the unlock block: the spending transaction and the index of its input."""

MESSAGES_KEPT = 4_096
"""Messages that are kept in memory. The rows of a transaction follow each other."""

MOST_BYTES = 0xFFFF
"""The longest message of which places are stored."""

READ = (
    f"CASE WHEN {{{PLACE}}} IS NULL THEN {{data}} ELSE (SELECT CASE {{variant}} "
    f"WHEN 'output' THEN substr(whole.message, {{{PLACE}}} >> 16, {{{PLACE}}} & 65535) "
    f"WHEN 'input' THEN CAST(substr(whole.message, {{{PLACE}}} >> 32, {INPUT_BYTES}) || "
    f"substr(whole.message, ({{{PLACE}}} >> 16) & 65535, {{{PLACE}}} & 65535) AS BLOB) "
    f"ELSE CAST({{data}} || substr(whole.message, {{{PLACE}}} >> 16, {{{PLACE}}} & 65535) AS BLOB) END "
    f"FROM {schema.messages.name} AS whole WHERE whole.message_id = {{message_id}}) END"
)
"""SQL of the data of a row."""


def place_rows(
    connection: apsw.Connection, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> Iterator[Sequence[Any]]:
    """Yields rows of `transactions` as they are stored, with PLACE after these columns, which include `data`."""
    of_variant, of_message, at = map(columns.index, ("variant", "message_id", "data"))
    messages, load = dict[bytes, bytes](), partial(_load, connection)
    for row in rows:
        data: bytes | None = row[at]
        place, variant, message_id = None, row[of_variant], row[of_message]
        message = messages.get(message_id)
        if message is None:
            if len(messages) >= MESSAGES_KEPT:
                messages.clear()
            message = messages[message_id] = load(message_id)
        if not message or not data:
            pass
        elif variant == "output":
            if start := message.find(data) + 1:
                place, data = start << 16 | len(data), None
        elif variant == "input":
            unlock, start = data[INPUT_BYTES:], message.find(data[:INPUT_BYTES]) + 1
            if unlock and start and (of_unlock := message.find(unlock) + 1):
                data, place = None, start << 32 | of_unlock << 16 | len(unlock)
        elif variant == "unlock":
            unlock = data[SPENT_BY_BYTES:]
            if unlock and (of_unlock := message.find(unlock) + 1):
                data, place = data[:SPENT_BY_BYTES], of_unlock << 16 | len(unlock)
        yield (*row[:at], data, *row[at + 1 :], place)


def _load(connection: apsw.Connection, message_id: bytes) -> bytes:
    """A stored message; nothing if it is not stored, or if it is longer than places are."""
    sql = f"SELECT message FROM {schema.messages.name} WHERE message_id = ?"
    message: bytes | None = connection.execute(sql, (message_id,)).get
    return message if message is not None and len(message) <= MOST_BYTES else b""

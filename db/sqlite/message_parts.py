"""Parts of transactions, which are stored as their places in the bytes of the message that contains them.

The stored column PLACE has one or two places, each position << 16 | length. Positions start at 1, as in SQL. The first
part of an input has 35 bytes, so the place of its unlock block is enough for the length of both:

    output   the output
    input    position of the input << 32, then the unlock block
    unlock   the unlock block; the 34 bytes before it are not in the message, so `data` keeps them

A row whose data are not in a stored message has no place, and its data are stored as they are.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
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

STORED = f"SELECT message FROM {schema.messages.name} WHERE message_id = ?"


class MessageParts:
    """Finds the parts of the rows of one upsert."""

    def __init__(self, connection: apsw.Connection, columns: Sequence[str]) -> None:
        """`columns`: those of the rows, which include `data`."""
        self._connection = connection
        self._of_variant, self._of_message, self._at = map(columns.index, ("variant", "message_id", "data"))
        self._messages = dict[bytes, bytes]()

    def place(self, values: Sequence[Sequence[Any]], messages: Iterable[Any]) -> list[Sequence[Any]]:
        """Rows of `transactions` as they are stored, by column, with PLACE at the end.

        `messages`: the message of each row, or None if it is that of a row shortly before, or stored.
        """
        variants, of_messages, parts = (values[at] for at in (self._of_variant, self._of_message, self._at))
        stored, places = list[bytes | None](), list[int | None]()
        for variant, message_id, part, whole in zip(variants, of_messages, parts, messages, strict=False):
            data: bytes | None = part
            place = None
            message = self._messages.get(message_id)
            if message is None:
                message = self._find(message_id, whole)
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
            stored.append(data)
            places.append(place)
        return [*values[: self._at], stored, *values[self._at + 1 :], places]

    def _find(self, message_id: bytes, whole: bytes | None) -> bytes:
        """A message, perhaps the `whole` one; nothing if it is not stored, or if it is longer than places are."""
        if len(self._messages) >= MESSAGES_KEPT:
            self._messages.clear()
        message = whole
        if whole is None or blake2b(whole, digest_size=32).digest() != message_id:
            message = self._connection.execute(STORED, (message_id,)).get
        found = message if message is not None and len(message) <= MOST_BYTES else b""
        self._messages[message_id] = found
        return found

"""Cursors: the position of the next page as opaque text.

Invariants:
1. `format_cursor` and `parse_cursor` are inverse.
2. A digest binds a cursor to its network, query and order. A damaged cursor, or one of another query, is rejected.
3. A cursor identifies a row, not a partition or an offset, so it survives inserts, rebuilds and other page sizes.
4. The digest has no secret, because cursors are equal on all stores. So anybody can compute it, and the values of a
   cursor are checked like any other input.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import orjson

from db.model import Table, Type
from db.store import Key

DIGEST_BYTES = 8

Check: TypeAlias = Callable[[object], bool]
"""Whether a value may stand at its place in the key of a cursor."""

HEX = re.compile(r"([0-9a-f]{2})*")
_encode = json.JSONEncoder(separators=(",", ":")).encode


BESIDE_KEY = 2
"""Values of a cursor after its key: `pending` and `final_to`."""

NONE_FINAL = -1
"""`final_to` of a listing that had pending rows only."""


class CursorError(ValueError):
    """An invalid cursor for this query. The message is for clients."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row that was returned or examined.

    If `pending`, it was a pending row, and `final_to` is the newest milestone of the listing when its pending rows
    began. A row that becomes final later still counts as pending for this listing, so it is returned exactly once. In a
    listing of the ledger state, which has no pending rows, `final_to` is the ledger index of all its pages.
    """

    key: Key
    pending: bool = False
    final_to: int | None = None


def format_cursor(cursor: Cursor, query: str) -> str:
    """Formats a cursor as base64url. `query` identifies the listing, including its network and order."""
    values = [*cursor.key, cursor.pending, cursor.final_to]
    body = orjson.dumps(values)
    if not body.isascii():
        body = _encode(values).encode()
    return _spelled(_digest(body, query) + body)


def is_integer(value: object, most: int, least: int = 0) -> bool:
    """Whether a value is an integer from `least` to `most`."""
    return type(value) is int and least <= value <= most


def is_sequence(value: object) -> bool:
    """Whether a value is a sequence of Wormhole, an unsigned integer of 64 bits."""
    return is_integer(value, 2**64 - 1)


def is_hex(value: object) -> bool:
    """Whether a value is the hex of whole bytes as a store returns it."""
    return isinstance(value, str) and HEX.fullmatch(value) is not None


def is_text(value: object) -> bool:
    """Whether a value is text that UTF-8 can encode."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


CHECKS: Mapping[Type, Check] = {
    Type.HEX: is_hex,
    Type.TEXT: is_text,
    Type.BOOLEAN: lambda value: isinstance(value, bool),
    Type.TINYINT: partial(is_integer, most=2**7 - 1),
    Type.SMALLINT: partial(is_integer, most=2**15 - 1),
    Type.INT: partial(is_integer, most=2**31 - 1),
    Type.BIGINT: partial(is_integer, most=2**63 - 1),
}
"""Clustering columns that order a listing have one of these types. None of them has negative values."""


def checks_of(table: Table) -> Sequence[Check]:
    """The checks of a cursor that identifies a row of this table."""
    return [CHECKS[table.column(name).type] for name in table.clustering]


def parse_cursor(
    text: str, query: str, key: Sequence[Check], *, pending: Sequence[Check] | None = None, has_state: bool = False
) -> Cursor:
    """Parses a cursor. Raises CursorError for any text that `format_cursor` does not create for this query.

    `key` checks the values of its key, and `pending` those of a pending row; None: the query has no pending rows.
    `has_state`: the query is one of the ledger state, whose cursors have a ledger index.
    """
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise CursorError(
            "expected the cursor of the previous page unchanged, found text that is not base64url"
        ) from error
    digest, body = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    if digest != _digest(body, query) or _spelled(raw) != text:
        raise CursorError("expected the cursor of the previous page of this query, in the same order")
    found = _decoded(body)
    checks = pending if found.pending else key
    if checks is None or not _satisfies(found.key, checks) or (found.final_to is None) == (found.pending or has_state):
        raise CursorError("expected the cursor of the previous page unchanged, found another position")
    return found


def _decoded(body: bytes) -> Cursor:
    """The cursor with this body, its key unchecked."""
    wrong = CursorError("expected the cursor of the previous page unchanged, found another content")
    try:
        values = json.loads(body.decode("ascii"))
        # No value has a second form: no spaces, no escapes that are not needed, no fractions.
        is_canonical = isinstance(values, list) and len(values) >= BESIDE_KEY and _encode(values).encode() == body
    except (ValueError, RecursionError):
        raise wrong from None
    if not is_canonical:
        raise wrong
    *key, pending, final_to = values
    least = NONE_FINAL if pending is True else 0
    if not isinstance(pending, bool) or not (final_to is None or is_integer(final_to, 2**31 - 1, least)):
        raise wrong
    return Cursor(tuple(key), pending, final_to)


def _satisfies(key: Iterable[object], checks: Sequence[Check]) -> bool:
    values = [*key]
    return len(values) == len(checks) and all(check(value) for check, value in zip(checks, values, strict=True))


def _spelled(raw: bytes) -> str:
    """The canonical text of these bytes: the unused bits at the end of base64 are zero."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _digest(body: bytes, query: str) -> bytes:
    key = hashlib.blake2b(query.encode(), digest_size=32).digest()
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES, key=key).digest()

"""Cursors: the position of the next page as opaque text.

Invariants:
1. `format_cursor` and `parse_cursor` are inverse.
2. A digest binds a cursor to its query and order. A damaged cursor, or one of another query, is rejected.
3. A cursor identifies a row, not a partition or an offset, so it survives inserts, rebuilds and other page sizes.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

from db.store import Key

DIGEST_BYTES = 8
_encode = json.JSONEncoder(separators=(",", ":")).encode


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
    """Formats a cursor as base64url. `query` identifies the listing, including its order."""
    body = _encode([*cursor.key, cursor.pending, cursor.final_to]).encode()
    return _spelled(_digest(body, query) + body)


def parse_cursor(text: str, query: str) -> Cursor:
    """Parses a cursor. Raises CursorError for any text that `format_cursor` did not create for this query."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise CursorError(
            "expected the cursor of the previous page unchanged, found text that is not base64url"
        ) from error
    digest, body = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    if digest != _digest(body, query) or _spelled(raw) != text:
        raise CursorError("expected the cursor of the previous page of this query, in the same order")
    *key, pending, final_to = json.loads(body)
    return Cursor(tuple(key), pending, final_to)


def _spelled(raw: bytes) -> str:
    """The canonical text of these bytes: the unused bits at the end of base64 are zero."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _digest(body: bytes, query: str) -> bytes:
    key = hashlib.blake2b(query.encode(), digest_size=32).digest()
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES, key=key).digest()

"""Where the next page begins, as opaque text.

Rules of this file: two inverse functions; a cursor is bound to its question and order by a digest, so one that is
damaged or belongs to another question is refused, never misread. It names a row, not a partition or an offset, so it
survives inserts, rebuilds and any page size.
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
    """The text is no cursor of this question; its message is fit for a client."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row that was shown (or looked at).

    `pending`: it was a pending row; then `final_to` is the newest milestone the listing had when its pending rows were
    begun: a row that becomes final later counts as pending for this listing, so it is shown exactly once. In a listing
    of ledger state, which has no pending rows, it is the ledger index that all its pages show.
    """

    key: Key
    pending: bool = False
    final_to: int | None = None


def format_cursor(cursor: Cursor, question: str) -> str:
    """As base64url text; `question` is everything that makes the listing what it is, the order included."""
    body = _encode([*cursor.key, cursor.pending, cursor.final_to]).encode()
    return _spelled(_digest(body, question) + body)


def parse_cursor(text: str, question: str) -> Cursor:
    """The inverse; CursorError for anything `format_cursor` did not make for this question."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise CursorError("expected what an earlier page gave, found text that is not base64url") from error
    digest, body = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    if digest != _digest(body, question) or _spelled(raw) != text:
        raise CursorError("expected what an earlier page of this very listing gave, in the same order")
    *key, pending, final_to = json.loads(body)
    return Cursor(tuple(key), pending, final_to)


def _spelled(raw: bytes) -> str:
    """The one spelling of these bytes: base64 leaves bits unused at the end, which are zero here."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _digest(body: bytes, question: str) -> bytes:
    key = hashlib.blake2b(question.encode(), digest_size=32).digest()
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES, key=key).digest()

"""The JSON document of a proof: rendering, and parsing with errors that name the field.

The document is canonical: compact JSON (no spaces, as `json.dumps` with these separators and JavaScript's
`JSON.stringify` write it), every field exactly once and in this order, hex in lower case, base64 with padding. A text
that differs in a byte from the rendered document is rejected.

Keys are hex. Hashes and row ids, of which a document mostly consists, are base64: `root` is one hash, `path` the
hashes of a proof, one after another. What follows from the rest is left out: the intervals, their roots, and the root
of rows that are on the page. `rows` is a root as base64, an object of groups without empty members, or an object of
parts. It is left out if the page has all rows. A part is a list: number of the interval, count, rows.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, TypeAlias

from ledger.completeness.families import BY_NAME
from ledger.completeness.intervals import FACTOR, LEVELS, MILESTONE_MOST
from ledger.completeness.proof import (
    Absent,
    Groups,
    IntervalProof,
    Listing,
    ListingProof,
    Part,
    Parts,
    Present,
    Rows,
)
from ledger.completeness.trees import COUNT_MOST, GROUP, KEYS_MOST, Leaf, family_of
from ledger.crypto.log_tree import HASH_BYTES
from ledger.json_reader import JsonError, listed, nested, uint

Json: TypeAlias = dict[str, Any]

VERSION = 1

BYTES_MOST = 1 << 20
"""A longer document is rejected before it is parsed."""

PATH_MOST = 128
"""Hashes in a path. The proof of a range in the largest tree has 2 · 48."""

ROWS_MOST = 10_000
INTERVALS_MOST = 128
CHECKPOINT_MOST = 10_000
NETWORK = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
WHOLE = Groups((), (), ())
"""The rows of an interval of which the page has all."""

HEX = re.compile(r"(?:[0-9a-f]{2})*")


def render_document(proof: ListingProof) -> str:
    """The document of a proof."""
    listing = proof.listing
    return _compact(
        {
            "version": VERSION,
            "network": listing.network,
            "first": listing.first,
            "family": listing.family.name,
            "key": listing.key.hex(),
            "to": listing.end,
            "total": proof.total,
            "index": proof.index,
            "rows": [*map(_base64_of, proof.rows)],
            "intervals": [_interval_json(each) for each in proof.intervals],
            "log_path": _path_json(proof.log_path),
            "checkpoint": proof.checkpoint,
        }
    )


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _path_json(path: Sequence[bytes]) -> str:
    return _base64_of(b"".join(path))


def _base64_of(data: bytes) -> str:
    return b64encode(data).decode()


def _interval_json(proof: IntervalProof) -> Json:
    found = proof.found
    if isinstance(found, Absent):
        neighbours = [_leaf_json(leaf) for leaf in found.neighbours]
        absent = {"index": found.index, "neighbours": neighbours, "path": _path_json(found.path)}
        return {"keys": proof.keys, "absent": absent}
    rows = _rows_json(found.rows)
    inside = {} if rows is None else {"rows": rows}
    present = {"index": found.index, "count": found.count, **inside, "path": _path_json(found.path)}
    return {"keys": proof.keys, "present": present}


def _leaf_json(leaf: Leaf) -> Json:
    return {"family": leaf.place[0], "key": leaf.place[1:].hex(), "count": leaf.count, "root": _base64_of(leaf.root)}


def _rows_json(rows: Rows) -> Json | str | None:
    if isinstance(rows, bytes):
        return _base64_of(rows)
    if isinstance(rows, Groups):
        sides = {"before": [*map(_base64_of, rows.before)], "after": [*map(_base64_of, rows.after)]}
        members = {**sides, "path": _path_json(rows.path)}
        return {name: each for name, each in members.items() if each} or None
    parts = []
    for part in rows.parts:
        inside = _rows_json(part.rows)
        parts.append([part.number, part.count, *(() if inside is None else (inside,))])
    return {"level": rows.level, "parts": parts}


def parse_document(data: bytes) -> ListingProof:
    """Parses a document. Does not verify the proof.

    Raises:
        JsonError: it is not canonical, or a field is missing, unknown or malformed. The error names the field.
    """
    if len(data) > BYTES_MOST:
        raise JsonError("", f"at most {BYTES_MOST} bytes")
    try:
        text = data.decode()
        value = json.loads(text)
        is_canonical = _compact(value) == text
    except (ValueError, RecursionError):
        raise JsonError("", "a JSON document in UTF-8") from None
    if not is_canonical:
        raise JsonError("", "canonical JSON: compact, each field once, integers in digits, no needless escapes")
    return _parse_proof(value)


def _parse_proof(value: Any) -> ListingProof:
    _require_fields(
        value,
        (
            *("version", "network", "first", "family", "key", "to", "total", "index", "rows", "intervals"),
            *("log_path", "checkpoint"),
        ),
    )
    if uint(value, "version", VERSION) != VERSION:
        raise JsonError("version", f"{VERSION}")
    family = BY_NAME.get(_text(value, "family", 64))
    if family is None:
        raise JsonError("family", "the name of a listing's family")
    key = _hex(value, "key")
    if not family.has_key(key):
        raise JsonError("key", f"{family.key_least} to {family.key_most} bytes as hex in lower case")
    network = _text(value, "network", 64)
    if NETWORK.fullmatch(network) is None:
        raise JsonError("network", "the name of a network")
    first = uint(value, "first", MILESTONE_MOST)
    if first == 0:
        raise JsonError("first", "a milestone index, 1 or greater")
    listing = Listing(network, first, family, key, uint(value, "to", MILESTONE_MOST))
    return ListingProof(
        listing,
        uint(value, "total", KEYS_MOST),
        uint(value, "index", KEYS_MOST),
        _rows(value, "rows", family.row_bytes, 0, ROWS_MOST),
        listed(value, "intervals", lambda each: _parse_interval(each, family.row_bytes), 1, INTERVALS_MOST),
        _path(value, "log_path"),
        _text(value, "checkpoint", CHECKPOINT_MOST),
    )


def _parse_interval(value: Any, row_bytes: int) -> IntervalProof:
    is_present = isinstance(value, dict) and "present" in value
    _require_fields(value, ("keys", "present" if is_present else "absent"))
    keys = uint(value, "keys", KEYS_MOST)
    if is_present:
        return IntervalProof(keys, nested(value, "present", lambda each: _parse_present(each, row_bytes)))
    return IntervalProof(keys, nested(value, "absent", _parse_absent))


def _parse_absent(value: Any) -> Absent:
    _require_fields(value, ("index", "neighbours", "path"))
    return Absent(uint(value, "index", KEYS_MOST), listed(value, "neighbours", _parse_leaf, 0, 2), _path(value, "path"))


def _parse_leaf(value: Any) -> Leaf:
    _require_fields(value, ("family", "key", "count", "root"))
    place = bytes([uint(value, "family", 255)]) + _hex(value, "key")
    if family_of(place) is None:
        raise JsonError("key", "a family's number and one of its keys as hex in lower case")
    return Leaf(place, _count(value), _hash(value, "root"))


def _parse_present(value: Any, row_bytes: int) -> Present:
    inside = ("rows",) if isinstance(value, dict) and "rows" in value else ()
    _require_fields(value, ("index", "count", *inside, "path"))
    rows = nested(value, "rows", lambda each: _parse_rows(each, LEVELS, row_bytes)) if inside else WHOLE
    return Present(uint(value, "index", KEYS_MOST), _count(value), _path(value, "path"), rows)


def _parse_rows(value: Any, above: int, row_bytes: int) -> Rows:
    """`above`: the level of the interval, or greater. That of its children is lower, which bounds the depth."""
    if isinstance(value, str):
        return _hash_text(value, "")
    if isinstance(value, dict) and "parts" in value:
        _require_fields(value, ("level", "parts"))
        level = uint(value, "level", above - 1)
        return Parts(level, listed(value, "parts", lambda each: _parse_part(each, level, row_bytes), 2, FACTOR))
    names = [name for name in ("before", "after", "path") if isinstance(value, dict) and name in value]
    _require_fields(value, names)
    if not names:
        raise JsonError("", "a member or more")
    before, after = (
        _rows(value, side, row_bytes, 1, GROUP - 1) if side in names else () for side in ("before", "after")
    )
    path = _path(value, "path") if "path" in names else ()
    if "path" in names and not path:
        raise JsonError("path", "a hash or more")
    return Groups(before, after, path)


def _parse_part(value: Any, level: int, row_bytes: int) -> Part:
    if not isinstance(value, list) or not 2 <= len(value) <= 3:
        raise JsonError("", "a list of an interval's number, a count and perhaps rows")
    members = dict(zip(("interval", "count", "rows"), value, strict=False))
    rows = nested(members, "rows", lambda each: _parse_rows(each, level, row_bytes)) if len(value) == 3 else WHOLE
    return Part(uint(members, "interval", MILESTONE_MOST), _count(members), rows)


def _require_fields(value: Any, names: Sequence[str]) -> None:
    if not isinstance(value, dict) or tuple(value) != tuple(names):
        raise JsonError("", f"an object with exactly these fields, in this order: {', '.join(names)}")


def _text(value: Any, name: str, most: int) -> str:
    text = value[name]
    if not isinstance(text, str) or len(text) > most:
        raise JsonError(name, f"a text of at most {most} characters")
    return text


def _count(value: Any) -> int:
    count = uint(value, "count", COUNT_MOST)
    if count == 0:
        raise JsonError("count", "1 or greater")
    return count


def _hex(value: Any, name: str) -> bytes:
    text = value[name]
    if not isinstance(text, str) or HEX.fullmatch(text) is None:
        raise JsonError(name, "hex in lower case")
    return bytes.fromhex(text)


def _hash(value: Any, name: str) -> bytes:
    return _hash_text(value[name], name)


def _hash_text(text: Any, path: str) -> bytes:
    found = _base64_text(text, path)
    if len(found) != HASH_BYTES:
        raise JsonError(path, f"{HASH_BYTES} bytes as base64")
    return found


def _path(value: Any, name: str) -> tuple[bytes, ...]:
    found = _base64_text(value[name], name)
    if len(found) % HASH_BYTES or len(found) > PATH_MOST * HASH_BYTES:
        raise JsonError(name, f"at most {PATH_MOST} hashes of {HASH_BYTES} bytes as base64")
    return tuple(found[start : start + HASH_BYTES] for start in range(0, len(found), HASH_BYTES))


def _base64_text(text: Any, path: str) -> bytes:
    try:
        found = b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        found = None
    # A decoder ignores the unused bits of the last character.
    if found is None or b64encode(found).decode() != text:
        raise JsonError(path, "base64 with padding")
    return found


def _rows(value: Any, name: str, row_bytes: int, least: int, most: int) -> tuple[bytes, ...]:
    def parse(row: Any) -> bytes:
        found = _base64_text(row, "")
        if len(found) != row_bytes:
            raise JsonError("", f"{row_bytes} bytes as base64")
        return found

    return listed(value, name, parse, least, most)

"""The JSON document of a proof: rendering, and parsing with errors that name the field.

The document is canonical: compact JSON (no spaces, as `json.dumps` with these separators and JavaScript's
`JSON.stringify` write it), every field exactly once and in this order, hex in lower case. A text that differs in a byte
from the rendered document is rejected. `path` is the hex of the hashes of a proof, one after another.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from ledger.completeness.families import BY_NAME
from ledger.completeness.intervals import LEVELS, MILESTONE_MOST, Interval
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
from ledger.completeness.trees import COUNT_MOST, GROUP, KEYS_MOST, Child, Leaf, Record, family_of
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
            "rows": [row.hex() for row in proof.rows],
            "intervals": [_interval_json(each) for each in proof.intervals],
            "log_path": _path_json(proof.log_path),
            "checkpoint": proof.checkpoint,
        }
    )


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _path_json(path: Sequence[bytes]) -> str:
    return b"".join(path).hex()


def _interval_json(proof: IntervalProof) -> Json:
    (level, number), keys, root = proof.record
    record = {"level": level, "interval": number, "keys": keys, "root": root.hex()}
    found = proof.found
    if isinstance(found, Absent):
        neighbours = [_leaf_json(leaf) for leaf in found.neighbours]
        return record | {
            "absent": {"index": found.index, "neighbours": neighbours, "path": _path_json(found.path)},
        }
    return record | {
        "present": {
            "index": found.index,
            "count": found.count,
            "root": found.root.hex(),
            "path": _path_json(found.path),
            "rows": _rows_json(found.rows),
        }
    }


def _leaf_json(leaf: Leaf) -> Json:
    return {"family": leaf.place[0], "key": leaf.place[1:].hex(), "count": leaf.count, "root": leaf.root.hex()}


def _rows_json(rows: Rows | None) -> Json | None:
    if rows is None:
        return None
    if isinstance(rows, Groups):
        before, after = ([row.hex() for row in side] for side in (rows.before, rows.after))
        return {"before": before, "after": after, "path": _path_json(rows.path)}
    return {
        "level": rows.level,
        "parts": [
            {
                "interval": part.child.number,
                "count": part.child.count,
                "root": part.child.root.hex(),
                "rows": _rows_json(part.rows),
            }
            for part in rows.parts
        ],
    }


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
        _rows(value, "rows", family.row_bytes, ROWS_MOST),
        listed(value, "intervals", lambda each: _parse_interval(each, family.row_bytes), 1, INTERVALS_MOST),
        _path(value, "log_path"),
        _text(value, "checkpoint", CHECKPOINT_MOST),
    )


def _parse_interval(value: Any, row_bytes: int) -> IntervalProof:
    is_present = isinstance(value, dict) and "present" in value
    _require_fields(value, ("level", "interval", "keys", "root", "present" if is_present else "absent"))
    level = uint(value, "level", LEVELS - 1)
    record = Record(
        Interval(level, uint(value, "interval", MILESTONE_MOST)), uint(value, "keys", KEYS_MOST), _hash(value, "root")
    )
    if is_present:
        found: Present | Absent = nested(value, "present", lambda each: _parse_present(each, level, row_bytes))
    else:
        found = nested(value, "absent", _parse_absent)
    return IntervalProof(record, found)


def _parse_absent(value: Any) -> Absent:
    _require_fields(value, ("index", "neighbours", "path"))
    return Absent(uint(value, "index", KEYS_MOST), listed(value, "neighbours", _parse_leaf, 0, 2), _path(value, "path"))


def _parse_leaf(value: Any) -> Leaf:
    _require_fields(value, ("family", "key", "count", "root"))
    place = bytes([uint(value, "family", 255)]) + _hex(value, "key")
    if family_of(place) is None:
        raise JsonError("key", "a family's number and one of its keys as hex in lower case")
    return Leaf(place, _count(value), _hash(value, "root"))


def _parse_present(value: Any, level: int, row_bytes: int) -> Present:
    _require_fields(value, ("index", "count", "root", "path", "rows"))
    return Present(
        uint(value, "index", KEYS_MOST),
        _count(value),
        _hash(value, "root"),
        _path(value, "path"),
        nested(value, "rows", lambda each: _parse_rows(each, level, row_bytes)),
    )


def _parse_rows(value: Any, above: int, row_bytes: int) -> Rows | None:
    """`above`: the level of the interval. That of its children is lower, which bounds the depth."""
    if value is None:
        return None
    if isinstance(value, dict) and "parts" in value:
        _require_fields(value, ("level", "parts"))
        level = uint(value, "level", LEVELS - 1)
        if level >= above:
            raise JsonError("level", f"a level below {above}")
        return Parts(level, listed(value, "parts", lambda each: _parse_part(each, level, row_bytes), 2, 10))
    _require_fields(value, ("before", "after", "path"))
    before, after = (_rows(value, side, row_bytes, GROUP - 1) for side in ("before", "after"))
    return Groups(before, after, _path(value, "path"))


def _parse_part(value: Any, level: int, row_bytes: int) -> Part:
    _require_fields(value, ("interval", "count", "root", "rows"))
    child = Child(uint(value, "interval", MILESTONE_MOST), _count(value), _hash(value, "root"))
    return Part(child, nested(value, "rows", lambda each: _parse_rows(each, level, row_bytes)))


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
    return _hex_text(value[name], name)


def _hex_text(text: Any, path: str) -> bytes:
    if not isinstance(text, str) or HEX.fullmatch(text) is None:
        raise JsonError(path, "hex in lower case")
    return bytes.fromhex(text)


def _hash(value: Any, name: str) -> bytes:
    found = _hex(value, name)
    if len(found) != HASH_BYTES:
        raise JsonError(name, "64 hex digits in lower case")
    return found


def _path(value: Any, name: str) -> tuple[bytes, ...]:
    found = _hex(value, name)
    if len(found) % HASH_BYTES or len(found) > PATH_MOST * HASH_BYTES:
        raise JsonError(name, f"at most {PATH_MOST} hashes of 64 hex digits in lower case")
    return tuple(found[start : start + HASH_BYTES] for start in range(0, len(found), HASH_BYTES))


def _rows(value: Any, name: str, row_bytes: int, most: int) -> tuple[bytes, ...]:
    def parse(row: Any) -> bytes:
        found = _hex_text(row, "")
        if len(found) != row_bytes:
            raise JsonError("", f"{2 * row_bytes} hex digits in lower case")
        return found

    return listed(value, name, parse, 0, most)

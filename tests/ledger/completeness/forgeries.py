"""Forgeries of genuine documents: what an archive that hides, adds or moves rows could present.

Each function takes a generator of random numbers and a genuine case, and changes a copy of the document.
"""

import copy
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from tests.ledger.completeness.javascript import Case

Json = Any

END_OF_BODY = "\\n\\n"
"""Where the signed text of the checkpoint ends in a document. Signatures behind it are verified elsewhere."""


def compact(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def places(value: Json) -> Iterator[tuple[Json, Any]]:
    """Each member of each object and list, as the container and the key, except the version's."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, each in items:
        yield value, key
        if isinstance(each, dict | list):
            yield from places(each)


def lists(value: Json) -> list[list[Json]]:
    """All lists in a document."""
    found = [container[key] for container, key in places(value)]
    return [each for each in found if isinstance(each, list)]


def drop(rng: Random, value: Json) -> None:
    """An item of a list (row, interval, neighbour, part), or a field."""
    chosen = rng.choice([each for each in lists(value) if each] + [value])
    del chosen[rng.choice(list(chosen) if isinstance(chosen, dict) else range(len(chosen)))]


def repeat(rng: Random, value: Json) -> None:
    chosen = rng.choice([each for each in lists(value) if each])
    index = rng.randrange(len(chosen))
    chosen.insert(rng.randint(0, len(chosen)), copy.deepcopy(chosen[index]))


def reorder(rng: Random, value: Json) -> None:
    chosen = rng.choice([each for each in lists(value) if each])
    rng.shuffle(chosen)


def add_row(rng: Random, value: Json) -> None:
    """A row between others, counted everywhere it can be counted."""
    size = len(b64decode(value["rows"][0])) if value["rows"] else 36
    row = rng.randint(1, 1_400).to_bytes(4, "big") + rng.randbytes(size - 4)
    value["rows"] = sorted([*value["rows"], b64encode(row).decode()], key=b64decode)
    change_counts(value, 1, rng.randint(0, 3))


def hide_row(rng: Random, value: Json) -> None:
    """A row less, counted everywhere it can be counted."""
    if value["rows"]:
        value["rows"].pop(rng.choice((0, -1, rng.randrange(len(value["rows"])))))
    change_counts(value, -1, rng.randint(0, 3))


def change_counts(value: Json, by: int, how: int) -> None:
    value["total"] += by if how else 0
    for each in value["intervals"]:
        if "present" in each and how > 1:
            each["present"]["count"] += by
            rows = each["present"].get("rows", {})
            if how > 2 and "parts" in rows:
                rows["parts"][0][1] += by
            return


def change_number(rng: Random, value: Json) -> None:
    found = [(container, key) for container, key in places(value) if type(container[key]) is int]
    container, key = rng.choice(found)
    container[key] = rng.choice(
        (container[key] + 1, container[key] - 1, container[key] * 10, 0, 1 << 32, 1 << 53, -1, True, None, 0.5)
    )


def change_text(rng: Random, value: Json) -> None:
    found = [
        (container, key)
        for container, key in places(value)
        if type(container[key]) is str and container[key] and key != "checkpoint"
    ]
    container, key = rng.choice(found)
    text = container[key]
    at = rng.randrange(len(text))
    container[key] = rng.choice(
        (
            text[:at] + rng.choice("0123456789abcdefABCDEFg+/= \n\u00e9\ud800") + text[at + 1 :],
            text[:at] + text[at + 2 :],
            text + "00",
            text[:-2],
            text[44:],
            text[-44:] + text[:-44],
            text[64:],
            text[-64:] + text[:-64],
            text.rstrip("="),
            text.upper(),
            "",
            "00" * 32 + text,
            "A" * 43 + "=" + text,
            b64encode(bytes(32)).decode(),
            text + "\n",
        )
    )


def swap_members(rng: Random, value: Json) -> None:
    """The values of two places of the same type."""
    found = list(places(value))
    one, key = rng.choice(found)
    same = [(other, each) for other, each in found if type(other[each]) is type(one[key]) and other[each] != one[key]]
    if same:
        other, each = rng.choice(same)
        first, second = copy.deepcopy(one[key]), copy.deepcopy(other[each])
        one[key], other[each] = second, first


def make_absent(rng: Random, value: Json) -> None:
    """A key's interval with one neighbour, no neighbours, or neighbours that are not adjacent."""
    each = rng.choice(value["intervals"])
    if "present" in each:
        found = each.pop("present")
        value["total"] -= found["count"]
        root = found.get("rows") if isinstance(found.get("rows"), str) else b64encode(rng.randbytes(32)).decode()
        leaf = {"family": 1, "key": value["key"], "count": found["count"], "root": root}
        leaf["key"] = rng.choice((leaf["key"], leaf["key"][:-2], leaf["key"] + "00"))
        neighbours = rng.choice(([], [leaf], [leaf, leaf]))
        each["absent"] = {"index": found["index"], "neighbours": neighbours, "path": found["path"]}
        if rng.random() < 0.5:
            value["rows"], value["index"] = [], 0
    else:
        found = each["absent"]
        found["neighbours"] = found["neighbours"][rng.randint(0, 1) : rng.randint(1, 2)]
        found["index"] += rng.choice((0, 0, 1, -1))
        if rng.random() < 0.3:
            each["keys"] = 0
        if rng.random() < 0.3:
            found["path"] = ""


def make_present(rng: Random, value: Json) -> None:
    """An absent key with its neighbour's rows."""
    each = rng.choice(value["intervals"])
    if "absent" in each and each["absent"]["neighbours"]:
        found = each.pop("absent")
        leaf = rng.choice(found["neighbours"])
        value["total"] += leaf["count"]
        index = found["index"] + rng.randint(0, 1)
        value_of = {
            "index": index,
            "count": leaf["count"],
            "root": leaf["root"],
            "rows": leaf["root"],
            "path": found["path"],
        }
        each["present"] = value_of
    else:
        each["keys"] += rng.choice((1, -1))


def skip_interval(rng: Random, value: Json) -> None:
    """A hole, an overlap or an end that is not the cover's."""
    intervals = value["intervals"]
    at = rng.randrange(len(intervals))
    how = rng.randint(0, 3)
    if how == 0:
        del intervals[at]
    elif how == 1:
        intervals.insert(at, copy.deepcopy(rng.choice(intervals)))
    elif how == 2:
        other = rng.randrange(len(intervals))
        intervals[at], intervals[other] = intervals[other], intervals[at]
    else:
        value["to"] += rng.choice((100, -100, 1_000, -1_000))


def move_rows(rng: Random, value: Json) -> None:
    """Rows of the page to the rows beside it, or back."""
    for each in value["intervals"]:
        present = each.get("present", {})
        rows = present.get("rows", {})
        if "present" in each and isinstance(rows, dict) and "parts" not in rows:
            side = rng.choice(("before", "after"))
            if rows.get(side) and rng.random() < 0.5:
                value["rows"].append(rows[side].pop())
                if not rows[side]:
                    del rows[side]
            elif value["rows"]:
                added = {name: rows[name] for name in ("before", "after", "path") if name in rows}
                moved = [*rows.get(side, []), value["rows"].pop()]
                each["present"] = {
                    **{name: present[name] for name in ("index", "count")},
                    "rows": added | {side: moved},
                    "path": present["path"],
                }
            return
    value["index"] += 1


CHANGES: tuple[Callable[[Random, Json], None], ...] = (
    *(drop, repeat, reorder, add_row, hide_row, change_number, change_text, swap_members, make_absent, make_present),
    *(skip_interval, move_rows),
)


def cross(rng: Random, value: Json, other: Json) -> None:
    """Parts of a document of another key, page, archive, head or network."""
    for _ in range(rng.randint(1, 4)):
        one, foreign = value, other
        while True:
            keys = list(one) if isinstance(one, dict) else list(range(len(one)))
            keys = [key for key in keys if (key in foreign if isinstance(foreign, dict) else key < len(foreign))]
            if not keys:
                break
            key = rng.choice(keys)
            inner, outer = one[key], foreign[key]
            if type(inner) is type(outer) and isinstance(inner, dict | list) and inner and rng.random() < 0.7:
                one, foreign = inner, outer
                continue
            one[key] = copy.deepcopy(outer)
            break


def change_bytes(rng: Random, document: bytes) -> bytes:
    """A flipped bit, a lost or added byte, a lost end; before the signatures of the checkpoint."""
    end = document.index(END_OF_BODY.encode())
    at = rng.randrange(end)
    how = rng.randint(0, 5)
    if how == 0:
        return document[:at]
    if how == 1:
        return document[:at] + document[at + rng.randint(1, 70) :]
    if how == 2:
        return document[:at] + rng.choice((b" ", b"\0", b"0", b",", b"\xff", b'"', b"\\")) + document[at:]
    return document[:at] + bytes([document[at] ^ 1 << rng.randrange(8)]) + document[at + 1 :]


def forge(rng: Random, cases: Sequence[Case]) -> Case:
    """A forgery of one of the cases. It can, rarely, be genuine by chance: callers compare it with all cases."""
    case = rng.choice(cases)
    how = rng.random()
    if how < 0.25:
        return case._replace(document=change_bytes(rng, case.document))
    if how < 0.3:
        other = rng.choice(cases)
        return case._replace(head=other.head, network=rng.choice((case.network, other.network, "permatest-9")))
    value = json.loads(case.document)
    if how < 0.5:
        cross(rng, value, json.loads(rng.choice(cases).document))
    else:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            try:
                rng.choice(CHANGES)(rng, value)
            except (KeyError, IndexError, TypeError, AttributeError, ValueError):
                break  # an earlier change removed what this one changes
    try:
        return case._replace(document=compact(value))
    except UnicodeEncodeError:
        return case._replace(document=json.dumps(value, separators=(",", ":")).encode())

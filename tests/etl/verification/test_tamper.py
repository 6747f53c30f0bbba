"""One thing in an archive is flipped, dropped, swapped, doubled or edited: a change of history is rejected, with place.

A harmless change gives the same milestone and messages, in the same order, with the same states and proofs. Every other
change becomes a reject with file, line and item, or leaves a parent that no file contains, which only the level `full`
checks. No line can prove why a transaction conflicts: a different reason passes here and is reported where the ledger
state is known (test_states.py, test_stardust_ledger.py). Clean lines come from files.
"""

import copy
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etl.sources import milestones_of, read_cone
from etl.sources.cone import Milestone
from etl.sources.raw_blocks import groups
from etl.verification.cone_verification import Checked, Copy, check_milestone
from ledger.eras import STARDUST, Coordinator, KeyRange
from ledger.json_reader import JsonError
from ledger.levels import BELIEVED, SIGNED
from ledger.reader import CodecError
from tests.conftest import SAMPLE
from tests.etl.archives import Json, dump, eras_of, oracle, sample
from tests.etl.stardust_archives import archive_d, chronicle_json, packed
from tests.etl.stardust_archives import oracle as blocks

pytestmark = pytest.mark.thorough

FORMS: dict[str, Callable[[], list[Json]]] = {
    "archive": sample,
    "node": oracle,
    "blocks": blocks,
    "archive D of Stardust": lambda: [orjson.loads(archive_d(line)) for line in blocks()],
    "inx-chronicle": lambda: [orjson.loads(chronicle_json(line)) for line in blocks()],
}
OF_CHRYSALIS = ("archive", "node")
FLAT = ("archive", "node", "blocks")
"""Forms whose messages are at the top level of a line."""

KEYS = [bytes.fromhex(key) for key in orjson.loads((SAMPLE / "genesis.json").read_bytes())["coordinatorPublicKeys"]]
COORDINATOR = Coordinator(tuple(KeyRange(key, 1, None) for key in KEYS), len(KEYS))
GENESIS_PARENT = bytes(32)

Path: TypeAlias = tuple[str | int, ...]
Messages: TypeAlias = list[tuple[bytes, bytes, int | None]]


@dataclass(frozen=True)
class Line:
    """A clean line: its milestone, its bytes, the expected result, and everything known about earlier milestones."""

    form: str
    index: int
    data: bytes
    milestone: Milestone | None
    messages: Messages
    reasons: list[int | None]
    earlier: frozenset[bytes]
    leaves: tuple[Path, ...]
    containers: tuple[Path, ...]


@cache
def lines(form: str) -> list[Line]:
    known = {GENESIS_PARENT}
    found = []
    for index, document in enumerate(FORMS[form](), 1):
        data = dump(document)
        checked = check(form, index, data)
        assert (checked.verified, checked.rejects) == (SIGNED, [])
        paths = list(walk(document, ()))
        leaves = tuple(path for path, value in paths if not isinstance(value, dict | list))
        containers = tuple(path for path, value in paths if isinstance(value, dict | list) and value)
        reported = (checked.milestone, messages(checked), reasons(checked))
        found.append(Line(form, index, data, *reported, frozenset(known), leaves, containers))
        known |= {entry.message_id for entry in checked.messages}
    return found


def walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every value in a document and its path."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from walk(each, (*path, key))


def check(form: str, index: int, data: bytes) -> Checked:
    eras = eras_of("permatest-1") if form in OF_CHRYSALIS else eras_of("permatest-2", STARDUST)
    return check_milestone(index, [Copy("a.log", 9, lambda: read_cone(data, index))], eras, COORDINATOR)


def messages(checked: Checked) -> Messages:
    return [(entry.message_id, entry.data, entry.inclusion_state) for entry in checked.messages]


def reasons(checked: Checked) -> list[int | None]:
    return [entry.conflict_reason for entry in checked.messages]


HARMLESS_OR_FOUND = ("same", "reason", "refused", "open", "silent")


def judge(line: Line, data: bytes) -> str:
    """The outcome of the line: "same", "reason" (only the conflict reason differs), "refused", "open" (a parent that no
    file contains), "silent" (nothing contains the states, so they are believed); any other line passed.
    """
    try:
        indices = milestones_of(data)
    except (JsonError, CodecError):
        return "refused"
    if not indices:
        return "refused"  # read as a message that nothing references: the milestone is missing
    (index,) = set(indices)
    checked = check(line.form, index, data)
    for reject in checked.rejects:
        assert (reject.file, reject.line) == ("a.log", 9)
        assert reject.reason
    if checked.verified is None:
        assert checked.rejects
        return "refused"
    found = (index, checked.verified, checked.milestone, messages(checked))
    if found == (line.index, SIGNED, line.milestone, line.messages):
        return "same" if reasons(checked) == line.reasons else "reason"
    cone = {entry.message_id for entry in checked.messages}
    if any(parent not in cone | line.earlier for entry in checked.messages for parent in entry.message.parents):
        return "open"
    if checked.verified == BELIEVED and without_states(messages(checked)) == without_states(line.messages):
        return "refused" if checked.rejects else "silent"
    return "passed"


def without_states(found: Messages) -> list[tuple[bytes, bytes]]:
    return [(message_id, data) for message_id, data, _ in found]


def set_at(document: Any, path: Path, value: Any) -> Any:
    changed = copy.deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def at(document: Any, path: Path) -> Any:
    for key in path:
        document = document[key]
    return document


@given(st.sampled_from(list(FORMS)), st.integers(0, 49), st.data())
@settings(max_examples=250, deadline=None)
def test_a_flipped_bit_changes_nothing_or_is_rejected(form: str, number: int, data: st.DataObject) -> None:
    line = lines(form)[number]
    changed = bytearray(line.data)
    changed[data.draw(st.integers(0, len(changed) - 2))] ^= 1 << data.draw(st.integers(0, 7))
    assert judge(line, bytes(changed)) in HARMLESS_OR_FOUND


@cache
def raw_lines() -> list[Line]:
    """As raw blocks, which contain no states: those whose cones alone show which transactions took effect."""
    found = [replace(line, data=packed(each)) for line, each in zip(lines("blocks"), blocks(), strict=True)]
    return [line for line in found if check(line.form, line.index, line.data).verified == SIGNED]


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_flipped_bit_of_raw_blocks_is_rejected(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(raw_lines()))
    changed = bytearray(line.data)
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        list(groups(io.BytesIO(changed), None, lambda _, __: None))
    except (EOFError, ValueError):
        return  # a length: the file is rejected from there on
    assert judge(line, bytes(changed)) == "refused"


@given(st.sampled_from(list(FORMS)), st.integers(0, 49), st.data())
@settings(max_examples=400, deadline=None)
def test_an_edited_value_changes_nothing_or_is_rejected(form: str, number: int, data: st.DataObject) -> None:
    line = lines(form)[number]
    document = orjson.loads(line.data)
    path = data.draw(st.sampled_from(line.leaves))
    edited = set_at(document, path, data.draw(edits(at(document, path))))
    verdict = judge(line, dump(edited))
    assert verdict in HARMLESS_OR_FOUND, path
    if verdict in ("silent", "reason"):
        assert {"silent": "state", "reason": "reason"}[verdict] in str(path[-1]).lower()


def edits(value: Any) -> st.SearchStrategy[Any]:
    """Other values for it, close and far."""
    if isinstance(value, bool) or value is None:
        return st.sampled_from([True, False, None, 0, "", {}])
    if isinstance(value, int):
        near = st.sampled_from([value + 1, value - 1, value ^ 1, 0, -1, 2**64 - 1, None, str(value)])
        return near | st.integers(0, 2**63)
    places = st.integers(0, max(len(value) - 1, 0))
    others = st.sampled_from(["", value + "00", value[2:], None, 7, [], "included", "conflicting", "noTransaction"])
    digits = st.sampled_from("0f9a")
    return others | st.builds(lambda place, digit: value[:place] + digit + value[place + 1 :], places, digits)


@given(st.sampled_from(list(FORMS)), st.integers(0, 49), st.sampled_from(["drop", "double", "swap"]), st.data())
@settings(max_examples=400, deadline=None)
def test_what_is_dropped_doubled_or_swapped_changes_nothing_or_is_rejected(
    form: str, number: int, how: str, data: st.DataObject
) -> None:
    line = lines(form)[number]
    changed = orjson.loads(line.data)
    inner = at(changed, data.draw(st.sampled_from(line.containers)))
    keys = list(inner) if isinstance(inner, dict) else range(len(inner))
    one, other = data.draw(st.sampled_from(keys)), data.draw(st.sampled_from(keys))
    if how == "drop":
        del inner[one]
    elif how == "swap":
        inner[one], inner[other] = inner[other], inner[one]
    elif isinstance(inner, list):
        inner.insert(other, inner[one])
    else:
        inner[f"{one}x"] = inner[one]
    assert judge(line, dump(changed)) in HARMLESS_OR_FOUND


@pytest.mark.parametrize("form", FLAT)
def test_each_message_that_is_dropped_leaves_its_mark(form: str) -> None:
    """A data message changes no Merkle root of Chrysalis: a message that names it as a parent reveals the change."""
    for line in lines(form)[::7]:
        document = orjson.loads(line.data)
        name = "blocks" if form == "blocks" else "messages"
        for key in list(document[name]) if form == "archive" else range(len(document[name])):
            changed = copy.copy(document) | {name: copy.copy(document[name])}
            del changed[name][key]
            assert judge(line, dump(changed)) in (("refused",) if form == "blocks" else ("refused", "open"))


@given(st.sampled_from(FLAT), st.integers(0, 49), st.data())
@settings(max_examples=30, deadline=None)
def test_the_order_of_messages_in_a_line_is_harmless(form: str, number: int, data: st.DataObject) -> None:
    line = lines(form)[number]
    document: Json = orjson.loads(line.data)
    name = "blocks" if form == "blocks" else "messages"
    kept = document[name]
    items = data.draw(st.permutations(list(kept.items()) if isinstance(kept, dict) else kept))
    document[name] = dict(items) if isinstance(kept, dict) else items
    assert judge(line, dump(document)) == "same"

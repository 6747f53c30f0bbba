"""Sources: one small module a format. A new format is a class with `claims` and `read`, and its place in SOURCES."""

import re
from typing import Any

import orjson

from etl.sources.archive import MessageMap, RecordList
from etl.sources.cone import Cone, Source
from etl.sources.fields import read_milestone_index
from etl.sources.node_json import MilestoneLines, PendingLines
from ledger.reader import CodecError
from ledger.rest_json import JsonError

SOURCES: tuple[Source, ...] = (MessageMap(), RecordList(), MilestoneLines(), PendingLines())

MILESTONE_IN_HEAD = re.compile(
    rb'\s*\{\s*(?:"message_id"\s*:\s*"[^"]*"\s*,\s*)?'
    rb'(?:"milestone_index"\s*:\s*(\d+)|"milestone"\s*:\s*\{\s*"index"\s*:\s*(\d+))(?=\s*[,}])'
)
"""Formats A, B, C and node JSON name their milestone at once; anything else is parsed whole to find it."""

HEAD = 256


def read_cone(line: bytes) -> Cone:
    """The cone of a line, by the first source that claims it; JsonError says what was expected of a broken line."""
    document = _parse(line)
    for source in SOURCES:
        if source.claims(document):
            try:
                return source.read(document)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                if isinstance(error, JsonError | CodecError):
                    raise
                raise JsonError(source.name, f"this format's keys, {type(error).__name__}: {error}") from error
    keys = ", ".join(sorted(document)[:8])
    raise JsonError("line", f"a document of {', '.join(source.name for source in SOURCES)}, found keys {keys}")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise JsonError("line", f"one JSON object, {error}") from None
    if not isinstance(document, dict):
        raise JsonError("line", f"one JSON object, found {type(document).__name__}")
    return document


def milestone_of(line: bytes) -> int | None:
    """The milestone a line is about, None for a line of pending messages; JsonError when the line does not tell."""
    if head := MILESTONE_IN_HEAD.match(line[:HEAD]):
        return read_milestone_index(int(head[1] or head[2]), "milestone_index")
    return read_cone(line).milestone_index

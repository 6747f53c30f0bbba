"""Input formats: a module per format. A new format is a class with `claims` and `read`, and an entry in SOURCES.

Input: lines of files. Output: cones as the files contain them. Nothing is verified here.
"""

import re
from typing import Any

import orjson

from etl.sources.archive import MessageMap, RecordList
from etl.sources.archive_blocks import BlockRecords
from etl.sources.chronicle_json import ChronicleBlocks, ChronicleMilestones
from etl.sources.cone import Cone, Source
from etl.sources.fields import read_milestone_index
from etl.sources.node_blocks import BlockLines, PendingBlocks
from etl.sources.node_json import MilestoneLines, PendingLines
from etl.sources.raw_blocks import HEAD as RAW_HEAD
from etl.sources.raw_blocks import is_packed, read_group
from etl.sources.static_blocks import is_static_block, milestone_of_block, read_static_blocks
from ledger.chrysalis.json import JsonError
from ledger.reader import CodecError

SOURCES: tuple[Source, ...] = (
    MessageMap(),
    BlockRecords(),
    RecordList(),
    MilestoneLines(),
    PendingLines(),
    BlockLines(),
    PendingBlocks(),
    ChronicleMilestones(),
    ChronicleBlocks(),
)

MILESTONE_IN_HEAD = re.compile(
    rb'\s*\{\s*(?:"message_id"\s*:\s*"[^"]*"\s*,\s*)?'
    rb'(?:"milestone_index"\s*:\s*(\d+)|"milestone"\s*:\s*\{\s*"index"\s*:\s*(\d+))(?=\s*[,}])'
)
"""Finds the milestone index at the start of a line: formats A, B, C and node JSON of both eras. Other lines are parsed
completely.
"""

HEAD = 256


def read_cones(line: bytes) -> list[Cone]:
    """Reads the cones of a line with the first source that claims it. Raises JsonError for a broken line."""
    if is_static_block(line):
        return [read_static_blocks(line)]
    if is_packed(line[:RAW_HEAD]):
        return [read_group(line)]
    source, document = claimed(line)
    try:
        return source.read(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, JsonError | CodecError):
            raise
        raise JsonError(source.name, f"this format's keys, {type(error).__name__}: {error}") from error


def claimed(line: bytes) -> tuple[Source, Any]:
    """The first source that claims a line of JSON, and its document. Raises JsonError if none does."""
    document = _parse(line)
    for source in SOURCES:
        if source.claims(document):
            return source, document
    found = f"keys {', '.join(sorted(document)[:8])}" if isinstance(document, dict) else "a list"
    raise JsonError("line", f"a document of {', '.join(source.name for source in SOURCES)}, found {found}")


def read_cone(line: bytes, milestone_index: int | None = None) -> Cone:
    """Reads the cone of a milestone from a line. Without `milestone_index` the line must contain a single cone."""
    cones = read_cones(line)
    if len(cones) == 1:
        return cones[0]
    found = (cone for cone in cones if cone.milestone_index == milestone_index)
    try:
        return next(found)
    except StopIteration:
        raise JsonError("line", f"a cone of milestone {milestone_index}") from None


def _parse(line: bytes) -> Any:
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise JsonError("line", f"one JSON object, {error}") from None
    if not isinstance(document, dict | list):
        raise JsonError("line", f"one JSON object, found {type(document).__name__}")
    return document


def milestones_of(line: bytes) -> list[int]:
    """The milestone indices of a line; empty for a line of pending messages. Raises JsonError if they cannot be
    found.
    """
    if is_static_block(line):
        return [read_milestone_index(milestone_of_block(line), "milestone_index")]
    if head := MILESTONE_IN_HEAD.match(line[:HEAD]):
        return [read_milestone_index(int(head[1] or head[2]), "milestone_index")]
    return [cone.milestone_index for cone in read_cones(line) if cone.milestone_index is not None]

"""Replaces messages of the lake by the files of a decoding (etl/lake/parts.py).

Files of milestones that the lake has no file for are committed as they are, without being read.
"""

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from db.intervals import Intervals
from etl.engine.delta_tables import add_files
from etl.engine.new_files import NewFile
from etl.lake.delta import TABLES, Lake, properties_of, within
from etl.lake.part_frames import part_frame
from etl.lake.parts import LakePart, read_parts, schema_of_parts

MESSAGES = "messages"


def replace_messages(lake: Lake, parts: Sequence[LakePart], milestones: Intervals) -> None:
    """Replaces all messages of these milestones by those in the files, which belong to the lake from then on."""
    if not parts:
        lake.replace(MESSAGES, part_frame(lake.spark, parts), within(milestones))
    elif lake.has(MESSAGES) and lake.local_files(MESSAGES, milestones):
        lake.replace(MESSAGES, read_parts(parts), within(milestones))
    else:
        path, schema = lake.path(MESSAGES), schema_of_parts(parts)
        files = [_moved(each, Path(path)) for each in parts]
        add_files(path, files, schema, TABLES[MESSAGES][1], properties_of(MESSAGES))
        lake.forget(MESSAGES)


def _moved(part: LakePart, table: Path) -> NewFile:
    """The file in the directory of its partition. Until it is committed, readers ignore it."""
    partition = {"lake_range": str(part.lake_range)}
    target = table / part.path.parent.name / f"{part.path.stem}-{uuid.uuid4()}.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(part.path, target)
    return NewFile(target, partition, part.rows, {"milestone_index": part.first}, {"milestone_index": part.last})

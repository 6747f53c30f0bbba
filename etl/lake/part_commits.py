"""Replaces messages of the lake by the files of a decoding (etl/lake/parts.py), which are committed unread."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from db.intervals import Intervals
from etl.lake.delta import Lake
from etl.lake.parts import LakePart


def replace_messages(lake: Lake, parts: Sequence[LakePart], milestones: Intervals) -> None:
    """Replaces all messages of these milestones by those in the files, which belong to the lake from then on.

    Raises what Lake.replace raises.
    """
    lake.replace_by_files("messages", partial(move_into, parts), milestones)


def move_into(parts: Sequence[LakePart], folder: str) -> None:
    """Moves files to the directories of their partitions in a folder."""
    for part in parts:
        target = Path(folder, part.path.parent.name, part.path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(part.path, target)

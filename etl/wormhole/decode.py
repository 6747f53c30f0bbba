"""Frames of VAAs: lines → cells, and the cells of a message → its rows, by the functions of decode_worker.py."""

from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from etl.engine.process_frames import map_in_processes, start_processes
from etl.engine.session import Session
from etl.engine.task_sets import TaskSet
from etl.wormhole.decode_worker import CELLS, METAS, ROWS, Emitters, assemble_rows, read_cells, read_metas
from ledger.wormhole.verify import History

WEIGHT = 16
"""The time for a byte of a VAA with thirteen signatures, compared with that of decoding one of an archive."""


def start_workers(session: Session, size: int) -> None:
    """Starts the processes for `to_cells`, which will read that many bytes, while this process goes on."""
    start_processes(session, read_cells, size)


def to_cells(
    places: DataFrame, network: str, sums: TaskSet, folder: Path, size: int, emitters: Emitters | None = None
) -> DataFrame:
    """(file, line, offset, length) → CELLS: a row per cell and a row per reject. They are written into `folder`.

    Args:
        places: the lines.
        network: mainnet, testnet or devnet.
        sums: gets the sums of all batches (etl.expectations.cells.BatchSums).
        folder: a new folder.
        size: the bytes of the lines.
        emitters: those whose cells are kept. None: all.
    """
    read = partial(read_cells, network=network, sums=sums, emitters=emitters)
    return map_in_processes(places, read, CELLS, folder, size=size)


def to_rows(grouped: DataFrame, network: str, history: History, sums: TaskSet, folder: Path) -> DataFrame:
    """A message per row, with all its cells and the facts about its token → ROWS, which are written into `folder`, a
    new one. `sums` gets the sums of the messages with `is_requested`.
    """
    assemble = partial(assemble_rows, network=network, history=history, sums=sums)
    return map_in_processes(grouped, assemble, ROWS, folder, weight=WEIGHT)


def to_metas(grouped: DataFrame, network: str, history: History) -> DataFrame:
    """A message per row, with its cells of VAAs about tokens and of signatures → METAS of the bodies that verify."""
    return grouped.mapInArrow(partial(read_metas, network=network, history=history), from_arrow_schema(METAS))

"""The rows of a milestone may lie in several places of the lake's files: engines write batches of their partitions as
these come.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from etl.expectations.lake import BATCH_ROWS, expected_of_lake
from tests.etl.conftest import Stores

pytestmark = pytest.mark.loads

ALL = [(1, 50)]


def lake_of(*files: Path) -> Any:
    return SimpleNamespace(local_files=lambda *_: list(files))


def test_rows_in_pieces_lead_to_the_same_expectations(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, _ = stores.loaded("chrysalis")
    files = sorted((loading.folder / "lake" / "messages").rglob("*.parquet"))
    whole = expected_of_lake(lake_of(*files), ALL)
    assert len(whole.milestones) == 50
    rows = pa.concat_tables(pq.ParquetFile(file).read() for file in files)
    # Two partitions take turns. Each has whole milestones in order.
    partition = np.asarray(rows.column("milestone_index")) % 2
    place = np.concatenate([np.arange((partition == each).sum()) // 11 for each in (0, 1)])
    turns = np.argsort(place[np.argsort(np.argsort(partition, kind="stable"))], kind="stable")
    mixed = rows.take(pa.array(turns))
    for number, part in enumerate((mixed.slice(0, 400), mixed.slice(400))):
        pq.write_table(part, tmp_path / f"part-{number}.parquet")
    monkeypatch.setattr("etl.expectations.lake.BATCH_ROWS", BATCH_ROWS // 100)
    assert expected_of_lake(lake_of(*sorted(tmp_path.iterdir())), ALL) == whole

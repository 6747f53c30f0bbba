"""Wrong cells and rows of a Wormhole network fail the load, and the next one repairs. Without the comparison most of
these loads end without an error.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.expectations.comparison import WrongRows
from etl.wormhole import decode
from tests.etl.conftest import Loading, Stores
from tests.etl.expectations.faults import (
    Fault,
    cases,
    change_files,
    in_cells,
    in_store,
    swapped,
    twice_first,
    without_first,
    zero_for_null,
)
from tests.etl.vaas import records, vaa_line, write_lines

pytestmark = pytest.mark.loads

OF_STAGED: dict[str, tuple[str, Fault]] = {
    "a row twice": ("vaas", twice_first),
    "zero for null": ("vaas", zero_for_null("observed_at")),
    "exchanged columns": ("vaa_signatures", swapped("digest", "guardian_address")),
    "a lost row": ("vaa_lookups", without_first),
    "a lost hint": ("vaa_hints", without_first),
    "a lost emitter": ("emitters", without_first),
}
"""The staged rows that are changed, and how."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one_of_each_kind = {each["payload_kind"]: each for each in records("mainnet")}
    lines = [vaa_line(each, tx_id="0xab") for each in one_of_each_kind.values()]
    return write_lines(tmp_path_factory.mktemp("vaas") / "vaas.jsonl", lines)


def fails(loading: Loading, file: Path, name: str) -> None:
    with pytest.raises(WrongRows, match=f"{name}.* engine sail .*(need|expected) .* found "):
        loading.load(file)
    assert not loading.rows()["vaas"]


@pytest.mark.parametrize("name", cases(OF_STAGED, "a row twice", "exchanged columns"))
def test_wrong_rows_fail_the_load(stores: Stores, file: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    changed, fault = OF_STAGED[name]
    in_store(monkeypatch, changed, fault)
    fails(stores(network="wormhole-mainnet"), file, changed)


def with_lost_cells(right: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    def wrong(places: DataFrame, network: str, sums: Any, folder: Path, *rest: Any) -> DataFrame:
        cells = right(places, network, sums, folder, *rest)
        change_files(str(folder), without_first)
        return cells

    return wrong


def test_cells_that_their_files_lose_fail_the_load(stores: Stores, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "to_cells", with_lost_cells(decode.to_cells))
    fails(stores(network="wormhole-mainnet"), file, "cells")


def without_a_cell(right: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    def wrong(grouped: DataFrame, *rest: Any) -> DataFrame:
        return right(grouped.withColumn("cells", F.slice("cells", 2, 100)), *rest)

    return wrong


def test_cells_that_a_join_loses_fail_the_load(stores: Stores, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "to_rows", without_a_cell(decode.to_rows))
    fails(stores(network="wormhole-mainnet"), file, "cells of messages")


def test_the_next_load_repairs_the_lake(stores: Stores, file: Path) -> None:
    good, loading = (stores(network="wormhole-mainnet") for _ in range(2))
    good.load(file)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_cells(monkeypatch, without_first)
        fails(loading, file, "cells of the lake")
    loading.load(file)
    assert loading.rows() == good.rows()

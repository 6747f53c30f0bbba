"""The state of a ledger that Sail joins and sums in shares, as it does with many messages."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from etl.engine.arrow_frames import arrow_frame
from etl.ledger_state.change_shares import by_address, by_milestone
from etl.writers import staging
from etl.writers.staging import Staging
from tests.etl.archives import Json
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Stores, on, oracle_ledger
from tests.etl.ledger_state import test_ledger, test_stardust_ledger
from tests.etl.test_oracle import check

pytestmark = pytest.mark.loads

GEOMETRY = (7, 3)
MARGIN = 3

REFERENCES = {
    "chrysalis from genesis": test_ledger.reference,
    "stardust from genesis": test_stardust_ledger.reference,
}
"""The oracle ledgers and the replay of each."""


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets a small input be divided like a large one. The numbers of shares are added to the list."""
    own, found = Staging.write_shares, list[int]()

    def write_shares(self: Staging, name: str, frame: DataFrame, key: str) -> list[Path]:
        folders = own(self, name, frame, key)
        found.append(len(folders))
        return folders

    monkeypatch.setattr(staging, "SHARE_BYTES", 1 << 18)
    monkeypatch.setattr(staging, "SHARES_JOINED", 1)
    monkeypatch.setattr(Staging, "write_shares", write_shares)
    return found


@on(SQLITE, LATER_CASSANDRA)
@pytest.mark.parametrize("name", REFERENCES)
def test_the_rows_are_those_of_the_replay(everywhere: Stores, name: str, counts: list[int], tmp_path: Path) -> None:
    network, sources, genesis = oracle_ledger(name, tmp_path)
    loading = everywhere(GEOMETRY, network, ledger_near=0)
    assert loading.load(*sources, genesis=genesis).ledger_index == 50
    assert min(counts) > 1
    check(loading.rows(), REFERENCES[name](GEOMETRY))


@pytest.mark.parametrize("name", REFERENCES)
def test_outputs_that_are_spent_long_ago_are_left_out(
    stores: Stores, name: str, counts: list[int], tmp_path: Path
) -> None:
    """Some of the genesis stay: compaction deletes them later."""
    network, sources, genesis = oracle_ledger(name, tmp_path)
    loading = stores(GEOMETRY, network, ledger_near=0, ledger_margin=MARGIN)
    assert loading.load(*sources, genesis=genesis).ledger_index == 50
    assert min(counts) > 1
    ever, found = REFERENCES[name](GEOMETRY)["unspent_outputs"], loading.rows()["unspent_outputs"]
    living = [row for row in ever if (row["spent_milestone_index"] or 51) > 50 - MARGIN]
    assert later(living) == later(found)
    assert len(later(ever)) - len(later(living)) > 1_000
    assert all(row in found for row in living)


def later(rows: list[Json]) -> list[Json]:
    """The rows of outputs that the genesis does not contain."""
    return [row for row in rows if row["milestone_index"]]


ADDRESSES = [bytes([kind]) + bytes([head, 0xFF]) + bytes(30) for kind in (0, 8, 16) for head in range(0, 256, 5)]


@pytest.mark.parametrize("divided", [by_address, by_milestone])
@pytest.mark.parametrize("shares", [1, 3, 40])
def test_each_change_is_in_one_share_with_all_of_its_key(
    session: SparkSession, divided: Callable[[DataFrame, int], list[DataFrame]], shares: int
) -> None:
    rows = [(address, milestone) for address in ADDRESSES for milestone in range(90, 150, 7)]
    columns = (
        pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), (pa.binary(), pa.int32()), strict=True)
    )
    frame = arrow_frame(session, pa.table([*columns], ["address", "milestone_index"]))
    found = [[(bytes(row[0]), row[1]) for row in share.collect()] for share in divided(frame, shares)]
    assert sorted(row for share in found for row in share) == sorted(rows)
    place = (by_address, by_milestone).index(divided)
    keys = [{row[place] for row in share} for share in found]
    assert sum(map(len, keys)) == len({row[place] for row in rows})
    assert len(found) == shares
    assert sum(map(bool, found)) > shares // 5

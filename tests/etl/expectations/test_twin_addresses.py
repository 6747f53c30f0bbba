"""Addresses that differ in the middle only are different addresses, although hashes of rows take both ends alone.

Anyone can send to such addresses. If expected rows confused them, a correct ledger could not be loaded.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from etl.expectations.balances import expected_balances
from etl.expectations.comparison import Observed
from etl.expectations.expected import sums_by_milestone
from etl.expectations.fingerprints import BALANCES, BY_MILESTONE, POSITION, Fingerprint
from tests.etl.conftest import Stores

ONE, TWIN, OTHER = (bytes([0, *bytes(8), number, *bytes(22), last]) for number, last in ((1, 7), (2, 7), (3, 8)))

CHANGES = pa.table(
    {
        "milestone_index": pa.array([1, 1, 2, 2], pa.int32()),
        "address": pa.array([ONE, TWIN, ONE, TWIN], pa.binary()),
        "amount": pa.array([5, 7, 5, 11], pa.int64()),
        "is_spent": [False, False, True, False],
    }
)
AFTER_1, AFTER_2 = [(ONE, 1, 5, 1), (TWIN, 1, 7, 1)], [(ONE, 2, 0, 0), (TWIN, 2, 18, 2)]
"""The rows of address_balances that the changes lead to."""


@pytest.mark.loads
def test_two_outputs_of_one_transaction_are_two_rows(stores: Stores) -> None:
    loading, _ = stores.loaded("stardust from genesis", (7, 3))
    rows = pq.read_table(loading.folder / "lake" / "messages").combine_chunks()
    found = []
    for second in (TWIN, OTHER):
        lines = rows.to_pylist()
        paying = next(each for each in lines if each["transaction"] and len(each["transaction"]["outputs"]) > 1)
        for output, address in zip(paying["transaction"]["outputs"], (ONE, second), strict=False):
            output["address"] = address
        sums = dict(sums_by_milestone(pa.Table.from_pylist(lines, rows.schema)))[paying["milestone_index"]]
        of_frames = np.frombuffer(sums, np.uint64).reshape(len(BY_MILESTONE), 3)
        found.append([int(each) for each in of_frames[POSITION["transactions_by_address"]]])
    (twins, *sums_of_twins), (others, *other_sums) = found
    assert twins == others > 1
    assert sums_of_twins != other_sums


def test_balances_are_summed_per_address() -> None:
    assert expected_balances(CHANGES, (), 0, 2) == fingerprint([*AFTER_1, *AFTER_2])
    later = CHANGES.filter(pc.equal(CHANGES["milestone_index"], 2))
    assert expected_balances(later, AFTER_1, 1, 2) == fingerprint(AFTER_2)


def test_milestones_without_changes_lead_to_no_balances() -> None:
    none = CHANGES.schema.empty_table()
    assert expected_balances(none, (), 0, 2) == expected_balances(none, AFTER_1, 1, 2) == Fingerprint()


def fingerprint(rows: Sequence[tuple[bytes, int, int, int]]) -> Fingerprint:
    """What a comparison sees of these rows when they are written."""
    observed = Observed(BALANCES, (), BALANCES.columns)
    observed.add([pa.array([row[at] for row in rows]) for at in range(len(BALANCES.columns))])
    return observed.sums

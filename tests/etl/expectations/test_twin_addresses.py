"""Addresses that differ in the middle only are different addresses, although hashes of rows take both ends alone.

Anyone can send to such addresses. If expected rows confused them, a correct ledger could not be loaded.
"""

from dataclasses import astuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from db import schema
from etl.expectations.balances import expected_balances
from etl.expectations.comparison import observe
from etl.expectations.expected import sums_by_milestone
from etl.expectations.fingerprints import BALANCES, BY_MILESTONE, POSITION
from tests.etl.conftest import Stores

pytestmark = pytest.mark.loads

ONE, TWIN, OTHER = (bytes([0, *bytes(8), number, *bytes(22), last]) for number, last in ((1, 7), (2, 7), (3, 8)))


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
    (twins, amount, hashes), (others, *other_sums) = found
    assert twins == others > 1
    assert (amount, hashes) != tuple(other_sums)


def test_balances_are_summed_per_address() -> None:
    changes = pa.table(
        {
            "milestone_index": pa.array([1, 1, 2, 2], pa.int32()),
            "address": [ONE, TWIN, ONE, TWIN],
            "amount": pa.array([5, 7, 5, 11], pa.int64()),
            "is_spent": [False, False, True, False],
        }
    )
    rows = {
        "address": pa.array([ONE, TWIN, ONE, TWIN]),
        "milestone_index": pa.array([1, 1, 2, 2], pa.int32()),
        "balance": pa.array([5, 7, 0, 18], pa.int64()),
        "unspent_count": pa.array([1, 1, 0, 2], pa.int64()),
    }
    observed = observe(schema.address_balances, BALANCES.columns)
    observed.hints = ()
    observed.add([rows[name] for name in BALANCES.columns])
    assert astuple(expected_balances(changes, (), 0, 2)) == astuple(observed.sums)
    later = changes.filter(pa.compute.equal(changes["milestone_index"], 2))
    before = [(ONE, 1, 5, 1), (TWIN, 1, 7, 1)]
    second = observe(schema.address_balances, BALANCES.columns)
    second.hints = ()
    second.add([rows[name].slice(2) for name in BALANCES.columns])
    assert astuple(expected_balances(later, before, 1, 2)) == astuple(second.sums)

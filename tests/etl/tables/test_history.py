"""Address histories that no valid ledger contains: amounts beyond any supply, outputs spent by another signer."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from db import schema
from etl.engine.session import Session
from etl.lake.message_rows import MESSAGE_DDL
from etl.ledger_state.changes import CHANGES
from etl.tables import address_history as history
from etl.tables.partition_columns import Placement
from ledger.ids import ed25519_address

pytestmark = pytest.mark.loads

PLACEMENT = Placement(100, schema.LOOKUPS, None)
PAYER, PAYEE, STRANGER = (ed25519_address(bytes([number]) * 32) for number in (1, 2, 3))
MESSAGE, TRANSACTION = b"\xaa" * 32, b"\xbb" * 32
MOST = 2**63 - 1


def output(address: bytes, amount: int) -> dict[str, Any]:
    return {"kind": 0, "address": bytearray(address), "amount": Decimal(amount)}


def test_a_sum_that_no_column_holds_is_none_and_the_load_goes_on(session: Session) -> None:
    transaction = {
        "transaction_id": bytearray(TRANSACTION),
        "inputs": [{"kind": 0}, {"kind": 0}],
        "outputs": [output(PAYEE, MOST), output(PAYER, MOST - 5), output(PAYER, 5), output(PAYEE, 1)],
        "unlocks": [{"kind": 0, "address": bytearray(PAYER)}, {"kind": 1, "reference": 0}],
    }
    message = {"message_id": bytearray(MESSAGE), "milestone_index": 7, "inclusion_state": 2, "transaction": transaction}
    lake = session.createDataFrame([message], MESSAGE_DDL)
    rows = history.transactions_by_address(lake, PLACEMENT).frame.collect()
    found = {bytes(row["address"]): (row["direction"], row["received"], row["included"]) for row in rows}
    assert found == {PAYER: ("both", MOST, False), PAYEE: ("received", None, False)}
    assert {(row["inputs_count"], row["outputs_count"], bytes(row["transaction_id"])) for row in rows} == {
        (2, 4, TRANSACTION)
    }


def test_only_who_signed_is_shown_as_sender(session: Session) -> None:
    """A source may call a transaction included that spends what its signer never owned: it creates no row for that.

    The owner that the output names does not decide: the output may have expired.
    """
    spent = [(PAYER, PAYER, 10), (PAYER, PAYER, 7), (PAYER, STRANGER, 100)]
    changes = [
        {
            "milestone_index": 7,
            "transaction_id": TRANSACTION,
            "message_id": MESSAGE,
            "signer": signer,
            "is_spent": True,
            "address": PAYEE,
            "owner": owner,
            "amount": amount,
        }
        for signer, owner, amount in spent
    ]
    changes.append({**changes[0], "is_spent": False, "signer": None, "owner": PAYEE})
    frame = session.createDataFrame(pa.Table.from_pylist(changes, schema=CHANGES))
    (row,) = history.spent_from(frame, PLACEMENT).frame.collect()
    assert {name: bytes(value) if isinstance(value, bytearray) else value for name, value in row.asDict().items()} == {
        "address": PAYER,
        "included": True,
        "ms_range_id": 0,
        "partition_id": 0,
        "milestone_index": 7,
        "transaction_id": TRANSACTION,
        "message_id": MESSAGE,
        "sent": 17,
    }

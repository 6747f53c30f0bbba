"""Conversion to and from Arrow keeps every value, and no row of a load passes through the driver."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from etl.lake.message_rows import MessageRows
from etl.sources import read_cone
from etl.sources.cone import Entry
from etl.verification.cone_verification import Checked, Copy, Reject, check_milestone
from ledger.chrysalis.codec import Indexation, Message, Milestone, TreasuryInput, TreasuryOutput, encode_message
from ledger.chrysalis.values import TreasuryTransaction
from ledger.eras import STARDUST
from ledger.ids import message_id
from ledger.stardust import codec as stardust
from ledger.stardust import values as v2
from tests.conftest import ROOT
from tests.etl.archives import NETWORK, Json, dump, eras_of, oracle
from tests.reference import ed25519_address, input_bytes, output_bytes, payload_slice
from tests.reference_rows import u16

U64 = 2**64 - 1


def rows_of(*checked: Checked) -> list[Json]:
    rows = MessageRows()
    for each in checked:
        rows.add(each)
    batch = rows.batch()
    batch.validate(full=True)
    return batch.to_pylist()


def checked(number: int) -> Checked:
    data = dump(oracle()[number - 1])
    return check_milestone(number, [Copy("x", 1, lambda: read_cone(data))], eras_of(NETWORK))


def test_every_message_of_the_oracle_reads_back() -> None:
    numbers = range(1, 51)
    rows = iter(rows_of(*map(checked, numbers)))
    kinds = set()
    for number in numbers:
        line = oracle()[number - 1]
        for position, each in enumerate(line["messages"]):
            row = next(rows)
            message = each["message"]
            assert row["message_id"].hex() == each["id"]
            assert (row["milestone_index"], row["lake_range"], row["white_flag_index"]) == (number, 0, position)
            assert row["timestamp"].timestamp() == line["milestone"]["timestamp"]
            assert (row["version"], row["verified"], row["reject"]) == (1, "merkle", None)
            assert row["message"].hex() == each["bytes_hex"]
            assert (row["network_id"], row["nonce"]) == (int(message["networkId"]), int(message["nonce"]))
            assert [parent.hex() for parent in row["parents"]] == message["parentMessageIds"]
            assert row["conflict_reason"] == each["metadata"].get("conflictReason")
            kinds.add(check_payload(row, message["payload"], each))
    assert next(rows, None) is None
    assert kinds == {0, 1, 2, None} or kinds == {0, 1, 2}


def check_payload(row: Json, payload: Json | None, each: Json) -> int | None:
    kind = None if payload is None else payload["type"]
    assert row["payload_kind"] == kind
    assert row["tagged_data"] == (tagged(payload) if kind == 2 else None)
    if kind == 1:
        assert payload is not None
        data = payload_slice(bytes.fromhex(each["bytes_hex"]))
        assert row["milestone"]["payload"] == data
        assert row["milestone"]["milestone_index"] == payload["index"]
        assert row["milestone"]["timestamp"] == payload["timestamp"]
    else:
        assert row["milestone"] is None
    if kind == 0:
        assert payload is not None
        check_transaction(row["transaction"], payload, each["transactionId"])
    else:
        assert row["transaction"] is None
    return kind


def tagged(payload: Json | None) -> Json | None:
    return payload and {"tag": bytes.fromhex(payload["index"]), "data": bytes.fromhex(payload.get("data") or "")}


def check_transaction(found: Json, payload: Json, transaction_id: str) -> None:
    essence = payload["essence"]
    assert found["transaction_id"].hex() == transaction_id
    assert found["tagged_data"] == tagged(essence["payload"])
    assert found["inputs"] == [{"kind": 0, "output_id": input_bytes(each)[1:]} for each in essence["inputs"]]
    assert found["outputs"] == [
        {
            "kind": each["type"],
            "address": output_bytes(each)[1:34],
            "amount": Decimal(each["amount"]),
            "output_id": bytes.fromhex(transaction_id) + u16(position),
            "data": output_bytes(each),
            "stardust": None,
        }
        for position, each in enumerate(essence["outputs"])
    ]
    assert found["unlocks"] == [unlock(block) for block in payload["unlockBlocks"]]


def unlock(block: Json) -> Json:
    if block["type"] == 1:
        return {"kind": 1, "public_key": None, "signature": None, "reference": block["reference"], "address": None}
    signature = block["signature"]
    return {
        "kind": 0,
        "public_key": bytes.fromhex(signature["publicKey"]),
        "signature": bytes.fromhex(signature["signature"]),
        "reference": None,
        "address": bytes.fromhex(ed25519_address(signature["publicKey"])),
    }


def entry(message: Message, **known: Any) -> Entry:
    data = encode_message(message)
    known = {"referenced_by": 1, "inclusion_state": 0, "conflict_reason": None} | known
    return Entry(message_id(data), message, data, **known)


@pytest.mark.parametrize("number", [0, 1, 2**63 - 1, 2**63, U64])
def test_u64_are_kept_whole(number: int) -> None:
    (row,) = rows_of(Checked(1, messages=[entry(Message(number, (bytes(32),), None, U64 - number))]))
    assert (row["network_id"], row["nonce"]) == (Decimal(number), Decimal(U64 - number))


def test_nulls_and_empty_values() -> None:
    bare = entry(Message(1, (bytes(32),), None, 0), referenced_by=None, inclusion_state=None)
    empty = entry(Message(1, (bytes(32),), Indexation(b"\0", b""), 0), inclusion_state=2, conflict_reason=255)
    first, second = rows_of(Checked(-1, messages=[bare, empty]))
    for name in ("white_flag_index", "timestamp", "inclusion_state", "conflict_reason", "verified", "payload_kind"):
        assert first[name] is None
    assert second["tagged_data"] == {"tag": b"\0", "data": b""}
    assert (second["inclusion_state"], second["conflict_reason"], second["payload_kind"]) == (2, 255, 2)


def test_a_timestamp_beyond_the_calendar_costs_nothing_else() -> None:
    milestone = Milestone(5, U64, (bytes(32),), bytes(32), 0, 0, (bytes(32),), None, (bytes(64),))
    own = entry(Message(1, (bytes(32),), milestone, 0), referenced_by=5)
    (row,) = rows_of(Checked(5, milestone, [own], verified="ids"))
    assert row["timestamp"] is None
    assert row["milestone"]["timestamp"] == 253_402_300_799
    assert row["message"] == own.data


def test_indices_of_milestones_that_nobody_issued_cost_nothing_else() -> None:
    """Values that blocks or lines may contain."""
    receipt = v2.ReceiptOption(2**32 - 1, True, (), TreasuryTransaction(TreasuryInput(bytes(32)), TreasuryOutput(U64)))
    options = (receipt, v2.ParametersOption(2**32 - 1, 255, b"params"))
    roots = (bytes(32), bytes(32))
    milestone = v2.Milestone(2**32 - 1, 2**32 - 1, 2, bytes(32), (bytes(32),), *roots, b"", options, ())
    data = stardust.encode_block(v2.Block(2, (bytes(32),), milestone, 0))
    block = Entry(message_id(data), v2.Block(2, (bytes(32),), milestone, 0), data, 5, 0, None)
    inside, own = rows_of(Checked(5, milestone, [block], codec=STARDUST))
    largest = 2**31 - 1
    assert (inside["message"], inside["milestone"]["milestone_index"]) == (data, largest)
    assert (inside["milestone"]["receipt"], inside["milestone"]["parameters"]) == (None, None)
    assert (own["message_id"], own["milestone"]["milestone_index"]) == (None, largest)
    assert own["milestone"]["receipt"]["migrated_at"] == largest
    assert own["milestone"]["receipt"]["treasury_amount"] == Decimal(U64)
    assert own["milestone"]["parameters"] == {
        "target_milestone_index": largest,
        "protocol_version": 255,
        "params": b"params",
    }


def test_rejects_are_beside_messages() -> None:
    bad = Checked(100_007, rejects=[Reject("a.log", 3, "ab", "why"), Reject("a.log", 4, "", "why not")])
    bad.messages = [entry(Message(1, (bytes(32),), None, 9), referenced_by=100_007)]
    message, first, second = rows_of(bad)
    assert (message["reject"], message["white_flag_index"], message["lake_range"]) == (None, None, 1)
    assert first["reject"] == {"file": "a.log", "line": 3, "item": "ab", "reason": "why"}
    assert second["reject"] == {"file": "a.log", "line": 4, "item": "", "reason": "why not"}
    for row in (first, second):
        assert (row["milestone_index"], row["message_id"], row["message"]) == (100_007, None, None)


def test_an_empty_batch_has_the_same_columns() -> None:
    empty = MessageRows().batch()
    rows = MessageRows()
    rows.add(checked(1))
    assert isinstance(empty, pa.RecordBatch)
    assert empty.num_rows == 0
    assert empty.schema.equals(rows.batch().schema)


COLLECTED = "arrow_frames.py: return rows_of(frame) if on_sail() else frame.toArrow()"
"""The one place where rows of an engine enter this process: those of small runs."""


def test_only_rows_of_small_runs_cross_to_the_driver() -> None:
    """Sail's adapter is the exception: its engine runs in this process. Arrow arrays have `take`, too."""
    sources = sorted(set((ROOT / "etl").rglob("*.py")) - set((ROOT / "etl/engine/sail").rglob("*.py")))
    frames = [path for path in sources if "pyspark" in path.read_text("utf-8")]
    assert len(frames) > 10
    crossing = re.compile(r"\b(collect|toPandas|toLocalIterator|toArrow|take|show)\(")
    found = [f"{path.name}: {line.strip()}" for path in frames for line in code_lines(path) if crossing.search(line)]
    arrow = ("pc.", "through.take(", "column.take(")
    assert [each for each in found if not any(call in each for call in arrow)] == [COLLECTED]


def code_lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]

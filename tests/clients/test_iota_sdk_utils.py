"""iota-sdk 1.1.4 checks a generated Stardust ledger: its ids, inputs commitments, and conflict reasons."""

from pathlib import Path
from typing import Any

import pytest

from tests.clients.drive import Driver
from tests.clients.installs import HERE, IOTA_SDK_WHEELS, find_interpreter, python_programs
from tests.generated_stardust import Json, Seen, made_genesis, made_lines, replayed

pytestmark = pytest.mark.clients

COUNT = 70

REASONS = {
    0: "None",
    4: "CreatedConsumedAmountMismatch",
    5: "InvalidSignature",
    6: "TimelockNotExpired",
    7: "InvalidNativeTokens",
    8: "StorageDepositReturnUnfulfilled",
    9: "InvalidUnlock",
    10: "InputsCommitmentsMismatch",
    11: "UnverifiedSender",
    12: "InvalidChainStateTransition",
}
"""The client's names of Hornet's reasons, except those for missing inputs."""


@pytest.fixture(scope="module")
def utils(cache: Path) -> Driver:
    interpreter = find_interpreter("iota-sdk", IOTA_SDK_WHEELS)
    python = python_programs(cache, "iota_sdk", interpreter) / "python"
    return Driver((str(python), str(HERE / "drivers" / "sdk_utils.py")))


@pytest.fixture(scope="module")
def lines() -> list[Json]:
    return made_lines(COUNT)


def test_it_computes_the_same_ids(utils: Driver, lines: list[Json]) -> None:
    entries = [entry for line in lines for entry in line["blocks"]]
    utils.check("blockId", [(({"block": entry["block"]},), entry["id"]) for entry in entries])
    sent = [entry for entry in entries if "transactionId" in entry]
    utils.check(
        "transactionId", [(({"payload": entry["block"]["payload"]},), entry["transactionId"]) for entry in sent]
    )


def judged(lines: list[Json]) -> list[Seen]:
    """The transactions whose inputs all existed."""
    seen = replayed(lines, made_genesis())
    return [each for each in seen if not any(isinstance(found, int) for found in each.inputs)]


def test_it_computes_the_same_inputs_commitments(utils: Driver, lines: list[Json]) -> None:
    seen = [each for each in judged(lines) if each.entry["metadata"].get("conflictReason") != 10]
    api_requests = []
    for each in seen:
        outputs = [found[1] for found in each.inputs if not isinstance(found, int)]
        api_requests.append((({"inputs": outputs},), each.entry["block"]["payload"]["essence"]["inputsCommitment"]))
    utils.check("computeInputsCommitment", api_requests)


def signing_data(output_id: str, output: Json) -> Json:
    """An input in the client's form; only the id of its metadata matters."""
    index = int.from_bytes(bytes.fromhex(output_id[66:]), "little")
    metadata: dict[str, Any] = {"blockId": f"0x{'00' * 32}", "transactionId": output_id[:66], "outputIndex": index}
    booked = {"isSpent": False, "milestoneIndexBooked": 1, "milestoneTimestampBooked": 1, "ledgerIndex": 1}
    return {"output": output, "outputMetadata": metadata | booked}


def test_it_finds_the_same_reasons(utils: Driver, lines: list[Json]) -> None:
    api_requests, met = [], set()
    for each in judged(lines):
        reason = each.entry["metadata"].get("conflictReason", 0)
        met.add(reason)
        inputs = [signing_data(*found) for found in each.inputs if not isinstance(found, int)]
        parameters = {"inputs": inputs, "transaction": each.entry["block"]["payload"], "time": each.unix_time}
        api_requests.append(((parameters,), REASONS[reason]))
    assert met == set(REASONS)
    utils.check("verifyTransactionSemantic", api_requests)

"""Column families of a row by name: every written column, compared with the shipped rows of the event tables.

Expectations come from sample/wormhole/bigtable.jsonl, which has each documented column of all revisions, and from lines
with extra undocumented columns. Plain Python reads both.
"""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.store import WritableStore
from tests.api.conftest import STORES, new_store
from tests.api.wormhole.test_wormhole_events import Watched, both
from tests.api.wormhole_network import NETWORK, World
from tests.etl.vaas import cell_line
from tests.ledger.wormhole.cases import public_sets

Json = dict[str, Any]

SAMPLE = Path(__file__).parents[3] / "sample" / "wormhole" / "bigtable.jsonl"
ROWS = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
del ROWS[0]["families"]["TokenTransferDetails"]["Amount"]  # its text is not a number, and days are summed here
HOSTNAME = "guardian-7"
WRITTEN_MS = 1_632_189_146_500


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WritableStore]:
    sample = World()
    hostname = cell_line(ROWS[0]["row_key"], "MessagePublication", "ReporterHostname", HOSTNAME, WRITTEN_MS)
    sample.lines = [*map(json.dumps, ROWS), hostname]
    filled = sample.fill(new_store(request, tmp_path_factory, "families", NETWORK))
    yield filled
    filled.close()


@pytest.fixture
def client(store: Any) -> httpx.AsyncClient:
    app = create_app({NETWORK: NetworkMount(store, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")


def key_of(row: Json) -> dict[str, str]:
    chain, emitter, sequence = row["row_key"].split(":")
    return {"emitterChain": chain, "emitterAddress": emitter, "sequence": sequence}


def head_of(row: Json) -> Json:
    publication = row["families"]["MessagePublication"]
    names = ("EmitterChain", "EmitterAddress", "Sequence")
    return {name: base64.b64decode(publication[name][0]["value"]).decode() for name in names}


def texts(row: Json, family: str) -> dict[str, str]:
    """Columns of a family in which all are text."""
    return {name: base64.b64decode(cell["value"]).decode() for name, (cell,) in row["families"].get(family, {}).items()}


def time_of(cell: Json) -> str:
    moment = datetime.fromtimestamp(cell["time"] // 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{cell['time'] % 1000:03d} +0000 UTC"


def signatures_of(row: Json) -> Json:
    """The expected cells of the family Signatures: the guardians by their addresses."""
    checksummed = {each.lower(): each for each in public_sets("mainnet")["1"]["addresses"]}
    found = [
        {"Guardian": checksummed[guardian], "Signature": base64.b64decode(cell["value"]).hex(), "Time": time_of(cell)}
        for guardian, (cell,) in sorted(row["families"]["Signatures"].items())
    ]
    return {"GuardiansThatSigned": [each["Guardian"] for each in found], "Signatures": found}


def states_of(row: Json) -> list[Json]:
    """The expected cells of the family VAAState."""
    found = []
    for qualifier, cells in row["families"]["VAAState"].items():
        for cell in cells:
            count, *rest = base64.b64decode(cell["value"])
            signatures = [
                {"Index": rest[at], "Signature": bytes(rest[at + 1 : at + 66]).hex()} for at in range(0, len(rest), 66)
            ]
            assert len(signatures) == count
            found.append(
                {
                    "GuardianSetIndex": qualifier.partition(":")[2],
                    "Time": time_of(cell),
                    "Signatures": signatures,
                }
            )
    return found


async def test_signatures_and_states_are_answered_as_they_accumulated(client: httpx.AsyncClient) -> None:
    row, other, _ = ROWS
    states = states_of(row)
    assert [len(each["Signatures"]) for each in states] == [1, 2, 3]
    assert await both(client, "readrow", **key_of(row), families="VAAState") == head_of(row) | {"VAAState": states}
    found = await both(client, "readrow", **key_of(row), families="Signatures")
    assert found == head_of(row) | signatures_of(row)
    assert len(found["Signatures"]) == len(row["families"]["Signatures"]) > 13
    assert await both(client, "readrow", **key_of(other), families="VAAState") == head_of(other) | {"VAAState": None}


async def test_whose_signatures_nobody_wrote_are_those_of_the_vaa(client: httpx.AsyncClient) -> None:
    row = ROWS[1]
    data = base64.b64decode(row["families"]["QuorumState"]["SignedVAA"][0]["value"])
    members = public_sets("mainnet")[str(int.from_bytes(data[1:5], "big"))]["addresses"]
    found = [
        {"Guardian": members[data[at]], "Signature": data[at + 1 : at + 66].hex(), "Time": ""}
        for at in range(6, 6 + 66 * data[5], 66)
    ]
    found.sort(key=lambda each: str(each["Guardian"]).lower())
    guardians = {"GuardiansThatSigned": [each["Guardian"] for each in found], "Signatures": found}
    assert await both(client, "readrow", **key_of(row), families="Signatures") == head_of(row) | guardians


async def test_a_family_by_its_name_returns_what_the_functions_left_out(client: httpx.AsyncClient) -> None:
    row = ROWS[0]
    chain = texts(row, "ChainDetails")
    assert len(chain) == 5
    found = await both(client, "readrow", **key_of(row), families="ChainDetails")
    assert found == head_of(row) | {"ChainDetails": chain}
    publication = texts(row | {"families": {"MessagePublication": {
        name: cells for name, cells in row["families"]["MessagePublication"].items() if name != "Payload"
    }}}, "MessagePublication")  # fmt: skip
    data = base64.b64decode(row["families"]["QuorumState"]["SignedVAA"][0]["value"])
    assert await both(client, "readrow", **key_of(row), families="MessagePublication") == head_of(row) | {
        "InitiatingTxID": publication["InitiatingTxID"],
        "Payload": base64.b64encode(data[6 + 66 * data[5] + 51 :]).decode(),
        "MessagePublication": {
            name: publication[name] for name in ("Version", "GuardianSetIndex", "Timestamp", "Nonce")
        }
        | {"ReporterHostname": HOSTNAME},
    }
    details = (await both(client, "readrow", **key_of(row), families="TokenTransferDetails"))["TransferDetails"]
    written = row["families"]["TokenTransferDetails"]
    observed = {
        name: base64.b64decode(cell["value"]).decode() for name, (cell,) in written.items() if name != "NotionalUSD"
    }
    assert {name: details[name] for name in written} == observed | {"NotionalUSD": "12.5"}


async def test_who_names_no_family_reads_what_the_functions_returned(store: Any) -> None:
    watched: Any = Watched(store)
    app = create_app({NETWORK: NetworkMount(watched, NETWORK, wormhole="mainnet")}, NETWORK, ApiSettings())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode")
    row = ROWS[0]
    found = await both(client, "readrow", **key_of(row))
    assert found.keys() == {
        "EmitterChain", "EmitterAddress", "Sequence", "InitiatingTxID", "Payload", "SignedVAABytes", "QuorumTime",
        "TransferDetails", "SignedVAA", "TokenTransferPayload", "AssetMetaPayload", "NFTTransferPayload",
        "ChainDetails",
    }  # fmt: skip
    chain = texts(row, "ChainDetails")
    assert found["ChainDetails"] == {name: chain[name] for name in ("SenderAddress", "ReceiverAddress")}
    assert watched.read.keys() == {"vaas", "vaa_payloads"}


async def test_rows_by_their_prefix_return_the_same_families_behind_their_keys(client: httpx.AsyncClient) -> None:
    row = ROWS[0]
    chain, emitter, _ = row["row_key"].split(":")
    found = await both(client, "readrows", prefix=f"{chain}:{emitter}:", families="VAAState,Signatures")
    whole = {"RowKey": row["row_key"], **head_of(row), **signatures_of(row), "VAAState": states_of(row)}
    assert found == {"Rows": [whole], "Next": ""}

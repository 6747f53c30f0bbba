"""The checks that a browser makes of a proof: valid for every proof of the oracle ledgers, and for no altered one."""

import copy
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from api.web.static_files import StaticFiles
from tests.api.networks import TWO_ERAS
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.clients.installs import node_programs
from tests.etl.two_eras import COORDINATOR_KEY, stardust_lines

pytestmark = pytest.mark.clients

Check: TypeAlias = Callable[[list[Json]], list[Json]]

DRIVER = Path(__file__).parent / "proof_driver.mjs"

TIMEOUT_S = 120


@pytest.fixture(scope="session")
def check(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Check:
    """Runs the served script in Node."""
    assert pytestconfig.cache is not None
    node = node_programs(pytestconfig.cache.mkdir("clients")) / "node"
    folder = tmp_path_factory.mktemp("static")
    served = StaticFiles()
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    for name, (body, _) in served.files.items():
        path = folder / name.removeprefix(f"{served.prefix}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)

    def run(cases: list[Json]) -> list[Json]:
        done = subprocess.run(
            [str(node), str(DRIVER), str(folder)],
            input="\n".join(map(json.dumps, cases)),
            capture_output=True,
            text=True,
            check=True,
            timeout=TIMEOUT_S,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def signers_of(line: Json) -> list[str]:
    """The public keys that signed a milestone."""
    payload = line["milestone"]["payload"]
    return payload.get("publicKeys") or [each["publicKey"] for each in payload["signatures"]]


def entries_of(oracle: Oracle, stardust: StardustLedger) -> Iterator[tuple[str, Json, str]]:
    """Network, entry and keys of each message that has a proof."""
    for line in oracle.milestones:
        keys = ",".join(signers_of(line))
        for entry in line["messages"]:
            if entry["metadata"]["ledgerInclusionState"] == "included":
                yield oracle.expected["network"], entry, keys
    for line in stardust.milestones:
        keys = ",".join(signers_of(line))
        for entry in line["blocks"]:
            yield stardust.network, entry, keys
    for line in stardust_lines():
        for entry in line["blocks"]:
            yield TWO_ERAS, entry, COORDINATOR_KEY.hex()


async def case_of(pages: httpx.AsyncClient, network: str, entry: Json, keys: str) -> Json:
    """The input of a check, as the page loads it."""
    state = entry["metadata"]["ledgerInclusionState"]
    claim = "applied-block/create" if state == "included" else "create"
    answer = await pages.get(f"/api/{network}/poi/v1/{claim}/{entry['id']}")
    assert answer.status_code == 200, answer.text
    return {"id": entry["id"], "raw": entry["bytes_hex"], "proof": answer.json(), "keys": keys, "threshold": 0}


async def test_every_proof_is_valid(
    pages: httpx.AsyncClient, check: Check, oracle: Oracle, stardust: StardustLedger
) -> None:
    entries = list(entries_of(oracle, stardust))[::3]
    cases = [await case_of(pages, *each) for each in entries]
    milestones = [case["proof"]["milestone"] for case in cases]
    assert any(each.get("receipt") for each in milestones)
    assert {option["type"] for each in milestones for option in each.get("options", ())} == {0, 1}
    for (_, entry, _), result in zip(entries, check(cases), strict=True):
        assert {each["passed"] for each in result["checks"]} == {True}, result
        assert result["index"] == entry["metadata"]["referencedByMilestoneIndex"]
        is_applied = entry["metadata"]["ledgerInclusionState"] == "included"
        assert result["claim"] == ("applied" if is_applied else "referenced")


async def test_without_keys_the_signers_stay_unknown(pages: httpx.AsyncClient, check: Check, oracle: Oracle) -> None:
    entry = next(iter(oracle.included.values()))
    (result,) = check([await case_of(pages, oracle.expected["network"], entry, "")])
    assert [each["passed"] for each in result["checks"]].count(None) == 1
    assert False not in [each["passed"] for each in result["checks"]]


def altered(case: Json) -> Iterator[tuple[str, Json]]:
    """Copies of a case, each with one thing changed."""

    def change(name: str, alter: Callable[[Json], Any]) -> tuple[str, Json]:
        copied = copy.deepcopy(case)
        alter(copied)
        return name, copied

    def flip(text: str) -> str:
        return text[:-1] + ("0" if text[-1] != "0" else "1")

    milestone = case["proof"]["milestone"]
    yield change("raw", lambda found: found.update(raw=flip(found["raw"])))
    yield change("id", lambda found: found.update(id=flip(found["id"])))
    for name, value in milestone.items():
        if isinstance(value, int) and name != "type":
            yield change(
                name, lambda found, name=name: found["proof"]["milestone"].update({name: value_of(found, name)})
            )
        elif isinstance(value, str) and value not in {"", "0x"}:
            yield change(
                name,
                lambda found, name=name: found["proof"]["milestone"].update(
                    {name: flip(found["proof"]["milestone"][name])}
                ),
            )
    parents = "parents" if "parents" in milestone else "parentMessageIds"
    yield change(parents, lambda found: found["proof"]["milestone"][parents].append("00" * 32))
    yield change("signatures", exchange_signatures)
    yield change("no signature", remove_signatures)
    yield change("sibling", lambda found: sibling_of(found["proof"]["proof"]).update(h="00" * 32))
    yield change("keys", lambda found: found.update(keys=flip(found["keys"])))
    yield change("range", lambda found: found.update(keys=f"{found['keys']}:1000"))
    yield change("threshold", lambda found: found.update(threshold=3))
    if milestone.get("receipt") or milestone.get("options"):
        yield change("receipt", lambda found: receipt_of(found["proof"]["milestone"])["funds"].pop())


def value_of(case: Json, name: str) -> int:
    """Another value of a number in the milestone."""
    value: int = case["proof"]["milestone"][name]
    return value + 1


def exchange_signatures(case: Json) -> None:
    """Gives the first two keys each other's signature."""
    signatures = case["proof"]["milestone"]["signatures"]
    if "publicKeys" in case["proof"]["milestone"]:
        signatures.reverse()
    else:
        first, second = signatures
        first["signature"], second["signature"] = second["signature"], first["signature"]


def remove_signatures(case: Json) -> None:
    """Leaves a milestone without signatures."""
    case["proof"]["milestone"]["signatures"] = []
    if "publicKeys" in case["proof"]["milestone"]:
        case["proof"]["milestone"]["publicKeys"] = []


def sibling_of(node: Json) -> Json:
    """The first sibling in a path that has one."""
    found: Json = next(each for each in (node["l"], node["r"]) if "h" in each)
    return found


def receipt_of(milestone: Json) -> Json:
    """The receipt of a milestone of either era."""
    found: Json = milestone["receipt"] if "receipt" in milestone else milestone["options"][0]
    return found


async def test_no_altered_proof_is_valid(
    pages: httpx.AsyncClient, check: Check, oracle: Oracle, stardust: StardustLedger
) -> None:
    index = oracle.expected["receipts"][0]["milestoneIndex"]
    assert index == stardust.expected["receipts"][0]["milestoneIndex"]
    for network, line, messages in (
        (oracle.expected["network"], oracle.milestones[index - 1], "messages"),
        (stardust.network, stardust.milestones[index - 1], "blocks"),
    ):
        entry = next(each for each in line[messages] if each["metadata"]["ledgerInclusionState"] == "included")
        case = await case_of(pages, network, entry, ",".join(signers_of(line)))
        cases = list(altered(case))
        assert len(cases) >= 15
        for (name, _), result in zip(cases, check([each for _, each in cases]), strict=True):
            assert "error" in result or False in [each["passed"] for each in result["checks"]], name

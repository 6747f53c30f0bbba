"""Generated archives are valid by protocol. All expectations are recomputed from the lines' JSON in this file.

It uses nothing of ledger/: ids, orders and roots come from struct, hashlib and recursion, and cryptography checks the
signatures. The serializer here is itself compared with the shipped sample, which other implementations made.
"""

import json
import struct
from collections import Counter
from hashlib import blake2b
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from bench.chrysalis_tangle import ChrysalisTangle
from bench.generate import generate, write_archive
from bench.scale import Ledger
from bench.stardust_tangle import StardustTangle
from bench.stardust_traffic import StardustSettings
from bench.tangle import GeneratorSettings, Tangle
from tests.conftest import SAMPLE

SUPPLY = 2_779_530_283_277_761
ZERO_ID = "0" * 64
METADATA_KEYS = [
    "messageId", "parentMessageIds", "isSolid", "referencedByMilestoneIndex", "ledgerInclusionState", "shouldPromote",
    "shouldReattach",
]  # fmt: skip

Line = dict[str, Any]


def blake(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def join(items: list[str]) -> bytes:
    return b"".join(bytes.fromhex(item) for item in items)


def indexation_bytes(data: Any) -> bytes:
    index, content = bytes(data["index"]), bytes(data["data"])
    return struct.pack("<IH", 2, len(index)) + index + struct.pack("<I", len(content)) + content


def input_bytes(value: Any) -> bytes:
    assert value["type"] == "Utxo"
    return b"\0" + bytes.fromhex(value["data"])


def output_bytes(value: Any) -> bytes:
    kind = ["SignatureLockedSingle", "SignatureLockedDustAllowance"].index(value["type"])
    address = value["data"]["address"]
    assert address["type"] == "Ed25519"
    return bytes([kind, 0]) + bytes.fromhex(address["data"]) + struct.pack("<Q", value["data"]["amount"])


def essence_bytes(essence: Any) -> bytes:
    assert essence["type"] == "Regular"
    data = essence["data"]
    inner = b"" if data["payload"] is None else indexation_bytes(data["payload"]["data"])
    inputs, outputs = [input_bytes(each) for each in data["inputs"]], [output_bytes(each) for each in data["outputs"]]
    return b"".join(
        [
            struct.pack("<BH", 0, len(inputs)), *inputs,
            struct.pack("<H", len(outputs)), *outputs,
            struct.pack("<I", len(inner)), inner,
        ]
    )  # fmt: skip


def unlock_bytes(block: Any) -> bytes:
    if block["type"] == "Reference":
        return struct.pack("<BH", 1, block["data"])
    signature = block["data"]["data"]
    return b"\0\0" + bytes(signature["public_key"]) + bytes(signature["signature"])


def transaction_bytes(data: Any) -> bytes:
    unlocks = [unlock_bytes(each) for each in data["unlock_blocks"]]
    return struct.pack("<I", 0) + essence_bytes(data["essence"]) + struct.pack("<H", len(unlocks)) + b"".join(unlocks)


def milestone_essence_bytes(essence: Any) -> bytes:
    assert essence["receipt"] is None
    return b"".join(
        [
            struct.pack("<IQB", essence["index"], essence["timestamp"], len(essence["parents"])),
            join(essence["parents"]),
            bytes(essence["merkle_proof"]),
            struct.pack("<II", essence["next_pow_score"], essence["next_pow_score_milestone_index"]),
            bytes([len(essence["public_keys"])]),
            *(bytes(key) for key in essence["public_keys"]),
            struct.pack("<I", 0),
        ]
    )


def payload_bytes(payload: Any) -> bytes:
    if payload is None:
        return b""
    data = payload["data"]
    if payload["type"] == "Transaction":
        return transaction_bytes(data)
    if payload["type"] == "Milestone":
        signatures = [bytes(each) for each in data["signatures"]]
        essence = milestone_essence_bytes(data["essence"])
        return struct.pack("<I", 1) + essence + bytes([len(signatures)]) + b"".join(signatures)
    return indexation_bytes(data)


def message_bytes(message: Any) -> bytes:
    payload = payload_bytes(message["payload"])
    head = struct.pack("<QB", message["network_id"], len(message["parents"])) + join(message["parents"])
    return head + struct.pack("<I", len(payload)) + payload + struct.pack("<Q", message["nonce"])


def own_message(line: Line) -> str:
    """The id of the milestone's message."""
    return next(
        key for key, (message, _) in line["messages"].items() if (message["payload"] or {}).get("type") == "Milestone"
    )


def white_flag(line: Line) -> list[str]:
    """Post-order over the parents, recursively; the milestone's message last."""
    order: list[str] = []

    def visit(message_id: str) -> None:
        if message_id in order or message_id not in line["messages"]:
            return
        for parent in line["messages"][message_id][0]["parents"]:
            visit(parent)
        order.append(message_id)

    visit(own_message(line))
    return order


def merkle(leaves: list[bytes]) -> bytes:
    """The Merkle root of TIP-4, written recursively: split at the largest power of two below the count."""
    if len(leaves) < 2:
        return blake(b"\0" + leaves[0]) if leaves else blake(b"")
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return blake(b"\1" + merkle(leaves[:split]) + merkle(leaves[split:]))


def shape(value: Any) -> Any:
    """The keys and types of a JSON value, which a reader must accept. A list has the shape of its first item."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    """Forty milestones as a reader sees them: parsed from their JSON text."""
    settings = GeneratorSettings(seed="tests", milestone_size=40, conflicts=0.15)
    return [json.loads(json.dumps(each.form)) for each in islice(generate(settings), 40)]


@pytest.fixture(scope="module")
def genesis() -> dict[str, Any]:
    return ChrysalisTangle(GeneratorSettings(seed="tests")).genesis()


@pytest.fixture(scope="module")
def sample() -> list[Line]:
    files = sorted(path for path in SAMPLE.rglob("*") if path.suffix in {".log", ".fin", ".part"})
    lines = [json.loads(text) for path in files for text in path.read_text().splitlines()]
    assert lines, f"no archive in {SAMPLE}"
    return lines


def transactions(line: Line) -> list[tuple[str, Any]]:
    """Message id and transaction data, in white-flag order."""
    payloads = [(each, line["messages"][each][0]["payload"]) for each in white_flag(line)]
    return [(each, payload["data"]) for each, payload in payloads if payload and payload["type"] == "Transaction"]


def test_the_serializer_of_these_tests_reproduces_the_samples_ids(sample: list[Line]) -> None:
    for line in sample:
        if line["milestone"]["essence"]["receipt"] is not None:
            continue
        for message_id, (message, _) in line["messages"].items():
            assert blake(message_bytes(message)).hex() == message_id


def test_every_id_is_the_hash_of_its_message(lines: list[Line]) -> None:
    for line in lines:
        for message_id, (message, metadata) in line["messages"].items():
            assert blake(message_bytes(message)).hex() == message_id == metadata["messageId"]


def test_lines_have_the_shape_of_the_sample(lines: list[Line], sample: list[Line]) -> None:
    def shapes(of: list[Line]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for line in of:
            for message, metadata in line["messages"].values():
                payload = message["payload"]
                kind = payload["type"] if payload else "none"
                parts = {"message": {**message, "payload": None}, "metadata": metadata}
                if kind == "Indexation":
                    parts["indexation"] = {**payload["data"], "data": []}
                if kind == "Milestone":
                    parts["milestone"] = {**payload["data"]["essence"], "receipt": None}
                if kind == "Transaction":
                    essence = payload["data"]["essence"]
                    parts["essence"] = {
                        **essence, "data": {**essence["data"], "inputs": [], "outputs": [], "payload": None}
                    }  # fmt: skip
                    for part in ("inputs", "outputs"):
                        parts |= {part + each["type"]: each for each in essence["data"][part]}
                    parts |= {"unlock" + each["type"]: each for each in payload["data"]["unlock_blocks"]}
                for name, part in parts.items():
                    if shape(part) not in found.setdefault(name, []):
                        found[name].append(shape(part))
        return found

    own, theirs = shapes(lines), shapes(sample)
    assert own.keys() == theirs.keys()
    assert all(each in theirs[name] for name in own for each in own[name])
    assert {tuple(line) for line in lines} == {tuple(sample[0])}


def test_metadata_has_seven_keys_with_explicit_nulls(lines: list[Line]) -> None:
    for line in lines:
        for message, metadata in line["messages"].values():
            assert list(metadata) == METADATA_KEYS
            assert metadata["parentMessageIds"] == message["parents"]
            assert metadata["referencedByMilestoneIndex"] == line["milestone_index"]
            assert metadata["shouldPromote"] is metadata["shouldReattach"] is None


def test_parents_ascend_and_belong_to_this_milestone_or_the_one_before(lines: list[Line]) -> None:
    counts = []
    for before, line in pairwise([{"messages": {ZERO_ID: None}}, *lines]):
        known = before["messages"].keys() | line["messages"].keys()
        for message, _ in line["messages"].values():
            assert message["parents"] == sorted(set(message["parents"]))
            assert known.issuperset(message["parents"])
            counts.append(len(message["parents"]))
    assert set(counts) == set(range(1, 9))
    assert 3 < sum(counts) / len(counts) < 4


def test_the_milestone_reaches_its_whole_cone(lines: list[Line]) -> None:
    for line in lines:
        assert sorted(white_flag(line)) == sorted(line["messages"])


def test_order_of_the_map_says_nothing(lines: list[Line]) -> None:
    assert not any(list(line["messages"]) in (sorted(line["messages"]), white_flag(line)) for line in lines)


def test_declared_order_and_bytes_are_those_of_the_line() -> None:
    for line in islice(generate(GeneratorSettings(milestone_size=12)), 12):
        form = json.loads(json.dumps(line.form))
        assert [each.hex() for each in line.order] == white_flag(form)
        assert {key.hex(): raw for key, raw in line.raw.items()} == {
            key: message_bytes(message) for key, (message, _) in form["messages"].items()
        }


def test_inclusion_is_what_white_flag_says(lines: list[Line], genesis: dict[str, Any]) -> None:
    unspent = {each["outputId"]: each["output"]["amount"] for each in genesis["outputs"]}
    seen: set[str] = set()
    conflicts = {"again": 0, "respent": 0}
    for line in lines:
        included = []
        for message_id, data in transactions(line):
            inputs = [each["data"] for each in data["essence"]["data"]["inputs"]]
            transaction_id = blake(transaction_bytes(data)).hex()
            state = line["messages"][message_id][1]["ledgerInclusionState"]
            if not all(each in unspent for each in inputs):
                assert state == "conflicting"
                conflicts["again" if transaction_id in seen else "respent"] += 1
                continue
            assert state == "included"
            included.append(bytes.fromhex(message_id))
            outputs = data["essence"]["data"]["outputs"]
            assert sum(unspent.pop(each) for each in inputs) == sum(each["data"]["amount"] for each in outputs)
            for index, output in enumerate(outputs):
                unspent[transaction_id + struct.pack("<H", index).hex()] = output["data"]["amount"]
            seen.add(transaction_id)
        assert bytes(line["milestone"]["essence"]["merkle_proof"]) == merkle(included)
    assert sum(unspent.values()) + genesis["treasury"]["amount"] == SUPPLY
    assert all(conflicts.values())


def test_only_transactions_change_the_ledger(lines: list[Line]) -> None:
    for line in lines:
        others = line["messages"].keys() - {message_id for message_id, _ in transactions(line)}
        assert {line["messages"][each][1]["ledgerInclusionState"] for each in others} == {"noTransaction"}


def test_transactions_are_sorted_and_signed_by_the_owners_of_their_inputs(
    lines: list[Line], genesis: dict[str, Any]
) -> None:
    owners = {each["outputId"]: each["output"]["address"]["address"] for each in genesis["outputs"]}
    kinds = set()
    all_transactions = [each for line in lines for each in transactions(line)]
    for _, data in all_transactions:
        transaction_id = blake(transaction_bytes(data)).hex()
        for index, output in enumerate(data["essence"]["data"]["outputs"]):
            owners[transaction_id + struct.pack("<H", index).hex()] = output["data"]["address"]["data"]
    for _, data in all_transactions:
        inputs, outputs = data["essence"]["data"]["inputs"], data["essence"]["data"]["outputs"]
        assert [input_bytes(each) for each in inputs] == sorted({input_bytes(each) for each in inputs})
        assert [output_bytes(each) for each in outputs] == sorted(output_bytes(each) for each in outputs)
        assert len({output_bytes(each)[:34] for each in outputs}) == len(outputs)
        assert all(each["data"]["amount"] >= 1_000_000 for each in outputs)
        kinds |= {each["type"] for each in outputs}
        digest = blake(essence_bytes(data["essence"]))
        signers: list[str | None] = []
        for each, block in zip(inputs, data["unlock_blocks"], strict=True):
            kinds.add(block["type"])
            owner = owners[each["data"]]
            if block["type"] == "Reference":
                assert signers[block["data"]] == owner
                signers.append(None)
                continue
            assert owner not in signers
            signature = block["data"]["data"]
            public_key = bytes(signature["public_key"])
            assert blake(public_key).hex() == owner
            Ed25519PublicKey.from_public_bytes(public_key).verify(bytes(signature["signature"]), digest)
            signers.append(owner)
    assert kinds == {"SignatureLockedSingle", "SignatureLockedDustAllowance", "Signature", "Reference"}


def test_milestones_are_signed_by_the_coordinator_and_are_beside_their_messages(
    lines: list[Line], genesis: dict[str, Any]
) -> None:
    for line in lines:
        message = line["messages"][own_message(line)][0]
        essence, signatures = line["milestone"]["essence"], line["milestone"]["signatures"]
        assert message["payload"]["data"] == line["milestone"]
        assert message["parents"] == essence["parents"]
        assert essence["index"] == line["milestone_index"]
        keys = [bytes(key) for key in essence["public_keys"]]
        assert [key.hex() for key in keys] == sorted(genesis["coordinatorPublicKeys"])
        digest = blake(milestone_essence_bytes(essence))
        for key, signature in zip(keys, signatures, strict=True):
            Ed25519PublicKey.from_public_bytes(key).verify(bytes(signature), digest)


def test_time_stops_and_falls_unless_configured_to_be_steady(lines: list[Line]) -> None:
    times = [line["milestone"]["essence"]["timestamp"] for line in lines]
    steps = [later - earlier for earlier, later in pairwise(times)]
    assert any(step == 0 for step in steps)
    assert any(step < 0 for step in steps)
    assert times[-1] > times[0]
    steady = [line.timestamp for line in islice(generate(GeneratorSettings(milestone_size=2, unsteady=False)), 25)]
    assert {later - earlier for earlier, later in pairwise(steady)} == {10}


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(tmp_path: Path) -> None:
    def archive(name: str, seed: str, messages: int) -> dict[str, bytes]:
        write_archive(
            ChrysalisTangle(GeneratorSettings(seed=seed, milestone_size=10)), tmp_path / name, messages, files=3
        )
        return {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    first = archive("first", "a", 200)
    assert archive("again", "a", 200) == first
    assert archive("other", "b", 200)["genesis.json"] != first["genesis.json"]

    def text(files: dict[str, bytes]) -> bytes:
        logs = sorted((name for name in files if name.endswith(".log")), key=lambda name: int(name.split("to")[0]))
        return b"".join(files[name] for name in logs)

    assert text(archive("longer", "a", 400)).startswith(text(first))


@pytest.mark.parametrize(
    "tangle", [ChrysalisTangle(GeneratorSettings(rare=0.3)), StardustTangle(StardustSettings(rare=0.3))], ids=["1", "2"]
)
def test_a_ledger_that_was_saved_goes_on_with_the_same_lines(tangle: Tangle, tmp_path: Path) -> None:
    assert sum(1 for _ in islice(tangle.milestones(), 10)) == 10
    Ledger(tangle, 7).save(tmp_path / "ledger")
    again = Ledger.read(tmp_path / "ledger")
    assert again.messages == 7
    expected = [line.form for line in islice(tangle.milestones(), 10)]
    assert [line.form for line in islice(again.tangle.milestones(), 10)] == expected != []


def test_files_follow_each_other_and_counts_are_those_of_the_lines(tmp_path: Path) -> None:
    settings = GeneratorSettings(seed="files", milestone_size=10, first_milestone=97)
    tangle = ChrysalisTangle(settings)
    expected = write_archive(tangle, tmp_path, 300, files=4)
    assert json.loads((tmp_path / "expected.json").read_text()) == expected
    assert {*expected["files"], "expected.json", "genesis.json"} == {path.name for path in tmp_path.iterdir()}
    indices: list[int] = []
    kinds: list[str] = []
    states: list[str] = []
    hot = {"messages": 0, "inTransactions": 0}
    for name in expected["files"]:
        lines = [json.loads(text) for text in (tmp_path / name).read_text().splitlines()]
        start, end = name.removesuffix(".log").split("to")
        assert [line["milestone_index"] for line in lines] == list(range(int(start), int(end)))
        indices += range(int(start), int(end))
        for message, metadata in (pair for line in lines for pair in line["messages"].values()):
            payload = message["payload"]
            kinds.append(payload["type"].lower() if payload else "no payload")
            states.append(metadata["ledgerInclusionState"])
            inside = payload["data"]["essence"]["data"]["payload"] if kinds[-1] == "transaction" else None
            for place, tagged in (("messages", payload), ("inTransactions", inside)):
                if tagged and tagged["type"] == "Indexation":
                    hot[place] += bytes(tagged["data"]["index"]).hex() == expected["hotTag"]["index"]
    assert indices == list(range(97, 97 + expected["milestones"]))
    assert indices[-1] == expected["lastMilestone"]
    assert len(kinds) == expected["messages"] >= 300
    assert {kind: kinds.count(kind) for kind in expected["messagesByKind"]} == expected["messagesByKind"]
    assert {state: states.count(state) for state in expected["messagesByState"]} == expected["messagesByState"]
    assert hot == {key: expected["hotTag"][key] for key in hot}
    assert next(tangle.milestones()).index == expected["lastMilestone"] + 1


def test_rare_keys_come_up_ten_times_each_and_what_their_addresses_got_lies_still() -> None:
    settings = GeneratorSettings(seed="rare", milestone_size=60, conflicts=0, rare=0.2)
    owners = {each["output"]["address"]["address"] for each in ChrysalisTangle(settings).genesis()["outputs"]}
    paid: dict[str, set[str]] = {}
    tagged: Counter[bytes] = Counter()
    spent = set()
    for line in (json.loads(json.dumps(each.form)) for each in islice(generate(settings), 40)):
        for message, _ in line["messages"].values():
            payload = message["payload"]
            if payload is None or payload["type"] == "Milestone":
                continue
            if payload["type"] == "Transaction":
                transaction_id = blake(transaction_bytes(payload["data"])).hex()
                essence = payload["data"]["essence"]["data"]
                spent |= {each["data"] for each in essence["inputs"]}
                for index, output in enumerate(essence["outputs"]):
                    address = output["data"]["address"]["data"]
                    paid.setdefault(address, set()).add(transaction_id + struct.pack("<H", index).hex())
            inside = essence["payload"] if payload["type"] == "Transaction" else payload
            if inside is not None:
                tagged[bytes(inside["data"]["index"])] += 1
    rare = {address: outputs for address, outputs in paid.items() if address not in owners}
    assert len(rare) > 5
    assert sorted(map(len, rare.values()))[1:] == [10] * (len(rare) - 1)
    assert spent.isdisjoint(set().union(*rare.values()))
    tags = {tag: count for tag, count in tagged.items() if tag.startswith(b"rare/")}
    assert len(tags) > 10
    assert sorted(tags.values())[1:] == [10] * (len(tags) - 1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_smallest_milestones_are_valid_too(size: int) -> None:
    lines = [json.loads(json.dumps(each.form)) for each in islice(generate(GeneratorSettings(milestone_size=size)), 30)]
    assert {len(line["messages"]) for line in lines} <= set(range(1, size + 1))
    for before, line in pairwise(lines):
        assert sorted(white_flag(line)) == sorted(line["messages"])
        known = before["messages"].keys() | line["messages"].keys()
        assert all(known.issuperset(message["parents"]) for message, _ in line["messages"].values())

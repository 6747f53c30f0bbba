"""Proofs of inclusion by their definition (TIP-4), and the provable facts about each message of the oracle ledgers.

It uses hashlib and nothing of ledger/: tests compare the project's proofs with these.
"""

import copy
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

from hypothesis import assume
from hypothesis import strategies as st

from tests import reference, reference_stardust
from tests.conftest import SHARED
from tests.reference import read_json, read_lines

Json: TypeAlias = dict[str, Any]

MILESTONE_AND_ROOTS = {1: (None, "inclusionMerkleProof"), 7: ("inclusionMerkleRoot", "appliedMerkleRoot")}
"""Type of a milestone's payload → its keys of the root over referenced messages, and of the root over applied ones."""


def hashed(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The Merkle root of TIP-4, written recursively, for one leaf or more."""
    if len(leaves) == 1:
        return hashed(b"\0" + leaves[0])
    k = split(len(leaves))
    return hashed(b"\1" + root(leaves[:k]) + root(leaves[k:]))


def split(count: int) -> int:
    """The largest power of two below a count."""
    return 1 << (count - 1).bit_length() - 1


def tree(leaves: Sequence[bytes], position: int, prefix: str) -> Json:
    """The JSON of the audit path of one leaf, as inx-chronicle writes it."""
    if len(leaves) == 1:
        return {"l": {"value": prefix + leaves[0].hex()}}
    k = split(len(leaves))
    left, right = leaves[:k], leaves[k:]
    if position < k:
        return {"l": node(left, position, prefix), "r": {"h": prefix + root(right).hex()}}
    return {"l": {"h": prefix + root(left).hex()}, "r": node(right, position - k, prefix)}


def node(leaves: Sequence[bytes], position: int, prefix: str) -> Json:
    found = tree(leaves, position, prefix)
    return found["l"] if len(leaves) == 1 else found


def raw(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def folded(path: Json) -> tuple[bytes, list[bytes]]:
    """The root to which a path leads, and the ids in the path."""
    if "h" in path:
        return raw(path["h"]), []
    if "value" in path:
        return hashed(b"\0" + raw(path["value"])), [raw(path["value"])]
    if "r" not in path:
        return folded(path["l"])
    (left, found), (right, others) = folded(path["l"]), folded(path["r"])
    return hashed(b"\1" + left + right), found + others


@dataclass(frozen=True)
class Provable:
    """A message, the milestone that references it, and the ids under each root of the milestone; None: no such root."""

    message_id: str
    data: bytes
    message: Json
    milestone: Json
    referenced: Sequence[bytes] | None
    applied: Sequence[bytes]

    @property
    def key(self) -> str:
        """The key that the message has in a proof."""
        return "message" if self.milestone["type"] == 1 else "block"

    def proof(self, leaves: Sequence[bytes]) -> Json:
        """The proof that the message is one of those leaves; ValueError if it is not."""
        prefix = "" if self.milestone["type"] == 1 else "0x"
        path = tree(leaves, leaves.index(raw(self.message_id)), prefix)
        return {"milestone": self.milestone, self.key: self.message, "proof": path}

    @property
    def is_applied(self) -> bool:
        return raw(self.message_id) in self.applied

    @property
    def by_reference(self) -> Sequence[bytes]:
        """The leaves that prove that a message is referenced: for a Chrysalis message those of the applied ones."""
        return self.applied if self.referenced is None else self.referenced


def provable(line: Json) -> Iterator[Provable]:
    """Every message that a line's milestone references."""
    payload = line["milestone"]["payload"]
    entries = line.get("messages") or line.get("blocks") or []
    ids = [raw(entry["id"]) for entry in entries]
    included = [raw(entry["id"]) for entry in entries if entry["metadata"]["ledgerInclusionState"] == "included"]
    for entry in entries:
        message = entry["message"] if payload["type"] == 1 else entry["block"]
        referenced = None if payload["type"] == 1 else ids
        yield Provable(entry["id"], bytes.fromhex(bare(entry["bytes_hex"])), message, payload, referenced, included)


def bare(text: str) -> str:
    return text.removeprefix("0x")


LEDGERS = {"chrysalis": reference.ORACLE, "stardust": reference_stardust.ORACLE}


def ledger(era: str) -> list[Provable]:
    """Every referenced message of an oracle ledger."""
    return [each for line in read_lines(LEDGERS[era] / "milestones.jsonl") for each in provable(line)]


def keys(era: str) -> list[str]:
    """The keys that sign an oracle ledger's milestones; both always sign."""
    genesis = read_json(LEDGERS[era] / "genesis.json")
    return [bare(each) for each in genesis["coordinatorPublicKeys"]]


SHIMMER_THRESHOLD = 7
"""The number of signatures that a Shimmer milestone needs, of the ten keys of shimmer_keys()."""


def shimmer_milestones() -> Iterator[tuple[Json, Json]]:
    """Real Shimmer milestones, 17339 to 17341, from inx-chronicle's tests, each with its payload's JSON."""
    folder = SHARED / "iota"
    payloads = {
        entry["json"]["index"]: entry["json"]
        for entry in read_lines(folder / "stardust" / "1_real.jsonl")
        if entry["kind"] == "milestone"
    }
    for index, stored in read_json(folder / "shimmer" / "in_memory_data.json").items():
        yield payloads[int(index)], stored


def shimmer() -> list[Provable]:
    """Every block of those milestones. They are stored as bytes only, so no other implementation's JSON is available.

    The milestones' JSON has empty lists where a node omits the key.
    """
    found: list[Provable] = []
    for payload, stored in shimmer_milestones():
        cone = [stored["cone"][key] for key in sorted(stored["cone"], key=int)]
        ids = [binary(each["block_id"]) for each in cone]
        included = [binary(each["block_id"]) for each in cone if each["metadata"]["inclusion_state"] == "included"]
        found += [
            Provable(f"0x{binary(each['block_id']).hex()}", binary(each["raw"]), {}, payload, ids, included)
            for each in cone
        ]
    return found


def shimmer_keys() -> list[str]:
    """The keys that may sign those milestones."""
    _, stored = next(shimmer_milestones())
    ranges = stored["milestone_data"]["node_config"]["milestone_key_ranges"]
    assert all(each["start"] == each["end"] == 0 for each in ranges), "a node's way to say that they never end"
    return [bare(each["public_key"]) for each in ranges]


def binary(value: Json) -> bytes:
    """Bytes in the extended JSON of MongoDB."""
    return b64decode(value["$binary"]["base64"])


def foreign() -> Json:
    """A proof that inx-poi made for a test network."""
    proof: Json
    (proof,) = [
        entry["json"]
        for entry in read_lines(SHARED / "iota" / "stardust" / "2_spec.jsonl")
        if entry.get("name") == "api-example:get-proof-block-by-id-response-example"
        and "api-poi.yml" in entry["source"]
    ]
    return proof


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every scalar in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield at
        return
    for key, inner in items:
        yield from places(inner, (*at, key))


def inside(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def other_value(value: Any, data: st.DataObject) -> Any:
    """Another value of the same form: one digit or bit changed, or one more."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ 1 << data.draw(st.integers(0, 20))
    if isinstance(value, str) and value not in ("", "0x"):
        start = 2 if value.startswith("0x") else 0
        at = data.draw(st.integers(start, len(value) - 1))
        digits = "0123456789" if value.isdigit() and len(value) < 32 else "0123456789abcdef"
        return value[:at] + data.draw(st.sampled_from([each for each in digits if each != value[at]])) + value[at + 1 :]
    return None if value is not None else "00"


def edited(proof: Json, data: st.DataObject) -> Json:
    """The proof with one meaningful change."""
    changed = copy.deepcopy(proof)
    place = data.draw(st.sampled_from(list(places(changed))))
    holder, key = inside(changed, place[:-1]), place[-1]
    ways = ["other", "none", "deeper"] + (["gone", "twice", "turned"] if isinstance(holder, list) else [])
    way = data.draw(st.sampled_from(ways))
    if way == "other":
        holder[key] = other_value(holder[key], data)
    elif way == "none":
        del holder[key]
    elif way == "deeper":
        holder[key] = {"l": holder[key]}
    elif way == "gone":
        del holder[key]
    elif way == "twice":
        holder.insert(key, holder[key])
    else:
        assume(holder != holder[::-1])
        holder.reverse()
    return changed


LEFT_OUT = {"networkId": "0", "nextPoWScore": 0, "nextPoWScoreMilestoneIndex": 0, "payload": None, "receipt": None}
"""Keys that a Chrysalis message may omit → the value that this means."""


def same(one: Any, other: Any) -> bool:
    """Whether two proofs mean the same: a parser may read an absent, null or empty value alike."""

    def full(value: Any) -> Any:
        if isinstance(value, dict):
            empty = {key for key, each in value.items() if each in (None, "", [], "0x")}
            kept = {key: full(each) for key, each in value.items() if key not in empty}
            return {key: each for key, each in kept.items() if key not in LEFT_OUT or each != LEFT_OUT[key]}
        return [full(each) for each in value] if isinstance(value, list) else value

    return bool(full(one) == full(other))

"""Which messages of the oracle ledgers a filter selects, by the JSON of the nodes: no code of the project."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

from tests import reference, reference_stardust
from tests.reference import read_lines

LEDGERS = {"chrysalis": reference.ORACLE, "stardust": reference_stardust.ORACLE}

NETWORKS = {"chrysalis": "permatest-1", "stardust": "permatest-2"}


@dataclass(frozen=True)
class Selectable:
    """A message in hex: its milestone, its white-flag index, its tags, those of them that are not features of outputs,
    and the Ed25519 addresses that it names.
    """

    milestone: int
    place: int
    message_id: str
    state: str
    tags: frozenset[str]
    own_tags: frozenset[str]
    addresses: frozenset[str]
    carries: bool
    size: int


@cache
def selectable(era: str) -> tuple[Selectable, ...]:
    """All messages of the ledger that milestones reference."""
    return tuple(each for line in read_lines(LEDGERS[era] / "milestones.jsonl") for each in _of_line(line))


def tagged(era: str) -> dict[str, list[Selectable]]:
    """Tag → its messages."""
    return _by(era, "tags")


def addressed(era: str) -> dict[str, list[Selectable]]:
    """Serialized address → the messages that name it or that it signed."""
    return _by(era, "addresses")


@cache
def _by(era: str, name: str) -> dict[str, list[Selectable]]:
    found: dict[str, list[Selectable]] = {}
    for each in selectable(era):
        for key in getattr(each, name):
            found.setdefault(key, []).append(each)
    return found


def _of_line(line: dict[str, Any]) -> Iterator[Selectable]:
    index = line["milestone"]["index"]
    # The lines have messages in white-flag order.
    for place, entry in enumerate(line.get("messages") or line.get("blocks") or []):
        payload = (entry.get("message") or entry.get("block")).get("payload") or {}
        essence = payload.get("essence") or {}
        unlocks = payload.get("unlockBlocks") or payload.get("unlocks") or []
        keys = [each["signature"]["publicKey"] for each in unlocks if "signature" in each]
        signers = {f"00{blake2b(bytes.fromhex(_bare(key)), digest_size=32).hexdigest()}" for key in keys}
        inside = essence.get("payload") or {}
        outputs = essence.get("outputs") or []
        own = {_bare(each["tag"]) for each in (payload, inside) if "tag" in each}
        own |= {each["index"] for each in (payload, inside) if each.get("type") == 2}
        yield Selectable(
            index,
            entry["metadata"].get("whiteFlagIndex", place),
            _bare(entry["id"]),
            entry["metadata"]["ledgerInclusionState"],
            frozenset(own | {_bare(each["tag"]) for each in _features(outputs) if "tag" in each}),
            frozenset(own),
            frozenset(signers | {f"00{each}" for each in _hashes(outputs)}),
            payload.get("type") == 1 and "index" in payload and payload["index"] == index,
            len(entry["bytes_hex"].removeprefix("0x")) // 2,
        )


def _features(outputs: list[Any]) -> Iterator[Any]:
    for output in outputs:
        yield from output.get("features") or []
        yield from output.get("immutableFeatures") or []


def _hashes(value: Any) -> Iterator[str]:
    """The Ed25519 addresses in outputs, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from _hashes(each)
    elif isinstance(value, dict):
        if "pubKeyHash" in value:
            yield _bare(value["pubKeyHash"])
        elif isinstance(value.get("address"), str):
            yield value["address"]
        for each in value.values():
            yield from _hashes(each)


def _bare(text: str) -> str:
    return text.removeprefix("0x")

"""The oracle ledger as lines of every input format, built from the shipped sample and the oracle's node JSON.

Apart from eras, it uses no project code: JSON in, JSON out. Formats B, C and D are derived from format A with the key
names of Chronicle's branches. The expected contents of a line come from the oracle.
"""

import copy
import gzip
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import orjson
import zstandard

from ledger.eras import CHRYSALIS, Codec, Era, Eras
from tests.conftest import SAMPLE
from tests.reference import ORACLE, STATES, read_lines

Json: TypeAlias = dict[str, Any]

NETWORK = "permatest-1"
ARCHIVE = ("1to21.log", "21to41.log.fin", "41.part")


def eras_of(name: str, codec: Codec = CHRYSALIS) -> Eras:
    """A network of a single era."""
    return Eras((Era(0, codec, network_name=name),))


@cache
def _raw_sample() -> tuple[bytes, ...]:
    return tuple(line for name in ARCHIVE for line in (SAMPLE / name).read_bytes().splitlines())


def sample() -> list[Json]:
    """The sample's lines in format A, by milestone from 1. Tests may change these copies."""
    return [orjson.loads(line) for line in _raw_sample()]


def line_of(number: int) -> Json:
    """One of them."""
    found: Json = orjson.loads(_raw_sample()[number - 1])
    return found


@cache
def oracle() -> list[Json]:
    """The same milestones as node JSON, in white-flag order."""
    return read_lines(ORACLE / "milestones.jsonl")


@cache
def pending() -> list[Json]:
    """Messages that no milestone references."""
    return read_lines(ORACLE / "pending.jsonl")


def dump(document: Any) -> bytes:
    """One line."""
    return orjson.dumps(document) + b"\n"


def format_b(line: Json) -> Json:
    """Format A without `pending` and `created_by`, its map sorted."""
    return {
        "milestone_index": line["milestone_index"],
        "milestone": line["milestone"],
        "messages": dict(sorted(line["messages"].items())),
    }


def record(message_id: str, pair: list[Json]) -> Json:
    """A MessageRecord."""
    message, metadata = pair
    return {
        "message_id": message_id,
        "message": message,
        "milestone_index": metadata["referencedByMilestoneIndex"],
        "inclusion_state": metadata["ledgerInclusionState"],
        "conflict_reason": None,
        "proof": None,
    }


def own_id(line: Json) -> str:
    """The id of the milestone's own message."""
    (found,) = (
        message_id
        for message_id, (message, _) in line["messages"].items()
        if (message["payload"] or {}).get("type") == "Milestone"
    )
    return str(found)


def format_c(line: Json) -> Json:
    """Records other than message_id, milestone_index and payload."""
    return {
        "message_id": own_id(line),
        "milestone_index": line["milestone_index"],
        "payload": line["milestone"],
        "messages": [record(*item) for item in line["messages"].items()],
    }


def format_d(line: Json) -> Json:
    """The milestone's record, separate from the others, which are sorted by id."""
    own = own_id(line)
    return {
        "milestone": {"message": record(own, line["messages"][own])},
        "messages": [record(*item) for item in sorted(line["messages"].items()) if item[0] != own],
    }


def format_d_tagged(line: Json) -> Json:
    """Format D in its "V2" form: ids and messages are tagged with their protocol, records with their version."""
    document = format_d(line)
    for each in (document["milestone"]["message"], *document["messages"]):
        each["message_id"] = {"Chrysalis": each["message_id"]}
        each["message"] = {"Chrysalis": each["message"]}
        each["protocol_version"] = 1
    return document


ARCHIVE_FORMS: dict[str, Callable[[Json], Json]] = {
    "A": dict,
    "B": format_b,
    "C": format_c,
    "D": format_d,
    "D tagged": format_d_tagged,
}


def entries_of(number: int) -> dict[bytes, tuple[bytes, int, int]]:
    """Message id → (canonical bytes, referencing milestone, inclusion state) for a milestone, from the oracle."""
    return {
        bytes.fromhex(each["id"]): (
            bytes.fromhex(each["bytes_hex"]),
            each["metadata"]["referencedByMilestoneIndex"],
            STATES[each["metadata"]["ledgerInclusionState"]],
        )
        for each in oracle()[number - 1]["messages"]
    }


def order_of(number: int) -> list[bytes]:
    """Message ids of a milestone in white-flag order, from the oracle."""
    return [bytes.fromhex(each["id"]) for each in oracle()[number - 1]["messages"]]


def of_state(line: Json, state: str) -> list[str]:
    """Ids of a format A line with that inclusion state; the milestone's own message is not among them."""
    own = own_id(line)
    return [
        message_id
        for message_id, (_, metadata) in line["messages"].items()
        if metadata["ledgerInclusionState"] == state and message_id != own
    ]


def flipped(line: Json, message_id: str) -> Json:
    """A copy of a format A line in which one message has another nonce."""
    changed = copy.deepcopy(line)
    changed["messages"][message_id][0]["nonce"] ^= 1
    return changed


def blake(data: bytes) -> str:
    """The id of these bytes."""
    return blake2b(data, digest_size=32).hexdigest()


def leaf(line: Json) -> str:
    """A noTransaction message whose parents all appear elsewhere in the cone: without it the rest looks complete."""
    parents = {message_id: pair[0]["parents"] for message_id, pair in line["messages"].items()}
    for message_id in of_state(line, "noTransaction"):
        others = {parent for each, ids in parents.items() if each != message_id for parent in ids}
        if all(parent in others or parent not in parents for parent in parents[message_id]):
            return message_id
    raise LookupError("no such message")


def gzipped(data: bytes) -> bytes:
    """One gzip member."""
    return gzip.compress(data, mtime=0)


def zstd(data: bytes) -> bytes:
    """One zstd frame."""
    return zstandard.ZstdCompressor().compress(data)


def zstd_frames(data: bytes) -> bytes:
    """zstd frames of one kilobyte each, with a skippable frame between them."""
    parts = [zstd(data[at : at + 1000]) for at in range(0, len(data), 1000)]
    skippable = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"skip"
    return b"".join([parts[0], skippable, *parts[1:]])


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzipped,
    "two gzip members": lambda data: gzipped(data[: len(data) // 2]) + gzipped(data[len(data) // 2 :]),
    "zstd": zstd,
    "zstd frames": zstd_frames,
}


def write(path: Path, documents: Iterable[Any]) -> Path:
    """Writes a plain file with those lines; strings and bytes are written unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(each if isinstance(each, bytes) else dump(each) for each in documents))
    return path

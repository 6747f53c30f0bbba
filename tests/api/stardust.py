"""The expected core API v2 bodies, read from the input of the Stardust oracle ledger.

Expectations come from the input files, never from project code; only the version does. Bytes are hex without 0x. Lists
are in the order of the contract, newest first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from api.network import NetworkMount
from api.version import VERSION
from db.store import WritableStore
from ledger.base_token import BaseToken
from ledger.stardust.protocol_parameters import parse_parameters_json
from tests.api.oracle import Json
from tests.reference import read_json, read_lines
from tests.reference_stardust import ORACLE, payload_slice

TOKEN = BaseToken("Test", "TST", "TST", "glow", 6, use_metric_prefix=False)


@dataclass(frozen=True)
class StardustLedger:
    """The lines, and what is computed from them."""

    milestones: Sequence[Json]
    pending: Sequence[Json]
    expected: Json

    @classmethod
    def read(cls) -> "StardustLedger":
        milestones, pending = (read_lines(ORACLE / f"{name}.jsonl") for name in ("milestones", "pending"))
        return cls(milestones, pending, read_json(ORACLE / "expected.json"))

    @property
    def network(self) -> str:
        return str(self.expected["network"])

    def mount(self, store: WritableStore) -> NetworkMount:
        """The network as the API sees it, with its initial protocol parameters."""
        parameters = parse_parameters_json(self.expected["info"]["protocol"])
        hrp = self.expected["bech32Hrp"]
        return NetworkMount(store, self.network, hrp, parameters=parameters, base_token=TOKEN, is_of_one_era=True)

    @cached_property
    def entries(self) -> list[Json]:
        """Every block, pending ones too."""
        return [entry for line in self.milestones for entry in line["blocks"]] + list(self.pending)

    @cached_property
    def by_id(self) -> dict[str, Json]:
        """Block id → entry."""
        return {entry["id"]: entry for entry in self.entries}

    @cached_property
    def included(self) -> dict[str, Json]:
        """Transaction id → the entry with its included attachment."""
        return {key: self.by_id[block_id] for key, block_id in self.expected["transactions"].items()}

    @cached_property
    def outputs(self) -> dict[str, Json]:
        """Output id → whole response."""
        found: dict[str, Json] = self.expected["outputs"]
        return found

    @cached_property
    def milestone_entries(self) -> list[Json]:
        """The `milestone` object of each line."""
        return [line["milestone"] for line in self.milestones]

    def info(self) -> Json:
        """The fields that only a permanode has, and no rates, as it receives no traffic."""
        own = {"name": "Permanode", "version": VERSION}
        rates = dict.fromkeys(("blocksPerSecond", "referencedBlocksPerSecond", "referencedRate"), 0)
        return {**self.expected["info"], **own, "metrics": rates}

    def receipts(self, migrated_at: int | None = None) -> Json:
        found = self.expected["receipts"]
        return {"receipts": [each for each in found if migrated_at in (None, each["receipt"]["migratedAt"])]}

    @cached_property
    def migrated_at(self) -> list[int]:
        """The legacy milestones that contain migrated funds."""
        return sorted({each["receipt"]["migratedAt"] for each in self.expected["receipts"]})


def milestone_bytes(milestone: Json) -> str:
    """The payload of a milestone, as in its block."""
    return payload_slice(bytes.fromhex(milestone["bytes_hex"])).hex()

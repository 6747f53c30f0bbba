"""Generates a Stardust tangle with milestones, as node JSON lines in the form of the Stardust oracle ledger.

A line contains a milestone and its cone in white-flag order. The milestone's own block is the first of the next line's
cone. Timestamps never fall.
"""

from dataclasses import replace
from typing import Any, ClassVar

from bench.stardust_traffic import StardustSettings, StardustTraffic
from bench.tangle import ZERO_ID, Cone, Confirmed, Tangle
from bench.traffic import TREASURY
from ledger.crypto.merkle import merkle_root
from ledger.eras import STARDUST
from ledger.ids import network_id, output_id
from ledger.stardust.codec import PROTOCOL_VERSION, encode_block, milestone_id
from ledger.stardust.json import block_json, output_json, payload_json
from ledger.stardust.protocol_parameters import ProtocolParameters, parameters_json
from ledger.stardust.values import Block, Milestone, MilestoneSignature, TaggedData, Transaction

BECH32_HRP = "tst"


class StardustTangle(Tangle):
    """A ledger of protocol 2."""

    codec = STARDUST
    suffix = ".jsonl"
    confirms_itself = False
    kinds: ClassVar = {
        Transaction: "transaction",
        Milestone: "milestone",
        TaggedData: "indexation",
        type(None): "no payload",
    }
    lateness: ClassVar = {4: 10}

    def __init__(self, settings: StardustSettings) -> None:
        self.parameters = ProtocolParameters(
            PROTOCOL_VERSION, settings.network, BECH32_HRP, 0, 15, 100, 1, 10, StardustTraffic.supply
        )
        self._network_id = network_id(settings.network)
        self._stardust = settings
        self._previous = ZERO_ID
        super().__init__(settings)

    def _begin_traffic(self) -> StardustTraffic:
        return StardustTraffic(self._stardust, self._rng, self._network_id)

    def genesis(self) -> dict[str, Any]:
        """The state before the first milestone, with the first protocol parameters."""
        outputs = [
            {"outputId": _hex(output_id(each.transaction_id, each.index)), "output": output_json(output)}
            for each, output in self._traffic.genesis.items()
        ]
        return {
            "network": self.settings.network,
            "networkId": str(self._network_id),
            "bech32Hrp": BECH32_HRP,
            "protocol": parameters_json(self.parameters),
            "solidEntryPoints": [_hex(ZERO_ID)],
            "ledgerIndex": self.settings.first_milestone - 1,
            "treasury": {"milestoneId": _hex(ZERO_ID), "amount": str(TREASURY)},
            "coordinatorPublicKeys": [_hex(wallet.public_key) for wallet in self._coordinators],
            "outputs": outputs,
        }

    def _wrap(self, parents: tuple[bytes, ...], payload: Any) -> Block:
        nonce = 0 if isinstance(payload, Milestone) else self._rng.getrandbits(64)
        return Block(PROTOCOL_VERSION, parents, payload, nonce)

    def _sign(self, index: int, parents: tuple[bytes, ...], confirmed: Confirmed) -> Milestone:
        unsigned = Milestone(
            index=index,
            timestamp=self._timestamp(index),
            protocol_version=PROTOCOL_VERSION,
            previous_milestone_id=self._previous,
            parents=parents,
            inclusion_merkle_root=merkle_root(confirmed.order),
            applied_merkle_root=merkle_root(confirmed.included),
            metadata=b"",
            options=(),
            signatures=(),
        )
        self._previous = milestone_id(unsigned)
        signatures = [MilestoneSignature(each.public_key, each.sign(self._previous)) for each in self._coordinators]
        return replace(unsigned, signatures=tuple(signatures))

    def _line(self, cone: Cone) -> dict[str, Any]:
        milestone = cone.milestone
        return {
            "milestone": {
                "index": milestone.index,
                "timestamp": milestone.timestamp,
                "blockId": _hex(cone.own),
                "milestoneId": _hex(self._previous),
                "payload": payload_json(milestone),
                "bytes_hex": encode_block(cone.messages[cone.own]).hex(),
            },
            "blocks": [self._entry(cone, index, each) for index, each in enumerate(cone.order)],
        }

    def _entry(self, cone: Cone, index: int, block_id: bytes) -> dict[str, Any]:
        """A block of a line."""
        block, sent = cone.messages[block_id], cone.sent.get(block_id)
        form, reason = block_json(block), cone.reasons.get(block_id)
        metadata = {
            "blockId": _hex(block_id),
            "parents": form["parents"],
            "isSolid": True,
            "referencedByMilestoneIndex": cone.milestone.index,
        }
        if isinstance(block.payload, Milestone):
            metadata["milestoneIndex"] = block.payload.index
        metadata["ledgerInclusionState"] = (
            "noTransaction" if reason is None else "conflicting" if reason else "included"
        )
        if reason:
            metadata["conflictReason"] = int(reason)
        metadata["whiteFlagIndex"] = index
        entry = {"block": form, "id": _hex(block_id), "bytes_hex": cone.raw[block_id].hex(), "metadata": metadata}
        return entry if sent is None else entry | {"transactionId": _hex(sent.transaction_id)}

    def _tag(self, payload: Any) -> bytes | None:
        return payload.tag if isinstance(payload, TaggedData) else None


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"

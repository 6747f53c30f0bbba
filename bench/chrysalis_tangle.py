"""Generates a Chrysalis tangle with milestones, as lines of Chronicle's archive format A. The order of a line's
messages has no meaning.
"""

from typing import Any, ClassVar

from bench.chrysalis_form import message_form, metadata_form, milestone_form
from bench.chrysalis_traffic import ChrysalisTraffic
from bench.tangle import ZERO_ID, Cone, Confirmed, Tangle
from bench.traffic import TREASURY
from ledger.chrysalis.codec import Indexation, Message, Milestone, Transaction, encode_milestone_essence
from ledger.crypto.merkle import merkle_root
from ledger.eras import CHRYSALIS
from ledger.ids import network_id, output_id, signing_hash
from ledger.networks import find_network

_SOURCES = ("Incoming", "Expected", "Syncer")


class ChrysalisTangle(Tangle):
    """A ledger of protocol 1."""

    codec = CHRYSALIS
    suffix = ".log"
    confirms_itself = True
    kinds: ClassVar = {
        Transaction: "transaction",
        Milestone: "milestone",
        Indexation: "indexation",
        type(None): "no payload",
    }
    lateness: ClassVar = {4: 10, 7: 35}

    def _begin_traffic(self) -> ChrysalisTraffic:
        self._network_id = network_id(find_network(self.settings.network).id_name)
        return ChrysalisTraffic(self.settings, self.settings.seed, self._rng)

    def genesis(self) -> dict[str, Any]:
        """The state before the first milestone."""
        outputs = [
            {
                "outputId": output_id(each.transaction_id, each.index).hex(),
                "output": {
                    "type": output.KIND,
                    "address": {"type": output.address[0], "address": output.address[1:].hex()},
                    "amount": output.amount,
                },
            }
            for each, output in self._traffic.genesis.items()
        ]
        return {
            "network": self.settings.network,
            "networkId": str(self._network_id),
            "bech32HRP": find_network(self.settings.network).bech32_hrp,
            "solidEntryPoints": [ZERO_ID.hex()],
            "ledgerIndex": self.settings.first_milestone - 1,
            "treasury": {"milestoneId": ZERO_ID.hex(), "amount": TREASURY},
            "coordinatorPublicKeys": [wallet.public_key.hex() for wallet in self._coordinators],
            "outputs": outputs,
        }

    def _wrap(self, parents: tuple[bytes, ...], payload: Any) -> Message:
        return Message(self._network_id, parents, payload, self._rng.getrandbits(64))

    def _sign(self, index: int, parents: tuple[bytes, ...], confirmed: Confirmed) -> Milestone:
        keys = tuple(wallet.public_key for wallet in self._coordinators)
        root = merkle_root(confirmed.included)
        unsigned = Milestone(index, self._timestamp(index), parents, root, 0, 0, keys, None, ())
        digest = signing_hash(encode_milestone_essence(unsigned))
        signatures = tuple(wallet.sign(digest) for wallet in self._coordinators)
        return Milestone(index, unsigned.timestamp, parents, root, 0, 0, keys, None, signatures)

    def _line(self, cone: Cone) -> dict[str, Any]:
        states = {each: "conflicting" if reason else "included" for each, reason in cone.reasons.items()}
        shuffled = list(cone.messages)
        self._rng.shuffle(shuffled)
        pairs = {}
        for each in shuffled:
            form = message_form(cone.messages[each])
            state = states.get(each, "noTransaction")
            pairs[each.hex()] = (form, metadata_form(each.hex(), form["parents"], cone.milestone.index, state))
        return {
            "milestone_index": cone.milestone.index,
            "milestone": milestone_form(cone.milestone),
            "messages": pairs,
            "pending": {},
            "created_by": _SOURCES[self._rng.randrange(len(_SOURCES))],
        }

    def _tag(self, payload: Any) -> bytes | None:
        return payload.index if isinstance(payload, Indexation) else None

"""A few Stardust milestones after the Chrysalis oracle ledger; they spend its unspent outputs with its own wallets.

The output is node JSON of each era. Ids, bytes and JSON are made with the codecs of ledger/, which have tests of their
own. The expected ledger state comes from the plain replay.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger import ids
from ledger.chrysalis.values import ReferenceUnlock, SignatureUnlock, UtxoInput
from ledger.crypto.merkle import merkle_root
from ledger.stardust import codec as stardust
from ledger.stardust.json import block_json, milestone_json
from ledger.stardust.values import (
    AddressCondition,
    BasicOutput,
    Block,
    Essence,
    Expiration,
    Milestone,
    MilestoneSignature,
    NftOutput,
    TaggedData,
    Transaction,
    TransferOutput,
)
from tests.etl.archives import NETWORK, Json, oracle
from tests.etl.listings import whole_oracle

DAY_S = 86_400

FIRST = 51
"""Stardust's first milestone."""

COORDINATOR = Ed25519PrivateKey.from_private_bytes(b"coordinator of the second era...")
COORDINATOR_KEY = COORDINATOR.public_key().public_bytes_raw()
"""The keys that sign from there on. The keys named by genesis sign the milestones before."""


@dataclass(frozen=True)
class Wallet:
    """A wallet of the oracle. All wallets have the same mnemonic."""

    key: Ed25519PrivateKey
    public_key: bytes
    address: bytes


@cache
def wallets() -> dict[str, Wallet]:
    """By address in the oracle's spelling (BIP-39, SLIP-10, m/44'/4218'/0'/0'/INDEX')."""
    mnemonic: str = whole_oracle().expected["mnemonic"]
    seed = hashlib.pbkdf2_hmac("sha512", mnemonic.encode(), b"mnemonic", 2048)
    found = {}
    for stated in whole_oracle().expected["addresses"]:
        node = hmac.digest(b"ed25519 seed", seed, "sha512")
        for step in (44, 4218, 0, 0, stated["index"]):
            node = hmac.digest(node[32:], b"\0" + node[:32] + (0x80000000 + step).to_bytes(4, "big"), "sha512")
        key = Ed25519PrivateKey.from_private_bytes(node[:32])
        public_key = key.public_key().public_bytes_raw()
        address = ids.ed25519_address(public_key)
        assert address[1:].hex() == stated["address"]
        found[stated["address"]] = Wallet(key, public_key, address)
    return found


@dataclass(frozen=True)
class Coin:
    """An unspent output: its id, its Stardust form, and its owner."""

    output_id: bytes
    output: TransferOutput
    wallet: Wallet


def carried(count: int) -> list[Coin]:
    """Some unspent outputs of one address in the Chrysalis ledger, as the basic outputs that they become."""
    left = {key: each["output"] for key, each in whole_oracle().outputs.items() if not each["isSpent"]}
    address = min(each["address"]["address"] for each in left.values())
    chosen = sorted(key for key, each in left.items() if each["address"]["address"] == address)[:count]
    assert len(chosen) == count
    wallet = wallets()[address]
    return [Coin(bytes.fromhex(key), basic(wallet, left[key]["amount"]), wallet) for key in chosen]


def basic(wallet: Wallet, amount: int, *conditions: Expiration) -> BasicOutput:
    return BasicOutput(amount, (), (AddressCondition(wallet.address), *conditions), ())


def transaction(coins: Sequence[Coin], outputs: Sequence[TransferOutput], network: str = NETWORK) -> Transaction:
    """All inputs belong to one wallet, which signs."""
    inputs = tuple(UtxoInput(each.output_id[:32], int.from_bytes(each.output_id[32:], "little")) for each in coins)
    commitment = ids.inputs_commitment(stardust.encode_output(each.output) for each in coins)
    essence = Essence(ids.network_id(network), inputs, commitment, tuple(outputs), None)
    wallet = coins[0].wallet
    signature = wallet.key.sign(ids.signing_hash(stardust.encode_essence(essence)))
    unlocks = (SignatureUnlock(wallet.public_key, signature), *[ReferenceUnlock(0)] * (len(coins) - 1))
    return Transaction(essence, unlocks)


def coins_of(payload: Transaction, *owners: Wallet) -> list[Coin]:
    """The outputs that a transaction creates, each for the wallet that can spend it."""
    identity = ids.transaction_id(stardust.encode_payload(payload))
    outputs = enumerate(payload.essence.outputs)
    return [Coin(ids.output_id(identity, index), each, owners[index]) for index, each in outputs]


@cache
def stardust_lines() -> list[Json]:
    """Milestones 51 to 53. The first spends legacy outputs. The next spends one more beside a basic output, and fails
    to spend one again. The last, a day later, spends an output after its expiration.
    """
    one, two, three = list(wallets().values())[:3]
    began = oracle()[-1]["milestone"]["timestamp"]
    first, second, third = carried(3)
    total = first.output.amount + second.output.amount
    opening = transaction(
        [first, second],
        [
            basic(first.wallet, total - 3_000_000),
            basic(two, 2_000_000, Expiration(three.address, began + 30)),
            NftOutput(1_000_000, (), bytes(32), (AddressCondition(one.address),), (), ()),
        ],
    )
    change, expiring, _ = coins_of(opening, first.wallet, three, one)
    both = transaction([third, change], [basic(two, third.output.amount + change.output.amount)])
    again = transaction([first], [basic(one, first.output.amount)])
    returned = transaction([expiring], [basic(three, 2_000_000)])
    line = _Line(began, oracle()[-1]["milestone"], [])
    lines = [line.following([(opening, None), (TaggedData(b"both", b"eras"), None)])]
    lines.append(lines[-1].following([(both, None), (again, 1)]))
    lines.append(lines[-1].following([(returned, None)], DAY_S))
    return [each.json() for each in lines]


def line_behind(line: Json, payloads: "Sequence[tuple[Transaction | TaggedData, int | None]]") -> Json:
    """The milestone after a Stardust line, with those payloads. The coordinator of the second era signs it, whatever
    the reasons say.
    """
    milestone = line["milestone"]
    return _Line(milestone["timestamp"], milestone, line["blocks"]).following(payloads).json()


@dataclass(frozen=True)
class _Line:
    """A milestone and its cone, built from JSON of blocks."""

    timestamp: int
    milestone: Json
    blocks: list[Json]

    def following(
        self, payloads: "Sequence[tuple[Transaction | TaggedData, int | None]]", seconds: int = 10
    ) -> "_Line":
        """The milestone that many seconds after this one. Its cone contains this one's block and those payloads, with
        the conflict reason of each conflicting one.
        """
        index, parent = self.milestone["index"] + 1, bytes.fromhex(_own_id(self.milestone))
        blocks, leaves, applied = [], [], []
        if self.blocks:
            blocks.append(_block_json(bytes.fromhex(self.milestone["bytes_hex"]), index, 0, "noTransaction", None))
            leaves.append(parent)
        for payload, reason in payloads:
            data = stardust.encode_block(Block(2, (parent,), payload, 0))
            parent = ids.message_id(data)
            state = "noTransaction" if isinstance(payload, TaggedData) else "conflicting" if reason else "included"
            applied += [parent] if state == "included" else []
            blocks.append(_block_json(data, index, len(leaves), state, reason))
            leaves.append(parent)
        milestone = Milestone(
            index,
            self.timestamp + seconds,
            2,
            bytes.fromhex(self.milestone["milestoneId"].removeprefix("0x")),
            (parent,),
            merkle_root(leaves),
            merkle_root(applied),
            b"",
            (),
            (),
        )
        signature = COORDINATOR.sign(stardust.milestone_id(milestone))
        milestone = replace(milestone, signatures=(MilestoneSignature(COORDINATOR_KEY, signature),))
        data = stardust.encode_block(Block(2, (parent,), milestone, 0))
        stated = {
            "index": index,
            "timestamp": milestone.timestamp,
            "blockId": "0x" + ids.message_id(data).hex(),
            "milestoneId": "0x" + stardust.milestone_id(milestone).hex(),
            "payload": milestone_json(milestone),
            "bytes_hex": data.hex(),
        }
        return _Line(milestone.timestamp, stated, blocks)

    def json(self) -> Json:
        return {"milestone": self.milestone, "blocks": self.blocks}


def _own_id(milestone: Json) -> str:
    found: str = milestone["blockId"] if "blockId" in milestone else milestone["messageId"]
    return found.removeprefix("0x")


def _block_json(data: bytes, index: int, position: int, state: str, reason: int | None) -> Json:
    block, block_id = stardust.decode_block(data), "0x" + ids.message_id(data).hex()
    metadata = {
        "blockId": block_id,
        "parents": ["0x" + each.hex() for each in block.parents],
        "isSolid": True,
        "referencedByMilestoneIndex": index,
        "ledgerInclusionState": state,
        "whiteFlagIndex": position,
    }
    metadata |= {} if reason is None else {"conflictReason": reason}
    found = {"id": block_id, "block": block_json(block), "bytes_hex": data.hex(), "metadata": metadata}
    if isinstance(block.payload, Transaction):
        found["transactionId"] = "0x" + ids.transaction_id(stardust.payload_bytes(data)).hex()
    return found

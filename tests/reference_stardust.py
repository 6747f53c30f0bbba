"""The rows of every table, computed from the Stardust oracle ledger's lines with simple, slow code.

It reads node JSON and hex directly from the input and uses nothing of ledger/ or etl/. Hex has 0x in JSON but not in
rows. Lists and fields that a node omits are empty. Bytes of outputs and unlocks are built from their JSON and must
occur in their block's bytes.
"""

from collections.abc import Sequence
from typing import Any

from tests import reference_lookups
from tests.conftest import ROOT, SHARED
from tests.reference import STATES, ed25519_address, read_json
from tests.reference_facts import Genesis, Message, Milestone, Output, Receipt, Spend, Transaction
from tests.reference_reading import Reading
from tests.reference_rows import u16

ORACLE = next(
    folder for folder in (SHARED / "iota" / "ledger" / "stardust", ROOT / "sample" / "stardust") if folder.is_dir()
)
"""The Stardust oracle ledger: from the full data set if present, otherwise the shipped packed copy."""

NO_BLOCK = "00" * 32
"""The block id of outputs that no block created: those of genesis and of migrated funds."""

KINDS = {3: "basic", 4: "alias", 5: "foundry", 6: "nft"}

ROLES = {0: "address", 4: "state_controller", 5: "governor", 6: "address"}
"""Type of an unlock condition → the variant of outputs_by_address that contains its address."""

FURTHER_ROLES = ("sender", "issuer", "storage_deposit_return", "expiration_return")
"""Variants whose address is not an owner."""

ADDRESS_FIELDS = {0: "pubKeyHash", 8: "aliasId", 16: "nftId"}


def bare(value: str) -> str:
    """Hex without its 0x."""
    assert value.startswith("0x")
    return value[2:]


def raw(value: str) -> bytes:
    """The bytes of hex with 0x."""
    return bytes.fromhex(bare(value))


def little(value: int | str, size: int) -> bytes:
    """A number, decimal text, or hex with 0x (u256) as little-endian bytes of that length."""
    return (int(value, 0) if isinstance(value, str) else value).to_bytes(size, "little")


def counted(items: Sequence[bytes]) -> bytes:
    """Items preceded by their count (u8)."""
    return bytes([len(items)]) + b"".join(items)


def address(value: dict[str, Any]) -> str:
    """A serialized address in hex: type, then hash or id."""
    return f"{value['type']:02x}{bare(value[ADDRESS_FIELDS[value['type']]])}"


def condition_bytes(condition: dict[str, Any]) -> bytes:
    """An unlock condition (TIP-18)."""
    kind, data = condition["type"], b""
    if kind != 2:
        data = bytes.fromhex(address(condition["returnAddress" if kind in (1, 3) else "address"]))
    if kind == 1:
        data += little(condition["amount"], 8)
    if kind in (2, 3):
        data += little(condition["unixTime"], 4)
    return bytes([kind]) + data


def feature_bytes(feature: dict[str, Any]) -> bytes:
    """A feature (TIP-18)."""
    kind = feature["type"]
    if kind in (0, 1):
        return bytes([kind]) + bytes.fromhex(address(feature["address"]))
    data = raw(feature["data" if kind == 2 else "tag"])
    return bytes([kind]) + little(len(data), 2 if kind == 2 else 1) + data


def output_bytes(output: dict[str, Any]) -> bytes:
    """An output (TIP-18): common fields, fields of its kind, conditions, features, immutable features."""
    kind, own = output["type"], b""
    tokens = [raw(token["id"]) + little(token["amount"], 32) for token in output.get("nativeTokens", ())]
    if kind == 4:
        metadata = raw(output.get("stateMetadata", "0x"))
        own = raw(output["aliasId"]) + little(output["stateIndex"], 4) + u16(len(metadata)) + metadata
        own += little(output["foundryCounter"], 4)
    if kind == 5:
        scheme = output["tokenScheme"]
        own = little(output["serialNumber"], 4) + bytes([scheme["type"]])
        own += b"".join(little(scheme[name], 32) for name in ("mintedTokens", "meltedTokens", "maximumSupply"))
    if kind == 6:
        own = raw(output["nftId"])
    data = bytes([kind]) + little(output["amount"], 8) + counted(tokens) + own
    data += counted([condition_bytes(each) for each in output["unlockConditions"]])
    for name in ("features", "immutableFeatures") if kind != 3 else ("features",):
        data += counted([feature_bytes(each) for each in output.get(name, ())])
    return data


def output_fact(output: dict[str, Any]) -> Output:
    """An output of a transaction or of genesis; its owner is the address of its first role."""
    roles = {ROLES[each["type"]]: address(each["address"]) for each in output["unlockConditions"] if "address" in each}
    kind = output["type"]
    expiring = [each for each in output["unlockConditions"] if each["type"] == 3]
    expiration = (expiring[0]["unixTime"], address(expiring[0]["returnAddress"])) if expiring else None
    data, owner, filter_values = (
        output_bytes(output),
        next(iter(roles.values())),
        reference_lookups.filter_values(output, address),
    )
    roles |= {name: filter_values[name] for name in FURTHER_ROLES if name in filter_values}
    chain = reference_lookups.chain(output, owner)
    tokens = [(bare(each["id"]), little(each["amount"], 32)) for each in output.get("nativeTokens", ())]
    return Output(
        kind, KINDS[kind], owner, int(output["amount"]), data, roles, expiration, filter_values, chain, tokens
    )


def spend_fact(entry: dict[str, Any], unlock: dict[str, Any]) -> Spend:
    """An input and its unlock (TIP-20)."""
    spent = raw(entry["transactionId"]) + u16(entry["transactionOutputIndex"])
    data = bytes([entry["type"]]) + spent
    if unlock["type"] != 0:
        return Spend(data, spent.hex(), bytes([unlock["type"]]) + u16(unlock["reference"]), None)
    signature = unlock["signature"]
    key = raw(signature["publicKey"])
    signed = bytes([0, signature["type"]]) + key + raw(signature["signature"])
    return Spend(data, spent.hex(), signed, ed25519_address(key.hex()))


def tags_of(block: dict[str, Any]) -> list[str]:
    """The tag of tagged data, direct or inside a transaction; it may be empty."""
    payload = block.get("payload")
    if payload is not None and payload["type"] == 6:
        payload = payload["essence"].get("payload")
    return [bare(payload.get("tag", "0x"))] if payload is not None and payload["type"] == 5 else []


def message_fact(entry: dict[str, Any]) -> Message:
    """A block of a line, or a pending one."""
    block, metadata, data = entry["block"], entry["metadata"], bytes.fromhex(entry["bytes_hex"])
    payload, transaction = block.get("payload"), None
    if payload is not None and payload["type"] == 6:
        essence = payload["essence"]
        spends = [spend_fact(*each) for each in zip(essence["inputs"], payload["unlocks"], strict=True)]
        outputs = [output_fact(each) for each in essence["outputs"]]
        assert b"".join(each.data for each in outputs) in data
        assert b"".join(each.unlock for each in spends) in data
        transaction = Transaction(bare(entry["transactionId"]), spends, outputs)
    return Message(
        bare(entry["id"]),
        2,
        data,
        [bare(parent) for parent in block["parents"]],
        None if payload is None else payload["type"],
        tags_of(block),
        transaction,
        STATES.get(metadata.get("ledgerInclusionState")),
        metadata.get("conflictReason"),
    )


def payload_slice(block: bytes) -> bytes:
    """The payload of a block: after version, parents and its own length, before the nonce (TIP-24)."""
    return block[2 + 32 * block[1] + 4 : -8]


def milestone_fact(line: dict[str, Any]) -> Milestone:
    """A line: the milestone, whose own block is in a later cone, and its cone."""
    milestone, payload = line["milestone"], line["milestone"]["payload"]
    options = {option["type"]: option for option in payload.get("options", ())}
    parameters = [
        (option["targetMilestoneIndex"], option["protocolVersion"], raw(option["params"]))
        for kind, option in options.items()
        if kind == 1
    ]
    return Milestone(
        milestone["index"],
        milestone["timestamp"],
        bare(milestone["milestoneId"]),
        bare(milestone["blockId"]),
        payload_slice(bytes.fromhex(milestone["bytes_hex"])),
        [message_fact(entry) for entry in line["blocks"]],
        receipt_fact(options[0], len(line["blocks"])) if 0 in options else None,
        parameters,
    )


def receipt_fact(receipt: dict[str, Any], position: int) -> Receipt:
    """The receipt of a milestone with that many blocks in its cone."""
    treasury = receipt["transaction"]
    return Receipt(
        receipt["migratedAt"],
        receipt_bytes(receipt),
        bare(treasury["input"]["milestoneId"]),
        int(treasury["output"]["amount"]),
        [migrated(fund) for fund in receipt["funds"]],
        NO_BLOCK,
        position,
    )


def migrated(fund: dict[str, Any]) -> Output:
    """The output created from migrated funds: an amount for an address."""
    conditions = [{"type": 0, "address": fund["address"]}]
    return output_fact({"type": 3, "amount": fund["deposit"], "unlockConditions": conditions})


def receipt_bytes(receipt: dict[str, Any]) -> bytes:
    """A receipt option (TIP-34) with the treasury transaction after its length and type, as Hornet writes it."""
    funds = [
        raw(fund["tailTransactionHash"]) + bytes.fromhex(address(fund["address"])) + little(fund["deposit"], 8)
        for fund in receipt["funds"]
    ]
    before, after = receipt["transaction"]["input"], receipt["transaction"]["output"]
    treasury = little(4, 4) + bytes([before["type"]]) + raw(before["milestoneId"])
    treasury += bytes([after["type"]]) + little(after["amount"], 8)
    head = b"\x00" + little(receipt["migratedAt"], 4) + bytes([receipt["final"]]) + u16(len(funds))
    return head + b"".join(funds) + little(len(treasury), 4) + treasury


def genesis_fact(document: dict[str, Any]) -> Genesis:
    """A genesis.json."""
    treasury = document["treasury"]
    return Genesis(
        document["ledgerIndex"],
        {bare(each["outputId"]): output_fact(each["output"]) for each in document["outputs"]},
        (bare(treasury["milestoneId"]), int(treasury["amount"])),
    )


READING = Reading(milestone_fact, message_fact, lambda: genesis_fact(read_json(ORACLE / "genesis.json")))
reference_rows, whole_rows = READING.rows, READING.whole_rows

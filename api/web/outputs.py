"""Outputs of both eras as pages show them: who can unlock them and when, features, ids of chain objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.network import NetworkMount
from api.web import payloads
from api.web.formats import bech32
from ledger.ids import chain_id

ADDRESS, DEPOSIT_RETURN, TIMELOCK, EXPIRATION, STATE_CONTROLLER, GOVERNOR, IMMUTABLE_ALIAS = range(7)
"""Types of unlock conditions."""

SENDER, ISSUER, METADATA, TAG = range(4)
"""Types of features."""

ALIAS, FOUNDRY, NFT = 4, 5, 6
"""Types of outputs with a chain id."""

ALIAS_ADDRESS = 8

OUTPUT_ID_DIGITS, TRANSACTION_ID_DIGITS = 68, 64


@dataclass(frozen=True, slots=True)
class Unlocking:
    """Who can unlock an output and when. Addresses are Bech32, times are seconds since 1970.

    Attributes:
        owner: who can unlock it. For an alias this is the state controller; for a foundry its alias.
        governor: who can change the state controller of an alias. None for other outputs.
        locked_until: nobody can unlock it before. None without a timelock.
        expires: from then on only `returns_to` can unlock it. None without an expiration.
        deposit: the amount that the owner must return to `deposit_to` when it unlocks the output, or None.
    """

    owner: str
    governor: str | None = None
    locked_until: int | None = None
    expires: int | None = None
    returns_to: str | None = None
    deposit: str | None = None
    deposit_to: str | None = None


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of an output: an address, or data."""

    name: str
    address: str | None
    data: payloads.Data | None
    is_tag: bool


def output_id(transaction_id: str, index: int) -> str:
    """Returns the id of an output of a transaction."""
    return transaction_id + index.to_bytes(2, "little").hex()


def position_of(id_: str) -> tuple[str, int]:
    """Returns transaction id and index of an output id."""
    prefix = "0x" if id_.startswith("0x") else ""
    digits = id_.removeprefix("0x")
    index = int.from_bytes(bytes.fromhex(digits[TRANSACTION_ID_DIGITS:]), "little")
    return prefix + digits[:TRANSACTION_ID_DIGITS], index


def unlocking_of(output: Mapping[str, Any], network: NetworkMount) -> Unlocking | None:
    """Returns who can unlock an output in the JSON of its era; None for the treasury."""
    if "unlockConditions" not in output:
        return Unlocking(bech32(output["address"], network)) if "address" in output else None
    by_type = {each["type"]: each for each in output["unlockConditions"]}
    owner = next(by_type[kind] for kind in (ADDRESS, STATE_CONTROLLER, IMMUTABLE_ALIAS) if kind in by_type)
    governor, timelock, expiration, deposit = (
        by_type.get(kind, {}) for kind in (GOVERNOR, TIMELOCK, EXPIRATION, DEPOSIT_RETURN)
    )
    return Unlocking(
        bech32(owner["address"], network),
        bech32(governor["address"], network) if governor else None,
        timelock.get("unixTime"),
        expiration.get("unixTime"),
        bech32(expiration["returnAddress"], network) if expiration else None,
        deposit.get("amount"),
        bech32(deposit["returnAddress"], network) if deposit else None,
    )


def features_of(output: Mapping[str, Any], network: NetworkMount) -> list[Feature]:
    """Returns the features of an output, those that never change last."""
    named = {SENDER: "sender", ISSUER: "issuer", METADATA: "metadata", TAG: "tag"}
    found = []
    for group, prefix in (("features", ""), ("immutableFeatures", "immutable ")):
        for each in output.get(group, ()):
            kind = each["type"]
            address = bech32(each["address"], network) if "address" in each else None
            text = each.get("tag" if kind == TAG else "data")
            data = payloads.data_of(text) if text is not None else None
            found.append(Feature(f"{prefix}{named.get(kind, f'feature {kind}')}", address, data, kind == TAG))
    return found


def chain_of(output: Mapping[str, Any], id_: str) -> tuple[str, str] | None:
    """Returns page and id of the alias, NFT or foundry whose state an output is; None for other outputs.

    Args:
        output: its JSON.
        id_: its id. In the output that creates an alias or NFT, the object's own id is zero and follows from this.
    """
    kind = output["type"]
    if kind == FOUNDRY:
        owner = next(each["address"] for each in output["unlockConditions"] if each["type"] == IMMUTABLE_ALIAS)
        serial = int(output["serialNumber"]).to_bytes(4, "little").hex()
        scheme = f"{output['tokenScheme']['type']:02x}"
        return "foundry", f"0x{ALIAS_ADDRESS:02x}{owner['aliasId'].removeprefix('0x')}{serial}{scheme}"
    if kind not in {ALIAS, NFT}:
        return None
    name = "alias" if kind == ALIAS else "nft"
    stated = str(output[f"{name}Id"])
    if stated.strip("0x"):
        return name, stated
    return name, f"0x{chain_id(bytes.fromhex(id_.removeprefix('0x'))).hex()}"


def unlock_texts(transaction: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns how each input of a transaction is unlocked: `key` (public key) or `reference` (another input)."""
    found: list[Mapping[str, Any]] = []
    unlocks: Sequence[Mapping[str, Any]] = transaction.get("unlockBlocks") or transaction.get("unlocks") or ()
    for each in unlocks:
        if "signature" in each:
            found.append({"key": each["signature"]["publicKey"].removeprefix("0x"), "reference": None})
        else:
            found.append({"key": None, "reference": each["reference"]})
    return found

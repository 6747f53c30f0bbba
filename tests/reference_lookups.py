"""The lookups of Stardust outputs, read from node JSON with simple, slow code.

The lookups of each kind are those of the Stardust schema plan, plus the ones that the plan is missing. It uses nothing
of db/roles.py, ledger/ or etl/.
"""

import hashlib
from collections.abc import Callable
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

ROLE_KEYS = {
    "legacy": ("address",),
    "basic": ("address", "sender", "storage_deposit_return", "expiration_return", "tag"),
    "alias": ("sender", "issuer", "state_controller", "governor", "chain"),
    "foundry": ("address", "chain"),
    "nft": ("address", "storage_deposit_return", "sender", "issuer", "expiration_return", "tag", "chain"),
}
"""output_kind → variants of outputs_by_address, `tag` and `chain`."""

STATES = {"alias": "alias_outputs", "foundry": "foundry_outputs", "nft": "nft_outputs"}
"""output_kind → table of its chain objects' states."""

NEW = "00" * 32
"""The id of an alias or NFT in the output that creates it: zeros."""


def filter_values(output: Json, address: Callable[[Json], str]) -> dict[str, Any]:
    """The filter columns that an output has; `address` serializes one address."""
    conditions = {each["type"]: each for each in output["unlockConditions"]}
    features = {each["type"]: each for each in output.get("features", ())}
    immutable = {each["type"]: each for each in output.get("immutableFeatures", ())}
    found: dict[str, Any] = {"native_tokens": len(output.get("nativeTokens", ()))}
    if 1 in conditions:
        found["storage_deposit_return"] = address(conditions[1]["returnAddress"])
        found["storage_deposit_return_amount"] = int(conditions[1]["amount"])
    if 2 in conditions:
        found["timelock"] = conditions[2]["unixTime"]
    if 3 in conditions:
        found["expiration"] = conditions[3]["unixTime"]
        found["expiration_return"] = address(conditions[3]["returnAddress"])
    if 4 in conditions:
        found["state_controller"] = address(conditions[4]["address"])
        found["governor"] = address(conditions[5]["address"])
    if 0 in features:
        found["sender"] = address(features[0]["address"])
    if 1 in immutable:
        found["issuer"] = address(immutable[1]["address"])
    if 3 in features:
        found["tag"] = features[3]["tag"][2:]
    return found


def chain(output: Json, owner: str) -> str | None:
    """The id of a chain object as in its output; NEW where the output creates it."""
    if output["type"] == 5:
        serial: int = output["serialNumber"]
        return owner + serial.to_bytes(4, "little").hex() + f"{output['tokenScheme']['type']:02x}"
    carried: str | None = output.get("aliasId", output.get("nftId"))
    return None if carried is None else carried[2:]


def chain_id(carried: str | None, output_id: str) -> str | None:
    """The permanent id of the object, derived from the output that creates it (TIP-18)."""
    if carried != NEW:
        return carried
    return hashlib.blake2b(bytes.fromhex(output_id), digest_size=32).hexdigest()

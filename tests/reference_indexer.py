"""The expected results of the indexer: a scan of every output of the Stardust oracle ledger with simple, slow code.

The filters follow TIP-26 and inx-indexer, over node JSON of the input files. Addresses are compared as bech32; the
files contain them serialized, so each is encoded once. It uses nothing of db/ or api/.
"""

from collections.abc import Callable, Iterable
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any, TypeAlias

from ledger.crypto.bech32 import format_address
from tests.reference_stardust import address

Json: TypeAlias = dict[str, Any]

KINDS = {"basic": {3}, "alias": {4}, "foundry": {5}, "nft": {6}, "all": {3, 4, 5, 6}}
"""Route → output types."""

ADDRESS_UNLOCK, STORAGE_RETURN, TIMELOCK, EXPIRATION, STATE_CONTROLLER, GOVERNOR, IMMUTABLE_ALIAS = range(7)
SENDER, ISSUER, METADATA, TAG = range(4)

TOKENS = ("hasNativeTokens", "minNativeTokenCount", "maxNativeTokenCount")
CREATED = ("createdBefore", "createdAfter")
OWNED = (
    "address", "hasStorageDepositReturn", "storageDepositReturnAddress", "hasExpiration", "expiresBefore",
    "expiresAfter", "expirationReturnAddress", "hasTimelock", "timelockedBefore", "timelockedAfter", "sender", "tag",
)  # fmt: skip
TAKES: dict[str, tuple[str, ...]] = {
    "all": ("unlockableByAddress", *TOKENS, *CREATED),
    "basic": ("unlockableByAddress", *OWNED, *TOKENS, *CREATED),
    "alias": ("unlockableByAddress", "stateController", "governor", "issuer", "sender", *TOKENS, *CREATED),
    "foundry": ("aliasAddress", *TOKENS, *CREATED),
    "nft": ("unlockableByAddress", *OWNED, "issuer", *TOKENS, *CREATED),
}
"""Route → its filters."""

NAMES_KEY = frozenset(
    {
        "address", "aliasAddress", "unlockableByAddress", "storageDepositReturnAddress", "expirationReturnAddress",
        "stateController", "governor", "issuer", "sender", "tag",
    }
)  # fmt: skip
"""Filters that take an address or a tag."""


class Indexed:
    """One output of the ledger: its id, its JSON, and the node's metadata; everything that a filter may use."""

    def __init__(self, output_id: str, entry: Json, hrp: str) -> None:
        self.output_id, self.output, self.metadata, self._hrp = output_id, entry["output"], entry["metadata"], hrp

    @property
    def order(self) -> tuple[int, str]:
        """Its sort key in lists."""
        return self.metadata["milestoneIndexBooked"], self.output_id

    @cached_property
    def conditions(self) -> dict[int, Json]:
        """Unlock conditions by type."""
        return {each["type"]: each for each in self.output["unlockConditions"]}

    def condition_address(self, kind: int, name: str = "address") -> str | None:
        return self._bech32(self.conditions[kind][name]) if kind in self.conditions else None

    def feature(self, kind: int, features: str = "features") -> Json | None:
        return next((each for each in self.output.get(features, ()) if each["type"] == kind), None)

    def feature_address(self, kind: int, features: str = "features") -> str | None:
        found = self.feature(kind, features)
        return None if found is None else self._bech32(found["address"])

    @property
    def tag(self) -> str | None:
        found = self.feature(TAG)
        tag: str | None = None if found is None else found["tag"]
        return tag

    def time(self, kind: int) -> int | None:
        """The time in a timelock or an expiration."""
        found: int | None = self.conditions[kind]["unixTime"] if kind in self.conditions else None
        return found

    @property
    def token_count(self) -> int:
        return len({token["id"] for token in self.output.get("nativeTokens", ())})

    @property
    def created_at(self) -> int:
        created: int = self.metadata["milestoneTimestampBooked"]
        return created

    @property
    def unlocking(self) -> set[str | None]:
        """All addresses in unlock conditions, except a foundry's alias, which is not a filter of foundries."""
        return {
            self.condition_address(ADDRESS_UNLOCK),
            self.condition_address(EXPIRATION, "returnAddress"),
            self.condition_address(STORAGE_RETURN, "returnAddress"),
            self.condition_address(STATE_CONTROLLER),
            self.condition_address(GOVERNOR),
            self.condition_address(IMMUTABLE_ALIAS),
        } - {None}

    def _bech32(self, value: Json) -> str:
        return spelled(self._hrp, address(value))


@cache
def spelled(hrp: str, serialized: str) -> str:
    """An address as bech32. The few addresses of the ledger are compared many thousand times."""
    return format_address(hrp, bytes.fromhex(serialized))


def earlier(time: int | None, given: int) -> bool:
    return time is not None and time < given


def later(time: int | None, given: int) -> bool:
    return time is not None and time > given


MEETS: dict[str, Callable[[Indexed, Any], bool]] = {
    "address": lambda each, given: each.condition_address(ADDRESS_UNLOCK) == given,
    "aliasAddress": lambda each, given: each.condition_address(IMMUTABLE_ALIAS) == given,
    "unlockableByAddress": lambda each, given: given in each.unlocking,
    "hasStorageDepositReturn": lambda each, given: (STORAGE_RETURN in each.conditions) == given,
    "storageDepositReturnAddress": lambda each, given: each.condition_address(STORAGE_RETURN, "returnAddress") == given,
    "hasExpiration": lambda each, given: (EXPIRATION in each.conditions) == given,
    "expirationReturnAddress": lambda each, given: each.condition_address(EXPIRATION, "returnAddress") == given,
    "expiresBefore": lambda each, given: earlier(each.time(EXPIRATION), given),
    "expiresAfter": lambda each, given: later(each.time(EXPIRATION), given),
    "hasTimelock": lambda each, given: (TIMELOCK in each.conditions) == given,
    "timelockedBefore": lambda each, given: earlier(each.time(TIMELOCK), given),
    "timelockedAfter": lambda each, given: later(each.time(TIMELOCK), given),
    "stateController": lambda each, given: each.condition_address(STATE_CONTROLLER) == given,
    "governor": lambda each, given: each.condition_address(GOVERNOR) == given,
    "issuer": lambda each, given: each.feature_address(ISSUER, "immutableFeatures") == given,
    "sender": lambda each, given: each.feature_address(SENDER) == given,
    "tag": lambda each, given: each.tag == given,
    "hasNativeTokens": lambda each, given: (each.token_count > 0) == given,
    "minNativeTokenCount": lambda each, given: each.token_count >= given,
    "maxNativeTokenCount": lambda each, given: each.token_count <= given,
    "createdBefore": lambda each, given: each.created_at < given,
    "createdAfter": lambda each, given: each.created_at > given,
}
"""Filter → whether an output matches the given value."""


def hits(each: Indexed, name: str) -> list[Any]:
    """Values of a filter that the output matches."""
    exact: dict[str, Any] = {
        "address": each.condition_address(ADDRESS_UNLOCK),
        "aliasAddress": each.condition_address(IMMUTABLE_ALIAS),
        "storageDepositReturnAddress": each.condition_address(STORAGE_RETURN, "returnAddress"),
        "expirationReturnAddress": each.condition_address(EXPIRATION, "returnAddress"),
        "stateController": each.condition_address(STATE_CONTROLLER),
        "governor": each.condition_address(GOVERNOR),
        "issuer": each.feature_address(ISSUER, "immutableFeatures"),
        "sender": each.feature_address(SENDER),
        "tag": each.tag,
        "hasStorageDepositReturn": STORAGE_RETURN in each.conditions,
        "hasExpiration": EXPIRATION in each.conditions,
        "hasTimelock": TIMELOCK in each.conditions,
        "hasNativeTokens": each.token_count > 0,
        "minNativeTokenCount": each.token_count,
        "maxNativeTokenCount": each.token_count,
    }
    if name == "unlockableByAddress":
        return sorted(filter(None, each.unlocking))
    times = {"expires": each.time(EXPIRATION), "timelocked": each.time(TIMELOCK), "created": each.created_at}
    for beginning, time in times.items():
        if name.startswith(beginning):
            later_by = 1 if name.endswith("Before") else -1
            return [] if time is None or time + later_by < 0 else [time + later_by]
    return [] if exact[name] is None else [exact[name]]


def found(outputs: Iterable[Indexed], route: str, filters: Json, spent: str = "unspent") -> list[str]:
    """Ids of the outputs that such a request returns, oldest first."""
    wanted = [
        each
        for each in outputs
        if each.output["type"] in KINDS[route]
        and (spent == "any" or each.metadata["isSpent"] == (spent == "only"))
        and all(MEETS[name](each, given) for name, given in filters.items())
    ]
    return [each.output_id for each in sorted(wanted, key=lambda each: each.order)]


NEW = "0x" + "00" * 32


def chain_of(each: Indexed) -> list[tuple[str, str]]:
    """Kind and id of the chain object whose state the output is; None for a basic output."""
    output = each.output
    if output["type"] == 5:
        serial: int = output["serialNumber"]
        owner = address(each.conditions[IMMUTABLE_ALIAS]["address"])
        return [("foundry", f"0x{owner}{serial.to_bytes(4, 'little').hex()}{output['tokenScheme']['type']:02x}")]
    for kind, name in (("alias", "aliasId"), ("nft", "nftId")):
        if name in output:
            new = blake2b(bytes.fromhex(each.output_id[2:]), digest_size=32).hexdigest()
            return [(kind, f"0x{new}" if output[name] == NEW else output[name])]
    return []


def in_ledger_order(states: Iterable[Indexed]) -> list[Indexed]:
    """States of one object, each following from the one before: by milestone, within one milestone by spending."""
    left = sorted(states, key=lambda each: each.order)
    made_by = {each.metadata["transactionId"]: each for each in left}
    spent_by = {each.metadata.get("transactionIdSpent") for each in left}
    (first,) = (each for each in left if each.metadata["transactionId"] not in spent_by)
    found = [first]
    while (following := made_by.get(found[-1].metadata.get("transactionIdSpent", ""))) is not None:
        found.append(following)
    assert len(found) == len(left)
    return found


def chains(outputs: Iterable[Indexed], kind: str) -> dict[str, list[Indexed]]:
    """Id of each chain object of a kind → its states in ledger order."""
    found: dict[str, list[Indexed]] = {}
    for each in outputs:
        for of_kind, chain_id in chain_of(each):
            if of_kind == kind:
                found.setdefault(chain_id, []).append(each)
    return {chain_id: in_ledger_order(states) for chain_id, states in found.items()}

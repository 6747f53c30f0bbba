"""The expected analytics v2 bodies, computed from the facts of an oracle ledger in plain Python.

Expectations come from the facts, never from project code. reference_analytics.py computes the figures of milestones and
days. This module sums hours and spans, one milestone at a time.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from ledger.crypto.bech32 import format_address
from tests import reference, reference_stardust
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.etl.two_eras import FIRST, stardust_lines
from tests.reference_analytics import CALENDAR, analytics_rows, state_of
from tests.reference_facts import Genesis, Milestone
from tests.reference_ledger import Replay, changes
from tests.reference_rows import Rows

Json = dict[str, Any]

SUMS = ("count", "amount")

SPREAD_FROM_S = int(datetime(2021, 12, 31, 14, tzinfo=UTC).timestamp())
FALLING = 24
"""This milestone's time is later than the next one's: it falls in the next year, the next milestone does not."""


def in_two_years(milestones: Sequence[Milestone]) -> list[Milestone]:
    """Chrysalis milestones over some hours of one year and three days of the next, with times that fall once."""
    times = [SPREAD_FROM_S + 1500 * min(at, 25) + 9000 * max(at - 25, 0) for at in range(len(milestones))]
    times[FALLING - 1], times[FALLING] = times[FALLING], times[FALLING - 1]
    return [replace(each, timestamp=time) for each, time in zip(milestones, times, strict=True)]


BOOKED = tuple(f"{kind}_created_amount" for kind in ("legacy", "basic", "alias", "foundry", "nft"))


def byte_cost(row: Mapping[str, Any], rent: Mapping[str, int]) -> int:
    """The byte cost of all unspent outputs."""
    virtual: int = row["key_bytes"] * rent["vByteFactorKey"] + row["data_bytes"] * rent["vByteFactorData"]
    return rent["vByteCost"] * virtual


OF_PROTOCOL: Mapping[str, Callable[[Json], Any]] = {
    "protocolVersion": lambda protocol: protocol["version"],
    "minPowScore": lambda protocol: protocol["minPowScore"],
    "belowMaxDepth": lambda protocol: protocol["belowMaxDepth"],
    "vByteCost": lambda protocol: protocol["rentStructure"]["vByteCost"],
    "vByteFactorKey": lambda protocol: protocol["rentStructure"]["vByteFactorKey"],
    "vByteFactorData": lambda protocol: protocol["rentStructure"]["vByteFactorData"],
    "tokenSupply": lambda protocol: protocol["tokenSupply"],
}
"""Measure → the field below `protocol` in a node's info."""


def of_stardust(ledger: StardustLedger) -> "Figures":
    """The facts of the Stardust oracle ledger."""
    milestones = [reference_stardust.milestone_fact(line) for line in ledger.milestones]
    genesis = reference_stardust.genesis_fact(reference.read_json(reference_stardust.ORACLE / "genesis.json"))
    hrp = ledger.expected["bech32Hrp"]
    return Figures(
        milestones,
        genesis,
        ledger.network,
        lambda each: format_address(hrp, bytes.fromhex(each)),
        {0: ledger.expected["info"]["protocol"]},
    )


def of_chrysalis(oracle: Oracle) -> "Figures":
    """The facts of the Chrysalis oracle ledger."""
    milestones = [reference.milestone_fact(line) for line in oracle.milestones]
    genesis = reference.genesis_fact(reference.read_json(reference.ORACLE / "genesis.json"))
    hrp, network = oracle.expected["bech32Hrp"], oracle.expected["network"]
    return Figures(milestones, genesis, network, lambda each: format_address(hrp, bytes.fromhex(each)))


def of_both_eras(oracle: Oracle, protocol: Json) -> "Figures":
    """The Chrysalis oracle ledger followed by Stardust, which starts with those parameters."""
    chrysalis = of_chrysalis(oracle)
    later = [reference_stardust.milestone_fact(line) for line in stardust_lines()]
    return replace(chrysalis, milestones=[*chrysalis.milestones, *later], protocol={FIRST: protocol})


def column_of(name: str) -> str:
    """The column of a measure."""
    return re.sub(r"([A-Z]|[0-9]$)", r"_\1", name).lower()


def date_of(unix_s: int) -> str:
    return str(datetime.fromtimestamp(unix_s, UTC).date())


@dataclass(frozen=True)
class Figures:
    """An oracle ledger; `bech32` encodes an address. Everything from genesis to the last milestone is known."""

    milestones: Sequence[Milestone]
    genesis: Genesis
    network: str
    bech32: Callable[[str], str]
    protocol: Mapping[int, Json] = field(default_factory=dict)
    """Milestone → value of `protocol` in info from that milestone on, ascending; before the first one it is unknown."""

    @property
    def last(self) -> int:
        """The newest milestone, and the ledger index."""
        return self.milestones[-1].index

    def protocol_at(self, index: int) -> Json | None:
        """The value of `protocol` in info at a milestone; None if it is unknown."""
        return next((as_item for first, as_item in reversed(self.protocol.items()) if first <= index), None)

    def treasury_at(self, index: int) -> int:
        """Base tokens in the treasury after a milestone: the amount in the last receipt up to it."""
        receipts = [each.receipt for each in self.milestones if each.receipt is not None and each.index <= index]
        return receipts[-1].treasury_amount if receipts else self.genesis.treasury[1]

    @cached_property
    def rows(self) -> Rows:
        """The analytics tables."""
        return analytics_rows(self.milestones, self.genesis, self.network, 100_000)

    @cached_property
    def by_index(self) -> dict[int, Json]:
        """Milestone → its figures; genesis has only the state."""
        return {row["milestone_index"]: row for row in self.rows["ms_analytics"]}

    @cached_property
    def totals(self) -> set[str]:
        """Measures of the state after a milestone; they are not counts of the milestone."""
        return {*state_of(Replay(), self.genesis), *CALENDAR}

    def names(self, figures: Iterable[str]) -> list[str]:
        """Measures as JSON values of the API."""
        words = [each.split("_") for each in figures]
        return [head + "".join(word.capitalize() for word in rest) for head, *rest in words]

    @cached_property
    def milestone_measures(self) -> list[str]:
        keys = {"ms_range_id", "milestone_index", "ms_timestamp"}
        columns = self.names(each for each in self.by_index[1] if each not in keys)
        return [*columns, "bookedAmount", "byteCost", "treasuryCount", "treasuryAmount", *OF_PROTOCOL]

    @cached_property
    def hour_measures(self) -> list[str]:
        return ["milestoneCount", *(each for each in self.milestone_measures if each != "activeAddresses")]

    @cached_property
    def day_measures(self) -> list[str]:
        of_days = self.names(each for each in self.rows["daily_analytics"][0] if each not in {"year", "date"})
        return list(dict.fromkeys((*of_days, *self.hour_measures)))

    def as_item(self, row: Mapping[str, Any], measures: Sequence[str]) -> Json:
        """Those figures as in an item of a series."""
        derived = self.derived(row)
        found = {name: derived[name] if name in derived else row[column_of(name)] for name in measures}
        amounts = ("Tokens", "Amount", "Owed")
        return {name: str(value) if name.endswith(amounts) else value for name, value in found.items()}

    def derived(self, row: Mapping[str, Any]) -> Json:
        """Figures derived from the columns up to that row's milestone, and from its protocol parameters."""
        protocol = self.protocol_at(row["milestone_index"])
        found: Json = {"bookedAmount": sum(row[name] for name in BOOKED), "byteCost": None}
        found |= {"treasuryCount": 1, "treasuryAmount": self.treasury_at(row["milestone_index"])}
        if protocol is None:
            return found | dict.fromkeys(OF_PROTOCOL)
        found["byteCost"] = str(byte_cost(row, protocol["rentStructure"]))
        return found | {name: as_item(protocol) for name, as_item in OF_PROTOCOL.items()}

    def by_milestone(self, measures: Sequence[str]) -> list[Json]:
        return [
            {"milestoneIndex": each.index, "timestamp": each.timestamp}
            | self.as_item(self.by_index[each.index], measures)
            for each in self.milestones
        ]

    def together(self, milestones: Sequence[Milestone]) -> Json:
        """The figures of several milestones combined."""
        rows = [self.by_index[each.index] for each in sorted(milestones, key=lambda each: each.index)]
        summed = {name: sum(row[name] for row in rows) for name in rows[0] if name not in self.totals}
        totals = {name: rows[-1][name] for name in ("milestone_index", *self.totals)}
        return summed | totals | {"milestone_count": len(rows)}

    def by_hour(self, measures: Sequence[str]) -> list[Json]:
        hours: dict[int, list[Milestone]] = {}
        for each in self.milestones:
            hours.setdefault(each.timestamp - each.timestamp % 3600, []).append(each)
        return [{"timestamp": hour} | self.as_item(self.together(hours[hour]), measures) for hour in sorted(hours)]

    def by_day(self, measures: Sequence[str]) -> list[Json]:
        found = []
        for day in sorted(self.rows["daily_analytics"], key=lambda row: row["date"]):
            of_day = [each for each in self.milestones if date_of(each.timestamp) == day["date"]]
            midnight = min(each.timestamp for each in of_day) // 86400 * 86400
            figures = self.together(of_day) | day
            found.append({"date": day["date"], "timestamp": midnight} | self.as_item(figures, measures))
        return found

    def genesis_replay(self) -> Replay:
        """The ledger state before the first milestone."""
        replay = Replay()
        for output_id, output in self.genesis.outputs.items():
            replay.create(output_id, output)
        return replay

    @cached_property
    def changes(self) -> dict[int, list[Json]]:
        """Milestone → the outputs that it created and spent, with their owners."""
        replay = self.genesis_replay()
        return {each.index: changes(replay, each) for each in self.milestones}

    @cached_property
    def owners(self) -> dict[str, str]:
        """Address in API form → its final balance, if it has one."""
        replay, owned = self.genesis_replay(), Counter[str]()
        for each in self.milestones:
            changes(replay, each)
        for output in replay.unspent.values():
            owned[self.bech32(output.owner)] += output.amount
        return {address: str(amount) for address, amount in owned.items()}

    @cached_property
    def histories(self) -> dict[str, list[Json]]:
        """Address in API form → items, oldest first."""
        replay, found = self.genesis_replay(), dict[str, list[Json]]()
        for milestone in self.milestones:
            news = changes(replay, milestone)
            owned = Counter[str]()
            for output in replay.unspent.values():
                owned[output.owner] += output.amount
            for address in sorted({each["address"] for each in news}):
                moved = Counter[bool]()
                for each in news:
                    if each["address"] == address:
                        moved[each["is_spent"]] += each["amount"]
                item = {
                    "milestoneIndex": milestone.index,
                    "timestamp": milestone.timestamp,
                    "sent": str(moved[True]),
                    "received": str(moved[False]),
                    "balance": str(owned[address]),
                }
                found.setdefault(self.bech32(address), []).append(item)
        return found

    def sums(self, start: int, end: int, *columns: str) -> int:
        """Figures of the milestones from `start` (included) to `end` (excluded)."""
        return sum(self.by_index[each.index][name] for each in self.inside(start, end) for name in columns)

    def inside(self, start: int, end: int) -> list[Milestone]:
        """The milestones from `start` (included) to `end` (excluded)."""
        return [each for each in self.milestones if start <= each.index < end]

    def unspent(self, index: int, kind: str) -> Json:
        """The response about unspent outputs of a kind."""
        row = self.by_index[index]
        return {"count": str(row[f"{kind}_count"]), "totalValue": str(row[f"{kind}_amount"])}

    def claimed(self, index: int | None) -> Json:
        """The response about genesis outputs spent in a milestone, or ever."""
        first, last = (0, max(self.by_index)) if index is None else (max(index - 1, 0), index)
        return {"count": str(self.by_index[first]["unclaimed_amount"] - self.by_index[last]["unclaimed_amount"])}

    def deposits(self, index: int, rent: Mapping[str, int]) -> Json:
        """The response about storage deposits at that byte cost."""
        row = self.by_index[index]
        return {
            "outputCount": str(row["key_bytes"] // 34),
            "storageDepositReturnCount": str(row["storage_deposit_return_count"]),
            "storageDepositReturnTotalValue": str(row["storage_deposit_owed"]),
            "totalKeyBytes": str(row["key_bytes"]),
            "totalDataBytes": str(row["data_bytes"]),
            "totalByteCost": str(byte_cost(row, rent)),
            "ledgerIndex": index,
            "rentStructure": dict(rent),
        }

    def created(self, start: int, end: int, *kinds: str) -> Json:
        """The response about created outputs of those kinds."""
        count, value = (self.sums(start, end, *(f"{kind}_created_{what}" for kind in kinds)) for what in SUMS)
        return {"count": str(count), "totalValue": str(value)}

    def became_of(self, start: int, end: int, kind: str) -> Json:
        """The response about chain objects of a kind."""
        return {
            "createdCount": str(self.sums(start, end, f"{kind}_new_count")),
            "transferredCount": str(self.sums(start, end, f"{kind}_transferred_count")),
            "burnedCount": str(self.sums(start, end, f"{kind}_destroyed_count")),
        }

    def addresses(self, start: int, end: int) -> Json:
        """The response about the addresses of those milestones."""
        news = [change for each in self.inside(start, end) for change in self.changes[each.index]]
        received = {each["address"] for each in news if not each["is_spent"]}
        sent = {each["address"] for each in news if each["is_spent"]}
        return {
            "totalActiveAddresses": str(len(received | sent)),
            "receivingAddresses": str(len(received)),
            "sendingAddresses": str(len(sent)),
        }

    def blocks(self, milestone: Milestone) -> Json:
        """The response about a milestone's blocks, counted from its cone."""
        kinds = Counter(each.payload_kind for each in milestone.messages)
        states = Counter(each.state for each in milestone.messages)
        return {
            "blocksCount": len(milestone.messages),
            "perPayloadType": {
                "txPayloadCount": kinds[0] + kinds[6],
                "treasuryTxPayloadCount": kinds[4],
                "milestonePayloadCount": kinds[1] + kinds[7],
                "taggedDataPayloadCount": kinds[2] + kinds[5],
                "noPayloadCount": kinds[None],
            },
            "perInclusionState": {
                "confirmedTxCount": states[1],
                "conflictingTxCount": states[2],
                "noTxCount": states[0],
            },
        }

"""Gauges of /metrics about each network: how far its store is behind a node that a follower follows, and whether its
ledger state adds up to the token supply.
"""

from collections.abc import Mapping

from api.network import NetworkMount
from db.queries.head import find_lag
from db.queries.reconciliation import find_reconciliation
from db.schema.protocols import IOTA
from db.store import StoreUnavailable

SECONDS, BEHIND, DAYS_DUE = "permanode_lag_seconds", "permanode_milestones_behind", "permanode_days_due_milestones"
UNRECONCILED = "permanode_unreconciled_milestones"

GAUGES = {
    SECONDS: "Age of the newest complete milestone",
    BEHIND: "Milestones up to the newest one that a follower's node reported",
    DAYS_DUE: "Milestones that are not yet counted in the analytics of days",
    UNRECONCILED: "Milestones from the first one whose balances and treasury do not add up to the token supply",
}
"""The gauges and their meanings. Only networks that a follower loads have a lag, only those with a ledger state have
unreconciled milestones: 0 while all sums are right.
"""


async def read_gauges(networks: Mapping[str, NetworkMount]) -> Mapping[str, Mapping[str, float]]:
    """Returns the value of each gauge by network. Omits networks whose store is unavailable."""
    found: dict[str, dict[str, float]] = {name: {} for name in GAUGES}
    for name, mount in networks.items():
        if mount.protocol != IOTA:
            continue
        try:
            lag, sums = await find_lag(mount.store, mount.name), await find_reconciliation(mount.store)
        except StoreUnavailable:
            continue
        values: dict[str, float] = {}
        if lag is not None:
            values |= {SECONDS: lag.seconds, BEHIND: lag.behind, DAYS_DUE: lag.days_due}
        if sums is not None:
            values[UNRECONCILED] = sums.last - sums.holds_to
        for gauge, value in values.items():
            found[gauge][name] = value
    return found

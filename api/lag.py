"""Gauges of /metrics that say how far each network's store is behind a node that a follower follows."""

from collections.abc import Mapping

from api.network import NetworkMount
from db.queries.head import find_lag
from db.schema.protocols import IOTA
from db.store import StoreUnavailable

SECONDS, BEHIND, DAYS_DUE = "permanode_lag_seconds", "permanode_milestones_behind", "permanode_days_due_milestones"

GAUGES = {
    SECONDS: "Age of the newest complete milestone",
    BEHIND: "Milestones up to the newest one that a follower's node reported",
    DAYS_DUE: "Milestones that are not yet counted in the analytics of days",
}
"""The gauges and their meanings. Only networks that a follower loads have values."""


async def read_lags(networks: Mapping[str, NetworkMount]) -> Mapping[str, Mapping[str, float]]:
    """Returns the value of each gauge by network. Omits networks whose store is unavailable."""
    found: dict[str, dict[str, float]] = {name: {} for name in GAUGES}
    for name, mount in networks.items():
        if mount.protocol != IOTA:
            continue
        try:
            lag = await find_lag(mount.store, mount.name)
        except StoreUnavailable:
            continue
        if lag is not None:
            values = {SECONDS: lag.seconds, BEHIND: lag.behind, DAYS_DUE: lag.days_due}
            for gauge, value in values.items():
                found[gauge][name] = value
    return found

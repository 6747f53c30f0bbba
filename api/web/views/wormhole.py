"""The network page of a Wormhole network, and lists of its operations: all, of a day, an address or a transaction."""

from collections.abc import Mapping
from typing import Any

from api.web import operations
from api.web.page import Answer, Page, View
from api.web.visit import Visit
from db.schema.protocols import WORMHOLE
from db.together import together
from ledger.wormhole.chains import CHAIN_IDS, find_chain

NEWEST = 10
"""Operations on the network page."""

PAGE_SIZE = 25

CORRIDORS = 20
"""Pairs of chains on the network page."""

SPANS = ("30d", "90d", "1y", "all-time")
"""Times whose transfers are counted by pairs of chains. The sums of all time read every day, which is slow."""

DAY_TIMES = {"from": "T00:00:00Z", "to": "T23:59:59Z"}
"""A bound of a list → the time of day that a date stands for."""


async def wormhole_home(visit: Visit) -> Answer:
    """Figures of all days, the newest operations, and pairs of chains in the time that `span` names."""
    span = visit.query.get("span", SPANS[2])
    scores, by_tx, by_value, newest = await together(
        visit.json("wormhole/v1/scorecards"),
        visit.json("wormhole/v1/x-chain-activity", timeSpan=span, by="tx"),
        visit.json("wormhole/v1/x-chain-activity", timeSpan=span, by="notional"),
        visit.json("wormhole/v1/operations", pageSize=NEWEST),
    )
    pairs = corridors(by_tx, by_value)
    return Page(
        "wormhole_home",
        visit.network,
        {
            "scores": scores,
            "spans": SPANS,
            "span": span,
            "corridors": pairs[:CORRIDORS],
            "highest": max((transfers for *_, transfers, _ in pairs), default=1),
            "hidden": len(pairs[CORRIDORS:]),
            "newest": [operations.operation_of(each) for each in newest["operations"]],
        },
    )


def corridors(by_tx: Mapping[str, Any], by_value: Mapping[str, Any]) -> list[tuple[str, str, int, str]]:
    """Returns source, target, number of transfers and worth of each pair of chains, most transfers first.

    The worth is empty if no transfer has a price.
    """
    worth = {
        (source["chain"], target["chain"]): target["volume"]
        for source in by_value["txs"]
        for target in source["destinations"]
    }
    found = [
        (source["chain"], target["chain"], int(target["volume"]))
        for source in by_tx["txs"]
        for target in source["destinations"]
    ]
    return [
        (
            find_chain(source).name,
            find_chain(target).name,
            transfers,
            operations.usd(worth[source, target]) if float(worth.get((source, target), 0)) else "",
        )
        for source, target, transfers in sorted(found, key=lambda each: (-each[2], each))
    ]


async def list_operations(visit: Visit) -> Answer:
    """Operations, newest first. The query may name an address or a transaction, chains, and the first and last day."""
    given = {name: value for name, value in visit.query.items() if value}
    bounds = {name: at_time(given[name], time) for name, time in DAY_TIMES.items() if name in given}
    return await operations_page(
        visit,
        "Operations",
        address=given.get("address"),
        txHash=given.get("txHash"),
        sourceChain=given.get("sourceChain"),
        targetChain=given.get("targetChain"),
        **bounds,
    )


def at_time(text: str, time: str) -> str:
    """Returns a date with a time of day; any other text unchanged."""
    return text if "T" in text else f"{text}{time}"


async def of_day(visit: Visit) -> Answer:
    """Operations of a UTC day."""
    date = visit.params["date"]
    bounds = {name: f"{date}{time}" for name, time in DAY_TIMES.items()}
    return await operations_page(visit, f"Operations of {date}", **bounds)


async def of_address(visit: Visit) -> Answer:
    """Operations that an address of any chain sent or receives."""
    return await operations_page(visit, "Address", address=visit.params["address"])


async def of_transaction(visit: Visit) -> Answer:
    """Operations that a transaction of another chain started."""
    return await operations_page(visit, "Transaction of another chain", txHash=visit.params["hash"])


async def operations_page(visit: Visit, title: str, **filters: str | None) -> Page:
    """Returns a page of operations."""
    cursor = visit.query.get("cursor") or None
    found = await visit.json("wormhole/v1/operations", **filters, pageSize=PAGE_SIZE, cursor=cursor)
    following = found["pagination"]["next"]
    return Page(
        "operations",
        title,
        {
            "items": [operations.operation_of(each) for each in found["operations"]],
            "next": visit.here(cursor=following) if following else None,
            "subject": visit.params.get("address") or visit.params.get("hash"),
            "is_filtered": visit.path == f"/{visit.network}/operations",
            "chains": [(each, find_chain(each).name) for each in CHAIN_IDS if each],
        },
    )


VIEWS = (
    View("/{network}", wormhole_home, WORMHOLE),
    View("/{network}/operations", list_operations, WORMHOLE),
    View("/{network}/day/{date}", of_day, WORMHOLE),
    View("/{network}/address/{address}", of_address, WORMHOLE),
    View("/{network}/transaction/{hash}", of_transaction, WORMHOLE),
)

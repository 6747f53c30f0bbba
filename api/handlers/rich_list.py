"""The richest addresses and the token distribution: two operations that explorer v2 and analytics v2 share."""

from collections.abc import AsyncGenerator
from datetime import date
from operator import itemgetter

from api.fields.inx_chronicle_params import EndOfDay, LedgerIndex, LedgerIndexAsServed, Top
from api.fields.rich_list_responses import RichestAddresses, TokenDistribution
from api.handlers.ledger_state import known_index
from api.http.errors import BadParameter, NotKept
from api.http.operations import Operation
from api.http.responses import Json
from api.http.streaming import exports_of
from api.network import NetworkMount
from db.coverage import check_state
from db.queries import ledger
from db.queries.analytics import find_day
from db.store import NotFound

U64_MAX = 2**64 - 1

FIGURES = ("addressCount", "totalBalance")
"""Fields of each power of ten."""


async def richest_addresses(
    network: NetworkMount, top: Top, ledger_index: LedgerIndex, as_served: LedgerIndexAsServed, day: EndOfDay
) -> Json:
    """Returns the addresses with the most base tokens in unspent outputs that they own.

    Unlock conditions other than the owner have no effect.
    """
    await check_state(network.store, "the list of the richest addresses")
    if None not in (ledger_index, as_served):
        raise BadParameter("ledger_index", "nothing beside ledgerIndex", str(as_served))
    index = await ranked_index(network, as_served if ledger_index is None else ledger_index, day)
    rows = await ledger.list_richest(network.store, network.name, index, page_size=top)
    if not rows:
        raise not_kept(index)
    owners = [{"address": network.bech32(row["address"]), "balance": str(row["balance"])} for row in rows]
    return {"top": owners, "ledgerIndex": index}


async def token_distribution(network: NetworkMount, ledger_index: LedgerIndex, day: EndOfDay) -> Json:
    """Returns how tokens are distributed over addresses, by power of ten of the balance."""
    await check_state(network.store, "the distribution of tokens")
    index = await ranked_index(network, ledger_index, day)
    rows = await ledger.get_distribution(network.store, network.name, index)
    if not rows:
        raise not_kept(index)
    distribution = [
        {
            "range": {"start": 10 ** row["power"], "end": min(10 ** (row["power"] + 1), U64_MAX)},
            "addressCount": str(row["addresses"]),
            "totalBalance": str(row["amount"]),
        }
        for row in rows
    ]
    return {"distribution": distribution, "ledgerIndex": index}


async def ranked_index(network: NetworkMount, requested: int | None, day: date | None) -> int:
    """Returns the requested ledger index, or that at the end of a UTC day, by default the current one. Raises NotFound
    for a later one, and for a day without milestones.
    """
    if day is None:
        return await known_index(network, requested)
    if requested is not None:
        raise BadParameter("date", "nothing beside ledgerIndex", day.isoformat())
    newest = await ledger.get_ledger_index(network.store, network.name)
    row = await find_day(network.store, day.isoformat())
    if row is None or row["start_ms"] > newest:
        raise NotFound(f"the ledger state of {day.isoformat()}")
    index: int = min(row["end_ms"], newest)
    return index


async def all_richest(
    network: NetworkMount, top: Top, ledger_index: LedgerIndex, as_served: LedgerIndexAsServed, day: EndOfDay
) -> AsyncGenerator[list[Json]]:
    """Yields the items of `richest_addresses`."""
    yield (await richest_addresses(network, top, ledger_index, as_served, day))["top"]


async def all_powers(network: NetworkMount, ledger_index: LedgerIndex, day: EndOfDay) -> AsyncGenerator[list[Json]]:
    """Yields the items of `token_distribution`."""
    yield powers(await token_distribution(network, ledger_index, day))


def powers(answer: Json) -> list[Json]:
    """Returns the items of `token_distribution`, each with its range and its figures on one level."""
    return [each["range"] | {name: each[name] for name in FIGURES} for each in answer["distribution"]]


def not_kept(index: int) -> NotKept:
    """Returns the error for a ledger state that the archive passed but does not keep."""
    return NotKept(
        f"the balances at {index} are not kept: leave out ledgerIndex, or use that of one of the last loads or of the "
        "last milestone of a UTC day (date)"
    )


RICHEST_ADDRESSES = Operation(
    "/ledger/richest-addresses",
    richest_addresses,
    RichestAddresses,
    (404, 501),
    exports=exports_of(all_richest, ("address", "balance"), itemgetter("top")),
)
TOKEN_DISTRIBUTION = Operation(
    "/ledger/token-distribution",
    token_distribution,
    TokenDistribution,
    (404, 501),
    exports=exports_of(all_powers, ("start", "end", *FIGURES), powers),
)

"""Functions of the event database under their original names: rows of its tables, and counts by day; GET and POST.

Names and shapes are the functions'. Their bugs are fixed: a chain filter matches only that chain, and an invalid value
is a 400. Days are whole UTC days.
"""

from collections import defaultdict

from orjson import Fragment

from api.http.errors import grpc_error_body
from api.http.operations import Family
from api.http.rendered import rendered
from api.http.responses import GRPC_ERRORS, Json
from api.network import NetworkMount
from api.wormhole.events.address_routes import RECEIVERS
from api.wormhole.events.functions import Given, function
from api.wormhole.events.params import COUNTED, LAST_24_HOURS, NUM_DAYS
from api.wormhole.events.responses import EventTotals
from api.wormhole.events.row_routes import ROWS, group_of, scope_of
from api.wormhole.events.sum_routes import SUMS, check_numbers, first_day, last_day, limited_days
from api.wormhole.events.tvl_routes import TVL
from api.wormhole.events.value_routes import VALUES
from db.listing.turns import in_turns
from db.queries.wormhole.daily import LAUNCH_DAY
from db.utc_days import format_day
from ledger.wormhole.chains import PYTHNET


async def totals(network: NetworkMount, given: Given) -> Json:
    """Returns the number of verified messages by day."""
    return await counted(network, "totals", given)


async def nfts(network: NetworkMount, given: Given) -> Json:
    """Returns the number of verified NFT transfers by day."""
    return await counted(network, "nfts", given)


async def counted(network: NetworkMount, measure: str, given: Given) -> Json:
    """Returns the counts of a measure of vaa_daily. Every day has the same keys."""
    chain, address = scope_of(given)
    group = group_of(given)
    last = last_day(given)
    span = given[NUM_DAYS.name] if given[NUM_DAYS.name] is not None else max(last - LAUNCH_DAY, 0)
    days: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    whole: dict[str, int] = defaultdict(int, {"*": 0})
    rows = limited_days(network, measure, first_day(last, span), last, chain=chain, emitter=address)
    async for day, held in rows:
        counts = days[day]
        for row in held:
            if row["emitter_chain"] == PYTHNET and chain is None:
                continue
            keys = {"*"}
            if group is not None:
                place = str(row["emitter_chain"])
                keys.add(place if group == "chain" else f"{place}:{row['emitter_address']}")
            for key in keys:
                counts[key] += row["message_count"]
                whole[key] += row["message_count"]
    check_numbers(len(whole), len(days))
    names = sorted(whole)
    padded: dict[str, Fragment] = {}
    for day, counts in days.items():
        padded[format_day(day)] = rendered({name: counts.get(name, 0) async for name in in_turns(names)})
    return {
        "LastDayCount": [*padded.values()][-1] if given[LAST_24_HOURS.name] else None,
        "TotalCount": dict(sorted(whole.items())),
        "TotalCountDurationDays": span,
        "DailyTotals": padded,
    }


EVENTS = Family(
    "event database",
    (
        *ROWS,
        *VALUES,
        *function("/totals", totals, COUNTED, EventTotals, (501,)),
        *function("/nfts", nfts, COUNTED, EventTotals, (501,)),
        *SUMS,
        *TVL,
        *RECEIVERS,
    ),
    wrap=lambda value: value,
    error_body=grpc_error_body,
    errors=GRPC_ERRORS,
)

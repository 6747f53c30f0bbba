"""What the archive of a Wormhole network holds: its days, and every gap in the sequences of every emitter.

Unknown parameters are rejected.
"""

from api.http.errors import NotKept
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.ours.responses import Coverage, EmitterGaps
from api.wormhole.params import Cursor, PageSize
from db.coverage import find_coverage
from db.queries.wormhole.coverage import list_gaps, loaded_days
from db.queries.wormhole.daily import TooManyRows
from db.utc_days import format_day


async def coverage(network: NetworkMount) -> Json:
    """Returns the UTC days with verified messages, as ranges with both ends included, and how many messages there are.

    A message counts for the day when it was first seen, else for that of its timestamp. `undated` messages have
    neither. `kept` is present if this archive keeps the messages of some emitters only: these and governance.
    """
    try:
        found = await loaded_days(network.store)
    except TooManyRows:
        raise NotKept("more rows than one response sums") from None
    days = [{"first": format_day(first), "last": format_day(last)} for first, last in found.days]
    coverage = await find_coverage(network.store)
    kept = {} if coverage is None else {"kept": sorted(each.text for each in coverage)}
    return {"days": days, "messages": found.messages, "undated": found.undated, **kept}


async def all_gaps(network: NetworkMount, page_size: PageSize, cursor: Cursor) -> Json:
    """Returns every gap in the sequences of every emitter, by chain, emitter and sequence, and what it means.

    `unverified`: a VAA without a quorum, or another trace of the message, is stored. `missing`: it was emitted, but
    nothing of it is stored. `random`: governance chooses its sequences at random. `notYetEmitted`: it follows the
    emitter's last verified message. One page covers `pageSize` emitters and known sequences, so it can be short; a
    range of unverified sequences can continue on the next page.
    """
    gaps, following = await list_gaps(network.store, page_size=page_size, cursor=cursor)
    return {
        "gaps": [
            {
                "emitterChain": each.chain,
                "emitterAddr": each.emitter,
                "first": str(each.first),
                "last": str(each.last),
                "classification": each.classification,
            }
            for each in gaps
        ],
        "cursor": following,
    }


COVERAGE = (
    Operation("/coverage", coverage, Coverage, (501,), is_extension=True),
    Operation("/gaps", all_gaps, EmitterGaps, is_extension=True),
)

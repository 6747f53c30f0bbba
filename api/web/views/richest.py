"""The rich list of an IOTA network, and how its tokens are distributed over addresses: now, or after a milestone or
day.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from api.web.formats import percent
from api.web.page import Answer, Page, View
from api.web.visit import Visit
from db.schema.protocols import IOTA
from db.together import together

TOPS = (25, 100, 500)
"""Numbers of addresses that the page offers."""

WIDTH = 100
"""Units of a bar's width."""

Json: TypeAlias = Mapping[str, Any]

_INDEX = re.compile(r"\d+", re.ASCII)


async def richest(visit: Visit) -> Answer:
    """The addresses with the most tokens, and the number of addresses and tokens by power of ten of the balance."""
    at = visit.query.get("at", "").strip()
    when = {} if not at else {"ledgerIndex": at} if _INDEX.fullmatch(at) else {"date": at}
    given = visit.query.get("top", "")
    top = int(given) if given in map(str, TOPS) else TOPS[0]
    # A ledger state that is not kept is an error; an archive without any has a page that says so.
    get = visit.json if at else visit.kept
    paths = [f"explorer/v2/ledger/{name}" for name in ("richest-addresses", "token-distribution")]
    listed, distributed = await together(get(paths[0], **when, top=top), get(paths[1], **when))
    total = sum(int(each["totalBalance"]) for each in distributed["distribution"]) if distributed else 0
    values = {
        "at": at,
        "top": top,
        "tops": TOPS,
        "ledger_index": listed["ledgerIndex"] if listed else None,
        "total": total,
        "rows": [(each, percent(int(each["balance"]), total)) for each in listed["top"]] if listed else [],
        "distribution": shares(distributed["distribution"], total) if distributed else [],
        "csv": [visit.api(path, **when, format="csv") for path in paths],
    }
    return Page("richest", "Rich list", values)


def shares(distribution: Sequence[Json], total: int) -> list[Json]:
    """The ranges of a distribution, each with its share of the addresses and of the tokens, and bars of both."""
    addresses = sum(int(each["addressCount"]) for each in distribution)
    return [
        {
            **each,
            "addressShare": percent(int(each["addressCount"]), addresses),
            "tokenShare": percent(int(each["totalBalance"]), total),
            "addressBar": round(WIDTH * int(each["addressCount"]) / addresses, 2),
            "tokenBar": round(WIDTH * int(each["totalBalance"]) / total, 2),
        }
        for each in distribution
    ]


VIEWS = (View("/{network}/richest", richest, IOTA),)

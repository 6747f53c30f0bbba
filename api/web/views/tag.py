"""A tag, or the index of a Chrysalis message: the messages and the outputs that have it, and its messages per day."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from api.web.listing_proofs import ListingProof, proof_of
from api.web.page import Answer, Page, Redirect, View
from api.web.payloads import data_of
from api.web.visit import Visit, segment
from db.schema.protocols import IOTA
from db.together import together

ROWS = 25
"""Rows of a tab before `More`."""

COUNTED = 1_000
"""The newest messages that are counted per day."""

DAY_S = 86_400

TABS = (("messages", "Messages"), ("basic", "Basic outputs"), ("nft", "NFT outputs"))
"""Value of `tab` → its text. Outputs of these two kinds can have a tag."""

Json: TypeAlias = Mapping[str, Any]


async def tag(visit: Visit) -> Answer:
    """The tag, with the list that `tab` names. A text that is not hex leads to the page of its bytes."""
    given = visit.params["tag"]
    digits = given.lower().removeprefix("0x")
    try:
        data = data_of(digits)
    except ValueError:
        return Redirect(f"/{visit.network}/tag/{given.encode('utf-8', 'replace').hex()}")
    if digits != given:
        return Redirect(visit.elsewhere(f"/{visit.network}/tag/{digits}"))
    tab = visit.query.get("tab", "messages")
    is_first = "cursor" not in visit.query
    if tab in {"basic", "nft"}:
        listed = await outputs(visit, tab, digits)
        days, is_whole = None, True
    else:
        tab = "messages"
        listed, counted = await together(
            blocks(visit, digits, ROWS, visit.query.get("cursor")),
            blocks(visit, digits, COUNTED, None) if is_first else blocks(visit, digits, 1, None),
        )
        is_whole = counted["cursor"] is None
        days = per_day(counted["items"]) if is_first else None
    cursor = listed.get("cursor")
    proof = await listing_proof(visit, tab, digits, is_last=not cursor)
    values = {
        "digits": digits,
        "data": data,
        "tab": tab,
        "tabs": TABS,
        "days": days,
        "is_whole": is_whole,
        "counted": sum(days["series"]["Messages"]) if days else 0,
        "rows": listed["items"],
        "next": visit.here(cursor=cursor) if cursor else None,
        "listing_proof": proof,
    }
    return Page("tag", "Tag", values, charts=bool(days), proves_listing=bool(proof))


async def listing_proof(visit: Visit, tab: str, digits: str, *, is_last: bool) -> ListingProof | None:
    """The proof of the list that a tab shows."""
    if tab == "messages":
        query = {"tag": f"0x{digits}", "pageSize": ROWS, "cursor": visit.query.get("cursor")}
        return await proof_of(visit, ["messages_by_tag"], digits, "explorer/v2/blocks", is_last=is_last, **query)
    families, path = [f"{tab}_outputs_by_tag"], f"indexer/v1/outputs/{tab}"
    return await proof_of(visit, families, digits, path, is_last=is_last, **outputs_query(visit, digits))


async def blocks(visit: Visit, digits: str, page_size: int, cursor: str | None) -> Json:
    """A page of the messages with the tag, the newest first."""
    found: Json = await visit.json("explorer/v2/blocks", tag=f"0x{digits}", pageSize=page_size, cursor=cursor)
    return found


async def outputs(visit: Visit, kind: str, digits: str) -> Json:
    """A page of the outputs of a kind with the tag, spent ones too, the newest first."""
    found = await visit.json(f"indexer/v1/outputs/{kind}", **outputs_query(visit, digits))
    whole = await together(*(visit.find(f"core/v2/outputs/{segment(each)}") for each in found["items"]))
    items = [
        # A selective archive may not know whether an output is spent, and then does not return it.
        {"outputId": output_id, "amount": each and each["output"]["amount"], **(each["metadata"] if each else {})}
        for output_id, each in zip(found["items"], whole, strict=True)
    ]
    return {"items": items, "cursor": found.get("cursor")}


def outputs_query(visit: Visit, digits: str) -> Mapping[str, object]:
    """The parameters of a page of outputs."""
    position = visit.query.get("cursor")
    return {"tag": f"0x{digits}", "spent": "any", "sort": "newest", "pageSize": ROWS, "cursor": position}


def per_day(items: Sequence[Json]) -> Json | None:
    """The number of messages in each UTC day between the first and the last of them; None if it is one day or none."""
    counts = Counter(each["milestoneTimestamp"] // DAY_S for each in items if each["milestoneTimestamp"])
    if len(counts) < 2:
        return None
    days = range(min(counts), max(counts) + 1)
    return {"times": [each * DAY_S for each in days], "series": {"Messages": [counts[each] for each in days]}}


VIEWS = (View("/{network}/tag/{tag}", tag, IOTA),)

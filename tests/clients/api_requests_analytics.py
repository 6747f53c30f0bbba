"""Requests for every operation of analytics v2, with data of the Stardust oracle ledger, and the expected bodies.

tests.api.analytics computes the bodies in plain Python.
"""

from tests.api.analytics import Figures, of_stardust
from tests.api.explorer import Explorer
from tests.api.stardust import StardustLedger
from tests.clients.api_requests import ApiRequest, ApiRequests
from tests.clients.api_requests_explorer import EVERY, PAGE_SIZE, distribution, listing, richest

SPANS = ((1, 51), (7, 8))
"""The start (included) and the end (excluded)."""

KINDS = ("basic", "alias", "nft", "foundry")


def of_analytics(ledger: StardustLedger) -> ApiRequests:
    """The requests for a mount of analytics."""
    figures, explorer = of_stardust(ledger), Explorer(ledger)
    rent = ledger.expected["info"]["protocol"]["rentStructure"]
    addresses = list(figures.histories.items())[::EVERY]
    return {
        **of_activity(figures),
        **of_series(figures),
        "/ledger/storage-deposit": [ApiRequest({"ledgerIndex": 30}, figures.deposits(30, rent))],
        "/ledger/native-tokens": [ApiRequest({"ledgerIndex": 30}, figures.unspent(30, "foundry"))],
        "/ledger/nfts": [ApiRequest({}, figures.unspent(50, "nft"))],
        "/ledger/richest-addresses": [ApiRequest({"top": PAGE_SIZE}, richest(explorer))],
        "/ledger/token-distribution": [ApiRequest({}, distribution(explorer))],
        "/addresses/{address}": [
            listing({"address": each}, {"address": each, "items": items[::-1], "ledgerIndex": 50})
            for each, items in addresses
        ],
    }


def of_activity(figures: Figures) -> ApiRequests:
    """Spans of milestones, and single milestones."""
    spans = [({"startIndex": start, "endIndex": end}, (start, end)) for start, end in SPANS]
    some = figures.milestones[::EVERY]
    requests = {
        "/activity/addresses": [ApiRequest(given, figures.addresses(*span)) for given, span in spans],
        "/activity/claimed-tokens": [ApiRequest({}, figures.claimed(None))],
        "/activity/native-tokens": [ApiRequest(given, figures.became_of(*span, "foundry")) for given, span in spans],
        "/activity/nfts": [ApiRequest(given, figures.became_of(*span, "nft")) for given, span in spans],
        "/activity/outputs": [ApiRequest(given, figures.created(*span, "legacy", *KINDS)) for given, span in spans],
        "/activity/milestones/{milestoneId}": [
            ApiRequest({"milestoneId": f"0x{each.milestone_id}"}, figures.blocks(each))
            for each in figures.milestones[::9]
        ],
        "/activity/milestones/by-index/{index}": [
            ApiRequest({"index": each.index}, figures.blocks(each)) for each in some
        ],
    }
    for kind in KINDS:
        requests[f"/activity/outputs/{kind}"] = [
            ApiRequest(given, figures.created(*span, kind)) for given, span in spans
        ]
    return requests


def of_series(figures: Figures) -> ApiRequests:
    """Every measure of each interval, and some measures between two milestones."""
    found: ApiRequests = {}
    for interval, measures, items in (
        ("milestone", figures.milestone_measures, figures.by_milestone),
        ("hour", figures.hour_measures, figures.by_hour),
        ("day", figures.day_measures, figures.by_day),
    ):
        few = ["messageCount", "holders"]
        found[f"/series/{interval}"] = [
            listing({"measures": ",".join(measures)}, {"items": items(measures)}),
            listing({"measures": ",".join(few), "start": 1, "sort": "newest"}, {"items": items(few)[::-1]}),
        ]
    return found

"""Requests for every operation of analytics v2, with data of the Stardust oracle ledger, and the expected bodies.

tests.api.analytics computes the bodies in plain Python.
"""

from tests.api.analytics import Figures, of_stardust
from tests.api.explorer import Explorer
from tests.api.stardust import StardustLedger
from tests.clients.questions import Asked, Question
from tests.clients.questions_explorer import EVERY, PAGE_SIZE, distribution, listing, richest

SPANS = ((1, 51), (7, 8))
"""The start (included) and the end (excluded)."""

KINDS = ("basic", "alias", "nft", "foundry")


def of_analytics(ledger: StardustLedger) -> Asked:
    """The requests for a mount of analytics."""
    figures, explorer = of_stardust(ledger), Explorer(ledger)
    rent = ledger.expected["info"]["protocol"]["rentStructure"]
    addresses = list(figures.histories.items())[::EVERY]
    return {
        **of_activity(figures),
        **of_series(figures),
        "/ledger/storage-deposit": [Question({"ledgerIndex": 30}, figures.deposits(30, rent))],
        "/ledger/native-tokens": [Question({"ledgerIndex": 30}, figures.unspent(30, "foundry"))],
        "/ledger/nfts": [Question({}, figures.unspent(50, "nft"))],
        "/ledger/richest-addresses": [Question({"top": PAGE_SIZE}, richest(explorer))],
        "/ledger/token-distribution": [Question({}, distribution(explorer))],
        "/addresses/{address}": [
            listing({"address": each}, {"address": each, "items": items[::-1], "ledgerIndex": 50})
            for each, items in addresses
        ],
    }


def of_activity(figures: Figures) -> Asked:
    """Spans of milestones, and single milestones."""
    spans = [({"startIndex": start, "endIndex": end}, (start, end)) for start, end in SPANS]
    some = figures.milestones[::EVERY]
    asked = {
        "/activity/addresses": [Question(given, figures.addresses(*span)) for given, span in spans],
        "/activity/claimed-tokens": [Question({}, figures.claimed(None))],
        "/activity/native-tokens": [Question(given, figures.became_of(*span, "foundry")) for given, span in spans],
        "/activity/nfts": [Question(given, figures.became_of(*span, "nft")) for given, span in spans],
        "/activity/outputs": [Question(given, figures.created(*span, "legacy", *KINDS)) for given, span in spans],
        "/activity/milestones/{milestoneId}": [
            Question({"milestoneId": f"0x{each.milestone_id}"}, figures.blocks(each))
            for each in figures.milestones[::9]
        ],
        "/activity/milestones/by-index/{index}": [
            Question({"index": each.index}, figures.blocks(each)) for each in some
        ],
    }
    for kind in KINDS:
        asked[f"/activity/outputs/{kind}"] = [Question(given, figures.created(*span, kind)) for given, span in spans]
    return asked


def of_series(figures: Figures) -> Asked:
    """Every measure of each interval, and some measures between two milestones."""
    found: Asked = {}
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

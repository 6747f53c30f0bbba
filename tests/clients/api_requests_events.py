"""Requests for the events of a network, for both oracle ledgers, and the expected bodies.

tests.api.events computes the bodies in plain Python. Each listing fits on one page, so it ends at the last milestone.
"""

from collections.abc import Sequence
from typing import Any

from ledger.crypto.bech32 import format_address
from tests import reference, reference_stardust
from tests.api.events.reference_events import Wanted, expected_events, output_id, parties
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.clients.api_requests import ApiRequest, ApiRequests
from tests.clients.api_requests_explorer import PAGED
from tests.reference_facts import Milestone


def of_events(oracle: Oracle, stardust: StardustLedger) -> ApiRequests:
    """The requests for a network's own mount."""
    chrysalis = [reference.milestone_fact(line) for line in oracle.milestones]
    of_stardust = [reference_stardust.milestone_fact(line) for line in stardust.milestones]
    return {
        "/events": [
            *of_ledger(oracle.expected, chrysalis),
            *of_ledger(stardust.expected, of_stardust),
        ]
    }


def of_ledger(expected: Any, milestones: Sequence[Milestone]) -> list[ApiRequest]:
    """Milestones, and all kinds of events of an included transaction with inputs: the last one, and the last tag."""
    messages = [message for milestone in milestones for message in milestone.messages]
    tag = next(tag for message in reversed(messages) for tag in message.tags if tag)
    paid = [each for each in messages if each.transaction is not None and each.state == 1]
    last = paid[-1]
    assert last.transaction is not None
    outputs = [output_id(last, 0), *(spend.output_id for spend in last.transaction.spends)]
    everything = Wanted(milestones=True, tags=[tag], addresses=sorted(parties(last))[:2], outputs=outputs)

    def bech32(address: str) -> str:
        return format_address(expected["bech32Hrp"], bytes.fromhex(address))

    found = []
    for wanted in (Wanted(milestones=True), everything):
        items = expected_events(milestones, wanted, bech32)
        given = {"network": expected["network"], **wanted.query(bech32), "milestones": True, **PAGED}
        found.append(ApiRequest(given, {"items": items, "cursor": str(milestones[-1].index)}))
    assert {item["event"] for item in found[-1].answer["items"]} == {"message", "created", "spent", "milestone"}
    return found

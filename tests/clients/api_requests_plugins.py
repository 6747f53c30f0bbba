"""Requests for the APIs of inx-supply-tracker and inx-participation, with data of the Stardust oracle ledger."""

from tests.api.stardust import StardustLedger
from tests.clients.api_requests import ApiRequest, ApiRequests

TIMELOCK = 2
"""Type of the unlock condition (TIP-18)."""

NOT_COUNTED = "an archive does not count votes: query a node with inx-participation"


def circulating(ledger: StardustLedger) -> float:
    """Base tokens in unspent outputs without a timelock, in units of six decimals."""
    unspent = [each["output"] for each in ledger.outputs.values() if not each["metadata"]["isSpent"]]
    held = [each for each in unspent if TIMELOCK in {condition["type"] for condition in each["unlockConditions"]}]
    whole, locked = (sum(int(each["amount"]) for each in some) for some in (unspent, held))
    treasury = int(ledger.expected["treasury"]["amount"])
    assert whole + treasury == int(ledger.expected["info"]["protocol"]["tokenSupply"])
    assert 0 < locked < whole
    return (whole - locked) / 1_000_000


def of_supply(ledger: StardustLedger) -> ApiRequests:
    """The requests for a mount of the supply."""
    return {"/circulating": [ApiRequest({}, circulating(ledger))]}


def of_participation() -> ApiRequests:
    """The requests for a mount of participation: all return 501."""
    given = {
        "/events": {},
        "/events/{eventId}": {"eventId": "0x" + "ab" * 32},
        "/events/{eventId}/status": {"eventId": "0x" + "ab" * 32},
        "/outputs/{outputId}": {"outputId": "0x" + "ab" * 34},
        "/addresses/{address}": {"address": "tst1x"},
        "/addresses/{address}/outputs": {"address": "tst1x"},
    }
    answer = {"error": {"code": "501", "message": NOT_COUNTED}}
    return {path: [ApiRequest(each, answer)] for path, each in given.items()}

"""Requests for every operation of proof of inclusion, with messages of an oracle ledger, and the expected bodies.

tests/inclusion.py makes the proofs by their definition.
"""

from tests.clients.api_requests import ApiRequest, ApiRequests
from tests.inclusion import Json, Provable, ledger

BODY = "body"
"""The key of the request body among the parameters."""


def of_poi(era: str) -> ApiRequests:
    """The requests for a mount over that oracle ledger: messages at either end of a tree, and messages not applied."""
    applied = [each for each in ledger(era) if each.is_applied][:4]
    others = [each for each in ledger(era) if not each.is_applied and each.referenced is not None][:2]
    by_reference = [(each, each.proof(each.by_reference)) for each in [*applied, *others]]
    by_application = [(each, each.proof(each.applied)) for each in applied]
    return {
        "/referenced-block/create/{blockId}": created(by_reference),
        "/applied-block/create/{blockId}": created(by_application),
        "/create/{blockId}": created(by_reference),
        "post /referenced-block/validate": validated(by_reference),
        "post /applied-block/validate": validated(by_application),
        "post /validate": validated(by_reference),
    }


def created(proofs: list[tuple[Provable, Json]]) -> list[ApiRequest]:
    return [ApiRequest({"blockId": each.message_id}, proof) for each, proof in proofs]


def validated(proofs: list[tuple[Provable, Json]]) -> list[ApiRequest]:
    good = [ApiRequest({BODY: proof}, {"valid": True}) for _, proof in proofs]
    (_, one), (_, other), *_ = proofs
    return [*good, ApiRequest({BODY: one | {"proof": other["proof"]}}, {"valid": False})]

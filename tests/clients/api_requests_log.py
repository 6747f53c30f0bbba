"""Requests for the transparency log and proofs of listings of the Chrysalis oracle ledger, and the expected bodies."""

import base64

from tests.api.oracle import Oracle
from tests.clients.api_requests import ApiRequest, ApiRequests, unproved
from tests.reference_log import ReferenceLog, consistency, reference_log


def of_log(oracle: Oracle) -> ApiRequests:
    """The requests for a network's own mount. Bytes are hex."""
    log = reference_log(oracle.expected["network"], oracle.milestones)
    size = len(log.records)
    state = {
        "origin": log.origin,
        "firstMilestone": 1,
        "lastMilestone": size,
        "completeTo": None,
        "newest": {"size": size, "root": text(log.root)},
        "signed": {"size": size, "root": text(log.root)},
        "verifier": log.key.verifier.text,
        "cosigned": None,
    }
    return {
        "/log": [ApiRequest({}, state)],
        "/log/checkpoint": [ApiRequest({}, log.checkpoint.hex())],
        "/log/tile/{level}/{number}": [
            request
            for width in (1, 7, size)
            for request in (
                ApiRequest({"level": "0", "number": f"000.p/{width}"}, b"".join(log.hashes[:width]).hex()),
                ApiRequest({"level": "entries", "number": f"000.p/{width}"}, log.bundle(width).hex()),
            )
        ],
        "/log/consistency": [proof_of(log, older, size) for older in (1, 7, 32, size)] + [proof_of(log, 7, 11)],
        "/log/proof/{index}": [ApiRequest({"index": index}, log.proof(index - 1).hex()) for index in (1, 20, size)],
    }


def of_listing_proofs(oracle: Oracle) -> ApiRequests:
    """The requests for proofs of listings. The oracle ledger is shorter than an interval."""
    given = {"family": "messages_by_tag", "key": "", "offset": 0, "pageSize": 10}
    return {"/proofs/listing": [ApiRequest(given, unproved(oracle))]}


def proof_of(log: ReferenceLog, older: int, size: int) -> ApiRequest:
    hashes = consistency(list(log.records[:size]), older)
    return ApiRequest({"from": older, "to": size}, {"from": older, "to": size, "hashes": [*map(text, hashes)]})


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()

"""Requests for every operation of the Wormhole families; the expected answer is the server's to a plain HTTP request.

A request has all required parameters of the operation, and those of OPTIONAL that it accepts. tests/api compares the
contents of the answers with the records; here clients must decode them completely.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx

from tests.api.contract import Described
from tests.api.oracle import Json
from tests.api.wormhole_network import DAY_S, NETWORK, World, b64
from tests.clients.api_requests_poi import BODY
from tests.clients.walks import Walk, contract

EXACT_IN_JAVASCRIPT = 2**53
"""Smaller integers are exact in TypeScript, which reads all numbers as doubles."""

SPAN = timedelta(days=40)
"""More than a month, which activity by month requires."""

OPTIONAL = ("daily", "from", "numDays", "parsedPayload", "payloadType", "prefix", "to", "txHash", "until")


def values(world: World) -> Json:
    """Parameter, or key of a posted object → a value, from a transfer with a known transaction."""
    message = next(
        each for each in world.verified
        if each.served["payload_kind"] == "token_transfer" and each.tx_id and each.served["emitter_chain"] != 1
    )  # fmt: skip
    record = message.served
    assert record["sequence"] < EXACT_IN_JAVASCRIPT
    chain, emitter = record["emitter_chain"], record["emitter_address"]
    sent = datetime.fromtimestamp(record["timestamp"], UTC)
    token = next(key for key in world.metas if key.startswith(f"{chain}/"))
    return {
        "address": record["decoded"]["to_address"],
        "chain": chain,
        "columnFamily": "TokenTransferPayload",
        "columnName": "TargetAddress",
        "daily": "1",
        "emitter": emitter,
        "emitterAddress": emitter,
        "emitterChain": str(chain),
        "from": (sent - SPAN).isoformat(),
        "hash": record["digest"],
        "id": message.tx_id,
        "network": NETWORK,
        "nonce": 1,
        "numDays": 3,
        "parsedPayload": True,
        "payloadType": "1",
        "prefix": f"{chain}:{emitter}:",
        "sequence": record["sequence"],
        "signer": record["signers"][0]["address"],
        "guardian_address": record["signers"][0]["address"],
        "timeSpan": "7d",
        "timespan": "1mo",
        "token_address": token.partition("/")[2],
        "to": (sent + SPAN).isoformat(),
        "trxID": message.tx_id,
        "txHash": message.tx_id,
        "until": datetime.fromtimestamp(DAY_S * message.day, UTC).date().isoformat(),
        "vaa": b64(record["hex"]),
        "value": record["decoded"]["to_address"],
    }


def parameters(operation: Json, known: Json) -> Json:
    """The parameters of that operation by name; BODY is the posted object, as texts."""
    given = {
        each["name"]: known[each["name"]]
        for each in operation.get("parameters", ())
        if each["required"] or each["name"] in OPTIONAL
    }
    if "requestBody" not in operation:
        return given
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    required = body.get("required", ())
    names = [name for name in body["properties"] if name in required or name in OPTIONAL]
    return given | {BODY: {name: str(known[name]) for name in names}}


def wormhole_requests(world: World) -> Iterator[tuple[Described, Json]]:
    """Each openapi.yaml route for Wormhole networks with its parameters, in order. KeyError names an unknown parameter.

    The routes at /api/v1 serve the default network of a server: tests/api requests them.
    """
    known = values(world)
    for each in contract(of_wormhole=True):
        if not each.path.startswith("/api/v1/"):
            yield each, parameters(each.operation, known)


def wormhole_walks(world: World, server: str) -> Iterator[Walk]:
    """One call of each of these routes, in order."""
    with httpx.Client(base_url=server) as client:
        for (path, method, operation, is_alias), given in wormhole_requests(world):
            query = {name: value for name, value in given.items() if name != BODY and f"{{{name}}}" not in path}
            answer = client.request(method, path.format(**given), params=query, json=given.get(BODY))
            status = 200 if "200" in operation["responses"] else 501
            assert answer.status_code == status, (path, given, answer.text)
            yield Walk(method, path, operation["operationId"], status, given, answer.json(), (), is_alias)

"""Requests for every operation, with ids of the oracle ledger, and the expected bodies.

The requests cover every form of each operation's answer. A body follows from the oracle's lines; bytes are hex. Mounts
differ by their Defaults and by the routes that only networks have.
"""

from typing import Any, NamedTuple, TypeAlias

from tests.api.chronicle_v1.test_chronicle_v1 import attached, summed
from tests.api.oracle import Json, Oracle
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.clients import bodies

PEER = "12D3KooWFJ8Nq6gHLLvigTpPSbyMmLk35k1TcpJof8Y4y8yFAB32"


class Defaults(NamedTuple):
    """A mount's defaults: items on a page of children or outputs, and whether spent ones are included."""

    page_size: int
    include_spent: bool


NODE = Defaults(page_size=1000, include_spent=False)
CHRONICLE = Defaults(page_size=100, include_spent=True)


class ApiRequest(NamedTuple):
    """Parameters (as on the wire → value) and the response; `varying`: keys with unpredictable values."""

    given: Json
    answer: Any
    varying: tuple[str, ...] = ()


ApiRequests: TypeAlias = dict[str, list[ApiRequest]]
"""Path below the mount, preceded by its method unless it is GET → requests."""

PARTS = ("", "/metadata", "/raw", "/children")
"""The known facts about a message."""

FROM, BEFORE = 1640995300, 1640995500
"""Seconds from which and before which milestones referenced some messages and not others."""


def of_nodes(oracle: Oracle) -> ApiRequests:
    """The requests for a mount with a node's defaults."""
    return of_node_routes(oracle, NODE)


def of_networks(oracle: Oracle) -> ApiRequests:
    """The requests for a network's own mount: a node's routes with Chronicle's defaults, and Chronicle's own."""
    transactions = [entry for entry in of_every_kind(oracle) if "transactionId" in entry]
    return of_node_routes(oracle, CHRONICLE) | {
        "/transactions/{messageId}": [data(attached(oracle, entry), messageId=entry["id"]) for entry in transactions],
        "/transactions/ed25519/{address}": [
            api_request
            for account in oracle.expected["addresses"][9:]
            for api_request in of_transactions(oracle, account)
        ],
        "/analytics": [
            data({"ranges": [summed(oracle, start, end - 1)]}, start=start, end=end) for start, end in ((1, 51), (7, 8))
        ],
        "/sync": [ApiRequest({}, bodies.sync(oracle.expected["milestones"]))],
        "/service": [ApiRequest({}, bodies.SERVICE, ("up_since",))],
    }


FAMILIES = (
    "analytics/v2", "core/v1", "core/v2", "explorer/v2", "indexer/v1", "mqtt/v1", "poi/v1", "supply/v1", "v1",
    "wormhole/events", "wormhole/v1",
)  # fmt: skip
"""The names below /api that are not networks."""


def of_the_server(networks: list[str]) -> ApiRequests:
    """The routes outside all mounts."""
    protocols = {name: "wormhole" if name == WORMHOLE else "iota" for name in networks}
    return {
        "/": [ApiRequest({}, bodies.index(protocols))],
        "/health": [ApiRequest({}, {"isHealthy": True, "networks": networks})],
        "/api/routes": [ApiRequest({}, {"routes": sorted([*FAMILIES, *networks])})],
        "/api/service": [ApiRequest({}, bodies.SERVICE, ("up_since",))],
    }


def data(body: Any, **given: Any) -> ApiRequest:
    """A request with its answer in the node's envelope."""
    return ApiRequest(given, {"data": body})


def rejected(message: str) -> list[ApiRequest]:
    """A request that returns 501."""
    return [ApiRequest({}, {"error": {"code": "501", "message": message}})]


def of_every_kind(oracle: Oracle) -> list[Json]:
    """Messages of the ledger: one of each payload, inclusion state and other property that changes the body's form."""
    found: dict[tuple[Any, ...], Json] = {}
    for entry in oracle.entries:
        payload = entry["message"]["payload"] or {"type": None}
        inside = payload["essence"] if payload["type"] == 0 else payload
        found.setdefault(
            (
                payload["type"],
                bool(inside.get("payload") or inside.get("receipt")),
                any(unlock["type"] for unlock in payload.get("unlockBlocks", [])),
                *sorted(set(entry["metadata"]) | {entry["metadata"].get("ledgerInclusionState", "")}),
            ),
            entry,
        )
    return list(found.values())


def of_node_routes(oracle: Oracle, defaults: Defaults) -> ApiRequests:
    """The node's routes, with Chronicle's additional parameters."""
    return {
        "/info": [data(bodies.info(oracle))],
        **of_messages(oracle, defaults),
        **of_outputs(oracle, defaults),
        **of_milestones(oracle),
        "/treasury": [data(oracle.expected["treasury"])],
        "/receipts": [data(bodies.receipts(oracle))],
        "/receipts/{migratedAt}": [data(bodies.receipts(oracle, index), migratedAt=index) for index in (100, 101, 102)],
        "/tips": rejected("an archive has no tips: it attaches no messages"),
        "/peers": rejected("an archive has no peers"),
        "/peers/{peerId}": [each._replace(given={"peerId": PEER}) for each in rejected("an archive has no peers")],
        "post /messages": rejected("an archive takes no messages: send them to a node of the network"),
    }


def of_messages(oracle: Oracle, defaults: Defaults) -> ApiRequests:
    """Messages by id, by index, and those of transactions."""
    entries = of_every_kind(oracle)
    included = [entry for entry in entries if entry is oracle.included.get(entry.get("transactionId", ""))]

    def of(part: str, entry: Json, **given: Any) -> list[ApiRequest]:
        if part == "/raw":
            return [ApiRequest(given, entry["bytes_hex"])]
        if part != "/children":
            return [data(entry[{"": "message", "/metadata": "metadata"}[part]], **given)]
        ids = oracle.children.get(entry["id"], [])

        def answer(items: list[Any], **more: Any) -> ApiRequest:
            page_size = more.get("page_size", defaults.page_size)
            return data(bodies.children(entry["id"], items, page_size), **given, **more)

        return [
            answer(ids),
            answer(ids[::-1], sort="oldest", page_size=7),
            answer(bodies.message_records(oracle, ids), expanded=True),
            answer(within(oracle, ids), start_timestamp=FROM, end_timestamp=BEFORE),
        ]

    return {
        **{
            "/messages/{messageId}" + part: [
                each for entry in entries for each in of(part, entry, messageId=entry["id"])
            ]
            for part in PARTS
        },
        **{
            "/transactions/{transactionId}/included-message" + part: [
                each for entry in included for each in of(part, entry, transactionId=entry["transactionId"])
            ]
            for part in PARTS
        },
        "/messages": [
            *(each for tag, ids in oracle.tagged.items() for each in of_index(oracle, tag, ids)),
            ApiRequest({"index": next(iter(oracle.tagged)), "proof": "complete"}, unproved(oracle)),
        ],
    }


def unproved(oracle: Oracle) -> Json:
    """The response to `proof=complete`. The oracle ledger is shorter than an interval."""
    message = f"an interval of 100 milestones in the signed log of {oracle.expected['network']} is not in this archive"
    return {"error": {"code": "404", "message": message}}


def within(oracle: Oracle, message_ids: list[str]) -> list[str]:
    """Messages that a milestone between FROM and BEFORE references."""
    return [each for each in message_ids if FROM <= oracle.time_of.get(oracle.milestone_of[each], 0) < BEFORE]


def of_index(oracle: Oracle, tag: str, ids: list[str]) -> list[ApiRequest]:
    """All requests for an index."""
    text = bytes.fromhex(tag)
    as_text = [data(bodies.tagged(tag, ids), index=text.decode(), utf8=True)] if text.isascii() else []
    return [
        data(bodies.tagged(tag, ids), index=tag),
        *as_text,
        data(bodies.tagged(tag, bodies.message_records(oracle, ids)), index=tag, expanded=True),
        data(bodies.tagged(tag, within(oracle, ids)), index=tag, start_timestamp=FROM, end_timestamp=BEFORE),
    ]


def of_outputs(oracle: Oracle, defaults: Defaults) -> ApiRequests:
    """Outputs, outputs of addresses, and balances."""
    accounts = oracle.expected["addresses"]
    found = [next(key for key, each in oracle.outputs.items() if each["isSpent"] is spent) for spent in (True, False)]
    requests: ApiRequests = {
        "/outputs/{outputId}": [data(oracle.outputs[key], outputId=key) for key in found],
        "/outputs/{transactionId}/{outputIndex}": [
            data(oracle.outputs[key], transactionId=key[:64], outputIndex=oracle.outputs[key]["outputIndex"])
            for key in found
        ],
    }
    for path, name, by_default in (
        ("/addresses/{address}", "bech32", NODE),
        ("/addresses/ed25519/{address}", "address", defaults),
    ):
        requests[path] = [data(bodies.balance(oracle, each), address=each[name]) for each in accounts]
        requests[f"{path}/tx-history"] = [
            api_request
            for each in accounts[9:]
            for api_request in (
                data(bodies.history(oracle, each["address"]), address=each[name]),
                data(bodies.history(oracle, each["address"], 999), address=each[name], pageSize=999),
            )
        ]
        requests[f"{path}/outputs"] = [
            api_request for each in accounts[9:] for api_request in of_address(oracle, each, name, by_default)
        ]
    return requests


def of_address(oracle: Oracle, account: Json, name: str, defaults: Defaults) -> list[ApiRequest]:
    """All requests for the outputs of an address by that spelling; they fit on one page."""
    address = account["address"]
    unspent, everything = (
        oracle.address_outputs(address, output_type=None, include_spent=spent) for spent in (False, True)
    )
    listed = everything if defaults.include_spent else unspent
    allowances = oracle.address_outputs(address, output_type=1, include_spent=True)
    never = [key for key, each in oracle.conflicting_outputs.items() if each["output"]["address"]["address"] == address]
    records = bodies.output_records(oracle, [*everything, *never])

    def answer(items: list[Any], **more: Any) -> ApiRequest:
        page_size = more.get("page_size", defaults.page_size)
        return data(bodies.address_outputs(oracle, address, items, page_size), address=account[name], **more)

    return [
        answer(listed),
        answer(unspent, **{"include-spent": False}),
        answer(everything, page_size=1000, **{"include-spent": True}),
        answer(allowances, type=1, **{"include-spent": True}),
        answer(records, expanded=True, included=False, **{"include-spent": True}),
    ]


def of_transactions(oracle: Oracle, account: Json) -> list[ApiRequest]:
    """The transactions of an address, all and by inclusion state."""
    address = account["address"]
    without = {"ledger_conflicting": False}, {"ledger_included": False}
    states = ("included",), ("conflicting",)
    return [
        data(bodies.transactions(oracle, address, ("included", "conflicting")), address=address),
        *(
            data(bodies.transactions(oracle, address, left), address=address, **given)
            for given, left in zip(without, states, strict=True)
        ),
    ]


def of_milestones(oracle: Oracle) -> ApiRequests:
    """Milestones, their messages and their changes."""
    lines = {
        line["milestone"]["index"]: line for line in oracle.milestones if line["milestone"]["index"] in (1, 10, 50)
    }
    return {
        "/milestones/{index}": [data(bodies.milestone(line), index=index) for index, line in lines.items()],
        "/milestones/{index}/messages": [
            data(bodies.milestone_messages(line), index=index) for index, line in lines.items()
        ],
        "/milestones/{index}/utxo-changes": [
            data(line["milestone"]["utxoChanges"], index=index) for index, line in lines.items()
        ],
    }

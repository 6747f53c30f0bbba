"""Paths of every kind of page, with ids from the input files of the ledgers."""

from collections.abc import Iterator
from typing import NamedTuple

from api.web.page import View
from api.web.views import VIEWS
from db.schema.protocols import IOTA
from db.schema.protocols import WORMHOLE as WORMHOLE_PROTOCOL
from tests.api.networks import GAPS, MISSING, TWO_ERAS
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.api.wormhole_network import UNSIGNED, World
from tests.clients.api_requests import of_every_kind
from tests.etl.two_eras import FIRST
from tests.web.hostile import NETWORK as HOSTILE


class Visited(NamedTuple):
    """A page to open. `main`: the first of its kind, which is opened in every view."""

    path: str
    status: int = 200
    main: bool = False


def pages(oracle: Oracle, stardust: StardustLedger, world: World) -> list[Visited]:
    """At least one page of each kind; the first of each kind is a main one. Kinds without a view are left out."""
    found: list[Visited] = []
    kinds: set[View] = set()
    chrysalis = oracle.expected["network"]
    for path, status in (
        *of_all_networks(),
        *((f"/{chrysalis}{path}", status) for path, status in of_chrysalis(oracle)),
        *((f"/{stardust.network}{path}", status) for path, status in of_stardust(stardust)),
        *of_further_networks(oracle),
        *((f"/{WORMHOLE}{path}", 200) for path in of_wormhole(world)),
    ):
        kind = kind_of(path)
        if kind is not None:
            # A page that is not there looks like other errors.
            found.append(Visited(path, status, main=kind not in kinds and status == 200))
            kinds |= {kind} if status == 200 else set()
    return found


NETWORKS = {
    "permatest-1": IOTA,
    "permatest-2": IOTA,
    TWO_ERAS: IOTA,
    GAPS: IOTA,
    HOSTILE: IOTA,
    WORMHOLE: WORMHOLE_PROTOCOL,
}


def kind_of(path: str) -> View | None:
    """The view that serves a path; None if there is no such view."""
    parts = path.partition("?")[0].strip("/").split("/")
    protocol = NETWORKS.get(parts[0])
    for view in VIEWS:
        pattern = view.path.strip("/").split("/")
        pairs = list(zip(pattern, parts, strict=False))
        is_here = len(pattern) == len(parts) and all(name.startswith("{") or name == part for name, part in pairs)
        if is_here and (protocol is not None) == (pattern[0] == "{network}") and view.protocol in {None, protocol}:
            return view
    return None


def of_all_networks() -> Iterator[tuple[str, int]]:
    yield "/", 200
    yield "/search", 200
    yield "/search?q=10", 200
    yield "/search?q=no-such-thing", 200
    yield f"/{TWO_ERAS}/milestone/99999", 404


def of_chrysalis(oracle: Oracle) -> Iterator[tuple[str, int]]:
    """Pages below the network of the Chrysalis oracle ledger."""
    account = oracle.expected["addresses"][0]
    yield "", 200
    yield "/milestone/10", 200
    yield from ((f"/message/{each['id']}", 200) for each in of_every_kind(oracle))
    conflict = next(each["id"] for each in oracle.expected["conflicts"])
    yield f"/message/{conflict}", 200
    yield f"/message/{oracle.pending[0]['id']}", 200
    yield f"/message/{'ab' * 32}", 404
    transaction = next(iter(oracle.included))
    yield f"/transaction/{transaction}", 200
    yield from ((f"/output/{each}", 200) for each in some_outputs(oracle.outputs))
    yield f"/address/{account['bech32']}", 200
    yield from ((f"/address/{account['bech32']}?tab={tab}", 200) for tab in ("outputs", "statement", "tokens", "nfts"))
    yield f"/tag/{next(iter(oracle.tagged))}", 200
    yield "/day/2022-01-01", 200
    yield "/coverage", 200
    yield "/statistics", 200
    yield "/richest", 200
    yield "/api", 200


def some_outputs(outputs: dict[str, Json]) -> list[str]:
    """An output that was spent, one that was not, and one that existed before the first milestone."""
    spent = next(key for key, each in outputs.items() if each["isSpent"] and each["messageId"].strip("0"))
    unspent = next(key for key, each in outputs.items() if not each["isSpent"] and each["messageId"].strip("0"))
    first = next(key for key, each in outputs.items() if not each["messageId"].strip("0"))
    return [spent, unspent, first]


def of_stardust(stardust: StardustLedger) -> Iterator[tuple[str, int]]:
    """Pages below the network of the Stardust oracle ledger."""
    chains = stardust.expected["chains"]
    yield "", 200
    yield "/milestone/10", 200
    payloads: dict[object, str] = {}
    for each in stardust.entries:
        payloads.setdefault((each["block"].get("payload") or {}).get("type"), each["id"])
    yield from ((f"/block/{each}", 200) for each in payloads.values())
    yield f"/block/{stardust.expected['conflicts'][0]['id']}", 200
    yield f"/transaction/{next(iter(stardust.included))}", 200
    yield from ((f"/output/{each}", 200) for each in outputs_of_every_form(stardust))
    holder = next(each for each in stardust.expected["addresses"] if each["tokens"])
    yield f"/address/{holder['bech32']}", 200
    yield f"/address/{holder['bech32']}?tab=tokens", 200
    yield f"/alias/{chains['A']}", 200
    yield from ((f"/foundry/{chains['F1']}?tab={tab}", 200) for tab in ("supply", "holders", "transfers"))
    yield f"/nft/{chains['N1']}", 200
    yield f"/tag/{next(iter(stardust.expected['taggedIndex'])).removeprefix('0x')}", 200
    yield "/coverage", 200
    yield "/statistics?group=Holders", 200
    yield "/statistics?measure=transferredTokens&with=holders&by=milestone", 200
    yield "/api", 200


def outputs_of_every_form(stardust: StardustLedger) -> list[str]:
    """One output for each combination of kind, conditions and features."""
    found: dict[object, str] = {}
    for key, each in stardust.outputs.items():
        output = each["output"]
        conditions = tuple(condition["type"] for condition in output.get("unlockConditions", ()))
        found.setdefault((output["type"], conditions), key)
    return list(found.values())


def of_further_networks(oracle: Oracle) -> Iterator[tuple[str, int]]:
    """Pages of the network of both eras, and of the one with gaps."""
    yield f"/{TWO_ERAS}", 200
    yield f"/{TWO_ERAS}/milestone/{FIRST - 1}", 200
    yield f"/{TWO_ERAS}/milestone/{FIRST}", 200
    yield f"/{TWO_ERAS}/address/{oracle.expected['addresses'][0]['bech32']}", 200
    yield f"/{TWO_ERAS}/coverage", 200
    yield f"/{GAPS}", 200
    yield f"/{GAPS}/coverage", 200
    yield f"/{GAPS}/coverage?start={MISSING[0] - 5}&end={MISSING[-1] + 5}", 200
    yield f"/{GAPS}/richest", 200
    yield f"/{GAPS}/milestone/{MISSING[3]}", 404
    yield f"/{GAPS}/address/{oracle.expected['addresses'][0]['bech32']}?tab=outputs", 200
    yield f"/{GAPS}/api", 200


def of_wormhole(world: World) -> Iterator[str]:
    """Paths below the Wormhole network."""
    kinds: dict[str, str] = {}
    for message in world.verified:
        kinds.setdefault(message.served["payload_kind"], message.served["message_id"])
    transfer = world.transfers[0].served
    yield ""
    yield "/operations"
    yield f"/operations?sourceChain={transfer['emitter_chain']}&from=2022-01-01"
    yield from (f"/vaa/{each}" for each in kinds.values())
    unverified = next(each.served for each in world.canonical.values() if not each.served["quorum"])
    yield f"/vaa/{unverified['message_id']}"
    chain, emitter, sequence = UNSIGNED.split(":")
    yield f"/vaa/{chain}/{emitter}/{int(sequence)}"
    yield from (f"/operation/{each}" for each in kinds.values())
    yield f"/emitter/{transfer['emitter_chain']}/{transfer['emitter_address']}"
    yield f"/emitter/1/{4:064x}"
    yield f"/address/{transfer['decoded']['to_address']}"
    yield f"/transaction/{next(each.tx_id for each in world.verified if each.tx_id)}"
    yield "/day/2024-07-04"
    yield "/coverage"
    yield "/guardians"
    yield "/api"

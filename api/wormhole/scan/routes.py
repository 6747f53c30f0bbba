"""wormholescan's VAAs: by id, chain, emitter, transaction and application, and decoded.

Paths, parameters and bodies are wormholescan's. A list has messages signed by a quorum, newest first by the timestamp
of the body. `pagination.next`, always empty in wormholescan, is a cursor here.
"""

import base64
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from api.handlers.listing_proofs import expect_whole
from api.http.body import Body
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import payload_json, properties_json, spans, vaa_document
from api.wormhole.params import (
    APPS,
    AppId,
    Chain,
    Contiguity,
    Cursor,
    Emitter,
    NewestFirst,
    PageNumber,
    PageSize,
    ParsedPayload,
    SentFrom,
    SentTo,
    SequenceNumber,
    ToChain,
    TxHash,
    emitter_of,
)
from api.wormhole.responses import (
    ChainCounts,
    DuplicatedVaas,
    ParsedVaa,
    PostedVaa,
    VaaAnswer,
    VaaList,
    VaaListOfEmitter,
)
from api.wormhole.scan.vaa_pages import contracts_of, documents, lister, numbered, span_of
from db.listing.page import Page
from db.queries.wormhole.daily import count_by_chain, each_day_of_all
from db.queries.wormhole.gaps import find_before, list_missing
from db.queries.wormhole.vaas import ANY, Filter, find_bodies, get_verified
from db.store import NotFound
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.wormhole.keys import transaction_key
from ledger.wormhole.payloads import decode_payload
from ledger.wormhole.vaa import Vaa, decode_vaa

BODY_MAX_BYTES = 1 << 20
"""Governance messages have the largest payloads, a few kB."""


def parse_posted(document: Any) -> Vaa:
    """Returns the VAA of a body {"vaa": base64}. Raises JsonError."""
    text = document.get("vaa") if isinstance(document, dict) else None
    if not isinstance(text, str) or not text:
        raise JsonError("vaa", "a VAA in base64")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise JsonError("vaa", f"a VAA in base64 ({error})") from error
    try:
        return decode_vaa(data)
    except CodecError as error:
        raise JsonError("vaa", f"a VAA ({error})") from error


Posted: TypeAlias = Annotated[Vaa, Body("A VAA", PostedVaa, parse_posted, BODY_MAX_BYTES)]


async def vaas(
    network: NetworkMount,
    tx_hash: TxHash,
    app_id: AppId,
    with_payload: ParsedPayload,
    first_us: SentFrom,
    last_us: SentTo,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    cursor: Cursor,
) -> Json:
    """Returns messages of all chains except Pythnet, or those of a transaction.

    With `appId` each has its `payload`.
    """
    source = ("recent", "") if tx_hash is None else ("transaction", transaction_key(tx_hash))
    where = ANY if app_id is None else Filter(app_id, lambda row: row["payload_kind"] in APPS[app_id])
    pages = lister(network, [source], where, span=span_of(first_us, last_us), newest=newest)
    found = await numbered(pages, page, page_size, cursor)
    return await listed(network, found, with_payload=with_payload or app_id is not None)


async def vaas_of_chain(
    network: NetworkMount,
    chain: Chain,
    with_payload: ParsedPayload,
    first_us: SentFrom,
    last_us: SentTo,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    cursor: Cursor,
) -> Json:
    """Returns messages of a chain."""
    pages = lister(network, [("chain", str(chain))], ANY, span=span_of(first_us, last_us), newest=newest)
    found = await numbered(pages, page, page_size, cursor)
    return await listed(network, found, with_payload=with_payload)


async def vaas_of_emitter(
    network: NetworkMount,
    chain: Chain,
    emitter: Emitter,
    to_chain: ToChain,
    with_payload: ParsedPayload,
    first_us: SentFrom,
    last_us: SentTo,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    cursor: Cursor,
    proof: Contiguity,
) -> Json:
    """Returns messages of a contract."""
    expect_whole(proof, {"no toChain": to_chain is None})
    address = emitter_of(network, chain, emitter)
    source = ("emitter", f"{chain}/{address}")
    where = ANY if to_chain is None else Filter(f"to {to_chain}", lambda row: row["target_chain"] == to_chain)
    pages = lister(network, [source], where, span=span_of(first_us, last_us), newest=newest)
    found = await numbered(pages, page, page_size, cursor)
    answer = await listed(network, found, with_payload=with_payload)
    if proof is None:
        return answer
    return answer | {"sequences": await sequences_of(network, chain, address, answer["data"])}


async def vaa(
    network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber, with_payload: ParsedPayload
) -> Json:
    """Returns a message by its id."""
    row, written = await get_verified(network.store, chain, emitter_of(network, chain, emitter), sequence)
    return {"data": vaa_document(contracts_of(network), row, written, with_payload=with_payload)}


async def duplicated_vaas(network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber) -> Json:
    """Returns the other bodies under the same id.

    `verified` is an extension, because forged bodies are included.
    """
    bodies = await find_bodies(network.store, chain, emitter_of(network, chain, emitter), sequence)
    signed = [row for row in bodies if row["digest"]]
    if not signed:
        raise NotFound(f"VAA {chain}/{emitter}/{sequence}")
    left_out = ("isDuplicated", "appId")
    documents = [
        {name: value for name, value in vaa_document(contracts_of(network), row, None).items() if name not in left_out}
        | {"sequence": row["sequence"], "verified": row["verified"]}
        for row in signed
        if not row["canonical"]
    ]
    return {"data": documents}


async def vaa_counts(network: NetworkMount) -> Json:
    """Returns the number of verified messages by chain, over all time."""
    counts: Counter[int] = Counter()
    async for _, rows in each_day_of_all(network.store, "totals"):
        counts.update(count_by_chain(rows))
    return {"data": [{"chainId": chain, "count": count} for chain, count in sorted(counts.items())]}


async def parse_vaa(network: NetworkMount, posted: Posted) -> Json:
    """Returns a decoded VAA, whoever signed it.

    The status is 404 if the payload cannot be decoded.
    """
    payload = decode_payload(contracts_of(network), posted)
    parsed = payload_json(payload)
    if parsed is None:
        raise NotFound("the meaning of this payload")
    return {"parsedPayload": parsed, "standardizedProperties": properties_json(posted, payload)}


async def listed(network: NetworkMount, page: Page, *, with_payload: bool) -> Json:
    """Returns a page of VAAs."""
    found = await documents(network, page, with_payload=with_payload)
    return {"data": found, "pagination": {"next": page.cursor or ""}}


async def sequences_of(network: NetworkMount, chain: int, emitter: str, shown: Sequence[Json]) -> Json:
    """Returns which sequences are missing between the message before a page and its last one."""
    if not shown:
        return {"first": None, "last": None, "missing": [], "isComplete": False}
    sequences = [each["sequence"] for each in shown]
    lowest, last = min(sequences), max(sequences)
    before = await find_before(network.store, chain, emitter, lowest)
    first = 0 if before is None else before + 1
    inside = await list_missing(network.store, chain, emitter, lowest, last)
    missing = [(first, lowest - 1), *inside] if first < lowest else inside
    return {"first": str(first), "last": str(last), "missing": spans(missing), "isComplete": not missing}


VAAS = (
    Operation("/vaas", vaas, VaaList),
    Operation("/vaas/vaa-counts", vaa_counts, ChainCounts),
    Operation("/vaas/parse", parse_vaa, ParsedVaa, (404,), method="POST"),
    Operation("/vaas/{chain}", vaas_of_chain, VaaList),
    Operation("/vaas/{chain}/{emitter}", vaas_of_emitter, VaaListOfEmitter),
    Operation("/vaas/{chain}/{emitter}/{sequence}", vaa, VaaAnswer, (404,)),
    Operation("/vaas/{chain}/{emitter}/{sequence}/duplicated", duplicated_vaas, DuplicatedVaas, (404,)),
)

"""wormholescan's operations and transactions: a message with what it moved, its sender and its transaction.

Both are the same messages in two shapes, by address, transaction, chains and application. Unknown fields are absent or
empty, as in wormholescan. Fields about the target chain and about fees are left out, because no table has them.
"""

import base64
from collections.abc import Callable, Sequence

from api.http.errors import BadParameter
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import message_id, payload_json, properties_json, rfc3339
from api.wormhole.params import (
    APPS,
    TX_HASH,
    Address,
    AddressParam,
    AppIds,
    Chain,
    Cursor,
    Emitter,
    ExclusiveAppId,
    From,
    NewestFirst,
    OperationsPageSize,
    PageNumber,
    PageSize,
    ParsedPayload,
    PayloadTypes,
    SentFrom,
    SentTo,
    SequenceNumber,
    SourceChains,
    TargetChains,
    To,
    TxHash,
    emitter_of,
)
from api.wormhole.scan.activity_responses import (
    AddressVaas,
    OperationItem,
    OperationList,
    TransactionItem,
    TransactionList,
)
from api.wormhole.scan.vaa_pages import contracts_of, documents, lister, numbered, span_of
from db.listing.page import Page
from db.queries.wormhole.vaas import ANY, Filter, find_payloads, get_verified, read_listed
from db.store import NotFound, Row
from ledger.wormhole.addresses import format_emitter
from ledger.wormhole.keys import address_keys, transaction_key
from ledger.wormhole.payloads import decode_payload
from ledger.wormhole.vaa import decode_vaa

Shape = Callable[[str, Row, Row | None, Row | None], Json]
"""Builds an item from the network's contracts, a row of `vaas`, the published message, and the column families of
its payload.
"""


async def operations(
    network: NetworkMount,
    address: AddressParam,
    tx_hash: TxHash,
    source_chains: SourceChains,
    target_chains: TargetChains,
    app_ids: AppIds,
    exclusive: ExclusiveAppId,  # noqa: ARG001 (a message has one application at most)
    payload_types: PayloadTypes,
    first_us: From,
    last_us: To,
    page: PageNumber,
    page_size: OperationsPageSize,
    newest: NewestFirst,
    cursor: Cursor,
) -> Json:
    """Returns messages with what they moved.

    Filters: an address or a transaction, source and target chains, applications, payload types, a time range.
    """
    sources = sources_of(address, tx_hash, source_chains)
    kinds = kinds_of(app_ids, payload_types)
    if kinds is not None and not kinds:
        sources = []
    where = ANY
    if kinds is not None or target_chains is not None or source_chains is not None:
        where = Filter(
            f"{None if kinds is None else sorted(kinds)} {source_chains} {target_chains}",
            lambda row: (
                (kinds is None or row["payload_kind"] in kinds)
                and (source_chains is None or row["emitter_chain"] in source_chains)
                and (target_chains is None or row["target_chain"] in target_chains)
            ),
        )
    pages = lister(network, sources, where, span=span_of(first_us, last_us), newest=newest)
    return await shaped(network, await numbered(pages, page, page_size, cursor), "operations", operation_json)


async def operation(network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber) -> Json:
    """Returns a message with what it moved."""
    return await one(network, chain, emitter, sequence, operation_json)


async def transactions(
    network: NetworkMount,
    address: AddressParam,
    tx_hash: TxHash,
    first_us: SentFrom,
    last_us: SentTo,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    cursor: Cursor,
) -> Json:
    """Returns messages with what they moved, of all chains except Pythnet or of an address or a transaction."""
    sources = sources_of(address, tx_hash, None)
    pages = lister(network, sources, ANY, span=span_of(first_us, last_us), newest=newest)
    found = await numbered(pages, page, page_size, cursor)
    return await shaped(network, found, "transactions", transaction_json)


async def transaction(network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber) -> Json:
    """Returns a message with what it moved."""
    return await one(network, chain, emitter, sequence, transaction_json)


async def vaas_of_address(
    network: NetworkMount,
    address: Address,
    with_payload: ParsedPayload,
    first_us: SentFrom,
    last_us: SentTo,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    cursor: Cursor,
) -> Json:
    """Returns messages that an address sent or receives.

    The address may have any format. The status is 404 if there are none.
    """
    span = span_of(first_us, last_us)
    pages = lister(network, sources_of(address, None, None), ANY, span=span, newest=newest)
    found = await numbered(pages, page, page_size, cursor)
    if not found.rows and not page and cursor is None and found.cursor is None:
        raise NotFound(f"any message of address {address}")
    held = await documents(network, found, with_payload=with_payload)
    return {"data": {"vaas": held}, "pagination": {"next": found.cursor or ""}}


def sources_of(address: str | None, tx_hash: str | None, source_chains: Sequence[int] | None) -> list[tuple[str, str]]:
    """Returns the lookup for the most selective parameter. Raises BadParameter for an address together with a
    transaction.
    """
    if address is not None and tx_hash is not None:
        raise BadParameter(TX_HASH.name, "nothing beside address", tx_hash)
    if address is not None:
        return [(role, key) for key in address_keys(address) for role in ("sender", "recipient")]
    if tx_hash is not None:
        return [("transaction", transaction_key(tx_hash))]
    if source_chains is not None:
        return [("chain", str(each)) for each in sorted(set(source_chains))]
    return [("recent", "")]


def kinds_of(app_ids: AppIds, payload_types: PayloadTypes) -> set[str] | None:
    """Returns the payload kinds of these applications and types, None for any."""
    by_app = None if app_ids is None else {kind for each in app_ids for kind in APPS[each]}
    by_type = None if payload_types is None else {kind for kinds in payload_types for kind in kinds}
    if by_app is None or by_type is None:
        return by_type if by_app is None else by_app
    return by_app & by_type


async def shaped(network: NetworkMount, page: Page, name: str, shape: Shape) -> Json:
    """Returns a page in either shape. `pagination` is an extension."""
    found = await read_listed(network.store, page.rows)
    payloads = await find_payloads(network.store, [(row["row_key"], row["digest"]) for row, _ in found])
    items = [
        shape(contracts_of(network), row, written, payload_row)
        for (row, written), payload_row in zip(found, payloads, strict=True)
    ]
    return {name: items, "pagination": {"next": page.cursor or ""}}


async def one(network: NetworkMount, chain: int, emitter: str, sequence: int, shape: Shape) -> Json:
    """Returns a message in either shape."""
    row, written = await get_verified(network.store, chain, emitter_of(network, chain, emitter), sequence)
    (payload_row,) = await find_payloads(network.store, [(row["row_key"], row["digest"])])
    return shape(contracts_of(network), row, written, payload_row)


def operation_json(contracts: str, row: Row, written: Row | None, payload_row: Row | None) -> Json:
    """Returns a message as an operation."""
    vaa = decode_vaa(row["signed_vaa"])
    payload = decode_payload(contracts, vaa)
    properties = properties_json(vaa, payload)
    content = payload_json(payload)
    found: Json = {
        "id": message_id(row),
        "emitterChain": vaa.emitter_chain,
        "emitterAddress": {
            "hex": vaa.emitter_address.hex(),
            "native": format_emitter(contracts, vaa.emitter_chain, vaa.emitter_address),
        },
        "sequence": str(vaa.sequence),
        "vaa": {
            "raw": base64.b64encode(row["signed_vaa"]).decode(),
            "guardianSetIndex": vaa.guardian_set_index,
            "isDuplicated": row["digests"] > 1,
        },
        "content": known(payload=content) | {"standarizedProperties": properties},
    }
    tx_hash = hash_of(written)
    sender = None if payload_row is None else payload_row["chain_sender_address"]
    if tx_hash or sender:
        found["sourceChain"] = {
            "chainId": vaa.emitter_chain,
            "timestamp": rfc3339(vaa.timestamp),
            "transaction": {"txHash": tx_hash or ""},
            "from": sender or properties["fromAddress"],
            "status": "confirmed",
        }
    amounts = amounts_of(payload_row)
    return found | known(data=amounts if any(amounts.values()) else None)


def transaction_json(contracts: str, row: Row, written: Row | None, payload_row: Row | None) -> Json:
    """Returns a message as a transaction."""
    vaa = decode_vaa(row["signed_vaa"])
    payload = decode_payload(contracts, vaa)
    return {
        "id": message_id(row),
        "timestamp": rfc3339(vaa.timestamp),
        **known(txHash=hash_of(written)),
        "emitterChain": vaa.emitter_chain,
        "emitterAddress": vaa.emitter_address.hex(),
        "emitterNativeAddress": format_emitter(contracts, vaa.emitter_chain, vaa.emitter_address),
        **known(**amounts_of(payload_row), payload=payload_json(payload)),
        "standardizedProperties": properties_json(vaa, payload),
    }


def known(**values: object) -> Json:
    """Returns the values that are neither None nor empty."""
    return {name: value for name, value in values.items() if value}


def hash_of(written: Row | None) -> str | None:
    """Returns the transaction of a message, if any source has it."""
    text = None if written is None else written["initiating_tx_id"]
    return None if text is None else transaction_key(text)


def amounts_of(payload_row: Row | None) -> dict[str, str]:
    """Returns what a transfer moved. A field is empty if the symbol or the price of its token is unknown."""
    found = payload_row or {}
    return {
        "symbol": found.get("details_origin_symbol") or "",
        "tokenAmount": found.get("details_amount") or "",
        "usdAmount": found.get("details_notional_usd") or "",
    }


OPERATIONS = (
    Operation("/operations", operations, OperationList),
    Operation("/operations/{chain}/{emitter}/{sequence}", operation, OperationItem, (404,)),
    Operation("/transactions", transactions, TransactionList),
    Operation("/transactions/{chain}/{emitter}/{sequence}", transaction, TransactionItem, (404,)),
    Operation("/address/{address}", vaas_of_address, AddressVaas, (404,)),
)

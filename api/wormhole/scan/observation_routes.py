"""wormholescan's observations: which guardian signed which message, and when.

A list has no envelope. It goes message by message, newest first, and inside a message by guardian address. A page
starts after an observation, given by its id, or has a number; then the pages before it are read.
"""

import base64

from api.http.errors import BadParameter
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.json import message_id, rfc3339
from api.wormhole.params import (
    OBSERVED,
    PAGE,
    SKIPPED_MAX,
    Chain,
    Digest,
    Emitter,
    NewestFirst,
    Observed,
    ObservedLast,
    PageNumber,
    PageSize,
    SequenceNumber,
    Signer,
    TxHash,
    emitter_of,
)
from api.wormhole.responses import ObservationAnswer, Observations
from api.wormhole.signatures import signatures_of_body
from db.queries.wormhole.vaas import find_bodies, list_signatures, list_vaas, listed_at, read_listed
from db.store import Bound, NotFound, Row
from db.together import together
from ledger.wormhole.addresses import format_checksummed
from ledger.wormhole.keys import transaction_key

VAAS_AT_ONCE = 20
"""Messages whose signatures are read together. Each has up to about 20."""


async def observations(
    network: NetworkMount,
    tx_hash: TxHash,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    last: ObservedLast,
) -> list[Json]:
    """Returns observations of messages of all chains except Pythnet, or of the messages of a transaction."""
    source = ("recent", "") if tx_hash is None else ("transaction", transaction_key(tx_hash))
    return await listed(network, source, page, page_size, last, newest=newest)


async def observations_of_chain(
    network: NetworkMount, chain: Chain, page: PageNumber, page_size: PageSize, newest: NewestFirst, last: ObservedLast
) -> list[Json]:
    """Returns observations of the messages of a chain."""
    return await listed(network, ("chain", str(chain)), page, page_size, last, newest=newest)


async def observations_of_emitter(
    network: NetworkMount,
    chain: Chain,
    emitter: Emitter,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    last: ObservedLast,
) -> list[Json]:
    """Returns observations of the messages of a contract."""
    source = ("emitter", f"{chain}/{emitter_of(network, chain, emitter)}")
    return await listed(network, source, page, page_size, last, newest=newest)


async def observations_of_vaa(
    network: NetworkMount,
    chain: Chain,
    emitter: Emitter,
    sequence: SequenceNumber,
    page: PageNumber,
    page_size: PageSize,
    newest: NewestFirst,
    last: ObservedLast,
) -> list[Json]:
    """Returns observations of a message, of every body under its id.

    The list is empty if there are none.
    """
    found = await of_message(network, chain, emitter, sequence, newest=newest)
    first = page * page_size
    if last is not None:
        first = 1 + position_of(last, found)
    return found[first : first + page_size]


async def observation(
    network: NetworkMount, chain: Chain, emitter: Emitter, sequence: SequenceNumber, signer: Signer, digest: Digest
) -> Json:
    """Returns the observation of a body by a guardian."""
    address = format_checksummed(bytes.fromhex(signer))
    for each in await of_message(network, chain, emitter, sequence, newest=True):
        if each["id"].endswith(f"/{address}/{digest}"):
            return each
    raise NotFound(f"an observation of {digest} by {address}")


async def listed(
    network: NetworkMount, source: tuple[str, str], page: int, page_size: int, last: Observed | None, *, newest: bool
) -> list[Json]:
    """Returns a page of observations after the `last` one, or by its number. Raises BadParameter if too many results
    precede it.
    """
    skipped = 0 if last else page * page_size
    if skipped > SKIPPED_MAX:
        raise BadParameter(PAGE.name, f"pages that begin within {SKIPPED_MAX} results, or a cursor", str(page))
    start = await place_of(network, last) if last else None
    found: list[Json] = []
    cursor: str | None = None
    while len(found) < skipped + page_size:
        vaas = await list_vaas(
            network.store, [source], start=start, newest=newest, page_size=VAAS_AT_ONCE, cursor=cursor
        )
        rows = await read_listed(network.store, vaas.rows)
        for each in await together(*(of_body(network, row, written, last) for row, written in rows)):
            found += each
        cursor = vaas.cursor
        if cursor is None:
            break
    return found[skipped : skipped + page_size]


async def of_message(network: NetworkMount, chain: int, emitter: str, sequence: int, *, newest: bool) -> list[Json]:
    """Returns the observations of every body under an id, by the bodies' timestamps, then by guardian."""
    bodies = await find_bodies(network.store, chain, emitter_of(network, chain, emitter), sequence)
    written = next((row for row in bodies if not row["digest"]), None)
    signed = [row for row in bodies if row["digest"]]
    signed.sort(key=lambda row: (row["timestamp"], row["canonical"], row["digest"]), reverse=newest)
    return [each for row in signed for each in await of_body(network, row, written)]


def position_of(last: Observed, found: list[Json]) -> int:
    """Returns the position of an observation in a list. Raises BadParameter if it is not there."""
    place = f"{last.chain}/{last.emitter}/{last.sequence}"
    searched = f"{place}/{format_checksummed(bytes.fromhex(last.guardian))}/{last.digest}"
    for position, each in enumerate(found):
        if each["id"] == searched:
            return position
    raise BadParameter(OBSERVED.name, OBSERVED.expected, place)


async def place_of(network: NetworkMount, last: Observed) -> Bound:
    """Returns the position of an observation's message in lists. Raises BadParameter if it is unknown."""
    bodies = await find_bodies(network.store, last.chain, last.emitter, last.sequence)
    for row in bodies:
        if row["digest"] == last.digest:
            return listed_at(row)
    raise BadParameter(OBSERVED.name, OBSERVED.expected, f"{last.chain}/{last.emitter}/{last.sequence}")


async def of_body(network: NetworkMount, row: Row, written: Row | None, last: Observed | None = None) -> list[Json]:
    """Returns the observations of a row of `vaas`, by guardian, after the `last` one if it belongs to this body."""
    signatures = signatures_of_body(await list_signatures(network.store, row["row_key"]), row["digest"])
    transaction = None if written is None else written["initiating_tx_id"]
    before = last.guardian if last is not None and last.digest == row["digest"] else ""
    return [document(row, each, transaction) for each in signatures if each["guardian_address"] > before]


def document(row: Row, signature: Row, transaction: str | None) -> Json:
    """Returns a row of vaa_signatures as an observation of a row of `vaas`."""
    guardian = format_checksummed(bytes.fromhex(signature["guardian_address"]))
    seen = None if signature["observed_at"] is None else rfc3339(signature["observed_at"] / 1000)
    return {
        "sequence": int(row["sequence_key"]),
        "id": f"{message_id(row)}/{guardian}/{row['digest']}",
        "emitterChain": row["emitter_chain"],
        "emitterAddr": row["emitter_address"],
        "hash": base64.b64encode(bytes.fromhex(row["digest"])).decode(),
        "txHash": None if transaction is None else base64.b64encode(transaction_bytes(transaction)).decode(),
        "guardianAddr": guardian,
        "signature": base64.b64encode(signature["signature"]).decode(),
        "updatedAt": seen,
        "indexedAt": seen,
    }


def transaction_bytes(text: str) -> bytes:
    """Returns the bytes of a transaction id: of its hex, or of the text if it is not hex."""
    try:
        return bytes.fromhex(transaction_key(text))
    except ValueError:
        return text.encode()


OBSERVATIONS = (
    Operation("/observations", observations, Observations),
    Operation("/observations/{chain}", observations_of_chain, Observations),
    Operation("/observations/{chain}/{emitter}", observations_of_emitter, Observations),
    Operation("/observations/{chain}/{emitter}/{sequence}", observations_of_vaa, Observations),
    Operation("/observations/{chain}/{emitter}/{sequence}/{signer}/{hash}", observation, ObservationAnswer, (404,)),
)

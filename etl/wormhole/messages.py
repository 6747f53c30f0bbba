"""Computes the rows of one message in every table from its cells. The result does not depend on the order of cells.

Invariants:
1. Of several cells of a column, the earliest counts, then the one with the smaller value. A cell without a time is
   later than all others.
2. Of several signed forms of a body, the one that verifies is served, then the one with the most signatures, then the
   one with the smallest bytes; if none verifies, one that is assembled from single signatures (assembly.py). Of several
   bodies, the one that verifies, then the earliest, then the smaller digest.
3. Written facts are stored in rows without a digest, facts of a VAA in rows with its digest. So no row has to be
   deleted when more becomes known, and messages may arrive in any order.
4. Details of a transfer are computed from its token's home metadata and its price on that day.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from db.schema.event_columns import FAMILY_COLUMNS, PUBLICATION, QUORUM, SIGNATURES, STATE
from db.schema.wormhole_tables import SEQUENCE_RANGE_DIGITS
from db.utc_days import DAY_S
from etl.wormhole.bodies import Body, find_bodies
from etl.wormhole.cells import Cell, state_set
from etl.wormhole.transfers import Row, Token, details, kind_of, payload_columns, token_of
from etl.wormhole.value_keys import body_keys, transaction_keys, written_keys
from etl.wormhole.values import read_value, summand
from ledger.wormhole.chains import PYTHNET
from ledger.wormhole.ids import row_key, sequence_key
from ledger.wormhole.keys import ID_DIGITS, address_key, transaction_key
from ledger.wormhole.payloads import AssetMeta, NftTransfer, TokenTransfer, TokenTransferWithPayload
from ledger.wormhole.verify import History

NO_DIGEST = b""
UNKNOWN_SET = -1
"""guardian_set_index of a state whose column name contains none; the publication contains it, if it exists."""

_LAST = 2**63 - 1


@dataclass(slots=True)
class Counted:
    """The values for the daily sums of a message that is served and verified. `kind` is its payload_kind."""

    day: int
    emitter_chain: int
    emitter_address: bytes
    kind: str
    target_chain: int | None = None
    token_key: str | None = None
    recipient: bytes | None = None
    amount: str | None = None
    notional_usd: str | None = None


@dataclass(slots=True)
class LookupRows:
    """Rows of vaa_lookups that differ in kind and key only. `row` contains their other columns."""

    keys: list[tuple[str, str]]
    row: Row


@dataclass(slots=True)
class Rows:
    """The rows of a message by table. `counted` is None if no body is served and verified."""

    vaas: list[Row] = field(default_factory=list)
    vaa_signatures: list[Row] = field(default_factory=list)
    vaa_states: list[Row] = field(default_factory=list)
    vaa_payloads: list[Row] = field(default_factory=list)
    vaa_lookups: list[LookupRows] = field(default_factory=list)
    counted: Counted | None = None


def assemble(network: str, cells: Sequence[Cell], history: History, token: Token) -> Rows:
    """Computes all rows of a message from all its cells. `token` contains the facts about the token of its transfer."""
    first = cells[0]
    name = row_key(first.chain, first.emitter, first.sequence)
    bodies = find_bodies(network, cells, history)
    written = _written(cells)
    rows = Rows()
    if any(cell.family != QUORUM for cell in cells):
        publication = {each: written[each] for each in written if each in _PUBLISHED}
        rows.vaas.append(_place(first) | {"digest": NO_DIGEST, "row_key": name} | publication)
    verified = [each for each in bodies if each.verdict.verified]
    served = min(bodies, key=_precedence) if bodies else None
    named, values = _named(cells), written_keys(cells)
    for body in bodies:
        head = _place(first) | {"digest": body.digest, "row_key": name}
        is_served = body is served
        rows.vaas.append(head | _message(body, is_served=is_served, digests=len(verified or bodies)))
        columns = payload_columns(network, body.payload)
        rows.vaa_lookups.append(_lookups(head, body, named, values | body_keys(columns), is_served=is_served))
        columns |= details(body.payload, token, body.vaa.timestamp, day_of(body))
        if columns:
            rows.vaa_payloads.append({"row_key": name, "digest": body.digest} | columns)
        if is_served and body.verdict.verified:
            rows.counted = _counted(first, body, columns | _details_written(written))
    rows.vaa_lookups.append(_written_lookups(_place(first) | {"row_key": name}, named, values))
    payload = {each: written[each] for each in written if each not in _PUBLISHED}
    if payload:
        rows.vaa_payloads.append({"row_key": name, "digest": NO_DIGEST} | payload)
    rows.vaa_signatures = _signatures(name, cells, bodies, history)
    rows.vaa_states = _states(name, cells)
    return rows


_PUBLISHED = frozenset(each.column for each in FAMILY_COLUMNS.values() if each.family == PUBLICATION)


def _order(cell: Cell) -> tuple[int, bytes]:
    return (_LAST if cell.time_ms is None else cell.time_ms), cell.value


def _written(cells: Iterable[Cell]) -> Row:
    """The written values by column, independent of the event plan's column names."""
    by_column: dict[str, list[tuple[tuple[int, bytes], Cell]]] = defaultdict(list)
    for cell in cells:
        known = FAMILY_COLUMNS.get((cell.family, cell.qualifier))
        if known is not None and known.column != "emitter":
            by_column[known.column].append((_order(cell), cell))
    found: Row = {}
    for column, held in by_column.items():
        _, cell = min(held, key=lambda pair: pair[0])
        found[column] = read_value(FAMILY_COLUMNS[cell.family, cell.qualifier].form, cell.value)
    return found


def _named(cells: Iterable[Cell]) -> set[tuple[str, str]]:
    """All columns and values that were ever written in columns by which messages are looked up."""
    found = set()
    for cell in cells:
        known = FAMILY_COLUMNS.get((cell.family, cell.qualifier))
        if known is not None and known.column in _LOOKED_UP:
            found.add((known.column, str(read_value(known.form, cell.value))))
    return found


_LOOKED_UP = frozenset({"initiating_tx_id", "chain_sender_address", "chain_receiver_address"})


def _precedence(body: Body) -> tuple[bool, int, bytes]:
    return not body.verdict.verified, _LAST if body.seen_ms is None else body.seen_ms, body.digest


def _place(cell: Cell) -> Row:
    key = sequence_key(cell.sequence)
    return {
        "emitter_chain": cell.chain,
        "emitter_address": cell.emitter,
        "seq_range": key[:SEQUENCE_RANGE_DIGITS],
        "sequence_key": key,
    }


def _message(body: Body, *, is_served: bool, digests: int) -> Row:
    vaa, verdict = body.vaa, body.verdict
    return {
        "version": 1,
        "guardian_set_index": vaa.guardian_set_index,
        "nonce": vaa.nonce,
        "sequence": str(vaa.sequence),
        "signed_vaa": body.data,
        "observed_at": body.seen_ms,
        "timestamp": vaa.timestamp,
        "consistency_level": vaa.consistency_level,
        "payload_kind": kind_of(body.payload),
        "verified": verdict.verified,
        "fault": verdict.fault or "",
        "reason": verdict.reason,
        "expired": verdict.expired,
        "signature_count": len(vaa.signatures),
        "valid_signatures": verdict.valid_signatures,
        "canonical": is_served,
        "digests": digests,
    }


def _details_written(written: Row) -> Row:
    """The written details of a transfer. They contain the prices at that time, so they precede computed ones."""
    return {name: value for name, value in written.items() if name in ("details_amount", "details_notional_usd")}


def day_of(body: Body) -> int:
    """The day (since 1970) for which a message counts: when it was seen, else its own timestamp."""
    seconds = body.vaa.timestamp if body.seen_ms is None else body.seen_ms // 1000
    return seconds // DAY_S


def _lookups(
    head: Row, body: Body, named: Iterable[tuple[str, str]], values: Iterable[str], *, is_served: bool
) -> LookupRows:
    payload, vaa = body.payload, body.vaa
    chain, emitter = head["emitter_chain"], head["emitter_address"]
    moved = payload if isinstance(payload, TokenTransfer | TokenTransferWithPayload | NftTransfer) else None
    keys = {("chain", str(chain)), ("emitter", f"{chain}/{emitter.hex()}"), *(("value", each) for each in values)}
    keys.add(("id", body.digest.hex()[:ID_DIGITS]))
    if chain != PYTHNET:
        keys.add(("recent", ""))
    if moved is not None:
        keys.add(("recipient", moved.to_address.hex()))
    about = payload if isinstance(payload, AssetMeta) else moved
    if about is not None:
        keys.add(("token", f"{about.token_chain}/{about.token_address.hex()}"))
    if isinstance(payload, TokenTransferWithPayload):
        keys.add(("sender", payload.from_address.hex()))
    target = None if moved is None else moved.to_chain
    for column, text in named:
        if column == "initiating_tx_id":
            keys.add(("transaction", transaction_key(text)))
        elif column == "chain_sender_address":
            keys.add(("sender", address_key(chain, text)))
        elif target is not None:
            keys.add(("recipient", address_key(target, text)))
    row = {name: head[name] for name in _LISTED} | {
        "digest": body.digest,
        "day": vaa.timestamp // DAY_S,
        "timestamp": vaa.timestamp,
        "observed_at": body.seen_ms,
        "verified": body.verdict.verified,
        "canonical": is_served,
        "payload_kind": kind_of(payload),
        "target_chain": target,
    }
    return LookupRows(sorted(keys), row)


_LISTED = ("emitter_chain", "emitter_address", "sequence_key", "row_key")


def _written_lookups(head: Row, named: Iterable[tuple[str, str]], values: Iterable[str]) -> LookupRows:
    """Lookups by written facts, with or without a VAA. Their time is unknown, so they have day 0."""
    row = {name: head[name] for name in _LISTED} | {
        "digest": NO_DIGEST,
        "day": 0,
        "timestamp": 0,
        "verified": False,
        "canonical": False,
    }
    keys = {("value", each) for each in values}
    keys.update(*(transaction_keys(text) for column, text in named if column == "initiating_tx_id"))
    return LookupRows(sorted(keys), row)


def _signatures(name: str, cells: Iterable[Cell], bodies: Sequence[Body], history: History) -> list[Row]:
    """A row per guardian and body from VAAs, and a row per guardian whose signature was written separately, with its
    time. If both have the same signature, the first also contains the time.
    """
    written: dict[bytes, list[tuple[int, bytes]]] = defaultdict(list)
    for cell in cells:
        if cell.family == SIGNATURES:
            written[bytes.fromhex(cell.qualifier)].append(_order(cell))
    rows = [
        _signature(name, NO_DIGEST, guardian, signature, None, time_ms)
        for guardian, held in written.items()
        for time_ms, signature in [min(held)]
    ]
    for body in bodies:
        found: dict[bytes, tuple[bytes, int]] = {}
        for vaa, verdict in body.forms:
            known, set_index = history.get(vaa.guardian_set_index), vaa.guardian_set_index
            addresses = () if known is None else known.addresses
            for (place, signature), signer in zip(vaa.signatures, verdict.signers, strict=True):
                if signer is not None and place < len(addresses) and addresses[place] == signer:
                    if signer in found:
                        seen, index = found[signer]
                        found[signer] = min(seen, signature), min(index, set_index)
                    else:
                        found[signer] = signature, set_index
        for guardian, (signature, index) in found.items():
            times = [time_ms for time_ms, each in written.get(guardian, ()) if each == signature]
            rows.append(_signature(name, body.digest, guardian, signature, index, min(times) if times else _LAST))
    return rows


def _signature(
    name: str, signed: bytes, guardian: bytes, signature: bytes, guardian_set_index: int | None, time_ms: int
) -> Row:
    return {
        "row_key": name,
        "digest": signed,
        "guardian_address": guardian,
        "signature": signature,
        "guardian_set_index": guardian_set_index,
        "observed_at": None if time_ms == _LAST else time_ms,
    }


def _states(name: str, cells: Iterable[Cell]) -> list[Row]:
    rows: dict[tuple[int, int, int], bytes] = {}
    for cell in cells:
        if cell.family == STATE:
            index = state_set(cell.qualifier)
            place = UNKNOWN_SET if index is None else index, cell.time_ms or 0, cell.value[0]
            rows[place] = min(rows.get(place, cell.value), cell.value)
    return [
        {
            "row_key": name,
            "guardian_set_index": index,
            "updated_at": time_ms,
            "signature_count": count,
            "signatures": value,
        }
        for (index, time_ms, count), value in sorted(rows.items())
    ]


def _counted(cell: Cell, body: Body, columns: Row) -> Counted:
    payload = body.payload
    found = Counted(day_of(body), cell.chain, cell.emitter, kind_of(payload))
    if isinstance(payload, TokenTransfer | TokenTransferWithPayload):
        found.target_chain = payload.to_chain
        found.token_key = token_of(payload)
        found.recipient = payload.to_address
        found.amount = summand(columns.get("details_amount"))
        found.notional_usd = summand(columns.get("details_notional_usd"))
    return found

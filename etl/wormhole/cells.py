"""Converts input lines to cells of the event tables: (message, family, column, time, value), the form of all sources.

A signed VAA is a cell of QuorumState, its transaction one of MessagePublication, so equal facts of different sources
are stored once. An invalid line is rejected as a whole, with the field and what was expected. Spark is not used here.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from db.model import Type
from db.schema.event_columns import (
    FAMILIES,
    FAMILY_COLUMNS,
    PUBLICATION,
    QUORUM,
    RENAMED,
    SIGNATURES,
    SIGNED_VAA,
    STATE,
)
from etl.wormhole.values import ValueFormError, read_value
from ledger.reader import CodecError
from ledger.wormhole.ids import MessageIdError, parse_row_key, row_key, sequence_key
from ledger.wormhole.vaa import VERSION, decode_signatures, decode_vaa

TX_COLUMN = "InitiatingTxID"

_STATE = re.compile(r"Signatures(?::([0-9]{1,10}))?", re.ASCII)
_GUARDIAN = re.compile(r"(?:0x)?([0-9a-fA-F]{40})", re.ASCII)
_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)", re.ASCII)

SIGNATURE_BYTES = 65
MOST = {Type.SMALLINT: 2**15 - 1, Type.INT: 2**31 - 1}
"""Maximum of numeric columns that have fewer than 64 bits."""

TEXT_BYTES = 4_096
"""Maximum bytes of a text. Some texts are lookup keys, and a key of a cluster has at most 65,535 bytes."""

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""


class LineError(ValueError):
    """A line has an unknown form. The message contains the field and what was expected."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One fact. `time_ms` is when it was written, or when the message was observed; None if the source does not contain
    it.
    """

    chain: int
    emitter: bytes
    sequence: int
    family: str
    qualifier: str
    time_ms: int | None
    value: bytes

    @property
    def key(self) -> tuple[int, bytes, str]:
        """Chain, emitter and sequence_key."""
        return self.chain, self.emitter, sequence_key(self.sequence)


def read_line(line: bytes) -> list[Cell]:
    """Reads the cells of a line, or of a file with the bytes of one VAA. Raises LineError."""
    if line[:1] == bytes([VERSION]):
        return [_signed(line, None)]
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise LineError(f"expected JSON, or the bytes of a VAA: {error}") from error
    if not isinstance(document, dict):
        raise LineError("expected a JSON object")
    if "families" in document:
        return list(_exported(document))
    if "family" in document:
        return [_enrichment(document)]
    return list(_vaa_line(document))


def _vaa_line(document: Mapping[str, Any]) -> Iterator[Cell]:
    name = next((each for each in ("vaa", "vaaBytes", "hex") if each in document), None)
    if name is None:
        raise LineError("expected a VAA as `vaa`, `vaaBytes` or `hex`, a cell as `family`, or a row as `families`")
    signed = _signed(_bytes(document[name], name), _time(document.get("observed_at"), "observed_at"))
    yield signed
    transaction = document.get("tx_id")
    if transaction is not None:
        if not isinstance(transaction, str) or not transaction:
            raise LineError(f"tx_id: expected a text, found {transaction!r}")
        yield _cell(
            signed.chain, signed.emitter, signed.sequence, PUBLICATION, TX_COLUMN, signed.time_ms, transaction.encode()
        )


def _enrichment(document: Mapping[str, Any]) -> Cell:
    value = document.get("value")
    if isinstance(value, str):
        data = value.encode()
    elif "base64" in document:
        data = _base64(document["base64"], "base64")
    else:
        raise LineError(f"value: expected a text, or bytes as `base64`, found {value!r}")
    family, column = (_named(document.get(name), name) for name in ("family", "column"))
    return _cell(*_key(document), family, column, _time(document.get("time"), "time"), data)


def _exported(document: Mapping[str, Any]) -> Iterator[Cell]:
    key = _key(document)
    for family, columns in _object(document["families"], "families").items():
        for column, cells in _object(columns, f"families.{family}").items():
            where = f"families.{family}.{column}"
            if not isinstance(cells, list):
                raise LineError(f"{where}: expected a list of cells")
            for number, each in enumerate(cells):
                cell = _object(each, f"{where}[{number}]")
                value = _base64(cell.get("value"), f"{where}[{number}].value")
                yield _cell(*key, family, column, _time(cell.get("time"), f"{where}[{number}].time"), value)


def _cell(
    chain: int, emitter: bytes, sequence: int, family: str, qualifier: str, time_ms: int | None, value: bytes
) -> Cell:
    """A cell with the value of its column and the names of the last event plan."""
    family = RENAMED.get(family, family)
    cell = Cell(chain, emitter, sequence, family, qualifier, time_ms, value)
    where = f"{family}:{qualifier}"
    if family == QUORUM and qualifier == SIGNED_VAA:
        found = _signed(value, time_ms)
        if found.key != cell.key:
            named = row_key(found.chain, found.emitter, found.sequence)
            raise LineError(f"{where}: expected a VAA of the row, found one of {named}")
        return found
    if family == SIGNATURES:
        guardian = _GUARDIAN.fullmatch(qualifier)
        if guardian is None:
            raise LineError(f"{where}: expected the address of a guardian, 40 hex digits")
        if len(value) != SIGNATURE_BYTES:
            raise LineError(f"{where}: expected a signature of {SIGNATURE_BYTES} bytes, found {len(value)}")
        return Cell(chain, emitter, sequence, family, guardian[1].lower(), time_ms, value)
    if family == STATE:
        if _STATE.fullmatch(qualifier) is None:
            raise LineError(f"{where}: expected Signatures or Signatures:INDEX")
        try:
            decode_signatures(value)
        except CodecError as error:
            raise LineError(f"{where}: {error}") from error
        return cell
    known = FAMILY_COLUMNS.get((family, qualifier))
    if known is None:
        columns = [column for each, column in FAMILY_COLUMNS if each == family] or [SIGNED_VAA]
        expected = ", ".join(columns) if family in FAMILIES else f"a family of {', '.join(FAMILIES)}"
        raise LineError(f"{where}: no such column; expected {expected}")
    try:
        found_value = read_value(known.form, value)
    except ValueFormError as error:
        raise LineError(f"{where}: {error}") from error
    if isinstance(found_value, int) and found_value > MOST.get(known.kind, found_value):
        raise LineError(f"{where}: expected a number up to {MOST[known.kind]}, found {found_value}")
    if isinstance(found_value, str) and len(value) > TEXT_BYTES:
        raise LineError(f"{where}: expected a text of at most {TEXT_BYTES} bytes, found {len(value)}")
    return cell


def state_set(qualifier: str) -> int | None:
    """The guardian set in the name of a VAAState column; None if the name contains none."""
    match = _STATE.fullmatch(qualifier)
    return int(match[1]) if match is not None and match[1] is not None else None


def _signed(data: bytes, time_ms: int | None) -> Cell:
    try:
        vaa = decode_vaa(data)
    except CodecError as error:
        raise LineError(f"vaa: {error}") from error
    return Cell(vaa.emitter_chain, vaa.emitter_address, vaa.sequence, QUORUM, SIGNED_VAA, time_ms, data)


def _key(document: Mapping[str, Any]) -> tuple[int, bytes, int]:
    try:
        return parse_row_key(_named(document.get("row_key"), "row_key"))
    except MessageIdError as error:
        raise LineError(f"row_key: {error}") from error


def _named(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise LineError(f"{name}: expected a text, found {value!r}")
    return value


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise LineError(f"{name}: expected an object")
    return value


def _bytes(value: object, name: str) -> bytes:
    """Decodes hex or base64. Text that is both is hex, because no VAA starts with such bytes in base64."""
    if isinstance(value, str) and (match := _HEX.fullmatch(value)):
        return bytes.fromhex(match[1])
    return _base64(value, name)


def _base64(value: object, name: str) -> bytes:
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except binascii.Error:
        pass
    raise LineError(f"{name}: expected bytes in base64, found {str(value)[:40]!r}")


def _time(value: object, name: str) -> int | None:
    """Parses milliseconds since 1970 or an RFC 3339 timestamp."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST_MS:
        return value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is not None and moment.tzinfo is not None:
            milliseconds = round(moment.timestamp() * 1000)
            if 0 <= milliseconds <= LATEST_MS:
                return milliseconds
    raise LineError(f"{name}: expected milliseconds since 1970 or a time as 2021-09-21T01:52:26.038Z, found {value!r}")

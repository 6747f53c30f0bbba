"""Reads token lists: CSV with a header, plain or compressed. The columns are `chain`, `address` (64 hex digits),
`symbol`, `decimals` and, optional, `name` and `coingecko_id`.

Other columns are ignored. An invalid file is rejected as a whole.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from db.schema.wormhole_tables import symbol_key
from etl.lake.wormhole_tables import TOKEN_LIST
from etl.sources.checksum_files import reject_changed
from etl.sources.limits import DEFAULT, TooLarge
from etl.sources.unpacking import open_stream

COLUMNS = ("chain", "address", "symbol", "decimals")

CHAIN_MAX, DECIMALS_MAX = 2**16 - 1, 2**8 - 1

_ADDRESS = re.compile("[0-9a-f]{64}", re.ASCII)
_NUMBER = re.compile("[0-9]{1,5}", re.ASCII)


def read_token_list(path: Path) -> pa.Table:
    """The TOKEN_LIST in a file. Raises ValueError with file and line, and FileNotFoundError."""
    reject_changed(path)
    with open_stream(str(path)) as file:
        reader = csv.DictReader(_lines(file))
        try:
            return _read_rows(path, reader)
        except (csv.Error, OSError, EOFError, TooLarge, UnicodeDecodeError) as error:
            raise ValueError(f"{path}:{reader.line_num + 1}: {error}") from error


def _lines(file: BinaryIO) -> Iterator[str]:
    most = DEFAULT.line_bytes or 0
    encoding = "utf-8-sig"
    while line := file.readline(most + 1):
        if len(line) > most:
            raise TooLarge(f"a line of at most {most} bytes expected")
        yield line.decode(encoding)
        encoding = "utf-8"


def _read_rows(path: Path, reader: "csv.DictReader[str]") -> pa.Table:
    found: dict[str, dict[str, object]] = {}
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(f"{path}:1: expected a header with {', '.join(COLUMNS)}; {', '.join(missing)} is missing")
    for row in reader:
        try:
            token = _read(row)
        except ValueError as error:
            raise ValueError(f"{path}:{reader.line_num}: {error}") from error
        key = str(token["token_key"])
        if found.setdefault(key, token) != token:
            raise ValueError(f"{path}:{reader.line_num}: expected one description of {key}, found another")
    return pa.Table.from_pylist([found[key] for key in sorted(found)], schema=TOKEN_LIST)


def _read(row: dict[str, str | None]) -> dict[str, object]:
    address, symbol = (row["address"] or "").lower(), _text(row["symbol"])
    if _ADDRESS.fullmatch(address) is None:
        raise ValueError(f"address: expected 64 hex digits, found {address!r}")
    if not symbol:
        raise ValueError(f"symbol: expected a text, found {symbol!r}")
    return {
        "token_key": f"{_number('chain', row, CHAIN_MAX)}/{address}",
        "decimals": _number("decimals", row, DECIMALS_MAX),
        "symbol": symbol,
        "name": _text(row.get("name")),
        "coin_gecko_id": _text(row.get("coingecko_id")) or None,
        "symbol_key": symbol_key(symbol),
    }


def _number(name: str, row: dict[str, str | None], most: int) -> int:
    text = row[name] or ""
    if _NUMBER.fullmatch(text) is None or int(text) > most:
        raise ValueError(f"{name}: expected a number up to {most}, found {text!r}")
    return int(text)


def _text(value: str | None) -> str:
    return (value or "").replace("\0", "").strip()

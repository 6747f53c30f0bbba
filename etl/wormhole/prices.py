"""Reads price files: CSV in UTF-8 with a header. The columns are `date`, `price_usd` and `token_key` (or `symbol` if it
is empty).

Other columns are ignored. An invalid file is rejected as a whole.
"""

import csv
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from db.schema.wormhole_tables import symbol_key
from etl.sources.checksum_files import reject_changed
from etl.wormhole.values import plain

PRICES = pa.schema({"token_key": pa.string(), "day": pa.int32(), "price_usd": pa.string()})
COLUMNS = ("date", "price_usd")
NAMES = ("token_key", "symbol")

MOST_ZEROS = 40
"""Decimal places by which a price may differ from 1. More would be an error of the file."""

_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TOKEN = re.compile(r"(0|[1-9][0-9]{0,4})/([0-9a-f]{64})", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()


def read_prices(path: Path) -> pa.Table:
    """The PRICES in a file. Raises ValueError with file and line, and FileNotFoundError."""
    reject_changed(path)
    # Spreadsheets write a byte order mark in front of the header. `_lines` rejects the escapes of invalid bytes.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.DictReader(_lines(file))
        try:
            found = _read_rows(path, reader)
        except UnicodeError:
            raise ValueError(f"{path}:{reader.line_num + 1}: expected CSV in UTF-8, not compressed") from None
        except csv.Error as error:
            raise ValueError(f"{path}:{reader.line_num + 1}: invalid CSV: {error}") from error
    keys = sorted(found)
    return pa.table([[key for key, _ in keys], [day for _, day in keys], [found[each] for each in keys]], schema=PRICES)


def _lines(file: TextIO) -> Iterator[str]:
    for line in file:
        line.encode()
        yield line


def _read_rows(path: Path, reader: "csv.DictReader[str]") -> dict[tuple[str, int], str]:
    found: dict[tuple[str, int], str] = {}
    fields = reader.fieldnames or ()
    missing = [name for name in COLUMNS if name not in fields]
    if not set(NAMES) & set(fields):
        missing.append(" or ".join(NAMES))
    if missing:
        expected = ", ".join((*COLUMNS, " or ".join(NAMES)))
        raise ValueError(f"{path}:1: expected a header with {expected}; {', '.join(missing)} is missing")
    for row in reader:
        try:
            key, day, price = _read(row)
        except ValueError as error:
            raise ValueError(f"{path}:{reader.line_num}: {error}") from error
        if found.setdefault((key, day), price) != price:
            raise ValueError(f"{path}:{reader.line_num}: expected one price of {key} for a day, found another")
    return found


def _read(row: dict[str, str]) -> tuple[str, int, str]:
    day, price, key, symbol = (row.get(name) or "" for name in (*COLUMNS, *NAMES))
    if not key and symbol:
        key = symbol_key(symbol)
    elif _TOKEN.fullmatch(key) is None:
        expected = "CHAIN/ADDRESS, the address 64 hex digits, or none and a symbol"
        raise ValueError(f"token_key: expected {expected}, found {key!r}")
    number = Decimal(price) if _NUMBER.fullmatch(price) else None
    if number is None or abs(number.adjusted()) > MOST_ZEROS:
        expected = f"a number that is not negative, of 1e-{MOST_ZEROS} to 1e{MOST_ZEROS}"
        raise ValueError(f"price_usd: expected {expected}, found {price[:80]!r}")
    try:
        return key, date.fromisoformat(day if _DAY.fullmatch(day) else "").toordinal() - _EPOCH, plain(number)
    except ValueError:
        raise ValueError(f"date: expected YYYY-MM-DD, found {day[:80]!r}") from None

"""Inputs of the tests of VAAs and the expected results, computed from the records alone."""

import base64
import json
from collections import defaultdict
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

from tests.ledger.wormhole.cases import shared, shipped

PRICED = ("2021-10-01", "2023-01-01")
"""The days of a price file."""

DAY_S = 86_400


def records(*networks: str) -> list[dict[str, Any]]:
    """Every available record of those networks."""
    return [each for each in (shared() or shipped()) if each["network"] in networks]


def vaa_line(record: dict[str, Any], **more: Any) -> str:
    data = record["hex"] if record["sequence"] % 2 else base64.b64encode(bytes.fromhex(record["hex"])).decode()
    return json.dumps({"vaa": data} | more)


def cell_line(row_key: str, family: str, column: str, value: str, time: Any = None) -> str:
    return json.dumps({"row_key": row_key, "family": family, "column": column, "value": value, "time": time})


def row_line(row_key: str, *cells: tuple[str, str, bytes, int]) -> str:
    families: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for family, column, value, time in cells:
        families[family][column].append({"value": base64.b64encode(value).decode(), "time": time})
    return json.dumps({"row_key": row_key, "families": families})


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def token_key(record: dict[str, Any]) -> str:
    return f"{record['decoded']['token_chain']}/{record['decoded']['token_address']}"


def metas(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Token → what its verified AssetMeta contains."""
    reported = [each for each in found if each["quorum"] and each["payload_kind"] == "asset_meta"]
    return {token_key(each): each["decoded"] for each in reported}


def write_prices(path: Path, found: list[dict[str, Any]]) -> Path:
    """Two prices for each token that moves, the last by the token's symbol. Tokens with both use their own price."""
    keys = sorted({token_key(each) for each in found if each["payload_kind"].startswith("token_transfer")})
    named = metas(found)
    *_, called = [key for key in keys if key in named]
    symbols = [(named[called]["symbol"].lower(), 77)]
    symbols += [(named[key]["symbol"], 9_999) for key in keys if key in named and key != called]
    names = [(f"{key},X", at) for at, key in enumerate(keys, 1) if key != called]
    names += [(f",{symbol}", price) for symbol, price in symbols]
    lines = [f"{name},{day},{price}.{day[3]}5" for day in PRICED for name, price in names]
    return write_lines(path, ["token_key,symbol,date,price_usd", *lines])


def price_on(token: str, day: int, found: list[dict[str, Any]], priced: Path) -> Decimal | None:
    """The price of a token in a price file on a day, counted since 1970."""
    rows = [line.split(",") for line in priced.read_text().splitlines()[1:]]
    symbol = metas(found).get(token, {"symbol": ""})["symbol"].upper()
    own = [row for row in rows if row[0] == token]
    by_symbol = [row for row in rows if not row[0] and row[1].upper() == symbol]
    reported = sorted((since(row[2]), Decimal(row[3])) for row in own or by_symbol)
    return max([each for each in reported if each[0] <= day], default=min(reported, default=(0, None)))[1]


def since(day: str) -> int:
    """The number of days from 1970 to that one."""
    return (date.fromisoformat(day) - date(1970, 1, 1)).days


def expected_days(found: list[dict[str, Any]], priced: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """vaa_daily from the records: by measure, day, emitter, target, token and address."""
    verified = {each["row_key"]: each for each in found if each["quorum"]}
    decimals = {key: reported["decimals"] for key, reported in metas(found).items()}
    days: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add(key: tuple[Any, ...], amount: Decimal | None = None, usd: Decimal | None = None) -> None:
        row = days.setdefault(key, {"message_count": 0, "amount": None, "notional_usd": None})
        row["message_count"] += 1
        for name, value in (("amount", amount), ("notional_usd", usd)):
            if value is not None:
                row[name] = (row[name] or 0) + value

    for each in verified.values():
        place = each["timestamp"] // DAY_S, each["emitter_chain"], each["emitter_address"]
        add(("totals", *place, 0, "", ""))
        if each["payload_kind"] == "nft_transfer":
            add(("nfts", *place, 0, "", ""))
        if each["payload_kind"].startswith("token_transfer"):
            key, to = token_key(each), each["decoded"]["to_chain"]
            amount = usd = None
            if key in decimals:
                amount = Decimal(each["decoded"]["amount"]) / 10 ** min(8, decimals[key])
                price = price_on(key, place[0], found, priced)
                assert price is not None
                # docs/schema.md: a notional value has 8 digits, half to even.
                usd = (amount * price).quantize(Decimal("1e-8"), ROUND_HALF_EVEN)
            add(("transfers", *place, to, key, ""), amount, usd)
            add(("addresses", *place, to, "", each["decoded"]["to_address"]), None, usd)
    return days

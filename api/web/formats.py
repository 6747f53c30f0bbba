"""Values as text for people: amounts, numbers, times, ids. Nothing is rounded without showing the whole value."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from api.network import NetworkMount
from ledger.base_token import BaseToken

SHORT = 8
"""Characters at each end of a shortened id."""

ADDRESS_FIELDS = ("address", "pubKeyHash", "aliasId", "nftId")
"""Fields with the bytes of an address. A Chrysalis address has the first one."""

LEAST_PERCENT = 0.001

AGES = ((31_557_600, "year"), (2_629_800, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
"""Seconds of each unit of a relative time, the longest first."""


def number(value: float | str) -> str:
    """Writes a number with commas between thousands."""
    whole = value if isinstance(value, int | float) else int(value)
    return f"{whole:,}"


def quantity(text: str) -> str:
    """Writes a number in hex, as amounts of native tokens are, with commas between thousands."""
    return f"{int(text, 16):,}"


def counted(count: int, noun: str) -> str:
    """Writes a number with a noun. The plural has an s, or ies instead of y.

    >>> counted(1, "input")
    '1 input'
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def token_amount(text: str, decimals: int) -> str:
    """Writes an amount of a native token, in hex, in the token's unit."""
    return decimal(int(text, 16), decimals)


def decimal(value: int | str, decimals: int) -> str:
    """Writes an amount of the smallest unit as an exact decimal number, without trailing zeros.

    >>> decimal(1_234_500_000, 6)
    '1,234.5'
    """
    amount = int(value)
    whole, rest = divmod(abs(amount), 10**decimals)
    fraction = f"{rest:0{decimals}}".rstrip("0") if rest else ""
    return f"{'-' if amount < 0 else ''}{whole:,}{f'.{fraction}' if fraction else ''}"


def plain(value: int | str, decimals: int) -> str:
    """Writes an amount of the smallest unit as an exact decimal number that programs read."""
    return decimal(value, decimals).replace(",", "")


def amount(value: int | str, token: BaseToken) -> Markup:
    """Writes an amount of a network's token with its unit. The raw value is the title."""
    raw, text = int(value), decimal(value, token.decimals)
    subunit, unit = escape(token.subunit or "smallest units"), escape(token.unit)
    # Lists have hundreds of amounts. Markup.format would take ten times as long.
    found = f'<data class="amount" value="{raw}" title="{raw:,} {subunit}">{text}&nbsp;{unit}</data>'
    return Markup(found)  # noqa: S704 - numbers and escaped texts


def amount_and_raw(value: int | str, token: BaseToken) -> Markup:
    """Writes an amount with its unit, and the raw value after it."""
    return Markup('{} <span class="raw">({:,}&nbsp;{})</span>').format(
        amount(value, token), int(value), token.subunit or "smallest units"
    )


def age(seconds: float) -> str:
    """Writes a duration in its longest whole unit.

    >>> age(7_300)
    '2 hours'
    """
    for length, unit in AGES:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "0 seconds"


def moment(seconds: float) -> Markup:
    """Writes a time in UTC, and how long ago it is. `seconds`: since 1970."""
    at = datetime.fromtimestamp(seconds, UTC)
    passed = time.time() - seconds
    relative = f"{age(passed)} ago" if passed >= 0 else f"in {age(-passed)}"
    return Markup('<time datetime="{}">{}</time> <span class="ago">{}</span>').format(
        iso(seconds), f"{at:%Y-%m-%d %H:%M:%S} UTC", relative
    )


def day(seconds: float) -> str:
    """Writes a date, or date and time if it is not midnight, in UTC. `seconds`: since 1970."""
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{at:%Y-%m-%d}" if at.hour == at.minute == at.second == 0 else f"{at:%Y-%m-%d %H:%M:%S}"


def iso(seconds: float) -> str:
    """Writes a time as programs read it, in UTC. `seconds`: since 1970."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def short(text: str) -> str:
    """Shortens an id to both of its ends."""
    return text if len(text) <= 2 * SHORT + 3 else f"{text[: SHORT + 2]}…{text[-SHORT:]}"


def bech32(address: Mapping[str, Any], network: NetworkMount) -> str:
    """Writes the JSON of an address, of either era, in Bech32."""
    digits = next(address[name] for name in ADDRESS_FIELDS if name in address)
    return network.bech32(f"{address['type']:02x}{digits.removeprefix('0x')}")


def hex_bytes(text: str) -> bytes:
    """The bytes of hex digits, with or without 0x."""
    return bytes.fromhex(text.removeprefix("0x"))


def readable(data: bytes) -> str | None:
    """The text in bytes that are UTF-8 without control characters except line ends and tabs; otherwise None."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if all(character.isprintable() or character in "\n\r\t" for character in text) else None


def hex_lines(data: bytes) -> str:
    """A hex dump: offset, 16 bytes and their ASCII characters on each line."""
    return "\n".join(
        f"{start:06x}  {data[start : start + 16].hex(' '):<47}  "
        + "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data[start : start + 16])
        for start in range(0, len(data), 16)
    )


def percent(part: float, whole: float) -> str:
    """Writes a share in percent. A share that is not all never reads 100 %, and one that is not nothing never 0 %."""
    share = 100 * part / whole if whole else 0.0
    if 0 < share < LEAST_PERCENT:
        return f"< {LEAST_PERCENT} %"
    return f"{min(share, 99.99) if part < whole else share:.4g} %"


def chart_rows(times: Sequence[float], series: Mapping[str, Sequence[object]]) -> Markup:
    """The rows of the table of a chart: the time and the value of each series. `times`: seconds since 1970."""
    columns = [[f'<td class="right">{escape(value)}</td>' for value in values] for values in series.values()]
    rows = zip(times, *columns, strict=True)
    return Markup("\n".join(f"<tr><td>{day(at)}</td>{''.join(cells)}</tr>" for at, *cells in rows))  # noqa: S704

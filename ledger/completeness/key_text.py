"""Keys of listings as people write them: hex with or without 0x, addresses also as bech32."""

import re

from ledger.completeness.families import ADDRESS_BYTES, Family
from ledger.crypto.bech32 import AddressError, parse_address

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})*)", re.ASCII)


def parse_key(family: Family, text: str) -> bytes:
    """The key of a listing. Raises ValueError with what is expected for one that the family cannot have. Its cause is
    the AddressError of what seems to be a bech32 address.
    """
    found, fault = _HEX.fullmatch(text), None
    key = None if found is None else bytes.fromhex(found[1])
    if key is None and family.key_most == ADDRESS_BYTES:
        try:
            key = parse_address(text)[1]
        except AddressError as error:
            fault = error if "1" in text else None
    if key is None or not family.has_key(key):
        raise ValueError(f"a key of {family.name}: {_expected(family)}") from fault
    return key


def _expected(family: Family) -> str:
    if family.key_least == family.key_most == ADDRESS_BYTES:
        return f"{ADDRESS_BYTES} bytes as hex, or a bech32 address"
    if family.key_least == family.key_most:
        return f"{family.key_most} bytes as hex"
    return f"{family.key_least} to {family.key_most} bytes as hex"

"""Normalizes texts that messages are looked up by, so that all spellings of a value give the same key.

A key that is not hex stays unchanged, except that slashes replace colons, which separate the parts of a key.
"""

import re

from ledger.wormhole.addresses import NativeAddressError, parse_address
from ledger.wormhole.chains import CHAIN_OF_FORM

ID_DIGITS = 8
"""Characters of the beginning of a digest or transaction id that messages are looked up by."""

_HEX = re.compile("[0-9a-fA-F]+", re.ASCII)


def transaction_key(text: str) -> str:
    """The lookup key of a transaction id: hex in lower case without 0x, other forms unchanged.

    Slashes replace colons, because colons separate the parts of a key.
    """
    digits = text.removeprefix("0x").removeprefix("0X")
    return (
        digits.lower()
        if _HEX.fullmatch(digits) and (digits != text or len(digits) in (64, 66))
        else text.replace(":", "/")
    )


def address_key(chain: int, text: str) -> str:
    """The lookup key of an address: its 32 bytes as hex if the text has the chain's form."""
    try:
        return parse_address(chain, text).hex()
    except NativeAddressError:
        return text.replace(":", "/")


def address_keys(text: str) -> list[str]:
    """The lookup keys of an address on an unknown chain: one for each form that it matches."""
    return sorted({address_key(chain, text) for chain in CHAIN_OF_FORM.values()})

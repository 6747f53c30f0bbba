"""Texts that messages are looked up by, of what was written or asked: the same thing in all its spellings is one key.

Rules of this file: a key that is not hex stays as it is, but for colons, which divide the parts of a key.
"""

import re

from ledger.wormhole.addresses import NativeAddressError, parse_address
from ledger.wormhole.chains import CHAIN_OF_FORM

_HEX = re.compile("[0-9a-fA-F]+", re.ASCII)


def transaction_key(text: str) -> str:
    """A transaction id as it is looked up: hex without 0x and in small letters, any other form as it is.

    Colons divide the parts of a key, so none stands in one.
    """
    digits = text.removeprefix("0x").removeprefix("0X")
    return (
        digits.lower()
        if _HEX.fullmatch(digits) and (digits != text or len(digits) in (64, 66))
        else text.replace(":", "/")
    )


def address_key(chain: int, text: str) -> str:
    """An address as it is looked up: the hex of its 32 bytes, where the chain's form can be read."""
    try:
        return parse_address(chain, text).hex()
    except NativeAddressError:
        return text.replace(":", "/")


def address_keys(text: str) -> list[str]:
    """The keys of an address whose chain nobody told: one for each form that it may be of."""
    return sorted({address_key(chain, text) for chain in CHAIN_OF_FORM.values()})

"""Formats and parses 32-byte addresses in the native form of each chain.

Invariants:
1. An address that its chain's form cannot express is formatted as 64 hex digits without 0x, and parsed from that.
2. On chains with both lengths, accounts are 20 bytes after twelve zeros.
3. Tables contain the names of contracts and coins that no rule gives.

Sources: event_database/cloud_functions/process-transfer.go at 83e0f053f^ of wormhole-foundation/wormhole,
common/domain/chainid.go of wormhole-foundation/wormhole-explorer.
"""

import base64
import binascii
import re

import base58

from ledger.crypto import bech32
from ledger.crypto.hashes import keccak256, sha512_256
from ledger.wormhole.chains import find_chain

ADDRESS_BYTES = 32

_ZEROS = bytes(12)
_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{1,64})", re.ASCII)
_ASSET = re.compile(r"[0-9]{1,63}", re.ASCII)
_ALGORAND_CHARS = 58
_ALGORAND_CHECKSUM = 4

EMITTER_NAMES = {
    (15, "148410499d3fcda4dcfd68a1ebfcdddda16ab28326448d4aae4d2f0465cdfcb7"): "contract.portalbridge.near",
    (21, "ccceeb29348f71bdd22ffef43a2a19c1f5b5e17c5cca5411529120182672ade5"): (
        "0xc57508ee0d4595e5a8728974a4a93a787d38f339757230d441e895422c07aba9"
    ),
    (22, "0000000000000000000000000000000000000000000000000000000000000001"): (
        "0x576410486a2da45eee6c949c995670112ddf2fbeedab20350d506328eefc9d4f"
    ),
    (22, "0000000000000000000000000000000000000000000000000000000000000005"): (
        "0x1bdffae984043833ed7fe223f7af7a3f8902d04129b14f801823e64827da7130"
    ),
}
"""Mainnet emitters that are a hash, an object or a number, and the account of each."""

TOKEN_NAMES = {
    (3, "0100000000000000000000000000000000000000000000000000000075757364"): "uusd",
    (3, "010000000000000000000000000000000000000000000000000000756c756e61"): "uluna",
    (15, "0000000000000000000000000000000000000000000000000000000000000000"): "near",
    (15, "67499b7b8f58eaeb3cd81aea1d1ce9f7f722fd7750ceb2bed13e255073c25e2a"): "token.sweat",
    (18, "01fa6c6fbc36d8c245b0a852a43eb5d644e8b4c477b27bfab9537c10945939da"): "uluna",
    (28, "017ce8aec5af3bb3ac0158d49771d4c8feba2e54a614fa2a1c0c95e9c4c37185"): "axpla",
}
"""Native coins and tokens that have a name."""

_EMITTERS_BY_NAME = {(chain, name): bytes.fromhex(address) for (chain, address), name in EMITTER_NAMES.items()}
_TOKENS_BY_NAME = {(chain, name): bytes.fromhex(address) for (chain, address), name in TOKEN_NAMES.items()}


class NativeAddressError(ValueError):
    """An invalid address for its chain. The message says what was expected."""


def format_emitter(network: str, chain: int, address: bytes) -> str:
    """Formats the emitter of a message, which is a contract."""
    named = EMITTER_NAMES.get((chain, address.hex())) if network == "mainnet" else None
    return named or format_address(chain, address)


def format_token(chain: int, address: bytes) -> str:
    """Formats a token: its name, its asset number (Algorand), or its contract's address.

    On Sui, Aptos and Movement a token is the hash of a type, which is not an address; it stays hex.
    """
    if named := TOKEN_NAMES.get((chain, address.hex())):
        return named
    match find_chain(chain).form:
        case "algorand":
            return str(int.from_bytes(address))
        case "move":
            return address.hex()
    return format_address(chain, address)


def format_address(chain: int, address: bytes) -> str:
    """Formats a 32-byte account or contract address. EVM addresses are lower case; see `format_checksummed`."""
    form, _, prefix = find_chain(chain).form.partition(" ")
    short = address.startswith(_ZEROS)
    match form:
        case "evm" if short:
            return f"0x{address[12:].hex()}"
        case "base58":
            return base58.b58encode(address).decode("ascii")
        case "bech32":
            return bech32.encode(prefix, address[12:] if short else address)
        case "algorand":
            return base64.b32encode(address + _algorand_checksum(address)).decode("ascii").rstrip("=")
        case "move":
            return f"0x{address.hex()}"
    return address.hex()


def parse_address(chain: int, text: str) -> bytes:
    """Parses an address in its chain's form, or in hex (with or without 0x, padded with zeros on the left).

    Raises:
        NativeAddressError: The text has neither form.
    """
    form, _, prefix = find_chain(chain).form.partition(" ")
    try:
        if form == "base58" and (address := _parse_base58(text)) is not None:
            return address
        if match := _HEX.fullmatch(text):
            return bytes.fromhex(match[1].zfill(64))
        if form == "bech32":
            return _parse_bech32(prefix, text)
        if form == "algorand":
            return _parse_algorand(text)
    except ValueError as error:
        raise NativeAddressError(f"{text!r}: {error}") from None
    raise NativeAddressError(
        f"{text!r}: expected an address as chain {chain} has them ({form}), or up to 64 hex digits"
    )


def parse_emitter(network: str, chain: int, text: str) -> bytes:
    """Parses an emitter in the form of `format_emitter`, or in hex. Raises NativeAddressError."""
    named = _EMITTERS_BY_NAME.get((chain, text)) if network == "mainnet" else None
    return named or parse_address(chain, text)


def parse_token(chain: int, text: str) -> bytes:
    """Parses a token in the form of `format_token`, or in hex. On Algorand, fewer than 64 decimal digits are an asset
    number, so shorter hex needs 0x. Raises NativeAddressError.
    """
    if named := _TOKENS_BY_NAME.get((chain, text)):
        return named
    if find_chain(chain).form == "algorand" and _ASSET.fullmatch(text):
        return int(text).to_bytes(ADDRESS_BYTES)
    return parse_address(chain, text)


def format_checksummed(address: bytes) -> str:
    """Formats 20 bytes as Ethereum does, with the checksum in the letter case (EIP-55). Guardians are named like
    this.
    """
    digits = address.hex()
    hashed = keccak256(digits.encode("ascii")).hex()
    return "0x" + "".join(
        digit.upper() if weight >= "8" else digit for digit, weight in zip(digits, hashed, strict=False)
    )


def _parse_base58(text: str) -> bytes | None:
    # Before hex: the address of the system program, which owns all accounts, is 32 digits 1.
    try:
        address = base58.b58decode(text)
    except ValueError:
        return None
    return address if len(address) == ADDRESS_BYTES else None


def _parse_bech32(prefix: str, text: str) -> bytes:
    found, address = bech32.decode(text)
    if found != prefix:
        raise ValueError(f"expected the prefix {prefix}, found {found}")
    if len(address) not in (20, ADDRESS_BYTES):
        raise ValueError(f"expected an address of 20 or {ADDRESS_BYTES} bytes, found {len(address)}")
    return address.rjust(ADDRESS_BYTES, b"\0")


def _parse_algorand(text: str) -> bytes:
    if len(text) != _ALGORAND_CHARS:
        raise ValueError(f"expected {_ALGORAND_CHARS} characters, found {len(text)}")
    try:
        data = base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error:
        raise ValueError("expected characters of the base32 alphabet") from None
    address = data[:-_ALGORAND_CHECKSUM]
    if data[-_ALGORAND_CHECKSUM:] != _algorand_checksum(address):
        raise ValueError("the checksum does not match: a character is wrong")
    return address


def _algorand_checksum(address: bytes) -> bytes:
    return sha512_256(address)[-_ALGORAND_CHECKSUM:]

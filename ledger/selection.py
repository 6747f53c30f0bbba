"""Filters of a selective permanode (docs/decisions/0044-selective-permanode.md): their text and what they name.

A filter has one canonical text, which stores and responses contain:

tag:0xHEX             messages with this tag or index, directly, inside transactions, or as a feature of an output
address:0xHEX         transactions with an output that names this address (type byte and 32 bytes), or signed by it
milestones:A:B        all messages of the milestones A to B, B excluded
emitter:CHAIN/HEX     VAAs of a Wormhole emitter
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ledger.crypto.bech32 import ADDRESS_BYTES, AddressError, parse_address

TAG, ADDRESS, MILESTONES, EMITTER = "tag", "address", "milestones", "emitter"

TAG_MAX_BYTES = 64
EMITTER_BYTES = 32
CHAIN_MAX = 65_535
MILESTONE_MAX = 2**31 - 2

ADDRESS_TYPES = (0, 8, 16)
"""The first byte of a serialized address: Ed25519, alias, NFT."""

IOTA_KINDS = (TAG, ADDRESS, MILESTONES)

FORMS = (
    "tag:TEXT, tag:0xHEX, address:BECH32, address:0xHEX, milestones:FIRST:LAST; in a Wormhole network emitter:CHAIN/HEX"
)
"""The filters, for help and errors."""


@dataclass(frozen=True, slots=True, order=True)
class Filter:
    """One filter.

    Attributes:
        kind: TAG, ADDRESS, MILESTONES or EMITTER.
        value: the tag, the serialized address, or the 32 bytes of an emitter. Empty for milestones.
        first: the first milestone, or the chain of an emitter.
        last: the last milestone.
    """

    kind: str
    value: bytes = b""
    first: int = 0
    last: int = 0

    @property
    def text(self) -> str:
        """The canonical text."""
        if self.kind == MILESTONES:
            return f"{MILESTONES}:{self.first}:{self.last + 1}"
        if self.kind == EMITTER:
            return f"{EMITTER}:{self.first}/{self.value.hex()}"
        return f"{self.kind}:0x{self.value.hex()}"


@dataclass(frozen=True)
class Selection:
    """Filters, at least one of which a kept message matches."""

    filters: frozenset[Filter]

    @cached_property
    def tags(self) -> frozenset[bytes]:
        """The selected tags."""
        return self.values_of(TAG)

    @cached_property
    def addresses(self) -> frozenset[bytes]:
        """The selected addresses, serialized."""
        return self.values_of(ADDRESS)

    @cached_property
    def emitters(self) -> frozenset[tuple[int, bytes]]:
        """The selected emitters: chain and address."""
        return frozenset((each.first, each.value) for each in self.filters if each.kind == EMITTER)

    @cached_property
    def whole_milestones(self) -> Sequence[tuple[int, int]]:
        """The first and the last milestone of each filter that keeps all messages."""
        return sorted((each.first, each.last) for each in self.filters if each.kind == MILESTONES)

    def has_milestone(self, index: int) -> bool:
        """Whether all messages of a milestone are kept."""
        return any(first <= index <= last for first, last in self.whole_milestones)

    def values_of(self, kind: str) -> frozenset[bytes]:
        """The selected tags or addresses, serialized. `kind`: TAG or ADDRESS."""
        return frozenset(each.value for each in self.filters if each.kind == kind)

    def __str__(self) -> str:
        return " ".join(sorted(each.text for each in self.filters))


def parse_filters(texts: Iterable[str], hrp: str = "", kinds: Sequence[str] | None = IOTA_KINDS) -> frozenset[Filter]:
    """Parses texts of filters separated by white space.

    Args:
        texts: the texts, each with one or more filters.
        hrp: the prefix of the network's addresses. Empty: any.
        kinds: the kinds that the network has. None: all.

    Raises:
        ValueError: a filter is invalid, or the texts contain no filter. The message names it and what was expected.
    """
    known = tuple(_PARSERS) if kinds is None else kinds
    found = frozenset(_parse(text, hrp, known) for line in texts for text in line.split())
    if not found:
        raise ValueError("--keep: at least one filter expected, such as tag:HORNET or address:iota1…")
    return found


def _parse(text: str, hrp: str, kinds: Sequence[str]) -> Filter:
    kind, _, value = text.partition(":")
    if kind not in _PARSERS or not value:
        raise ValueError(f"--keep: {text!r}: a filter expected: {FORMS}")
    if kind not in kinds:
        raise ValueError(f"--keep: {text!r}: a network of this protocol has filters of the kinds {', '.join(kinds)}")
    try:
        return _PARSERS[kind](value, hrp)
    except ValueError as error:
        raise ValueError(f"--keep: {text!r}: {error}") from None


def _parse_tag(text: str, _: str) -> Filter:
    tag = _hex(text) if text.startswith("0x") else text.encode()
    if not 1 <= len(tag) <= TAG_MAX_BYTES:
        raise ValueError(f"a tag of 1 to {TAG_MAX_BYTES} bytes expected, found {len(tag)}")
    return Filter(TAG, tag)


def _parse_address(text: str, hrp: str) -> Filter:
    if text.startswith("0x"):
        address = _hex(text)
    else:
        try:
            found, address = parse_address(text)
        except AddressError as error:
            raise ValueError(f"an address as Bech32 or as 0x and hex expected: {error}") from None
        if hrp and found != hrp:
            raise ValueError(f"an address of this network, {hrp}1…, expected, found {found}1…")
    if len(address) != ADDRESS_BYTES or address[0] not in ADDRESS_TYPES:
        types = ", ".join(f"{each:02x}" for each in ADDRESS_TYPES)
        raise ValueError(f"{ADDRESS_BYTES} bytes expected, the first one of {types}; found {len(address)} bytes")
    return Filter(ADDRESS, address)


def _parse_milestones(text: str, _: str) -> Filter:
    ends = re.fullmatch(r"(\d{1,10}):(\d{1,10})", text, re.ASCII)
    first, end = map(int, ends.groups()) if ends else (0, 0)
    if not 0 < first < end <= MILESTONE_MAX + 1:
        raise ValueError("milestones:FIRST:LAST expected, LAST excluded and above FIRST")
    return Filter(MILESTONES, first=first, last=end - 1)


def _parse_emitter(text: str, _: str) -> Filter:
    parts = re.fullmatch(r"(\d{1,5})/(?:0x)?([0-9a-fA-F]{64})", text, re.ASCII)
    if parts is None or int(parts[1]) > CHAIN_MAX:
        raise ValueError(f"emitter:CHAIN/HEX expected, a chain up to {CHAIN_MAX} and 64 hex digits")
    return Filter(EMITTER, bytes.fromhex(parts[2]), int(parts[1]))


def _hex(text: str) -> bytes:
    digits = text.removeprefix("0x")
    if not re.fullmatch(r"(?:[0-9a-fA-F]{2})+", digits, re.ASCII):
        raise ValueError("an even number of hex digits expected after 0x")
    return bytes.fromhex(digits)


_PARSERS: Mapping[str, Callable[[str, str], Filter]] = {
    TAG: _parse_tag,
    ADDRESS: _parse_address,
    MILESTONES: _parse_milestones,
    EMITTER: _parse_emitter,
}

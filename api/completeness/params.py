"""Parameters of proofs of listings."""

import re
from typing import Annotated

from api.fields.params import INDEX
from api.http.errors import BadParameter
from api.http.page_sizes import MAXIMUM
from api.http.params import Param, flag, integer, unchecked_text, words
from ledger.completeness.families import ADDRESS_BYTES, BY_NAME, Family
from ledger.completeness.trees import KEYS_MOST
from ledger.crypto.bech32 import parse_address

PAGE_SIZE_MOST = MAXIMUM

FAMILY = Param(
    "family",
    words(BY_NAME),
    "The kind of listing (docs/proofs.md)",
    "messages_by_tag",
    required=True,
)
KEY = Param(
    "key",
    unchecked_text("hex with or without 0x, or a bech32 address", maxLength=140),
    "What the listing is about, as bytes: a tag, a message, an output's address with its type, a chain id. An empty "
    "value is the empty tag",
    "484f524e4554",
    required=True,
    empty_is_none=False,
)
FIRST_ROW = Param("offset", integer(0, KEYS_MOST), "Place of the first row, oldest first, from 0", 0, default="0")
ROWS = Param("pageSize", integer(1, PAGE_SIZE_MOST), "Maximum number of rows", 100, default="100")
TO = Param(
    "to",
    INDEX,
    "Last milestone of the listing, as in an earlier document. Default: the newest. The trees of earlier ones are kept "
    "for 1,000 milestones",
    299,
)
COSIGNED = flag("cosigned", "Prove it in the newest checkpoint that witnesses cosigned", "false")

FamilyGiven = Annotated[Family, FAMILY]
KeyGiven = Annotated[str, KEY]
FirstRow = Annotated[int, FIRST_ROW]
Rows = Annotated[int, ROWS]
To = Annotated[int | None, TO]
Cosigned = Annotated[bool, COSIGNED]

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})*)", re.ASCII)


def parse_key(family: Family, given: str) -> bytes:
    """The key of a listing. Raises BadParameter for one that the family cannot have."""
    found = _HEX.fullmatch(given)
    key = None if found is None else bytes.fromhex(found[1])
    if key is None and family.key_most == ADDRESS_BYTES:
        try:
            key = parse_address(given)[1]
        except ValueError:
            key = None
    if key is None or not family.has_key(key):
        raise BadParameter(KEY.name, f"a key of {family.name}: {expected(family)}", given)
    return key


def expected(family: Family) -> str:
    """What keys of a family are."""
    if family.key_least == family.key_most == ADDRESS_BYTES:
        return f"{ADDRESS_BYTES} bytes as hex, or a bech32 address"
    if family.key_least == family.key_most:
        return f"{family.key_most} bytes as hex"
    return f"{family.key_least} to {family.key_most} bytes as hex"

"""Parameters of proofs of listings."""

from typing import Annotated

from api.fields.params import INDEX
from api.http.errors import BadParameter
from api.http.page_sizes import MAXIMUM
from api.http.params import Param, flag, integer, unchecked_text, words
from ledger.completeness import key_text
from ledger.completeness.families import BY_NAME, Family
from ledger.completeness.trees import KEYS_MOST

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


def parse_key(family: Family, given: str) -> bytes:
    """The key of a listing. Raises BadParameter for one that the family cannot have."""
    try:
        return key_text.parse_key(family, given)
    except ValueError as error:
        raise BadParameter(KEY.name, str(error), given, str(error.__cause__ or "")) from error

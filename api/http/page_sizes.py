"""What each family does with a page size that is none: the table that reads requests and makes docs/limits.md.

Rules of this file: a family does what its original does. Nodes had no page size, so it is ours and refused by name;
Chronicle took what it could not read for none given and had no upper bound, so a client of it may send anything;
inx-api-core-v1 took its maximum for both, inx-indexer for zero too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

MAXIMUM = 1000
"""Hornet's limits.maxResults; no family's pages are larger."""

Answer: TypeAlias = Literal["400", "default", "maximum"]


@dataclass(frozen=True, slots=True)
class PageSizes:
    """What a page size above the maximum, of zero, below zero, and that is no decimal integer leads to."""

    above: Answer
    zero: Answer
    negative: Answer
    unreadable: Answer

    def read(self, text: str, default: int) -> int:
        """The page size of that text; ValueError where it is refused."""
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            answer = self.unreadable
        elif not digits.strip("0"):
            answer = self.zero
        elif text != digits:
            answer = self.negative
        elif len(digits.lstrip("0")) > len(str(MAXIMUM)) or int(digits) > MAXIMUM:
            answer = self.above
        else:
            return int(digits)
        if answer == "400":
            raise ValueError("no page size")
        return MAXIMUM if answer == "maximum" else default

    def schema(self) -> Mapping[str, object]:
        """What may be sent, as JSON schema: a number in bounds, and any text where none is refused."""
        number: dict[str, object] = {"type": "integer", "minimum": 1}
        if self.above == "400":
            number["maximum"] = MAXIMUM
        return number if self.unreadable == "400" else {"anyOf": [{"type": "integer"}, {"type": "string"}]}


NODE_V1 = PageSizes(above="400", zero="400", negative="400", unreadable="400")
CHRONICLE_V1 = PageSizes(above="maximum", zero="default", negative="default", unreadable="default")

INX_API_CORE_V1 = PageSizes(above="maximum", zero="default", negative="maximum", unreadable="maximum")
"""Of tx-history; there zero is an answer without rows, which no client can have wanted."""

EXPLORER_V2 = PageSizes(above="maximum", zero="400", negative="400", unreadable="400")
"""As inx-chronicle; there zero is a page of no rows whose cursor leads to itself."""

INDEXER_V1 = PageSizes(above="maximum", zero="maximum", negative="maximum", unreadable="maximum")
"""As inx-indexer reads it: whatever is no smaller page is the largest."""

WORMHOLESCAN = PageSizes(above="400", zero="400", negative="400", unreadable="400")

FAMILIES: Mapping[str, PageSizes] = {
    "node REST v1": NODE_V1,
    "Chronicle v1": CHRONICLE_V1,
    "inx-api-core-v1 (tx-history)": INX_API_CORE_V1,
    "explorer v2": EXPLORER_V2,
    "indexer v1": INDEXER_V1,
    "wormholescan": WORMHOLESCAN,
}

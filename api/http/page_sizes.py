"""What each family does with an invalid page size. docs/limits.md shows this table.

A family does what its original does. Nodes have no page size parameter; as an extension, it rejects invalid values.
Chronicle used the default for values that it could not parse and had no maximum. inx-api-core-v1 uses its maximum for
both, inx-indexer also for 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

MAXIMUM = 1000
"""Hornet's limits.maxResults. No family returns larger pages."""

Answer: TypeAlias = Literal["400", "default", "maximum"]


@dataclass(frozen=True, slots=True)
class PageSizes:
    """What happens with a page size above the maximum, of 0, below 0, or that is not a decimal integer."""

    above: Answer
    zero: Answer
    negative: Answer
    unreadable: Answer

    def read(self, text: str, default: int) -> int:
        """Returns the page size for a text. Raises ValueError if the family rejects it."""
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
        """Returns the JSON schema: a bounded number, or any text if the family rejects none."""
        number: dict[str, object] = {"type": "integer", "minimum": 1}
        if self.above == "400":
            number["maximum"] = MAXIMUM
        return number if self.unreadable == "400" else {"anyOf": [{"type": "integer"}, {"type": "string"}]}


NODE_V1 = PageSizes(above="400", zero="400", negative="400", unreadable="400")
CHRONICLE_V1 = PageSizes(above="maximum", zero="default", negative="default", unreadable="default")

INX_API_CORE_V1 = PageSizes(above="maximum", zero="default", negative="maximum", unreadable="maximum")
"""For each `pageSize` of node REST v1. With page size 0 the original returns no rows, which no client can want."""

EXPLORER_V2 = PageSizes(above="maximum", zero="400", negative="400", unreadable="400")
"""As inx-chronicle, except for 0: there a page of no rows has a cursor to itself."""

INDEXER_V1 = PageSizes(above="maximum", zero="maximum", negative="maximum", unreadable="maximum")
"""As inx-indexer: every invalid value means the maximum."""

WORMHOLESCAN = PageSizes(above="400", zero="400", negative="400", unreadable="400")

FAMILIES: Mapping[str, PageSizes] = {
    "node REST v1": NODE_V1,
    "Chronicle v1": CHRONICLE_V1,
    "inx-api-core-v1 (`pageSize`)": INX_API_CORE_V1,
    "explorer v2": EXPLORER_V2,
    "indexer v1": INDEXER_V1,
    "wormholescan": WORMHOLESCAN,
}

"""Reject: a rejected part of an input file, with its place and the reason."""

from dataclasses import dataclass

REASON_CHARACTERS, ITEM_CHARACTERS = 1_000, 200
"""Maximum length of texts in a reject: a hostile line must not fill tables with its own words."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A rejected file, line or message. `line`: 0 for the whole file. `item`: the message id as hex, or empty for a
    whole line. Longer texts than the maximum are cut.
    """

    file: str
    line: int
    item: str
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "item", _cut(self.item, ITEM_CHARACTERS))
        object.__setattr__(self, "reason", _cut(self.reason, REASON_CHARACTERS))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"

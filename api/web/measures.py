"""The measures of series as pages show them: by group, with a label, a meaning and a unit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.analytics_v2.measures import DAY_MEASURES, HOUR_MEASURES, MILESTONE_MEASURES, Measure, Measures
from api.web.formats import plain
from db.measures import MEASURES

OF: Mapping[str, Measures] = {"day": DAY_MEASURES, "hour": HOUR_MEASURES, "milestone": MILESTONE_MEASURES}
"""Interval of a series → its measures by their names in the API."""

_WORD = re.compile(r"[A-Z]|\d+")

OF_DAYS, PARAMETERS = "Addresses and tags of a day", "Protocol parameters"

TITLES = {"chains": "Aliases, foundries and NFTs", "calendar": "Active addresses by calendar"}
"""Titles of groups whose module has another name."""

_GROUP_OF_COLUMN = {
    column.name: TITLES.get(name, name.replace("_", " ").capitalize())
    for name, measure in MEASURES.items()
    for column in measure.columns
}


@dataclass(frozen=True, slots=True)
class Described:
    """A measure.

    Attributes:
        name: its name in the API.
        label: the name in words.
        meaning: what it counts.
        group: the title of the group of measures that it belongs to.
        is_amount: whether it is an amount of base tokens.
    """

    name: str
    label: str
    meaning: str
    group: str
    is_amount: bool


def label_of(name: str) -> str:
    """Writes a name in words.

    >>> label_of("messageCount")
    'Message count'
    """
    words = _WORD.sub(lambda found: f" {found[0].lower()}", name).replace("nft", "NFT")
    return words[:1].upper() + words[1:]


def described(name: str, measure: Measure) -> Described:
    """Describes a measure of the API."""
    known = [_GROUP_OF_COLUMN[column] for column in measure.columns if column in _GROUP_OF_COLUMN]
    group = known[0] if known else PARAMETERS if measure.needs_parameters else OF_DAYS
    return Described(name, label_of(name), measure.meaning, group, measure.is_amount)


KNOWN: Mapping[str, Described] = {name: described(name, measure) for of in OF.values() for name, measure in of.items()}
"""Every measure by its name in the API."""


def by_group(interval: str) -> Mapping[str, list[Described]]:
    """The measures of an interval by the titles of their groups."""
    found: dict[str, list[Described]] = {}
    for name in OF[interval]:
        found.setdefault(KNOWN[name].group, []).append(KNOWN[name])
    return found


def values_of(item: Mapping[str, Any]) -> Mapping[str, list[tuple[Described, Any]]]:
    """The values of an item of a series by the titles of their groups, without those that are unknown or 0."""
    found: dict[str, list[tuple[Described, Any]]] = {}
    for name, value in item.items():
        if name in KNOWN and value not in {None, 0, "0"}:
            found.setdefault(KNOWN[name].group, []).append((KNOWN[name], value))
    return found


def point(name: str, value: int | str | None, decimals: int) -> str:
    """A value of a measure as a number in a chart; amounts are in whole tokens. Empty if it is unknown."""
    if value is None:
        return ""
    return plain(value, decimals) if KNOWN[name].is_amount else str(value)

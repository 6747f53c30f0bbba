"""What topics of both eras have in common: which rows of a milestone a topic needs, and who subscribed to it."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from api.era_routing import Era
from api.network import NetworkMount
from db.queries.transactions import INCLUDED
from db.store import Row

Publication: TypeAlias = tuple[str, bytes]
"""A topic and a payload."""


class Need(Enum):
    """What must be read of a milestone to publish on a topic."""

    MILESTONE = auto()
    MESSAGES = auto()
    TAGGED = auto()
    """Messages that can have a tag."""
    METADATA = auto()
    """One message, which the topic names."""
    INCLUDED = auto()
    """Messages that included a transaction."""
    OUTPUTS = auto()
    """The same messages, and the outputs that their transactions created and spent."""


class Wanted:
    """The topics that have subscribers, with their numbers of subscribers."""

    def __init__(self) -> None:
        self._topics: Counter[str] = Counter()
        self._needs: Counter[Need] = Counter()

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def __bool__(self) -> bool:
        return bool(self._topics)

    def add(self, topic: str, need: Need) -> None:
        """Counts one subscriber more."""
        self._topics[topic] += 1
        self._needs[need] += 1

    def remove(self, topic: str, need: Need) -> None:
        """Counts one subscriber less."""
        self._topics[topic] -= 1
        if not self._topics[topic]:
            del self._topics[topic]
        self._needs[need] -= 1

    def needs(self, *needs: Need) -> bool:
        """Whether a topic with one of these needs has subscribers."""
        return any(self._needs[need] for need in needs)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The topics of an era.

    Attributes:
        era: the era.
        need_of: returns the need of a topic, None if there is no such topic.
        metadata_topic: returns the topic of the metadata of a message, by its id in hex.
        tagged_kinds: the payload types of messages that can have a tag.
        of_milestone: the publications of a milestone: its row in `milestones`, and what is wanted.
        of_message: the publications of a message that the milestone references: its row in `messages`.
        current: what a client gets when it subscribes to a topic; the milestone index is the newest that was published.
            Raises NotFound if there is nothing.
    """

    era: Era
    need_of: Callable[[str], Need | None]
    metadata_topic: Callable[[str], str]
    tagged_kinds: frozenset[int]
    of_milestone: Callable[[NetworkMount, Row, Wanted], AsyncIterator[Publication]]
    of_message: Callable[[NetworkMount, Row, Wanted], AsyncIterator[Publication]]
    current: Callable[[NetworkMount, str, int], AsyncIterator[Publication]]

    def is_read(self, row: Row, wanted: Wanted) -> bool:
        """Whether the message of a row of `messages_by_milestone` is needed for what is wanted."""
        return (
            wanted.needs(Need.MESSAGES)
            or (wanted.needs(Need.TAGGED) and row["payload_kind"] in self.tagged_kinds)
            or (wanted.needs(Need.INCLUDED, Need.OUTPUTS) and row["inclusion_state"] == INCLUDED)
            or (wanted.needs(Need.METADATA) and self.metadata_topic(row["message_id"]) in wanted)
        )


Patterns: TypeAlias = Mapping[Need, str]
"""Need → regular expression of its topics."""

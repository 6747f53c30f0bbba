"""What topics of both eras have in common: which rows of a milestone a topic needs, and who subscribed to it."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias

from api.era_routing import Era
from api.network import NetworkMount
from db.queries import outputs
from db.queries.transactions import INCLUDED
from db.store import Row
from ledger import ids

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


Patterns: TypeAlias = Mapping[Need, re.Pattern[str]]
"""Need → expression of its topics."""

OfOutput: TypeAlias = Callable[[NetworkMount, Row, int, Wanted], AsyncIterator[Publication]]
"""Yields the publications of a row of `outputs` as of a milestone, which created or spent it."""


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


def compiled(patterns: Mapping[Need, str]) -> Patterns:
    """Compiles the expressions of an era's topics."""
    return {need: re.compile(pattern) for need, pattern in patterns.items()}


def need_in(patterns: Patterns, topic: str) -> Need | None:
    """Returns what a topic needs, None if there is no such topic."""
    return next((need for need, pattern in patterns.items() if pattern.fullmatch(topic)), None)


async def of_transaction(
    network: NetworkMount, row: Row, codec: Any, payload: Any, topic: str, wanted: Wanted, of_output: OfOutput
) -> AsyncIterator[Publication]:
    """Yields the publications of an included transaction: its message, and the outputs that it changed.

    Args:
        network: the network.
        row: the row of `messages` that contains the transaction.
        codec: the codec of its era.
        payload: the transaction.
        topic: the topic of an included message, with {} for the id of the transaction in hex.
        wanted: the topics that have subscribers.
        of_output: the publications of an output.
    """
    transaction_id = ids.transaction_id(codec.payload_bytes(row["message"]))
    if (included := topic.format(transaction_id.hex())) in wanted:
        yield included, row["message"]
    if wanted.needs(Need.OUTPUTS):
        index = row["milestone_index"]
        spent = [ids.output_id(each.transaction_id, each.index).hex() for each in payload.essence.inputs]
        for output in await outputs.find_outputs(network.store, spent, index):
            if output is not None:
                async for each in of_output(network, output, index, wanted):
                    yield each
        created = [ids.output_id(transaction_id, number).hex() for number in range(len(payload.essence.outputs))]
        async for each in of_created(network, created, index, wanted, of_output):
            yield each


async def of_created(
    network: NetworkMount, output_ids: Sequence[str], index: int, wanted: Wanted, of_output: OfOutput
) -> AsyncIterator[Publication]:
    """Yields the publications of outputs as they were when a milestone created them."""
    for row in await outputs.find_outputs(network.store, output_ids, index):
        if row is not None:
            async for each in of_output(network, row | dict.fromkeys(outputs.SPENT), index, wanted):
                yield each

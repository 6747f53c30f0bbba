"""Which node is asked, and what is done when one answers that it could not, or does not answer at all.

Rules of this file: never another consistency, never longer than the question's time, which the driver minds. What is
conditional (the lease) or changes the schema is not sent twice, unless nothing of it was begun.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from cassandra.connection import ConnectionException
from cassandra.policies import DCAwareRoundRobinPolicy, RetryPolicy, TokenAwarePolicy

LATE_S = 5.0
"""So long a node that kept a question waiting is asked last."""

Decision: TypeAlias = tuple[int, int | None]


class LateLast(TokenAwarePolicy):  # type: ignore[misc]
    """Replicas of the local datacenter first, but last of all those that lately kept a question waiting.

    A node that stands still keeps its connections and is up for all that anybody knows. Each read that begins with it
    waits for `speculative_delay_s`, and a page is many reads.
    """

    def __init__(self, datacenter: str) -> None:
        """`datacenter` empty: the first node's that answers."""
        super().__init__(DCAwareRoundRobinPolicy(datacenter))
        self._until: dict[Any, float] = {}

    def note(self, asked: Sequence[Any], answered: Any) -> None:
        """Nodes that a question was sent to, one after the other, and the one that answered it."""
        until = time.monotonic() + LATE_S
        self._until |= {node: until for node in asked if node is not answered}

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterable[Any]:
        """The nodes in the order in which they are asked."""
        plan: Iterable[Any] = super().make_query_plan(working_keyspace, query)
        if not self._until:
            return plan
        now = time.monotonic()
        self._until = {node: until for node, until in self._until.items() if until > now}
        return sorted(plan, key=self._until.__contains__)


class OnceMore(RetryPolicy):  # type: ignore[misc]
    """Reads and upserts, which may be repeated, are asked of one more node; a lost connection of all that are left."""

    def on_read_timeout(self, query: Any, *_: Any, retry_num: int, **_more: Any) -> Decision:
        """Its replicas were too slow for that node: the next may choose others."""
        return self._next(query, retry_num)

    def on_write_timeout(self, query: Any, *_: Any, retry_num: int, **_more: Any) -> Decision:
        """Too few replicas told of the write in time; writing it again gives the same row."""
        return self._next(query, retry_num)

    def on_unavailable(self, _query: Any, *_: Any, retry_num: int, **_more: Any) -> Decision:
        """Too few replicas are up, as far as that node knows: nothing was begun. One that just started knows little."""
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)

    def on_request_error(self, query: Any, _: Any, error: Exception, retry_num: int) -> Decision:
        """The connection is gone, or that node is overloaded, starting or ill.

        An overloaded cluster is not asked by everybody of all its nodes in turn, so that counts as the others do.
        """
        lost = isinstance(error, ConnectionException)
        return self._next(query, 0 if lost else retry_num)

    def _next(self, query: Any, retry_num: int) -> Decision:
        again = query.is_idempotent and retry_num == 0
        return (self.RETRY_NEXT_HOST if again else self.RETHROW), None

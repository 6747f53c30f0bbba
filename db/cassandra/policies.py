"""Load balancing and retry policies: which node receives a query, and what happens if it fails.

A retry never changes the consistency level and never exceeds the query's timeout, which the driver enforces.
Conditional statements (the lease) and schema changes are not sent again unless the node did not begin them.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from cassandra.connection import ConnectionException
from cassandra.policies import DCAwareRoundRobinPolicy, RetryPolicy, TokenAwarePolicy

LATE_S = 5.0
"""Seconds for which a node that delayed a query is tried last."""

Decision: TypeAlias = tuple[int, int | None]


class LateLast(TokenAwarePolicy):  # type: ignore[misc]
    """Prefers replicas in the local datacenter, and tries nodes that recently delayed a query last.

    A hung node keeps its connections and counts as up. Each read that starts with it waits for `speculative_delay_s`,
    and a page takes many reads.
    """

    def __init__(self, datacenter: str) -> None:
        """An empty `datacenter` means that of the first node that responds."""
        super().__init__(DCAwareRoundRobinPolicy(datacenter))
        self._until: dict[Any, float] = {}

    def note(self, queried: Sequence[Any], answered: Any) -> None:
        """Records the nodes that a query was sent to, in order, and the one that responded."""
        until = time.monotonic() + LATE_S
        self._until |= {node: until for node in queried if node is not answered}

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterable[Any]:
        """The nodes in the order in which they are tried."""
        plan: Iterable[Any] = super().make_query_plan(working_keyspace, query)
        if not self._until:
            return plan
        now = time.monotonic()
        self._until = {node: until for node, until in self._until.items() if until > now}
        return sorted(plan, key=self._until.__contains__)


class OnceMore(RetryPolicy):  # type: ignore[misc]
    """Retries reads and upserts, which may be repeated, on one more node; after a lost connection, on all remaining
    nodes.
    """

    def on_read_timeout(self, query: Any, *_: Any, retry_num: int, **_more: Any) -> Decision:
        """The replicas did not respond to this node in time. The next node may choose others."""
        return self._next(query, retry_num)

    def on_write_timeout(self, query: Any, *_: Any, retry_num: int, **_more: Any) -> Decision:
        """Too few replicas acknowledged the write in time. Repeating it gives the same row."""
        return self._next(query, retry_num)

    def on_unavailable(self, _query: Any, *_: Any, retry_num: int, **_more: Any) -> Decision:
        """Too few replicas are up as far as this node knows, so it began nothing. A node that just started knows
        little.
        """
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)

    def on_request_error(self, query: Any, _: Any, error: Exception, retry_num: int) -> Decision:
        """The connection was lost, or the node is overloaded, starting or failing.

        An overloaded cluster must not receive every query on all its nodes in turn, so that case is retried once, like
        the others.
        """
        lost = isinstance(error, ConnectionException)
        return self._next(query, 0 if lost else retry_num)

    def _next(self, query: Any, retry_num: int) -> Decision:
        again = query.is_idempotent and retry_num == 0
        return (self.RETRY_NEXT_HOST if again else self.RETHROW), None

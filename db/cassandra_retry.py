"""What is done when a node answers that it could not: asked once more, of the next node, where that does no harm.

Rules of this file: never the same node, never another consistency, never longer than the question's time, which the
driver minds. What is conditional (the lease) or changes the schema is not sent twice, unless nothing of it was begun.
"""

from typing import Any, TypeAlias

from cassandra.connection import ConnectionException
from cassandra.policies import RetryPolicy

Decision: TypeAlias = tuple[int, int | None]


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

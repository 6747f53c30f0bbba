"""What the listing of the current request covers, in a selective store. Like the deadline, it belongs to a context."""

from contextvars import ContextVar

LISTED: ContextVar[str | None] = ContextVar("listed", default=None)
"""The text of a response header. None: all milestones of the store, or no listing."""

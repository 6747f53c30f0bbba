"""The deadline of the current request.

The API sets DEADLINE in the request's context. Adapters check it before and during each read and raise DeadlinePassed.
No function in between passes it on.
"""

import math
import time
from contextvars import ContextVar

DEADLINE: ContextVar[float] = ContextVar("DEADLINE", default=math.inf)
"""In seconds of time.monotonic(); infinite without a deadline."""


def is_over() -> bool:
    """Whether the deadline has passed."""
    return time.monotonic() > DEADLINE.get()


def remaining_s() -> float | None:
    """Seconds until the deadline, at least 0; None without a deadline."""
    deadline = DEADLINE.get()
    return None if deadline == math.inf else max(0.0, deadline - time.monotonic())

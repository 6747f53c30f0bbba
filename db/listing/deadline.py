"""Until when the question at hand may take.

Rules of this file: whoever asks sets DEADLINE for its own context; every adapter looks at it before a read and while
one runs, and raises DeadlinePassed; nobody in between passes it on.
"""

import math
import time
from contextvars import ContextVar

DEADLINE: ContextVar[float] = ContextVar("DEADLINE", default=math.inf)
"""As time.monotonic() counts; infinite where nobody waits."""


def is_over() -> bool:
    """Whether the question's time is over."""
    return time.monotonic() > DEADLINE.get()


def remaining_s() -> float | None:
    """Seconds left, 0 when there are none; None: no deadline is set."""
    deadline = DEADLINE.get()
    return None if deadline == math.inf else max(0.0, deadline - time.monotonic())

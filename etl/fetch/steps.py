"""How many milestones a follower takes at once while it is behind its node, and when it reaches the node's newest one.

A step is a run: its fetch and what is done with its files afterwards, for example a load. Larger steps cost less per
milestone, but the store's lease is held during a load, and a killed step is repeated.
"""

import time
from collections import deque

FIRST_MOST = 10
"""Milestones of the first step, before anything was measured."""

POINTS = 10
"""Number of steps from which the remaining time is computed."""


class StepSize:
    """The maximum of milestones in the next step.

    It is twice the size of the last step, up to `most`, as long as neither stage of a step would take longer than
    `step_s` at the measured speed. `step_s` 0: always `most`.
    """

    def __init__(self, most: int, step_s: float) -> None:
        self._most, self._step_s = most, step_s
        self._fits: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self.limit = min(FIRST_MOST, most) if step_s else most

    def note(self, stage: str, milestones: int, seconds: float) -> None:
        """Takes the duration of a stage of one step: fetching it, or handing it on."""
        if self._step_s and milestones and seconds > 0:
            self._sizes[stage], self._fits[stage] = milestones, milestones * self._step_s / seconds
            self.limit = max(1, int(min(self._most, 2 * max(self._sizes.values()), *self._fits.values())))


class CatchUp:
    """Computes from the last steps how long it takes to reach the node's newest milestone."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque(maxlen=POINTS)

    def note(self, behind: int) -> None:
        """Takes how many milestones are missing now."""
        self._points.append((time.monotonic(), behind))

    def eta_s(self) -> float | None:
        """Seconds until none is missing; 0 if none is. None if that is unknown, or if the node gains."""
        if not self._points:
            return None
        (begun, before), (now, behind) = self._points[0], self._points[-1]
        if behind == 0:
            return 0.0
        gained = before - behind
        return behind * (now - begun) / gained if gained > 0 else None

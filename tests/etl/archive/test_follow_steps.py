"""The size of a follower's steps, and the time until it reaches the head."""

import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from etl.fetch import follow, steps
from etl.fetch.follow import AT_HEAD, Run
from etl.fetch.steps import FIRST_MOST, CatchUp, StepSize
from etl.report import Progress
from tests.etl.archive.conftest import Ledger
from tests.etl.archive.test_fetch import QUICK, lines_in


def test_steps_double_until_a_stage_would_take_longer_than_it_may() -> None:
    """A load takes 1 s and 0.1 s per milestone; fetching takes half of that."""
    size, limits = StepSize(1_000, 20.0), []
    for _ in range(6):
        limits.append(size.limit)
        size.note("fetch", size.limit, 0.5 + 0.05 * limits[-1])
        size.note("hand on", limits[-1], 1 + 0.1 * limits[-1])
    assert limits == [10, 20, 40, 80, 160, 188]


def test_a_step_that_took_too_long_is_followed_by_a_smaller_one_of_at_least_one_milestone() -> None:
    size = StepSize(1_000, 20.0)
    size.note("hand on", FIRST_MOST, 100.0)
    assert size.limit == 2
    size.note("hand on", 2, 200.0)
    assert size.limit == 1
    size.note("hand on", 1, 0.5)
    assert size.limit == 2


def test_steps_have_a_maximum_and_without_a_duration_only_that() -> None:
    size = StepSize(15, 20.0)
    size.note("fetch", 10, 0.1)
    assert size.limit == 15
    fixed = StepSize(1_000, 0)
    fixed.note("fetch", 1_000, 5_000.0)
    assert fixed.limit == 1_000


def test_the_remaining_time_follows_from_what_was_gained_on_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(steps.time, "monotonic", lambda: now)
    catch_up = CatchUp()
    assert catch_up.eta_s() is None
    catch_up.note(1_000)
    assert catch_up.eta_s() is None
    now += 20
    catch_up.note(900)
    assert catch_up.eta_s() == 180.0
    now += 20
    catch_up.note(1_100)
    assert catch_up.eta_s() is None
    catch_up.note(0)
    assert catch_up.eta_s() == 0.0


@pytest.mark.thorough
def test_far_behind_the_node_runs_grow_and_the_remaining_time_is_reported(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    spans: list[int] = []
    etas: list[float | None] = []
    reported: list[tuple[int, int | None]] = []
    last = len(ledger.milestones)

    async def hand_on(run: Run) -> None:
        spans.append(len(lines_in(run.files)))
        etas.append(run.eta_s)
        if sum(spans) == last:
            os.kill(os.getpid(), signal.SIGTERM)

    def notify(step: Progress) -> None:
        if step.stage == "catch up":
            assert re.fullmatch(r"milestones, about \d+ s left", step.unit)
            reported.append((step.done, step.total))

    pace = replace(AT_HEAD, poll_s=0.01)
    follow.follow(ledger.store, [node], tmp_path, hand_on, first=1, settings=QUICK, pace=pace, notify=notify)
    assert spans == [FIRST_MOST, 2 * FIRST_MOST, last - 3 * FIRST_MOST]
    assert reported == [(3 * FIRST_MOST, last)]
    assert etas[:2] == [None, None]
    assert (etas[2] or 0) > 0

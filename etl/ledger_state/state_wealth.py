"""The wealth distribution after a step of the ledger state, and at the ends of its days."""

from collections.abc import Iterable
from dataclasses import replace

from etl.ledger_state import day_wealth, rich_list
from etl.ledger_state.changes import far
from etl.ledger_state.rich_list import NO_WEALTH, Wealth
from etl.ledger_state.state_step import StateStep
from etl.writers.publish import Publication


def wealth_after(publication: Publication, step: StateStep, held: Wealth) -> Wealth:
    """The distribution after a step. `held`: that at the frontier. Selected addresses have none."""
    if publication.owners is not None:
        return NO_WEALTH
    if step.found.near is not None:
        after = rich_list.moved(held, rich_list.touched(step.found.near, step.to))
        if after is not None:
            return after
        step = replace(step, found=far(publication, step.genesis, step.frontier, step.to))
    return rich_list.whole(publication.staging, step.applied)


def wealth_of_days(
    publication: Publication, step: StateStep, held: Wealth, after: Wealth
) -> Iterable[tuple[int, Wealth]]:
    """The distribution after the last milestone of each day that ends within a step. `held` and `after`: those at the
    frontier and after the step. Iterating raises WrongRows if `after` is not the one that this process computes.
    """
    days = day_wealth.find_ends(publication.reads, step.totals.days)
    ends = [each for each in days if step.frontier < each < step.to]
    if not ends or step.is_near or publication.owners is not None:
        return [(each, wealth_after(publication, replace(step, to=each), held)) for each in ends]
    return day_wealth.compared(day_wealth.after(step.found.of_files(), [*ends, step.to]), step.to, after)

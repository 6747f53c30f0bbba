"""The rich list and the distribution after each step, compared with a plain sum of all balances."""

from collections import defaultdict
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from etl.ledger_state.rich_list import Wealth, moved

SHOWN, KEPT = 3, 6

ADDRESSES = [bytes([number]) for number in range(12)]
BALANCES = st.sampled_from([0, 1, 2, 9, 10, 11, 99, 100, 10**6, 2**63 - 1])


def plain(balances: dict[bytes, int], kept: int) -> Wealth:
    """By sorting everything."""
    powers: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for balance in balances.values():
        if balance:
            power = next(n for n in range(20) if balance < 10 ** (n + 1))
            count, amount = powers[power]
            powers[power] = count + 1, amount + balance
    richest = sorted(((-balance, address) for address, balance in balances.items() if balance))[:kept]
    return Wealth([(address, -negative) for negative, address in richest], dict(powers))


@given(
    st.dictionaries(st.sampled_from(ADDRESSES), BALANCES),
    st.lists(st.dictionaries(st.sampled_from(ADDRESSES), BALANCES, max_size=4), max_size=12),
)
def test_every_step_is_the_top_of_all_balances(start: dict[bytes, int], steps: Sequence[dict[bytes, int]]) -> None:
    balances, wealth = dict(start), plain(start, KEPT)
    for step in steps:
        found = moved(
            wealth,
            [(address, balances.get(address, 0), after) for address, after in step.items()],
            shown=SHOWN,
            kept=KEPT,
        )
        balances |= step
        whole = plain(balances, KEPT)
        if found is None:
            wealth = whole
            continue
        assert found.powers == whole.powers
        assert len(found.richest) >= min(SHOWN, whole.owners)
        assert found.richest == whole.richest[: len(found.richest)]
        wealth = found


def test_a_list_that_is_too_short_is_given_up() -> None:
    owners = {bytes([number]): 100 - number for number in range(8)}
    wealth = plain(owners, KEPT)
    spent = [(bytes([number]), 100 - number, 0) for number in range(4)]
    assert moved(wealth, spent[:3], shown=SHOWN, kept=KEPT) is not None
    assert moved(wealth, spent, shown=SHOWN, kept=KEPT) is None

"""The milestones of a statement for a period: the times of milestones may fall, and some may be incomplete."""

import asyncio
import itertools

from hypothesis import strategies as st

from db import schema
from db.queries.statements import find_account
from db.times import FOREVER, find_window
from tests.db.examples import examples
from tests.db.test_times import LAST, clocks, put_milestones

ADDRESS = "00" * 33
networks = (f"statements-{number}" for number in itertools.count())


def put_frontier(store, network, *indexes):
    with store.batch() as batch:
        batch.upsert(schema.ledger_frontier, ("network", "ledger_index"), [(network, each) for each in indexes])


@examples(data=st.data(), clock=clocks(), newest=st.booleans())
def test_a_period_is_from_the_first_to_the_last_milestone_whose_time_is_inside(store, data, clock, newest):
    network = next(networks)
    ledger_index = data.draw(st.integers(0, LAST))
    states = ["complete"] * (ledger_index + 1)
    states += data.draw(st.lists(st.sampled_from(("complete", "incomplete", "missing")), min_size=LAST, max_size=LAST))
    put_milestones(store, network, clock, states[: LAST + 1])
    put_frontier(store, network, 0, ledger_index)
    bound = st.integers(min(clock) - 2, max(clock) + 2)
    start, end = data.draw(bound), data.draw(st.just(FOREVER) | bound)
    inside = [index for index in range(ledger_index + 1) if start <= clock[index] < end]
    before = max((index for index in range(ledger_index + 1) if clock[index] < start), default=0)
    expected = (inside[0], inside[-1]) if inside else (before + 1, before)

    async def check():
        window = await find_window(store, network, start, end)
        account = await find_account(store, network, [ADDRESS], window, newest=newest)
        assert (account.first, account.last) == expected
        from_genesis = await find_account(store, network, [ADDRESS], window.from_genesis(0), newest=newest)
        assert (from_genesis.first, from_genesis.last) == (0, inside[-1] if inside else 0)

    asyncio.run(check())

"""The expected API responses for the oracle ledger's state at each ledger index, and a witness that compares them.

The state comes from the naive replay (tests/reference_ledger.py), bodies from the oracle. A response is compared with
the state of the ledger index that it names. A response without one (a 404, utxo-changes, the treasury) is compared with
all states from the last index seen before it to the index requested after it.
"""

from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from tests.api.asgi import ask
from tests.api.oracle import Oracle
from tests.etl.archives import Json, oracle
from tests.etl.listings import whole_oracle
from tests.reference import ORACLE, genesis_fact, milestone_fact, read_json
from tests.reference_facts import Output
from tests.reference_ledger import Replay, changes

TOKENS_PER_DUST = 100_000
MOST_DUST = 100
"""TIP-15: the allowance that permits one dust output, and the maximum number of dust outputs."""

PAGE_SIZE = 30
OPEN_LISTINGS = 4


@dataclass(frozen=True)
class State:
    """The ledger after a milestone: unspent outputs by id, and the treasury."""

    unspent: dict[str, Output]
    treasury: Json

    def owned(self, address: str) -> list[Output]:
        return [output for output in self.unspent.values() if output.owner == f"00{address}"]

    def balance(self, address: str) -> tuple[int, bool]:
        """The balance of an address, and whether it may receive dust."""
        owned = self.owned(address)
        allowance = sum(output.amount for output in owned if output.output_type == 1)
        dust = sum(output.output_type == 0 and output.amount < 1_000_000 for output in owned)
        return sum(output.amount for output in owned), min(allowance // TOKENS_PER_DUST, MOST_DUST) > dust


@cache
def states() -> list[State]:
    """By ledger index, from genesis."""
    start, replay = read_json(ORACLE / "genesis.json"), Replay()
    for output_id, output in genesis_fact(start).outputs.items():
        replay.create(output_id, output)
    found = [State(dict(replay.unspent), start["treasury"])]
    for line in oracle():
        changes(replay, milestone_fact(line))
        found.append(State(dict(replay.unspent), line["milestone"]["treasury"]))
    return found


@dataclass
class Listing:
    """An address's outputs, as far as their pages were read."""

    address: str
    with_spent: bool
    ledger_index: int | None = None
    state: str | None = None
    shown: list[str] = field(default_factory=list)


@dataclass
class Witness:
    """Queries an API over a store of the oracle ledger and asserts each response; `seen`: the ledger indexes named."""

    app: Any
    seen: list[int] = field(default_factory=list)
    answers: int = 0
    _open: list[Listing] = field(default_factory=list)

    @property
    def known(self) -> Oracle:
        return whole_oracle()

    async def whole(self, outputs: list[str]) -> None:
        """Every address and its listings, those outputs, the milestones near the ledger index, and the treasury."""
        for address in self.known.addresses:
            await self.balance(address)
            for with_spent in (False, True):
                listing = Listing(address, with_spent)
                while await self.page(listing):
                    pass
        for output_id in outputs:
            await self.output(output_id)
        at = await self._ledger_index() or 0
        for number in range(max(1, at - 3), min(at + 5, len(states()))):
            await self.utxo_changes(number)
        await self.treasury()

    async def anything(self, rng: Random) -> None:
        """One request; listings are read page by page, with other requests between."""
        kind = rng.randrange(6)
        address = rng.choice(self.known.addresses)
        if kind == 0:
            await self.balance(address)
        elif kind == 1:
            await self.output(rng.choice(list(self.known.outputs)))
        elif kind == 2:
            await self.utxo_changes(rng.randrange(1, len(states())))
        elif kind == 3:
            await self.treasury()
        elif len(self._open) < OPEN_LISTINGS:
            self._open.append(Listing(address, rng.random() < 0.5))
        else:
            listing = self._open.pop(rng.randrange(OPEN_LISTINGS))
            if await self.page(listing):
                self._open.append(listing)

    async def balance(self, address: str) -> None:
        status, body = await self._ask(f"addresses/ed25519/{address}")
        if self._begun(status):
            at = self._named(body)
            balance, dust_allowed = states()[at].balance(address)
            expected = {"addressType": 0, "address": address, "balance": balance, "dustAllowed": dust_allowed}
            assert body == {"data": expected | {"ledgerIndex": at}}

    async def output(self, output_id: str) -> None:
        status, body = await self._ask(f"outputs/{output_id}")
        if status == 404:
            assert not self.seen or output_id not in created_by(self.seen[-1]), (output_id, self.seen[-1])
            return
        # Without a ledger state the API serves everything that is loaded; its end is not a ledger index.
        if not self.seen and await self._ledger_index() is None:
            return
        at = self._named(body)
        assert output_id in created_by(at), (output_id, at)
        expected = self.known.outputs[output_id]
        if output_id in states()[at].unspent:
            expected = {key: each for key, each in expected.items() if not key.endswith("Spent")} | {"isSpent": False}
        assert body == {"data": expected | {"ledgerIndex": at}}

    async def utxo_changes(self, number: int) -> None:
        before = self.seen[-1] if self.seen else -1
        status, body = await self._ask(f"milestones/{number}/utxo-changes")
        if status == 404:
            assert number > before
        elif self._begun(status):
            assert body == {"data": oracle()[number - 1]["milestone"]["utxoChanges"]}
            after = await self._ledger_index()
            assert after is not None
            assert number <= after

    async def treasury(self) -> None:
        before = self.seen[-1] if self.seen else 0
        status, body = await self._ask("treasury")
        if self._begun(status):
            after = await self._ledger_index()
            assert after is not None
            assert body["data"] in [state.treasury for state in states()[before : after + 1]]

    async def page(self, listing: Listing) -> bool:
        """Reads one more page; returns whether another follows. The last page completes what was true at the first."""
        query = {"page_size": PAGE_SIZE, "include-spent": str(listing.with_spent).lower()}
        query |= {"state": listing.state} if listing.state else {}
        if not self.seen and await self._ledger_index() is None:
            return False
        _, body = await self._ask(f"addresses/ed25519/{listing.address}/outputs", query)
        page = body["data"]
        if listing.ledger_index is None:
            listing.ledger_index = self._named(body)
        assert page["ledgerIndex"] == listing.ledger_index
        listing.shown += page["outputIds"]
        listing.state = page["state"]
        if listing.state is None:
            assert listing.shown == listed(listing.address, listing.ledger_index, with_spent=listing.with_spent)
        return listing.state is not None

    async def _ledger_index(self) -> int | None:
        status, body = await self._ask(f"addresses/ed25519/{self.known.addresses[0]}")
        return self._named(body) if self._begun(status) else None

    async def _ask(self, path: str, query: dict[str, Any] | None = None) -> tuple[int, Any]:
        status, body = await ask(self.app, f"/api/v1/{path}", query)
        assert status in (200, 404, 501), (path, status, body)
        self.answers += 1
        return status, body

    def _begun(self, status: int) -> bool:
        """Whether there is a ledger state; once there is one, there always is."""
        assert status == 200 or not self.seen, status
        return status == 200

    def _named(self, body: Json) -> int:
        """The ledger index that a response names, which never falls."""
        at: int = body["data"]["ledgerIndex"]
        assert not self.seen or at >= self.seen[-1]
        if not self.seen or at > self.seen[-1]:
            self.seen.append(at)
        return at


@cache
def created_by(ledger_index: int) -> frozenset[str]:
    """Ids of all outputs that existed by then."""
    known = whole_oracle()
    return frozenset(
        output_id for output_id, each in known.outputs.items() if known.milestone_of[each["messageId"]] <= ledger_index
    )


@cache
def listed(address: str, ledger_index: int, *, with_spent: bool) -> list[str]:
    """Ids of an address's outputs at that ledger index, newest first."""
    known = whole_oracle()
    there = created_by(ledger_index) if with_spent else states()[ledger_index].unspent
    return [output_id for output_id in known.all_outputs(address) if output_id in there]

"""Followers that share a store with each other and with manual loads, and followers that are killed.

All are processes with the embedded engine, against a node whose newest milestone rises with time. The expected store
contents come from the oracle's JSON.
"""

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest

from db.admin.migrate import migrate
from db.connect import StoreSettings
from db.schema import pending_messages, sync
from etl.engine.current import SAIL
from tests.etl.archive.conftest import Json, Ledger, settings_of
from tests.etl.archive.proxy import proxied
from tests.etl.archive.test_fetch import tips_of
from tests.etl.commands import WAIT_S, Process, permanode
from tests.etl.store_rows import stored_rows
from tests.etl.test_oracle import check, reference, uncut

pytestmark = [pytest.mark.loads, pytest.mark.parametrize("ledger", ["chrysalis"], indirect=True)]

FIRST, LAST = 10, 50
"""The node's newest milestones when it is requested first and at the end."""

KILLS = 10

Rows: TypeAlias = dict[str, list[Json]]


def chance() -> random.Random:
    """Random numbers of a new seed."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 (pytest shows it when the test fails)
    return random.Random(seed)


@dataclass
class Network:
    """A node, a store, and the processes of a test."""

    url: str
    store: StoreSettings
    folder: Path
    started: list[Process] = field(default_factory=list)

    def start(self, *command: str | Path) -> Process:
        flags = ("--store", self.store.url, "--network", self.store.network)
        self.started.append(permanode(*flags, *command, cwd=self.folder, PERMANODE_ETL_ENGINE=SAIL))
        return self.started[-1]

    def follow(self, into: str) -> Process:
        return self.start(
            "fetch", "--node", self.url, "--range", "1:", "--into", self.folder / into, "--follow", "--load"
        )

    def wait_for(self, reached: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not reached():
            assert time.monotonic() < end, "\n".join(each.printed() for each in self.started)
            time.sleep(0.2)

    def held(self) -> int:
        """The number of milestones in the store."""
        return len(stored_rows(self.folder / "store", [sync])["sync"])

    def is_whole(self) -> bool:
        """Whether all milestones and the pending messages are in the store, and their files noted as archived."""
        if self.held() < LAST:
            return False
        rows = stored_rows(self.folder / "store", [sync, pending_messages])
        return bool(rows["pending_messages"]) and all(row["logged_by"] == 0 for row in rows["sync"])

    def end(self, *followers: Process) -> None:
        """Ends followers with SIGTERM."""
        for each in followers:
            os.kill(each.pid, signal.SIGTERM)
        for each in followers:
            assert each.finish() == 0, each.printed()

    def check(self, part: Callable[[Rows], Rows] = lambda rows: rows) -> None:
        """The store contains the oracle ledger, and all milestones are marked as archived. `part`: what is compared."""
        expected = reference((self.store.chunk_size, self.store.partition_size))
        expected["sync"] = [row | {"logged_by": 0} for row in expected["sync"]]
        expected["ranges"] = [row | {"logged": row["complete"]} for row in expected["ranges"]]
        check(part(stored_rows(self.folder / "store")), part(expected))


@contextmanager
def network(ledger: Ledger, node: str, folder: Path, per_s: float = 10.0) -> Iterator[Network]:
    """`per_s`: how many milestones the node confirms in a second."""
    begun: list[float] = []

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path == "/api/v1/info":
            begun.append(time.monotonic())
            info = json.loads(body)
            info["data"]["confirmedMilestoneIndex"] = min(LAST, FIRST + int(per_s * (time.monotonic() - begun[0])))
            return status, json.dumps(info).encode()
        return (200, tips_of(ledger)) if path.endswith("/tips") else (status, body)

    store = settings_of("chrysalis", f"sqlite:///{folder}/store", ledger.network)
    migrate(store)
    with proxied(node, edit=edit) as proxy:
        made = Network(proxy.url, store, folder)
        try:
            yield made
        finally:
            for each in made.started:
                each.kill()


def test_two_followers_of_which_one_is_killed_and_a_manual_load_share_a_store(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    lines = tmp_path / "last.jsonl"
    lines.write_text("".join(f"{json.dumps(line)}\n" for line in ledger.lines(LAST - 5, LAST + 1)))
    with network(ledger, node, tmp_path) as made:
        killed, other = made.follow("one"), made.follow("two")
        made.wait_for(lambda: made.held() > 0)
        manual = made.start("load", lines)
        assert not killed.end_within(chance().uniform(0, 2))
        killed.kill()
        again = made.follow("one")
        assert manual.finish() == 0, manual.printed()
        assert not again.end_within(0)
        assert not other.end_within(0)
        made.wait_for(made.is_whole)
        made.end(again, other)
        # The last milestones were not loaded in order.
        made.check(uncut)


@pytest.mark.slow
def test_a_follower_that_is_killed_and_started_again(ledger: Ledger, node: str, tmp_path: Path) -> None:
    moments = chance()
    with network(ledger, node, tmp_path, per_s=1.0) as made:
        for _ in range(KILLS):
            files = len(list(tmp_path.glob("archive/*.log")))
            follower = made.follow("archive")
            # From the first new file on, it loads nearly all the time.
            made.wait_for(lambda files=files: len(list(tmp_path.glob("archive/*.log"))) > files or made.is_whole())
            assert not follower.end_within(moments.uniform(0, 3))
            follower.kill()
        last = made.follow("archive")
        made.wait_for(made.is_whole)
        made.end(last)
        made.check()

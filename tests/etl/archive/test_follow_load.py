"""`permanode fetch --follow --load` as a process against a node whose newest milestone rises, until SIGTERM.

The expected store contents come from the oracle's JSON.
"""

import json
import os
import signal
import threading
from itertools import chain, repeat
from pathlib import Path

import pytest

from db.admin.migrate import migrate
from etl.fetch.steps import FIRST_MOST
from tests.etl.archive.conftest import Ledger, settings_of
from tests.etl.archive.proxy import proxied
from tests.etl.archive.test_fetch import tips_of
from tests.etl.commands import WAIT_S, permanode
from tests.etl.store_rows import stored_rows
from tests.etl.test_oracle import check, reference

pytestmark = [pytest.mark.loads, pytest.mark.slow]

HEADS = [25, 25, 50]
"""The newest milestone that the node reports to each request: for its network, for its head, and from then on."""


@pytest.mark.parametrize("ledger", ["chrysalis"], indirect=True)
def test_milestones_are_loaded_as_they_come_and_in_the_end_the_whole_oracle_is_there(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    store = settings_of("chrysalis", f"sqlite:///{tmp_path}/store", ledger.network)
    migrate(store)
    heads, all_loaded = chain(HEADS, repeat(HEADS[-1])), threading.Event()
    held: list[int] = []

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path == "/api/v1/info":
            info = json.loads(body)
            info["data"]["confirmedMilestoneIndex"] = next(heads)
            rows = stored_rows(tmp_path / "store")
            held.append(len(rows["sync"]))
            if held[-1] == HEADS[-1] and rows["pending_messages"]:
                all_loaded.set()
            return status, json.dumps(info).encode()
        return (200, tips_of(ledger)) if path.endswith("/tips") else (status, body)

    with proxied(node, edit=edit) as proxy:
        flags = ("--store", store.url, "--network", store.network)
        command = ("fetch", "--node", proxy.url, "--range", "1:", "--into", tmp_path / "archive", "--follow", "--load")
        follower = permanode(*flags, *command, cwd=tmp_path, PERMANODE_ETL_ENGINE="sail")
        try:
            assert all_loaded.wait(WAIT_S), follower.printed()
            os.kill(follower.pid, signal.SIGTERM)
            assert follower.finish() == 0, follower.printed()
        finally:
            follower.kill()
    assert held == sorted(held)
    assert "50 milestones fetched, 0 already there" in follower.out
    spans = sorted(tuple(map(int, path.stem.split("to"))) for path in (tmp_path / "archive").glob("*.log"))
    assert spans[0] == (1, FIRST_MOST + 1)
    assert [first for first, _ in [*spans, (HEADS[-1] + 1, 0)]] == [1, *(end for _, end in spans)]
    assert set(held) == {0, *(end - 1 for _, end in spans)}
    expected = reference((store.chunk_size, store.partition_size))
    # The loaded files are durable, so all milestones are marked as archived.
    expected["sync"] = [row | {"logged_by": 0} for row in expected["sync"]]
    expected["ranges"] = [row | {"logged": row["complete"]} for row in expected["ranges"]]
    check(stored_rows(tmp_path / "store"), expected)

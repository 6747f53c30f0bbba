"""Streams of a real server that are cut at random bytes, by the client or by SIGKILL of the server, while milestones
come: with the id of the last event, no event is missed or delivered twice.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.api.events.reference_events import Json
from tests.api.events.test_events import growing, parsed
from tests.api.oracle import Oracle
from tests.api.processes import WAIT_S, each_server, free_port, started, wait_for

ENDS = (30, 50)
"""The newest milestone of the store while each of the servers runs."""

MOST_BYTES = 3_000
"""A stream is cut after at most so many bytes."""


@contextmanager
def served(
    folder: Path, network: str, hrp: str, log: Path, http_server: str
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Runs `permanode serve` over a store; yields its URL, and a function that kills it."""
    settings = {
        "PERMANODE_STORE": f"sqlite:///{folder}",
        "PERMANODE_NETWORK": network,
        "PERMANODE_STORE_BECH32_HRP": hrp,
        "PERMANODE_STORE_CHUNK_SIZE": "7",
        "PERMANODE_STORE_PARTITION_SIZE": "3",
        "PERMANODE_API_PORT": str(free_port()),
        "PERMANODE_API_SERVER": http_server,
    }
    with started("-c", "from cli.main import main; main()", "serve", log=log, **settings) as process:
        base = f"http://127.0.0.1:{settings['PERMANODE_API_PORT']}"
        wait_for(base, process)
        yield f"{base}/api/{network}/events", process.kill


def cut(url: str, query: Json, last: str, most_bytes: int, *, at_end: Callable[[], None] | None = None) -> str:
    """The whole events among the first bytes of a stream. `at_end` is called before the last of them is read."""
    text = ""
    headers = {"accept": "text/event-stream", "last-event-id": last}
    try:
        with httpx.stream("GET", url, params=query, headers=headers, timeout=WAIT_S) as answer:
            assert answer.status_code == 200
            for chunk in answer.iter_text():
                text += chunk
                if at_end is not None:
                    at_end()
                if len(text) >= most_bytes:
                    break
    except httpx.TransportError:
        pass
    return text[:most_bytes].rpartition("\n\n")[0] + "\n\n"


@pytest.mark.thorough
@pytest.mark.parametrize("http_server", each_server("uvicorn"))
@pytest.mark.parametrize("count", [40, pytest.param(1_000, marks=pytest.mark.slow)])
def test_no_event_is_missed_or_delivered_twice(oracle: Oracle, tmp_path: Path, count: int, http_server: str) -> None:
    rng = random.Random(count)
    stages = growing(tmp_path / "store", oracle, *ENDS)
    ledger = next(stages)
    mount, wanted = ledger.mount, ledger.wanted[-1]
    query = {**wanted.query(mount.bech32), "follow": "false"}
    expected = ledger.expected(wanted)
    found: list[Json] = []
    last, cuts = "0", 0

    def take(text: str) -> None:
        nonlocal last
        found.extend(parsed(text))
        ids = [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]
        last = ids[-1] if ids else last

    for number, end in enumerate(ENDS):
        with served(tmp_path / "store", mount.name, mount.bech32_hrp, tmp_path / f"{number}.log", http_server) as (
            url,
            kill,
        ):
            due = [each for each in expected if each["milestoneIndex"] <= end]
            for _ in range(count // len(ENDS)):
                # Small parts, so that the cuts last until the end; sometimes nothing at all.
                take(cut(url, query, last, rng.randint(0, MOST_BYTES if len(found) < len(due) else 200)))
                cuts += 1
            take(cut(url, query, last, rng.randint(1, MOST_BYTES), at_end=kill))
            assert found == due[: len(found)]
        next(stages, None)
    assert cuts == count
    with served(tmp_path / "store", mount.name, mount.bech32_hrp, tmp_path / "last.log", http_server) as (url, _):
        take(cut(url, query, last, 10**9))
    assert found == expected

"""The list of a native token's holders: requests in one process, over tokens in more and more unspent outputs.

    python -m bench.holders [--outputs 1000 10000 100000]

Prints the median and the maximum of the requests for a token in that many outputs, each of an address of its own, in
the embedded store. Each request reads all of these outputs.
"""

import argparse
import asyncio
import hashlib
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.roles import BASIC, NATIVE_TOKEN
from db.store import Value, WritableStore

NETWORK, HRP = "bench-holders", "tst"
LEDGER_INDEX = 90_000
REQUESTS = 5
AT_ONCE = 10_000

COLUMNS = (
    *schema.unspent_hints.names, "milestone_index", "output_id", "output_type", "amount", "native_tokens", "address",
    "token_amount",
)  # fmt: skip


def token_of(outputs: int) -> str:
    """The id of the token in that many outputs."""
    return f"08{outputs:064x}0100000000"


def fill(store: WritableStore, outputs: int) -> None:
    """Writes the unspent outputs of a token."""
    key: Sequence[Value] = (NATIVE_TOKEN, BASIC, token_of(outputs), 0, 0)
    for first in range(0, outputs, AT_ONCE):
        rows = []
        for number in range(first, min(first + AT_ONCE, outputs)):
            digest = hashlib.blake2b(f"{outputs} {number}".encode(), digest_size=32).digest()
            amount = int.from_bytes(digest[:12]).to_bytes(32, "little")
            milestone_index = 1 + number * (LEDGER_INDEX - 1) // outputs
            rows.append((*key, milestone_index, digest + b"\0\0", 3, 100_000, 1, b"\0" + digest, amount))
        with store.batch() as batch:
            batch.upsert(schema.unspent_outputs, COLUMNS, rows)
    token = bytes.fromhex(token_of(outputs))
    with store.batch() as batch:
        batch.upsert(schema.unspent_hints, schema.unspent_hints.names, [tuple(key)])
        hint = (token, NATIVE_TOKEN, "ledger", True, 0, 0)
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, [hint])
        batch.upsert(schema.ledger_frontier, schema.ledger_frontier.names, [(NETWORK, 0), (NETWORK, LEDGER_INDEX)])


async def seconds_of(client: httpx.AsyncClient, outputs: int) -> list[float]:
    """The times of requests for the first page of the holders."""
    path, found = f"/api/explorer/v2/native-tokens/0x{token_of(outputs)}/holders", []
    for _ in range(1 + REQUESTS):
        begun = time.perf_counter()
        answer = await client.get(path)
        found.append(time.perf_counter() - begun)
        assert answer.json()["holderCount"] == outputs, answer.text
    return found[1:]


async def measure(folder: Path, counts: Sequence[int]) -> None:
    """Fills a store and prints the times."""
    settings = StoreSettings(f"sqlite:///{folder}", NETWORK)
    migrate(settings)
    store = open_store(settings, writable=True)
    app = create_app({NETWORK: NetworkMount(store, NETWORK, HRP)}, NETWORK, ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        for outputs in counts:
            fill(store, outputs)
            found = await seconds_of(client, outputs)
            sys.stdout.write(
                f"{outputs:>9,} outputs: median {statistics.median(found):.3f} s, max {max(found):.3f} s\n"
            )
    store.close()


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options.outputs))


if __name__ == "__main__":
    main()

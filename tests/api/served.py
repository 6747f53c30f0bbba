"""The application that tests start in separate processes, and a program that serves it with a slow store.

`uvicorn --factory tests.api.served:make` serves it as usual. `python -m tests.api.served PORT WORKERS` is for tests
that stop a server during a request: each read takes SLOW_S, and its start is printed on stdout. PERMANODE_API_SERVER
names the HTTP server, PERMANODE_API_SHUTDOWN_S the time of open requests.
"""

import asyncio
import os
import sys
from typing import Any

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli.serving import listen, run
from db.connect import StoreSettings, open_store

SLOW_S = 3.0


class SlowStore:
    """A store whose responses to `get` are delayed."""

    def __init__(self, store: Any) -> None:
        self.slice, self.get_many, self.damage = store.slice, store.get_many, store.damage
        self._get = store.get

    async def get(self, *arguments: Any) -> Any:
        sys.stdout.write("asked\n")
        sys.stdout.flush()
        await asyncio.sleep(SLOW_S)
        return await self._get(*arguments)


def settings() -> StoreSettings:
    """The SQLite store in PERMANODE_TEST_STORE."""
    folder, network = os.environ["PERMANODE_TEST_STORE"], os.environ["PERMANODE_TEST_NETWORK"]
    return StoreSettings(url=f"sqlite:///{folder}", network=network)


def application(store: Any) -> Any:
    hrp = os.environ.get("PERMANODE_TEST_HRP", "atoi")
    mount = NetworkMount(store, settings().network, hrp, wormhole=settings().wormhole_network)
    return create_app({"mainnet": mount}, "mainnet", ApiSettings())


def make() -> Any:
    return application(open_store(settings()))


def make_slow() -> Any:
    return application(SlowStore(open_store(settings())))


if __name__ == "__main__":
    port, workers = map(int, sys.argv[1:])
    server = os.environ.get("PERMANODE_API_SERVER", "uvicorn")
    shutdown_s = int(os.environ.get("PERMANODE_API_SHUTDOWN_S", "30"))
    api = ApiSettings(workers=workers, server=server, shutdown_s=shutdown_s)
    run("tests.api.served:make_slow", listen("127.0.0.1", port), api)

"""Starts the HTTP server from the settings.

Invariants:
1. The port is bound before any slow step, so a busy port fails at once.
2. Each worker process opens its own stores and configures its own logging from the same settings.
"""

import ctypes
import errno
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from api.app import create_app
from api.http.metrics import SHARED_FOLDER
from api.mqtt.packets import PACKET_MAX_BYTES
from api.network import NetworkMount
from api.settings import ApiSettings
from cli import logs
from cli.connection_limits import Limits
from cli.connections import SEND_BUFFER_BYTES, LimitedConfig
from cli.open_files import BACKLOG_MAX, fit_files
from cli.settings import Settings, SettingsError, read
from db.connect import StoreSettings, find_parameters, open_store
from db.roles import KINDS, STARDUST_KINDS
from db.store import StoreError, WritableStore

if TYPE_CHECKING:
    from cli.granian_server import GranianConfig

log = logging.getLogger("permanode")

ASGIApp: TypeAlias = Callable[..., Awaitable[None]]

GC_THRESHOLD = (20_000, 1, 2_500)
"""Thresholds of the cyclic garbage collector. The objects of a Cassandra query contain reference cycles: with Python's
default thresholds the collector took two fifths of the time of a read. A collection of the second generation, which
stops all requests, looks at 40,000 objects in up to 15 ms, one of the third at all.
"""

PRICED = "mainnet"
"""The Wormhole network whose prices apply to the base tokens of other networks, by symbol."""

ALLOCATOR = {-1: 16 << 20, -3: 4 << 20}
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD (mallopt(3)): the free bytes that the C library keeps, and the minimum size of
a separate mapping. With the defaults (128 KiB) it returned the buffers of larger responses to the kernel and faulted
them in again page by page, which took more than half of the time of a three-year series as NDJSON.
"""


def serve(
    settings: Settings, listener: socket.socket | None = None, announce: Callable[[str], None] = lambda _: None
) -> None:
    """Serves until it is interrupted, on `listener` if the port is already bound. `announce` receives the URL and the
    networks once all stores are open. On SIGTERM and SIGINT the program ends with exit code 0.
    """
    end_on_signals()
    api = settings.build("api", ApiSettings)
    settings.store()
    listener = listener or listen(api.host, api.port)
    if api.workers == 1:
        logs.configure()
        app = settled_app(settings)
        announce(served_text(listener, settings))
        run(app, listener, api)
    else:
        check_stores(settings)
        announce(served_text(listener, settings))
        os.environ |= settings.environment()
        run("cli.serving:make_worker_app", listener, api)


def end_on_signals() -> None:
    """Makes SIGTERM and SIGINT end the program with exit code 0. uvicorn handles them while it serves, and raises them
    again when it has stopped.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))


def check_stores(settings: Settings) -> None:
    """Opens and closes each store. Raises what the workers would raise, which would be started again and again."""
    for name in settings.networks:
        cast(WritableStore, mount(settings.store(name)).store).close()


def served_text(listener: socket.socket, settings: Settings) -> str:
    """The URL of the server, and its networks."""
    host, port, *_ = listener.getsockname()
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    return f"serving {', '.join(settings.networks)} on {url}"


def run(app: ASGIApp | str, listener: socket.socket, api: ApiSettings) -> None:
    """Serves an application, or the result of the factory with this name in each worker, until it is interrupted.

    On SIGTERM and SIGINT it stops accepting connections and gives open requests `shutdown_s` seconds to end.
    """
    connections, backlog = fit_files(api.connections)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    config = config_class(api)(
        app,
        Limits(connections, api.head_bytes, api.head_s, api.send_s),
        backlog=backlog,
        timeout_keep_alive=api.keep_alive_s,
        factory=isinstance(app, str),
        workers=api.workers,
        timeout_graceful_shutdown=api.shutdown_s,
        # Nothing is logged that the application logs itself, and all of it in our form.
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        # MQTT. Payloads are binary, and compression would keep buffers for each client.
        ws_max_size=2 * PACKET_MAX_BYTES,
        ws_per_message_deflate=False,
    )
    if api.workers == 1:
        uvicorn.Server(config).run(sockets=[listener])
        return
    with tempfile.TemporaryDirectory(prefix="permanode-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        Multiprocess(config, [listener]).run()


def config_class(api: ApiSettings) -> "type[LimitedConfig | GranianConfig]":
    """The configuration of the server that the settings name. Raises SettingsError if it is not installed."""
    if api.server == "uvicorn":
        return LimitedConfig
    try:
        from cli.granian_server import GranianConfig
    except ModuleNotFoundError as error:
        raise SettingsError(f"api.server is granian, but {error.name} is missing: install the extra granian") from error
    return GranianConfig


def listen(host: str, port: int) -> socket.socket:
    """Opens the listening socket. Raises SettingsError if the port is in use, or this machine does not have the
    address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG_MAX)
    except OSError as error:
        # Python adds the address to the text of the system.
        reason = (error.strerror or str(error)).partition(" (while attempting")[0]
        advice = "use another --port" if error.errno in {errno.EADDRINUSE, errno.EACCES} else "check --host"
        raise SettingsError(f"cannot listen on {host} port {port}: {reason}; {advice}") from error


def make_app(settings: Settings) -> FastAPI:
    """Creates the application for all networks of the settings."""
    mounts = {name: mount(settings.store(name)) for name in settings.networks}
    prices = next((each.store for each in mounts.values() if each.wormhole == PRICED), None)
    mounts = {name: each if each.wormhole else replace(each, prices=prices) for name, each in mounts.items()}
    return create_app(mounts, settings.store().network, settings.build("api", ApiSettings))


def mount_one(settings: Settings) -> NetworkMount:
    """Opens the network that a command works on, and the store that has prices. Raises SettingsError."""
    stores = [settings.store(name) for name in settings.networks]
    prices = next((open_store(each) for each in stores if each.wormhole_network == PRICED), None)
    return replace(mount(settings.store()), prices=prices)


def mount(store: StoreSettings) -> NetworkMount:
    """Opens the network of these settings. Raises SettingsError if they are invalid."""
    if store.wormhole_network is not None:
        return NetworkMount(open_store(store), store.network, wormhole=store.wormhole_network)
    try:
        known, hrp = store.known_network(), store.hrp_of(store.network)
        parameters, token = store.stardust_parameters(), store.base_token_of(store.network)
        coordinator = store.coordinator()
    except ValueError as error:
        raise SettingsError(f"networks.{store.network}: {error}") from error
    opened = open_store(store)
    if not hrp or parameters is None:
        found = find_parameters(opened, store.network)
        parameters = parameters or found
        hrp = hrp or (known.bech32_hrp if found is None else found.bech32_hrp)
    return NetworkMount(
        opened,
        store.network,
        hrp,
        stardust_name=known.stardust_name,
        parameters=parameters,
        stardust_from=0 if known.is_stardust_alone else known.stardust_from or 0,
        base_token=token,
        coordinator=coordinator,
        kinds=STARDUST_KINDS if known.is_stardust_alone else KINDS,
        is_of_one_era=known.stardust_from is None,
    )


def make_worker_app() -> ASGIApp:
    """Creates the application of a worker process, which gets all settings from the environment."""
    logs.configure()
    file = os.environ.get("PERMANODE_CONFIG")
    try:
        return settled_app(read(Path(file) if file else None, os.environ, {}))
    except StoreError as error:
        # One line, and the next worker tries again.
        log.error("%s", error)  # noqa: TRY400
        sys.exit(1)


def settled_app(settings: Settings) -> ASGIApp:
    """Creates the application and tunes the memory management of this process for serving."""
    app = make_app(settings)
    # The stack without FastAPI in front of it, which would add two stack frames to each request.
    stack = app.build_middleware_stack()
    spare_collector()
    keep_freed_memory()
    return stack


def spare_collector() -> None:
    """Makes the cyclic garbage collector run less often and skip the objects that exist now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)


def keep_freed_memory() -> None:
    """Makes glibc keep the memory of a response for the next one. Other C libraries have no such setting."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, size in ALLOCATOR.items():
            mallopt(name, size)

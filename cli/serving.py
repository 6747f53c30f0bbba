"""From settings to a listening HTTP server.

Rules of this file: the port is taken before anything slow happens, so a busy one is said at once; every worker process
opens its own stores and configures its own logging, from the same settings.
"""

import ctypes
import gc
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import uvicorn
from uvicorn.supervisors import Multiprocess

from api.app import ApiSettings, create_app
from api.http.metrics import SHARED_FOLDER
from api.network import NetworkMount
from cli import logs
from cli.settings import Settings, SettingsError, read
from db.connect import StoreSettings, open_store
from db.roles import KINDS, STARDUST_KINDS

ASGIApp: TypeAlias = Callable[..., Awaitable[None]]

BACKLOG = 2048
"""Connections that may wait to be accepted."""

GC_THRESHOLD = (50_000, 20, 100)
"""What a cluster's driver keeps of a question refers to itself: with Python's own thresholds the search for such
cycles, through all that the server holds, was two fifths of a read's time.
"""

ALLOCATOR = {-1: 16 << 20, -3: 4 << 20}
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD (mallopt(3)): bytes that the C library keeps when they are given back to it,
and the least that are mapped apart. With its own thresholds, 128 KiB, it returned the buffers of every larger answer to
the kernel and got them back page by page: more than half of the time of a series of three years as NDJSON.
"""


def serve(settings: Settings, listener: socket.socket | None = None) -> None:
    """Answers until it is interrupted; on `listener` where the port was taken already."""
    api = settings.build("api", ApiSettings)
    settings.store()
    listener = listener or listen(api.host, api.port)
    if api.workers == 1:
        logs.configure()
        run(settled_app(settings), listener, api)
    else:
        os.environ |= settings.environment()
        run("cli.serving:make_worker_app", listener, api)


def run(app: ASGIApp | str, listener: socket.socket, api: ApiSettings) -> None:
    """Answers with that application, or with what a factory of that name makes in each worker, until interrupted.

    SIGTERM and SIGINT end it: connections are accepted no more, requests under way have `shutdown_s` to end.
    """
    config = uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=api.workers,
        timeout_graceful_shutdown=api.shutdown_s,
        # Nothing is logged that the application logs itself, and all of it in our form.
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    if api.workers == 1:
        uvicorn.Server(config).run(sockets=[listener])
        return
    with tempfile.TemporaryDirectory(prefix="permanode-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        Multiprocess(config, [listener]).run()


def listen(host: str, port: int) -> socket.socket:
    """The listening socket; SettingsError when another program has the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise SettingsError(f"cannot listen on {host} port {port}: {reason}; choose another --port") from error


def make_app(settings: Settings) -> ASGIApp:
    """The application over every network of the settings."""
    mounts = {name: mount(settings.store(name)) for name in settings.networks}
    return create_app(mounts, settings.store().network, settings.build("api", ApiSettings))


def mount(store: StoreSettings) -> NetworkMount:
    """The network of those settings; SettingsError for what cannot be read of them."""
    if store.wormhole_network is not None:
        return NetworkMount(open_store(store), store.network, wormhole=store.wormhole_network)
    known = store.known_network()
    try:
        parameters, token = store.stardust_parameters(), store.base_token_of(store.network)
        coordinator = store.coordinator()
    except ValueError as error:
        raise SettingsError(f"networks.{store.network}: {error}") from error
    return NetworkMount(
        open_store(store),
        store.network,
        known.bech32_hrp,
        stardust_name=known.stardust_name,
        parameters=parameters,
        stardust_from=0 if known.is_stardust_alone else known.stardust_from or 0,
        base_token=token,
        coordinator=coordinator,
        kinds=STARDUST_KINDS if known.is_stardust_alone else KINDS,
    )


def make_worker_app() -> ASGIApp:
    """The application of one worker process, whose settings are all in the environment."""
    logs.configure()
    file = os.environ.get("PERMANODE_CONFIG")
    return settled_app(read(Path(file) if file else None, os.environ, {}))


def settled_app(settings: Settings) -> ASGIApp:
    """The application, in a process that has nothing else to do from now on."""
    app = make_app(settings)
    spare_collector()
    keep_freed_memory()
    return app


def spare_collector() -> None:
    """Python's cyclic collector comes less often, and leaves alone what is there now and stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)


def keep_freed_memory() -> None:
    """Memory of an answer serves the next one; glibc's allocator is told, others have no such word."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, size in ALLOCATOR.items():
            mallopt(name, size)

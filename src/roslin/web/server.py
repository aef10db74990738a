"""Start the server: uvicorn, one process or several, with connections that have limits and a clean end."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from inspect import signature
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI

from roslin.api import Collection
from roslin.search.engines.emd import open_index
from roslin.web.app import create_app
from roslin.web.connections import LAST_SECONDS, Connections, room_for
from roslin.web.settings import ServerSettings, Settings
from roslin.web.several import create_several

_PATIENCE = "timeout_worker_healthcheck"
_PAGE_CONNECTIONS = 1000  # of one process
_TURN_SECONDS = 0.001
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h
_LARGE_BYTES, _HEAPS = 2**18, 2

_Settings = TypeVar("_Settings", bound=ServerSettings)


def serve(settings: Settings, host: str, port: int, workers: int = 1) -> None:
    """Serve one collection, or several, until a signal ends it."""
    for each in settings.parts or (settings,):
        with Collection(each.collection) as collection:
            open_index(collection)  # once, before several processes would each make it
    run(_application, settings, "roslin.web.server:worker", _PAGE_CONNECTIONS, host, port, workers)


def worker() -> FastAPI:
    """The application of one of several processes."""
    prepare_process()
    return _application(Settings.from_environment())


def _application(settings: Settings) -> FastAPI:
    return create_several(settings) if settings.parts else create_app(settings)


def run(
    make: Callable[[_Settings], FastAPI],
    settings: _Settings,
    worker: str,
    connections: int,
    host: str,
    port: int,
    workers: int,
) -> None:
    """Serve an application with these settings in one process, or by the factory `worker` in several."""
    prepare_process()
    options = uvicorn_options(connections, settings.proxies) | {"host": host, "port": port}
    # SIGTERM is a normal end: when uvicorn has ended, it sends the signal again to the handler before its own.
    signal.signal(signal.SIGTERM, lambda *_: None)
    if workers == 1:
        uvicorn.run(make(settings), **options)
    else:
        os.environ[settings.variable] = settings.to_environment()
        uvicorn.run(worker, factory=True, workers=workers, **options)


def uvicorn_options(connections: int, proxies: tuple[str, ...]) -> dict[str, Any]:
    """Options of uvicorn, for both applications. X-Forwarded-For counts only from `proxies`."""
    # By default, newer versions end a worker that does not answer for 5 seconds, as while it starts on a busy computer.
    patience = {_PATIENCE: 60} if _PATIENCE in signature(uvicorn.Config).parameters else {}
    return {
        **patience,
        "access_log": False,  # ours has the shape that we document
        "log_level": "warning",
        "server_header": False,
        "http": Connections(room_for(connections), proxies),
        "ws": "none",
        "timeout_graceful_shutdown": int(LAST_SECONDS) - 1,
        "timeout_keep_alive": 15,
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": list(proxies),
    }


def prepare_process() -> None:
    """Prepare a process for many clients: it logs to stderr, changes threads often, and gives memory back.

    Threads that answer must not wait for those that compute, so threads take turns five times as often as by default.
    glibc would keep the memory of large uploads, for each thread separately. It is set to give large pieces back at
    once and to have few heaps.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for name in ("roslin.access", "roslin.web"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    sys.setswitchinterval(_TURN_SECONDS)
    with suppress(AttributeError, OSError, TypeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        library.mallopt(_M_ARENA_MAX, _HEAPS)

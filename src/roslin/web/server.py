"""Start the server: uvicorn, one process or several, with connections that have limits and a clean end."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from contextlib import suppress
from inspect import signature
from typing import Any

import uvicorn
from fastapi import FastAPI

from roslin.api import Collection
from roslin.search.engines.emd import open_index
from roslin.web.app import create_app
from roslin.web.connections import LAST_SECONDS, Connections, room_for
from roslin.web.settings import VARIABLE, Settings

_PATIENCE = "timeout_worker_healthcheck"
_PAGE_CONNECTIONS = 1000  # of one process
_TURN_SECONDS = 0.001
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h
_LARGE_BYTES, _HEAPS = 2**18, 2


def serve(settings: Settings, host: str, port: int, workers: int = 1) -> None:
    """Serve until a signal ends it."""
    prepare_process()
    with Collection(settings.collection) as collection:
        open_index(collection)  # once, before several processes would each make it
    options = uvicorn_options(_PAGE_CONNECTIONS, settings.proxies) | {"host": host, "port": port}
    ends_in_peace()
    if workers == 1:
        uvicorn.run(create_app(settings), **options)
    else:
        os.environ[VARIABLE] = settings.to_environment()
        uvicorn.run("roslin.web.server:worker", factory=True, workers=workers, **options)


def ends_in_peace() -> None:
    """Make SIGTERM a normal end: when uvicorn has ended, it sends the signal again to the handler before its own."""
    signal.signal(signal.SIGTERM, lambda *_: None)


def worker() -> FastAPI:
    """The application of one of several processes."""
    prepare_process()
    return create_app(Settings.from_environment())


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
    glibc would keep the memory of large uploads, for each thread separately; it is told to give large pieces back at
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

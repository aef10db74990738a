"""Start the server: uvicorn, one process or several, with connections that have limits and a clean end."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any

import uvicorn

from roslin.api import Collection
from roslin.search.index import open_index
from roslin.web.app import create_app
from roslin.web.connections import Connection, room_for
from roslin.web.ending import LAST_SECONDS
from roslin.web.settings import VARIABLE, Settings

__all__ = ["ends_in_peace", "log_to_stderr", "serve", "uvicorn_options"]

_CONNECTIONS = 1000  # of one process


def serve(settings: Settings, host: str, port: int, workers: int = 1) -> None:
    """Serve until a signal ends it."""
    log_to_stderr()
    with Collection(settings.collection) as collection:
        open_index(collection)  # once, before several processes would each make it
    options = uvicorn_options(_CONNECTIONS, settings.proxies) | {"host": host, "port": port}
    ends_in_peace()
    if workers == 1:
        uvicorn.run(create_app(settings), **options)
    else:
        os.environ[VARIABLE] = settings.to_environment()
        uvicorn.run("roslin.web.server:worker", factory=True, workers=workers, **options)


def ends_in_peace() -> None:
    """Make SIGTERM a normal end: uvicorn, when it has ended, sends it once more to whoever listened before."""
    signal.signal(signal.SIGTERM, lambda *_: None)


def uvicorn_options(connections: int, proxies: tuple[str, ...]) -> dict[str, Any]:
    """How uvicorn is run, for a page of a collection or of a study. Only from `proxies` is X-Forwarded-For believed."""
    return {
        "access_log": False,  # ours has the shape that we document
        "log_level": "warning",
        "server_header": False,
        "http": Connection,
        "limit_concurrency": room_for(connections),
        "timeout_graceful_shutdown": int(LAST_SECONDS) - 1,
        "timeout_keep_alive": 15,
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": list(proxies),
    }


def worker() -> object:
    """The application of one of several processes."""
    log_to_stderr()
    from roslin.web.app import app_from_environment

    return app_from_environment()


def log_to_stderr() -> None:
    """Write what happens, and every request, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for name in ("roslin.access", "roslin.web"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)

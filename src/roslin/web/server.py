"""Start the server: uvicorn, one process or several, and a clean end.

A signal to end stops new requests, lets those that run come to their end (at most `_LAST_SECONDS`), and closes the
collection and the engraver.
"""

from __future__ import annotations

import logging
import os
import sys

import uvicorn

from roslin.api import Collection
from roslin.search.index import open_index
from roslin.web.app import create_app
from roslin.web.settings import VARIABLE, Settings

__all__ = ["OPTIONS", "log_to_stderr", "serve"]

_LAST_SECONDS = 15
OPTIONS = {
    "access_log": False,  # ours has the shape that we document
    "log_level": "warning",
    "server_header": False,
    "timeout_graceful_shutdown": _LAST_SECONDS,
    "limit_concurrency": 1000,
    "timeout_keep_alive": 15,
}


def serve(settings: Settings, host: str, port: int, workers: int = 1) -> None:
    """Serve until a signal ends it."""
    log_to_stderr()
    with Collection(settings.collection) as collection:
        open_index(collection)  # once, before several processes would each make it
    options = {**OPTIONS, "host": host, "port": port}
    if workers == 1:
        uvicorn.run(create_app(settings), **options)  # type: ignore[arg-type]
    else:
        os.environ[VARIABLE] = settings.to_environment()
        uvicorn.run("roslin.web.server:worker", factory=True, workers=workers, **options)  # type: ignore[arg-type]


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

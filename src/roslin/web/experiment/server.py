"""Start the server of a study: uvicorn, one process or several, and a clean end."""

from __future__ import annotations

import os

import uvicorn

from roslin.web.experiment.app import create_app, study_from_environment
from roslin.web.experiment.settings import STUDY_VARIABLE, ExperimentSettings
from roslin.web.server import ends_in_peace, log_to_stderr, prepare_process, uvicorn_options

_CONNECTIONS = 4000  # a thousand experts, each with a page that loads several files at once


def serve_study(settings: ExperimentSettings, host: str, port: int, workers: int = 1) -> None:
    """Serve until a signal ends it."""
    log_to_stderr()
    prepare_process()
    options = uvicorn_options(_CONNECTIONS, settings.proxies) | {"host": host, "port": port}
    ends_in_peace()
    if workers == 1:
        uvicorn.run(create_app(settings), **options)
    else:
        os.environ[STUDY_VARIABLE] = settings.to_environment()
        uvicorn.run("roslin.web.experiment.server:worker", factory=True, workers=workers, **options)


def worker() -> object:
    """The application of one of several processes."""
    log_to_stderr()
    prepare_process()
    return study_from_environment()

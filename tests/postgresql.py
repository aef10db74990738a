"""A PostgreSQL server of the tests' own: made in a temporary folder, reached by a socket in it, gone afterwards.

Whatever server the computer runs already is left alone. PostgreSQL refuses to run as root, so then it runs as the user
`postgres`, which its package makes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

_USER = "postgres"
_SECONDS = 120  # in which it starts, and ends


def programs() -> Path | None:
    """The folder with initdb and postgres: of the newest version that Debian has installed, or on the path."""
    installed = [found.parent for found in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if installed:
        return max(installed, key=lambda folder: int(folder.parent.name))
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


class Cluster:
    """A running server."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._numbers = count(1)

    def url(self, name: str) -> str:
        """The address of a database."""
        return f"postgresql://{_USER}@/{name}?host={self.folder}"

    def new(self, tablespace: Path | None = None) -> str:
        """The name of a fresh database; its files are in the folder `tablespace`, where one is given."""
        name = f"study_{next(self._numbers)}"
        place = ""
        if tablespace is not None:
            self._run(f"CREATE TABLESPACE place_of_{name} LOCATION '{tablespace}'")
            place = f" TABLESPACE place_of_{name}"
        self._run(f"CREATE DATABASE {name} TEMPLATE template0{place}")
        return name

    def drop(self, name: str) -> None:
        """Delete a database, whoever is still connected to it."""
        self._run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def disconnect(self, name: str) -> int:
        """End every connection to a database, as a network that fails would; how many there were."""
        return self._run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")

    def _run(self, statement: str) -> int:
        """Run a statement outside the databases of the tests; how many rows it gave."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            return connection.execute(statement.encode()).rowcount


@contextmanager
def started(*settings: str) -> Iterator[Cluster]:
    """A server until the block ends. `settings`: as `fsync=off`."""
    found = programs()
    assert found is not None, "PostgreSQL is not installed"
    with tempfile.TemporaryDirectory(prefix="roslin-pg-") as name:
        folder = Path(name)
        user = _USER if os.geteuid() == 0 else None
        if user:
            shutil.chown(folder, user, user)
        with (folder / "log").open("wb") as log:
            make: list[str | Path] = [
                found / "initdb",
                "-D",
                folder / "data",
                "-U",
                _USER,
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
            ]
            subprocess.run(
                make, cwd=folder, user=user, group=user, stdout=log, stderr=log, check=True, timeout=_SECONDS
            )
            own = [f"unix_socket_directories={folder}", "listen_addresses=", *settings]
            serve: list[str | Path] = [
                found / "postgres",
                "-D",
                folder / "data",
                *(part for each in own for part in ("-c", each)),
            ]
            process = subprocess.Popen(serve, cwd=folder, user=user, group=user, stdout=log, stderr=log)
            try:
                cluster = Cluster(folder)
                _wait_for(cluster, process)
                yield cluster
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
                process.wait(timeout=_SECONDS)


def _wait_for(cluster: Cluster, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + _SECONDS
    while True:
        try:
            psycopg.connect(cluster.url("postgres")).close()
        except psycopg.OperationalError:
            assert process.poll() is None, (cluster.folder / "log").read_text()
            assert time.monotonic() < limit, "PostgreSQL did not start"
            time.sleep(0.05)
        else:
            return

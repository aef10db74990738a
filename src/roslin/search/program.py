"""Who computed something: versions, and a checksum that tells two states of the program with one version apart."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from roslin.native import kernels

# Rooms of the program that a distance depends on.
COUNTED = ("melody", "represent", "transport", "matchers", "search")


def program_versions(rooms: Sequence[str] = ()) -> dict[str, str]:
    """The versions of Roslin, Python and the libraries that compute; the checksum of rooms, by default `COUNTED`."""
    home = Path(__file__).parents[1]
    sources = sorted(path for name in rooms or COUNTED for path in (home / name).rglob("*.py"))
    return {
        "roslin": version("roslin"),
        "program_sha256": checksum(*(path.read_text("utf-8") for path in sources)),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "kernels": kernels.source_stamp(),
    }


def checksum(*texts: str) -> str:
    """One checksum of several texts, each with its length, so that none can run into the next."""
    hashed = hashlib.sha256()
    for text in texts:
        data = text.encode()
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()

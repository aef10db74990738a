"""Versions of the program and its libraries, and checksums that distinguish two states of one version."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from roslin.native import kernels

# Packages that a distance depends on.
COUNTED = ("melody", "represent", "transport", "matchers", "search")


def program_versions(rooms: Sequence[str] = ()) -> dict[str, str]:
    """Versions of Roslin, Python and the libraries that compute, and a checksum of packages (`COUNTED`)."""
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

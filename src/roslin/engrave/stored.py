"""Drawings kept on disk under the hash of what they were made from.

The folder is ROSLIN_CACHE if that is set, else `roslin` in XDG_CACHE_HOME or `~/.cache`. It may be deleted at any time.
An entry is written under another name and moved to its place, so that several programs can share the folder; it is
compressed with a checksum, and one that does not pass it counts as missing. A folder that cannot be written to means
that nothing is kept, not that nothing is drawn.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from pathlib import Path

__all__ = ["cache_folder", "read_entry", "write_entry"]


def cache_folder() -> Path:
    """Where this user's drawings are kept."""
    if chosen := os.environ.get("ROSLIN_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roslin"


def read_entry(key: str) -> str | None:
    """The text under a key; None when there is none, or a damaged one."""
    try:
        return zlib.decompress(_path(key).read_bytes()).decode()
    except (OSError, ValueError, zlib.error):
        return None


def write_entry(key: str, text: str) -> None:
    """Keep a text under a key, if the folder allows it."""
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            file.write(zlib.compress(text.encode()))
    except OSError:
        return
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _path(key: str) -> Path:
    return cache_folder() / "engravings" / key[:2] / f"{key}.svg.z"

"""Drawings kept on disk under the hash of what they were made from.

The folder is ROSLIN_CACHE if that is set, else `roslin` in XDG_CACHE_HOME or `~/.cache`. It may be deleted at any time.
An entry is written under another name and moved to its place, so that several programs can share the folder; it is
compressed with a checksum, and one that does not pass it counts as missing. A folder that cannot be written to means
that nothing is kept, not that nothing is drawn.

Together the entries take at most ROSLIN_CACHE_MEGABYTES, 256 if that is not set, and 0 keeps none. They lie in 256
folders by their hash, so evenly that each folder may have its share: after a write only that folder is looked at, and
what was not used for the longest time is removed from it.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

from roslin.data import cache_folder
from roslin.errors import ArgumentError

_MEGABYTES = "ROSLIN_CACHE_MEGABYTES"
_DEFAULT_MEGABYTES = 256
_FOLDERS = 256


def read_entry(key: str) -> str | None:
    """The text under a key; None when there is none, or a damaged one."""
    path = _path(key)
    try:
        text = zlib.decompress(path.read_bytes()).decode()
    except (OSError, ValueError, zlib.error):
        return None
    with suppress(OSError):  # it may be another's, or gone
        os.utime(path)
    return text


def write_entry(key: str, text: str) -> None:
    """Keep a text under a key, if the folder allows it."""
    megabytes = os.environ.get(_MEGABYTES) or str(_DEFAULT_MEGABYTES)
    if not megabytes.isdecimal():
        raise ArgumentError(f"{_MEGABYTES} must be a whole number from 0; got {megabytes!r}")
    path, limit = _path(key), int(megabytes) * 2**20
    if not limit:
        return
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            file.write(zlib.compress(text.encode()))
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        return
    with suppress(OSError):
        _make_room(path.parent, limit // _FOLDERS)


def _make_room(folder: Path, limit: int) -> None:
    """Remove what was used least recently until the rest fits; the newest stays in any case."""
    with os.scandir(folder) as found:
        entries = sorted((file.stat().st_mtime_ns, file.stat().st_size, file.path) for file in found)
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries[:-1]:
        if total <= limit:
            return
        Path(path).unlink(missing_ok=True)
        total -= size


def _path(key: str) -> Path:
    return cache_folder() / "engravings" / key[:2] / f"{key}.svg.z"

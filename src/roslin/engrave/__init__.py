"""Melody to SVG: staff notation through verovio in its worker process, kept on disk by content.

`engrave` always gives a drawing. When notation cannot be drawn (a length that no note value has, a crash, a time-out,
no verovio), `drawn` is False, `svg` is empty and `reason` is the cause. Pages then show a piano roll.

In a drawing row 17 of the note table is the element with the id `note-17`. A note drawn in several tied pieces has
`note-17-2` and so on too, and every piece carries `data-note="17"`. A drawing takes its colour from the text around it
(`currentColor`), has no script, no style sheet and no link to anything outside itself.

Drawings are kept in the folder `engravings` of the cache (`data.cache_folder`), under the hash of what they were made
from. An entry is moved to its place when it is written, so that several programs can share the folder. It is compressed
with a checksum, and one that does not pass it counts as missing. A folder that cannot be written to means that nothing
is kept, not that nothing is drawn. Together the entries take at most ROSLIN_CACHE_MEGABYTES, 256 if that is not set,
and 0 keeps none. They lie in 256 folders by their hash, so evenly that each folder may have its share: after a write
what was not used for the longest time is removed from that folder.

Three layouts: "page" breaks into systems as wide as a page of text, "narrow" into systems for a telephone held upright,
and "line" does not break.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from roslin.data import cache_folder
from roslin.engrave.score import mei_from_melody
from roslin.errors import ArgumentError, NotationError, Problem, SandboxError
from roslin.melody import Melody
from roslin.sandbox import Worker, shared_worker

__all__ = ["OPTIONS", "Engraving", "Layout", "engrave", "mei_from_melody"]

Layout = Literal["page", "narrow", "line"]

# Verovio's own units: a page of 2100 at scale 40 is 840 pixels wide, about as wide as a page of text.
OPTIONS = {
    "adjustPageHeight": True,
    "adjustPageWidth": True,
    "breaks": "auto",
    "footer": "none",
    "header": "none",
    "mnumInterval": 0,
    "pageHeight": 60000,
    "pageMarginBottom": 10,
    "pageMarginLeft": 10,
    "pageMarginRight": 10,
    "pageMarginTop": 10,
    "pageWidth": 2100,
    "scale": 40,
    "smuflTextFont": "none",
    "spacingStaff": 7,
    "spacingSystem": 2,
    "svgFormatRaw": True,
    "svgRemoveXlink": True,
    "svgViewBox": True,
}
# Of 400 incipits of RISM and 150 tunes, all are at most 400 pixels wide by the second: a bar is never broken.
_LAYOUTS: dict[Layout, dict[str, object]] = {"page": {}, "narrow": {"pageWidth": 900}, "line": {"breaks": "none"}}
_MEGABYTES = "ROSLIN_CACHE_MEGABYTES"
_DEFAULT_MEGABYTES = 256
_FOLDERS = 256
_DRAWING = 1  # change it when the drawing changes for the same MEI and options

_WIDTH = re.compile(r'^<svg [^>]*? width="(\d+)"')
_SIZE = re.compile(r'<svg viewBox="0 0 (\d+) (\d+)"[^>]*>')
_LEFT_OUT = re.compile(
    r"<desc>.*?</desc>|<style.*?</style>"
    r'|(?<=<g) id="(?!note-\d|[EU][0-9A-F]{3,4}-)[^"]*"|(?<=<svg class="definition-scale") color="black"',
    re.DOTALL,
)
_GLYPH = re.compile(r'(id="|href="#)([EU][0-9A-F]{3,4})-[^"]*"')
_NOTE = re.compile(r'<g id="note-(\d+)((?:-\d+)?)"')
_ID = re.compile(r'( id="|href="#)')


@dataclass(frozen=True, slots=True)
class Engraving:
    """A drawing, or (drawn is False) the reason why there is none."""

    svg: str
    drawn: bool = True
    reason: str = ""

    @property
    def width(self) -> int:
        found = _WIDTH.search(self.svg)
        return int(found[1]) if found else 0

    def in_page(self, prefix: str) -> str:
        """The drawing with a prefix before every id, for a page that holds more than one."""
        return _ID.sub(lambda found: found[0] + prefix, self.svg)


def engrave(
    melody: Melody, title: str = "", *, worker: Worker | None = None, use_cache: bool = True, layout: Layout = "page"
) -> Engraving:
    """Draw a melody. `title` is for screen readers. The default is made from the melody's title."""
    options = OPTIONS | _LAYOUTS[layout]
    try:
        key = _key(melody, options)
        svg = read_entry(key) if use_cache else None
        if svg is None or not svg.startswith("<svg"):
            svg = _draw(melody, worker or shared_worker(), options)
            if use_cache:
                write_entry(key, svg)
    except (NotationError, SandboxError) as error:
        return Engraving("", drawn=False, reason=str(error))
    named = title or f"Notation of {melody.title or melody.id or 'a melody'}"
    named = "".join(sign for sign in " ".join(named.split()) if sign.isprintable())  # XML allows no control characters
    return Engraving(svg.replace(">", f"><title>{escape(named)}</title>", 1))


def _draw(melody: Melody, worker: Worker, options: Mapping[str, Any]) -> str:
    request = {"data": mei_from_melody(melody), "format": "mei", "options": dict(options)}
    answer = worker.call("engrave", request)
    if answer["pages"] != 1:
        raise NotationError(Problem("too long for one drawing", "one page", str(answer["pages"])))
    svg = _tidy(answer["svg"])
    missing = set(range(len(melody))) - {int(row) for row, _ in _NOTE.findall(svg)}
    if missing:
        raise NotationError(Problem(f"verovio left out {len(missing)} of {len(melody)} notes"))
    return svg


def _tidy(svg: str) -> str:
    size = _SIZE.match(svg)
    if size is None:
        raise SandboxError("engrave: verovio gave no drawing")
    width, height = size.groups()
    opened = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="notation" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" fill="currentColor" stroke="currentColor">'
    )
    body = _GLYPH.sub(r'\1\2"', _LEFT_OUT.sub("", svg[size.end() :]))
    return opened + _NOTE.sub(r'<g id="note-\1\2" data-note="\1"', body)


def _key(melody: Melody, options: Mapping[str, Any]) -> str:
    signatures = [melody.clef, melody.key_signature, melody.metre, [astuple(change) for change in melody.changes]]
    about = json.dumps([_DRAWING, _verovio_version(), options, signatures, len(melody)], sort_keys=True)
    columns = ["onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace", "voice"]
    hashed = hashlib.sha256(about.encode())
    for column in columns:
        hashed.update(melody.notes[column].tobytes())
    hashed.update(melody.barlines_ticks.tobytes())
    return hashed.hexdigest()


@cache
def _verovio_version() -> str:
    try:
        return version("verovio")
    except PackageNotFoundError:
        return "none"


# -- drawings on disk --------------------------------------------------------------------------------------------------


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
    """Remove what was used least recently until the rest fits. The newest stays in any case."""
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

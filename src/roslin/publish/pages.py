"""Publishes a collection: pages in all languages, scripts, kernels and data as files for any web server.

    index.html, de.html, ...   the page in each language
    service-worker.js          keeps everything for visits without a network
    files-MARK/                scripts, styles, kernels and data; the mark changes whenever one of them does

The page is that of `roslin serve`: its scripts for entry and results are the same, and `published.js` answers in the
browser what a server would answer. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from roslin.api import Collection
from roslin.collection.facets import facets_of
from roslin.display.templates import render
from roslin.display.words import in_words
from roslin.engrave import engrave
from roslin.errors import ArgumentError, MissingExtraError
from roslin.matchers.base import MODE_WORDS
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES, fitted
from roslin.matchers.roslin.table import encoded
from roslin.melody import Melody, bar_number
from roslin.melody.pitches import spelled
from roslin.native.build import BuildError, build_wasm
from roslin.notation.query import read_query
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Packed
from roslin.search.chance import sample_of, tails_of
from roslin.types import Numbers, Progress
from roslin.web.answers import written
from roslin.web.language import catalogues
from roslin.web.pages import examples
from roslin.web.requests import SearchParams, where_to
from roslin.web.settings import Settings

# How many melodies one file has, of their notes and of all about them.
MELODIES_OF_NOTES = 50_000
MELODIES_OF_DETAILS = 256
_LETTERS = 7
_FROM_THE_SERVER = (
    "style.css", "editor.css", "lists.css", "icon.svg", "words.js", "results.js", "piano.js", "singing.js", "heard.js",
    "entry.js", "entry-history.js", "editor.js", "editor-drawing.js", "editor-edits.js", "editor-text.js", "pitch.js",
    "microphone.js", "microphone-worklet.js", "rhythm.js", "segments.js",
)  # fmt: skip
_OF_OTHER_PAGES = ("trial",)  # how the names of scripts begin whose words are not needed
_GLYPH = re.compile(r'<g id="(E[0-9A-F]{3})">.*?</g>')
# Music in which every glyph occurs that the drawings of the page need.
_WITH_GLYPHS = (
    "%G-2@2/8 '2xC4bD8nC6xxE3bbF5-3-6-8-4-2-1-1C''''8C6C3C5C,,8C6C3C5C",
    "%F-4@c '1C/", "%C-3@c/ '1C/", "%G-2@3/4 '2.C/", "%G-2@9/16 '2C/", "%G-2@5/7 '2C/", "%G-2@10/8 '2C/",
)  # fmt: skip
_WORKER = "service-worker.js"


def publish(
    collection: Collection,
    folder: Path,
    *,
    title: str = "",
    link: str = "",
    replace: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write a collection as a folder of static files, and return its size in bytes.

    `link` is the address pattern of a melody at its source. An existing folder is replaced only with `replace`, and
    only if it was written by this function.
    """
    if not len(collection):
        raise ArgumentError(f"{collection.path}: the collection is empty; add melodies before you publish it")
    _check_folder(folder, replace)
    try:
        kernels = build_wasm()
    except BuildError as error:
        raise ArgumentError(f"the kernels for browsers are missing: {error}") from error
    settings = Settings(str(collection.path), title=title, link=link)
    title = title or collection.path.name.removesuffix(".roslin")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        made, data = Path(place) / "made", Path(place) / "made" / "files"
        data.mkdir(parents=True)
        _copy_scripts(data, kernels)
        write_data(collection, data, settings.link_to, progress or (lambda _done, _what: None))
        mark = _mark(data)
        data.rename(made / mark)
        _write_pages(made, mark, title, len(collection))
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        if folder.exists():
            folder.rename(Path(place) / "old")  # it goes with the temporary folder, once the new one is there
        made.rename(folder)
    return size


def _check_folder(folder: Path, replace: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not replace:
        raise ArgumentError(f"{folder}: the folder is not empty; choose another one, or replace it with --replace")
    if not folder.is_dir() or not (folder / _WORKER).is_file():
        raise ArgumentError(f"{folder}: --replace replaces only a folder that roslin publish has written")


def _copy_scripts(target: Path, kernels: Path) -> None:
    shutil.copy(kernels, target / "roslin.wasm")
    shutil.copy(str(files("roslin.report").joinpath("player.js")), target)
    for name in _FROM_THE_SERVER:
        shutil.copy(str(files("roslin.web").joinpath("static", name)), target)
    for path in Path(str(files("roslin.publish").joinpath("static"))).glob("published*"):
        shutil.copy(path, target)


def _mark(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(path.name.encode() + path.read_bytes())
    return f"files-{found.hexdigest()[:12]}"


def _write_pages(made: Path, mark: str, title: str, count: int) -> None:
    known = catalogues()
    pages = {code: "index.html" if code == "en" else f"{code}.html" for code, _ in known.named}
    glyphs = _glyphs()
    for code, page in pages.items():
        with in_words(known[code]):
            text = render(
                "publish/page.html",
                language=code,
                languages=known.named,
                pages=pages,
                here=page,
                files=mark,
                title=title,
                count=count,
                pack=MELODIES_OF_DETAILS,
                glyphs=glyphs,
                words=known[code].for_scripts(lambda name: not name.startswith(_OF_OTHER_PAGES)),
                mode_words=MODE_WORDS,
                asked=SearchParams(),
                where_to=_where_to,
                examples=examples(),
                reads_abc=False,
                **dict.fromkeys(("refusal", "browsed", "found"), None),
            )
        (made / page).write_text(text, "utf-8")
    names = sorted(path.name for path in (made / mark).iterdir())
    first = ["./", *pages.values(), *(f"{mark}/{name}" for name in names if not name.startswith("melodies-"))]
    later = [f"{mark}/{name}" for name in names if name.startswith("melodies-")]
    content = json.dumps(json.dumps({"name": f"roslin-{mark}", "files": {"first": first, "later": later}}))
    worker = files("roslin.publish").joinpath("static", _WORKER).read_text("utf-8")
    (made / _WORKER).write_text(worker.replace('"FILES"', content), "utf-8")


def _where_to(asked: BaseModel, path: str, **changes: Any) -> str:
    """An address of this page, wherever it is."""
    return where_to(asked, path, **changes).removeprefix("/")


def _glyphs() -> str:
    """The glyphs of staff notation, each once."""
    found = dict[str, str]()
    for text in _WITH_GLYPHS:
        drawn = engrave(read_query(text))
        if not drawn.drawn:
            raise MissingExtraError("roslin publish", "verovio", "web")
        found |= {each[1]: each[0] for each in _GLYPH.finditer(drawn.svg)}
    return "".join(found.values())


# -- data --------------------------------------------------------------------------------------------------------------
#
# The data of a published collection, as the scripts of the page read it. Each file is compressed with gzip.
#
#     about.bin         JSON: what every search needs beside the notes, and how many files there are
#     notes-N.bin       the lines of up to 50,000 melodies, as columns: sizes, and steps from rank to rank of ids (32
#                       bits); then of each note the number of its time in `durations` (32 bits), semitones from the
#                       note before (from 0 for the first) and its label
#     melodies-N.bin    JSON: titles, sources and notes of 256 melodies, in the order of the collection
#     ids.bin           JSON: all ids, for the address of a melody
#     facets.bin        JSON: the values of every facet, and a number for each melody
#
# The time of a note is that to the next one, in ticks; of the last note, its duration.


def write_data(collection: Collection, folder: Path, link_to: Callable[[Melody], str | None], report: Progress) -> None:
    """Write all data files of a collection."""
    packed = collection.packed()
    lines = melodic_lines(packed)
    times = _times(lines.onset_ticks, lines.duration_ticks, lines.offsets)
    durations, numbers = np.unique(times, return_inverse=True)
    modes = ["/".join(mode) for mode in product(COMPARED, PLACES, KEYS)]
    tails = {}
    for done, mode in enumerate(modes):
        report(0.4 * done / len(modes), "measuring what chance gives")
        known = tails_of(collection, mode)
        tails[mode] = [{"notes": length, **asdict(tail)} for length, tail in sorted(known.items())]
    about = {
        "melodies": len(collection),
        "longest": int(np.diff(lines.offsets).max(initial=0)),
        "durations": durations.tolist(),
        "points": _points(packed, lines.offsets),
        "sample": sample_of(collection).tolist(),
        "fitted": {compared: asdict(fitted(compared)) for compared in COMPARED},
        "tails": tails,
        "pieces": _write_notes(collection, folder, lines.offsets, lines.pitch_midi, numbers, report),
        "details": MELODIES_OF_DETAILS,
    }
    _write_details(collection, folder, link_to, report)
    _write(folder / "about.bin", about)
    _write(folder / "ids.bin", collection.ids())
    fields = facets_of(collection).fields.items()
    facets = {name: {"values": of.values, "labels": of.labels, "codes": of.codes.tolist()} for name, of in fields}
    _write(folder / "facets.bin", {name: each for name, each in facets.items() if each["values"]})


def _write(path: Path, content: Any) -> None:
    if not isinstance(content, bytes):
        content = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def _times(onsets: Numbers, durations: Numbers, offsets: Numbers) -> Numbers:
    times = np.append(np.diff(onsets), 0)[: len(onsets)]
    lasts = offsets[1:][np.diff(offsets) > 0] - 1
    times[lasts] = durations[lasts]
    return times


def _points(packed: Packed, offsets: Numbers) -> dict[int, list[list[int]]]:
    """The notes as points of time and pitch of each melody that has more of them than its line."""
    sounding = np.concatenate([[0], np.cumsum(~packed.notes["is_grace"])])[packed.offsets]
    found = {}
    for number in np.flatnonzero(np.diff(sounding) > np.diff(offsets)).tolist():
        notes = packed.notes[packed.offsets[number] : packed.offsets[number + 1]]
        rows = notes[~notes["is_grace"]][["onset_ticks", "pitch_midi"]].tolist()
        found[number] = [[onset - rows[0][0], pitch] for onset, pitch in sorted(set(rows))]
    return found


def _write_notes(
    collection: Collection, folder: Path, offsets: Numbers, pitches: Any, numbers: Numbers, report: Progress
) -> list[dict[str, int]]:
    packed, sizes, pieces = collection.packed(), np.diff(offsets), []
    for number, first in enumerate(range(0, len(collection), MELODIES_OF_NOTES)):
        report(0.4 + 0.2 * first / len(collection), "writing notes")
        last = min(first + MELODIES_OF_NOTES, len(collection))
        rows = slice(int(offsets[first]), int(offsets[last]))
        steps = np.diff(pitches[rows].astype(np.int64), prepend=0)
        starts = (offsets[first:last] - rows.start)[sizes[first:last] > 0]
        steps[starts] = pitches[rows][starts]
        columns = (
            sizes[first:last].astype("<u4"),
            np.diff(collection.id_ranks[first:last].astype(np.int64), prepend=0).astype("<i4"),
            numbers[rows].astype("<u4"),
            steps.astype("i1"),
            encoded(packed.part(first, last)).labels,
        )
        _write(folder / f"notes-{number}.bin", b"".join(column.tobytes() for column in columns))
        pieces.append({"first": first, "melodies": last - first, "notes": rows.stop - rows.start})
    return pieces


def _write_details(
    collection: Collection, folder: Path, link_to: Callable[[Melody], str | None], report: Progress
) -> None:
    for number, first in enumerate(range(0, len(collection), MELODIES_OF_DETAILS)):
        report(0.6 + 0.4 * first / len(collection), "writing melodies")
        last = min(first + MELODIES_OF_DETAILS, len(collection))
        _write(
            folder / f"melodies-{number}.bin",
            [_details(melody, link_to(melody)) for melody in collection.melodies(range(first, last))],
        )


def _details(melody: Melody, link: str | None) -> dict[str, Any]:
    text = written(melody)
    known = {
        **{
            name: getattr(melody, name)
            for name in ("id", "title", "composer", "voice", "key", "metre", "text", "source")
        },
        "clef": melody.clef,
        "signature": melody.key_signature,
        "extra": dict(melody.extra),
        "written": list(text) if text else None,
        "link": link,
        "bars": melody.barlines_ticks.tolist(),
        "isUpbeat": bar_number(0.0, melody) == 0,
        "notes": notes_of(melody),
    }
    return {name: value for name, value in known.items() if value}


def notes_of(melody: Melody) -> list[int]:
    """Five numbers for each note: ticks from the onset before, duration, staff step, sharps, 1 for a grace note."""
    found, before = list[int](), 0
    for note in melody.notes[["onset_ticks", "duration_ticks", "pitch_base40", "is_grace"]].tolist():
        onset, duration, base40, is_grace = note
        letter, octave, sharps = spelled(base40)
        found += [onset - before, duration, letter + _LETTERS * octave, sharps, int(is_grace)]
        before = onset
    return found

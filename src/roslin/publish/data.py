"""The data of a published collection, as the scripts of the page read it. Each file is compressed with gzip.

    about.bin         JSON: what every search needs beside the notes, and how many files there are
    notes-N.bin       the lines of up to 50,000 melodies, as columns: sizes, and steps from rank to rank of ids (32
                      bits); then of each note the number of its time in `durations` (32 bits), semitones from the note
                      before (from 0 for the first) and its label
    melodies-N.bin    JSON: titles, sources and notes of 256 melodies, in the order of the collection
    ids.bin           JSON: all ids, for the address of a melody
    facets.bin        JSON: the values of every facet, and a number for each melody

The time of a note is that to the next one, in ticks; of the last note, its duration.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from roslin.api import Collection
from roslin.collection.facets import facets_of
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES, fitted
from roslin.matchers.roslin.table import encoded
from roslin.melody import Melody, bar_number
from roslin.melody.pitches import spelled
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Packed
from roslin.search.chance import sample_of, tails_of
from roslin.types import Numbers, Progress
from roslin.web.answers import written

# How many melodies one file has, of their notes and of all about them.
MELODIES_OF_NOTES = 50_000
MELODIES_OF_DETAILS = 256
_LETTERS = 7


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
    data = (
        content
        if isinstance(content, bytes)
        else json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    )
    path.write_bytes(gzip.compress(data, 9, mtime=0))


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

"""Compare the notes of real scores as Roslin and music21 read them: the MusicXML and **kern files of music21's corpus.

.venv/bin/python tools/compare_music21_scores.py --kind musicxml      all files, or --count 60 of them
.venv/bin/python tools/compare_music21_scores.py --kind kern
.venv/bin/python tools/compare_music21_scores.py --kind mei           MEI that verovio makes from 500 of both
.venv/bin/python tools/compare_music21_scores.py --cache FOLDER       keep what music21 reads, for the next time
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.mei.notes import Pitch, ScoreNote, merge_ties
from roslin.notation.musicxml import unpacked
from roslin.notation.scores import decode_xml, read_score, to_mei

__all__ = ["KINDS", "as_mei", "corpus", "music21_parts", "sample", "written_in_source"]

SEED = 3
MEI_FILES = 500
KINDS = {"musicxml": (".mxl", ".xml", ".musicxml"), "kern": (".krn",)}
_NO_NOTE = {"ChordSymbol", "PercussionChord", "Unpitched"}

Sounds = Counter[tuple[int, int]]  # (onset in ticks, MIDI pitch)
Row = tuple[str, str, int, int, bool, str]  # onset and length in quarters, letters above C0, MIDI pitch, grace, tie


def folder() -> Path:
    """The corpus inside the music21 package."""
    return Path(str(import_module("music21").__file__)).parent / "corpus"


def corpus(kind: str) -> list[tuple[str, Path]]:
    """(kind, path) of every file of a kind in the music21 package; "mei" stands for both kinds."""
    kinds = KINDS if kind == "mei" else (kind,)
    files = sorted(path for path in folder().rglob("*") if path.is_file())
    return [(one, path) for one in kinds for path in files if path.suffix in KINDS[one]]


def sample(kind: str, count: int | None) -> list[tuple[str, Path]]:
    """A fixed random sample, in order; all files without a count."""
    files = corpus(kind)
    return files if count is None else sorted(random.Random(SEED).sample(files, min(count, len(files))))


def as_mei(data: bytes, kind: str) -> bytes:
    """MEI made by verovio, as anybody would make it."""
    if kind == "kern":
        return to_mei(data.decode("utf-8", "replace"), "humdrum").encode()
    return to_mei(decode_xml(unpacked(data)), "xml").encode()


# What stands in the file, counted without either reader


def written_in_source(data: bytes, kind: str) -> int:
    """The notes with a pitch that a file has, tied ones and grace notes one by one."""
    if kind == "kern":
        return sum(_kern_notes(data.decode("utf-8", "replace")))
    root = ElementTree.fromstring(decode_xml(unpacked(data)))  # the corpus is trusted
    if kind == "mei":
        return sum(1 for e in root.iter() if e.tag.endswith("}note") and "pname" in e.attrib)
    return sum(1 for note in root.iter("note") if note.find("pitch") is not None)


def _kern_notes(text: str) -> Iterator[int]:
    kinds: list[str] = []
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("**"):
            kinds = fields
        elif line.startswith("*"):
            kinds = _kinds_after(fields, kinds)
        elif line and line[0] not in "!=":
            for kind, token in zip(kinds, fields, strict=False):
                if kind == "**kern":
                    yield sum(1 for one in token.split() if re.search("[a-gA-G]", one) and "r" not in one)


def _kinds_after(fields: list[str], kinds: list[str]) -> list[str]:
    after: list[str] = []
    for place, (sign, kind) in enumerate(zip(fields, kinds, strict=False)):
        joined = sign == "*v" and place > 0 and fields[place - 1] == "*v"
        if sign != "*-" and not joined:
            after += [kind] * (2 if sign == "*^" else 1)
    return after


# music21


def music21_parts(path: Path, cache: Path | None = None) -> list[list[ScoreNote]]:
    """The notes of each part, as written; with a folder, remembered there."""
    place = cache / ("--".join(path.relative_to(folder()).parts) + ".json.gz") if cache else None
    if place is not None and place.exists():
        with gzip.open(place, "rt") as file:
            parts: list[list[Row]] = json.load(file)["parts"]
    else:
        parts = _parse(path)
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(place, "wt") as file:
                json.dump({"parts": parts}, file)
    return [[_score_note(row) for row in rows] for rows in parts]


def _parse(path: Path) -> list[list[Row]]:
    score: Any = import_module("music21.converter").parse(path, forceSource=True, storePickle=False)
    parts = [part for one in getattr(score, "scores", None) or [score] for part in (one.parts or [one])]
    return [[row for element in part.flatten().notes for row in _rows(element)] for part in parts]


def _rows(element: Any) -> Iterator[Row]:
    if _NO_NOTE & set(element.classes):
        return
    onset, length = str(Fraction(element.offset)), str(Fraction(element.duration.quarterLength))
    for member in element.notes if element.isChord else (element,):
        tie = member.tie
        step = "CDEFGAB".index(member.pitch.step) + 7 * member.pitch.implicitOctave
        midi = int(member.pitch.midi)
        yield onset, length, step, midi, bool(element.duration.isGrace), tie.type if tie else ""


def _score_note(row: Row) -> ScoreNote:
    onset, length, step, midi, grace, tie = row
    pitch = Pitch(step, midi - Pitch(step, 0).midi)
    note = ScoreNote(Fraction(onset), Fraction(length), pitch, 0, is_grace=grace)
    note.tied, note.held = tie in ("start", "continue", "let-ring"), tie in ("stop", "continue")
    return note


def _sounds(notes: list[ScoreNote]) -> Sounds:
    return Counter((round(note.onset * TICKS_PER_QUARTER), note.pitch.midi) for note in notes)

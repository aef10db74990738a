"""Compare the notes of real scores as Roslin and music21 read them: the MusicXML and **kern files of music21's corpus.

    .venv/bin/python tools/compare_music21_scores.py --kind musicxml      all files, or --count 60 of them
    .venv/bin/python tools/compare_music21_scores.py --kind kern
    .venv/bin/python tools/compare_music21_scores.py --kind mei           MEI that verovio makes from 500 of both
    .venv/bin/python tools/compare_music21_scores.py --cache FOLDER       keep what music21 reads, for the next time

No note is lost when both have the same number of written notes: each tied note and each grace note counts, percussion
and chord symbols do not. The file itself is counted too (`score_witness.py`), by neither reader. Beside that stands how
many files have the same number of notes once ties are merged (by one rule, `merge_ties`, on both sides), and the same
onset and pitch for every note. Files that differ in either are listed by cause. For MusicXML the third witness adds up
the durations that the file gives: where it agrees with Roslin, music21 has another onset than the file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from roslin.melody import TICKS_PER_QUARTER
from roslin.notation import kern, musicxml, records
from roslin.notation.mei.notes import Pitch, ScoreNote, merge_ties
from roslin.notation.musicxml import unpacked
from roslin.notation.scores import decode_xml, to_mei
from score_witness import bars_of_musicxml, drawn_ties, onsets_of_musicxml, ties_apart, written_notes

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


# music21


def music21_parts(path: Path, cache: Path | None = None) -> list[list[ScoreNote]]:
    """The notes of each part, as written; with a folder, remembered there."""
    place = cache / ("--".join(path.relative_to(folder()).parts) + ".json.gz") if cache else None
    if place is not None and place.exists():
        with gzip.open(place, "rt") as file:
            parts: list[list[Row]] = json.load(file)["parts"]
    else:
        parts = parse_with_music21(path)
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(place, "wt") as file:
                json.dump({"parts": parts}, file)
    return [[_score_note(row) for row in rows] for rows in parts]


def parse_with_music21(path: Path) -> list[list[Row]]:
    """The notes of each part, straight from music21."""
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


# The comparison


@dataclass(frozen=True)
class Outcome:
    """What came out for one file. `written`: (Roslin, music21, the file); `merged`: (Roslin, music21)."""

    name: str
    refused: str
    written: tuple[int, int, int]
    merged: tuple[int, int]
    cause: str = ""

    @property
    def complete(self) -> bool:
        """No note is lost, and none is too many."""
        return not self.refused and len(set(self.written)) == 1


CAUSES = {
    "rounded lengths": "Roslin: the file rounds triplets and the like, Roslin takes the written values",
    "bars of unequal length": "Roslin, as the third witness: parts stay together; in music21 the shorter runs ahead",
    "bars of unequal length, rounded": "Roslin keeps the parts together; within such a bar the file contradicts itself",
    "two bars of rest in one bar": "Roslin, as the third witness: the other parts have one bar there",
    "another bar length in music21": "Roslin: as the durations in the file (the third witness) say",
    "ties drawn that do not sound": "open: the file has <tied> without <tie>; Roslin joins, music21 does not",
    "verovio's MEI": "music21, and Roslin when it reads the source: verovio drops ties or mixes voices in its MEI",
    "ties": "open",
    "unexplained": "?",
}


def compare(kind: str, path: Path, cache: Path | None, *, through_mei: bool) -> Outcome:
    """Read one file with both and compare."""
    source = path.read_bytes()
    data, own_kind = (as_mei(source, kind), "mei") if through_mei else (source, kind)
    parts = music21_parts(path, cache)
    with ties_apart():
        refused, ours = _own_sounds(data, own_kind, written_pitch=kind == "musicxml")
    _, ours_merged = _own_sounds(data, own_kind, written_pitch=kind == "musicxml")
    theirs = _sounds([note for part in parts for note in part])
    theirs_merged = _sounds([note for part in parts for note in merge_ties(part)])
    agree = ours == theirs and ours_merged == theirs_merged
    cause = "" if agree or refused else _cause(source, kind, ours, theirs)
    if through_mei and cause in ("ties", "unexplained"):
        direct = compare(kind, path, cache, through_mei=False)
        cause = cause if direct.cause in ("ties", "unexplained") else "verovio's MEI"
    return Outcome(
        str(path.relative_to(folder())),
        refused,
        (ours.total(), theirs.total(), written_notes(source, kind)),
        (ours_merged.total(), theirs_merged.total()),
        cause,
    )


def _own_sounds(data: bytes, kind: str, *, written_pitch: bool) -> tuple[str, Sounds]:
    # music21 gives MusicXML at written pitch, **kern at the pitch of the file, which sounds.
    found = list(records(data, kind, strict=False, written_pitch=written_pitch))
    sounds: Sounds = Counter()
    for record in found:
        if record.melody is not None:
            notes = record.melody.notes
            sounds.update(zip(notes["onset_ticks"].tolist(), notes["pitch_midi"].tolist(), strict=True))
    return next((str(record.problems[0]) for record in found if record.melody is None), ""), sounds


def _cause(source: bytes, kind: str, ours: Sounds, theirs: Sounds) -> str:
    if ours == theirs:
        return "ties drawn that do not sound" if kind == "musicxml" and drawn_ties(source) else "ties"
    if _close(ours, theirs):
        return "rounded lengths"
    if kind == "kern":
        return "unexplained"
    bars = bars_of_musicxml(source)
    unequal = any(len({bar.length for bar in together if bar.notes}) > 1 for together in zip(*bars, strict=False))
    witness: Sounds = Counter((round(onset * TICKS_PER_QUARTER), pitch) for onset, pitch in onsets_of_musicxml(bars))
    if not _close(ours, witness):
        return "bars of unequal length, rounded" if unequal else "unexplained"
    if any(bar.bar_rests > 1 for part in bars for bar in part):
        return "two bars of rest in one bar"
    return "bars of unequal length" if unequal else "another bar length in music21"


def _close(left: Sounds, right: Sounds) -> bool:
    """The same pitches, with onsets less than a 32nd note apart."""
    by_pitch = [sorted(sounds.elements(), key=lambda sound: (sound[1], sound[0])) for sounds in (left, right)]
    return left.total() == right.total() and all(
        a[1] == b[1] and abs(a[0] - b[0]) < TICKS_PER_QUARTER / 8 for a, b in zip(*by_pitch, strict=True)
    )


def report(outcomes: list[Outcome]) -> str:
    """The result as Markdown, and every file that differs."""
    count = len(outcomes)
    read = [outcome for outcome in outcomes if not outcome.refused]
    figures = {
        "load": len(read),
        "have every written note (as music21 and the file itself)": sum(outcome.complete for outcome in outcomes),
        "have the same number of notes with ties merged": sum(len(set(outcome.merged)) == 1 for outcome in read),
        "have every onset and pitch the same": sum(not outcome.cause for outcome in read),
    }
    lines = [f"Of {count} files:", ""]
    lines += [f"- {number} ({number / count:.1%}) {what}" for what, number in figures.items()]
    causes = Counter(outcome.cause for outcome in outcomes if outcome.cause)
    lines += ["", "| cause | files | who is right |", "|---|---|---|"] if causes else []
    lines += [f"| {cause} | {number} | {CAUSES[cause]} |" for cause, number in causes.most_common()]
    lines.append("")
    for outcome in outcomes:
        if outcome.refused:
            lines.append(f"{outcome.name}: refused: {outcome.refused}")
        elif outcome.cause or not outcome.complete:
            written, merged = "/".join(map(str, outcome.written)), "/".join(map(str, outcome.merged))
            lines.append(f"{outcome.name}: {outcome.cause}; notes written {written}, ties merged {merged}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the report; exit code 1 when fewer than 99.5 % of the files have every note."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=[*KINDS, "mei"], default="musicxml")
    parser.add_argument("--count", type=int, help="how many files, always the same; all, or 500 for mei")
    parser.add_argument("--cache", type=Path, help="a folder for what music21 reads")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # music21 warns about what it repairs
    for reader in (kern, musicxml):
        # Each file is read twice, with ties merged and apart, and converted once.
        reader.to_mei = lru_cache(maxsize=1)(to_mei)  # type: ignore[attr-defined]
    through_mei = arguments.kind == "mei"
    files = sample(arguments.kind, arguments.count or (MEI_FILES if through_mei else None))
    outcomes = [compare(kind, path, arguments.cache, through_mei=through_mei) for kind, path in files]
    sys.stdout.write(report(outcomes))
    return int(sum(outcome.complete for outcome in outcomes) < 0.995 * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())

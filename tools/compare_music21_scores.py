"""Compare the notes of real scores as Roslin and music21 read them: every MusicXML and **kern file of music21's corpus.

    python compare_music21_scores.py --every 10 [--kind musicxml|kern|mei] [--start 0] [--no-music21]

A file agrees when both have the same number of notes, ties merged by the same rule on both sides (`merge_ties`: a
tied note goes on in the note at its end and pitch), grace notes counted, percussion and chord symbols left out. It also
says how many agree in every onset and pitch. `--kind mei` reads MEI that verovio makes from the same files. With
`--no-music21` files are only read, which is faster by far. The last lines list every file that does not agree.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.musicxml import _unpacked
from roslin.notation.scores import Pitch, ScoreNote, decode_xml, merge_ties, read_score, to_mei

Sounds = Counter[tuple[int, int]]  # (onset in ticks, MIDI pitch)
_SUFFIXES = {"musicxml": (".mxl", ".xml", ".musicxml"), "kern": (".krn",)}


def main() -> int:
    """Print the table and the disagreements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--kind", choices=["musicxml", "kern", "mei"], default="musicxml")
    parser.add_argument("--no-music21", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # music21 warns about what it repairs
    kinds = ("musicxml", "kern") if arguments.kind == "mei" else (arguments.kind,)
    files = [(kind, path) for kind in kinds for path in corpus(kind)][arguments.start :: arguments.every]
    totals: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    for kind, path in files:
        said = compare(path, kind, totals, seconds, as_mei=arguments.kind == "mei", music21=not arguments.no_music21)
        if said:
            print(f"{path.parent.name}/{path.name}: {said}", flush=True)
    print(f"{len(files)} files: " + ", ".join(f"{count} {name}" for name, count in totals.items()))
    print(", ".join(f"{name} {1000 * total / len(files):.0f} ms a file" for name, total in seconds.items()))
    return int(totals["same number of notes"] < len(files) and not arguments.no_music21)


def corpus(kind: str) -> list[Path]:
    """The files of a kind that the music21 package carries."""
    import music21

    folder = Path(music21.__file__).parent / "corpus"
    return sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES[kind])


def compare(
    path: Path, kind: str, totals: Counter[str], seconds: dict[str, float], *, as_mei: bool, music21: bool
) -> str:
    """What is to be said about one file; nothing when the two agree."""
    data = path.read_bytes()
    if as_mei:
        data = as_mei_file(data, kind)
    start = time.perf_counter()
    # music21 gives MusicXML at written pitch, **kern at the pitch of the file, which sounds.
    records = read_score(data, "mei" if as_mei else kind, strict=False, written_pitch=kind == "musicxml")
    seconds["Roslin"] += time.perf_counter() - start
    refused = [str(record.problems[0]) for record in records if record.melody is None]
    warned = [str(problem) for record in records for problem in record.problems if record.melody is not None]
    totals["read"] += not refused
    totals["read without a warning"] += not refused and not warned
    said = f"refused: {refused[0]}" if refused else f"warning: {warned[0]} ({len(warned)})" if warned else ""
    if not music21:
        return said
    start = time.perf_counter()
    theirs = music21_notes(path)
    seconds["music21"] += time.perf_counter() - start
    ours: Sounds = Counter()
    for record in records:
        if record.melody is not None:
            notes = record.melody.notes
            ours.update(zip(notes["onset_ticks"].tolist(), notes["pitch_midi"].tolist(), strict=True))
    same_number = ours.total() == theirs.total()
    totals["same number of notes"] += same_number
    totals["same onsets and pitches"] += ours == theirs
    if not same_number:
        said += f" {ours.total()} notes, music21 {theirs.total()}"
    if ours != theirs:
        said += f"; only here {_sample(ours - theirs)}, only in music21 {_sample(theirs - ours)}"
    return said


def as_mei_file(data: bytes, kind: str) -> bytes:
    """MEI made by verovio, as anybody would make it."""
    if kind == "kern":
        return to_mei(data.decode("utf-8", "replace"), "humdrum").encode()
    return to_mei(decode_xml(_unpacked(data) if data.startswith(b"PK") else data), "xml").encode()


def music21_notes(path: Path) -> Sounds:
    """Every note of a score, with ties merged by the rule that Roslin has."""
    import music21

    score = music21.converter.parse(path, forceSource=True, storePickle=False)
    parts = [part for one in getattr(score, "scores", None) or [score] for part in (one.parts or [one])]
    sounds: Sounds = Counter()
    for part in parts:
        for note in merge_ties([note for element in part.flatten().notes for note in _notes(element)]):
            sounds[round(note.onset * TICKS_PER_QUARTER), note.pitch.midi] += 1
    return sounds


def _notes(element: Any) -> list[ScoreNote]:
    if "ChordSymbol" in element.classes or "PercussionChord" in element.classes or "Unpitched" in element.classes:
        return []
    members = element.notes if element.isChord else (element,)
    onset, length = Fraction(element.offset), Fraction(element.duration.quarterLength)
    notes = []
    for member in members:
        tie = member.tie or (element.tie if element.isChord else None)
        kind = tie.type if tie else ""
        pitch = Pitch("CDEFGAB".index(member.pitch.step) + 7 * member.pitch.implicitOctave, 0)
        pitch = Pitch(pitch.step, int(member.pitch.midi) - pitch.midi)
        note = ScoreNote(onset, length, pitch, 0, is_grace=element.duration.isGrace)
        note.tied, note.held = kind in ("start", "continue"), kind in ("stop", "continue")
        notes.append(note)
    return notes


def _sample(sounds: Sounds) -> str:
    first = sorted(sounds)[:2]
    return f"{sounds.total()}, first " + ", ".join(f"{onset / TICKS_PER_QUARTER:g}:{pitch}" for onset, pitch in first)


if __name__ == "__main__":
    sys.exit(main())

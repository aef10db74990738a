"""The tree of a document to records: one for each wanted staff with notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from roslin.errors import MelodyError, Problem
from roslin.melody import TICKS_PER_QUARTER, Melody, SignatureChange, checked_table
from roslin.notation.mei.notes import Pitch, merge_ties
from roslin.notation.mei.score import Score
from roslin.notation.mei.staff import Staff
from roslin.notation.mei.structure import scores
from roslin.notation.record import Record
from roslin.notation.scores import Element, StaffChoice

__all__ = ["read_tree"]


def read_tree(
    document: Element,
    notation: str,
    selection: StaffChoice,
    *,
    strict: bool,
    problems: tuple[Problem, ...] = (),
    placed: bool = True,
    sounding: Callable[[str], Pitch | None] | None = None,
) -> list[Record]:
    """A record for each wanted staff with notes.

    `problems` concern the whole score. `placed` is False where the MEI was made from another notation: its lines mean
    nothing to whoever reads the message. `sounding` gives the pitch of a note by its id, where the source knows better
    than the MEI that was made from it.
    """
    staves: list[Staff] = []
    for element in scores(document):
        found = Score(element, notation, written_pitch=selection.written_pitch, sounding=sounding).read()
        staves += [staff for staff in found if staff.notes or staff.problems]
    if not any(staff.notes for staff in staves):
        first = next((problem for staff in staves for problem in staff.problems), None)
        return [Record(None, (first or Problem("no notes", "at least one note", "none", line=document.line),))]
    chosen = [staves[place] for place in selection.chosen([staff.name for staff in staves])]
    if selection.voice is not None:
        chosen = _with_voice(chosen, selection.voice)
    about = _about(document)
    return [_record(staff, notation, about, selection, problems, strict=strict, placed=placed) for staff in chosen]


def _with_voice(staves: list[Staff], voice: int) -> list[Staff]:
    most = max(len(staff.layers()) for staff in staves)
    if not 0 <= voice < most:
        raise MelodyError(f"voice must be a number from 0 to {most - 1}; got {voice}")
    return [staff for staff in staves if voice < len(staff.layers())]


def _record(
    staff: Staff,
    notation: str,
    about: dict[str, str],
    selection: StaffChoice,
    problems: tuple[Problem, ...],
    *,
    strict: bool,
    placed: bool,
) -> Record:
    own = staff.problems if placed else [Problem(p.reason, p.expected, p.found) for p in staff.problems]
    found = tuple(problem.at(record=staff.name) for problem in (*problems, *own))
    if found and strict:
        return Record(None, found[:1])
    layers = staff.layers()
    notes = merge_ties(staff.notes)
    if selection.voice is not None:
        notes = [note for note in notes if note.layer == layers[selection.voice]]
    if not notes:
        nothing = Problem("no notes", "at least one note", "none", record=staff.name)
        return Record(None, (*found, nothing)[:1])
    rows = np.array([note.row(layers.index(note.layer))[:-1] for note in notes], dtype=np.int64)
    try:
        table = checked_table(rows)
    except MelodyError as error:
        return Record(None, (Problem("notes out of range", "notes that can be played", str(error), record=staff.name),))
    start = staff.start
    melody = Melody(
        table,
        title=about.get("title"),
        composer=about.get("composer"),
        voice=staff.name or None,
        key=start.key,
        metre=start.metre,
        text=staff.words() or None,
        notation=notation,
        clef=start.clef,
        key_signature=start.key_signature,
        barlines_ticks=np.array([round(bar * TICKS_PER_QUARTER) for bar in staff.barlines], dtype=np.int64),
        changes=tuple(_changes(staff)),
        extra={"staff": staff.number},
    )
    return Record(melody, found)


def _changes(staff: Staff) -> Iterator[SignatureChange]:
    for onset in sorted(staff.changes):
        yield SignatureChange(round(onset * TICKS_PER_QUARTER), **staff.changes[onset])


def _about(document: Element) -> dict[str, str]:
    """Title and composer, from wherever the header has them."""
    head = next(document.iter("meiHead"), None)
    if head is None:
        return {}
    found: dict[str, str] = {}
    for element in head.iter("title", "composer", "persName", "name", "creator"):
        composer = element.tag == "composer" or element.get("role") in ("composer", "cmp", "creator")
        kind = "title" if element.tag == "title" else "composer" if composer else ""
        text = element.all_text()
        if kind and text and kind not in found:
            found[kind] = text
    return found

"""MEI, the format of the Music Encoding Initiative (common notation): one melody for each staff.

Time runs from the contents of the bars. Lengths come from @dur.ges or @dur, dots and tuplets (exact fractions), and
from @dur.ppq where that differs. Repeats and endings are kept as written. Notes of percussion and tablature are left
out; any other note that is left out is reported. Mensural and neume notation is refused. Lines and columns of problems
are those of the XML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from roslin.errors import MelodyError, Problem
from roslin.melody import TICKS_PER_QUARTER, Melody, SignatureChange, checked_table
from roslin.notation.mei.notes import Pitch, Staff, merge_ties
from roslin.notation.mei.score import Score, movements
from roslin.notation.record import MAX_REPEATED_IN_FILE, Record, Repeats
from roslin.notation.scores import Element, StaffChoice, decode_xml, first_elements, parse_xml, reader, to_mei

__all__ = ["matches", "read", "read_converted"]

_NAMESPACE = "http://www.music-encoding.org/ns/mei"
_ROOTS = frozenset({"mei", "meiCorpus", "music"})
_VEROVIO_NAMES = {"musicxml": "xml", "kern": "humdrum"}


def matches(head: bytes) -> bool:
    """Whether the first bytes of a file are those of MEI."""
    text, names = first_elements(head)
    if not names:
        return False
    return names[0] in ("mei", "meiCorpus") or (names[0] in _ROOTS and _NAMESPACE in text)


def _read(data: bytes, selection: StaffChoice, *, strict: bool) -> list[Record]:
    return _read_tree(parse_xml(decode_xml(data), _ROOTS, "MEI"), "mei", selection, strict=strict)


read = reader(_read)


def read_converted(
    text: str,
    notation: str,
    selection: StaffChoice,
    *,
    strict: bool,
    problems: list[Problem],
    line: int,
    notes: int | None,
    sounding: Callable[[str], Pitch | None] | None = None,
) -> list[Record]:
    """The records of a score in another notation, by way of the MEI that verovio makes of it.

    `line` is where the score begins: the place of problems of the MEI. `notes` is how many notes with a pitch the score
    has; every record has a remark if any were lost. `sounding` gives the pitch of a note by its id, if it is known.
    """
    document = parse_xml(to_mei(text, _VEROVIO_NAMES[notation], line), _ROOTS, "MEI")
    found = sum("pname" in note.attributes for note in document.iter("note"))
    if notes not in (found, None):
        problems = [*problems, Problem("notes lost in conversion", f"{notes} notes", str(found), line=line)]
    return _read_tree(
        document, notation, selection, strict=strict, problems=problems, made_from=line, sounding=sounding
    )


def _read_tree(
    document: Element,
    notation: str,
    selection: StaffChoice,
    *,
    strict: bool,
    problems: Sequence[Problem] = (),
    made_from: int = 0,
    sounding: Callable[[str], Pitch | None] | None = None,
) -> list[Record]:
    """A record for each wanted staff with notes, or for all of a movement together; `problems` concern the whole."""
    staves: list[Staff] = []
    movement_of: list[int] = []
    repeats = Repeats(MAX_REPEATED_IN_FILE, "one file")
    for movement, elements in enumerate(movements(document)):
        for element in elements:
            score = Score(element, notation, repeats, written_pitch=selection.written_pitch, sounding=sounding)
            found = score.read()
            staves += [staff for staff in found if staff.notes or staff.problems]
        movement_of += [movement] * (len(staves) - len(movement_of))
    if not any(staff.notes for staff in staves):
        nothing = Problem("no notes", "at least one note", "none", line=document.line)
        first = next((problem for staff in staves for problem in staff.problems), nothing)
        return [Record(None, (_placed(first, made_from),))]
    places = selection.chosen([staff.name for staff in staves])
    if selection.voice is not None:
        most = max(len(staves[place].layers()) for place in places)
        if not 0 <= selection.voice < most:
            raise MelodyError(f"voice must be a number from 0 to {most - 1}; got {selection.voice}")
        places = [place for place in places if selection.voice < len(staves[place].layers())]
    if selection.voices == "together":
        by_movement = groupby(places, key=lambda place: movement_of[place])
        wanted = [[staves[place] for place in movement] for _, movement in by_movement]
    else:
        wanted = [[staves[place]] for place in places]
    about = _about(document)
    return [
        _record(parts, notation, about, selection, problems, strict=strict, made_from=made_from) for parts in wanted
    ]


def _record(
    staves: list[Staff],
    notation: str,
    about: dict[str, str],
    selection: StaffChoice,
    problems: Sequence[Problem],
    *,
    strict: bool,
    made_from: int,
) -> Record:
    """One melody of some staves. Its signatures and bars are those of the first."""
    staff = staves[0]
    name = staff.name if len(staves) == 1 else ""
    own = [_placed(problem, made_from).at(record=part.name) for part in staves for problem in part.problems]
    found = (*(problem.at(record=name) for problem in problems), *own)
    if found and strict:
        return Record(None, found[:1])
    rows, line = list(_rows(staves, selection.voice)), made_from or 1
    if not rows:
        return Record(None, (*found, Problem("no notes", "at least one note", "none", line=line, record=name))[:1])
    try:
        table = checked_table(np.array(rows, dtype=np.int64))
    except (MelodyError, OverflowError) as error:
        beyond = Problem("notes out of range", "notes that can be played", str(error), line=line, record=name)
        return Record(None, (beyond,))
    melody = Melody(
        table,
        title=about.get("title"),
        composer=about.get("composer"),
        voice=name or None,
        **staff.start,
        text=next((words for part in staves if (words := part.words())), None),
        notation=notation,
        barlines_ticks=np.array([round(bar * TICKS_PER_QUARTER) for bar in staff.barlines], dtype=np.int64),
        changes=tuple(
            SignatureChange(round(onset * TICKS_PER_QUARTER), **staff.changes[onset]) for onset in sorted(staff.changes)
        ),
        extra={"staff": ", ".join(part.number for part in staves)},
    )
    return Record(melody, found)


def _placed(problem: Problem, made_from: int) -> Problem:
    return Problem(problem.reason, problem.expected, problem.found, line=made_from) if made_from else problem


def _rows(staves: list[Staff], voice: int | None) -> Iterator[tuple[int, ...]]:
    before = 0
    for staff in staves:
        layers = {layer: place for place, layer in enumerate(staff.layers())}
        for note in merge_ties(staff.notes):
            place = layers[note.layer]
            if voice in (None, place):
                yield note.row(before + place)[:-1]
        before += len(layers)


def _about(document: Element) -> dict[str, str]:
    head = next(document.iter("meiHead"), None)
    if head is None:
        return {}
    found: dict[str, str] = {}
    for element in head.iter("title", "composer", "persName", "name", "creator"):
        composer = element.tag == "composer" or element.get("role") in ("composer", "cmp", "creator")
        kind = "title" if element.tag == "title" else "composer" if composer else ""
        if kind and kind not in found and (text := element.all_text()):
            found[kind] = text
    return found

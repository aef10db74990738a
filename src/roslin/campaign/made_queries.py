"""Queries made from a collection, in the style of MIREX 2007 to 2015: known items, for evaluation without judges.

That task had six base queries, each in five forms: as it is, with one note deleted, one inserted, one interval
enlarged, one compressed. Where, and by how much, is our choice: the place is drawn, and there

    deleted      a note is taken away, with its grace notes; the note before it lasts until where it ended
    inserted     a note gives its second half to a new one, a semitone or a tone above or below
    enlarged     an interval grows by a semitone or a tone; all notes after it move, so that no other interval changes
    compressed   an interval of at least two semitones shrinks, but neither vanishes nor turns round; likewise

Bars, metre and length stay as they are. Notes that move are spelled in the usual way (`melody.base40_from_midi`).

A base query is a single line with at least eight notes whose intervals no other melody of the collection has: of two
equal melodies neither would be the right answer. The draw depends only on the checksums of seed and ids. It is the same
everywhere, and one more melody in the collection changes at most one of the base queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin.collection.export import export
from roslin.collection.store import Store
from roslin.display.text import counted
from roslin.errors import ArgumentError, FormatError
from roslin.melody import Melody, NoteTable, base40_from_midi, checked_table
from roslin.represent.line import melodic_line
from roslin.truth.model import Truth
from roslin.truth.qrel import write_truth
from roslin.types import Numbers

LEAST_NOTES = 8
_NOTE_COLUMNS = ("onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace", "voice")
_ONSET, _DURATION, _PITCH, _BASE40, _GRACE = range(5)

# Gets the notes, those of them that are no grace notes (their places), and a function that draws one of several.
Draw = Callable[[str, int], int]
Edit = Callable[[Numbers, npt.NDArray[np.int64], Draw], Numbers | None]


def make_queries(collection: Store, number: int = 6, seed: int = 2007) -> tuple[list[Melody], Truth]:
    """Base queries in five forms each, and the truth: for each query, the melody that it was made from."""
    if number < 1:
        raise ArgumentError(f"the number of base queries must be at least 1; got {number}")
    queries: list[Melody] = []
    truth: dict[str, list[list[str]]] = {}
    for id in sorted(collection.ids(), key=lambda id: _drawn(seed, id, "base")):
        forms = _forms(collection, id, seed)
        queries += forms
        truth |= {str(query.id): [[id]] for query in forms}
        if len(queries) == number * len(EDITS):
            return queries, Truth(truth, name="made")
    base = counted(len(queries) // len(EDITS), "melody", "melodies")
    raise ArgumentError(
        f"{collection.path.name} has only {base} that can be base queries "
        f"(a single line of at least {LEAST_NOTES} notes that no other melody equals); {number} are asked for"
    )


def write_queries(queries: Iterable[Melody], truth: Truth, target: str | Path) -> Path:
    """Write queries (.jsonl) and beside them their truth (.qrel). Returns the path of the truth."""
    target = Path(target)
    if target.suffix != ".jsonl":
        raise FormatError(f"{target}: queries are written as JSON Lines; expected a name that ends with .jsonl")
    export(queries, target)
    path = target.with_suffix(".qrel")
    write_truth(truth, path)
    return path


def edited(melody: Melody, edit: str, seed: int = 2007) -> Melody | None:
    """The melody with one of the `EDITS` at a random place. None if it has no place for it.

    >>> scale = Melody.from_notes(range(8), [1] * 8, [60, 62, 64, 65, 67, 69, 71, 72], id="scale")
    >>> edited(scale, "enlarged").notes["pitch_midi"].tolist()
    [60, 62, 66, 67, 69, 71, 73, 74]
    """
    if edit == AS_IT_IS:
        return melody.with_metadata(id=f"{melody.id}/{edit}")
    rows = np.column_stack([melody.notes[name].astype(np.int64) for name in _NOTE_COLUMNS])
    sounding = np.flatnonzero(~melody.notes["is_grace"])

    def draw(what: str, among: int) -> int:
        return _drawn(seed, str(melody.id), f"{edit} {what}") % among

    changed = _CHANGES[edit](rows, sounding, draw)
    if changed is None or changed[:, _PITCH].min() < 0 or changed[:, _PITCH].max() > 127:
        return None
    notes: NoteTable = checked_table(changed)
    # It is no longer what the source wrote.
    return replace(melody, notes=notes, id=f"{melody.id}/{edit}", music=None, notation=None)


def _forms(collection: Store, id: str, seed: int) -> list[Melody]:
    """The melody in all forms; none where it cannot be a base query."""
    melody = collection[id]
    sounding = int(np.count_nonzero(~melody.notes["is_grace"]))
    if sounding < LEAST_NOTES or len(melodic_line(melody)) < sounding or not _is_alone(collection, id):
        return []
    forms = [edited(melody, edit, seed) for edit in EDITS]
    return [form for form in forms if form is not None] if None not in forms else []


def _is_alone(collection: Store, id: str) -> bool:
    (same,) = collection.connection.execute(
        "SELECT count(*) FROM strings WHERE chromatic = (SELECT chromatic FROM strings JOIN melodies USING (number) "
        "WHERE id = ?)",
        (id,),
    ).fetchone()
    return bool(same == 1)


def _drawn(seed: int, id: str, what: str) -> int:
    """A whole number that looks drawn: the same for the same words, in every version of everything."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{what}\n{id}".encode()).digest()[:8], "big")


def _deleted(rows: Numbers, sounding: npt.NDArray[np.int64], draw: Draw) -> Numbers | None:
    """Only a note that follows the one before without a rest: then the time is filled, and nothing else changes."""
    onset, end = rows[:, _ONSET], rows[:, _ONSET] + rows[:, _DURATION]
    places = [k for k in range(1, len(sounding)) if end[sounding[k - 1]] == onset[sounding[k]]]
    if not places:
        return None
    place = places[draw("place", len(places))]
    before, note = sounding[place - 1], sounding[place]
    changed = rows.copy()
    changed[before, _DURATION] += rows[note, _DURATION]
    is_its_grace = (rows[:, _GRACE] == 1) & (onset == onset[note])
    keep: Numbers = changed[~is_its_grace & (np.arange(len(rows)) != note)]
    return keep


def _inserted(rows: Numbers, sounding: npt.NDArray[np.int64], draw: Draw) -> Numbers | None:
    note = sounding[draw("place", len(sounding))]
    half = rows[note, _DURATION] // 2
    step = (-2, -1, 1, 2)[draw("step", 4)]
    changed, new = rows.copy(), rows[note].copy()
    changed[note, _DURATION] -= half
    new[_ONSET] += changed[note, _DURATION]
    new[_DURATION] = half
    new[_PITCH] += step
    if not half or not 0 <= new[_PITCH] <= 127:
        return None
    new[_BASE40] = base40_from_midi(new[_PITCH])
    return np.vstack([changed, new])


def _enlarged(rows: Numbers, sounding: npt.NDArray[np.int64], draw: Draw) -> Numbers | None:
    return _with_interval(rows, sounding, draw, lambda size: size + (1, 2)[draw("by", 2)], least=1)


def _compressed(rows: Numbers, sounding: npt.NDArray[np.int64], draw: Draw) -> Numbers | None:
    return _with_interval(rows, sounding, draw, lambda size: max(size - (1, 2)[draw("by", 2)], 1), least=2)


def _with_interval(
    rows: Numbers, sounding: npt.NDArray[np.int64], draw: Draw, resized: Callable[[int], int], *, least: int
) -> Numbers | None:
    """One interval of at least `resized` semitones gets another size, and the notes after it move along."""
    intervals = np.diff(rows[sounding, _PITCH])
    places = np.flatnonzero(np.abs(intervals) >= least)
    if not len(places):
        return None
    place = int(places[draw("place", len(places))])
    size = abs(int(intervals[place]))
    by = int(np.sign(intervals[place])) * (resized(size) - size)
    moves = rows[:, _ONSET] >= rows[sounding[place + 1], _ONSET]
    changed = rows.copy()
    changed[moves, _PITCH] += by
    changed[moves, _BASE40] = base40_from_midi(changed[moves, _PITCH])
    return changed


AS_IT_IS = "as-it-is"
_CHANGES: dict[str, Edit] = {
    "deleted": _deleted,
    "inserted": _inserted,
    "enlarged": _enlarged,
    "compressed": _compressed,
}
EDITS = (AS_IT_IS, *_CHANGES)

"""Parts of a melody: some of its notes, or some of its bars.

A part begins at time 0 with the clef, key signature and metre that hold there. It keeps what is known about the melody,
and loses the source's text (`music`, `notation`), which is that of the whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from roslin.melody.table import MAX_TICKS, NoteTable, locked, sorted_table

if TYPE_CHECKING:
    from roslin.melody.melody import Melody


def cut_notes(melody: Melody, first: int, stop: int) -> Melody:
    """The rows from `first` to before `stop`. Rests before the first note of the melody stay where it does."""
    if (first, stop) == (0, len(melody)):
        return melody
    rows = melody.notes[first:stop].copy()
    begin = int(rows["onset_ticks"][0]) if first and len(rows) else 0
    sounding = rows[~rows["is_grace"]]
    end = int((sounding["onset_ticks"] + sounding["duration_ticks"]).max(initial=begin))
    return _part(melody, rows, begin, MAX_TICKS if stop == len(melody) and len(rows) else end)


def cut_time(melody: Melody, begin: int, end: int) -> Melody:
    """What sounds between two moments, in ticks. A note that goes on beyond one of them is cut there."""
    notes = melody.notes
    onsets, grace = notes["onset_ticks"], notes["is_grace"]
    ends = onsets + np.where(grace, 0, notes["duration_ticks"])
    rows = notes[(onsets < end) & ((ends > begin) | (onsets >= begin))].copy()
    grace = rows["is_grace"]
    starts = np.maximum(rows["onset_ticks"], begin)
    stops = np.minimum(rows["onset_ticks"] + rows["duration_ticks"], end)
    rows["duration_ticks"] = np.where(grace, rows["duration_ticks"], stops - starts)
    rows["onset_ticks"] = starts
    return _part(melody, rows, begin, end)


def _part(melody: Melody, rows: NoteTable, begin: int, end: int) -> Melody:
    rows["onset_ticks"] -= begin
    rows["source_column"] = 0
    lines = melody.barlines_ticks[(melody.barlines_ticks > begin - (begin == 0)) & (melody.barlines_ticks <= end)]
    signs: dict[str, Any] = {"clef": melody.clef, "key_signature": melody.key_signature, "metre": melody.metre}
    later = []
    for change in sorted(melody.changes, key=lambda change: change.onset_ticks):
        if 0 < begin >= change.onset_ticks:
            signs = {name: value if (new := getattr(change, name)) is None else new for name, value in signs.items()}
        elif change.onset_ticks < end:
            later.append(replace(change, onset_ticks=change.onset_ticks - begin))
    return replace(
        melody,
        notes=sorted_table(rows),
        music=None,
        notation=None,
        barlines_ticks=locked(lines - begin),
        changes=tuple(later),
        **signs,
    )

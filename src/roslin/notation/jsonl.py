"""JSON Lines: one melody a line, the form in which Roslin exports a collection and ships its own tunes.

A line is an object. The music is in one of

    "pae" (or "data")   Plaine & Easie, with "clef", "keysig", "timesig" beside it
    "notes"             rows [onset_ticks, duration_ticks, pitch_midi, pitch_base40, is_grace, voice], with "barlines"
                        (ticks) and "changes" ([onset_ticks, clef, key signature, metre]) beside it where there are any
    "seconds"           rows [onset, duration, pitch_midi], times in seconds, of what was sung or played

and "id", "title", "composer", "voice", "key", "text", "source" are the melody's metadata; any other field is kept in
`Melody.extra`. A line that is not such an object is refused with its number. The next one is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from roslin.errors import NotationError, Problem, RoslinError, shortened
from roslin.melody import MAX_TICKS, Melody, SignatureChange, checked_table
from roslin.notation import pae
from roslin.notation.pae.incipit import read_clef, read_key_signature, read_time_signature
from roslin.notation.record import MAX_PROBLEMS, METADATA_FIELDS, Record, failed, refusal
from roslin.rows import HALF_CHARACTER, half_character

MAX_LINE_BYTES = 16 * 2**20

_NOTE_COLUMNS = ["onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace", "voice"]
_CHANGE_COLUMNS = 4
_SECONDS_COLUMNS = ["onset", "duration", "pitch_midi"]
_ROWS = ("notes", "seconds", "barlines", "changes")


def looks_like_jsonl(head: bytes) -> bool:
    """Whether a file starts with a JSON object that ends on its first line and holds music."""
    first, newline, _ = head.lstrip().partition(b"\n")
    if not first.startswith(b"{") or (newline and not first.rstrip().endswith(b"}")):
        return False
    return any(field in first for field in (b'"pae"', b'"notes"', b'"seconds"')) or (
        bool(newline) and b'"data"' in first
    )


def read_jsonl(stream: BinaryIO, *, strict: bool) -> Iterator[Record]:
    """A record for each line that is not empty."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            yield _refused("line too long", f"at most {MAX_LINE_BYTES} bytes", "more", MAX_LINE_BYTES, number)
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)
        elif line.strip():
            yield _read_line(line, number, strict=strict)


def write_jsonl(melody: Melody) -> str:
    """One line, without the line end. Music read from Plaine & Easie is given back as it was."""
    fields: dict[str, Any] = {name: getattr(melody, name) for name in METADATA_FIELDS if getattr(melody, name)}
    fields |= {"clef": melody.clef, "keysig": melody.key_signature, "timesig": melody.metre}
    fields |= dict(melody.extra)
    if melody.notation == "pae" and melody.music is not None:
        fields["pae"] = melody.music
    else:
        fields["notes"] = melody.notes[_NOTE_COLUMNS].tolist()
        fields["barlines"] = melody.barlines_ticks.tolist() or None
        fields["changes"] = [astuple(change) for change in melody.changes] or None
        fields |= {"music": melody.music, "notation": melody.notation}
    return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)


def _read_line(line: bytes, number: int, *, strict: bool) -> Record:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        refused = _refused("broken JSON", "a JSON object", str(error).split(":")[0], getattr(error, "colno", 1), number)
        broke_off = not line.endswith(b"\n")
        return replace(refused, problems=(replace(refused.problems[0], is_damage=broke_off),))
    if not isinstance(fields, dict):
        return _refused("broken JSON", "an object on every line", type(fields).__name__, 1, number)
    if (b"\\u" in line or b"\xed" in line) and (half := half_character(fields)):
        return _refused(HALF_CHARACTER, "text", half, 1, number)
    name = str(fields.get("id") or "")
    try:
        if "notes" in fields or "seconds" in fields:
            return _from_note_rows(fields, strict=strict).at(line=number, record=name)
        return pae.read_incipit(pae.incipit_from_mapping(fields, number), strict=strict)
    except NotationError as error:
        problem = error.problem
    except (TypeError, ValueError, IndexError, OverflowError, RecursionError, RoslinError) as error:
        problem = Problem("unreadable notes", "rows of " + ", ".join(_NOTE_COLUMNS), str(error))
    except Exception as error:  # whatever is wrong with this line, the next is read
        problem = failed(error, line=number)
    return Record(None, (problem.at(line=number, record=name),))


def _from_note_rows(fields: dict[str, Any], *, strict: bool) -> Record:
    rows = _whole_numbers(fields["notes"]) if "notes" in fields else _from_seconds(fields["seconds"])
    given = {name: value for name, value in fields.items() if value is not None and name not in _ROWS}
    text: dict[str, Any] = {name: str(value) for name, value in given.items()}
    problems: list[Problem] = []
    clef, key, metre = _signs([text.pop(name, None) for name in ("clef", "keysig", "timesig")], problems)
    melody = Melody(
        checked_table(rows if rows.size else rows.reshape(0, len(_NOTE_COLUMNS))),
        barlines_ticks=_barlines(fields.get("barlines") or []),
        changes=tuple(_changes(fields.get("changes") or [], problems)),
        clef=clef,
        key_signature=key,
        metre=metre,
        **{name: text.pop(name, None) for name in (*METADATA_FIELDS, "music", "notation")},
        extra=text,
    )
    return Record(None if strict and problems else melody, tuple(problems[:MAX_PROBLEMS]))


def _from_seconds(values: Any) -> npt.NDArray[np.int64]:
    if not (isinstance(values, list) and all(isinstance(row, list) and len(row) == 3 for row in values)):
        raise refusal("unreadable seconds", "rows of " + ", ".join(_SECONDS_COLUMNS), shortened(str(values), 40))
    melody = Melody.from_seconds(*(zip(*values, strict=True) if values else ((), (), ())))
    return np.array(melody.notes[_NOTE_COLUMNS].tolist(), dtype=np.int64)


def _signs(given: Sequence[str | None], problems: list[Problem]) -> list[str | None]:
    """Clef, key signature and metre in the spelling of Plaine & Easie, which is that of every melody."""
    clef, key, metre = (text or "" for text in given)
    read_key, read_metre = read_key_signature(key), read_time_signature(metre)
    read = (read_clef(clef), (read_key.text, read_key.problem), (read_metre.text, read_metre.problem))
    problems += [problem for text, (_, problem) in zip(given, read, strict=True) if text and problem]
    return [(sign or None) if text else text for text, (sign, _) in zip(given, read, strict=True)]


def _whole_numbers(values: Any) -> npt.NDArray[np.int64]:
    given = np.array(values)
    if given.dtype.kind == "f" and not np.all(np.equal(given, np.floor(given)) & (np.abs(given) < MAX_TICKS)):
        raise ValueError("numbers that are not whole")
    return np.array(values, dtype=np.int64)


def _barlines(values: Any) -> npt.NDArray[np.int64]:
    bars = _whole_numbers(values)
    if bars.ndim != 1 or np.any(np.diff(bars, prepend=0) < 0) or np.any(bars >= MAX_TICKS):
        raise refusal("unreadable bar lines", "ticks that never fall", shortened(str(values), 40))
    return bars


def _changes(values: Any, problems: list[Problem]) -> Iterator[SignatureChange]:
    for change in values:
        onset, *signs = change if isinstance(change, list) and len(change) == _CHANGE_COLUMNS else [None]
        if type(onset) is not int or not 0 <= onset < MAX_TICKS or not all(isinstance(s, str | None) for s in signs):
            expected = "rows of onset_ticks, clef, key signature, metre"
            raise refusal("unreadable change", expected, shortened(str(change), 40))
        yield SignatureChange(onset, *_signs(signs, problems))


def _refused(reason: str, expected: str, found: str, column: int, line: int) -> Record:
    return Record(None, (Problem(reason, expected, found, column, line=line),))

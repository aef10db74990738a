"""A query as the editor takes it up: the same notes, and every note where it stands."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from roslin import Melody
from roslin.errors import NotationError
from roslin.notation.query import editable, read_query


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("'4CDEF", "'4CDEF"),
        ("  '4CDEF ", "  '4CDEF "),
        ("%G-2@4/4$bB '4CD{EF}/", "%G-2@4/4$bB '4CD{EF}/"),
        ("%G-2@4/4$bB\n'4CD/\nEF", "%G-2@4/4$bB '4CD/ EF"),
        ("'4cdef", "'4CDEF"),
        ("\u20194CDEF", "'4CDEF"),
        ("@clef:G-2 @timesig:3/4 @data:'4CDEF", "%G-2@3/4 '4CDEF"),
        ("$gG-2$nbB$p'4CDEF", "%G-2$bB '4CDEF"),
        ("C2D2E2F2", "%G-2 '4CDEF"),
        ("c d e f", "%G-2 '4CDEF"),
        ("do ré mi fa", "%G-2 '4CDEF"),
    ],
)
def test_what_is_a_line_already_stays_as_it_is(typed: str, text: str) -> None:
    melody = read_query(typed)
    line = editable(typed, melody)
    assert line is not None
    assert line.text == text
    assert "".join(line.text[column - 1] for column in line.columns) == "CDEF"


def test_what_the_code_cannot_write() -> None:
    two_voices = Melody.from_notes([0, 0.5], [1, 1], [60, 64], voices=[0, 1])
    assert editable("{}", two_voices) is None


@pytest.mark.long
def test_real_incipits_read_back(data_folder: Path) -> None:
    with gzip.open(data_folder / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][:2000:4]
    for row in rows:
        typed = f"%{row['clef'] or 'G-2'}@{row['timesig'] or 'c'}${row['keysig'] or ''} {row['pae']}"
        try:
            melody = read_query(typed)
        except NotationError:  # some are malformed
            continue
        line = editable(typed, melody)
        assert line is not None
        again = read_query(line.text)
        assert again.notes["pitch_midi"].tolist() == melody.notes["pitch_midi"].tolist()
        assert again.notes["onset_ticks"].tolist() == melody.notes["onset_ticks"].tolist()

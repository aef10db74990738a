"""Streams of music21 become the melodies that their files are."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

from roslin import load
from roslin.errors import ArgumentError, NotationError
from roslin.interop.music21 import from_music21

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, not ours
    import music21

m21: Any = music21  # few of its functions have types
pytestmark = pytest.mark.filterwarnings("ignore")
NOTES = ["onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace", "voice"]


@pytest.mark.long
def test_a_score_has_the_melodies_of_its_file() -> None:
    for work in ("bwv66.6", "bwv4.8"):
        found, read = from_music21(m21.corpus.parse(work)), load(m21.corpus.getWork(work))
        assert [each.notes[NOTES].tolist() for each in found] == [each.notes[NOTES].tolist() for each in read]
        for name in ("voice", "key", "metre", "clef", "key_signature", "composer"):
            assert [getattr(each, name) for each in found] == [getattr(each, name) for each in read]


def test_parts_passages_notes_and_chords() -> None:
    score = m21.corpus.parse("bwv66.6")
    whole = from_music21(score)
    assert from_music21(score.parts[1])[0].notes.tolist() == whole[1].notes.tolist()
    (passage,) = from_music21(score.parts[0].measures(1, 2))
    assert len(passage) == 8
    assert str(from_music21(m21.note.Note("G-4"))[0]) == "1 note: G♭4"
    assert str(from_music21(m21.chord.Chord("C4 E4"))[0]) == "2 notes: E4 C4"


def test_times_and_spelling_are_exact() -> None:
    notes = [m21.note.Note("C#4", quarterLength=1 / 3) for _ in range(3)]
    notes += [
        m21.note.Note("E--4", quarterLength=5),
        m21.note.Rest(),
        m21.note.Note("A4").getGrace(),
        m21.note.Note("B4"),
    ]
    (melody,) = from_music21(m21.stream.Stream(notes))
    assert list(map(repr, melody)) == [
        "MelodyNote('C♯4', onset=0, duration=1/3)",
        "MelodyNote('C♯4', onset=1/3, duration=1/3)",
        "MelodyNote('C♯4', onset=2/3, duration=1/3)",
        "MelodyNote('E𝄫4', onset=1, duration=5)",
        "MelodyNote('A4', onset=7, duration=1, grace note)",
        "MelodyNote('B4', onset=7, duration=1)",
    ]


def test_metadata_and_options() -> None:
    part = m21.stream.Part([m21.note.Note("C4"), m21.note.Note("D4")])
    assert (from_music21(part)[0].title, from_music21(part)[0].composer) == (None, None)
    score = m21.stream.Score([part, m21.stream.Part([m21.note.Note("G3")])])
    score.metadata = m21.metadata.Metadata(title="Two parts", composer="Anonymus")
    assert [(each.title, each.composer, len(each)) for each in from_music21(score)] == [
        ("Two parts", "Anonymus", 2),
        ("Two parts", "Anonymus", 1),
    ]
    assert [len(each) for each in from_music21(score, voices="together")] == [3]
    assert [len(each) for each in from_music21(m21.stream.Opus([score, m21.stream.Score([part])]))] == [2, 1, 2]


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Any
    for wrong in (3, "'4CDEC", m21.clef.TrebleClef(), m21.expressions.Fermata()):
        expected = f"a stream of music21, a note or a chord is expected; got {type(wrong).__name__}"
        with pytest.raises(ArgumentError, match=expected):
            from_music21(wrong)
    with pytest.raises(NotationError, match="no notes; expected at least one note with a pitch"):
        from_music21(m21.stream.Stream())
    with pytest.raises(ArgumentError, match=r"the stream cannot be written as MusicXML: .*inexpressible durations"):
        from_music21(m21.stream.Stream([m21.note.Note("C4", quarterLength=0.12345)]))
    monkeypatch.setitem(sys.modules, "music21", None)
    monkeypatch.setitem(sys.modules, "music21.stream", None)
    with pytest.raises(ArgumentError, match="reading streams needs music21, which is not installed"):
        from_music21(3)

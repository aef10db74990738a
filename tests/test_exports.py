"""MusicXML and ABC: files give the notes, bars and signatures of a melody again, to Roslin and to music21."""

from __future__ import annotations

from collections.abc import Callable

import music21
import pytest

from roslin import Melody, load
from roslin.engrave.exports import abc_from_melody, musicxml_from_melody
from roslin.errors import NotationError
from roslin.melody.pitches import alterations
from roslin.starter import tunes_path

WRITERS: dict[str, Callable[[Melody], str]] = {"musicxml": musicxml_from_melody, "abc": abc_from_melody}
MUSIC = [
    "%G-2@3/4$bB '4C/8DEFG4A/2.B/",  # a pick-up
    "%C-1@4/4$xFCG ''4C8.D6E4-2F/-4nF8xGG4.nG8xG+/2G8-8A4-/",  # accidentals and ties
    "%F-4@6/8 ,8({6CDE}F;3)G/4.A^C^E4.A/",
    "%g-2@4/4 '(8CDE;3)(6CDEFG;5)4C/qq8DEr4FgG2Aq6C4D/",  # tuplets and grace notes
    "%C-3@4/4$xFbB '4C/%F-4 $bBEA @3/4 ,4CDE/ @2/4$ 2E/",  # changes
    "%G-2@4/4 '4C8D%C-1 8E2F/$xF 4F^A2G//",
    "%G-2 '4CDEF2G1A",
    "%G-2@4/4$xEAbF '4.E''{6DC}{'BAGE}/,,,1C/''''1xxCbbB/",
    "%G-2@2/4 =3/2C/=/2D/-/",
]


def notes(melody: Melody) -> list[tuple[int, ...]]:
    names = ["onset_ticks", "pitch_midi", "pitch_base40", "is_grace", "duration_ticks"]
    rows = melody.notes[names].tolist()
    return sorted((*row[:4], 0 if row[3] else row[4]) for row in rows)


def signatures(melody: Melody) -> dict[int, tuple[object, ...]]:
    """Clef, altered letters and metre from each place on where one of them changes."""
    clef, key, metre = melody.clef, melody.key_signature, melody.metre
    found: dict[int, tuple[object, ...]] = {0: (clef, alterations(key or ""), metre)}
    for change in melody.changes:
        clef, metre = change.clef or clef, change.metre or metre
        key = key if change.key_signature is None else change.key_signature
        found[change.onset_ticks] = (clef, alterations(key or ""), metre)
    return found


def assert_same(melody: Melody, again: Melody) -> None:
    assert notes(again) == notes(melody)
    assert signatures(again) == signatures(melody)
    assert [tick for tick in again.barlines_ticks if tick] == [tick for tick in melody.barlines_ticks if tick]
    assert not again.problems


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("music", MUSIC)
def test_a_file_gives_the_melody_again(music: str, format: str) -> None:
    [melody] = load(music)
    [again] = load(WRITERS[format](melody).encode(), format)
    if format == "abc":  # its reader gives a melody the last of its clefs
        melody, again = (each.with_metadata(clef=None) for each in (melody, again))
    assert_same(melody, again)


@pytest.mark.long
@pytest.mark.parametrize("format", WRITERS)
def test_every_tune_of_the_starter_collection_comes_back(format: str) -> None:
    for tune in load(tunes_path()):
        [again] = load(WRITERS[format](tune).encode(), format)
        assert_same(tune, again)
        assert again.title == tune.title


@pytest.mark.parametrize("format", WRITERS)
def test_music21_reads_the_same_notes(format: str) -> None:
    for tune in load(tunes_path())[::20]:
        score = music21.converter.parseData(WRITERS[format](tune), format=format).stripTies()
        found = [
            (round(40320 * float(note.getOffsetInHierarchy(score))), note.pitches[0].midi)
            for note in score.flatten().notes
        ]
        assert found == list(zip(tune.notes["onset_ticks"].tolist(), tune.notes["pitch_midi"].tolist(), strict=True))


def test_abc_as_it_is_written() -> None:
    [melody] = load("%F-4@c$bB ,8(CDE;3)4xF8FnF/{6CDEF}q8G4A^C2-/")
    melody = melody.with_metadata(title="50% of\na tune", composer="Anon", key="d")
    assert abc_from_melody(melody).splitlines() == [
        "X:1", "T:50\\% of a tune", "C:Anon", "M:C", "L:1/8", "K:Dm clef=F4",
        "(3:2:3C,/2D,/2E,/2^F,2^F, =F, | C,/2D,/2E,/2F,/2 {G,}[A,C,]2 z4 |",
    ]  # fmt: skip


def test_musicxml_has_what_printing_needs() -> None:
    [melody] = load("%g-2@c/$xF '4xC/(8CnCF;3)4G+/2G/")
    text = musicxml_from_melody(melody.with_metadata(title="<A> & B", composer="Anon"))
    for part in (
        "<work-title>&lt;A&gt; &amp; B</work-title>",
        '<creator type="composer">Anon</creator>',
        '<measure number="0" implicit="yes"><attributes><divisions>3</divisions><key><fifths>1</fifths></key>'
        '<time symbol="cut"><beats>2</beats><beat-type>2</beat-type></time>'
        "<clef><sign>G</sign><line>2</line><clef-octave-change>-1</clef-octave-change></clef></attributes>",
        "<pitch><step>C</step><alter>1</alter><octave>4</octave></pitch><duration>3</duration><type>quarter</type>"
        "<accidental>sharp</accidental>",
        "<time-modification><actual-notes>3</actual-notes><normal-notes>2</normal-notes></time-modification>"
        '<notations><tuplet type="start" /></notations>',
        '<tie type="stop" /><type>half</type><notations><tied type="stop" /></notations>',
    ):
        assert part in text, part


def test_voices_are_parts_of_musicxml_and_not_of_abc() -> None:
    [two] = load("X:2\nM:3/4\nK:D\nV:1\nDEF|G6|\nV:2\nA,B,C|\n")
    first, second = load(musicxml_from_melody(two).encode(), "musicxml")
    assert first.notes["pitch_midi"].tolist() == [62, 64, 66, 67]
    assert second.notes["pitch_midi"].tolist() == [57, 59, 61]
    with pytest.raises(
        NotationError, match="voices cannot be written in ABC; expected one voice, with chords; found 2"
    ):
        abc_from_melody(two)


@pytest.mark.parametrize("write", WRITERS.values())
def test_what_cannot_be_written_is_refused(write: Callable[[Melody], str]) -> None:
    with pytest.raises(NotationError, match="there are no notes"):
        write(Melody.from_notes([], [], []))
    with pytest.raises(NotationError, match=r"a length that (MusicXML|ABC) cannot write"):
        write(Melody.from_notes([0], [1 / 40320], [60]))

"""MusicXML, MEI and **kern: every rule on a small score written for it, and every refusal."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.notation.reading import read_score

from roslin import sandbox
from roslin.errors import FormatError, MelodyError, NotationError, SandboxError, UnknownNameError
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.notation import kern, load, mei, musicxml, scores
from roslin.notation.mei.notes import Pitch, ScoreNote, merge_ties

QUARTER = TICKS_PER_QUARTER


def one(data: str | bytes, kind: str, **options: Any) -> Melody:
    records = read_score(data.encode() if isinstance(data, str) else data, kind, **options)
    assert len(records) == 1, [record.problems for record in records]
    return records[0].melody_or_raise()


def problem(data: str | bytes, kind: str, **options: Any) -> str:
    (record,) = read_score(data.encode() if isinstance(data, str) else data, kind, **options)
    assert record.melody is None
    return str(record.problems[0])


def notes(melody: Melody) -> list[tuple[float, float, int]]:
    """(onset, duration, pitch), in quarters, grace notes left out."""
    rows = melody.notes[~melody.notes["is_grace"]]
    return [(r["onset_ticks"] / QUARTER, r["duration_ticks"] / QUARTER, int(r["pitch_midi"])) for r in rows]


def pitches(melody: Melody) -> list[int]:
    return [int(pitch) for pitch in melody.notes["pitch_midi"]]


# MEI


def mei_score(body: str, definition: str = "", staff: str = "") -> str:
    return f"""<?xml version="1.0"?>
<mei xmlns="http://www.music-encoding.org/ns/mei"><meiHead><fileDesc><titleStmt><title>A tune</title>
<composer>Ann Other</composer></titleStmt></fileDesc></meiHead>
<music><body><mdiv><score>
<scoreDef {definition}><staffGrp><staffDef n="1" {staff}><label>Flute</label></staffDef></staffGrp></scoreDef>
<section>{body}</section></score></mdiv></body></music></mei>"""


def mei_bar(*layers: str, controls: str = "") -> str:
    inside = "".join(f'<layer n="{n}">{layer}</layer>' for n, layer in enumerate(layers, start=1))
    return f'<measure><staff n="1">{inside}</staff>{controls}</measure>'


def mei_note(pitch: str, dur: int = 4, more: str = "") -> str:
    return f'<note pname="{pitch[0]}" oct="{pitch[1]}" dur="{dur}" {more}/>'


C, D, E = (mei_note(name) for name in ("c4", "d4", "e4"))


def test_mei_lengths_dots_rests_and_bars() -> None:
    text = mei_score(mei_bar(C) + mei_bar(mei_note("d4", 2, 'dots="1"') + '<rest dur="4"/>') + mei_bar(E))
    melody = one(text, "mei")
    assert notes(melody) == [(0, 1, 60), (1, 3, 62), (5, 1, 64)]
    assert melody.barlines_ticks.tolist() == [QUARTER, 5 * QUARTER, 6 * QUARTER]  # the first bar is a pick-up
    assert (melody.title, melody.composer, melody.voice, melody.notation) == ("A tune", "Ann Other", "Flute", "mei")


@pytest.mark.parametrize(("number", "base", "dur"), [(3, 2, 8), (5, 4, 16), (7, 4, 16), (11, 8, 32), (13, 8, 32)])
def test_mei_tuplets_never_drift(number: int, base: int, dur: int) -> None:
    tuplet = f'<tuplet num="{number}" numbase="{base}">{mei_note("c4", dur) * number}</tuplet>'
    melody = one(mei_score(mei_bar(tuplet * 8) + mei_bar(D)), "mei")
    length = 4 / dur * base  # of a whole tuplet
    assert notes(melody)[-1] == (8 * length, 1, 62)
    ends = melody.notes["onset_ticks"] + melody.notes["duration_ticks"]
    assert ends[:-1].tolist() == melody.notes["onset_ticks"][1:].tolist()


def test_mei_tuplet_without_numbase_and_nested() -> None:
    inner = f'<tuplet num="3" numbase="2">{mei_note("c4", 16) * 3}</tuplet>'
    melody = one(mei_score(mei_bar(f'<tuplet num="3">{inner}{mei_note("d4", 8) * 2}</tuplet>' + E)), "mei")
    assert [round(onset * 9) for onset, _, _ in notes(melody)] == [0, 1, 2, 3, 6, 9]


def test_mei_tuplet_span() -> None:
    body = mei_note("c4", 8, 'xml:id="a"') + mei_note("d4", 8) + mei_note("e4", 8, 'xml:id="b"') + C
    span = '<tupletSpan startid="#a" endid="#b" num="3" numbase="2"/>'
    assert notes(one(mei_score(mei_bar(body, controls=span)), "mei"))[-1] == (1, 1, 60)


def test_mei_ties_by_attribute_and_by_element() -> None:
    first = mei_bar(mei_note("c4", 1, 'tie="i"'))
    text = mei_score(first + mei_bar(mei_note("c4", 1, 'tie="m"')) + mei_bar(mei_note("c4", 4, 'tie="t"') + C))
    assert notes(one(text, "mei")) == [(0, 9, 60), (9, 1, 60)]
    tied = mei_bar(mei_note("c4", 1, 'xml:id="a"'), controls='<tie startid="#a" endid="#b"/>')
    assert notes(one(mei_score(tied + mei_bar(mei_note("c4", 2, 'xml:id="b"'))), "mei")) == [(0, 6, 60)]


def test_ties_of_a_chord_go_to_the_same_pitches() -> None:
    chord = '<chord dur="4" tie="{}"><note pname="c" oct="4"/><note pname="e" oct="4"/></chord>'
    melody = one(mei_score(mei_bar(chord.format("i") + chord.format("t"))), "mei")
    assert notes(melody) == [(0, 2, 64), (0, 2, 60)]


def test_a_tie_over_a_gap_or_to_another_pitch_joins_nothing() -> None:
    def note(onset: int, step: int, *, tied: bool = False, held: bool = False) -> ScoreNote:
        return ScoreNote(Fraction(onset), Fraction(1), Pitch(step, 0), 1, tied=tied, held=held)

    assert len(merge_ties([note(0, 28, tied=True), note(2, 28, held=True)])) == 2
    assert len(merge_ties([note(0, 28, tied=True), note(1, 29, held=True)])) == 2
    short, after, ending = note(0, 28, tied=True), note(2, 28, held=True), note(2, 28, held=True)
    short.tied_to, short.ends_bar, after.id, after.bar, after.starts_bar = "x", True, "x", 1, True
    (over_the_rest_of_a_bar,) = merge_ties([short, after])
    assert over_the_rest_of_a_bar.duration == 3
    ending.id, ending.bar, ending.starts_bar = "x", 2, True
    assert len(merge_ties([short, ending])) == 2
    assert len(merge_ties([note(0, 28, tied=True), note(1, 28), note(2, 28)])) == 2
    (joined,) = merge_ties([note(0, 28, tied=True), note(1, 28, tied=True, held=True), note(2, 28, held=True)])
    assert joined.duration == 3


def test_a_tie_without_an_end_goes_on_in_another_voice_of_the_staff_where_its_own_has_no_such_note() -> None:
    def note(onset: int, layer: int, *, tied: bool = False) -> ScoreNote:
        return ScoreNote(Fraction(onset), Fraction(1), Pitch(28, 0), layer, tied=tied)

    (joined,) = merge_ties([note(0, 1, tied=True), note(1, 2)])
    assert joined.duration == 2
    first, own, other = note(0, 1, tied=True), note(1, 1), note(1, 2)
    assert merge_ties([first, other, own]) == [first, other]


def test_mei_graces_take_no_time() -> None:
    grace = mei_note("d5", 8, 'grace="unacc"')
    melody = one(mei_score(mei_bar(C + grace + f"<graceGrp>{mei_note('e5', 16)}</graceGrp>" + D)), "mei")
    assert notes(melody) == [(0, 1, 60), (1, 1, 62)]
    graces = melody.notes[melody.notes["is_grace"]]
    assert graces["onset_ticks"].tolist() == [QUARTER, QUARTER]
    assert graces["duration_ticks"].tolist() == [QUARTER // 2, QUARTER // 4]


def test_mei_chords_and_voices() -> None:
    chord = '<chord dur="2"><note pname="e" oct="4"/><note pname="g" oct="4"/></chord>'
    text = mei_score(mei_bar(chord, f'<space dur="4"/>{C}'))
    melody = one(text, "mei")
    assert notes(melody) == [(0, 2, 67), (0, 2, 64), (1, 1, 60)]
    assert melody.notes["voice"].tolist() == [0, 0, 1]
    assert pitches(one(text, "mei", voice=1)) == [60]
    with pytest.raises(MelodyError, match="voice must be a number from 0 to 1; got 2"):
        read_score(text.encode(), "mei", voice=2)


def test_mei_bars_of_rest_and_of_repetition() -> None:
    body = mei_bar("<mRest/>") + mei_bar(C + D + E) + mei_bar("<mRpt/>") + mei_bar('<multiRest num="2"/>') + mei_bar(C)
    melody = one(mei_score(body, 'meter.count="3" meter.unit="4"'), "mei")
    assert [onset for onset, _, _ in notes(melody)] == [3, 4, 5, 6, 7, 8, 15]
    assert melody.metre == "3/4"


@pytest.mark.long
def test_mei_bars_of_repetition_have_a_limit_for_a_staff_and_for_a_file() -> None:
    long_bar = mei_bar(C * 1000)
    again = mei_bar("<mRpt/>")
    assert len(one(mei_score(long_bar + again * 50), "mei")) == 51_000
    (record,) = read_score(mei_score(long_bar + again * 51).encode(), "mei")
    message = r"6, column \d+: too many repeated notes; expected at most 50000 added to one melody by"
    with pytest.raises(NotationError, match=message):
        record.melody_or_raise()
    score = re.search(r"<mdiv>.*</mdiv>", mei_score(long_bar + again * 50), re.DOTALL)
    assert score is not None
    (record,) = read_score(mei_score(C).replace("</mdiv>", "</mdiv>" + score[0] * 5).encode(), "mei")
    with pytest.raises(NotationError, match=r"expected at most 200000 added to one file by repeats"):
        record.melody_or_raise()


def test_mei_tremolo_of_two_notes_shares_their_length() -> None:
    melody = one(mei_score(mei_bar(f"<fTrem>{mei_note('c4', 2)}{mei_note('e4', 2)}</fTrem><bTrem>{D}</bTrem>")), "mei")
    assert notes(melody) == [(0, 1, 60), (1, 1, 64), (2, 1, 62)]


def test_mei_accidentals_as_they_sound() -> None:
    body = (
        mei_note("f4", 4, 'accid.ges="s"')
        + mei_note("f4")
        + '<note pname="b" oct="4" dur="4"><accid accid="f"/></note>'
    )
    assert pitches(one(mei_score(mei_bar(body), 'key.sig="1s"'), "mei")) == [66, 65, 70]


def test_mei_accidentals_from_the_key_where_a_score_has_none_that_sound() -> None:
    body = mei_note("f4") + mei_note("c4", 4, 'accid="s"') + C + mei_note("f4", 4, 'accid="n"') + mei_note("f4")
    melody = one(mei_score(mei_bar(body) + mei_bar(mei_note("f4") + C), 'key.sig="1s" key.mode="minor"'), "mei")
    assert pitches(melody) == [66, 61, 61, 65, 65, 66, 60]
    assert (melody.key_signature, melody.key) == ("xF", "E minor")


def test_mei_accidentals_through_a_tie() -> None:
    def tied(kind: str, more: str = "") -> str:
        return mei_note("g4", 4, f'tie="{kind}" {more}')

    body = (
        mei_bar(tied("i", 'accid="s"')) + mei_bar(tied("t") + mei_note("g4")) + mei_bar(tied("i")) + mei_bar(tied("t"))
    )
    assert pitches(one(mei_score(body), "mei")) == [68, 67, 67]


def test_mei_transposing_instruments() -> None:
    text = mei_score(mei_bar(C + mei_note("f4", 4, 'accid.ges="s"')), staff='trans.semi="-2" trans.diat="-1"')
    melody = one(text, "mei")
    assert pitches(melody) == [58, 64]
    assert melody.notes["pitch_base40"].tolist() == [162 - 6, 174]  # B flat and E
    assert pitches(one(text, "mei", written_pitch=True)) == [60, 66]


@pytest.mark.parametrize(
    ("semitones", "steps", "spelled"), [(3, None, (30, -1)), (-9, None, (23, -1)), (12, 7, (35, 0)), (6, None, (31, 1))]
)
def test_transposition_spells(semitones: int, steps: int | None, spelled: tuple[int, int]) -> None:
    moved = Pitch(28, 0).moved(semitones, steps)
    assert (moved.step, moved.alteration, moved.midi) == (*spelled, 60 + semitones)


def test_triple_sharps_and_worse_are_spelled_in_the_usual_way() -> None:
    assert Pitch(28, 3).base40 == Pitch(30, -1).base40  # E flat
    assert Pitch(28 + 7 * 10**6, -12 * 10**6).base40 == 162


def test_mei_octaves_as_they_sound() -> None:
    body = mei_note("c4", 4, 'oct.ges="5"') + mei_note("c4", 4, 'xml:id="a"') + mei_note("d4", 4, 'xml:id="b"') + E
    line = '<octave startid="#a" endid="#b" dis="8" dis.place="above"/>'
    assert pitches(one(mei_score(mei_bar(body, controls=line)), "mei")) == [72, 72, 74, 64]


def test_mei_pulses_say_what_the_written_value_does_not() -> None:
    def note(pulses: int, more: str = 'dur="8"') -> str:
        return f'<note pname="c" oct="4" dur.ppq="{pulses}" {more}/>'

    # A triplet without a bracket, a note without a written length, and a triplet that its pulses had to round.
    melody = one(mei_score(mei_bar(note(8) * 3 + note(24, "")), staff='ppq="24"'), "mei")
    assert [round(3 * onset) for onset, _, _ in notes(melody)] == [0, 1, 2, 3]
    rounded = f'<tuplet num="3" numbase="2">{note(1) + note(1) + note(2)}</tuplet>'
    assert notes(one(mei_score(mei_bar(rounded + D), staff='ppq="4"'), "mei"))[-1] == (1, 1, 62)


def test_mei_one_unit_of_pulses_for_parts_that_have_others() -> None:
    bar = mei_bar('<note pname="c" oct="4" dur.ppq="2" dur="4"/>')
    changed = '<scoreDef ppq="12"/>'
    kept = one(mei_score(bar + changed + bar + bar, staff='ppq="2"'), "mei")
    assert [onset for onset, _, _ in notes(kept)] == [0, 1, 2]
    new = mei_bar('<note pname="c" oct="4" dur.ppq="12" dur="4"/>')
    assert [onset for onset, _, _ in notes(one(mei_score(bar + changed + new * 2, staff='ppq="2"'), "mei"))] == [
        0,
        1,
        2,
    ]


def test_mei_signatures_and_their_changes() -> None:
    definition = '<scoreDef meter.count="3" meter.unit="4" key.sig="2f"/>'
    clef = '<clef shape="F" line="4"/>'
    start = 'clef.shape="G" clef.line="2" meter.sym="common" key.sig="3s" key.mode="major"'
    melody = one(mei_score(mei_bar(C + clef + D) + definition + mei_bar(E), start), "mei")
    assert (melody.clef, melody.metre, melody.key_signature, melody.key) == ("G-2", "4/4", "xFCG", "A major")
    seen = [
        (change.onset_ticks // QUARTER, change.clef, change.key_signature, change.metre) for change in melody.changes
    ]
    assert seen == [(1, "F-4", None, None), (2, None, "bBE", "3/4")]


def test_mei_words_of_the_first_verse() -> None:
    def sung(syllable: str, more: str, second: str) -> str:
        verses = f'<verse n="1"><syl {more}>{syllable}</syl></verse><verse n="2"><syl>{second}</syl></verse>'
        return f'<note pname="c" oct="4" dur="4">{verses}</note>'

    words = sung("Hal", 'wordpos="i" con="d"', "x") + sung("lo", 'wordpos="t"', "y") + sung("world", "", "z")
    assert one(mei_score(mei_bar(words)), "mei").text == "Hallo world"


def test_mei_variants_take_the_lemma_and_leave_out_what_is_deleted() -> None:
    body = f"<app><rdg>{C}</rdg><lem>{D}</lem></app><choice><sic>{C}</sic><corr>{E}</corr></choice><del>{C}</del>"
    assert pitches(one(mei_score(mei_bar(body + f"<supplied>{C}</supplied>")), "mei")) == [62, 64, 60]
    either = f"<app><rdg>{mei_bar(C)}</rdg><rdg>{mei_bar(D)}</rdg></app>"
    assert pitches(one(mei_score(either), "mei")) == [60]


def test_mei_microtones_are_warned_about() -> None:
    text = mei_score(mei_bar(mei_note("c4", 4, 'accid="su"') + D))
    assert "accidental that is no semitone; expected sharp, flat or natural; found 'su'" in problem(text, "mei")
    (record,) = read_score(text.encode(), "mei", strict=False)
    assert pitches(record.melody_or_raise()) == [61, 62]
    assert record.problems[0].line == 6


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('<note pname="c" oct="4"/>', "column .*: note without a length; expected @dur; found none"),
        ('<note pname="c" oct="4" dur="5"/>', "unknown length; expected @dur such as 4 or breve; found '5'"),
        ('<chord><note pname="c" oct="4"/></chord>', "chord without a length"),
        ('<note pname="c" dur="4"/>', "note without an octave; expected @oct from 0 to 9; found ''"),
        ('<note pname="c" oct="11" dur="4"/>', "pitch out of range; expected a MIDI pitch from 0 to 127; found 144"),
        ("<beatRpt/>", "repeat sign that is not played out; expected notes; found <beatRpt>"),
        ('<meterSig count="x" unit="4"/>', "unreadable metre; expected a metre such as 3/4; found 'x/4'"),
        ('<note pname="c" oct="4" dur="semibrevis"/>', "mensural or neume notation; expected common notation"),
    ],
)
def test_mei_problems_have_a_place(body: str, message: str) -> None:
    import re

    text = mei_score(mei_bar(C + body))
    assert re.search(message, problem(text, "mei"))
    (record,) = read_score(text.encode(), "mei", strict=False)
    assert record.problems[0].line == 6
    if "mensural" not in message:
        assert pitches(record.melody_or_raise()) == [60]


@pytest.mark.parametrize(
    "body", ["", mei_bar("<mRest/>"), mei_bar('<rest dur="4"/>'), mei_bar('<note dur="4" loc="0"/>')]
)
def test_mei_without_notes_is_refused(body: str) -> None:
    assert problem(mei_score(body), "mei") == "2: no notes; expected at least one note; found none"


def test_mei_of_only_graces_is_a_melody() -> None:
    assert one(mei_score(mei_bar(mei_note("c4", 8, 'grace="acc"'))), "mei").notes["is_grace"].all()


@pytest.mark.long
def test_mei_with_ten_thousand_notes() -> None:
    assert len(one(mei_score(mei_bar(C * 4) * 2500), "mei")) == 10_000


def test_mei_notes_beyond_the_limits_of_a_melody_are_refused() -> None:
    bars = "".join(mei_bar('<multiRest num="10000"/>') for _ in range(3))
    text = mei_score(bars + mei_bar(C), 'meter.count="99999999" meter.unit="1"')
    assert "far too long; expected less than 6981026208 quarter notes; found more" in problem(text, "mei")


@pytest.mark.parametrize(
    ("version", "definition", "staff", "inside"),
    [
        ("3.0.0", "", 'label="Flute" key.sig="1s" meter.count="3" meter.unit="4" clef.shape="G" clef.line="2"', ""),
        (
            "4.0.0",
            'key.sig="1s" meter.count="3" meter.unit="4"',
            'clef.shape="G" clef.line="2"',
            "<label>Flute</label>",
        ),
        ("5.0", 'keysig="1s" meter.count="3" meter.unit="4"', "", '<label>Flute</label><clef shape="G" line="2"/>'),
        (
            "5.0",
            "",
            "",
            '<label>Flute</label><clef shape="G" line="2"/><keySig sig="1s"/><meterSig count="3" unit="4"/>',
        ),
    ],
)
def test_mei_of_three_versions(version: str, definition: str, staff: str, inside: str) -> None:
    """A header in the style of each: the key is @key.sig up to version 4 and @keysig in 5; names and signs may be
    attributes or elements; the composer stands in <composer>, or is a name with a role."""
    composer = {"3": "<composer>Ann Other</composer>", "4": "<composer><persName>Ann Other</persName></composer>"}.get(
        version[0], '<respStmt><persName role="composer">Ann Other</persName></respStmt>'
    )
    bar = mei_bar(mei_note("f4") + mei_note("g4", 4, 'accid="s"') + mei_note("g4"))
    text = f"""<mei xmlns="http://www.music-encoding.org/ns/mei" meiversion="{version}"><meiHead><fileDesc><titleStmt>
<title>A tune</title>{composer}</titleStmt></fileDesc></meiHead><music><body><mdiv><score><scoreDef {definition}>
<staffGrp><staffDef n="1" lines="5" {staff}>{inside}</staffDef></staffGrp></scoreDef>
<section>{bar}</section></score></mdiv></body></music></mei>"""
    melody = one(text, "mei")
    assert pitches(melody) == [66, 68, 68]
    assert (melody.title, melody.composer, melody.voice) == ("A tune", "Ann Other", "Flute")
    assert (melody.clef, melody.key_signature, melody.metre) == ("G-2", "xF", "3/4")


def test_mei_movements_and_separate_parts() -> None:
    score = mei_score(mei_bar(C))
    movement = score[score.index("<mdiv>") : score.index("</body>")]
    twice = score.replace(movement, movement + movement.replace("Flute", "Oboe"))
    assert [record.melody_or_raise().voice for record in read_score(twice.encode(), "mei")] == ["Flute", "Oboe"]
    parts = score.replace("<score>", "<parts><part>").replace("</score>", "</part></parts>")
    assert pitches(one(parts, "mei")) == [60]


def test_staves_together_are_one_melody_for_each_movement() -> None:
    layers = "".join(f'<layer n="{n}">{mei_note(name, 2)}</layer>' for n, name in ((1, "c3"), (2, "e3")))
    body = mei_bar(C + D).replace("</measure>", f'<staff n="2">{layers}</staff></measure>')
    two = mei_score(body, 'key.sig="1s"')
    two = two.replace("</staffDef>", '</staffDef><staffDef n="2"><label>Harp</label></staffDef>')
    melody = one(two, "mei", voices="together")
    assert notes(melody) == [(0, 1, 60), (0, 2, 48), (0, 2, 52), (1, 1, 62)]
    assert melody.notes["voice"].tolist() == [0, 1, 2, 0]
    assert (melody.voice, melody.title, melody.key_signature) == (None, "A tune", "xF")
    assert melody.extra["staff"] == "1, 2"
    assert melody.barlines_ticks.tolist() == [2 * QUARTER]
    assert pitches(one(two, "mei", voices="together", part="Harp")) == [48, 52]
    assert pitches(one(two, "mei", voices="together", voice=0)) == [60, 48, 62]
    movement = two[two.index("<mdiv>") : two.index("</body>")]
    both = read_score(two.replace(movement, movement * 2).encode(), "mei", voices="together")
    assert [len(record.melody or ()) for record in both] == [4, 4]


def test_parts_of_other_notations_together() -> None:
    flute, clarinet = [attributes() + xml_note("C5", 3)], [attributes() + xml_note("E4", 2) + xml_note("D4")]
    melody = one(xml_score(flute, clarinet), "musicxml", voices="together")
    assert notes(melody) == [(0, 3, 72), (0, 2, 64), (2, 1, 62)]
    assert melody.notes["voice"].tolist() == [0, 1, 1]
    spines = "**kern\t**kern\n4C\t4e\n4D\t4f\n*-\t*-\n"
    assert pitches(one(spines, "kern", voices="together")) == [64, 48, 65, 50]


def test_mei_without_bars() -> None:
    body = f'<staff n="1"><layer n="1">{C}{D}</layer></staff>'
    melody = one(mei_score(body), "mei")
    assert pitches(melody) == [60, 62]
    assert melody.barlines_ticks.tolist() == []


# MusicXML


def xml_note(pitch: str, duration: int = 1, more: str = "", before: str = "") -> str:
    step, alter, octave = pitch[0], pitch.count("#") - pitch.count("b"), pitch[-1]
    spelled = f"<step>{step}</step><alter>{alter}</alter><octave>{octave}</octave>"
    length = "" if "<grace" in before else f"<duration>{duration}</duration>"
    return f"<note>{before}<pitch>{spelled}</pitch>{length}<voice>1</voice>{more}</note>"


def attributes(divisions: int = 1, more: str = "") -> str:
    metre = "<time><beats>3</beats><beat-type>4</beat-type></time>"
    key = "<key><fifths>-1</fifths><mode>minor</mode></key>"
    clef = "<clef><sign>G</sign><line>2</line></clef>"
    return f"<attributes><divisions>{divisions}</divisions>{key}{metre}{clef}{more}</attributes>"


def xml_score(*parts: list[str]) -> str:
    names = ("Flute", "Clarinet")
    listed = "".join(f'<score-part id="P{n}"><part-name>{names[n]}</part-name></score-part>' for n in range(len(parts)))
    body = "".join(
        f'<part id="P{n}">'
        + "".join(f'<measure number="{m}">{bar}</measure>' for m, bar in enumerate(bars))
        + "</part>"
        for n, bars in enumerate(parts)
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE score-partwise PUBLIC "-//Recordare//DTD MusicXML 2.0 Partwise//EN" "http://www.musicxml.org/partwise.dtd">
<score-partwise version="2.0"><movement-title>A tune</movement-title>
<identification><creator type="composer">Ann Other</creator></identification>
<part-list>{listed}</part-list>
{body}</score-partwise>"""


def test_musicxml_with_a_pick_up_bar_and_metadata() -> None:
    bars = [attributes() + xml_note("D5"), xml_note("F5", 2) + xml_note("Bb4")]
    melody = one(xml_score(bars), "musicxml")
    assert notes(melody) == [(0, 1, 74), (1, 2, 77), (3, 1, 70)]
    assert melody.barlines_ticks.tolist() == [QUARTER, 4 * QUARTER]
    assert (melody.title, melody.composer, melody.voice) == ("A tune", "Ann Other", "Flute")
    assert (melody.key, melody.metre, melody.clef, melody.key_signature) == ("D minor", "3/4", "G-2", "bB")
    assert melody.notation == "musicxml"


def test_musicxml_ties_graces_chords_and_voices() -> None:
    start, stop = ('<notations><tied type="start"/></notations>', '<notations><tied type="stop"/></notations>')
    first = attributes() + xml_note("C5", 3, start, "")
    second = (
        xml_note("C5", 1, stop)
        + xml_note("D5", 1, "<type>eighth</type>", "<grace/>")
        + xml_note("E5", 2)
        + xml_note("G5", 2, "", "<chord/>")
        + "<backup><duration>1</duration></backup>"
        + xml_note("A4", 1).replace("<voice>1", "<voice>2")
    )
    melody = one(xml_score([first, second]), "musicxml")
    assert notes(melody) == [(0, 4, 72), (4, 2, 79), (4, 2, 76), (5, 1, 69)]
    assert melody.notes["voice"].tolist() == [0, 0, 0, 0, 1]
    assert melody.notes["is_grace"].tolist() == [False, True, False, False, False]


def test_musicxml_tuplets_without_brackets_and_changing_divisions() -> None:
    third = xml_note(
        "C5",
        4,
        "<type>eighth</type><time-modification><actual-notes>3</actual-notes><normal-notes>2</normal-notes>"
        "</time-modification>",
    )
    other = [attributes(5) + xml_note("C4", 5), xml_note("C4", 5) + xml_note("C4", 10), xml_note("C4", 15)]
    first = [attributes(1) + xml_note("D5"), attributes(12) + third * 3 + xml_note("D5", 24), xml_note("E5", 36)]
    flute, clarinet = (record.melody_or_raise() for record in read_score(xml_score(first, other).encode(), "musicxml"))
    assert [round(3 * onset) for onset, _, _ in notes(flute)] == [0, 3, 4, 5, 6, 12]
    assert [onset for onset, _, _ in notes(clarinet)] == [0, 1, 2, 4]


def in_voice(number: int, note: str) -> str:
    return note.replace("<voice>1", f"<voice>{number}")


def test_musicxml_voices_that_take_turns_in_a_bar() -> None:
    # Voice 1 comes back after voice 2 without a <backup>, as some programs write it.
    bar = (
        attributes()
        + xml_note("C5", 1)
        + "<backup><duration>1</duration></backup>"
        + in_voice(2, xml_note("C4", 1))
        + "<direction/>"
        + xml_note("D5", 1, "<type>quarter</type>")
        + xml_note("F5", 1, "<type>quarter</type>", "<chord/>")
        + "<backup><duration>1</duration></backup><forward><duration>1</duration></forward>"
        + in_voice(2, xml_note("D4", 1))
    )
    melody = one(xml_score([bar, xml_note("E5", 3)]), "musicxml")
    assert notes(melody) == [(0, 1, 72), (0, 1, 60), (1, 1, 77), (1, 1, 74), (2, 1, 62), (3, 3, 76)]
    assert melody.notes["voice"].tolist() == [0, 1, 0, 0, 1, 0]


def test_musicxml_a_voice_that_starts_late() -> None:
    clef = "<attributes><clef><sign>F</sign><line>4</line></clef></attributes>"
    bar = (
        attributes(2)
        + xml_note("C5", 6, "<type>half</type><dot/>")
        + clef
        + "<backup><duration>6</duration></backup><forward><duration>1</duration><voice>2</voice></forward>"
        + in_voice(2, xml_note("C4", 5))
    )
    assert notes(one(xml_score([bar]), "musicxml")) == [(0, 3, 72), (0.5, 2.5, 60)]


def test_musicxml_a_bar_that_starts_with_a_gap() -> None:
    gap = "<forward><duration>1</duration><voice>1</voice></forward>"
    bars = [
        attributes(2) + gap + xml_note("C5", 1, "<type>eighth</type>"),
        xml_note("D5", 6, "<type>half</type><dot/>"),
    ]
    melody = one(xml_score(bars), "musicxml")
    assert notes(melody) == [(0.5, 0.5, 72), (1, 3, 74)]
    assert (melody.metre, melody.clef) == ("3/4", "G-2")


@pytest.mark.parametrize(
    "printed", ["", "<accidental/>", "<accidental></accidental>", '<accidental cautionary="yes">natural</accidental>']
)
def test_musicxml_pitches_sound_whatever_is_printed(printed: str) -> None:
    note = xml_note("Bb4", 3, f"<type>half</type><dot/>{printed}<!-- <accidental> -->")
    assert pitches(one(xml_score([attributes() + note]), "musicxml")) == [70]


def test_musicxml_ties_that_are_not_printed() -> None:
    bars = [attributes() + xml_note("C5", 3, '<tie type="start"/>'), xml_note("C5", 2) + xml_note("C5", 1)]
    assert notes(one(xml_score(bars), "musicxml")) == [(0, 5, 72), (5, 1, 72)]


def test_musicxml_transposing_instruments_and_parts() -> None:
    transposed = attributes(1, "<transpose><diatonic>-1</diatonic><chromatic>-2</chromatic></transpose>")
    text = xml_score([attributes() + xml_note("C5", 3)], [transposed + xml_note("D5", 3)])
    sounding = read_score(text.encode(), "musicxml")
    assert [pitches(record.melody_or_raise()) for record in sounding] == [[72], [72]]
    assert pitches(one(text, "musicxml", part="clarinet", written_pitch=True)) == [74]
    assert one(text, "musicxml", part=2).voice == "Clarinet"
    with pytest.raises(UnknownNameError, match="unknown part 'Tuba'; known: Flute, Clarinet"):
        read_score(text.encode(), "musicxml", part="Tuba")
    with pytest.raises(MelodyError, match="part must be a number from 1 to 2; got 3"):
        read_score(text.encode(), "musicxml", part=3)


def test_musicxml_written_bar_by_bar() -> None:
    bars = [attributes() + xml_note("C5", 3), xml_note("D5", 3)]
    text = xml_score(bars).replace("partwise", "timewise")
    head, _, body = text.partition('<part id="P0">')
    assert body
    timewise = "".join(f'<measure number="{n}"><part id="P0">{bar}</part></measure>' for n, bar in enumerate(bars))
    assert one(head + timewise + "</score-timewise>", "musicxml") == one(xml_score(bars), "musicxml")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "utf-8-sig", "utf-16-le"])
def test_musicxml_in_other_encodings(encoding: str) -> None:
    text = xml_score([attributes() + xml_note("C5", 3)]).replace("A tune", "Où").replace("UTF-8", encoding)
    text = text.replace("utf-8-sig", "UTF-8")
    assert musicxml.matches(text.encode(encoding)[:4096])
    assert one(text.encode(encoding), "musicxml").title == "Où"


def test_musicxml_percussion_is_left_out() -> None:
    drum = "<note><unpitched/><duration>3</duration><voice>1</voice></note>"
    assert problem(xml_score([attributes() + drum]), "musicxml").startswith("3: no notes; expected at least one note")
    text = xml_score([attributes() + xml_note("C5", 3)], [attributes() + drum])
    assert one(text, "musicxml").voice == "Flute"


GOOD = xml_score([attributes() + xml_note("C5", 3)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD.replace("</step>", "</stop>"),
            "6, column [0-9]+: broken XML; expected well-formed XML; found mismatched tag",
        ),
        (GOOD[:-30], "broken XML; expected well-formed XML"),
        ("", "1, column 1: broken XML; expected well-formed XML; found no element found"),
        ("<html/>", "1, column 1: not MusicXML; expected <score-partwise> or <score-timewise>; found <html>"),
        (
            '<!DOCTYPE score-partwise [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><score-partwise>&b;</score-partwise>',
            "1, column 26: unsafe document type; expected none with declarations of its own",
        ),
        (
            '<!DOCTYPE score-partwise [<!ENTITY a SYSTEM "file:///etc/passwd">]><score-partwise>&a;</score-partwise>',
            "unsafe document type",
        ),
        ("<score-partwise>" + "<a>" * 200, "elements too deep; expected at most 100 inside each other"),
        ('<?xml version="1.0" encoding="zlib"?><score-partwise/>', "1: unknown encoding; expected a character set"),
        ("<score-partwise/>", "1: no notes"),
    ],
)
def test_musicxml_that_is_broken_or_unsafe(text: str, message: str) -> None:
    import re

    assert re.search(message, problem(text, "musicxml")), problem(text, "musicxml")


def test_text_that_is_not_in_its_encoding_has_a_place() -> None:
    data = GOOD.encode().replace(b"Ann Other", b"Ann \xff")
    assert problem(data, "musicxml").startswith(
        "4, column 46: broken text; expected text in utf-8; found invalid start"
    )


def test_limits_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MAX_ELEMENTS", 10)
    assert "score too large; expected at most 10 elements; found more" in problem(GOOD, "musicxml")
    monkeypatch.setattr(scores, "MAX_FILE_BYTES", 100)
    with pytest.raises(FormatError, match="file too large: more than 100 bytes"):
        read_score(GOOD.encode(), "musicxml")


def test_notes_lost_in_conversion_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = scores.to_mei(GOOD, "xml")
    text = xml_score([attributes() + xml_note("C5", 1) + xml_note("D5", 2)])
    monkeypatch.setattr(mei, "to_mei", lambda text, kind, line: made)
    assert "3, Flute: notes lost in conversion; expected 2 notes; found 1" in problem(text, "musicxml")
    assert "1, Flute: notes lost in conversion; expected 2 notes; found 1" in problem("**kern\n4c\n4d\n*-\n", "kern")


def test_a_crash_of_the_converter_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Crashing:
        def call(self, function: str, payload: dict[str, Any]) -> dict[str, Any]:
            raise SandboxError(f"{function}: the worker process crashed (SIGSEGV)")

    monkeypatch.setattr(scores, "shared_worker", Crashing)
    expected = (
        "3: could not be converted to MEI; expected music that verovio reads; found to_mei: the worker process crashed"
    )
    assert problem(GOOD, "musicxml").startswith(expected)


# Compressed MusicXML


def packed(members: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


CONTAINER = '<container><rootfiles><rootfile full-path="score.xml"/></rootfiles></container>'


def test_mxl_reads_the_score_that_its_container_names() -> None:
    data = packed({"META-INF/container.xml": CONTAINER, "other.xml": "<no/>", "score.xml": GOOD})
    assert musicxml.matches(data[:4096])
    assert one(data, "musicxml") == one(GOOD, "musicxml")


def test_mxl_without_a_container_reads_its_first_score() -> None:
    assert one(packed({"a.txt": "", "a.musicxml": GOOD}), "musicxml") == one(GOOD, "musicxml")


def test_mxl_inside_a_zip_archive(tmp_path: Path) -> None:
    inner = packed({"META-INF/container.xml": CONTAINER, "score.xml": GOOD})
    path = tmp_path / "scores.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.mxl", inner)
        archive.writestr("b.mxl", packed({"no-container.musicxml": GOOD}))
        archive.writestr("c.mei", mei_score(mei_bar(C)))
    assert [melody.notation for melody in load(path)] == ["musicxml", "musicxml", "mei"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.mxl", inner[:80])
    with pytest.raises(NotationError, match="broken archive; expected a compressed MusicXML file"):
        load(path)


def test_mxl_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "archive without a score; expected a score named in META-INF" in problem(packed({"a.txt": ""}), "musicxml")
    assert "broken archive; expected a compressed MusicXML file" in problem(
        packed({"score.xml": GOOD})[:80], "musicxml"
    )
    bomb = packed({"META-INF/container.xml": CONTAINER, "score.xml": "<score-partwise>" + " " * 2**23})
    assert "archive unpacks to too much; expected at most" in problem(bomb, "musicxml")
    entity = '<!DOCTYPE container [<!ENTITY a "b">]>' + CONTAINER
    assert "unsafe document type" in problem(packed({"META-INF/container.xml": entity, "s.xml": GOOD}), "musicxml")
    monkeypatch.setattr(musicxml, "MAX_UNPACKED_BYTES", 100)
    assert "expected at most 100 bytes unpacked from" in problem(packed({"score.xml": GOOD}), "musicxml")
    monkeypatch.setattr(musicxml, "MAX_MEMBERS", 1)
    many = packed({"a": "", "b": ""})
    assert problem(many, "musicxml") == "column 1: archive with too many files; expected at most 1; found 2"


# **kern


def kern_file(*lines: str) -> str:
    return "".join(line.replace(" | ", "\t") + "\n" for line in lines)


def test_kern_spines_ties_graces_tuplets_and_chords() -> None:
    text = kern_file(
        "!!!COM: Other, Ann",
        "!!!OTL: A tune",
        "**kern | **kern | **text",
        '*I"Bass | *I"Soprano | *',
        "*clefF4 | *clefG2 | *",
        "*k[b-] | *k[b-] | *",
        "*F: | *F: | *",
        "*M3/4 | *M3/4 | *",
        "4C | [4a | la-",
        "=1 | =1 | =1",
        "2F 2A | 4a] | .",
        ". | 8qb- | .",
        ". | 12b- | -la",
        ". | 12cc | .",
        ". | 12dd | .",
        "4r | 4ee | .",
        "== | == | ==",
        "*- | *- | *-",
    )
    soprano, bass = (record.melody_or_raise() for record in read_score(text.encode(), "kern"))
    third = pytest.approx(1 / 3)
    assert notes(soprano) == [
        (0, 2, 69),
        (2, third, 70),
        (pytest.approx(2 + 1 / 3), third, 72),
        (pytest.approx(2 + 2 / 3), third, 74),
        (3, 1, 76),
    ]
    assert soprano.notes["is_grace"].sum() == 1
    assert notes(bass) == [(0, 1, 48), (1, 2, 57), (1, 2, 53)]
    assert soprano.barlines_ticks.tolist() == [QUARTER, 4 * QUARTER]
    assert (soprano.title, soprano.composer, soprano.voice, soprano.text) == ("A tune", "Other, Ann", "Soprano", "lala")
    assert (soprano.key, soprano.metre, soprano.clef, soprano.key_signature) == ("F major", "3/4", "G-2", "bB")
    assert (bass.clef, bass.notation) == ("F-4", "kern")


def test_kern_voices_that_split_and_join() -> None:
    lines = ["**kern", "*M2/4", "=1", "4c", "*^", "4d | 4B", "*v | *v", "=2", "2e", "==", "*-"]
    melody = one(kern_file(*lines), "kern")
    assert notes(melody) == [(0, 1, 60), (1, 1, 62), (1, 1, 59), (2, 2, 64)]
    assert melody.notes["voice"].tolist() == [0, 0, 1, 0]


def test_kern_spines_that_change_places() -> None:
    lines = ["**kern | **text", "4e | .", "*x | *x", "a | 4c", "b | 4d", "*- | *-"]
    assert pitches(one(kern_file(*lines), "kern")) == [64, 60, 62]


def test_kern_spines_that_verovio_cannot_follow_lose_notes_and_it_is_told() -> None:
    lines = ["**kern | **text", "4c | a", "*+ | *", "* | **kern | *", "4d | 4G | b", "*- | *- | *-"]
    records = read_score(kern_file(*lines).encode(), "kern", strict=False)
    assert "notes lost in conversion; expected 3 notes; found 2" in str(records[0].problems[0])
    assert all(record.melody is not None for record in records)


def test_kern_accidentals_are_those_of_the_file() -> None:
    text = kern_file("**kern", "*k[f#]", "=1", "4f", "4f#", "4B-", "4B-", "=2", "4F# 4cc##", "=", "*-")
    assert pitches(one(text, "kern")) == [65, 66, 58, 58, 74, 54]


def test_kern_of_transposing_instruments_sounds_as_it_says() -> None:
    text = kern_file("**kern", "*ITrd1c2", "4c", "*-")
    assert pitches(one(text, "kern")) == [60]
    assert pitches(one(text, "kern", written_pitch=True)) == [62]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_kern_line_ends_and_encodings(line_end: str, encoding: str) -> None:
    text = kern_file("!!!OTL: Où", "**kern", "0c", "4%3d", "*-").replace("\n", line_end)
    melody = one(text.encode(encoding), "kern")
    assert (melody.title, notes(melody)) == ("Où", [(0, 8, 60), (8, 3, 62)])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["**kern", "4c", "4d | 4e", "*-"], "3, column 6: wrong number of fields; expected 1 fields; found 2"),
        (["**kern", "*^", "4d", "*-"], "3, column 3: wrong number of fields; expected 2 fields; found 1"),
        (["**kern | 4c", "*-"], "1, column 8: not Humdrum; expected spines such as **kern; found '4c'"),
        (["hello"], "1, column 1: not Humdrum; expected spines such as **kern; found 'hello'"),
        (["**text", "la", "*-"], "1: not **kern; expected a spine of **kern; found none"),
        (["!!!OTL: x"], "1: not **kern"),
        (["!!a", "**kern", "4r", "*-"], "2: no notes; expected at least one note; found none"),
        ([" | ".join(["**kern"] * 501)], "1: too many spines; expected at most 500; found 501"),
        (
            [" | ".join(["**kern"] * 300), " | ".join(["*^"] * 300)],
            "2: too many spines; expected at most 500; found 600",
        ),
    ],
)
def test_kern_refusals(lines: list[str], message: str) -> None:
    assert problem(kern_file(*lines), "kern").startswith(message)


@pytest.mark.parametrize(
    ("lines", "message", "count"),
    [
        (["**kern", "4c", "4d"], "spines without an end; expected *- in every spine; found the end of the file", 2),
        (
            ["**kern | **kern", "4c | 2e", "4d | 4f", "*- | *-"],
            "3, column 1: notes of one line do not start together; expected times that add up; found '4d'",
            4,
        ),
        (["**kern", "4c", "8h", "4d", "*-"], "3, column 1: neither a note nor a rest; expected a note such as", 2),
        (["**kern", "4c", "4e 4", "4d", "*-"], "3, column 4: neither a note nor a rest; expected a note such as", 3),
        (["**kern", "4c", "4dR", "*-"], "3, column 1: pitch of percussion; expected a pitch, or R for percussion", 1),
        (["**kern", "4c", "4C-c", "*-"], "3, column 1: unreadable pitch; expected one letter from a to g", 1),
        (["**kern", "4c", "d", "*-"], "3, column 1: note without a length; expected a length such as 4, or q", 2),
        (
            ["**kern | **kern", "4c | 4e", "= | 4f", "*- | *-"],
            "3, column 3: field of another kind; expected = in every field of the line; found '4f'",
            3,
        ),
    ],
)
def test_kern_warnings(lines: list[str], message: str, count: int) -> None:
    records = read_score(kern_file(*lines).encode(), "kern", strict=False)
    assert sum(len(record.melody_or_raise()) for record in records) == count
    assert message in str(records[0].problems[0])
    assert all(record.melody is None for record in read_score(kern_file(*lines).encode(), "kern"))


def test_kern_rests_percussion_and_ornaments_are_no_problem() -> None:
    text = kern_file("**kern", "4c", "4r", "4ryy", "4R", "4ddT", "8qd", "*-")
    assert pitches(one(text, "kern")) == [60, 74, 62]


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ('<note pname="h" oct="4" dur="4"/>', "note without a name; expected @pname from a to g; found 'h'"),
        ('<note oct="4" dur="4"/>', "note without a name; expected @pname from a to g; found none"),
        (
            f"<other>{D}</other>",
            "note in an unexpected place; expected a note in a layer, a chord, a beam or a tu",
        ),
        (f"<other><chord>{D}</chord></other>", "note in an unexpected place"),
    ],
)
def test_mei_notes_that_are_left_out_are_told(note: str, message: str) -> None:
    text = mei_score(mei_bar(C + note + E))
    (record,) = read_score(text.encode(), "mei", strict=False)
    assert pitches(record.melody_or_raise()) == [60, 64]
    (told,) = record.problems
    assert message in str(told)
    assert (told.line, told.column > 0) == (6, True)
    (record,) = read_score(text.encode(), "mei")
    assert record.melody is None


@pytest.mark.parametrize(
    "music", ['<note loc="3" dur="4"/>', '<note tab.course="1" tab.fret="2" dur="4"/>', f"<del>{D}</del>"]
)
def test_mei_percussion_tablature_and_deleted_music_are_no_problem(music: str) -> None:
    assert pitches(one(mei_score(mei_bar(C + music + E)), "mei")) == [60, 64]
    drums = mei_score(mei_bar('<note dur="4"/>'), staff='clef.shape="perc"')
    assert problem(drums, "mei").endswith("no notes; expected at least one note; found none")


def test_musicxml_notes_without_a_pitch_are_told_where_they_are() -> None:
    drum = "<note><unpitched/><duration>1</duration><type>quarter</type></note>"
    odd = xml_note("D5", 1).replace("<step>D</step>", "<step>d</step>")
    text = xml_score([attributes() + "<!-- two\nlines -->" + xml_note("C5", 1) + drum + "\n" + odd])
    (record,) = read_score(text.encode(), "musicxml", strict=False)
    assert pitches(record.melody_or_raise()) == [72]
    (told,) = record.problems
    assert str(told).endswith(
        "column 1: note without a pitch; expected a step from A to G and an octave from 0 to 9; found 'd', '5'"
    )
    assert text.splitlines()[told.line - 1].startswith(odd[:30])
    assert problem(text, "musicxml").startswith(f"{told.line}, column 1: note without a pitch")


# All of them


HEADS = {
    "mei": [b"<mei>", b'<?xml version="1.0"?><!-- <score-partwise> --><mei xmlns="x">', b"<meiCorpus>", b"<mei:mei>"],
    "musicxml": [
        GOOD.encode(),
        b"<score-timewise>",
        b"\xef\xbb\xbf<!DOCTYPE score-partwise [<!ENTITY a 'b'>]><score-partwise>",
    ],
    "kern": [b"**kern\n", b"!!!COM: x\n!! y\n\n**kern\t**dynam", b"!!!OTL: x\r\n", b"**text\t**kern\r\n*"],
    "": [b"", b"<collection>", b"<a/>", b"**bold**\n", b"PK\x03\x04xx", b"%G-2 'C", b"X:1\nK:C", b"\0\xff", b"!! \n"],
}


@pytest.mark.parametrize(("kind", "head"), [(kind, head) for kind, heads in HEADS.items() for head in heads])
def test_detection(kind: str, head: bytes) -> None:
    found = [name for name, module in (("mei", mei), ("musicxml", musicxml), ("kern", kern)) if module.matches(head)]
    assert found == ([kind] if kind else [])


@pytest.fixture(scope="module", autouse=True)
def _close_worker() -> Iterator[None]:
    yield
    sandbox.shared_worker().close()

"""The Plaine & Easie Code: the specification's examples first, then each rule, then what is malformed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from roslin.errors import NotationError
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.notation import pae, records


def read(music: str, clef: str = "G-2", keysig: str = "", timesig: str = "", version: str | None = None) -> Melody:
    fields = {"clef": clef, "keysig": keysig, "timesig": timesig, "data": music, "version": version}
    return pae.read_incipit(pae.incipit_from_mapping(fields), strict=True).melody_or_raise()


def quarters(melody: Melody, column: str = "onset_ticks") -> list[float]:
    return [round(ticks / TICKS_PER_QUARTER, 6) for ticks in melody.notes[column].tolist()]


def pitches(melody: Melody) -> list[int]:
    return [int(pitch) for pitch in melody.notes["pitch_midi"]]


def rhythm(music: str, **fields: str) -> list[float]:
    return quarters(read(music, **fields), "duration_ticks")


# -- the specification ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["spec_v1.json", "spec_v2.json"])
def test_every_example_of_the_specification_reads(data_folder: Path, version: str) -> None:
    for example in json.loads((data_folder / "pae-spec" / version).read_text("utf-8")):
        record = pae.read_incipit(pae.incipit_from_mapping(example), strict=True)
        if re.search(r"[A-G]", re.sub(r"[%$]\S+", "", example["data"])):
            assert record.melody is not None, (example, record.problems)
        else:
            assert "no notes" in str(record.problems[0])


def test_octaves() -> None:
    assert pitches(read("'C'B''C''B'''C''''B")) == [60, 71, 72, 83, 84, 107]
    assert pitches(read(",C,B,,C,,,B")) == [48, 59, 36, 35]
    assert pitches(read("''C'GC,GC,,G")) == [72, 67, 60, 55, 48, 43]
    assert pitches(read("ABCD")) == [69, 71, 60, 62]


def test_lengths() -> None:
    assert rhythm("'0B9B1A2A4A8A6A3A5A7A") == [16, 8, 4, 2, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125]
    assert rhythm("'4.A8..A4...A") == [1.5, 0.875, 1.875]
    assert rhythm("CD") == [1, 1]
    assert rhythm("7.CDE") == [1, 1, 1]  # neumes


def test_a_rhythmic_pattern_repeats_until_a_new_length() -> None:
    assert rhythm("'8.68{AB''C}{DEF}") == [0.75, 0.25, 0.5, 0.75, 0.25, 0.5]
    assert rhythm("'8.68A-''CDEF4GA") == [0.75, 0.5, 0.75, 0.25, 0.5, 1, 1]
    assert rhythm("84'C/DE/F") == [0.5, 1, 0.5, 1]


def test_accidentals() -> None:
    assert pitches(read("'xFxxFbBbbBnF")) == [66, 67, 70, 69, 65]
    assert read("'xF").notes["pitch_base40"].tolist() == [180]
    assert read("'bG").notes["pitch_base40"].tolist() == [184]


def test_accidentals_hold_through_the_bar_in_their_octave() -> None:
    assert pitches(read("'4xFGF/F")) == [66, 67, 66, 65]
    assert pitches(read("'xF''F'F")) == [66, 77, 66]
    assert pitches(read("'xFnFF")) == [66, 65, 65]
    assert pitches(read("'xFxF")) == [66, 66]
    assert pitches(read("'FnFF/F", keysig="xF")) == [66, 65, 65, 66]
    assert pitches(read("'BbBnB", keysig="bB")) == [70, 70, 71]


def test_key_signatures() -> None:
    assert pitches(read("'BEA", keysig="bBEA")) == [70, 63, 68]
    assert pitches(read("'BEA", keysig="bB[EA]")) == [70, 63, 68]
    assert pitches(read("'FCGD", keysig="xF[C]G[D]")) == [66, 61, 68, 63]
    assert pitches(read("'BEA", keysig="[bBEA]")) == [70, 63, 68]
    assert pitches(read("'FB", keysig="n")) == [65, 71]


def test_changes_inside_the_music() -> None:
    melody = read("'2A-//%F-4$xFC ,8B-4-2-/@3/2 '1C2-//")
    assert pitches(melody) == [69, 59, 61]
    assert [(c.onset_ticks // TICKS_PER_QUARTER, c.clef, c.key_signature, c.metre) for c in melody.changes] == [
        (4, "F-4", None, None),
        (4, None, "xFC", None),
        (8, None, None, "3/2"),
    ]
    assert quarters(read("@3/4 =2/'4C")) == [6]
    assert quarters(read("@3/4|4/4 =/'4C")) == [3]


def test_ties_merge() -> None:
    assert rhythm("''4C+''4C") == [2]
    assert rhythm("''2G+/G+/4GA") == [5, 1]
    assert rhythm("'8..A//8A+6A+3A") == [0.875, 0.875]
    melody = read("'4xF+/FF/F")
    assert (pitches(melody), quarters(melody)) == ([66, 65, 65], [0, 2, 3])


def test_a_tie_reaches_over_a_grace_note() -> None:
    melody = read("'4C+gDCE")
    assert (pitches(melody), quarters(melody, "duration_ticks")) == ([60, 62, 64], [2, 0, 1])


def test_a_tie_at_the_end_leads_out_of_the_incipit() -> None:
    assert rhythm("'4CD+") == [1, 1]


def test_ties_of_version_2() -> None:
    assert rhythm("FG_A") == [1, 2, 1]
    assert rhythm("2''G/_/4_") == [5]
    assert rhythm("2''G/8{_AB}/4_") == [2.5, 0.5, 1.5]
    chord = read("2^''D'AxF>/2_/4_//", version="pe2")
    assert (pitches(chord), quarters(chord, "duration_ticks")) == ([74, 69, 66], [5, 5, 5])
    assert rhythm("G_G", version="pe2") == [2, 1]


def test_chords() -> None:
    melody = read("''2D^'A^xFG")
    assert (pitches(melody), quarters(melody)) == ([74, 69, 66, 67], [0, 0, 0, 2])
    version_2 = read("2^'FxA>/2p^FxA>8^CEG>")
    assert pitches(version_2) == [70, 65, 70, 65, 67, 64, 60]
    assert quarters(version_2) == [0, 0, 2, 2, 4, 4, 4]


def test_a_tie_after_a_chord_holds_all_of_it_and_before_the_caret_one_note() -> None:
    assert rhythm("'2E^C+/E^C") == [4, 4]
    assert sorted(rhythm("'2E+^C/E^D")) == [2, 2, 4]


def test_beams_and_ligatures_change_nothing() -> None:
    assert rhythm("{''6E'B8G}{GA}-''C{'3B8..G}")[:4] == [0.25, 0.25, 0.5, 0.5]
    assert pitches(read("4Cu8Du,A")) == [60, 62, 57]
    assert pitches(read("CDuEF", clef="G:2")) == [60, 62, 64, 65]


def test_tuplets_fill_their_total_exactly() -> None:
    melody = read("4('6DEFGA;5)B")
    fifth = TICKS_PER_QUARTER // 5
    assert melody.notes["onset_ticks"].tolist() == [0, fifth, 2 * fifth, 3 * fifth, 4 * fifth, 5 * fifth]
    assert rhythm("8({'3DEFGA};5)") == [0.1] * 5
    assert rhythm("(6ABC)") == rhythm("8(6ABC;3)") == rhythm("8({6ABC};3)") == [round(1 / 6, 6)] * 3
    assert rhythm("4('4D8E)4('4D8E)") == [0.666667, 0.333333] * 2
    assert rhythm("({8A-B})") == [0.333333] * 2
    assert rhythm("(6ABCDEF;6)") == [round(1 / 6, 6)] * 6
    assert rhythm("4.(8AB;2)") == [0.75, 0.75]


@pytest.mark.parametrize("count", range(2, 20))
def test_any_tuplet_ends_where_its_total_ends(count: int) -> None:
    total, value = (2, "8") if count <= 8 else (4, "8") if count <= 16 else (4, "6")
    melody = read(f"{4 // total}({value}{('CDEFGAB' * 3)[:count]};{count})4C")
    assert quarters(melody)[-1] == total
    starts = melody.notes["onset_ticks"].tolist()
    assert starts == sorted(set(starts))


def test_a_tie_into_a_tuplet() -> None:
    assert rhythm("'4C+(8CDE)") == [1.333333, 0.333333, 0.333333]


def test_tuplets_without_a_total() -> None:
    assert rhythm("(8CD;2)") == [0.75, 0.75]
    assert rhythm("(8CDEF;4)") == [0.375] * 4
    assert rhythm("(8CDEFG;5)") == [0.4] * 5
    assert rhythm("2(4CDEFG;5)") == [0.4] * 5  # the count says that the total is meant


def test_a_repeated_bar_of_rest_is_one_bar() -> None:
    assert quarters(read("'4CDEF/=2/i/G", timesig="4/4")) == [0, 1, 2, 3, 16]


def test_a_grace_note_inside_a_tie_has_its_own_accidental() -> None:
    assert pitches(read("'4xC+/gCC")) == [61, 60]


def test_mensuration_signs() -> None:
    for sign in ("o", "o.", "o/", "o3", "o2", "c.", "c/.", "c/3", "c./", "o/.", "c2", "c3", "c3/2", "o3/2"):
        assert len(read("'1CD", clef="C+3", timesig=sign)) == 2
        assert read(f"@{sign} '1CD").changes[0].metre == sign


def test_a_trill_does_not_make_a_string_old() -> None:
    assert rhythm("'4FG_AtB") == [1, 2, 1, 1]


def test_fermatas() -> None:
    assert rhythm("4C(E^G)C") == [1, 1, 1, 1]
    assert quarters(read("4C(gDE)F")) == [0, 1, 1, 2]
    assert rhythm("(''4C)D") == [1, 1]
    assert rhythm("2(C)1''Dp") == [2, 4]
    assert quarters(read("4(-)'C")) == [1]
    assert rhythm("(8AB(C))") == [0.333333] * 3


def test_grace_notes() -> None:
    melody = read("'2A''gC{''8D'8B}''4C")
    assert melody.notes["is_grace"].tolist() == [False, True, False, False, False]
    assert quarters(melody) == [0, 2, 2, 2.5, 3]
    assert quarters(melody, "duration_ticks") == [2, 0, 0.5, 0.5, 1]
    assert quarters(read("'4Aq8'B{'8A'8G}"), "duration_ticks") == [1, 0.5, 0.5, 0.5]
    group = read("'2A''qq{'8B''8C}r{''8D'8B}''4C")
    assert (group.notes["is_grace"].tolist(), quarters(group)) == (
        [False, True, True, False, False, False],
        [0, 2, 2, 2, 2.5, 3],
    )
    version_2 = read("{'8Ay''{'8B''8C}r''8D}")
    assert version_2.notes["is_grace"].tolist() == [False, True, True, False]
    assert quarters(read("8'C^Eq6F^AG")) == [0, 0, 0.5, 0.5, 0.5]


def test_trills_change_nothing() -> None:
    assert rhythm("''4CtD") == [1, 1]


def test_rests_are_gaps() -> None:
    melody = read("'4C-2-8D")
    assert (quarters(melody), quarters(melody, "duration_ticks")) == ([0, 4], [1, 0.5])


@pytest.mark.parametrize(
    ("timesig", "start"),
    [("3/4", 6), ("c", 8), ("c/", 8), ("6/8", 6), ("3/2", 12), ("3", 6), ("2", 8), ("o", 24), ("", 8)],
)
def test_measure_rests_last_as_long_as_bars(timesig: str, start: float) -> None:
    assert quarters(read("=2/'4C", timesig=timesig)) == [start]
    assert quarters(read("=/=/'4C", timesig=timesig)) == [start]


def test_repeated_figures_and_bars() -> None:
    assert pitches(read("!{'8ABAG}!ff", timesig="3/2")) == [69, 71, 69, 67] * 3
    melody = read("'4ABAG/i/i/", timesig="4/4")
    assert (pitches(melody), quarters(melody)) == ([69, 71, 69, 67] * 3, [float(k) for k in range(12)])
    assert pitches(read("!'C''D!fE")) == [60, 74, 60, 74, 76]  # the notes are repeated, not the text
    assert quarters(read("'4D!C8EF!f")) == [0, 1, 2, 2.5, 3, 4, 4.5]
    assert rhythm("'1C+/i/D") == [8, 4]


def test_bar_lines() -> None:
    for music in ("'4C/D//E//:F://G://:A", "'4C / D // E //: F :// G ://: A"):
        melody = read(music)
        assert melody.barlines_ticks.tolist() == [k * TICKS_PER_QUARTER for k in range(1, 6)]


def test_validity_note() -> None:
    assert len(read("'4CD~?")) == 2


def test_every_note_remembers_its_column() -> None:
    music = "{''6E'xB8G}-!C!f/i/''2D^'A"
    melody = read(music, keysig="bB")
    for column, base40 in melody.notes[["source_column", "pitch_base40"]].tolist():
        letters = "CDEFGAB"
        index = max(k for k, low in enumerate((0, 6, 12, 17, 23, 29, 35)) if low <= base40 % 40)
        assert music[column - 1] == letters[index]


# -- what is malformed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("music", "column", "message"),
    [
        ("'4CDZE", 5, "unreadable sign, left out; expected a note, .*; found 'Z'"),
        ("'4CD(8EF", 5, r"tuplet without an end; expected \); found the end"),
        ("'4C(8EF/G", 4, r"tuplet without an end; expected \) before the bar line; found '/'"),
        ("'8(CD(EF))", 6, r"tuplet inside a tuplet; expected \) before the next \("),
        ("'4CD)", 5, r"end of a tuplet that was not begun; expected \( before \)"),
        ("'4(8ABCDEFGAB;3)", 3, "the notes of the group do not fit"),
        ("'4C;3D", 4, "number of notes in a tuplet"),
        ("{'8CD", 1, "beam without an end; expected }; found the end"),
        ("'8CD}", 5, "end of a beam that was not begun; expected { before }"),
        ("'4C+D", 4, "tie to another pitch, read as a slur; expected the same note"),
        ("'4C+-", 4, "tie to another pitch"),
        ("+'4C", 1, "tie without a note; expected a note before the tie"),
        ("_'4C", 1, "tie without a note"),
        ("q8'C+D", 5, "tie after a grace note"),
        ("^'4C", 1, r"chord without a first note; expected a note before \^"),
        ("'4C^", 4, "chord without an end; expected another note"),
        ("'4^CE/>", 3, "chord without an end; expected > before the bar line"),
        ("'4^C^E>", 5, "chord inside a chord"),
        ("'4CD>", 5, r"end of a chord that was not begun; expected \^ before >"),
        ("'4Cq8", 4, "grace note without a note; expected a note after it; found the end"),
        ("'4Cg/D", 4, "grace note without a note; expected a note before the bar line"),
        ("'4Cqq8DE4F", 4, "grace group without an end; expected r after the grace notes"),
        ("'4Cy8DE4F", 4, "grace group without an end"),
        ("q8'CDr4E", 1, "grace group begun with one q; expected qq"),
        ("'4CrD", 4, "end of a grace group that was not begun"),
        ("'4C!DE", 4, "repeated figure without an end; expected ! and f"),
        ("'4C!DE!G", 7, "repeated figure; expected f after the second !; found 'G'"),
        ("i/'4C", 1, "repeated bar; expected a whole bar and a bar line before i"),
        ("'4C/D/Ei/", 8, "repeated bar; expected a whole bar"),
        ("'4C/D/iF/", 7, "repeated bar; expected a bar line after i; found 'F'"),
        ("'4Cx/D", 4, "accidental without a note; expected a note; found '/'"),
        ("'4Cb-D", 4, "accidental without a note; expected a note; found '-'"),
        ("'4C!D/E!f", 6, "bar line in a repeated figure; expected ! before the bar line"),
        ("$eG-2$gc/$h'4C", 1, "subfields in front of the music; expected music alone"),
        ("'4Cx", 4, "accidental without a note; expected a note; found the end"),
        ("'''''''''''C", 1, "too many octave marks; expected at most four ' or three ,"),
        ("'''''C", 1, "too many octave marks; expected at most four ' or three ,; found octave 8"),
        (",,,,C", 1, "too many octave marks"),
        ("'4xxxF", 5, "more than one accidental; expected a note after the first; found 'x'"),
        ("'4C$xFCDE", 4, "no space after a key signature"),
        ("'4C(EF)G", 4, "tuplet without a value; expected a note value before or after the parenthesis"),
        ("'4(8CDE;0)", 8, "number of notes in a tuplet"),
        ("'4Cg-D", 5, "rest among grace notes; expected a note after the grace sign"),
        ("'4C+/=/C", 4, "tie to another pitch"),
        ("'4.....C", 2, "too many dots; expected at most 4"),
        ("=99999/'4C", 1, "too many bars of rest; expected at most 9999; found 99999"),
        ("tC", 1, "sign that follows a note; expected a note before it; found 't'"),
        ("'4C:D", 4, "repeat sign without a bar line; expected //: or ://"),
        ("%Z-9 'C", 1, "unreadable clef"),
        ("% 'C", 1, "unreadable clef"),
        ("$xH 'C", 1, "no space after a key signature"),
        ("$xx 'C", 1, "unreadable key signature"),
        ("@x 'C", 1, "unreadable time signature"),
        ('"4C', 1, "octave marks written with a double quote; expected a note"),
        ("'4XF", 3, "sharp not written as x"),
        ("'4NF", 3, "natural written N"),
        ("'4YB", 3, "flat written Y"),
        ("'4d", 3, "note name in lower case"),
        ("-24/'4C", 1, "bars of rest written with -; expected =24; found '-24'"),
        ("'4C_C", 4, r"tie or slur written with _; expected \+ for a tie"),
        ("'4yCDz", 3, "slur written y...z"),
        ("(3/4)'4C", 1, "time signature in parentheses; expected @3/4"),
        ("['4C]", 1, "bracket"),
        ("'4C.D", 4, "dot that follows no length"),
        ("'4C?", 4, "mark of doubt"),
        ("", 1, "no notes; expected at least one note; found none"),
        ("4-", 1, "no notes; expected at least one note; found only rests"),
    ],
)
def test_malformed_music_says_where_and_what(music: str, column: int, message: str) -> None:
    with pytest.raises(NotationError, match=message) as caught:
        read(music)
    assert caught.value.problem.column == column


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clef": "G2"}, "unreadable clef; expected a letter G, g, C or F.*found 'G2'"),
        (
            {"keysig": "xFMajeur"},
            "unreadable key signature; expected x or b with the altered letters.*found 'xFMajeur'",
        ),
        ({"keysig": "b"}, "unreadable key signature"),
        ({"timesig": "2:4"}, "unreadable time signature; expected such as 3/4.*found '2:4'"),
    ],
)
def test_malformed_signatures(fields: dict[str, str], message: str) -> None:
    with pytest.raises(NotationError, match=message):
        read("'4C", **fields)


# -- recovering what can be read --------------------------------------------------------------------------------------


def recovered(music: str, **fields: str) -> tuple[Melody, list[str]]:
    record = pae.read_incipit(pae.incipit_from_mapping({"clef": "G-2", "data": music} | fields), strict=False)
    return record.melody_or_raise(), [problem.reason for problem in record.problems]


def test_what_old_catalogues_mean() -> None:
    assert pitches(recovered("\"4C\"'D'E")[0]) == [72, 86, 64]
    assert pitches(recovered("'4XF♯G#ANBYB")[0]) == [66, 68, 70, 71, 70]
    assert pitches(recovered("'4dCcEF")[0]) == [62, 60, 60, 64, 65]
    assert quarters(recovered("-2/'4C", timesig="3/4")[0]) == [6]
    assert quarters(recovered("'4C_/8CD")[0], "duration_ticks") == [1.5, 0.5]
    assert rhythm("'4CD") == quarters(recovered("'4yCDz")[0], "duration_ticks")
    assert pitches(recovered("'4C(3/4)D")[0]) == [60, 62]
    assert pitches(recovered("'4C [avec violon] ['D]")[0]) == [60, 62]
    assert recovered("'4CD&#xdc;E")[1] == ["unreadable sign, left out"]
    assert recovered("'4C''''''B")[1] == ["too many octave marks", "pitch out of range, left out"]
    assert pitches(recovered("'4C$xFCDEFG")[0]) == [60, 62, 64, 66, 67]
    for end in ("", "/"):  # the same at a bar line as at the end, where a writer leaves no space either
        melody, _ = recovered(f"'4C$xFCGG{end}")
        assert pitches(melody) == [60, 68]
        assert melody.changes[0].key_signature == "xFCG"
    assert quarters(recovered("'4Cg-D")[0]) == [0, 2]
    assert quarters(recovered("'4C+/=/C")[0]) == [0, 5]


def test_a_slur_written_as_a_tie_adds_no_note() -> None:
    melody, problems = recovered('"4.E_F8q6D_4C')
    assert len(melody) == 4
    assert problems.count("tie or slur written with _") == 2


def test_untidy_signatures_are_read_in_the_code_s_own_spelling() -> None:
    melody, problems = recovered("'4FB", clef="G 2", keysig="xFMajeur", timesig="3/4[6/4]")
    assert (melody.clef, melody.key_signature, melody.metre) == ("G-2", "xF", "3/4")
    assert pitches(melody) == [66, 71]
    assert len(problems) == 3
    assert recovered("'4B", keysig="b")[0].key_signature == "bB"
    assert recovered("'4B", timesig="nd")[0].metre is None


def test_what_is_not_music_is_refused_with_a_column() -> None:
    for text in ("Sol majeur", "Fa", "Do mineur", "Vuoi ch'io speri, si o no", "Luigi", "=7//"):
        record = pae.read_incipit(pae.incipit_from_mapping({"data": text}), strict=False)
        assert record.melody is None
        assert record.problems[0].column > 0
        assert re.search("not music|no notes", record.problems[0].reason)


@pytest.mark.long
def test_repetition_cannot_run_away() -> None:
    for music in (
        "!" + "'8CDEFGAB" * 40 + "!" + "f" * 100_000,
        "'8" + "C" * 1000 + "/" + "i/" * 1000,
        "^CEG>" + "_" * 20_000,
    ):
        with pytest.raises(
            NotationError, match=r"column \d+: too many repeated notes; expected at most 50000 added to one m"
        ):
            read(music)
    with pytest.raises(NotationError, match="more than 200000 notes"):
        read("'8" + "C" * 200_001)
    with pytest.raises(NotationError, match="far too long"):
        read("=9999/" * 1000 + "'C", timesig="999/1")
    with pytest.raises(NotationError, match="too long for one incipit; expected at most 1000000 signs"):
        read("'4" + "C" * 1_000_000)


def test_other_warnings_through_the_public_reader() -> None:
    (record,) = records('"4CD', strict=False)
    assert record.melody is not None
    assert str(record.problems[0]).startswith("column 1: octave marks written with a double quote")

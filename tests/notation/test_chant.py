"""Volpiano, GABC and tables of Cantus Database: pitches, accidentals, divisions, words, and what is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from roslin import Collection, Melody, load
from roslin.errors import NotationError
from roslin.matchers import Roslin
from roslin.melody import TICKS_PER_QUARTER, note_name
from roslin.notation import records
from roslin.notation.query import has_readings, read_query

SALVE = (
    "name: Salve Regina;\noffice-part: Antiphona;\nmode: 1;\n%%\n(c4) SAl(hhgh)ve,(d.) *(,) Re(hg)gí(fe/fgf)na,"
    "(e[ll:1]d..) (;) ma(c)ter(d) mi(dc)se(d)ri(ef)cór(g)di(dec)ae :(d.) (::)\n"
)
KYRIE = "(c4) Ky(f)ri(gf)e(d.) (::) Chris(hg)te(h) (::)"


def names(melody: Melody) -> str:
    return " ".join(note_name(number) for number in melody.notes["pitch_base40"].tolist())


def divisions(melody: Melody) -> list[int]:
    return [ticks // TICKS_PER_QUARTER for ticks in melody.barlines_ticks.tolist()]


def read_gabc(music: str) -> Melody:
    return load(f"(c4) {music}")[0]


# -- Volpiano ---------------------------------------------------------------------------------------------------------


def test_every_letter_of_the_font() -> None:
    (melody,) = load("1---89abcdefgh-jklmnopqrs", strict=True)
    assert names(melody) == "F3 G3 A3 B3 C4 D4 E4 F4 G4 A4 B4 C5 D5 E5 F5 G5 A5 B5 C6 D6"
    (liquescent,) = load("1---()ABCDEFGH-JKLMNOPQRS", strict=True)
    assert liquescent.notes["pitch_base40"].tolist() == melody.notes["pitch_base40"].tolist()


@pytest.mark.parametrize(
    ("music", "expected"),
    [
        ("1---hij---j--3---j", "A4 B♭4 B♭4 B4"),  # through the word, up to the bar line
        ("1---hij--Ij", "A4 B♭4 B4"),
        ("1---ij--b--q", "B♭4 B3 B5"),  # a line of the staff, no other octave
        ("1---ybwexmzq", "B♭3 E♭4 E♭5 B♭5"),
        ("1---iJ--h", "B♭4 A4"),
    ],
)
def test_accidentals_apply_up_to_the_bar_line(music: str, expected: str) -> None:
    assert names(load(music, strict=True)[0]) == expected


def test_repeated_notes_stay_apart() -> None:
    (melody,) = load("1---ggg--g---hh")
    assert names(melody) == "G4 G4 G4 G4 A4 A4"
    assert not has_readings([read_query("1---ggg--g---hh--g--f")])
    assert has_readings([read_query("'4GGGGAAGF")])


def test_divisions_are_bar_lines() -> None:
    (melody,) = load("1---g--h---3---k---7---h---33---g---5")
    assert divisions(melody) == [2, 4, 5]


def test_the_differentia_is_no_part_of_the_melody() -> None:
    (melody,) = load("1---d--f---g---4---k--k-kj--h---3")
    assert (names(melody), melody.extra) == ("D4 F4 G4", {"differentia": "k--k-kj--h"})
    assert names(load("1---4---d--f---4")[0]) == "D4 F4"


def test_a_line_is_a_melody(tmp_path: Path) -> None:
    path = tmp_path / "three.volpiano"
    path.write_text("1---g--h--g\n\n1---3\n1---k--j--k\n")
    found = list(records(path, named=""))
    assert [record.melody and record.melody.id for record in found] == ["three-1", None, "three-3"]
    assert str(found[1].problems[0]) == f"{path}:3, column 1: no notes; expected at least one note; found '1---3'"


@pytest.mark.parametrize(
    ("music", "message"),
    [
        ("1---g--t--h", "column 8: no sign of Volpiano; expected a note; found 't'"),
        ("1---g--[?]--h", r"column 8: illegible; expected notes; found '\[\?\]'"),
        ("1---3---4", "column 1: no notes; expected at least one note; found '1---3---4'"),
        ("g--h", "column 1: no clef; expected 1 or 2 before the first note; found 'g'"),
        ("1---g'!'!'", 'column 6: not music; expected more notes than other signs; found "\'"'),
    ],
)
def test_what_is_wrong_with_volpiano_is_told(music: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        load(music, "volpiano", strict=True) if "not music" not in message else load(music, "volpiano")


def test_what_was_left_out_is_a_deviation() -> None:
    (melody,) = load("1---g--t--h-[?]")
    assert melody.deviations == ["left out '[?]' at line 1, column 13", "left out 't' at line 1, column 8"]


# -- GABC -------------------------------------------------------------------------------------------------------------


def test_a_score() -> None:
    (melody,) = load(SALVE, strict=True)
    assert names(melody) == "A4 A4 G4 A4 D4 A4 G4 F4 E4 F4 G4 F4 E4 D4 C4 D4 D4 C4 D4 E4 F4 G4 D4 E4 C4 D4"
    assert divisions(melody) == [5, 14, 26]
    assert (melody.title, melody.extra["genre"], melody.extra["mode"]) == ("Salve Regina", "Antiphona", "1")
    assert melody.text == "SAlve, Regína, mater misericórdiae :"
    assert names(load("1---hhgh--d---hg--fefgf--ed---c--d---dc--d--ef--g--dec--d---4")[0]) == names(melody)


@pytest.mark.parametrize(
    ("clef", "expected"),
    [
        ("c4", "F4 C5"),
        ("c3", "A4 E5"),
        ("c2", "C5 G5"),
        ("c1", "E5 B5"),
        ("f3", "D4 A4"),
        ("f4", "B3 F4"),
        ("c4@c2", "F4 C5"),
    ],
)
def test_clefs(clef: str, expected: str) -> None:
    assert names(load(f"({clef}) la(fj)", strict=True)[0]) == expected


@pytest.mark.parametrize(
    ("music", "expected"),
    [
        ("la(ixi) la(i)", "B♭4 B4"),  # up to the end of the word
        ("la(ixi)la(i)", "B♭4 B♭4"),
        ("la(ixi)(,)la(i)", "B♭4 B4"),
        ("la(ixiiyi)", "B♭4 B4"),
        ("la(g#g)", "G♯4"),
        ("la(gvvhssshsi)", "G4 G4 A4 A4 A4 A4 B4"),
        ("la(GgwhoiV)", "G4 G4 A4 B4"),
        ("la(g.h_i'j~k<)", "G4 A4 B4 C5 D5"),
        ("la(g[oh]!h//i/0j z k+)", "G4 A4 B4 C5"),
        ("la(g|vi)lb(h)", "G4 A4"),
    ],
)
def test_signs_of_gabc(music: str, expected: str) -> None:
    assert names(read_gabc(music)) == expected
    assert not read_gabc(music).problems


def test_a_flat_in_the_clef() -> None:
    (melody,) = load("(cb4) la(hi) la(iyi) la(i)", strict=True)
    assert names(melody) == "A4 B♭4 B4 B♭4"
    assert melody.key_signature == "bB"


def test_a_clef_may_change() -> None:
    assert names(read_gabc("la(j) (z0::c3) la(j)")) == "C5 E5"


def test_words_without_tags_and_comments() -> None:
    melody = read_gabc("<b>Glo</b>(g)ri<sp>'ae</sp>(h)a(i) % the end (j)\n{Pa}(g)tri(h)")
    assert (melody.text, names(melody)) == ("Gloria Patri", "G4 A4 B4 G4 A4")


def test_the_letters_of_the_psalm_tone_begin_the_differentia() -> None:
    melody = read_gabc("De(f)us(g) (::) E(h) u(h) o(g) u(h) a(f) e.(d) (::)")
    assert names(melody) == "F4 G4"
    assert melody.extra["differentia"] == "E(h) u(h) o(g) u(h) a(f) e.(d) (::)"
    assert names(load(KYRIE)[0]) == "F4 G4 F4 D4 A4 G4 A4"


@pytest.mark.parametrize(
    ("music", "message"),
    [
        ("name: x;\n%%\n(c4) la(f&)", "3, column 10: no sign of GABC; expected a note; found '&'"),
        ("(c4) la(fg", r"1, column 8: a parenthesis alone; expected \( and \); found '\('"),
        ("%%\nla(g)", "2, column 4: no clef; expected a clef such as"),
        ("(c4) la(,)", r"column 1: no notes; expected notes in parentheses; found '\(c4\) la\(,\)'"),
    ],
)
def test_what_is_wrong_with_gabc_is_told(music: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        load(music, "gabc", strict=True)


# -- tables -----------------------------------------------------------------------------------------------------------

TABLE = """chantlink,incipit,cantus_id,mode,siglum,folio,feast,genre,full_text,melody,db
https://cantus.org/chant/245439,Omnibus se,004141,4,A-Gu 29,215r,Nicolai,A,"Omnibus se, in",1---d--f--g---4---k--h,CD
https://cantus.org/chant/245440,Salve,204367,*,A-Gu 29,216r,,A,,,CD
https://cantus.org/chant/245441,Ave,001539,1,A-Gu 29,217r,,A,,1---3,CD
"""


def test_a_table_of_chants() -> None:
    found = list(records(TABLE.encode(), skipped=True))
    melody = found[0].melody
    assert melody is not None
    assert (melody.id, melody.title, melody.text) == ("CD-245439", "Omnibus se", "Omnibus se, in")
    assert (names(melody), melody.notation) == ("D4 F4 G4", "volpiano")
    assert dict(melody.extra) == {
        "chantlink": "https://cantus.org/chant/245439", "cantus_id": "004141", "mode": "4", "siglum": "A-Gu",
        "shelfmark": "29", "folio": "215r", "feast": "Nicolai", "genre": "A", "db": "CD", "differentia_music": "k--h",
    }  # fmt: skip
    assert [record.is_skipped for record in found] == [False, True, False]
    assert str(found[1].problems[0]) == "3, CD-245440: no melody; expected Volpiano in the column melody"
    assert str(found[2].problems[0]) == "4, CD-245441, column 1: no notes; expected at least one note; found '1---3'"


def test_a_table_that_is_none() -> None:
    with pytest.raises(NotationError, match="1: not a table of chants; expected a column volpiano or melody"):
        load(b"incipit,mode\nAve,1\n", "cantus")


def test_other_tables_in_a_folder_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "chants.csv").write_text(TABLE)
    (tmp_path / "all" / "decisions.csv").write_text("first,second,answer\na,b,yes\n")
    with Collection.build(tmp_path / "all", tmp_path / "x.roslin") as collection:
        assert len(collection) == 1


def test_a_cell_without_end() -> None:
    found = list(records(("incipit,volpiano\n" + "x" * 200_000 + ",1---g\nAve,1---d--e").encode(), "cantus"))
    assert found[0].problems[0].reason == "broken CSV"
    assert found[1].melody is not None


def test_a_collection_of_chant(tmp_path: Path) -> None:
    path = tmp_path / "chants.csv"
    path.write_text(TABLE)
    with Collection.build(path, tmp_path / "chant.roslin") as collection:
        assert [melody.id for melody in collection] == ["CD-245439"]
        (hit, *_) = collection.search("1---g--k--l")
        assert hit.id == "CD-245439"


def test_rhythm_is_not_compared() -> None:
    for query in ("1---g--h--k--j", "(c4) la(g)la(h)la(k)"):
        assert Roslin().compared(read_query(query)) == "melody"


def test_concordances_of_chant_compare_melodies_alone(tmp_path: Path) -> None:
    from roslin.concordances.join import Join, opened

    melody = load("1---g--h--k--j--h--g")[0].with_metadata(id="chant")
    hymn = load("'4GA2B")[0].with_metadata(id="hymn")
    for sources, compared in (([melody], "melody"), ([melody, hymn], "both")):
        with Collection.build(sources, tmp_path / f"{compared}.roslin") as built:
            join = Join(str(built.path), built.about["token"], str(tmp_path), True, True, "")
            assert opened(join).compared == compared


def test_a_collection_of_chant_is_searched_by_melody_alone(tmp_path: Path) -> None:
    chants = [
        load(music)[0].with_metadata(id=name)
        for name, music in (("a", "1---g--h--k--j--h--g"), ("b", "1---g--g--k--k--h--j--l"), ("c", "1---d--f--e--c--d"))
    ]
    played = load("%G-2@c '8G4.A2B8A4G2F")[0]  # another melody with rhythm
    same = load("%G-2@c '8G4.A''2C'8B4A2G")[0]
    with Collection.build(chants, tmp_path / "chant.roslin") as collection:
        run = collection.search(same)
        assert run.remarks == (
            "The collection is chant, which has no written rhythm, so only the melody was compared.",
        )
        assert (run[0].id, run[0].distance, run.name) == ("a", 0.0, "roslin")
        alone = collection.search(same, compare="melody")
        assert [(hit.id, hit.value) for hit in run] == [(hit.id, hit.value) for hit in alone]
        assert alone.remarks == ()
        assert collection.search(same, compare="both")[0].distance > 0.1
        assert collection.explain(same, "a").distance == 0.0
        assert collection.explain(same, chants[0]).distance == 0.0
        assert collection.expected(same, "a") == run[0].expected
        assert "equally long" in collection.search(chants[1])[0:1].remarks[0]
        collection.add([played.with_metadata(id="song")])
        assert collection.search(same).remarks == ()
        assert collection.search(same)[0].distance > 0.1

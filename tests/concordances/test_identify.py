"""Whose music a source is: sources counted once, names folded, incipits corrected for, the record itself left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, load
from roslin.collection.filters import metadata
from roslin.concordances.concordance import SourceRecord, folded_name, is_nobody
from roslin.concordances.identify import (
    Attribution,
    Identification,
    SourceMatch,
    attributed,
    by_source,
    identify,
    melodies_of,
    source_named,
)
from roslin.deadline import Work
from roslin.errors import ArgumentError, FormatError, MelodyError, NotationError, TimeLimitError, UnknownRecordError
from roslin.notation.query import read_source
from roslin.notation.record import record_of
from roslin.starter import tunes_path

# Made for this test, so that the starter tunes around them are no relatives.
TUNE = "%G-2@4/4 '4C8EG''4C'8bB,A/'4FxG8BD''4E/'8xF''C'2bE4,A/"
VARIANT = "%G-2@4/4 '4C8EG''4C'8bB,A/'4FxG8BD''4E/'8xF''C'2bE4B/"
SECOND = "%G-2@3/4 ''2xF8C'E/4bB,xC''8D'xG/2.A/8bE''bE'4F,B/"
UNKNOWN = "%G-2@3/4 '8bA''bDE'4xC,B/''2F'8bG,D/'4xA8E''B'4C/"


def source(text: str, id: str, composer: str | None = None, **about: str) -> Melody:
    return load(text)[0].with_metadata(id=id, composer=composer, title=f"Title of {id}", extra=about)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    melodies = [
        *load(tunes_path()),
        source(TUNE, "100-1.1.1", "Pergolesi, Giovanni Battista", siglum="I-Nc", shelfmark="Mus. 1"),
        source(VARIANT, "100-1.2.1", "Pergolesi, Giovanni Battista"),
        source(VARIANT, "200-1.1.1", "[Pergolesi, Giovanni Battista?]"),
        source(TUNE, "300-1.1.1", "PERGOLESI, Giovanni Battista"),
        source(SECOND, "300-1.2.1", "PERGOLESI, Giovanni Battista"),
        source(TUNE, "400-1.1.1", "Anonymus"),
        source(VARIANT, "500-1.1.1"),
        source(TUNE, "600-1.1.1", "Hasse, Johann Adolf"),
    ]
    path = tmp_path_factory.mktemp("identify") / "some.roslin"
    with Collection.build(melodies, path) as opened:
        yield opened


def test_a_known_tune(collection: Collection) -> None:
    found = identify(load(TUNE), collection)
    # Others may follow that chance explains nearly as well.
    assert [(each.name, each.close, each.identical) for each in found.attributions if each.close] == [
        ("Pergolesi, Giovanni Battista", 3, 2),
        ("Hasse, Johann Adolf", 1, 1),
        ("Anonymus", 2, 1),
    ]
    assert found.sentence == (
        "Pergolesi, Giovanni Battista in 3 sources, Hasse, Johann Adolf in 1 source, Anonymus in 2 sources; "
        "fewer than 0.0001 matches this good expected by chance."
    )
    assert found.is_close
    assert found.is_disputed
    assert found.remarks == ("The sources name different composers.",)
    assert found.searched == len(collection)
    first = found.attributions[0].sources[0]
    assert (first.record, first.id, first.about.library, first.about.shelfmark) == (
        "100",
        "100-1.1.1",
        "I-Nc",
        "Mus. 1",
    )
    assert first.meaning == "same notes"
    assert first.is_identical


def test_several_incipits_of_a_record_are_one_source_and_versions_are_told(collection: Collection) -> None:
    found = identify(load(TUNE), collection)
    by_record = {each.record: each for group in found.attributions for each in group.sources if each.is_close}
    assert sorted(by_record) == ["100", "200", "300", "400", "500", "600"]
    assert {record: each.version for record, each in by_record.items()} == {
        "100": 0, "300": 0, "400": 0, "600": 0, "200": 1, "500": 1,
    }  # fmt: skip


def test_one_of_three_incipits_has_three_times_the_chance_matches(collection: Collection) -> None:
    alone = identify(load(TUNE), collection)
    three = identify([*load(TUNE), *load(UNKNOWN), *load(SECOND)], collection)
    of_alone, of_three = ({s.record: s for a in each.attributions for s in a.sources} for each in (alone, three))
    assert of_three["600"].expected == pytest.approx(3 * of_alone["600"].expected, rel=1e-12)
    assert (of_three["600"].incipit, of_three["600"].incipits) == (1, (1,))
    assert of_three["300"].incipits == (1, 3)
    assert three.tried == (1, 2, 3)
    assert three.attributions[0].incipits == [1, 3]
    assert "2 of 3 incipits were found there." in three.remarks


def test_incipits_with_the_same_notes_are_tried_once(collection: Collection) -> None:
    higher = load(TUNE)[0]
    notes = higher.notes.copy()
    notes["pitch_midi"] += 5
    notes["duration_ticks"] *= 2
    notes["onset_ticks"] *= 2
    both = identify([*load(TUNE), Melody(notes)], collection)
    assert both.tried == (1,)
    assert both.attributions == identify(load(TUNE), collection).attributions


def test_what_chance_explains_with_many_incipits_is_left_out(collection: Collection) -> None:
    asked = collection["white-cockade"]
    alone, four = (
        {source.id: source.expected for each in identify(given, collection).attributions for source in each.sources}
        for given in ([asked], [asked, *load(TUNE), *load(UNKNOWN), *load(SECOND)])
    )
    assert 0.25 < alone["drunken-sailor"] <= 1
    assert "drunken-sailor" not in four
    assert four["white-cockade-2"] == pytest.approx(4 * alone["white-cockade-2"])


def test_the_record_itself_is_left_out(collection: Collection) -> None:
    asked = melodies_of(collection, "100")
    assert [melody.id for melody in asked] == ["100-1.1.1", "100-1.2.1"]
    found = identify(asked, collection)
    assert "100" not in {source.record for each in found.attributions for source in each.sources}
    assert found.attributions[0].close == 2
    assert found.claimed == "Pergolesi, Giovanni Battista"
    assert "The record itself names Pergolesi, Giovanni Battista, as 2 sources do." in found.remarks
    same = identify(melodies_of(collection, "100-1.2.1"), collection)
    assert "100" not in {source.record for each in same.attributions for source in each.sources}


def test_a_record_that_names_somebody_else_is_told(collection: Collection) -> None:
    found = identify([source(TUNE, "999-1.1.1", "Leo, Leonardo")], collection)
    assert "The record itself names Leo, Leonardo, but no close source does." in found.remarks
    alone = identify([source(TUNE, "999-1.1.1", "Hasse, Johann Adolf")], collection)
    assert "The record itself names Hasse, Johann Adolf, as 1 source does." in alone.remarks
    nobody = identify([source(TUNE, "999-1.1.1", "[Anonymus]")], collection)
    assert not any(said.startswith("The record itself") for said in nobody.remarks)


def test_only_anonymous_sources(collection: Collection) -> None:
    within = collection.numbers([*collection.ids()[:243], "400-1.1.1", "500-1.1.1"])
    found = identify(load(TUNE), collection, within=within)
    assert found.sentence.startswith("Anonymus in 2 sources; ")
    assert "No close source names a composer." in found.remarks
    assert not found.is_disputed
    assert found.searched == 245


def test_nothing_close(collection: Collection) -> None:
    within = collection.numbers(collection.ids()[:20])
    found = identify(load(UNKNOWN), collection, within=within)
    assert found.attributions == ()
    assert str(found) == found.sentence == "Nothing close was found."
    assert not found.is_close
    assert found.to_dict()["attributions"] == []
    assert found.to_table().rows == ()


def match(record: str, expected: float, composer: str | None = None) -> SourceMatch:
    about = SourceRecord.of(source(TUNE, f"{record}-1.1.1", composer))
    return SourceMatch(about, expected, 0.1, incipit=1, incipits=(1,), version=1)


def test_words_for_what_may_be_chance() -> None:
    perhaps = Attribution("Leo, Leonardo", is_anonymous=False, sources=(match("1", 0.031), match("2", 0.9)))
    found = Identification((perhaps,), (1,), 1000)
    assert found.sentence == (
        "Nothing close was found. Perhaps Leo, Leonardo in 2 sources; 0.031 matches this good expected by chance."
    )
    assert not found.is_close
    assert (perhaps.close, perhaps.meaning) == (0, "perhaps")


def test_the_sentence_of_the_catalogue() -> None:
    both = (
        Attribution("Pergolesi", is_anonymous=False, sources=tuple(match(str(k), 0.003) for k in range(4))),
        Attribution("Anonymus", is_anonymous=True, sources=(match("5", 0.0035), match("6", 0.004), match("7", 0.5))),
    )
    assert Identification(both, (1,), 1000).sentence == (
        "Pergolesi in 4 sources, Anonymus in 2 sources; 0.003 matches this good expected by chance."
    )


def test_attributions_are_ranked_by_word_then_by_sources_of_that_word_then_by_chance() -> None:
    sources = [
        match("1", 1e-9, "One"),
        match("2", 0.0002, "Two"),
        match("3", 0.0004, "Two"),
        match("4", 1e-8, "Many"),
        *(match(f"5{k}", 0.004, "Many") for k in range(5)),
        *(match(f"6{k}", 1e-7, "Anonymus") for k in range(5)),
        match("7", 0.004, "Late"),
    ]
    names = [each.name for each in attributed(sorted(sources, key=lambda source: source.expected))]
    assert names == ["Two", "One", "Many", "Anonymus", "Late"]


def test_a_long_list_of_names_is_cut() -> None:
    many = tuple(Attribution(f"N{k}", is_anonymous=False, sources=(match(str(k), 0.004),)) for k in range(7))
    assert Identification(many, (1,), 9).sentence.startswith(
        "N0 in 1 source, N1 in 1 source, N2 in 1 source, N3 in 1 source, 3 others; "
    )
    assert "N4 in 1 source;" in Identification(many[:5], (1,), 9).sentence


def test_names_that_may_be_one_person() -> None:
    names = ("Handel, George Frideric", "Händel, Georg Friedrich", "Anonymus")
    each = tuple(Attribution(name, name == "Anonymus", (match(name, 0.001),)) for name in names)
    assert Identification(each, (1,), 9).remarks == (
        "The sources name different composers.",
        "Handel, George Frideric and Händel, Georg Friedrich may be one person.",
    )


def test_a_figure_that_many_composers_use_is_told() -> None:
    each = tuple(Attribution(f"Name {k}", is_anonymous=False, sources=(match(str(k), 0.004),)) for k in range(5))
    assert Identification(each, (1,), 9).remarks == (
        "The sources name 5 composers: it may be a common figure rather than one tune.",
    )
    assert Identification(each[:4], (1,), 9).remarks == ("The sources name different composers.",)


def test_works_of_different_composers_are_no_dispute() -> None:
    first, second = match("1", 0.001), replace(match("2", 0.001), incipit=2, incipits=(2,))
    both = (Attribution("Leo, Leonardo", False, (first,)), Attribution("Hasse, Johann Adolf", False, (second,)))
    found = Identification(both, (1, 2), 9)
    assert not found.is_disputed
    assert found.remarks[0] == "Different incipits lead to different composers: the source may contain several works."
    agreeing = replace(second, incipits=(1, 2))
    assert Identification((both[0], replace(both[1], sources=(agreeing,))), (1, 2), 9).is_disputed
    doubtful = replace(agreeing, expected=0.5)
    assert not Identification((both[0], replace(both[1], sources=(doubtful,))), (1, 2), 9).is_disputed


@pytest.mark.parametrize("name", [None, "", " ", "Anonymus", "[Anonymus]", "Anonymous", "anonyme", "Anon.", "[?]"])
def test_nobody(name: str | None) -> None:
    assert is_nobody(name)


def test_names_are_folded() -> None:
    assert folded_name("[GRÉTRY,  André]") == folded_name("Gretry, Andre?") == "gretry, andre"
    assert not is_nobody("Anonymiades, Nikos")


def test_records_of_ids() -> None:
    assert record_of("806706864-1.1.1.1.1") == record_of("806706864-2.a.1") == "806706864"
    assert record_of("roslin-castle-2") == "roslin-castle-2"
    assert record_of("806704606-1.1. 2.1.1") == record_of("806704606-1.1.1~2") == "806704606"
    assert record_of("a-b.c") == "a-b.c"
    assert record_of("schubert-d.911") == "schubert-d.911"


def test_a_number_of_no_record_is_told_as_such(collection: Collection) -> None:
    for number in ("99999999", "99999999-1.1.1", "UNAM-A9999-00-01-S1"):
        with pytest.raises(UnknownRecordError, match=f"^no record with the number {number} is in the collection"):
            collection.identify(number)
    with pytest.raises(UnknownRecordError, match="no record with the number 4848C4X is in the collection"):
        collection.identify("4848C4X")  # as music, it would have a fault
    assert collection.identify("8686CDEF").tried  # a rhythm that is given once
    with pytest.raises(NotationError, match="not music"):
        collection.identify("Sol majeur")


def test_a_record_with_hyphens_in_its_number(tmp_path: Path) -> None:
    ids = ["UNAM-A0563-00-12-S1", "UNAM-A0563-00-12-acomp", "UNAM-A0564-00-01-S1", "MS-7-1.1.1", "MS-7-2-3.1.1"]
    extras = [{}, {}, {}, {}, {"record": "MS-7"}]
    melodies = [load("'4CDEF")[0].with_metadata(id=id, extra=extra) for id, extra in zip(ids, extras, strict=True)]
    with Collection.build(melodies, tmp_path / "x.roslin") as store:
        asked = {
            name: [each.id for each in melodies_of(store, name)] for name in ("UNAM-A0563", ids[0], "MS-7", "UNAM")
        }
        assert asked == {"UNAM-A0563": ids[:2], ids[0]: ids[:1], "MS-7": ids[3:], "UNAM": []}
        assert list(source_named(store, "UNAM-A0563", list)) == ["UNAM-A0563"]
        assert list(source_named(store, "MS-7-2-3.1.1", list)) == ["MS-7"]
        assert [SourceRecord.of(melody).record for melody in store] == [*ids[:3], "MS-7", "MS-7"]
        found = store.identify("MS-7")
        assert not {"MS-7"} & {source.record for each in found.attributions for source in each.sources}


def test_melodies_by_source() -> None:
    melodies = [source(TUNE, id) for id in ("1-1.1.1", "2-1.1.1", "1-1.1.2", "x")]
    unnamed = load(TUNE)[0]
    found = by_source([*melodies, unnamed, unnamed])
    assert {name: len(each) for name, each in found.items()} == {"1": 2, "2": 1, "x": 1, "": 2}


MARC = """<collection><record><controlfield tag="001">990</controlfield>
<datafield tag="100"><subfield code="a">Anonymus</subfield></datafield>
<datafield tag="031"><subfield code="a">1</subfield><subfield code="b">1</subfield><subfield code="c">1</subfield>
<subfield code="g">G-2</subfield><subfield code="o">4/4</subfield>
<subfield code="p">'4C8EG''4C'8bB,A/'4FxG8BD''4E/</subfield></datafield>
<datafield tag="031"><subfield code="a">1</subfield><subfield code="b">2</subfield><subfield code="c">1</subfield>
<subfield code="p">?</subfield></datafield></record></collection>"""


@pytest.mark.parametrize("given", ["text", "bytes", "file"])
def test_a_record_is_read_as_far_as_it_can_be(given: str, tmp_path: Path) -> None:
    (tmp_path / "record.xml").write_text(MARC)
    sources: dict[str, str | bytes | Path] = {"text": MARC, "bytes": MARC.encode(), "file": tmp_path / "record.xml"}
    read = read_source(sources[given])
    assert [(melody.id, melody.composer) for melody in read] == [("990-1.1.1", "Anonymus")]


def test_pasted_lines_are_one_melody_unless_they_have_headers() -> None:
    assert [len(melody) for melody in read_source("'4CDE/\n2.F")] == [4]
    assert [len(melody) for melody in read_source(b"%G-2 '4CDE\n%G-2 '4CD")] == [3, 2]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotationError, match="no notes"):
        read_source("?!")
    with pytest.raises(NotationError, match="no incipit"):
        read_source(MARC.partition("<datafield")[0] + "</record></collection>")
    with pytest.raises(FormatError, match="no such file"):
        read_source(tmp_path / "none.xml")


def test_a_source_without_notes_is_refused(collection: Collection) -> None:
    with pytest.raises(MelodyError, match="the source has no incipit with notes; expected at least one note"):
        identify([], collection)
    silent = load(TUNE)[0]
    with pytest.raises(MelodyError, match="the source has no incipit with notes"):
        identify([replace(silent, notes=silent.notes[:0], barlines_ticks=np.empty(0, np.int64))], collection)
    assert melodies_of(collection, "there is none") == []


def test_progress_is_that_of_all_incipits_and_the_limit_too(collection: Collection) -> None:
    told: list[float] = []
    identify([*load(TUNE), *load(SECOND)], collection, work=Work(progress=lambda done, _: told.append(done)))
    assert told == sorted(told)
    assert max(told) > 0.5
    with pytest.raises(TimeLimitError, match="the search was stopped after"):
        identify(load(TUNE), collection, work=Work(seconds=1e-9))


def test_tables_and_json_say_the_same(collection: Collection, tmp_path: Path) -> None:
    found = identify(load(TUNE), collection)
    rows = found.to_table().records
    assert rows[0]["attribution"] == "Pergolesi, Giovanni Battista"
    assert (rows[0]["sources"], rows[0]["identical"], rows[0]["incipits"]) == (3, 2, 1)
    sources = found.sources_table().records
    assert [row["record"] for row in sources] == [
        source["record"] for each in found.to_dict()["attributions"] for source in each["sources"]
    ]
    assert found.to_dict()["sentence"] == found.to_table().title


@pytest.mark.long
def test_a_collection_identifies(collection: Collection, tmp_path: Path) -> None:
    found = collection.identify(TUNE)
    assert found == identify(load(TUNE), collection) == collection.identify(load(TUNE)[0])
    assert collection.identify("100") == identify(melodies_of(collection, "100"), collection)
    assert collection.identify(melodies_of(collection, "100")) == collection.identify("100")
    (tmp_path / "tune.pae").write_text(TUNE)
    assert collection.identify(tmp_path / "tune.pae").sentence == found.sentence
    few = collection.filter(metadata("composer", "Hasse"))
    assert [each.name for each in collection.identify(TUNE, within=few).attributions] == ["Hasse, Johann Adolf"]
    record = MARC.removeprefix("<collection>").removesuffix("</collection>")
    with pytest.raises(
        ArgumentError, match="a source must be one melody or several, notation or MARCXML as text, or a"
    ):
        collection.identify([TUNE])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="one source is identified at a time; got 2: 990, 991"):
        collection.identify(f"<collection>{record}{record.replace('990', '991')}</collection>")


def test_an_identical_incipit_is_listed_however_many_are_expected_by_chance(tmp_path: Path) -> None:
    figure, longer = "%G-2@4/4 '4CDEFG", "%G-2@4/4 '4CDEFGAGF"
    same = source(figure, "700-1.1.1", "Mozart, Leopold")
    melodies = [*load(tunes_path()), same, source(longer, "800-1.1.1", "Haydn, Michael")]
    with Collection.build(melodies, tmp_path / "figure.roslin") as opened:
        found = identify([*load(figure), *load(UNKNOWN), *load(SECOND), *load(TUNE)], opened)
    by_record = {each.record: each for group in found.attributions for each in group.sources}
    assert by_record["700"].expected > 1
    assert by_record["700"].meaning == "same notes"
    assert "800" not in by_record  # it goes on otherwise
    [mozart] = [each for each in found.attributions if each.name == "Mozart, Leopold"]
    assert (mozart.identical, mozart.close, mozart.meaning) == (1, 1, "same notes")

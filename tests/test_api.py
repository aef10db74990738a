"""The public collection and its selections, as people use them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roslin import ArgumentError, Collection, CollectionError, Melody, NotationError, UnknownNameError, explain, load
from roslin.collection.filters import contains, contour_distance, metadata, note_count, pitch_range, rhythm_distance
from roslin.collection.store import check
from roslin.errors import FormatError, PlaceError, ReadingWarning
from roslin.matchers import DEFAULT_MATCHER
from roslin.represent.edits import EditCosts, edit_distance
from roslin.represent.strings import strings_of
from roslin.run import Run
from roslin.starter import demo_query, tunes_path


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("starter") / "starter.roslin") as collection:
        yield collection


@pytest.fixture
def four(tmp_path: Path) -> Iterator[Collection]:
    with Collection.build(load("'4CDEC\n'4CDEF\n''4GFED\n'4CDEC"), tmp_path / "four.roslin") as collection:
        yield collection


# -- one melody or several --------------------------------------------------------------------------------------------


def test_by_id_by_place_and_in_slices(starter: Collection) -> None:
    ids = starter.ids()
    assert starter[0] == starter[ids[0]] == next(iter(starter))
    assert starter[-1].id == ids[-1]
    assert starter[np.int64(7)].id == ids[7]
    assert [tune.id for tune in starter[:3]] == ids[:3]
    assert [tune.id for tune in starter[-2:]] == ids[-2:]
    assert [tune.id for tune in starter[10:2:-3]] == ids[10:2:-3]
    assert starter[500:] == []
    assert len(starter[:]) == len(starter)


def test_what_is_not_there(starter: Collection, tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="the collection has 243 melodies; there is none at 243"):
        starter[243]
    with pytest.raises(IndexError, match="there is none at -244"):
        starter[-244]
    with pytest.raises(UnknownNameError, match="unknown melody 'roslin'; known: roslin-castle, "):
        starter["roslin"]
    with pytest.raises(ArgumentError, match=r"a melody is chosen by its id, its place or a slice; got 1\.5"):
        starter[1.5]  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"by its id, its place or a slice; got \['a'\]"):
        starter[["a"]]  # type: ignore[call-overload]
    with (
        Collection.build(load("'4C"), tmp_path / "one.roslin") as one,
        pytest.raises(PlaceError, match="has 1 melody;"),
    ):
        one[1]


def test_what_is_in_it(starter: Collection) -> None:
    tune = starter["roslin-castle"]
    assert "roslin-castle" in starter
    assert tune in starter
    assert tune.transposed(1) not in starter
    assert demo_query() not in starter
    assert tune.with_metadata(id=None) not in starter
    assert 0 not in starter  # a place is no id
    assert None not in starter


# -- adding and removing ----------------------------------------------------------------------------------------------


def test_the_object_shows_what_was_added_and_removed(four: Collection, tmp_path: Path) -> None:
    before = four.search("'4CDEC", "dp", k=10).ids
    assert sorted(before) == four.ids()
    assert four.id_ranks.tolist() == [0, 1, 2, 3]
    (tmp_path / "more.pae").write_text("@start:a\n@data:'4CDEC\n@end:a\n@start:b\n@data:nonsense\n@end:b\n")
    report = four.add(tmp_path / "more.pae")
    assert (report.taken, report.refused) == (1, 1)
    assert four.report == report
    assert (len(four), four[-1].id, "a" in four) == (5, "a", True)
    assert four.search("'4CDEC", "dp", k=1).ids == ["a"]  # the first id of those that are equal
    assert four.id_ranks.tolist() == [1, 2, 3, 4, 0]
    assert len(four.packed()) == 5
    assert four.remove("melody-1") == 4
    assert four.remove(["a", "melody-2"]) == 2
    assert sorted(four.ids()) == ["melody-3", "melody-4"]  # the places of removed ones are filled
    assert four.search("'4CDEC", "dp").ids == ["melody-4", "melody-3"]
    assert check(four.path) == []
    with Collection(four.path) as again:
        assert list(again) == list(four)


def test_a_failure_leaves_the_object_as_it_was(four: Collection) -> None:
    with pytest.raises(UnknownNameError, match="unknown melody 'x'"):
        four.remove(["melody-1", "x"])
    assert len(four) == len(list(four)) == 4
    four.add(four[:2])  # there already
    assert four.report is not None
    assert (len(four), four.report.refused) == (4, 2)
    four.add([tune.with_metadata(id=f"copy of {tune.id}") for tune in four])
    assert len(four) == 8


# -- queries ----------------------------------------------------------------------------------------------------------


def test_a_query_is_a_melody_a_text_or_a_file(
    starter: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune = starter["roslin-castle"]
    expected = starter.search(tune, "dp", k=3).ids
    text = tune.to_pae()
    (tmp_path / "tune").write_text(text)
    tune.to_midi(tmp_path / "tune.mid")
    monkeypatch.chdir(tmp_path)
    for query in (text, text.encode(), tmp_path / "tune", str(tmp_path / "tune"), "tune", Path("tune"), "tune.mid"):
        assert starter.search(query, "dp", k=3).ids == expected


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("%G-2 '4CD\n%G-2 '4EF", NotationError, r"several melodies; expected one melody"),
        (b"'4CD\n'4EF\n'4GA", ArgumentError, r"the text holds 3 melodies; a query is one: choose it, as in load\("),
        (tunes_path(), ArgumentError, r"tunes\.jsonl holds 243 melodies; a query is one"),
        ("missing.krn", FormatError, r"missing\.krn: no such file"),
        ("", NotationError, r"no query"),
        ("so lala", NotationError, r"not music"),
        ("roslin-castle", ArgumentError, r"is the id of a melody; .* ask for collection\['roslin-castle'\]"),
        (None, ArgumentError, r"a query must be a melody, notation as text, or a file; got NoneType"),
        ([demo_query()], ArgumentError, r"got list; of a list choose one, as in load\(\.\.\.\)\[0\]"),
        (3, ArgumentError, r"got int"),
    ],
)
def test_what_is_no_query(starter: Collection, query: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        starter.search(query)
    with pytest.raises(error, match=message):
        starter.explain(query, 0)


def test_a_query_that_is_read_otherwise_is_warned_about(starter: Collection) -> None:
    expected = starter.search("''4CDEC", "dp", k=3).ids
    faulty, said = '"4CDEZC', "the query: read '\"' as two octave marks at column 1; left out 'Z'"
    with pytest.warns(ReadingWarning, match=said):
        assert starter.search(faulty, "dp", k=3).ids == expected
    with pytest.warns(ReadingWarning, match=said):
        answer = starter.explain(faulty, 0, "dp")
    with pytest.warns(ReadingWarning, match="read 2 lines as one melody"):
        assert starter.search("''4CD\nEC", "dp", k=3).ids == expected
    assert answer.query.deviations == ["read '\"' as two octave marks at column 1", "left out 'Z' at column 6"]


def test_a_warning_points_at_the_line_that_asks(starter: Collection) -> None:
    everything, faulty = starter.filter(), "''4CDEZC"
    ways: tuple[Callable[[], object], ...] = (
        lambda: starter.search(faulty, "dp", k=1),
        lambda: starter.search(faulty, "p2", k=1, place="start"),
        lambda: everything.search(faulty, "dp", k=1),
        lambda: starter.explain(faulty, 0, "dp"),
        lambda: starter.expected(faulty, "roslin-castle", "dp"),
    )
    for way in ways:
        with pytest.warns(ReadingWarning) as found:
            way()
        assert [(each.filename, each.lineno) for each in found] == [(__file__, way.__code__.co_firstlineno)]


def test_rhythmic_variants_stay_where_rhythm_is_exact(tmp_path: Path) -> None:
    plain, dotted, doubled, part = "'4CDE2F", "'4CDE2.F", "'2CDE1F", "'4DE2F"
    melodies = [load(text)[0] for text in (plain, dotted, doubled, part)]
    with Collection.build(melodies, tmp_path / "variants.roslin") as collection:
        everything = collection.filter()
        loose, exact = everything.without_near_duplicates(), everything.without_near_duplicates(exact_rhythm=True)
        assert [len(everything), len(loose), len(exact)] == [4, 1, 2]
        assert exact.ids == ["melody-1", "melody-2"]
        assert exact.to_table().rows[-1]["step"] == "Identical with another in exact rhythm, or part of it."
        assert exact.summary == (
            "2 of 4 melodies. Without what is identical with another in exact rhythm, or part of it."
        )


def test_explain_takes_an_id_a_place_or_a_melody(starter: Collection) -> None:
    tune = starter["roslin-castle"]
    expected = explain(demo_query(), tune, DEFAULT_MATCHER)
    assert starter.explain(demo_query(), "roslin-castle") == expected  # by the matcher of search
    assert starter.explain(demo_query(), starter.ids().index("roslin-castle")) == expected
    assert starter.explain(demo_query(), tune) == expected
    assert starter.explain(demo_query(), tune, "emd") == explain(demo_query(), tune, "emd") != expected
    text = demo_query().to_pae()
    assert starter.explain(text, tune) == explain(load(text)[0], tune, DEFAULT_MATCHER)
    among = starter.explain(demo_query(), "roslin-castle", "twv")
    (listed,) = (hit for hit in starter.search(demo_query(), "twv", 300) if hit.id == "roslin-castle")
    assert among.distance == pytest.approx(listed.distance, abs=1e-9)
    assert among.candidate == tune
    with pytest.raises(UnknownNameError, match="unknown melody 'nobody'"):
        starter.explain(demo_query(), "nobody")
    with pytest.raises(ArgumentError, match=r"one melody is explained at a time: its id or its place; got slice"):
        starter.explain(demo_query(), slice(3))  # type: ignore[arg-type]


# -- modes ------------------------------------------------------------------------------------------------------------


def test_modes_are_those_of_the_matcher(starter: Collection) -> None:
    query, few = demo_query(), starter.filter(pitch_range(12, 15))
    for modes, name in (
        ({"compare": "melody"}, "roslin(compare=melody)"),
        ({"compare": "rhythm", "place": "whole"}, "roslin(compare=rhythm, place=whole)"),
        ({"key": "written"}, "roslin(key=written)"),
        ({"place": "start"}, "roslin(place=start)"),
    ):
        options: Any = modes
        assert starter.search(query, k=5, **options) == starter.search(query, name, k=5)
        assert few.search(query, k=5, **options) == few.search(query, name, k=5)
    assert starter.search(query, "dp", k=5, place="anywhere").ids == starter.search(query, "dp(place=inside)", k=5).ids
    beginning = starter["roslin-castle"][:6]
    assert starter.search(beginning, "dp", k=1, place="start").ids == ["roslin-castle"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'thread'"):
        starter.search(query, thread=2)  # type: ignore[call-arg]
    with pytest.raises(ArgumentError, match=r"dp cannot compare contours .*; these can: roslin"):
        starter.search(query, "dp", compare="contour")
    with pytest.raises(UnknownNameError, match="unknown place 'middle'; known: anywhere, start, "):
        few.search(query, place="middle")


# -- only some of the melodies ----------------------------------------------------------------------------------------


def test_a_search_is_limited_to_a_mask_numbers_or_ids(four: Collection) -> None:
    import pandas as pd
    import polars as pl

    mask, query = [True, False, False, True], "'4CDEC"
    wanted = ["melody-1", "melody-4"]
    ways: tuple[Any, ...] = (
        mask, np.array(mask), pd.Series(mask), pl.Series(mask),
        [0, 3], (3, 0, 3, 3), np.array([3, 0, 0], dtype=np.uint8), pd.Series([3, 0]), {0, 3}, range(0, 4, 3),
        wanted, ("melody-4", "melody-1", "melody-4"), np.array(wanted), iter(wanted), dict.fromkeys(wanted),
    )  # fmt: skip
    for within in ways:
        assert four.search(query, "dp", within=within).ids == wanted, within
    assert four.search(query, "dp", within="melody-3").ids == ["melody-3"]
    assert four.search(query, within=np.array([3, 0, 0])) == four.search(query, within=np.array([0, 3]))
    nothing: Any
    for nothing in ([], np.array([]), (), np.zeros(4, dtype=bool), iter(())):
        assert four.search(query, "dp", within=nothing).ids == []
    assert four.search(query, "p2", within=mask, place="start").ids == wanted
    assert len(four.identify(query, within=[False] * 4).to_dict()["attributions"]) == 0


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ([True, False], "within: the mask has 2 values, the collection 4 melodies"),
        (np.ones(5, dtype=bool), "within: the mask has 5 values, the collection 4 melodies"),
        (np.zeros(0, dtype=bool), "within: the mask has 0 values, the collection 4 melodies"),
        ([1.5], r"within must be a selection, ids, numbers of melodies .*, or a mask .*; got 1\.5"),
        (np.array([1.0, 2.0]), r"within must be .*; got 1\.0"),
        ([0, -1], "within: there is no melody -1; the collection has 4 melodies, numbered from 0"),
        (np.array([4]), "within: there is no melody 4; the collection has 4 melodies, numbered from 0"),
        ([10**30], "within: there is no melody 10{30};"),
        (["melody-1", "nobody"], "within: unknown melody 'nobody'; known: melody-1, "),
        ("melody", "within: unknown melody 'melody'; known: melody-1, "),
        ([0, True], "within must be .*; got True"),
        ([True, 0, False, False], "within must be .*; got 0"),
        (["melody-1", 0], "within must be .*; got 'melody-1'"),
        ([None], "within must be .*; got None"),
        (1, "within must be .*; got 1"),
        (b"melody-1", "within must be .*; got b'melody-1'"),
        (np.array(1), r"within must be .*; got array\(1\)"),
        (np.array([[0, 1]]), r"within must be .*; got array\(\[\[0, 1\]\]\)"),
    ],
)
def test_what_does_not_limit_a_search_is_refused(four: Collection, within: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        four.search("'4CDEC", "dp", within=within)
    with pytest.raises(ArgumentError, match=message):
        four.identify("'4CDEC", within=within)


def test_one_id_or_several_are_left_out(tmp_path: Path) -> None:
    melodies = [load("'4CDEC")[0].with_metadata(id=id) for id in ("deu", "altdeu10-1", "altdeu10-101", "10")]
    with Collection.build(melodies, tmp_path / "alike.roslin") as collection:

        def left(exclude: Any) -> set[str]:
            return set(collection.search("'4CDEC", "dp", exclude=exclude).ids)

        assert left("altdeu10-101") == {"deu", "altdeu10-1", "10"}
        for several in (
            ["deu", "10"],
            ("10", "deu", "deu"),
            {"deu", "10"},
            iter(["deu", "10"]),
            np.array(["deu", "10"]),
        ):
            assert left(several) == {"altdeu10-1", "altdeu10-101"}
        assert left(collection.filter()) == set()
        assert left("nobody") == left(["nobody", "else"]) == left(()) == set(collection.ids())
        for wrong, shown in (([0], "0"), (3, "3"), (None, "None"), ([None], "None"), (b"deu", "b'deu'")):
            with pytest.raises(ArgumentError, match=f"exclude must be ids of melodies, each a text; got {shown}"):
                left(wrong)


# -- results elsewhere ------------------------------------------------------------------------------------------------


def test_a_run_outlives_its_collection(tmp_path: Path) -> None:
    with Collection.build(tunes_path(), tmp_path / "starter.roslin") as collection:
        run = collection.search(demo_query(), "dp", k=3)
        table = run.to_table()
    came = pickle.loads(pickle.dumps(run))
    assert came == run
    for each in (run, came, came[:3], came.named("dp")):
        assert each.to_table() == table
        assert each[0].title == "Roslin Castle (The House of Glamis)"
    assert [hit.title for hit in came.matches] == [hit.title for hit in run.matches]


def test_a_closed_collection_says_so(tmp_path: Path) -> None:
    collection = Collection.build(load("'4CDEC\n'4CDEF"), tmp_path / "two.roslin")
    everything, melody = collection.filter(), collection[0]
    collection.close()
    collection.close()
    for use in (
        lambda: collection["melody-1"],
        lambda: collection[0],
        lambda: list(collection),
        lambda: "melody-1" in collection,
        lambda: melody in collection,
        lambda: collection.ids(),
        lambda: collection.report,
        lambda: collection.search("'4CDEC", "dp"),
        lambda: collection.search("'4CDEC", "dp", place="start"),
        lambda: collection.explain("'4CDEC", 0),
        lambda: collection.expected("'4CDEC", "melody-1"),
        lambda: collection.identify("'4CDEC"),
        lambda: collection.filter(pitch_range(0, 12)),
        lambda: collection.add(load("'4E")),
        lambda: collection.remove("melody-1"),
        lambda: collection.to_table(),
        lambda: collection.to_frame(),
        lambda: everything.ids,
        lambda: everything.search("'4CDEC", "dp"),
    ):
        with pytest.raises(CollectionError, match=r"two\.roslin: the collection is closed; open it again"):
            use()
    assert len(collection) == 2
    with Collection(collection.path) as again:
        assert again.ids() == ["melody-1", "melody-2"]


# -- selections -------------------------------------------------------------------------------------------------------


def test_a_selection_is_a_sequence_of_its_melodies(starter: Collection) -> None:
    selection = starter.filter(pitch_range(12, 15), contains("fifth up"))
    ids = selection.ids
    assert 3 < len(selection) < 243
    assert [tune.id for tune in selection] == ids
    assert (selection[0].id, selection[-1].id, selection[ids[1]].id) == (ids[0], ids[-1], ids[1])
    assert [tune.id for tune in selection[1:3]] == ids[1:3]
    assert ids[0] in selection
    assert selection[0] in selection
    other = next(id for id in starter.ids() if id not in ids)
    assert other not in selection
    assert "nobody" not in selection
    with pytest.raises(UnknownNameError, match=rf"unknown melody of the selection '{other}'; known: {ids[0]}, "):
        selection[other]
    with pytest.raises(PlaceError, match=rf"the selection has {len(ids)} melodies; there is none at {len(ids)}"):
        selection[len(ids)]
    with pytest.raises(ArgumentError, match="by its id, its place or a slice; got None"):
        selection[None]  # type: ignore[call-overload]


def test_a_selection_is_searched(starter: Collection) -> None:
    selection = starter.filter(pitch_range(12, 15))
    run = selection.search(demo_query().to_pae(), "dp", k=5, exclude=("roslin-castle",))
    expected = starter.search(demo_query(), "dp", k=243, exclude=("roslin-castle",)).ids
    assert run.ids == [id for id in expected if id in selection][:5]
    assert (
        starter.search(demo_query(), "dp", k=5, within=selection).ids == selection.search(demo_query(), "dp", k=5).ids
    )


def test_a_selection_says_its_steps(starter: Collection) -> None:
    selection = starter.filter(pitch_range(12, 15))
    assert repr(selection) == f"Selection('starter.roslin', {len(selection)} of 243 melodies)"
    lines = str(selection).splitlines()
    assert lines[0].split() == ["removed", "percent", "left", "step"]
    assert lines[1].split(maxsplit=3) == ["0", "0.0", "243", "All melodies."]
    assert lines[2].endswith("Pitch range between an octave and a minor tenth (12 to 15 semitones).")
    unique = selection.without_near_duplicates()
    assert str(unique).splitlines()[-1].split(maxsplit=3)[2:] == [
        str(len(unique)),
        "Identical with another, or part of it.",
    ]
    page = unique._repr_html_()
    assert f"<caption>{len(unique)} of 243 melodies</caption>" in page
    assert f">{unique.to_table().rows[1]['percent']:.1f}<" in page
    alone = starter.filter(contains("fifth up, octave down, seventh up")).without_near_duplicates()
    assert str(alone).splitlines()[-1].split()[0] == "0"  # looked for, and none found


def test_a_selection_of_another_state_is_refused(four: Collection, starter: Collection) -> None:
    selection = four.filter(pitch_range(4, 7))
    assert len(selection) == 4
    with pytest.raises(CollectionError, match=r"the selection cannot be used: it is not of .*starter\.roslin; filter"):
        starter.search("'4CDEC", "dp", within=selection)
    with Collection(four.path) as again:  # the same state
        assert len(again.search("'4CDEC", "dp", within=selection)) == 4
    four.remove("melody-1")
    for use in (
        lambda: selection.ids,
        lambda: selection.search("'4CDEC", "dp"),
        lambda: selection[0],
        lambda: list(selection),
        lambda: selection.without_near_duplicates(),
    ):
        with pytest.raises(CollectionError, match="the collection has changed since; filter again"):
            use()


# -- tables -----------------------------------------------------------------------------------------------------------


def test_a_collection_shows_its_first_melodies(starter: Collection, tmp_path: Path) -> None:
    table = starter.to_table()
    assert table.title == f"starter.roslin: 243 melodies, {len(starter.packed().notes):,} notes, 1 source"
    assert [row["id"] for row in table.rows] == starter.ids()[:5]
    assert table.rows[0]["notes"] == len(starter[0])
    page = starter._repr_html_()
    assert "Roslin Castle (The House of Glamis)" in page
    assert page.count("<tr>") == 6
    with Collection.build([Melody.from_notes([0], [1], [60], id="<b>")], tmp_path / "x.roslin") as odd:
        assert "<b>" not in odd._repr_html_()
        assert "&lt;b&gt;" in odd._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_collections_and_selections_are_frames_of_their_melodies(starter: Collection, library: Any) -> None:
    frame = starter.to_frame(library)
    assert list(frame["id"]) == starter.ids()
    assert [*frame.columns][:4] == ["id", "title", "composer", "voice"]
    assert [*frame.columns][-4:] == ["note_count", "pitch_range", "max_interval", "duration_ratio"]
    narrow = frame["pitch_range"] <= 9
    selection = starter.filter(pitch_range(0, 9))
    assert list(frame.filter(narrow)["id"] if library == "polars" else frame[narrow]["id"]) == selection.ids
    assert starter.search(demo_query(), "dp", 5, within=narrow) == selection.search(demo_query(), "dp", 5)
    assert list(selection.to_frame(library)["title"]) == [melody.title for melody in selection]
    assert len(starter.filter(note_count(high=0)).to_frame(library)) == 0


def test_other_ways_add_to_what_the_filters_left(starter: Collection) -> None:
    query = starter["roslin-castle"]
    short = starter.filter(note_count(high=8))
    found = starter.search(query, "dp", k=4)
    wider = short.also(metadata("title", "Roslin"), found)
    assert set(wider.ids) == {*short.ids, *found.ids, *(id for id in starter.ids() if id.startswith("roslin-castle"))}
    assert wider.numbers.tolist() == sorted(wider.numbers.tolist())
    assert len(wider) == len(wider.ids) == len(set(wider.ids))
    assert [way.sentence for way in wider.report.additions] == ['Title contains "Roslin".', "Found by dp."]
    titled, by_search = wider.report.additions
    assert (titled.added, titled.left) == (7, len(short) + 7)
    assert (len(by_search.numbers), by_search.left) == (4, len(wider))
    assert str(wider.report).splitlines()[-1].startswith("Found by dp. Found 4, added ")
    why = {row["id"]: row["why"] for row in wider.candidates.rows}
    assert why["roslin-castle"] == 'Title contains "Roslin". Found by dp.'
    assert {why[id] for id in short.ids} == {"Passed the filters."}
    assert wider.to_table().columns == ("removed", "percent", "added", "left", "step")
    assert short.to_table().columns == ("removed", "percent", "left", "step")
    assert short.also().report.numbers.tolist() == short.numbers.tolist()
    with pytest.raises(ArgumentError, match="a way to add melodies must be a filter or a run; got str"):
        short.also("title=Roslin")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown melody 'nobody'"):
        short.also(Run({"q": ["nobody"]}))


def test_what_is_added_is_thinned_out_too(starter: Collection) -> None:
    """Copies of the added melodies go, whichever comes first: adding or thinning out."""
    ways = (metadata("title", "Roslin"), starter.search(starter["roslin-castle"], "dp", k=6))
    first = starter.filter(note_count(high=8)).also(*ways).without_near_duplicates()
    then = starter.filter(note_count(high=8)).without_near_duplicates().also(*ways)
    assert first.ids == then.ids
    assert "roslin-castle-2" not in first  # a transposition


def test_candidates_have_their_costs_also_those_that_did_not_pass(starter: Collection) -> None:
    query, costs = starter["roslin-castle"], EditCosts(0.5, 1, 1.5, (("UD", 2),))
    near = starter.filter(contour_distance(query, 6, costs), rhythm_distance(query, 9), contour_distance("UDU", 99))
    table = near.also(metadata("title", "Roslin")).candidates
    assert table.columns == ("id", "title", "composer", "contour cost", "rhythm cost", "contour cost 2", "why")
    assert any(row["contour cost"] > 6 for row in table.rows)
    for row in table.rows:
        contour, rhythm = strings_of(starter[row["id"]]).contour, strings_of(starter[row["id"]]).rhythm
        assert row["contour cost"] == edit_distance(strings_of(query).contour, contour, costs)
        assert row["rhythm cost"] == edit_distance(strings_of(query).rhythm, rhythm)
        assert row["contour cost 2"] == edit_distance("UDU", contour)
    assert starter.filter(note_count(high=0)).candidates.rows == ()


def test_how_sure_one_melody_is(starter: Collection) -> None:
    """The same as in the list, where that can be told for one melody alone."""
    query = starter["greensleeves"]
    for name in ("roslin", "dp", "alignment"):
        (listed,) = [hit.expected for hit in starter.search(query, name) if hit.id == "greensleeves-6"]
        assert starter.expected(query, "greensleeves-6", name) == pytest.approx(listed)
    assert starter.expected(query, "greensleeves-6", "orio") is None


def test_beginnings_of_a_selection(starter: Collection) -> None:
    few = starter.filter(pitch_range(0, 9))
    run = starter.search("'4CDECCDEC", "dp", 3, place="start", within=few)
    assert set(run.ids) < set(few.ids)
    assert len(run) == 3
    assert not run.has_meaning  # chance was never measured for this matcher

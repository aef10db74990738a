"""Filters, chains of filters and near-duplicates."""

from __future__ import annotations

import random
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.collection import filters as f
from roslin.collection.filters import FILTERS, Filter, apply_filters, remove_near_duplicates
from roslin.collection.folding import folded_metadata
from roslin.errors import CollectionError, FilterError, UnknownNameError
from roslin.melody import Melody
from roslin.represent.edits import EditCosts, edit_distance
from roslin.represent.strings import Description, describe

SCHEMA = (files("roslin.collection") / "schema.sql").read_text("utf-8")
WHITE_COCKADE = (
    f.pitch_range(12, 15),
    f.max_interval("minor sixth", "diminished seventh"),
    f.duration_ratio(None, 0.51),
    f.contains("fifth up, third down, unison, sixth up", "third up, unison, unison, sixth up"),
)


def tune(pitches: Sequence[int], durations: Sequence[int] | None = None, **metadata: Any) -> Melody:
    durations = durations or [1] * len(pitches)
    onsets = np.concatenate([[0], np.cumsum(durations)])[: len(pitches)]
    return Melody.from_notes(onsets.tolist(), durations, pitches, **metadata)


def fill(connection: sqlite3.Connection, melodies: Iterable[Melody]) -> list[Description]:
    """Put melodies into the tables as a build does."""
    connection.executescript(SCHEMA)
    described = []
    for number, melody in enumerate(melodies):
        about = describe(melody)
        described.append(about)
        names = ("title", "composer", "voice", "key", "metre", "text", "source")
        values = [getattr(melody, name) for name in names]
        connection.execute(
            f"INSERT INTO melodies (number, id, {', '.join(names)}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
            (number, f"m{number}", *values),
        )
        connection.execute(f"INSERT INTO folded VALUES ({', '.join('?' * 11)})", (number, *folded_metadata(melody)))
        connection.execute("INSERT INTO features VALUES (?, ?, ?, ?, ?)", (number, *about[:4]))
        connection.execute("INSERT INTO strings VALUES (?, ?, ?, ?, ?)", (number, *about[4:8]))
        rows = [(number, motive, times) for motive, times in about.motives.items()]
        connection.executemany("INSERT INTO motives VALUES (?, ?, ?)", rows)
    connection.execute(
        "INSERT INTO interval_index (rowid, chromatic, diatonic) SELECT number, chromatic, diatonic FROM strings"
    )
    connection.commit()
    return described


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


def kept(connection: sqlite3.Connection, *filters: Filter) -> list[int]:
    return list(apply_filters(connection, filters).numbers.tolist())


# The paper's example -------------------------------------------------------------------------------------------------


def test_the_white_cockade_chain(database: sqlite3.Connection) -> None:
    long_short = [2, 1, 1, 1, 1, 2]
    fill(
        database,
        [
            tune([60, 67, 64, 64, 72, 71], long_short),  # all conditions, first sequence
            tune([64, 67, 67, 67, 76, 77], [2, 1, 1, 1, 1, 1]),  # range 13, largest interval 9, second sequence
            tune([60, 67, 64, 64, 72, 76], long_short),  # range 16
            tune([60, 67, 64, 64, 69, 71], long_short),  # range 11
            tune([60, 72, 64, 64, 72, 71], long_short),  # largest interval 12
            tune([60, 67, 64, 64, 72, 71]),  # all notes equally long
            tune([60, 65, 64, 64, 72, 71], long_short),  # another sequence of intervals
            tune([60]),
            tune([]),
        ],
    )
    report = apply_filters(database, WHITE_COCKADE)
    assert report.numbers.tolist() == [0, 1]
    assert report.numbers.dtype == np.int64
    assert [(step.removed, step.left) for step in report.steps] == [(4, 5), (1, 4), (1, 3), (1, 2)]
    assert str(report) == "\n".join(
        [
            "9 melodies.",
            "Pitch range between an octave and a minor tenth (12 to 15 semitones). Removed 4 (44%), 5 left.",
            "Largest interval between a minor sixth and a major sixth (8 to 9 semitones). Removed 1 (20%), 4 left.",
            "Duration ratio at most 0.51 (shortest note to longest note). Removed 1 (25%), 3 left.",
            'Contains "fifth up, third down, unison, sixth up" or "third up, unison, unison, sixth up". '
            "Removed 1 (33%), 2 left.",
        ]
    )


def test_the_repeated_notes_of_the_paper(database: sqlite3.Connection) -> None:
    # "all incipits with at least three repeated notes in two different places"
    fill(
        database,
        [
            tune([60, 60, 60, 62, 64, 64, 64]),
            tune([60, 60, 60, 60, 60, 60]),  # five unisons: two places that do not overlap
            tune([60, 60, 60, 62, 64, 64, 65]),
            tune([60, 60, 60, 62, 64, 64, 64, 62, 62, 62]),
        ],
    )
    assert kept(database, f.repeats_motive("unison, unison")) == [0, 1, 3]
    assert kept(database, f.contains("unison, unison", times=2)) == [0, 1, 3]
    assert kept(database, f.contains("unison, unison", times=3)) == [3]
    assert kept(database, f.contains("1 1 1 1", "1 1", times=2)) == [0, 1, 3]
    assert kept(database, f.contains("1 1 1 1", times=2)) == []


def test_many_thirds(database: sqlite3.Connection) -> None:
    fill(database, [tune([60, 64, 60, 62, 64]), tune([60, 64, 67]), tune([60, 62, 64]), tune([60])])
    assert kept(database, f.share_of_interval("third", 0.5)) == [0, 1]
    assert kept(database, f.share_of_interval("third up", 0.5)) == [1]
    assert kept(database, f.share_of_interval("third", None, 0.5)) == [0, 2]
    assert kept(database, f.share_of_interval("major third up", 0.5, 0.5, kind="chromatic")) == [1]


# Each filter against plain Python ------------------------------------------------------------------------------------


def random_tunes(count: int, seed: int) -> list[Melody]:
    dice = random.Random(seed)
    dates = ("ca. 1740", "1799", "1800", "1900", "n.d.")
    titles = ("Roslin Castle", "100% wool", "a_b", 'O\'Hara "x"', None)
    tunes = []
    for _ in range(count):
        size = dice.choice([0, 1, 2, 5, 8, 8, 12, 12, 20])
        pitches = [60]
        while len(pitches) < size:
            pitches.append(min(90, max(40, pitches[-1] + dice.choice([-8, -4, -3, -2, 0, 0, 0, 2, 4, 7, 9]))))
        durations = [dice.choice([1, 1, 2, 4]) for _ in range(size)]
        about = {"title": dice.choice(titles), "key": dice.choice(["G", "g"])}
        tunes.append(tune(pitches[:size], durations, **about, extra={"date": dice.choice(dates)}))
    return tunes


Test = Callable[[Melody, Description], bool]
COSTS = EditCosts(insertion=0.1, deletion=0.5, replacement=0.3, pairs=(("UD", 2.0), ("DU", 2.0)))
CASES: list[tuple[Filter, Test]] = [
    (f.pitch_range(7, 15), lambda _, d: d.pitch_range is not None and 7 <= d.pitch_range <= 15),
    (f.pitch_range(5), lambda _, d: d.pitch_range is not None and d.pitch_range >= 5),
    (f.pitch_range(1, 60), lambda _, d: d.pitch_range is not None and 1 <= d.pitch_range <= 60),
    (f.max_interval(high=8), lambda _, d: d.max_interval is not None and d.max_interval <= 8),
    (f.max_interval(7, 7), lambda _, d: d.max_interval == 7),
    (f.duration_ratio(0.25, 0.5), lambda _, d: d.duration_ratio is not None and 0.25 <= d.duration_ratio <= 0.5),
    (f.note_count(5, 12), lambda _, d: 5 <= d.note_count <= 12),
    (f.contains("third up, third down"), lambda _, d: "Cc" in d.diatonic),
    (f.contains("1 1", "+5 1 1"), lambda _, d: "==" in d.diatonic or "E==" in d.diatonic),
    (f.contains("+4 -4 0", "0 0 0", kind="chromatic"), lambda _, d: "Dd=" in d.chromatic or "===" in d.chromatic),
    (f.contains("1 1 1", times=2), lambda _, d: d.diatonic.count("===") >= 2),
    (f.share_of_interval("unison", 0.3), lambda _, d: d.diatonic.count("=") >= 0.3 * len(d.diatonic) > 0),
    (f.contour_distance("UURD", 4), lambda _, d: edit_distance("UURD", d.contour) <= 4),
    (f.contour_distance("UURD", 0.3, COSTS), lambda _, d: edit_distance("UURD", d.contour, COSTS) <= 0.3 + 1e-9),
    (f.contour_distance("", 1), lambda _, d: len(d.contour) <= 1),
    (f.rhythm_distance("LS==", 3), lambda _, d: edit_distance("LS==", d.rhythm) <= 3),
    (f.rhythm_distance("L", 0, EditCosts(insertion=0)), lambda _, d: "L" in d.rhythm),
    (f.repeats_motive("0 0", 2), lambda _, d: any("==" in m and n >= 2 for m, n in d.motives.items())),
    (f.pattern("up .{2,3} down$"), lambda _, d: re.search("[A-Z].{2,3}[a-z]$", d.chromatic) is not None),
    (f.metadata("title", "roslin"), lambda m, _: m.title == "Roslin Castle"),
    (f.metadata("title", "%"), lambda m, _: m.title == "100% wool"),
    (f.metadata("title", "_"), lambda m, _: m.title == "a_b"),
    (f.metadata("title", "'Hara \""), lambda m, _: m.title == 'O\'Hara "x"'),
    (f.metadata("key", "G", exactly=True), lambda m, _: m.key == "G"),
    (f.one_of("title", "ROSLIN CASTLE", "a_b"), lambda m, _: m.title in ("Roslin Castle", "a_b")),
    (f.one_of("century", "18", "20"), lambda m, _: m.extra.get("date") in ("ca. 1740", "1799", "1900")),
]


@pytest.fixture(scope="module")
def many() -> Iterator[tuple[sqlite3.Connection, list[tuple[Melody, Description]]]]:
    melodies = random_tunes(400, seed=7)
    connection = sqlite3.connect(":memory:")
    yield connection, list(zip(melodies, fill(connection, melodies), strict=True))
    connection.close()


Many = tuple[sqlite3.Connection, list[tuple[Melody, Description]]]


@pytest.mark.parametrize(("filter", "test"), CASES, ids=[repr(case[0]) for case in CASES])
def test_a_filter_keeps_what_plain_python_keeps(many: Many, filter: Filter, test: Test) -> None:
    connection, rows = many
    expected = [number for number, row in enumerate(rows) if test(*row)]
    assert 0 < len(expected) < len(rows)
    assert kept(connection, filter) == expected


@given(st.lists(st.sampled_from(CASES), max_size=5))
@settings(max_examples=60)
def test_chains_count_as_plain_python_counts(many: Many, cases: list[tuple[Filter, Test]]) -> None:
    connection, rows = many
    left = list(range(len(rows)))
    expected = []
    for _, test in cases:
        before, left = len(left), [number for number in left if test(*rows[number])]
        expected.append((before - len(left), len(left)))
    report = apply_filters(connection, [chosen for chosen, _ in cases])
    assert [(step.removed, step.left) for step in report.steps] == expected
    assert report.numbers.tolist() == left
    assert report.total == len(rows)


def test_every_filter_is_tested() -> None:
    assert {repr(chosen).partition("(")[0] for chosen, _ in CASES} == set(FILTERS)


def test_the_how_to_names_every_filter_and_field() -> None:
    text = (Path(__file__).parents[2] / "docs" / "howto" / "filters.md").read_text("utf-8")
    assert [name for name in FILTERS if f"| `{name}(" not in text] == []
    assert [field for field in f.FIELDS if field not in text] == []


def test_the_name_of_a_filter_makes_it_again() -> None:
    for chosen, _ in CASES:
        assert eval(repr(chosen), {**FILTERS, "EditCosts": EditCosts}) == chosen


def test_melodies_can_be_queries(many: Many) -> None:
    connection, _ = many
    query = tune([60, 64, 67, 67, 60], [1, 2, 1, 1, 1])
    assert f.contour_distance(query, 2) == f.contour_distance("UURD", 2) == f.contour_distance(" *uurd", 2)
    assert f.rhythm_distance(query, 2) == f.rhythm_distance("LS==", 2)
    assert kept(connection, f.contour_distance(query, 4)) == kept(connection, f.contour_distance("UURD", 4))


# Chains --------------------------------------------------------------------------------------------------------------


def test_no_filters_keep_everything(many: Many) -> None:
    report = apply_filters(many[0], [])
    assert report.numbers.tolist() == list(range(400))
    assert str(report) == "400 melodies."


def test_filters_on_an_empty_collection(database: sqlite3.Connection) -> None:
    fill(database, [])
    report = apply_filters(database, WHITE_COCKADE)
    assert report.numbers.tolist() == []
    assert [(step.removed, step.left, step.percent_removed) for step in report.steps] == [(0, 0, 0.0)] * 4


def test_percentages_never_round_to_all_or_nothing() -> None:
    step = f.note_count(1)
    assert str(f.FilterStep(step, 999, 1)) == "Number of notes at least 1. Removed 999 (over 99%), 1 left."
    assert str(f.FilterStep(step, 1, 999)).endswith("Removed 1 (under 1%), 999 left.")
    assert str(f.FilterStep(step, 5, 0)).endswith("Removed 5 (100%), 0 left.")
    assert str(f.FilterStep(step, 0, 5)).endswith("Removed 0 (0%), 5 left.")
    assert f.FilterStep(step, 1, 3).percent_removed == 25


@pytest.mark.parametrize("mode", ["mode=ro", "immutable=1"])
def test_a_read_only_connection_is_enough(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "collection.sqlite"
    writer = sqlite3.connect(path)
    fill(writer, random_tunes(50, seed=3))
    writer.close()
    before = path.read_bytes()
    reader = sqlite3.connect(f"file:{path}?{mode}", uri=True)
    every = [chosen for chosen, _ in CASES]
    for chosen in every:
        apply_filters(reader, [chosen, every[0]])
    remove_near_duplicates(reader, range(50))
    assert not reader.in_transaction
    reader.close()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_filtering_while_somebody_reads(many: Many) -> None:
    connection, _ = many
    expected = kept(connection, f.contour_distance("UURD", 4))
    reading = connection.execute("SELECT number FROM melodies")
    reading.fetchone()
    assert kept(connection, f.contour_distance("UURD", 4)) == expected
    reading.close()


def test_a_damaged_collection_is_refused(database: sqlite3.Connection) -> None:
    with pytest.raises(CollectionError, match="the collection cannot be filtered: no such table: features"):
        apply_filters(database, [])


@pytest.mark.parametrize("attack", ["'; DROP TABLE melodies; --", '" OR 1=1 --', "%' OR '1'='1", "\\", "a\\%b", "\\_"])
def test_metadata_is_data(database: sqlite3.Connection, attack: str) -> None:
    fill(database, [tune([60, 62], title="plain"), tune([60, 62], title=f"x{attack}y"), tune([60, 62])])
    assert kept(database, f.metadata("title", attack)) == [1]
    assert kept(database, f.metadata("title", f"x{attack}y", exactly=True)) == [1]
    assert database.execute("SELECT count(*) FROM melodies").fetchone() == (3,)


GRETRY = "Grétry, André-Ernest-Modeste"


@pytest.mark.parametrize("sought", ["gretry", "GRÉTRY", "Grétry", "Gre\N{COMBINING ACUTE ACCENT}try", "andre-ernest"])
def test_accents_case_and_forms_make_no_difference(database: sqlite3.Connection, sought: str) -> None:
    names = [GRETRY, unicodedata.normalize("NFD", GRETRY), GRETRY.upper(), "Gretry, Andre-Ernest", "Gluck", None]
    fill(database, [tune([60, 62], composer=name, title="x") for name in names])
    assert kept(database, f.metadata("composer", sought)) == [0, 1, 2, 3]
    assert kept(database, *f.words(sought)) == [0, 1, 2, 3]
    assert kept(database, f.metadata("composer", GRETRY.lower(), exactly=True)) == [0, 1, 2]


def test_a_key_is_a_key_however_it_is_written(database: sqlite3.Connection) -> None:
    names = ["g", "G minor", "g-Moll", "Sol mineur", "G", "G major", "Bb", "B|b", "bB", "B-Dur", "2e mode", None]
    fill(database, [tune([60, 62], key=name) for name in names])
    for sought in ("g", "G minor", "g minor", "G MINOR", "g-Moll", "Gm"):
        assert kept(database, f.metadata("key", sought)) == [0, 1, 2, 3]
    for sought in ("G", "G major", "g major", "G-Dur"):
        assert kept(database, f.metadata("key", sought)) == [4, 5]
    assert kept(database, f.metadata("key", "B flat major", exactly=True)) == [6, 7, 8, 9]
    assert kept(database, f.metadata("key", "minor")) == [0, 1, 2, 3]
    assert kept(database, f.metadata("key", "mode")) == [10]
    assert str(f.metadata("key", "Bb")) == "Key is B flat major."


def test_what_folds_to_nothing_is_no_filter() -> None:
    with pytest.raises(FilterError, match="title: must be text with letters or signs; got"):
        f.metadata("title", "\N{COMBINING ACUTE ACCENT}")


@pytest.mark.parametrize("attack", ['"Ec=F" OR "', "Ec=F*", "chromatic : Gc", "NEAR(a b)", "fifth up' OR 1=1"])
def test_patterns_are_intervals_or_refused(attack: str) -> None:
    with pytest.raises(FilterError, match=r"column [0-9]+: expected an interval such as"):
        f.contains(attack)


def test_letters_keep_their_case(database: sqlite3.Connection) -> None:
    fill(database, [tune([60, 62, 64, 65]), tune([65, 64, 62, 60])])
    assert kept(database, f.contains("+2 +2 +2")) == [0]
    assert kept(database, f.contains("-2 -2 -2")) == [1]
    assert kept(database, f.contains("+2")) == [0]
    assert kept(database, f.share_of_interval("second down", 0.1)) == [1]


# Sentences -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "sentence"),
    [
        (f.pitch_range(12), "Pitch range at least an octave (12 semitones)."),
        (f.pitch_range(high=1), "Pitch range at most a minor second (1 semitone)."),
        (f.max_interval(18, 18), "Largest interval exactly an augmented eleventh (18 semitones)."),
        (f.note_count(5, 8), "Number of notes between 5 and 8."),
        (f.contains("0 0", kind="chromatic", times=2), 'Contains "unison, unison" in at least 2 places.'),
        (f.share_of_interval("+3", 0.5), 'Share of "third up" among the intervals at least 0.5.'),
        (
            f.rhythm_distance("", 2, EditCosts(2)),
            "Rhythm at an editing distance of at most 2 from nothing (insertion 2, deletion 1, replacement 1).",
        ),
        (f.metadata("metre", "3/4", exactly=True), 'Metre is "3/4".'),
    ],
)
def test_sentences(filter: Filter, sentence: str) -> None:
    assert filter.sentence == str(filter) == sentence


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: f.pitch_range(), "pitch_range: needs a lowest or a highest value; got neither"),
        (lambda: f.pitch_range(-1), "pitch_range: the lowest value must be a whole number from 0 to 127; got -1"),
        (lambda: f.pitch_range(1.5), "must be a whole number from 0 to 127; got 1.5"),
        (lambda: f.pitch_range(True), "must be a whole number from 0 to 127; got True"),
        (lambda: f.pitch_range(15, 12), "the lowest value must not be above the highest; got 15 and 12"),
        (lambda: f.pitch_range("wide"), "column 1: expected an interval such as .*; found 'wide'"),
        (lambda: f.max_interval(high=999), "max_interval: the highest value must be .* from 0 to 127; got 999"),
        (lambda: f.duration_ratio(high=1.5), "duration_ratio: the highest value must be a number from 0 to 1; got 1.5"),
        (lambda: f.duration_ratio(float("nan")), "must be a number from 0 to 1; got nan"),
        (lambda: f.duration_ratio("half"), "must be a number from 0 to 1; got 'half'"),
        (lambda: f.note_count(high=float("inf")), "must be a whole number from 0 to 1000000000; got inf"),
        (lambda: f.contains(), "contains: needs at least one sequence of intervals; got none"),
        (lambda: f.contains("unison", times=0), "contains: times must be a whole number, at least 1; got 0"),
        (
            lambda: f.repeats_motive("unison", True),
            "repeats_motive: times must be a whole number, at least 2; got True",
        ),
        (lambda: f.share_of_interval("third"), "share_of_interval: needs a lowest or a highest value; got neither"),
        (lambda: f.contour_distance("UX", 1), "contour_distance: column 2: expected one of U, D, R; found 'X'"),
        (lambda: f.rhythm_distance("U", 1), "rhythm_distance: column 1: expected one of L, S, =; found 'U'"),
        (lambda: f.contour_distance("U", -1), "the distance must be a finite number, at least 0; got -1"),
        (lambda: f.contour_distance("U", float("nan")), "the distance must be a finite number, at least 0; got nan"),
        (lambda: f.contour_distance("U", "1"), "the distance must be a finite number, at least 0; got '1'"),  # type: ignore[arg-type]
        (lambda: f.metadata("title", ""), "title: must be text that is not empty; got ''"),
        (lambda: f.metadata("title", "a\0b"), "title: must be text that is not empty; got 'a.x00b'"),
        (lambda: f.metadata("title", "\ud800"), "title: must be text that is not empty; got"),
        (lambda: f.parse_range(" .. "), r"range must be LOW..HIGH, LOW.., ..HIGH or one value; got ' .. '"),
    ],
)
def test_bad_values_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(FilterError, match=message):
        make()


def test_an_unknown_field_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown field 'id; --'; known: composer, date, key, library, metre"):
        f.metadata("id; --", "x")


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("12..15", (12, 15)), ("8..", (8, None)), ("..0.51", (None, 0.51)), ("7", (7, 7)), (".5 .. 1.0", (0.5, 1.0))],
)
def test_ranges_as_people_type_them(text: str, bounds: tuple[float | None, float | None]) -> None:
    assert f.parse_range(text) == bounds


# Near-duplicates -----------------------------------------------------------------------------------------------------

LONG = [60, 62, 64, 65, 67, 60, 72]


def removed(connection: sqlite3.Connection, **options: Any) -> list[tuple[int, int, str]]:
    (total,) = connection.execute("SELECT count(*) FROM features").fetchone()
    kept_numbers, gone = remove_near_duplicates(connection, range(total), **options)
    assert sorted([*kept_numbers.tolist(), *(row.number for row in gone)]) == list(range(total))
    assert {row.because_of for row in gone} <= set(kept_numbers.tolist())
    return [(row.number, row.because_of, row.reason) for row in gone]


def test_identical_and_contained_incipits_go(database: sqlite3.Connection) -> None:
    fill(
        database,
        [
            tune(LONG),
            tune([pitch + 5 for pitch in LONG]),  # a transposition is identical
            tune(LONG, [2] * 7),  # so is another unit of notation
            tune(LONG, [1, 1, 2, 1, 1, 1, 1]),  # another rhythm is not
            tune(LONG[:3]),  # the beginning
            tune(LONG[2:]),  # the end
            tune([60, 62]),
            tune([60, 66]),  # a step that nobody has
            tune([60]),
            tune([61]),
            tune([]),
        ],
    )
    assert removed(database) == [
        (1, 0, "identical"),
        (2, 0, "identical"),
        (4, 0, "contained"),
        (5, 0, "contained"),
        (6, 0, "contained"),
    ]


def test_a_part_points_to_the_longest_that_is_kept(database: sqlite3.Connection) -> None:
    fill(database, [tune(LONG[:4]), tune(LONG[:5]), tune(LONG), tune(LONG[:4])])
    assert removed(database) == [(0, 2, "contained"), (1, 2, "contained"), (3, 2, "contained")]


def test_exact_rhythm_can_be_demanded(database: sqlite3.Connection) -> None:
    rhythms = ([2, 1, 1, 1], [3, 1, 1, 1], [4, 2, 2, 2], [1, 1, 1], [5, 1, 1, 2, 1, 1, 1])
    pitches = ([60, 62, 64, 66], [60, 62, 64, 66], [60, 62, 64, 66], [60, 62, 64], [60, 62, 64, 66, 68, 70, 72])
    fill(database, [tune(p, r) for p, r in zip(pitches, rhythms, strict=True)])
    loose = [(0, 4, "contained"), (1, 4, "contained"), (2, 4, "contained"), (3, 4, "contained")]
    assert removed(database) == loose
    exact = removed(database, durations=lambda number: rhythms[number])
    assert exact == [(0, 4, "contained"), (2, 4, "contained"), (3, 4, "contained")]


def slow_duplicates(letters: list[list[tuple[str, str]]]) -> dict[int, str]:
    """The rule against every pair."""
    gone: dict[int, str] = {}
    for number, mine in enumerate(letters):
        for other, theirs in enumerate(letters):
            if mine and mine == theirs and other < number:
                gone.setdefault(number, "identical")
            places = range(len(theirs) - len(mine) + 1)
            if mine and len(theirs) > len(mine) and any(theirs[p : p + len(mine)] == mine for p in places):
                gone[number] = "contained"
    return gone


@pytest.mark.long
@given(st.lists(st.lists(st.tuples(st.sampled_from([60, 62]), st.sampled_from([1, 2])), max_size=9), max_size=12))
@settings(max_examples=80)
def test_near_duplicates_follow_the_rule(tunes: list[list[tuple[int, int]]]) -> None:
    connection = sqlite3.connect(":memory:")
    about = fill(connection, [tune([p for p, _ in notes], [d for _, d in notes]) for notes in tunes])
    found = {number: reason for number, _, reason in removed(connection)}
    connection.close()
    assert found == slow_duplicates([list(zip(d.chromatic, d.rhythm, strict=True)) for d in about])


def test_near_duplicates_of_nothing_and_of_unknown_numbers(database: sqlite3.Connection) -> None:
    fill(database, [tune(LONG), tune(LONG)])
    numbers, gone = remove_near_duplicates(database, [])
    assert numbers.tolist() == gone == []
    assert remove_near_duplicates(database, np.array([1, 1]))[0].tolist() == [1]
    with pytest.raises(FilterError, match="numbers must be those of melodies in the collection; got 7"):
        remove_near_duplicates(database, [0, 7])


def test_what_is_no_filter(database: sqlite3.Connection) -> None:
    with pytest.raises(FilterError, match=r"a filter is made by roslin\.filters, as in .*; got 'title'"):
        apply_filters(database, ["title"])  # type: ignore[list-item]

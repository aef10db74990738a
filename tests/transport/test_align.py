"""Alignment (Typke et al. 2007, section 2.4): exact over coincidences, never worse when refined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.transport.oracle import program

from roslin import TICKS_PER_QUARTER, Melody, align, emd
from roslin.errors import ArgumentError, MelodyError, UnknownNameError
from roslin.native import kernels
from roslin.represent.points import point_sets
from roslin.transport.align import (
    ALIGNMENTS,
    Alignment,
    Document,
    Query,
    Setting,
    aligned_points,
    best_alignment,
    coincident,
    pair_of,
    rules_of,
)

LENGTHS = [0.25, 0.5, 1.0, 1.0, 1.5, 2.0]
TUNE = Melody.from_notes(
    [0, 1, 1.5, 2, 3, 4, 6, 6.5, 7], [1, 0.5, 0.5, 1, 1, 2, 0.5, 0.5, 1], [67, 69, 71, 74, 72, 71, 69, 66, 67]
)
# Long and winding enough that nothing of it is lighter than a part of it.
PIECE = Melody.from_notes(range(24), [1] * 24, [60 + (k * k) % 17 for k in range(24)])


def random_melody(rng: np.random.Generator, size: int) -> Melody:
    lengths = rng.choice(LENGTHS, size)
    onsets = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    if rng.random() < 0.3:  # chords
        onsets = onsets // 2 * 2
    pitches = 64 + np.cumsum(rng.integers(-4, 5, size))
    return Melody.from_notes(onsets.tolist(), lengths.tolist(), pitches.clip(40, 90).tolist())


def moved(melody: Melody, up: int = 0, later: float = 0.0, tempo: float = 1.0) -> Melody:
    notes = melody.notes
    return Melody.from_notes(
        (notes["onset_ticks"] / TICKS_PER_QUARTER * tempo + later).tolist(),
        (notes["duration_ticks"] / TICKS_PER_QUARTER * tempo).tolist(),
        (notes["pitch_midi"].astype(int) + up).tolist(),
    )


def brute_force(query: Melody, document: Melody, setting: Setting) -> float:
    """Every query note on every document note at every tempo, each by `emd`."""
    points = point_sets([query, document], weight=setting.weight)
    (at_q, weight_q), (at_d, weight_d) = points.one(0), points.one(1)
    unit = points.duration[: points.offsets[1]].mean() if setting.unit == "note" else 1.0
    scale = np.array([1 / unit, setting.semitone])
    best = np.inf
    for tempo in setting.tempos:
        still = at_d * scale / [tempo, 1]
        heavy = weight_d / tempo if setting.weight in ("duration", "stress") else weight_d
        lacking = max(weight_q.sum() - heavy.sum(), 0.0)
        for i in range(len(at_q)):
            for j in range(len(at_d)):
                value = emd(at_q * scale + (still[j] - at_q[i] * scale), weight_q, still, heavy, setting.ground)
                if lacking and setting.missing is not None:
                    value = (value * heavy.sum() + lacking * setting.missing) / weight_q.sum()
                best = min(best, value)
    return best


SETTINGS = [
    Setting(),
    Setting(missing=None),
    Setting(tempos=(0.5, 1.0, 1.5), missing=None),
    Setting(tempos=(0.5, 1.0, 2.0)),
    Setting(ground="cityblock", unit="quarter", semitone=0.5),
    Setting(weight="uniform", tempos=(1.0, 2.0)),
    Setting(weight="stress", missing=0.0, semitone=2.0),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_coincidence_is_the_brute_force_over_all_note_pairs(setting: Setting) -> None:
    rng = np.random.default_rng(1)
    light = 0
    for _ in range(12):
        query, document = random_melody(rng, int(rng.integers(1, 7))), random_melody(rng, int(rng.integers(1, 10)))
        found = align(query, document, setting)
        assert found.distance == pytest.approx(brute_force(query, document, setting), abs=1e-9)
        light += document.end_ticks < query.end_ticks
    assert light > 0


def arguments(query: Query, document: Document, setting: Setting, limit: float) -> Any:
    return pair_of(query, document, setting), limit, np.zeros(1, np.int64)


def align_documents(*given: Any) -> Any:
    """(documents, 2): distances and how many transportation problems were solved for each."""
    found = np.empty((len(given[2]) - 1, 2))
    kernels.align_documents(*given, found)
    return found


@pytest.mark.parametrize("setting", [*SETTINGS, Setting(ground="tonal")], ids=str)
def test_a_limit_changes_no_bit_of_what_lies_within_it(setting: Setting) -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        points = point_sets(
            [random_melody(rng, int(rng.integers(1, 9))), random_melody(rng, int(rng.integers(1, 14)))],
            weight=setting.weight,
        )
        query, document = Query.of(points, setting), Document.of(points, 1, setting)
        found = coincident(*arguments(query, document, setting, np.inf))
        assert coincident(*arguments(query, document, setting, found[0])) == found
        assert coincident(*arguments(query, document, setting, found[0] * 1.3 + 0.1)) == found
        if found[0] > 1e-6:
            assert coincident(*arguments(query, document, setting, found[0] * 0.999))[0] == np.inf


def test_many_documents_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    melodies = [random_melody(rng, int(rng.integers(1, 14))) for _ in range(30)]
    setting = Setting(tempos=(1.0, 2.0))
    points = point_sets(melodies)
    query = Query.of(points, setting)
    documents = [Document.of(points, number, setting) for number in range(len(points))]
    distances = np.array([coincident(*arguments(query, each, setting, np.inf))[0] for each in documents])
    given = query, points, points.offsets, query, rules_of(setting)
    found = align_documents(*given, np.zeros(30), np.array([np.inf]))
    # The best alone: what comes after the nearest, the query itself, is given up.
    assert found[0].tolist() == pytest.approx([0.0, 1.0]), "one EMD"
    assert np.isinf(found[1:, 0]).all()
    best = np.full(30, np.inf)
    found = align_documents(*given, np.zeros(30), best)
    assert found[:, 0] == pytest.approx(distances, abs=1e-12)
    assert (found[:, 1] >= 1).all(), "at least one EMD"
    assert best == pytest.approx(np.sort(distances), abs=1e-12), "the best are kept up to date"
    found = align_documents(*given, np.where(np.arange(30) % 2, 9.0, 0.0), np.array([5.0, 6.0]))
    assert np.isinf(found[1::2, 0]).all(), "bounds are believed"


@pytest.mark.parametrize("alignment", ["coincidence", "refined"])
@pytest.mark.parametrize("missing", [None, 2.0])
@pytest.mark.parametrize("ground", ["euclidean", "cityblock", "tonal"])
def test_transposition_start_and_tempo_do_not_matter(ground: str, missing: float | None, alignment: str) -> None:
    setting = Setting(ground=ground, missing=missing, alignment=alignment, tempos=(0.5, 1.0, 1.5, 2.0))
    for tempo in setting.tempos:
        found = align(TUNE, moved(TUNE, up=5, later=3.0, tempo=tempo), setting)
        assert found.distance == pytest.approx(0, abs=1e-9)
        assert (found.tempo, found.shift, found.transposition) == pytest.approx((tempo, 3.0, 5.0), abs=1e-9)


@pytest.mark.parametrize("ground", ["euclidean", "cityblock", "tonal"])
def test_moving_either_melody_changes_no_distance(ground: str) -> None:
    rng = np.random.default_rng(4)
    setting = Setting(ground=ground)
    for _ in range(20):
        query, document = random_melody(rng, 7), random_melody(rng, 11)
        expected = align(query, document, setting).distance
        assert expected > 0
        assert align(moved(query, up=3, later=2.0), document, setting).distance == pytest.approx(expected, abs=1e-9)
        assert align(query, moved(document, up=-4, later=1.5), setting).distance == pytest.approx(expected, abs=1e-9)
        # Both slower by the same factor: the unit is a note, so nothing changes.
        slower = align(moved(query, tempo=2.0), moved(document, tempo=2.0), setting)
        assert slower.distance == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alignment", ["coincidence", "refined"])
@pytest.mark.parametrize("missing", [None, 2.0])
def test_a_part_of_a_melody_lies_in_it_at_zero(missing: float | None, alignment: str) -> None:
    part = Melody.from_notes(range(6), [1] * 6, [PIECE.notes["pitch_midi"][k] - 7 for k in range(9, 15)])
    found = align(part, PIECE, Setting(missing=missing, alignment=alignment))
    assert found == Alignment(0.0, 1.0, 9.0, 7.0)
    fast = moved(part, tempo=0.5)
    found = align(fast, PIECE, Setting(missing=missing, alignment=alignment, tempos=(1.0, 2.0)))
    assert found == Alignment(0.0, 2.0, 9.0, 7.0)


def test_what_a_lighter_document_costs() -> None:
    two = Melody.from_notes([0, 1], [1, 1], [60, 62])
    four = Melody.from_notes(range(4), [1] * 4, [60, 62, 64, 65])
    assert align(four, two, Setting(missing=None)).distance == 0.0
    assert align(four, two, Setting(missing=2.0)).distance == (2 * 0 + 2 * 2.0) / 4
    assert align(four, two, Setting(missing=0.0)).distance == 0.0
    assert align(two, four, Setting(missing=2.0)).distance == 0.0


def test_the_units_of_time_and_pitch() -> None:
    query = Melody.from_notes([0, 2, 4], [2, 2, 2], [60, 60, 60])
    later = Melody.from_notes([0, 2, 5], [2, 2, 2], [60, 60, 60])
    higher = Melody.from_notes([0, 2, 4], [2, 2, 2], [60, 60, 62])
    assert align(query, later, Setting(unit="quarter")).distance == pytest.approx(1 / 3)
    assert align(query, later, Setting(unit="note")).distance == pytest.approx(1 / 2 / 3)
    for ground in ("euclidean", "cityblock"):
        assert align(query, higher, Setting(ground=ground, semitone=0.5)).distance == pytest.approx(2 * 0.5 / 3)
    whole, half = (align(query, higher, Setting(ground="tonal", semitone=s)).distance for s in (1.0, 0.5))
    assert half == pytest.approx(whole / 2)


@pytest.mark.parametrize("tempos", [(1.0,), (0.5, 0.75, 1.0, 1.5, 2.0)])
@pytest.mark.parametrize("ground", ["euclidean", "cityblock", "tonal"])
def test_refined_is_never_worse_and_often_better(ground: str, tempos: tuple[float, ...]) -> None:
    rng = np.random.default_rng(5)
    better = 0
    for _ in range(25):
        query, document = random_melody(rng, 7), random_melody(rng, 12)
        setting = Setting(ground=ground, tempos=tempos)
        start = align(query, document, setting).distance
        found = align(query, document, replace(setting, alignment="refined"))
        assert found.distance <= start + 1e-12
        assert min(tempos) <= found.tempo <= max(tempos)
        better += found.distance < start - 1e-6
    # The vertices of city blocks are coincidences of time and of pitch, often of the same note.
    assert better >= (1 if len(tempos) == 1 else 10)


@pytest.mark.parametrize("alignment", sorted(ALIGNMENTS))
@pytest.mark.parametrize("ground", ["euclidean", "cityblock", "tonal"])
def test_the_transformation_gives_the_distance(ground: str, alignment: str) -> None:
    """Moving the query as told and measuring again gives the same number."""
    rng = np.random.default_rng(6)
    setting = Setting(ground=ground, alignment=alignment, tempos=(0.5, 1.0, 2.0), missing=None)
    for _ in range(5):
        points = point_sets([random_melody(rng, 6), random_melody(rng, 12)])
        query, document = Query.of(points, setting), Document.of(points, 1, setting)
        found = best_alignment(query, document, setting)
        (moving, heavy), (still, weight) = aligned_points(query, document, setting, found)
        if ground == "tonal":
            steps = document.table[np.rint(moving[:, 1]).astype(int)]
            apart = np.hypot(np.subtract.outer(moving[:, 0], still[:, 0]), steps)
            assert found.distance == pytest.approx(program(apart, heavy, weight), abs=1e-9)
        else:
            assert found.distance == pytest.approx(emd(moving, heavy, still, weight, ground), abs=1e-9)


def test_refined_finds_an_optimum_between_the_notes() -> None:
    """Three notes each displaced another way: the best shift is their geometric median, on none of them."""
    query = Melody.from_notes([0, 20, 40], [1, 1, 1], [60, 60, 60])
    document = Melody.from_notes([1, 20, 39.5], [1, 1, 1], [60, 61, 59])
    setting = Setting(unit="quarter")
    shifts = np.array([[1, 0], [0, 1], [-0.5, -1]])
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401)), axis=-1)
    best = np.linalg.norm(grid[:, :, None, :] - shifts, axis=3).mean(axis=2).min()
    found = align(query, document, replace(setting, alignment="refined"))
    assert found.distance == pytest.approx(best, abs=1e-5)
    assert found.distance < align(query, document, setting).distance - 0.01


@pytest.mark.long
def test_evolution_comes_close_and_is_the_same_every_time() -> None:
    rng = np.random.default_rng(7)
    setting = Setting(alignment="evolution", tempos=(0.5, 2.0))
    gaps = []
    for _ in range(8):
        query, document = random_melody(rng, 6), random_melody(rng, 10)
        found = align(query, document, setting)
        assert found == align(query, document, setting)
        assert 0.5 <= found.tempo <= 2.0
        gaps.append(found.distance / align(query, document, replace(setting, alignment="refined")).distance)
    assert np.median(gaps) < 1.1


def test_evolution_at_a_fixed_tempo_and_with_nowhere_to_go() -> None:
    assert align(TUNE, TUNE, Setting(alignment="evolution")).tempo == 1.0
    one = Melody.from_notes([0], [1], [60])
    assert align(one, one, Setting(alignment="evolution")) == Alignment(0.0, 1.0, 0.0, 0.0)


def test_none_moves_only_the_start() -> None:
    setting = Setting(alignment="none", unit="quarter")
    assert align(TUNE, moved(TUNE, later=4.0), setting) == Alignment(0.0, 1.0, 4.0, 0.0)
    found = align(TUNE, moved(TUNE, up=12), setting)
    assert (found.shift, found.transposition) == (0.0, 0.0)
    assert found.distance > 3
    doubled = align(TUNE, moved(TUNE, tempo=2.0), replace(setting, tempos=(1.0, 2.0)))
    assert doubled == Alignment(0.0, 2.0, 0.0, 0.0)


@pytest.mark.parametrize("alignment", sorted(ALIGNMENTS))
def test_degenerate_melodies(alignment: str) -> None:
    setting = Setting(alignment=alignment)
    one = Melody.from_notes([3], [2], [60])
    chord = Melody.from_notes([0, 0, 0], [1, 1, 1], [60, 64, 67])
    assert align(one, one, setting).distance == pytest.approx(0, abs=1e-6)
    assert align(chord, chord, setting).distance == pytest.approx(0, abs=1e-6)
    assert np.isfinite(align(one, chord, setting).distance)
    assert np.isfinite(align(chord, one, setting).distance)


def test_nothing_to_align() -> None:
    empty = Melody.from_notes([], [], [])
    grace = Melody.from_notes([0], [0], [60], graces=[True])
    for nothing in (empty, grace):
        with pytest.raises(MelodyError, match="nothing to align: the query has no notes"):
            align(nothing, TUNE)
        with pytest.raises(MelodyError, match="nothing to align: the document has no notes"):
            align(TUNE, nothing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"semitone": 0}, "semitone must be a number above 0; got 0"),
        ({"semitone": True}, "semitone must be a number above 0; got True"),
        ({"tempos": ()}, "setting: tempos must be one or more numbers above 0; got"),
        ({"tempos": (1.0, -1.0)}, "tempos must be one or more numbers above 0"),
        ({"missing": -1.0}, "missing must be a number, at least 0, or None; got -1.0"),
        ({"missing": float("nan")}, "missing must be a number"),
        ({"ground": "tonal", "pitch": "fifths"}, "tonal ground distance needs pitch 'semitone'; got 'fifths'"),
    ],
)
def test_settings_that_make_no_sense(options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Setting(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pitch": "x"}, "unknown pitch of setting 'x'"),
        ({"weight": "x"}, "unknown weight of setting 'x'"),
        ({"ground": "x"}, "unknown ground of setting 'x'; known: cityblock, euclidean, tonal"),
        ({"unit": "x"}, "unknown unit of setting 'x'; known: note, quarter"),
        ({"alignment": "x"}, "unknown alignment of setting 'x'; known: coincidence, refined, evolution, none"),
    ],
)
def test_unknown_names(options: Any, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        Setting(**options)

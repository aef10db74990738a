"""`twv` and `twv_covered`: matches against enumeration, aggregation against the paper's recursion, and what they must
not depend on."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from tests.matchers.melodies import CASTLE, TUNES, moved, random_melody

from roslin import Melody, matcher
from roslin.deadline import stop_flag
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import TWV, TWVCovered
from roslin.matchers.transport.twv import TEMPOS
from roslin.native import kernels
from roslin.represent.packed import pack
from roslin.represent.points import segment_count
from roslin.transport.align import ALIGNMENTS
from roslin.transport.emd import emd

Rows = npt.NDArray[np.float64]


# -- matches ----------------------------------------------------------------------------------------------------------


def enumerated(query: Melody, document: Melody, chosen: TWV) -> set[tuple[float, ...]]:
    """Every note of each segment on every note of the document; equal places once."""
    assert chosen.missing is not None
    unit = query.notes["duration_ticks"].mean()
    found = set()
    for number, part in enumerate(chosen.segments(query)):
        a = np.column_stack([part.x, part.y])
        for tempo in chosen.tempos:
            b = np.column_stack([document.notes["onset_ticks"] / unit / tempo, document.notes["pitch_midi"]])
            weight = document.notes["duration_ticks"] / 40320 / tempo
            for shift in {tuple(np.round(end - start, 9)) for end in b for start in a}:
                least = emd(a + shift, part.weight, b, weight)
                short = max(part.weight.sum() - weight.sum(), 0)
                least = (least * min(part.weight.sum(), weight.sum()) + short * chosen.missing) / part.weight.sum()
                if least <= chosen.radius:
                    start = shift[0] * unit / 40320 * tempo
                    end = start + a[-1, 0] * unit / 40320 * tempo
                    found.add(tuple(np.round([number, least, start, end, shift[1], tempo], 6).tolist()))
    return found


def test_all_matches_within_the_radius_are_found_once() -> None:
    random = np.random.default_rng(2)
    chosen = TWVCovered(segment=4, step=2, radius=2.0, tempos=(1.0, 2.0))
    total = 0
    for _ in range(25):
        query, document = random_melody(random, int(random.integers(2, 9))), random_melody(random, 9)
        rows = chosen._matches(chosen.points([query]), chosen.points([document]))
        found = [tuple(row) for row in np.round(rows, 6).tolist()]
        assert len(found) == len(set(found))
        assert set(found) == enumerated(query, document, chosen)
        total += len(found)
    assert total > 200


# -- aggregation ------------------------------------------------------------------------------------------------------


def is_legal(combination: list[Rows], starts: Rows, ends: Rows, chosen: TWV, unit: float) -> bool:
    """Section 2.4.1, word by word."""
    numbers = [int(row[0]) for row in combination]
    if len(set(numbers)) < len(numbers):
        return False
    for before, after in pairwise(combination):
        if not (after[0] > before[0] and after[2] > before[2]):
            return False
        if chosen.agree and (after[4] != before[4] or after[5] != before[5]):
            return False
        if after[0] == before[0] + 1:
            tempo = (before[5] + after[5]) / 2
            overlap = ends[int(before[0])] - starts[int(after[0])]
            matched = before[3] - after[2]
            if overlap >= 0 and abs(matched - overlap * tempo) > chosen.tolerance * unit * tempo:
                return False
            if -matched > max(-overlap, 0) * tempo + chosen.apart * unit * tempo:
                return False
    return True


def brute_force(rows: Rows, expected: int, penalty: float, starts: Rows, ends: Rows, chosen: TWV, unit: float) -> float:
    """The paper's recursion over all combinations."""

    def best(so_far: list[Rows], rest: list[Rows]) -> float:
        cost = sum(row[1] for row in so_far) + penalty * max(expected - len(so_far), 0)
        for k, row in enumerate(rest):
            if is_legal([*so_far, row], starts, ends, chosen, unit):
                cost = min(cost, best([*so_far, row], rest[k + 1 :]))
        return float(cost)

    return best([], list(rows))


@pytest.mark.parametrize("agree", [False, True])
@pytest.mark.parametrize("step", [2.0, 5.0])
def test_aggregation_is_the_paper_s(agree: bool, step: float) -> None:
    random = np.random.default_rng(3)
    chosen = TWVCovered(agree=agree, tolerance=1.0, apart=2.0)
    unit, matched = 0.5, 0
    for _ in range(150):
        count = int(random.integers(2, 6))
        starts = (np.arange(count) * step).astype(np.float64)
        ends = (starts + 4.0).astype(np.float64)  # overlapping with the step 2, apart with 5
        rows = []
        for number in np.sort(random.integers(0, count, random.integers(1, 10))):
            tempo = float(random.choice([1.0, 1.0, 2.0]))
            start = float(starts[number] + random.choice([-2, -0.5, 0, 0, 0.5, 1, 4]))
            rows.append([number, random.random(), start, start + 4.0 * tempo, float(random.choice([0, 0, 5])), tempo])
        found = np.array(rows, dtype=np.float64)
        for expected in range(1, count + 1):
            spans, legality = SimpleNamespace(starts=starts, ends=ends, unit=unit), replace(chosen, agree=agree)
            sums, previous = np.empty((len(found), expected)), np.empty((len(found), expected), np.int64)
            kernels.chains(found, spans, legality, stop_flag(), sums, previous)
            least = sums.min(axis=0)
            for penalty in (1.0, float(found[:, 1].max())):
                totals = least + penalty * (expected - 1 - np.arange(expected))
                wanted = brute_force(found, expected, penalty, starts, ends, chosen, unit)
                assert totals.min() == pytest.approx(wanted, abs=1e-12)
            longest = int(np.isfinite(least).sum())
            matched += longest > 1
            last = int(np.argmin(sums[:, longest - 1]))
            chain = [last]
            for k in range(longest - 1, 0, -1):
                chain.append(int(previous[chain[-1], k]))
            assert sums[last, longest - 1] == pytest.approx(found[chain, 1].sum(), abs=1e-12)
            assert is_legal([found[k] for k in chain[::-1]], starts, ends, chosen, unit)
    assert matched > 100


def test_each_expected_segment_without_a_match_costs_the_radius_or_the_largest_distance() -> None:
    query = Melody.from_notes(range(9), [1] * 9, [60, 64, 67, 72, 69, 65, 60, 59, 62])
    half = Melody.from_notes(range(9), [1] * 9, [60, 64, 67, 72, 69, 65, 40, 85, 41])
    near = Melody.from_notes(range(9), [1] * 9, [60, 64, 67, 72, 69, 66, 40, 85, 41])
    other = Melody.from_notes(range(9), [1] * 9, [40, 85, 41, 84, 42, 83, 43, 82, 44])
    alone = TWVCovered(radius=0.4, penalty="radius").distances(query, [query, half, near, other])
    assert alone.tolist() == pytest.approx([0, 0.4, 1 / 6 + 0.4, np.inf])
    # The largest distance of any match is that of the one changed note in six.
    together = TWVCovered(radius=0.4).distances(query, [query, half, near, other])
    assert together.tolist() == pytest.approx([0, 1 / 6, 2 / 6, np.inf])
    # Without any match above 0, the radius stands in.
    assert TWVCovered(radius=0.1).distances(query, [query, half, other]).tolist() == pytest.approx([0, 0.1, np.inf])


def test_a_short_document_expects_only_the_segments_that_cover_it() -> None:
    query = Melody.from_notes(range(15), [1] * 15, [60, 64, 67, 72, 69, 65, 60, 59, 62, 66, 61, 70, 58, 63, 74])
    short = Melody.from_notes(range(7), [1] * 7, [60, 64, 67, 72, 69, 65, 31])
    chosen = TWVCovered(radius=0.4, penalty="radius")
    assert len(chosen.segments(query)) == 4
    assert chosen.distances(query, [short]).tolist() == pytest.approx([0.4])
    assert TWVCovered(radius=0.4, penalty="radius", score="mean").distances(query, [short]).tolist() == pytest.approx(
        [0.2]
    )
    # A document in which nothing is found is not listed at all.
    nothing = Melody.from_notes(range(7), [1] * 7, [31, 90, 32, 91, 33, 92, 34])
    assert chosen.distances(query, [nothing, Melody.from_notes([], [], [])]).tolist() == [np.inf, np.inf]


def test_segments_must_lie_in_order_and_where_the_query_has_them() -> None:
    first, second = [60, 64, 67, 72, 69, 65], [61, 59, 62, 66, 58, 70]
    query = Melody.from_notes(range(12), [1] * 12, first + second)
    swapped = Melody.from_notes(range(12), [1] * 12, second + first)
    apart = Melody.from_notes([*range(6), *range(40, 46)], [1] * 12, first + second)
    near = Melody.from_notes([*range(6), *range(9, 15)], [1] * 12, first + second)
    chosen = TWVCovered(segment=6, step=6, radius=0.1, penalty="radius", apart=6.0)
    assert chosen.distances(query, [query, swapped, apart, near]).tolist() == pytest.approx([0, 0.1, 0.1, 0])


def test_chains_that_must_agree() -> None:
    first, second = [60, 64, 67, 72, 69, 65], [61, 59, 62, 66, 58, 70]
    query = Melody.from_notes(range(12), [1] * 12, first + second)
    shifted = Melody.from_notes(range(12), [1] * 12, first + [pitch + 3 for pitch in second])
    free, agreeing = (
        TWVCovered(segment=6, step=6, radius=0.1, penalty="radius", agree=agree).distances(query, [shifted, query])
        for agree in (False, True)
    )
    assert free.tolist() == [0, 0]
    assert agreeing.tolist() == pytest.approx([0.1, 0])


def test_both_directions() -> None:
    part = Melody.from_notes(range(6), [1] * 6, [60, 64, 67, 72, 69, 65])
    whole = Melody.from_notes(range(12), [1] * 12, [60, 64, 67, 72, 69, 65, 31, 90, 32, 91, 33, 92])
    chosen = TWVCovered(radius=0.1, penalty="radius", both=True)
    # The part has one segment, which is found; the whole has three, of which one is: two of four are missing.
    assert chosen.distances(part, [whole]).tolist() == pytest.approx([0.05])
    assert chosen.distances(whole, [part]).tolist() == pytest.approx([0.05])
    # Between melodies of the same length nothing but the division differs from the two directions apart.
    alike = [tune for tune in TUNES if len(set(tune.notes["onset_ticks"].tolist())) == 35 and len(tune) == 35]
    assert len(alike) >= 3
    one_way = TWVCovered(radius=0.5, penalty="radius", score="mean")
    there = one_way.distances(CASTLE, alike)
    back = np.array([one_way.distances(tune, [CASTLE])[0] for tune in alike])
    both = TWVCovered(radius=0.5, penalty="radius", both=True).distances(CASTLE, alike)
    assert both == pytest.approx((there + back) / 2, abs=1e-12)


# -- what changes nothing ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_where_nothing_is_possible_need_not_be_searched() -> None:
    random = np.random.default_rng(4)
    packed = pack(TUNES)
    for chosen in (
        TWVCovered(radius=0.4),
        TWVCovered(radius=0.4, agree=True, tempos=(1.0, 2.0)),
        TWVCovered(radius=0.4, both=True),
    ):
        expected = chosen.distances(CASTLE, packed)
        points, asked = chosen.points(packed), chosen.points([CASTLE])
        possible = np.zeros((len(chosen.segments(CASTLE)), len(packed)), dtype=np.bool_)
        for k in range(len(packed)):
            numbers = chosen._matches(asked, points.only(k))[:, 0].astype(np.int64)
            possible[numbers, k] = True
        assert 0 < possible.mean() < 0.5
        assert chosen.distances_of([chosen.matched(CASTLE, packed, possible)]).tobytes() == expected.tobytes()
        more = possible | (random.random(possible.shape) < 0.3)
        assert chosen.distances_of([chosen.matched(CASTLE, packed, more)]).tobytes() == expected.tobytes()
        none = chosen.distances_of([chosen.matched(CASTLE, packed, np.zeros_like(possible))])
        assert chosen.both or np.isinf(none).all()
    with pytest.raises(ArgumentError, match=r"possible must be \(segments, candidates\), \(11, 243\); got \(3, 3\)"):
        TWVCovered().matched(CASTLE, packed, np.ones((3, 3), dtype=np.bool_))


def test_it_does_not_change_under_transposition_and_shift_nor_under_tempo_when_allowed() -> None:
    candidates = TUNES[:30]
    chosen = TWVCovered(radius=0.5)
    expected = chosen.distances(CASTLE, candidates)
    for query in (moved(CASTLE, up=5), moved(CASTLE, later=3)):
        assert chosen.distances(query, candidates) == pytest.approx(expected, abs=1e-9)
    there = [moved(tune, up=-4, later=2.5) for tune in candidates]
    assert chosen.distances(CASTLE, there) == pytest.approx(expected, abs=1e-9)
    slow = [moved(CASTLE, slower=2.0, up=3)]
    assert TWVCovered(tempos=(1.0, 2.0)).distances(CASTLE, slow)[0] == 0
    assert TWVCovered(penalty="radius").distances(CASTLE, slow)[0] > 1


def test_the_variants_of_roslin_castle_come_first() -> None:
    chosen = TWVCovered(score="mean", tempos=(0.5, 1.0, 2.0))
    distances = chosen.distances(CASTLE, TUNES)
    first = {TUNES[k].id for k in np.argsort(distances, kind="stable")[:7]}
    assert first == {"roslin-castle", *(f"roslin-castle-{k}" for k in range(2, 8))}
    # The rule of the paper, on documents of the same length as there: copies, then the shortened one.
    distances = TWVCovered(tempos=(0.5, 1.0, 2.0)).distances(CASTLE, TUNES)
    assert [TUNES[k].id for k in np.argsort(distances, kind="stable")[:4]] == [
        "roslin-castle",
        "roslin-castle-2",
        "roslin-castle-5",
        "roslin-castle-7",
    ]


def test_chords() -> None:
    tune = [60, 64, 67, 72, 69, 65, 60, 59, 62]
    query = Melody.from_notes(range(9), [1] * 9, tune)
    chords = Melody.from_notes([*range(9), *range(9)], [1] * 18, [*tune, *(pitch - 16 for pitch in tune)])
    assert TWVCovered().distances(query, [chords])[0] == 0
    assert TWVCovered().distances(chords, [chords])[0] == 0
    assert len(TWVCovered().segments(chords)) == len(TWVCovered().segments(query)) == segment_count(9, 6, 3)
    assert len(TWVCovered().segments(chords)[0].x) == 12


def test_the_tonal_ground_distance() -> None:
    tonal, plain = (
        TWVCovered(ground=ground, radius=0.5).distances(CASTLE, TUNES[:9]) for ground in ("tonal", "euclidean")
    )
    assert tonal[0] == tonal[1] == 0
    assert tonal.tolist() != plain.tolist()


def test_with_another_alignment_only_the_best_place_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALIGNMENTS, "refined", ALIGNMENTS["coincidence"])
    # A query of one segment: its best place is all that matters.
    query, candidates = Melody(CASTLE.notes[:6]), [*TUNES[:20], Melody.from_notes([], [], [])]
    for both in (False, True):
        best, every = (
            TWVCovered(alignment=name, radius=0.5, penalty="radius", both=both).distances(query, candidates)
            for name in ("refined", "coincidence")
        )
        assert best[:7] == pytest.approx(every[:7], abs=1e-12)
        assert (best >= every - 1e-12).all()
    # A phrase that comes twice, the second time exactly: the first segment is drawn there, and the second is lost.
    first, second = [60, 64, 67, 72, 69, 65], [61, 59, 62, 66, 58, 70]
    query = Melody.from_notes(range(12), [1] * 12, first + second)
    twice = Melody.from_notes(range(18), [1] * 18, [60, 64, 67, 72, 69, 66, *second, *first])
    best, every = (
        TWVCovered(alignment=name, segment=6, step=6, penalty="radius").distances(query, [twice])[0]
        for name in ("refined", "coincidence")
    )
    assert every == pytest.approx(1 / 6)
    assert best == pytest.approx(0.3)
    possible = np.array([[False], [True]])
    chosen = TWVCovered(alignment="refined", segment=6, step=6, penalty="radius")
    lost = chosen.distances_of([chosen.matched(query, pack([twice]), possible)])
    assert lost.tolist() == pytest.approx([0.3])


# -- as published, and our variant ------------------------------------------------------------------------------------


def test_the_system_as_published_and_our_variant_differ_in_two_parameters() -> None:
    published, ours = TWV(), TWVCovered()
    different = {name for name, value in published.parameters.items() if ours.parameters[name] != value}
    assert different == {"tempos", "missing"}
    assert (published.missing, ours.missing, ours.tempos) == (None, 2.0, (1.0,))
    assert published.tempos == TEMPOS == (0.5, 2 / 3, 1.0, 1.5, 2.0)
    assert matcher("twv(tempos=(1.0,), missing=2.0)").distances(CASTLE, TUNES).tobytes() == (
        ours.distances(CASTLE, TUNES).tobytes()
    )


def test_as_published_a_segment_is_found_at_any_of_the_tempos() -> None:
    for slower in TEMPOS:
        assert TWV().distances(CASTLE, [moved(CASTLE, slower=slower, up=3)])[0] == 0
    assert TWVCovered().distances(CASTLE, [moved(CASTLE, slower=1.5)])[0] > 0


def test_as_published_the_lighter_document_is_matched_completely() -> None:
    """Section 2.1: the distance is divided by the weight of the lighter set, so that one note is near to everything."""
    one = Melody.from_notes([0], [1], [70])
    assert TWV().distances(CASTLE, [one]).tolist() == [0]
    assert TWVCovered().distances(CASTLE, [one]).tolist() == [np.inf]


def test_as_published_what_is_found_nowhere_is_in_no_list() -> None:
    """Section 2.4.1 lists the documents that occur in a list of matches for a segment."""
    other = Melody.from_notes(range(12), [1] * 12, [40, 85, 41, 84, 42, 83, 43, 82, 44, 81, 45, 80])
    query = Melody(CASTLE.notes[:12])
    for chosen in (TWV(), TWV(score="mean"), TWV(both=True), TWVCovered()):
        distances = chosen.distances(query, [CASTLE, other])
        assert np.isfinite(distances).tolist() == [True, False]


def test_with_both_directions_one_is_enough() -> None:
    """The query's one segment, of nine notes, is not in the document; the document, of six notes, is in the query."""
    query = Melody.from_notes(range(9), [1] * 9, [60, 64, 67, 72, 69, 65, 31, 90, 32])
    part = Melody.from_notes(range(6), [1] * 6, [60, 64, 67, 72, 69, 65])
    chosen = TWVCovered(segment=9, step=9, radius=0.2, penalty="radius", both=True)
    assert TWVCovered(segment=9, step=9, radius=0.2).distances(query, [part]).tolist() == [np.inf]
    assert chosen.distances(query, [part]).tolist() == pytest.approx([0.1])


@pytest.mark.parametrize("text", ["twv(both=True)", "twv(ground='tonal', both=True)", "twv(missing=None, agree=True)"])
def test_degenerate_melodies_under_the_options(text: str) -> None:
    odd = [
        Melody.from_notes([], [], []),
        Melody.from_notes([0], [1], [60]),
        Melody.from_notes([0, 0, 0], [1, 1, 1], [60, 64, 67]),
    ]
    for query in (CASTLE, *odd[1:]):
        distances = matcher(text).distances(query, [*odd, CASTLE])
        assert np.isinf(distances[0])
        assert not np.isnan(distances).any()
        assert matcher(text).distances(query, [query])[0] == 0


def test_segments_share_the_query_s_unit_of_time() -> None:
    query = Melody.from_notes([0, 1, 2, 3, 4, 5, 6, 10, 14], [1] * 6 + [4] * 3, [60, 64, 67, 72, 69, 65, 60, 59, 62])
    assert {part.time_unit for part in TWVCovered().segments(query)} == {1 / 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("twv(segment=0)", "twv: segment must be a whole number from 1 to 1000000; got 0"),
        ("twv(step=1.5)", "twv: step must be a whole number from 1 to 1000000; got 1.5"),
        ("twv(radius=0)", "twv: radius must be a number above 0; got 0"),
        ("twv(tolerance=-1)", "tolerance must be a number, at least 0; got -1"),
        ("twv(apart='far')", "apart must be a number, at least 0; got 'far'"),
        ("twv(penalty='none')", "unknown penalty of twv 'none'; known: largest, radius"),
        ("twv(score='best')", "unknown score of twv 'best'; known: mean, sum"),
        ("twv(agree=1)", "agree must be True or False; got 1"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message.replace("(", r"\(")):
        matcher(text)


def test_a_semitone_weighs_the_same_in_the_tonal_ground_distance_of_segments_and_of_the_whole() -> None:
    query, other = CASTLE, Melody(CASTLE.notes[1:])
    for semitone in (0.5, 2.0):
        whole = matcher(f"emd(ground='tonal', semitone={semitone})").distances(query, [other])
        single = matcher(f"twv_covered(ground='tonal', semitone={semitone}, segment=200, radius=50.0)").distances(
            query, [other]
        )
        assert single == pytest.approx(whole)

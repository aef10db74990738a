from __future__ import annotations

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, moved, random_melody

from roslin import Melody, matcher
from roslin.errors import ArgumentError, MelodyError, UnknownNameError
from roslin.matchers.transport.emd import EMD, NOWHERE
from roslin.melody import note_table
from roslin.transport.align import ALIGNMENTS
from roslin.transport.emd import emd


def literal(query: Melody, document: Melody, missing: float | None) -> float:
    """Every query note on every document note, each with an EMD of its own."""
    unit = query.notes["duration_ticks"].mean()
    a = np.column_stack([query.notes["onset_ticks"] / unit, query.notes["pitch_midi"]])
    b = np.column_stack([document.notes["onset_ticks"] / unit, document.notes["pitch_midi"]])
    heavy, light = query.notes["duration_ticks"], document.notes["duration_ticks"]
    least = min(emd(a + b[j] - a[i], heavy, b, light) for i in range(len(a)) for j in range(len(b)))
    if missing is None or light.sum() >= heavy.sum():
        return least
    return float((least * light.sum() + missing * (heavy.sum() - light.sum())) / heavy.sum())


@pytest.mark.parametrize("missing", [None, 2.0])
def test_it_is_the_least_distance_over_all_coincidences(missing: float | None) -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        query = random_melody(random, int(random.integers(1, 7)))
        documents = [random_melody(random, int(random.integers(1, 9))) for _ in range(4)]
        expected = [literal(query, document, missing) for document in documents]
        assert EMD(missing=missing).distances(query, documents) == pytest.approx(expected, abs=1e-9)


@pytest.mark.long
def test_the_variants_of_roslin_castle_come_first() -> None:
    distances = EMD(tempos=(0.5, 1.0, 2.0)).distances(CASTLE, TUNES)
    first = [TUNES[k].id for k in np.argsort(distances, kind="stable")[:6]]
    # The sixth variant, with bars put an octave lower, is far away in pitch.
    assert set(first) == {"roslin-castle", *(f"roslin-castle-{k}" for k in (2, 3, 4, 5, 7))}


def test_it_does_not_change_under_transposition_and_shift_nor_under_tempo_when_allowed() -> None:
    candidates = TUNES[:6]
    expected = EMD().distances(CASTLE, candidates)
    for query in (moved(CASTLE, up=5), moved(CASTLE, later=3)):
        assert EMD().distances(query, candidates) == pytest.approx(expected, abs=1e-9)
    there = [moved(tune, up=-4, later=2.5) for tune in candidates]
    assert EMD().distances(CASTLE, there) == pytest.approx(expected, abs=1e-9)
    slow = [moved(CASTLE, slower=2.0, up=3)]
    assert EMD(tempos=(1.0, 2.0)).distances(CASTLE, slow)[0] == 0
    assert EMD().distances(CASTLE, slow)[0] > 1


def test_a_part_is_found_inside_and_in_a_chord() -> None:
    inside = Melody.from_notes([0, 1, 2, 3, 3, 4, 4, 5], [1] * 8, [70, 71, 50, 60, 43, 62, 45, 64])
    query = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 62, 64])
    assert EMD().distances(query, [inside])[0] == 0


@pytest.mark.parametrize("ground", ["tonal", "cityblock"])
def test_other_ground_distances(ground: str) -> None:
    distances = EMD(ground=ground).distances(CASTLE, [CASTLE, TUNES[1], TUNES[40], Melody.from_notes([], [], [])])
    assert distances[0] == distances[1] == 0
    assert 0 < distances[2] < NOWHERE == distances[3]


def test_the_loop_for_other_alignments_agrees_with_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALIGNMENTS, "refined", ALIGNMENTS["coincidence"])
    candidates = [*TUNES[:9], Melody.from_notes([], [], [])]
    looped, batched = (EMD(alignment=name).distances(CASTLE, candidates) for name in ("refined", "coincidence"))
    assert looped.tolist() == batched.tolist()


def test_a_candidate_without_notes_is_nowhere_whatever_missing_costs() -> None:
    for missing in (None, 0.0, 2.0):
        assert EMD(missing=missing).distances(CASTLE, [Melody.from_notes([], [], [])]).tolist() == [NOWHERE]


def test_a_query_without_weight_is_refused() -> None:
    with pytest.raises(MelodyError, match="the query has no weight"):
        EMD().distances(Melody(note_table([(0, 0, 60, 162, False, 0, 0)])), [CASTLE])


def test_parameters() -> None:
    assert matcher("emd(tempos=[1, 2])") == EMD(tempos=(1, 2))
    assert repr(EMD(missing=None, semitone=0.5)) == "emd(semitone=0.5, missing=None)"
    assert matcher("emd(tempos=2)") == EMD(tempos=(2.0,))
    with pytest.raises(ArgumentError, match="emd: tempos must be one or more numbers above 0; got 'fast'"):
        matcher("emd(tempos=fast)")
    with pytest.raises(ArgumentError, match="semitone must be a number above 0"):
        matcher("emd(semitone=0)")
    with pytest.raises(UnknownNameError, match="unknown weight of emd 'mass'"):
        matcher("emd(weight='mass')")

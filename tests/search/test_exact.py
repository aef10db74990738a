"""The fast search gives the list that comparing everything would give."""

from __future__ import annotations

import numpy as np
import pytest

from roslin import Melody
from roslin.deadline import Work
from roslin.matchers import EMD
from roslin.represent.packed import Packed, pack
from roslin.search.engines import emd as engine
from roslin.search.engines.emd import Bounds, Index, NearestByEmd, build_index
from roslin.search.refine import refine
from roslin.transport.align import Query
from roslin.transport.bounds import can_be_bounded

SETTINGS = [
    EMD(),
    EMD(tempos=(0.5, 2 / 3, 1.0, 1.5, 2.0)),
    EMD(missing=None),
    EMD(missing=None, tempos=(0.5, 1.0, 2.0)),
    EMD(missing=0.5, unit="quarter"),
    EMD(ground="cityblock", semitone=0.5),
    EMD(weight="uniform", semitone=2.0),
    EMD(weight="uniform", missing=None, tempos=(1.0, 2.0)),
]

QUERIES = 80  # for each setting; tools/check_search.py asks 2,000 of a catalogue


def random_melody(random: np.random.Generator) -> Melody:
    """Mostly on a grid, sometimes with triplets, chords, leaps, long rests, or hardly any notes."""
    count = int(random.choice([1, 2, 4, 7, 10, 30], p=[0.03, 0.05, 0.3, 0.4, 0.2, 0.02]))
    step = float(random.choice([0.25, 0.5, 1.0, 1 / 3, 0.2], p=[0.4, 0.3, 0.15, 0.1, 0.05]))
    durations = step * random.choice([1, 1, 2, 3, 4], size=count)
    onsets = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    if random.random() < 0.1:
        onsets = onsets + np.cumsum(random.choice([0, 0, 0, 8], size=count))
    if random.random() < 0.1:
        onsets = np.sort(random.choice(onsets, size=count))
    leap = random.choice([2, 5, 12], p=[0.6, 0.35, 0.05])
    pitches = np.clip(random.integers(50, 80) + np.cumsum(random.integers(-leap, leap + 1, size=count)), 0, 127)
    return Melody.from_notes(onsets, durations, pitches)


def varied(melody: Melody, random: np.random.Generator) -> Melody:
    """A relative: transposed, later, faster or slower, a note changed."""
    notes = melody.notes
    factor = random.choice([0.5, 1.0, 1.0, 1.5, 2.0])
    pitches = notes["pitch_midi"].astype(int) + random.integers(-7, 8)
    pitches[random.integers(len(pitches))] += random.integers(-3, 4)
    times, durations = notes["onset_ticks"] / 40320, notes["duration_ticks"] / 40320
    return Melody.from_notes(factor * times + random.integers(0, 5), factor * durations, np.clip(pitches, 0, 127))


@pytest.fixture(scope="module")
def collection() -> tuple[Packed, Index]:
    random = np.random.default_rng(4)
    melodies = [random_melody(random) for _ in range(220)]
    melodies += [varied(melodies[int(random.integers(220))], random) for _ in range(80)]
    packed = pack(melodies)
    return packed, build_index(packed)


def brute_force(chosen: EMD, query: Melody, packed: Packed, k: int) -> list[tuple[float, int]]:
    distances = chosen.distances(query, packed)
    last = np.sort(distances)[k - 1]
    return sorted((float(distances[number]), int(number)) for number in np.flatnonzero(distances <= last))


@pytest.mark.long
@pytest.mark.parametrize("chosen", SETTINGS, ids=repr)
def test_the_nearest_are_those_of_comparing_everything(
    chosen: EMD, collection: tuple[Packed, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small pieces and samples, so that all stages take part in a collection of this size.
    monkeypatch.setattr(engine, "BOUNDED_AT_ONCE", 64)
    monkeypatch.setattr(engine, "FIRST_SAMPLE", 12)
    monkeypatch.setattr(engine, "ROUNDS", (4, 16))
    packed, index = collection
    random = np.random.default_rng(len(repr(chosen)))
    compared = 0
    for _ in range(QUERIES):
        query = random_melody(random)
        if random.random() < 0.5:
            number = int(random.integers(len(packed)))
            rows = slice(packed.offsets[number], packed.offsets[number + 1])
            query = varied(Melody(packed.notes[rows]), random)
        moving = Query.of(chosen.query_points([query]), chosen)
        if not can_be_bounded(moving, chosen):
            continue
        k = int(random.choice([1, 5, 10]))
        with Work(threads=int(random.integers(1, 3))) as work:
            searching = NearestByEmd(moving, chosen, packed, index, np.arange(len(packed)), work)
            found, _ = refine(searching, k, np.inf)
        expected = brute_force(chosen, query, packed, k)
        assert list(zip(found.keys.tolist(), found.numbers.tolist(), strict=True)) == expected
        compared += searching.compared
    assert compared < QUERIES * len(packed) * 0.8, "hardly anything is filtered out"


@pytest.mark.long
@pytest.mark.parametrize("chosen", SETTINGS[:4], ids=repr)
def test_within_a_radius_nothing_is_missed(chosen: EMD, collection: tuple[Packed, Index]) -> None:
    packed, index = collection
    random = np.random.default_rng(11)
    allowed = random.random(len(packed)) < 0.7
    filtered = 0
    for _ in range(40):
        query = random_melody(random)
        moving = Query.of(chosen.query_points([query]), chosen)
        if not can_be_bounded(moving, chosen):
            continue
        radius = float(random.choice([0.0, 0.2, 0.5, 1.0]))
        distances = chosen.distances(query, packed)
        inside = np.flatnonzero((distances <= radius) & allowed)
        with Work() as work:
            possible = Bounds(moving, chosen, index, allowed, work).possible(radius)
            searching = NearestByEmd(moving, chosen, packed, index, np.flatnonzero(allowed), work)
            found, _ = searching.within(radius)
        assert possible[inside].all()
        assert not possible[~allowed].any()
        assert found.tolist() == inside.tolist()
        filtered += int(allowed.sum() - possible.sum())
    assert filtered > 0


def test_documents_too_wide_or_too_long_for_a_table_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_SAMPLE", 4)
    random = np.random.default_rng(5)
    tune = [60, 62, 64, 65, 64, 62]
    wide = Melody.from_notes(range(8), [1] * 8, [20, *tune, 120])
    long = Melody.from_notes([*range(6), 9000], [1] * 7, [*tune, 60])
    too_long = Melody.from_notes([*range(6), 10**6], [1] * 7, [*tune, 60])
    packed = pack([random_melody(random) for _ in range(100)] + [wide, long, too_long])
    query = Melody.from_notes(range(6), [1] * 6, [pitch + 3 for pitch in tune])
    chosen = EMD()
    moving = Query.of(chosen.query_points([query]), chosen)
    with Work() as work:
        found, _ = refine(NearestByEmd(moving, chosen, packed, build_index(packed), np.arange(103), work), 3, np.inf)
    assert found.numbers.tolist() == [100, 101, 102]
    assert found.keys.tolist() == [0.0, 0.0, 0.0]

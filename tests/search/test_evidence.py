"""The order of evidence: that of comparing everything, with exact agreement named and never denied."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES, fitted, tables
from roslin.represent.line import melodic_line
from roslin.run import Run
from roslin.search import Request, search
from roslin.search.agreement import same_notes
from roslin.search.chance import Background, Null, WholeCollection, default_tails, mode_of, sample_of
from roslin.search.engines import roslin as engine
from roslin.starter import tunes_path

MODES = [Roslin(compare=what, place=place, key=key) for what, place, key in product(COMPARED, PLACES, KEYS)]
FRAGMENTS = int(os.environ.get("ROSLIN_EXACT_FRAGMENTS", "60"))


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("evidence") / "starter.roslin") as built:
        yield built


@pytest.fixture(scope="module")
def rism(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Every twelfth incipit of the sample."""
    with gzip.open(data_folder / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as lines:
        some = "".join(islice(lines, 0, None, 12))
    folder = tmp_path_factory.mktemp("rism")
    (folder / "some.jsonl").write_text(some, encoding="utf-8")
    with Collection.build(folder / "some.jsonl", folder / "some.roslin") as built:
        yield built


def tune(pitches: list[int], durations: list[float], id: str | None = None) -> Melody:
    onsets = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    return Melody.from_notes(onsets.tolist(), durations, pitches).with_metadata(id=id)


def made(random: np.random.Generator, notes: int) -> tuple[list[int], list[float]]:
    pitches = np.clip(66 + np.cumsum(random.choice([-4, -2, -1, 0, 1, 2, 3, 5], notes)), 40, 95)
    return pitches.tolist(), random.choice([0.25, 0.5, 0.75, 1.0, 2.0], notes, p=[0.1, 0.35, 0.1, 0.35, 0.1]).tolist()


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Tunes, variants and excerpts of them, and a few that are shorter than any query."""
    random = np.random.default_rng(27)
    tunes = [made(random, int(random.integers(5, 26))) for _ in range(1500)]
    for number in range(500):
        pitches, durations = tunes[int(random.integers(1500))]
        pitches = [*pitches]
        if number % 2:
            at = int(random.integers(len(pitches)))
            pitches[at] += int(random.integers(-2, 3))
        first = int(random.integers(len(pitches) - 2)) if number % 3 == 0 else 0
        tunes.append((pitches[first:], durations[first:]))
    melodies = [tune(*each, id=f"t{number:04}") for number, each in enumerate(tunes)]
    with Collection.build(melodies, tmp_path_factory.mktemp("many") / "many.roslin") as built:
        yield built


def by_brute_force(query: Melody, chosen: Roslin, collection: Collection, null: Null) -> list[tuple[float, str, float]]:
    """(key, id, E) of every melody by the plain kernel, the best first."""
    from roslin.matchers.roslin.table import table_of
    from roslin.native import kernels

    packed, count = collection.packed(), len(collection)
    sizes = np.diff(packed.offsets)
    asked, melodies = chosen.encoded(query, [query]), chosen.encoded(query, packed)
    worth = chosen.tables(query, int(max(sizes.max(), len(asked.pitches))))
    scores, own, others = (np.empty(size, np.int32) for size in (count, 1, count))
    kernels.align_all(asked, melodies, worth, np.arange(count), scores)
    kernels.self_scores(asked, worth, own)
    kernels.self_scores(melodies, worth, others)
    size, sizes = len(asked.pitches), np.diff(melodies.offsets).astype(np.int32)
    excess = null.excess(chosen.evidence(scores, int(own[0]), size, others, sizes), sizes)
    rarities = null.rarity(excess)
    agreement = same_notes(query, table_of(melodies, tables(fitted("both"), 1)), packed, np.arange(count), chosen)
    for number in np.flatnonzero((agreement.notes > 0) & agreement.is_full).tolist():
        rarities[number] = null.rarity_of_same(int(agreement.notes[number]))
    evidence = (rarities - np.log(count)) / np.log(10)
    keys = -(evidence + 1e-9 * np.clip(excess / max(int(own[0]), 1), -1.0, 1.0))
    return sorted(zip(keys.tolist(), collection.ids(), (10.0**-evidence).tolist(), strict=True))


@pytest.mark.long
def test_the_list_and_its_chances_are_those_of_comparing_everything(
    many: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "FIRST", 16)
    random = np.random.default_rng(2)
    packed, sample = many.packed(), sample_of(many)
    background = Background.among(packed, sample, lambda chosen, query: default_tails()[mode_of(chosen, query)])
    agreeing = 0
    for number in range(96):
        chosen = MODES[number % len(MODES)]
        pitches, durations = made(random, int(random.integers(4, 20)))
        kind = int(random.integers(4))
        if kind:
            source = many[int(random.integers(len(many)))].notes
            first = int(random.integers(max(len(source) - 6, 1))) * int(random.integers(2))
            last = first + int(random.integers(4, 14))
            pitches = (source["pitch_midi"][first:last].astype(int) + int(random.choice([0, 0, 3]))).tolist()
            durations = (source["duration_ticks"][first:last] / 40320).tolist()
        if kind == 3:  # longer than what it was taken from
            more = made(random, 20)
            pitches, durations = pitches + more[0], durations + more[1]
        query = tune(pitches, durations, "query")
        expected = by_brute_force(query, chosen, many, background.null(query, chosen))[:10]
        run = search(Request(query, chosen, 10, whole=WholeCollection(background, len(many))), many)
        assert run.ids == [id for _, id, _ in expected], (number, chosen)
        assert [hit.expected for hit in run] == pytest.approx([each for *_, each in expected], rel=1e-9)
        assert [hit.expected or 0.0 for hit in run] == sorted(hit.expected or 0.0 for hit in run)
        agreeing += sum(hit.same > 0 for hit in run)
    assert agreeing > 20


# -- exact agreement --------------------------------------------------------------------------------------------------


def fragment(melody: Melody, random: np.random.Generator, *, in_quarters: bool) -> Melody:
    """From 6 to 20 notes of the line of a melody, as they are or all in quarters."""
    line = melodic_line(melody)
    size = int(random.integers(6, min(len(line), 20) + 1))
    first = int(random.integers(len(line) - size + 1))
    notes = line[first : first + size].copy()
    if in_quarters:
        return Melody.from_notes(list(range(size)), [1] * size, notes["pitch_midi"].tolist())
    return Melody(notes)


def denied(collection: Collection, count: int) -> list[str]:
    """Of so many exact fragments, each with rhythm and in quarters, those that are not found as what they are."""
    random, found = np.random.default_rng(7), []
    order = random.permutation(len(collection)).tolist()
    long_enough = [number for number in order[: 3 * count] if len(melodic_line(collection[number])) > 5]
    for number, in_quarters in product(np.resize(long_enough, count).tolist(), (False, True)):
        source = collection[number]
        query = fragment(source, random, in_quarters=in_quarters)
        run = collection.search(query)
        same = [hit for hit in run if hit.meaning == "same notes" and (hit.id == source.id or hit.same == len(query))]
        if run.headline != "Found" or not same or not run.rankings[run.query].agreeing:
            typed = "in quarters" if in_quarters else "with rhythm"
            found.append(f"{source.id}: {query.notes['pitch_midi'].tolist()} {typed}: {run.headline}")
    return found


@pytest.mark.long
def test_no_exact_fragment_is_denied(starter: Collection) -> None:
    assert denied(starter, FRAGMENTS) == []


@pytest.mark.long
def test_no_exact_fragment_of_catalogued_sources_is_denied(rism: Collection) -> None:
    assert denied(rism, FRAGMENTS) == []


@pytest.mark.long
@pytest.mark.parametrize("place", PLACES)
def test_an_identical_melody_has_the_same_notes_and_is_never_denied(starter: Collection, place: str) -> None:
    for melody in list(starter)[::6]:
        run = starter.search(melody, place=place, exclude=())
        assert_named(run, melody)


@pytest.mark.long
@pytest.mark.parametrize("compare", ["rhythm", "contour"])
def test_an_identical_melody_is_never_chance_where_rhythm_or_contour_is_compared(
    starter: Collection, compare: str
) -> None:
    for melody in list(starter)[::20]:
        assert_named(starter.search(melody, compare=compare, exclude=()), melody)
    first = starter[0]
    higher = Melody.from_notes(
        first.notes["onset_ticks"] / 40320,
        first.notes["duration_ticks"] / 40320,
        first.notes["pitch_midi"][::-1].tolist(),
    )
    beginning = fragment(first, np.random.default_rng(1), in_quarters=False)
    for query in (higher, beginning):  # another melody in this rhythm, and a part
        assert not any(hit.same for hit in starter.search(query, compare=compare))


@pytest.mark.long
def test_a_few_notes_or_one_again_and_again_are_never_denied(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    tunes = [made(random, int(random.integers(4, 12))) for _ in range(300)]
    tunes += [([60] * notes, [1.0] * notes) for notes in range(4, 16)]
    tunes += [(list(range(60, 60 + notes)), [0.5] * notes) for notes in range(4, 16)]
    melodies = [tune(*each, id=f"t{number:03}") for number, each in enumerate(tunes)]
    with Collection.build(melodies, tmp_path / "few.roslin") as collection:
        for melody in melodies[240:]:
            assert_named(collection.search(melody, k=30), melody)


def assert_named(run: Run, melody: Melody) -> None:
    assert run.headline == "Found"
    (hit,) = [hit for hit in run if hit.id == melody.id]
    assert (hit.meaning, hit.same) == ("same notes", len(melodic_line(melody)))
    assert hit.is_above_chance
    assert hit.distance == 0


# -- endings ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_melody_is_found_by_its_ending(starter: Collection) -> None:
    random = np.random.default_rng(8)
    beginnings = 0
    for number in random.permutation(len(starter))[:20].tolist():
        melody = starter[number]
        line = melodic_line(melody)
        ending, beginning = Melody(line[-10:].copy()), Melody(line[:10].copy())
        run = starter.search(ending, place="end")
        assert run.name == "roslin(place='end')"
        assert run.headline == "Found"
        same = [hit for hit in run if hit.same == len(ending)]
        assert melody.id in {hit.id for hit in same} or len(same) == 10
        for hit in same:
            found = melodic_line(starter[hit.id])["pitch_midi"][-len(ending) :].astype(int)
            assert np.array_equal(np.diff(found), np.diff(ending.notes["pitch_midi"].astype(int)))
        at_end = [hit for hit in starter.search(beginning, place="end") if hit.id == melody.id and hit.same]
        beginnings += len(at_end)
    assert beginnings < 10  # a tune that ends as it begins

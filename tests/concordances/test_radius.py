"""All pairs within a radius: those of comparing every two, both ways, whatever shortcut a matcher has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, matcher
from roslin.concordances.certainty import Certainty
from roslin.concordances.concordance import Concordances, earlier_pairs, find_concordances
from roslin.concordances.pairs import MOST_COPIES, FoundPairs
from roslin.concordances.radius_join import find_within
from roslin.deadline import Work
from roslin.errors import ArgumentError, TimeLimitError
from roslin.notation import load
from roslin.search import Request, within_radius
from roslin.starter import tunes_path


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Beginnings of eighty tunes, three of them twice; one melody without notes, and one of grace notes."""
    tunes = [tune[:14] for tune in load(tunes_path())[:80]]
    again = [tune.with_metadata(id=f"{tune.id}-again") for tune in tunes[:3]]
    notes = tunes[0].notes.copy()
    notes["is_grace"] = True
    silent = [Melody.from_notes([], [], [], id="silent"), replace(tunes[0], notes=notes, id="graces")]
    path = tmp_path_factory.mktemp("radius") / "few.roslin"
    with Collection.build([*tunes, *again, *silent], path) as built:
        yield built


def by_hand(tunes: Collection, name: str) -> dict[tuple[int, int], float]:
    """Every melody against all others, each as a query; the smaller distance of the two."""
    found: dict[tuple[int, int], float] = {}
    for query in range(len(tunes)):
        melody = tunes[query]
        if not len(melody) or melody.notes["is_grace"].all():
            continue
        for other, distance in enumerate(matcher(name).distances(melody, tunes).tolist()):
            pair = (min(query, other), max(query, other))
            if other != query and np.isfinite(distance):
                found[pair] = min(distance, found.get(pair, np.inf))
    return found


def pairs_of(found: FoundPairs) -> dict[tuple[int, int], float]:
    ends = zip(found.first.tolist(), found.second.tolist(), strict=True)
    return dict(zip(ends, found.distances.tolist(), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("name", ["roslin", "emd", "twv", "dp", "us", "shapeh"])
def test_the_pairs_are_those_of_comparing_every_two(few: Collection, name: str) -> None:
    every = by_hand(few, name)
    radius = sorted(every.values())[len(every) // 50]
    expected = {pair: distance for pair, distance in every.items() if distance <= radius}
    with Work(threads=2) as work:
        found = find_within(few, name, radius, work)
    copies = {pair for pair, is_copy in zip(pairs_of(found), found.is_copy.tolist(), strict=True) if is_copy}
    assert copies == {(0, 80), (1, 81), (2, 82), (50, 52)}
    ours = pairs_of(found)
    assert ours.keys() == expected.keys()
    assert [ours[pair] for pair in expected] == pytest.approx(list(expected.values()), abs=1e-9)
    assert np.isnan(found.expected).all()
    assert (found.level, found.matcher) == (radius, repr(matcher(name)))


def test_a_pair_counts_if_one_way_is_within(tmp_path: Path) -> None:
    whole, fragment = load("@c '4CDEF/GABG/4FEDC/2G4CC//")[0], load("@c '4GABG/4FED//")[0]
    name = "dp(place='inside')"
    there, back = (float(matcher(name).distances(*each)[0]) for each in ((fragment, [whole]), (whole, [fragment])))
    assert there < back
    tunes = [whole.with_metadata(id="whole"), fragment.with_metadata(id="fragment")]
    with Collection.build(tunes, tmp_path / "two.roslin") as two, Work() as work:
        found = find_within(two, name, (there + back) / 2, work)
    assert pairs_of(found) == {(0, 1): there}


@pytest.mark.parametrize("name", ["roslin", "roslin(compare='contour')", "emd", "twv", "dp"])
def test_within_a_radius_nothing_is_missing(few: Collection, name: str) -> None:
    chosen = matcher(name)
    distances = chosen.distances(few[5], few)
    radius = float(np.sort(distances[np.isfinite(distances)])[min(9, np.isfinite(distances).sum() - 1)])
    with Work() as work:
        numbers, found = within_radius(Request(few[5], chosen, radius=radius), few, work)
        some, _ = within_radius(Request(few[5], matcher("dp"), within=np.array([3, 7])), few, work)
    assert numbers.tolist() == np.flatnonzero(distances <= radius).tolist()
    assert found == pytest.approx(distances[numbers], abs=1e-9)
    assert some.tolist() == [3, 7]


def test_only_pairs_with_a_new_melody(few: Collection) -> None:
    new = np.array([4, 80])
    with Work() as work:
        everything, some = (find_within(few, "dp", 4.0, work, new=each) for each in (None, new))
    wanted = {pair for pair in pairs_of(everything) if {4, 80} & set(pair)}  # 80 is the same as 0
    assert set(pairs_of(some)) == wanted
    assert not some.is_all


def test_it_goes_on_after_an_interruption(few: Collection, tmp_path: Path) -> None:
    with Work() as work:
        whole = find_within(few, "dp", 4.0, work)

    def stop(done: float, _: str) -> None:
        if done > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Work(progress=stop) as work:
        find_within(few, "dp", 4.0, work, folder=tmp_path / "work")
    assert len(list((tmp_path / "work").glob("near-*.bin"))) == 1
    with Work() as work:
        found = find_within(few, "dp", 4.0, work, folder=tmp_path / "work")
    assert pairs_of(found) == pairs_of(whole)
    with Work() as work, pytest.raises(ArgumentError, match="contains the work of another comparison"):
        find_within(few, "dp", 3.0, work, folder=tmp_path / "work")


@pytest.mark.parametrize("radius", [-1.0, float("nan"), float("inf")])
def test_a_radius_that_makes_no_sense(few: Collection, radius: float) -> None:
    with Work() as work, pytest.raises(ArgumentError, match="the radius must be a distance, at least 0; got"):
        find_within(few, "dp", radius, work)


def test_limits_of_time_hold(few: Collection) -> None:
    with pytest.raises(TimeLimitError), Work(seconds=1e-9) as work:
        find_within(few, "dp", 1.0, work)


@pytest.mark.long
def test_too_many_copies_are_linked_to_the_first_only(tmp_path: Path) -> None:
    many = MOST_COPIES + 1
    texts = ["@c '4CDEF/GABG//"] * many + ["@c '4CDEF/GAAG//"] * 2
    tunes = [load(text)[0].with_metadata(id=str(place)) for place, text in enumerate(texts)]
    with Collection.build(tunes, tmp_path / "many.roslin") as built, Work() as work:
        found = find_within(built, "dp", 10.0, work)
    assert set(pairs_of(found)) == {(0, place) for place in range(1, many + 2)} | {(many, many + 1)}
    assert found.folded == many - 1


def test_every_two_melodies_are_compared_once(few: Collection) -> None:
    """Copies and what has no notes are compared by none; of new melodies, those among themselves are counted once."""
    with Work() as work:
        everything, some = (find_within(few, "dp", 0.0, work, new=new) for new in (None, np.array([4, 80])))
    count = 79  # two of the eighty have the same notes
    assert everything.compared == count * (count - 1) // 2
    assert some.compared == 1 + 2 * (count - 2)


def test_a_melody_too_long_for_the_matcher_has_no_pairs(tmp_path: Path) -> None:
    size = 450  # `emd` takes at most 447 notes
    long = Melody.from_notes(np.arange(size), np.ones(size), 60 + np.arange(size) % 7, id="long")
    tunes = [long, long.with_metadata(id="again"), *load(tunes_path())[:2]]
    with Collection.build(tunes, tmp_path / "long.roslin") as built, Work() as work:
        found = find_within(built, "emd", 1e9, work)
    assert set(pairs_of(found)) == {(2, 3)}


def test_words_and_files(few: Collection, tmp_path: Path) -> None:
    wanted = Certainty(4.0, "dp")
    with Work() as work:
        found = find_concordances(few, wanted, work, tmp_path / "found")
        with pytest.raises(ArgumentError, match="--fast cannot be used with --radius; use it with --level"):
            find_concordances(few, wanted, work, tmp_path / "other", exact=False)
    again = Concordances.read(tmp_path / "found", few)
    assert again.certainty == wanted
    assert pairs_of(again.pairs) == pairs_of(found.pairs)
    # Stable is what half the radius would still hold together.
    for group in again.groups:
        near = {int(place) for place in group.pairs if again.pairs.distances[place] <= 2.0}
        assert (group.stability == 1.0) or len(near) < len(group.pairs)


# -- since ----------------------------------------------------------------------------------------------------------


def test_since_earlier_ones_gives_what_a_full_comparison_gives(few: Collection, tmp_path: Path) -> None:
    """Some are added, some are gone, among them one that stood for its copy; numbers are others."""
    tunes = list(few)
    before = tunes[:60] + tunes[80:83]
    after = tunes[1:50] + tunes[55:80] + tunes[80:85]
    with Work() as work:
        with Collection.build(before, tmp_path / "tunes.roslin") as earlier:
            find_concordances(earlier, Certainty(4.0, "dp"), work, tmp_path / "earlier")
        with Collection.build(after, tmp_path / "tunes.roslin") as now:
            full = find_within(now, "dp", 3.5, work)
            since = find_within(now, "dp", 3.5, work, earlier=earlier_pairs(tmp_path / "earlier"))
    assert pairs_of(since) == pairs_of(full)
    assert since.is_copy.tolist() == full.is_copy.tolist()
    assert since.is_all


def test_distances_that_depend_on_all_are_not_taken_over(few: Collection, tmp_path: Path) -> None:
    with Work() as work:
        find_concordances(few, Certainty(0.5, "shapeh"), work, tmp_path / "earlier")
        with pytest.raises(ArgumentError, match="a distance by shapeh depends on the whole collection"):
            find_within(few, "shapeh", 0.5, work, earlier=earlier_pairs(tmp_path / "earlier"))

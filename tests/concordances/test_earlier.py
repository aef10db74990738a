"""What is new since earlier concordances: the same pairs as a full comparison, but for those that chance moved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody
from roslin.concordances.certainty import Certainty
from roslin.concordances.concordance import (
    FARTHEST_DOUBT,
    Concordances,
    earlier_pairs,
    find_concordances,
    kept_concordances,
    kept_state,
)
from roslin.concordances.join import find_pairs
from roslin.concordances.pairs import FoundPairs
from roslin.deadline import Work
from roslin.errors import ArgumentError, CollectionError
from roslin.notation import load
from roslin.starter import tunes_path

LEVEL = 0.01
Measured = dict[tuple[str, str], tuple[float, float, bool]]


@pytest.fixture(scope="module")
def tunes() -> list[Melody]:
    """All tunes, six of them twice under other names: each second one stands before the first."""
    tunes = load(tunes_path())
    return [tune.with_metadata(id=f"copy-{tune.id}") for tune in tunes[-6:]] + tunes


def old(tunes: list[Melody]) -> list[Melody]:
    """Four of five, and the copies."""
    return [tune for place, tune in enumerate(tunes) if place < 6 or place % 5]


@pytest.fixture(scope="module")
def before(tunes: list[Melody], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The concordances of most of the tunes."""
    place = tmp_path_factory.mktemp("earlier")
    with Collection.build(old(tunes), place / "tunes.roslin") as built, Work() as work:
        find_concordances(built, Certainty(LEVEL), work, place / "tunes.concordances")
    return place / "tunes.concordances"


def measured(found: FoundPairs, collection: Collection) -> Measured:
    ids = collection.ids(np.arange(len(collection)))
    ends = zip(found.first.tolist(), found.second.tolist(), strict=True)
    rows = zip(found.distances.tolist(), found.expected.tolist(), found.is_copy.tolist(), strict=True)
    return {(ids[first], ids[second]): row for (first, second), row in zip(ends, rows, strict=True)}


def compared(now: Collection, before: Path, work: Work) -> tuple[Measured, Measured]:
    """All pairs, by a full comparison and since the earlier one."""
    full = find_pairs(now, LEVEL, work)
    since = find_pairs(now, LEVEL, work, earlier=earlier_pairs(before))
    assert since.is_all
    assert since.is_exact
    assert since.compared < full.compared
    return measured(full, now), measured(since, now)


@pytest.mark.long
def test_melodies_that_were_added(tunes: list[Melody], before: Path, tmp_path: Path) -> None:
    with Collection.build(tunes, tmp_path / "tunes.roslin") as now, Work() as work:
        full, since = compared(now, before, work)
    with Collection(before.with_name("tunes.roslin")) as then:
        known = measured(Concordances.read(before, then).pairs, then)
    old_ids = {tune.id for tune in old(tunes)}
    assert len(full) > 40
    assert since.items() <= full.items()
    # What is missing are pairs of two old melodies that were beyond the level: chance has moved, nothing else.
    for first, second in full.keys() - since.keys():
        assert {first, second} <= old_ids
        assert (first, second) not in known
    assert any(not {first, second} <= old_ids for first, second in since)


@pytest.mark.long
def test_melodies_that_are_gone_and_changed_and_in_another_order(
    tunes: list[Melody], before: Path, tmp_path: Path
) -> None:
    """Those that stood for a copy are gone; others have other notes under the same id."""
    later = [tune.transposed(3)[:-2].with_metadata(id=tune.id) for tune in tunes[6:16]]
    kept = [*reversed(tunes[16:]), *later]
    with Collection.build(kept, tmp_path / "tunes.roslin") as now, Work() as work:
        full, since = compared(now, before, work)
    assert since.items() <= full.items()
    assert len(since) >= 0.95 * len(full)
    assert not any(id.startswith("copy-") for pair in since for id in pair)


@pytest.mark.long
def test_nothing_is_new(tunes: list[Melody], before: Path, tmp_path: Path) -> None:
    with Collection.build(old(tunes), tmp_path / "tunes.roslin") as now, Work() as work:
        full, since = compared(now, before, work)
        stricter, again = (find_pairs(now, LEVEL / 10, work, earlier=each) for each in (earlier_pairs(before), None))
        assert since == full
        assert measured(stricter, now) == measured(again, now)


def test_everything_is_new(tunes: list[Melody], before: Path, tmp_path: Path) -> None:
    others = [tune[2:] for tune in tunes[:60]]
    with Collection.build(others, tmp_path / "others.roslin") as now, Work() as work:
        full = find_pairs(now, LEVEL, work)
        since = find_pairs(now, LEVEL, work, earlier=earlier_pairs(before))
        assert measured(since, now) == measured(full, now)


@pytest.mark.long
def test_it_goes_on_after_an_interruption(tunes: list[Melody], before: Path, tmp_path: Path) -> None:
    def stop(done: float, _: str) -> None:
        if done > 0.2:
            raise KeyboardInterrupt

    with Collection.build(tunes, tmp_path / "tunes.roslin") as now:
        earlier = earlier_pairs(before)
        with pytest.raises(KeyboardInterrupt), Work(progress=stop) as work:
            find_pairs(now, LEVEL, work, folder=tmp_path / "work", earlier=earlier)
        with Work() as work:
            found = find_pairs(now, LEVEL, work, folder=tmp_path / "work", earlier=earlier)
            whole = find_pairs(now, LEVEL, work, earlier=earlier)
        assert measured(found, now) == measured(whole, now)


def test_the_folder_itself_can_be_gone_on_with(tunes: list[Melody], tmp_path: Path) -> None:
    folder = tmp_path / "tunes.concordances"
    with Work() as work:
        with Collection.build(tunes[:60], tmp_path / "tunes.roslin") as built:
            find_concordances(built, Certainty(LEVEL), work, folder)
        with Collection.build(tunes[:90], tmp_path / "tunes.roslin") as built:
            found = find_concordances(built, Certainty(LEVEL), work, folder, earlier=earlier_pairs(folder))
            assert measured(Concordances.read(folder, built).pairs, built) == measured(found.pairs, built)
    assert len(list(folder.iterdir())) == 2


@pytest.mark.long
def test_whoever_stops_a_full_comparison_may_go_on_since(tunes: list[Melody], before: Path, tmp_path: Path) -> None:
    def stop(done: float, _: str) -> None:
        if done > 0.2:
            raise KeyboardInterrupt

    with Collection.build(tunes, tmp_path / "tunes.roslin") as now:
        with pytest.raises(KeyboardInterrupt), Work(progress=stop) as work:
            find_concordances(now, Certainty(LEVEL), work, tmp_path / "found")
        assert (tmp_path / "found" / "work").is_dir()
        with Work() as work:
            find_concordances(now, Certainty(LEVEL), work, tmp_path / "found", earlier=earlier_pairs(before))
    assert not list((tmp_path / "found").glob("work*"))


# -- what is refused ------------------------------------------------------------------------------------------------


def test_a_looser_level_than_before(before: Path) -> None:
    earlier = earlier_pairs(before)
    earlier.check(Certainty(FARTHEST_DOUBT))
    with pytest.raises(ArgumentError, match="at least 10%, and must go as far as a probability of at least 5%"):
        earlier.check(Certainty(0.95))


@pytest.mark.parametrize(
    ("known", "wanted", "message"),
    [
        (Certainty(1.0), Certainty(1.0, "dp"), "were found by their probability, and must be found by that of dp here"),
        (
            Certainty(1.0, "dp"),
            Certainty(1.0),
            "found by the distance of dp, and must be found by their probability here",
        ),
        (Certainty(1.0, "dp"), Certainty(1.0, "emd"), "by the distance of dp, and must be found by that of emd"),
    ],
)
def test_another_measure_than_before(before: Path, known: Certainty, wanted: Certainty, message: str) -> None:
    from dataclasses import replace

    with pytest.raises(ArgumentError, match=message):
        replace(earlier_pairs(before), certainty=known).check(wanted)


def test_pairs_without_those_of_copies_are_found_again(before: Path, tmp_path: Path) -> None:
    """An earlier version kept of several copies the pairs of the first only."""
    folder = copied(before, tmp_path, {"form": 1})
    with Collection(before.with_name("tunes.roslin")) as now:
        with pytest.raises(CollectionError, match="were found by an earlier version of Roslin; find them again"):
            Concordances.read(folder, now)
        assert kept_concordances(now, Certainty(LEVEL), folder, exact=True) is None


@pytest.mark.parametrize("change", [{"roslin": "0.0"}, {"all": False}])
def test_what_cannot_be_a_beginning(before: Path, tmp_path: Path, change: dict[str, object]) -> None:
    folder = copied(before, tmp_path, change)
    with pytest.raises(ArgumentError, match="--since needs concordances of a whole collection, found by this version"):
        earlier_pairs(folder)


def test_without_digests_there_is_no_beginning(before: Path, tmp_path: Path) -> None:
    with Collection(before.with_name("tunes.roslin")) as then:
        Concordances.read(before, then).write(tmp_path / "found")
    with pytest.raises(ArgumentError, match="--since needs concordances of a whole collection, found by this version"):
        earlier_pairs(tmp_path / "found")


def test_damage(before: Path, tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="no concordances that can be read"):
        earlier_pairs(tmp_path)
    folder = copied(before, tmp_path / "a", {"pairs": "nothing.bin"})
    with pytest.raises(CollectionError, match="no concordances that can be read"):
        earlier_pairs(folder)
    folder = copied(before, tmp_path / "b", {"melodies": 3})
    with pytest.raises(CollectionError, match=r"damaged: \d+ digests of 3 melodies"):
        earlier_pairs(folder)
    folder = copied(before, tmp_path / "c", {})
    pairs = next(folder.glob("pairs-*.bin"))
    for damage in (pairs.read_bytes()[:-1], pairs.read_bytes()[:-1] + b"?", b"PK\x03\x04 nothing"):
        pairs.write_bytes(damage)
        with pytest.raises(CollectionError, match=r"no concordances that can be read \(pairs-.* missing or damaged\)"):
            earlier_pairs(folder)
    with pytest.raises(CollectionError, match="no concordances that can be read"):
        earlier_pairs(folder)
    (folder / "about.json").write_text("[]")
    with pytest.raises(CollectionError, match="no concordances that can be read"):
        earlier_pairs(folder)


def copied(before: Path, place: Path, change: dict[str, object]) -> Path:
    place.mkdir(exist_ok=True)
    for path in before.glob("*.*"):
        (place / path.name).write_bytes(path.read_bytes())
    about = json.loads((place / "about.json").read_text())
    (place / "about.json").write_text(json.dumps(about | change))
    return place


def test_only_some_and_since(before: Path, tmp_path: Path) -> None:
    earlier, message = earlier_pairs(before), "--only and --since cannot be combined"
    with (
        Collection(before.with_name("tunes.roslin")) as now,
        Work() as work,
        pytest.raises(ArgumentError, match=message),
    ):
        find_concordances(now, Certainty(LEVEL), work, tmp_path, new=np.array([1]), earlier=earlier)


# -- what is there already ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_what_is_there_is_not_found_again(before: Path, tmp_path: Path) -> None:
    with Collection(before.with_name("tunes.roslin")) as now:
        loose = kept_concordances(now, Certainty(0.5), before, exact=True)
        assert loose is not None
        assert Concordances.read(before, now).certainty == Certainty(0.5)
        strict = kept_concordances(now, Certainty(LEVEL), before, exact=True)
        assert strict is not None
        with Work() as work:
            assert measured(loose.pairs, now) == measured(find_pairs(now, 0.5, work), now)
            assert measured(strict.pairs, now) == measured(find_pairs(now, LEVEL, work), now)
        assert len(strict.pairs) < len(loose.pairs)
        assert kept_concordances(now, Certainty(LEVEL), before, exact=False) is not None
        assert kept_concordances(now, Certainty(0.95), before, exact=True) is None
        assert kept_concordances(now, Certainty(LEVEL, "dp"), before, exact=True) is None
        assert kept_concordances(now, Certainty(LEVEL), tmp_path, exact=True) is None
    assert kept_state(tmp_path) is None
    for text in ("[]", "{", ""):
        (tmp_path / "about.json").write_text(text)
        assert kept_state(tmp_path) is None
    folder = copied(before, tmp_path / "old", {"reach": -1.0})
    with Collection(before.with_name("tunes.roslin")) as now:
        assert kept_concordances(now, Certainty(LEVEL), folder, exact=True) is None
    with Collection.build(load(tunes_path())[:20], tmp_path / "other.roslin") as other:
        assert kept_concordances(other, Certainty(LEVEL), before, exact=True) is None


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("wanted", [Certainty(LEVEL), Certainty(1.0, "dp")])
def test_a_collection_without_pairs(tunes: list[Melody], tmp_path: Path, count: int, wanted: Certainty) -> None:
    with Collection.build(tunes[:count], tmp_path / "few.roslin") as few, Work() as work:
        found = find_concordances(few, wanted, work, tmp_path / "found")
        assert (len(found.pairs), found.groups) == (0, [])
        assert len(Concordances.read(tmp_path / "found", few).pairs) == 0

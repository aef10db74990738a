"""All pairs of a collection: the same as comparing every two, however the work is cut, interrupted or narrowed."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, load
from roslin.concordances import blocking, join
from roslin.concordances.certainty import NEVER, Certainty, Chances, probability
from roslin.concordances.concordance import FARTHEST_DOUBT, concordances_folder, find_concordances
from roslin.concordances.join import Join, chance_piece, find_pairs, pair_piece
from roslin.concordances.pairs import FoundPairs, digests_of, firsts_of
from roslin.concordances.resume import Journal
from roslin.deadline import Work
from roslin.errors import ArgumentError, CollectionError
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.table import backwards
from roslin.native import kernels
from roslin.search import Request, search
from roslin.search.chance import TAIL_SHARE, between, middles_and_spreads, sample_of, tails_of
from roslin.search.engines.roslin import open_table
from roslin.starter import tunes_path
from roslin.types import Floats

LEVEL = 0.1


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("pairs") / "starter.roslin") as built:
        yield built


@pytest.fixture(scope="module")
def exact(starter: Collection) -> FoundPairs:
    with Work() as work:
        return find_pairs(starter, LEVEL, work)


def as_set(found: FoundPairs) -> set[tuple[int, int]]:
    return set(zip(found.first.tolist(), found.second.tolist(), strict=True))


def same(one: FoundPairs, two: FoundPairs) -> bool:
    names = ("first", "second", "distances", "expected", "is_copy")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


def chances(starter: Collection, number: int) -> tuple[Floats, Floats]:
    """The second route: a melody compared with every other by the plain kernel; (E, distances)."""
    chosen, packed, query = Roslin(compare="both"), starter.packed(), starter[number]
    asked, melodies = chosen.encoded(query, [query]), chosen.encoded(query, packed)
    worth = chosen.tables(query, int(np.diff(packed.offsets).max()))
    scores, own, others = (np.empty(size, np.int32) for size in (len(packed), 1, len(packed)))
    kernels.align_all(asked, melodies, worth, np.arange(len(packed)), scores)
    kernels.self_scores(asked, worth, own)
    kernels.self_scores(melodies, worth, others)
    turned = np.empty(1, np.int32)
    kernels.align_all(asked, backwards(asked), worth, np.zeros(1, np.int64), turned)
    tail = between(tails_of(starter, "both/anywhere/any"), len(asked.pitches))
    begins, scales = tail.of(
        *middles_and_spreads(scores[sample_of(starter)].astype(float)[None, :]), turned.astype(np.float64)
    )
    above = np.maximum(np.minimum(scores, own) - begins, 0.0)
    rare = np.exp(-above / scales) if scales[0] > 0 else np.ones(len(packed))
    return len(packed) * TAIL_SHARE * rare, chosen.distances_of(scores, int(own[0]), others)


@pytest.mark.long
def test_the_pairs_are_those_of_comparing_each_melody_with_all(starter: Collection, exact: FoundPairs) -> None:
    table = open_table(starter)
    distinct = np.flatnonzero(firsts_of(digests_of(table)) == np.arange(len(starter)))
    known = {number: chances(starter, number) for number in distinct.tolist()}
    found = set()
    for number in distinct[::4].tolist():
        for other in distinct[distinct != number].tolist():
            seen = np.sqrt(known[number][0][other] * known[other][0][number])
            distance = known[number][1][other]
            if 1 - probability(np.array([seen]), np.array([distance]))[0] <= LEVEL:
                found.add((min(number, other), max(number, other)))
    assert len(found) > 20
    assert found <= as_set(exact)
    asked = {pair for pair in as_set(exact) if set(pair) & set(distinct[::4].tolist()) and set(pair) <= set(distinct)}
    assert found == asked


@pytest.mark.long
def test_distance_and_chance_are_those_of_the_plain_kernel(starter: Collection, exact: FoundPairs) -> None:
    compared = np.flatnonzero(~exact.is_copy)
    for place in compared[:: max(len(compared) // 12, 1)].tolist():
        first, second = int(exact.first[place]), int(exact.second[place])
        seen = 1.0
        for query, other in ((first, second), (second, first)):
            expected, distances = chances(starter, query)
            assert distances[other] == pytest.approx(exact.distances[place], abs=1e-12)
            run = search(Request(starter[query], Roslin(compare="both"), len(starter)), starter)
            hit = next(hit for hit in run if hit.id == starter[other].id)
            assert hit.distance == pytest.approx(exact.distances[place], abs=1e-12)
            seen *= expected[other]
        assert np.sqrt(seen) == pytest.approx(exact.expected[place], rel=1e-6)


def test_known_families(starter: Collection, exact: FoundPairs) -> None:
    ids = starter.ids()
    pairs = {(ids[one], ids[two]) for one, two in as_set(exact)}
    assert ("roslin-castle", "roslin-castle-2") in pairs
    assert not any({"roslin-castle", "white-cockade"} == set(pair) for pair in pairs)


@pytest.mark.long
def test_threads_and_interruptions_change_nothing(starter: Collection, exact: FoundPairs, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(done: float, _: str) -> None:
        if done > 0.2:
            raise StoppedError

    with pytest.raises(StoppedError), Work(progress=stop) as work:
        find_pairs(starter, LEVEL, work, folder=tmp_path)
    journal = Journal(tmp_path, json.loads((tmp_path / "about.json").read_text()))
    assert journal.unfinished(join._CHANCE, 1) == []
    assert journal.unfinished(join._PAIRS, 1) == [0]
    with Work(threads=2) as work:
        assert same(find_pairs(starter, LEVEL, work, folder=tmp_path), exact)
    with Work() as work:  # everything is there already
        assert same(find_pairs(starter, LEVEL, work, folder=tmp_path), exact)


@pytest.mark.long
def test_pieces_parts_and_threads_change_nothing(
    starter: Collection, exact: FoundPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Work() as work:
        at_once = find_pairs(starter, LEVEL, work, exact=False)
    monkeypatch.setattr(join, "PAIRED_AT_ONCE", 40)
    monkeypatch.setattr(blocking, "NOTES_AT_ONCE", 700)
    for threads in (1, 2):
        with Work(threads) as work:
            assert same(find_pairs(starter, LEVEL, work, exact=False), at_once)
            assert same(find_pairs(starter, LEVEL, work), exact)


@pytest.mark.long
@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("name", ["melodies", "table", "letters", "needed", "buckets"])
def test_a_damaged_file_of_what_is_prepared_is_made_again(
    starter: Collection, tmp_path: Path, name: str, is_cut: bool
) -> None:
    with Work() as work:
        expected = find_pairs(starter, LEVEL, work, folder=tmp_path, exact=False)
    path = tmp_path / f"{name}.bin"
    path.write_bytes(path.read_bytes()[:-1] if is_cut else path.read_bytes()[:-8] + b"\xff" * 8)
    for piece in tmp_path.glob("pairs-*.bin"):
        piece.unlink()
    with Work() as work:
        assert same(find_pairs(starter, LEVEL, work, folder=tmp_path, exact=False), expected)


@pytest.mark.long
def test_a_damaged_piece_is_made_again(starter: Collection, exact: FoundPairs, tmp_path: Path) -> None:
    with Work() as work:
        find_pairs(starter, LEVEL, work, folder=tmp_path)
    for piece in tmp_path.glob("*-*.bin"):
        piece.write_bytes(piece.read_bytes()[:-40])
    with Work() as work:
        assert same(find_pairs(starter, LEVEL, work, folder=tmp_path), exact)


@pytest.mark.long
def test_a_piece_of_something_else_is_refused(starter: Collection, tmp_path: Path) -> None:
    with Work() as work:
        find_pairs(starter, LEVEL, work, folder=tmp_path)
    changed = Join(str(starter.path), "another", str(tmp_path), is_exact=True, is_all=True, asked="")
    with pytest.raises(CollectionError, match="the collection has changed since the work began"):
        chance_piece(changed, 0)
    (tmp_path / "table.bin").write_bytes(b"something else")
    damaged = Join(str(starter.path), starter.about["token"], str(tmp_path), is_exact=True, is_all=True, asked="")
    with pytest.raises(CollectionError, match=r"damaged: table.bin is not what was written"):
        pair_piece(damaged, 0)
    journal = Journal(tmp_path, json.loads((tmp_path / "about.json").read_text()))
    with pytest.raises(ArgumentError, match=r"pairs-000001.bin is missing"):
        journal.columns(join._PAIRS, 2)


def test_another_comparison_is_not_mixed_in(starter: Collection, tmp_path: Path) -> None:
    with Work() as work:
        find_pairs(starter, LEVEL, work, folder=tmp_path)
    with Work() as work, pytest.raises(ArgumentError, match="contains the work of another comparison"):
        find_pairs(starter, 2 * LEVEL, work, folder=tmp_path)


@pytest.mark.long
def test_the_unfinished_work_of_another_version_must_begin_again(starter: Collection, tmp_path: Path) -> None:
    with Work() as work:
        expected = find_pairs(starter, LEVEL, work, folder=tmp_path / "work")
        about = tmp_path / "work" / "about.json"
        about.write_text(json.dumps(json.loads(about.read_text()) | {"version": 3}))
        with pytest.raises(ArgumentError, match=r"another version of Roslin began this comparison.*delete the folder"):
            find_pairs(starter, LEVEL, work, folder=tmp_path / "work")
        shutil.rmtree(tmp_path / "work")
        assert same(find_pairs(starter, LEVEL, work, folder=tmp_path / "work"), expected)


def test_only_new_melodies(starter: Collection, exact: FoundPairs) -> None:
    new = starter.numbers(["roslin-castle-3", "greensleeves", "greensleeves-2"])
    with Work() as work:
        found = find_pairs(starter, LEVEL, work, new=new)
    wanted = {pair for pair in as_set(exact) if set(pair) & set(new.tolist())}
    assert wanted
    assert as_set(found) == wanted


def test_fast_loses_little_and_invents_nothing(starter: Collection, exact: FoundPairs) -> None:
    with Work() as work:
        fast = find_pairs(starter, LEVEL, work, exact=False)
    assert as_set(fast) <= as_set(exact)
    assert len(fast) >= 0.95 * len(exact)
    assert fast.compared < 243 * 242 / 2


def test_a_stricter_level_finds_fewer(starter: Collection, exact: FoundPairs) -> None:
    with Work() as work:
        stricter = find_pairs(starter, LEVEL / 10, work)
    assert as_set(stricter) < as_set(exact)
    assert (stricter.doubts <= LEVEL / 10).all()
    assert (stricter.probabilities >= 0.99).all()


# -- copies: melodies that the measure cannot tell apart ------------------------------------------------------------

PRINT = "%G-2@2/4 '4CC/GG/AA/2G/4FF/EE/DD/2C"
HIGHER = "%G-2@2/4 '4DD/AA/BB/2A/4GG/xFF/EE/2D"
VARIANT = "%G-2@2/4 '4CC/GG/AA/2G/4FF/EE/8DED'C/2C"
OTHER = "%G-2@3/4 '4GEC/FDB/2.C"


def made(folder: Path, *music: str | Melody) -> Collection:
    """A catalogue: each of these is the incipit of a record with a number of its own; then the tunes of the starter."""
    melodies = [load(each)[0] if isinstance(each, str) else each for each in music]
    tunes = [melody.with_metadata(id=f"{place}-1.1.1") for place, melody in enumerate(melodies)]
    return Collection.build([*tunes, *load(tunes_path())], folder / "made.roslin")


def of_made(found: FoundPairs, count: int) -> dict[tuple[int, int], tuple[float, float, bool]]:
    """Distance, probability and whether it is a copy, of the pairs of the first melodies."""
    columns = (found.distances, found.probabilities, found.is_copy)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    ends = zip(found.first.tolist(), found.second.tolist(), strict=True)
    return {pair: row for pair, row in zip(ends, rows, strict=True) if max(pair) < count}


@pytest.mark.long
def test_every_two_copies_are_a_pair_and_a_variant_is_one_with_each(tmp_path: Path) -> None:
    with made(tmp_path, PRINT, HIGHER, VARIANT, OTHER, PRINT, VARIANT) as few, Work() as work:
        found = find_pairs(few, FARTHEST_DOUBT, work)
    rows = of_made(found, 6)
    prints, variants = [0, 1, 4], [2, 5]
    assert set(rows) == set(combinations(sorted(prints + variants), 2))
    for kind in (prints, variants):
        assert len({rows[pair] for pair in combinations(kind, 2)}) == 1
        assert all(
            distance == 0.0 and is_copy for distance, _, is_copy in (rows[pair] for pair in combinations(kind, 2))
        )
    between = {rows[min(one, two), max(one, two)] for one in prints for two in variants}
    ((distance, probability, is_copy),) = between
    assert (0 < distance < 0.5, is_copy) == (True, False)
    assert probability < rows[0, 1][1]
    assert list(rows) == sorted(rows)  # readers look pairs up by their order


@pytest.mark.long
def test_only_pairs_of_the_new_copy(tmp_path: Path) -> None:
    with made(tmp_path, PRINT, HIGHER, VARIANT, OTHER, PRINT) as few, Work() as work:
        everything, some = (find_pairs(few, FARTHEST_DOUBT, work, new=new) for new in (None, np.array([4])))
    assert set(of_made(some, 5)) == {(0, 4), (1, 4), (2, 4)}
    assert of_made(some, 5).items() <= of_made(everything, 5).items()
    assert all(4 in pair for pair in as_set(some))


@pytest.mark.long
def test_copies_that_are_too_common_for_the_level_are_counted(tmp_path: Path) -> None:
    with (
        made(tmp_path, *["%G-2@c '4CC"] * 3, PRINT, PRINT, *[Melody.from_notes([], [], [])] * 2) as few,
        Work() as work,
    ):
        loose = find_pairs(few, FARTHEST_DOUBT, work)
        strict = find_pairs(few, LEVEL, work)
    assert set(of_made(loose, 7)) == {(0, 1), (0, 2), (1, 2), (3, 4)}  # without notes there is nothing in common
    assert set(of_made(strict, 7)) == {(3, 4)}
    assert strict.left_copies == loose.narrowed(LEVEL).left_copies == 3
    assert loose.left_copies == 0


@pytest.mark.long
def test_identical_incipits_of_different_records_of_rism_are_pairs(data_folder: Path, tmp_path: Path) -> None:
    """The second route: incipits whose text is the same, letter by letter, in records with different numbers."""
    with gzip.open(data_folder / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = list(islice(lines, 2_000))
    (tmp_path / "some.jsonl").write_text("".join(texts), encoding="utf-8")
    records, kinds = {}, defaultdict(list)
    for row in map(json.loads, texts):
        records[row["id"]] = row["rism"]
        kinds[row["clef"], row["keysig"], row["timesig"], row["pae"]].append(row["id"])
    identical = {
        frozenset(pair)
        for ids in kinds.values()
        for pair in combinations(ids, 2)
        if len({records[id] for id in pair}) == 2
    }
    with Collection.build(tmp_path / "some.jsonl", tmp_path / "some.roslin") as some, Work() as work:
        found = find_pairs(some, FARTHEST_DOUBT, work, exact=False)
        ids = some.ids()
    rows = {frozenset((ids[one], ids[two])): row for (one, two), row in of_made(found, len(ids)).items()}
    assert len(identical) > 100
    assert max(map(len, kinds.values())) > 2
    assert not identical - set(rows)
    assert all(rows[pair][0] == 0.0 and rows[pair][2] for pair in identical)
    # At the level "same" nothing is missing but what is too short and common for it.
    strict = found.narrowed(LEVEL)
    missing = identical - {frozenset((ids[one], ids[two])) for one, two in as_set(strict)}
    assert all(rows[pair][1] < 1 - LEVEL for pair in missing)
    assert len(missing) <= strict.left_copies <= 0.1 * len(identical)
    # Whatever is a pair with one of several identical incipits is a pair with all of them.
    number = {id: place for place, id in enumerate(ids)}
    for group in kinds.values():
        near = [{other for pair in rows if id in pair for other in pair} - set(group) for id in group if id in number]
        assert all(each == near[0] for each in near)


@pytest.mark.parametrize("melodies", [0, 1])
def test_too_few_to_compare(tmp_path: Path, melodies: int) -> None:
    from roslin import load

    tunes = [load("'4CDEF")[0]] * melodies
    with Collection.build(tunes, tmp_path / "few.roslin") as few, Work() as work:
        assert len(find_pairs(few, 0.5, work)) == 0


def test_levels() -> None:
    chances = Chances(np.array([500.0, 950.0]), np.array([50.0, 50.0]), np.array([1000, 1000], np.int32), 10_000)
    level = 0.02
    needed = chances.needed(level)
    # ln(0.02 / 200) = -9.21: the tail must have fallen by 9.21 times its scale.
    assert needed.tolist() == [int(np.ceil(500 + 50 * np.log(10_000))), NEVER]
    assert chances.expected(np.array([0]), needed[:1])[0] <= level
    assert chances.expected(np.array([0]), needed[:1] - 1)[0] > level
    assert (chances.needed(1e9) <= needed).all()


@pytest.mark.parametrize("text", ["", "sure", "0", "-1", "1", "90", "nan", "inf"])
def test_a_level_that_makes_no_sense(text: str) -> None:
    with pytest.raises(ArgumentError, match="the level must be one of same, probably, perhaps, or a probability"):
        Certainty.of(text)


def test_words_of_a_level() -> None:
    assert [Certainty.of(word).word(doubt) for word, doubt in (("same", 0.1), ("0.2", 0.11), ("perhaps", 0.8))] == [
        "same tune",
        "probably",
        "perhaps",
    ]
    assert Certainty(0.1).word(0.9) == "no more alike than chance"
    assert Certainty.of("0.95").stricter_words == "a probability of 99.5%"
    assert Certainty(0.1).number(0.0999) == "90%"


def test_a_probability_grows_with_certainty_and_with_nearness() -> None:
    expected, distances = np.logspace(-12, 0, 30), np.linspace(0, 1, 30)
    assert (np.diff(probability(expected, np.full(30, 0.3))) < 0).all()
    assert (np.diff(probability(np.full(30, 0.01), distances)) < 0).all()
    odds = 2.12 - 0.473 * np.log(0.01) - 10.675 * 0.25
    assert probability(np.array([0.01]), np.array([0.25]))[0] == pytest.approx(1 / (1 + np.exp(-odds)))
    assert probability(np.zeros(1), np.zeros(1))[0] == 1.0


def test_a_level_below_nothing(starter: Collection) -> None:
    for level in (0.0, 1.0, float("nan")):
        with Work() as work, pytest.raises(ArgumentError, match="the level must be between 0 and 1"):
            find_pairs(starter, level, work)


@pytest.mark.long
def test_kept_and_read_again(starter: Collection, tmp_path: Path) -> None:
    from roslin.concordances.concordance import Concordances

    with Work() as work:
        found = find_concordances(starter, Certainty(LEVEL), work, tmp_path / "found")
    assert not (tmp_path / "found" / "work").exists()
    again = Concordances.read(tmp_path / "found", starter)
    assert same(again.pairs, found.pairs)
    assert [group.members.tolist() for group in again.groups] == [group.members.tolist() for group in found.groups]
    about = json.loads((tmp_path / "found" / "about.json").read_text())
    (tmp_path / "found" / "about.json").write_text(json.dumps({**about, "token": "other"}))
    with pytest.raises(CollectionError, match="the collection has changed since"):
        Concordances.read(tmp_path / "found", starter)
    with pytest.raises(CollectionError, match="no concordances that can be read"):
        Concordances.read(tmp_path / "nowhere", starter)


def test_the_folder_beside_a_collection() -> None:
    assert concordances_folder("books/tunes.roslin") == Path("books/tunes.concordances")

"""Decisions of people: what a pair's state follows from, that merging loses nothing, and that a kill loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roslin.collection import write
from roslin.collection.files import locked
from roslin.collection.store import Store
from roslin.concordances import review as review_module
from roslin.concordances.review import (
    VERDICTS,
    GroupState,
    PairDecision,
    Review,
    listed_decisions,
    merge_into,
    merge_reviews,
    notes_digest,
    review_path,
)
from roslin.errors import ArgumentError, CollectionError
from roslin.melody import Melody


def tune(id: str, *pitches: int) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches, id=id)


def decision(
    author: str, verdict: str, second: int = 0, *, pair: tuple[str, str] = ("a", "b"), id: str = ""
) -> PairDecision:
    time = f"2026-11-16T10:30:{second:02}.000000Z"
    return PairDecision(time, id or f"{author}{verdict}{second}", author, *pair, verdict)


def verdict_of(*decisions: PairDecision) -> str:
    return Review(None, decisions).state("a", "b").verdict


# The state of a pair.


def test_what_is_decided_is_read_back(tmp_path: Path) -> None:
    review = Review.open(tmp_path / "review.jsonl")
    assert review.state("b", "a").verdict == "open"
    made = review.decide("b", "a", "accept", "same bass\ntoo: Größe", "M. Weiß")
    assert made.pair == ("a", "b")

    again = Review.open(tmp_path / "review.jsonl")
    assert again.decisions == [made]
    state = again.state("b", "a")
    assert (state.verdict, state.latest, state.is_earlier_version) == ("accept", made, False)
    assert again.notes == []


def test_a_line_is_plain_json(tmp_path: Path) -> None:
    made = Review.open(tmp_path / "review.jsonl").decide("a", "b", "reject", "Größe", "me")
    (line,) = (tmp_path / "review.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line) == {
        "time": made.time,
        "id": made.id,
        "author": "me",
        "first": "a",
        "second": "b",
        "verdict": "reject",
        "note": "Größe",
        "first_digest": "",
        "second_digest": "",
    }
    assert "Größe" in line


@pytest.mark.parametrize(
    ("decisions", "verdict"),
    [
        ([("A", "accept", 1), ("A", "reject", 2)], "reject"),
        ([("A", "reject", 2), ("A", "accept", 1)], "reject"),
        ([("A", "accept", 1), ("B", "accept", 2)], "accept"),
        ([("A", "accept", 1), ("B", "reject", 2)], "disputed"),
        ([("A", "accept", 1), ("B", "reject", 2), ("C", "accept", 3)], "disputed"),
        ([("A", "accept", 1), ("B", "reject", 2), ("C", "undecided", 3)], "disputed"),
        ([("A", "accept", 1), ("B", "reject", 2), ("B", "accept", 3)], "accept"),
        ([("A", "accept", 1), ("B", "undecided", 2)], "undecided"),
        ([("A", "undecided", 1), ("B", "accept", 2)], "accept"),
    ],
)
def test_the_state_of_a_pair(decisions: list[tuple[str, str, int]], verdict: str) -> None:
    assert verdict_of(*(decision(*each) for each in decisions)) == verdict


def test_at_one_time_the_larger_id_counts() -> None:
    one, two = decision("A", "accept", id="1"), decision("A", "reject", id="2")
    assert verdict_of(one, two) == verdict_of(two, one) == "reject"


def test_a_later_decision_counts_though_the_clock_was_set_back(tmp_path: Path) -> None:
    path = tmp_path / "review.jsonl"
    path.write_text(replace(decision("A", "accept"), time="2999-01-01T00:00:00.999999Z").line())
    review = Review.open(path)
    assert review.decide("a", "b", "reject", "", "A").time == "2999-01-01T00:00:01.000000Z"
    assert review.state("a", "b").verdict == "reject"


def test_the_history_of_a_pair_has_everything(tmp_path: Path) -> None:
    review = Review.open(tmp_path / "review.jsonl")
    made = [review.decide("a", "b", verdict, "", "A") for verdict in ("accept", "undecided", "reject")]
    review.decide("a", "c", "accept", "", "A")
    assert review.history("b", "a") == made
    assert review.pairs() == [("a", "b"), ("a", "c")]
    assert len(review) == 4


def test_a_decision_about_a_group_is_one_about_each_of_its_pairs(tmp_path: Path) -> None:
    review = Review.open(tmp_path / "review.jsonl")
    group = [("a", "b"), ("c", "b"), ("b", "c")]
    assert review.group_state(group).verdict == "open"
    assert review.group_state([]).verdict == "open"
    assert len(review.decide_all(group, "accept", "", "A")) == 2
    assert review.state("b", "c").verdict == "accept"
    assert review.group_state(group[:2]) == GroupState("accept", {"accept": 2}, 0)
    review.decide("a", "b", "reject", "", "A")
    assert review.group_state(group[:2]).verdict == "mixed"
    review.decide("a", "b", "accept", "", "B")
    assert review.group_state(group[:2]).verdict == "disputed"


# Versions of the melodies, and new builds.


def test_the_review_of_a_collection_survives_a_build_and_says_what_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "tunes.roslin"
    write.build([tune("a", 60, 62), tune("b", 60, 62, 64), tune("c", 60)], path)
    with Store(path) as store:
        review = Review.of(store)
        review.decide("a", "b", "accept", "", "A")
        review.decide("a", "c", "reject", "", "A")
        review.decide("a", "gone", "reject", "", "A")
    write.build([tune("c", 60), tune("a", 60, 62), tune("b", 60, 62, 65)], path)
    with Store(path) as store:
        review = Review.of(store)
        assert review.state("a", "b").verdict == "accept"
        assert review.state("a", "b").is_earlier_version
        assert not review.state("a", "c").is_earlier_version
        assert not review.state("a", "gone").is_earlier_version
        assert review.group_state([("a", "b"), ("a", "c")]).earlier_versions == 1

        review.decide("a", "b", "reject", "no longer", "B")
        state = review.state("a", "b")  # no dispute: the two speak of different notes
        assert (state.verdict, state.is_earlier_version) == ("reject", False)


def test_the_digest_is_of_what_sounds() -> None:
    plain = tune("a", 60, 62)
    assert notes_digest(plain) == notes_digest(tune("other", 60, 62))
    assert notes_digest(plain) != notes_digest(tune("a", 60, 63))
    assert notes_digest(plain) != notes_digest(tune("a", 60))
    moved = plain.notes.copy()
    moved["source_column"] = 7
    assert notes_digest(plain) == notes_digest(Melody(moved))


# Two people, two processes.

_AUTHORS = st.sampled_from(["A", "B", "Č"])
_DECISIONS = st.builds(
    lambda author, verdict, second, pair, id: decision(author, verdict, second, pair=pair, id=id),
    _AUTHORS,
    st.sampled_from(VERDICTS),
    st.integers(0, 3),
    st.sampled_from([("a", "b"), ("a", "c"), ("b", "c")]),
    st.sampled_from("0123456789"),
)
_FILES = st.lists(_DECISIONS, max_size=8)


def written(path: Path, decisions: Iterable[PairDecision]) -> Path:
    path.write_text("".join(each.line() for each in decisions), "utf-8")
    return path


def states(review: Review) -> dict[tuple[str, str], str]:
    return {pair: review.state(*pair).verdict for pair in review.pairs()}


@pytest.fixture
def careless_disk() -> Iterator[None]:
    """Nothing waits for the disk, where a test is not about that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.mark.long
@pytest.mark.usefixtures("careless_disk")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(_FILES, _FILES, _FILES)
def test_merging_loses_nothing_in_any_order(
    tmp_path_factory: pytest.TempPathFactory,
    one: list[PairDecision],
    two: list[PairDecision],
    three: list[PairDecision],
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    a, b, c = (written(folder / name, each) for name, each in (("a", one), ("b", two), ("c", three)))
    merge_into([a, b, c], folder / "all")
    merge_into([c, a, b, a], folder / "other order")
    merge_into([a, b], folder / "ab")
    merge_into([folder / "ab", c], folder / "ab then c")
    merge_into([b, c], folder / "bc")
    merge_into([a, folder / "bc"], folder / "a then bc")
    merge_into([folder / "all", folder / "all"], folder / "again")
    expected = (folder / "all").read_bytes()
    assert set(Review.open(folder / "all").decisions) == {*one, *two, *three}
    for name in ("other order", "ab then c", "a then bc", "again"):
        assert (folder / name).read_bytes() == expected, name

    merge_into([a, b, c], a)  # into one of them: nothing of it moves, and nothing is missing
    assert states(Review.open(a)) == states(Review.open(folder / "all")) == states(merge_reviews([c, b, a]))
    assert a.read_text("utf-8").startswith("".join(each.line() for each in one))
    assert merge_into([a, b, c], a).added == 0


def test_a_merge_says_what_it_did(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [decision("A", "accept"), decision("A", "accept", pair=("a", "c"))])
    two = written(tmp_path / "two", [decision("B", "reject")])
    with two.open("a") as file:
        file.write('{"id": "cut o')
    done = merge_into([one, two], tmp_path / "both.jsonl")
    assert (done.decisions, done.added, done.pairs, done.disputed) == (3, 3, 2, (("a", "b"),))
    assert done.notes == (f"{two}: the last line is incomplete and was left out",)
    assert json.loads(json.dumps(done.to_dict()))["path"] == str(tmp_path / "both.jsonl")


def test_a_merge_writes_into_the_folder_of_a_collection(tmp_path: Path) -> None:
    write.build([tune("a", 60)], tmp_path / "tunes.roslin")
    one = written(tmp_path / "one", [decision("A", "accept")])
    assert merge_into([one], tmp_path / "tunes.roslin").path == tmp_path / "tunes.roslin" / "review.jsonl"
    assert review_path(tmp_path / "tunes.roslin").read_bytes() == one.read_bytes()
    write.build([tune("a", 60)], tmp_path / "tunes.roslin")
    assert review_path(tmp_path / "tunes.roslin").read_bytes() == one.read_bytes()


def test_decisions_about_other_notes_are_not_disputed_after_a_merge(tmp_path: Path) -> None:
    path = tmp_path / "tunes.roslin"
    write.build([tune("a", 60), tune("b", 60)], path)
    now = notes_digest(tune("a", 60))
    earlier = replace(decision("A", "accept"), first_digest="0" * 32, second_digest=now)
    present = replace(decision("B", "reject"), first_digest=now, second_digest=now)
    one = written(tmp_path / "one", [earlier, present])
    assert merge_into([one], path).disputed == ()
    assert merge_into([one], tmp_path / "file").disputed == (("a", "b"),)  # a file does not know the notes


def test_merging_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"nobody\.jsonl: no such review"):
        merge_reviews([tmp_path / "nobody.jsonl"])


def test_merged_decisions_in_memory_are_not_written(tmp_path: Path) -> None:
    merged = merge_reviews([written(tmp_path / "one", [decision("A", "accept")])])
    merged.refresh()
    with pytest.raises(ArgumentError, match="write them with merge_into first"):
        merged.decide("a", "b", "accept", "", "A")


@pytest.mark.kills
def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "review.jsonl"
    script = (
        "import sys; from roslin.concordances.review import Review\n"
        "review = Review.open(sys.argv[1])\n"
        "for k in range(15): review.decide('a', f'b{k}', 'accept', 'x' * 3000, sys.argv[2])\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("A", "B")]
    assert [process.wait(300) for process in running] == [0, 0]
    review = Review.open(path)
    assert (len(review), review.notes) == (30, [])
    assert {each.author for each in review.state("a", "b14").decisions} == {"A", "B"}


def test_threads_share_a_review(tmp_path: Path) -> None:
    review = Review.open(tmp_path / "review.jsonl")
    threads = [
        threading.Thread(target=lambda k=k: [review.decide("a", f"b{k}", "accept", "", str(n + 1)) for n in range(5)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Review.open(tmp_path / "review.jsonl")) == len(review) == 20


def test_what_another_has_added_is_seen(tmp_path: Path) -> None:
    mine, theirs = Review.open(tmp_path / "review.jsonl"), Review.open(tmp_path / "review.jsonl")
    theirs.decide("a", "b", "reject", "", "B")
    assert mine.state("a", "b").verdict == "open"
    mine.refresh()
    assert mine.state("a", "b").verdict == "reject"
    mine.decide("a", "c", "accept", "", "A")
    theirs.decide("a", "d", "accept", "", "B")
    assert len(theirs) == 3


def test_whoever_holds_the_lock_too_long_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_module, "_WAIT_S", 0.05)
    review = Review.open(tmp_path / "review.jsonl")
    with (
        locked(tmp_path / "review.jsonl.lock", 0, "busy"),
        pytest.raises(CollectionError, match=r"another process is writing; try again later"),
    ):
        review.decide("a", "b", "accept", "", "A")
    assert not (tmp_path / "review.jsonl").exists()


# Kills and damage.


@pytest.mark.kills
@pytest.mark.usefixtures("careless_disk")
def test_a_kill_at_any_byte_loses_only_what_was_being_written(tmp_path: Path) -> None:
    path = tmp_path / "review.jsonl"
    review = Review.open(path)
    made = [review.decide("a", "b", verdict, "größer", "Čapek") for verdict in ("accept", "reject", "undecided")]
    whole = path.read_bytes()
    ends = [len("".join(each.line() for each in made[: k + 1]).encode()) for k in range(3)]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        left = Review.open(path)
        # A line is whole when only its end is missing.
        assert left.decisions == [each for each, end in zip(made, ends, strict=True) if end <= size + 1], size
        is_torn = size not in {0, *ends, *(end - 1 for end in ends)}
        assert left.notes == [f"{path}: the last line is incomplete and was left out"] * is_torn
        if size % 7 == 0 or size in ends:
            added = left.decide("a", "c", "accept", "", "B")
            after = Review.open(path)
            assert set(after.decisions) == {*left.decisions, added}
            assert path.read_bytes().startswith(whole[:size])  # what is there is never changed
            assert len(after.notes) == is_torn
            assert all("is no decision and was left out" in note for note in after.notes)


@pytest.mark.kills
def test_what_was_kept_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "review.jsonl"
    script = (
        "import itertools, sys; from roslin.concordances.review import Review\n"
        "review = Review.open(sys.argv[1])\n"
        "for k in itertools.count(): print(review.decide('a', f'b{k}', 'accept', 'x' * 500, 'A').id, flush=True)\n"
    )
    kept: list[str] = []
    for wanted in (1, 4, 9):
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True) as writing:
            assert writing.stdout is not None
            kept += [writing.stdout.readline().strip() for _ in range(wanted)]
            writing.kill()
            kept += writing.stdout.read().split()
    found = Review.open(path)
    assert set(kept) <= {each.id for each in found.decisions}
    assert len(found) <= len(kept) + 3  # one that was kept, but not yet told, each time


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        decision("A", "accept").line().replace("accept", "maybe"),
        decision("A", "accept").line().replace("2026-11-16T", "yesterday "),
        decision("A", "accept").line().replace("2026-", "9999-"),
        decision("A", "accept", pair=("b", "a")).line(),
        decision("", "accept", id="x").line(),
        json.dumps({"time": 5} | {"id": "x", "author": "A", "first": "a", "second": "b", "verdict": "accept"}),
        decision("A", "accept").line().replace('"note": ""', '"note": "\\ud800"'),
    ],
)
def test_a_line_that_is_no_decision_is_left_out_and_told(tmp_path: Path, line: str) -> None:
    path = tmp_path / "review.jsonl"
    path.write_text(decision("A", "accept").line() + "\n" + line.strip() + "\n" + decision("B", "accept").line())
    review = Review.open(path)
    assert len(review) == 2
    assert review.notes == [f"{path}: line 3 is no decision and was left out"]


def test_fields_of_others_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "review.jsonl"
    value = {name: value for name, value in json.loads(decision("A", "accept").line()).items() if "digest" not in name}
    path.write_text(json.dumps(value | {"colour": "blue"}) + "\n")
    assert Review.open(path).state("a", "b").verdict == "accept"


def test_another_file_in_its_place_is_read_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "review.jsonl"
    review = Review.open(path)
    review.decide("a", "b", "accept", "a long note that makes the file long", "A")
    short = written(tmp_path / "short", [decision("B", "accept", pair=("x", "y"))])
    short.replace(path)
    review.refresh()
    assert review.state("x", "y").verdict == "accept"


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "review.jsonl"
    review = Review.open(path)
    review.decide("a", "b", "accept", "", "A")
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CollectionError, match=r"review\.jsonl: the decision was not saved: .*No space left"):
            review.decide("a", "c", "accept", "", "A")
    assert path.read_bytes() == before
    assert review.state("a", "c").verdict == "open"


def test_a_review_that_cannot_be_read_or_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl" / "review.jsonl").mkdir(parents=True)
    with pytest.raises(CollectionError, match=r"review\.jsonl: the review cannot be read"):
        Review.open(tmp_path / "folder.jsonl")
    (tmp_path / "one.jsonl.lock").mkdir()
    with pytest.raises(CollectionError, match=r"cannot be written: "):
        Review.open(tmp_path / "one.jsonl").decide("a", "b", "accept", "", "A")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "a", "accept", "", "A"), r"a decision is about two melodies; got 'a' and 'a'"),
        (("a", "", "accept", "", "A"), r"a decision is about two melodies; got 'a' and ''"),
        (("a", "b", "yes", "", "A"), r"a verdict must be one of accept, reject, undecided; got 'yes'"),
        (("a", "b", "accept", "", " "), r"the author must be a name of at most 200 characters; got ' '"),
        (("a", "b", "accept", "", "A\nB"), r"the author must be a name"),
        (("a", "b", "accept", "x" * 10_001, "A"), r"a note must have at most 10000 characters; got 10001"),
        (("a", "b", "accept", "\ud800", "A"), r"contains invalid Unicode"),
        (("a", "b", "accept", 5, "A"), r"a decision consists of texts"),
    ],
)
def test_what_nobody_can_decide_is_refused(
    tmp_path: Path, arguments: tuple[str, str, str, str, str], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        Review.open(tmp_path / "review.jsonl").decide(*arguments)
    assert not (tmp_path / "review.jsonl").exists()


# -- decisions in a table ---------------------------------------------------------------------------------------------


def test_tables_of_decisions_are_checked(tmp_path: Path) -> None:
    table = tmp_path / "decisions.csv"
    table.write_text("first;second;verdict\na;b;accept\na;c;open\nb;'=c;reject\n")
    assert [(row.first, row.second, row.verdict) for row in listed_decisions(table)] == [
        ("a", "b", "accept"),
        ("b", "=c", "reject"),
    ]
    table.write_text("one,two\n")
    with pytest.raises(ArgumentError, match=r"decisions\.csv: a table of decisions needs the columns first and second"):
        listed_decisions(table)
    table.write_text("first,second,verdict\na,b,yes\n")
    with pytest.raises(ArgumentError, match=r"decisions\.csv:2: a verdict must be one of accept.*; got 'yes'"):
        listed_decisions(table)
    table.write_bytes(b"first,second\n\xff,b\n")
    with pytest.raises(CollectionError, match=r"decisions\.csv: cannot be read as a table in UTF-8"):
        listed_decisions(table)

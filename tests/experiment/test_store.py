"""The store, on both databases: what is acknowledged is there once, and nothing else is."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.experiment.plans import judge_all, ranked, ranking_plan

from roslin.errors import ArgumentError, DecisionError, FrozenError, NotKeptError, UnknownExpertError
from roslin.experiment import clock
from roslin.experiment.database import EVENTS, TRIALS
from roslin.experiment.events import Decision, is_complete, trial_state
from roslin.experiment.plan import Load
from roslin.experiment.store import EventStore

HOUR_MS = 3_600_000


@pytest.fixture
def store(database: str) -> Any:
    opened = EventStore(database, ranking_plan())
    yield opened
    opened.close()


def sorted_(document: str, key: str, verdict: str = "no") -> Decision:
    return Decision("sorted", {"document": document, "verdict": verdict}, key)


def table(store: EventStore, which: sa.Table) -> list[Any]:
    with store.database.reading() as connection:
        return sorted(map(tuple, connection.execute(sa.select(which))))


# -- one expert -------------------------------------------------------------------------------------------------------


def test_somebody_does_everything(store: EventStore) -> None:
    name = store.invite()[0].name
    receipt = judge_all(store, name)
    assert len(receipt) == 10
    assert store.complete(name) == receipt
    told = store.events(name)
    assert [event.sequence for event in told] == list(range(1, len(told) + 1))
    assert store.expert(name).sequence == len(told)
    assert store.begin(name) == 0
    assert store.loads() == {query: Load(1, 0) for query in ("q1", "q2", "q3")}
    assert {event.device for event in told if event.kind == "sorted"} == {"desktop mouse"}


def test_labels_go_on_counting_after_a_withdrawal(store: EventStore) -> None:
    first, second = store.invite(2, participant="p\0q", language="en")
    assert (first.label, second.label, first.participant) == ("expert-001", "expert-002", "pq")
    assert first.name != second.name
    store.withdraw(second.name)
    assert store.invite()[0].label == "expert-003"
    with pytest.raises(ArgumentError, match="the number of invitations must be at least 1; got 0"):
        store.invite(0)


def test_a_language_is_remembered(store: EventStore) -> None:
    name = store.invite()[0].name
    store.set_language(name, "de")
    assert store.expert(name).language == "de"


def test_a_key_that_is_known_is_acknowledged_and_not_written_again(store: EventStore) -> None:
    name = store.invite()[0].name
    trial = store.begin(name)
    query = trial_state(store.events(name, trial)).query
    one, two = sorted_(query, "one"), sorted_(f"{query}-1", "two")
    first = store.decide(name, trial, [one, two, one])
    assert first.keys == ("one", "two", "one")
    again = store.decide(name, trial, [one, two])
    assert (again.sequence, again.keys) == (first.sequence, ("one", "two"))
    assert [event.key for event in store.events(name, trial)][1:] == ["one", "two"]


def test_a_decision_that_is_refused_takes_the_others_with_it(store: EventStore) -> None:
    name = store.invite()[0].name
    trial = store.begin(name)
    before = store.events(name)
    with pytest.raises(DecisionError, match="names a candidate that was not shown"):
        store.decide(name, trial, [sorted_(f"q{1}", "one"), sorted_("nothing", "two")])
    assert store.events(name) == before


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (
            Decision("slept", {}, "k"),
            "a decision must be one of sorted, placed, chose, heard, .*; got 'slept'",
        ),
        (Decision("finished", {}, "k"), "a decision must be one of"),
        (Decision("sorted", {"document": "Q", "verdict": "well"}, "k"), "a verdict must be one of .*; got 'well'"),
        (Decision("sorted", {"verdict": "no"}, "k"), "names a candidate that was not shown"),
        (Decision("placed", {"document": "Q", "after": "p-1"}, "k"), "names a candidate that was not shown"),
        (Decision("placed", {"document": "Q", "after": None, "tied": True}, "k"), "this study has no ties"),
        (Decision("chose", {"documents": ["Q", "Q"], "best": "Q"}, "k"), "no decision of a study by ranking"),
        (Decision("heard", {"document": None, "duration_ms": -1}, "k"), "a melody must play for 0 to .*; got -1"),
        (Decision("compared", {"documents": [None, "Q"]}, "k"), "this study shows no differences"),
        (Decision("undone", {}, "k"), "what is undone must be the key of a decision"),
        (Decision("sorted", {"document": "Q", "verdict": "no"}, ""), "a key must be 1 to 64 plain letters"),
        (Decision("sorted", {"document": "Q", "verdict": "no"}, "k" * 65), "a key must be 1 to 64 plain letters"),
        (Decision("sorted", {"document": "Q", "verdict": "no"}, "k\0"), "a key must be 1 to 64 plain letters"),
        (Decision("sorted", {"document": "Q", "verdict": "no"}, "k", -1), "the time of a decision must be"),
        (Decision("sorted", {"document": "Q", "verdict": "no"}, "k", 2**70), "the time of a decision must be"),
    ],
)
def test_decisions_that_no_page_sends(tmp_path: Path, decision: Decision, message: str) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan())
    name = store.invite()[0].name
    trial = store.begin(name)
    query = trial_state(store.events(name, trial)).query
    payload = {
        part: [query] * len(value) if part == "documents" else query if value == "Q" else value
        for part, value in decision.payload.items()
    }
    with pytest.raises(DecisionError, match=message):
        store.decide(name, trial, [Decision(decision.kind, payload, decision.key, decision.made_ms)])
    store.close()


@pytest.mark.parametrize(
    ("documents", "best", "message"),
    [
        (["q1", "q1-1", "q1-2"], "q1", "a comparison must be of 2 different candidates; got 3"),
        (["q1", "q1"], "q1", "a comparison must be of 2 different candidates; got 1"),
        (["q1", "q1-1"], "q1-2", "the best of a comparison must be one of those compared"),
        (["q1", "q2"], None, "names a candidate that was not shown"),
    ],
)
def test_comparisons_that_no_page_sends(tmp_path: Path, documents: list[str], best: str | None, message: str) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(1, design="pairs", comparisons=2))
    name = store.invite()[0].name
    trial = store.begin(name)
    with pytest.raises(DecisionError, match=message):
        store.decide(name, trial, [Decision("chose", {"documents": documents, "best": best}, "k")])
    with pytest.raises(DecisionError, match="'sorted' is no decision of a study by pairs"):
        store.decide(name, trial, [sorted_("q1", "k")])
    with pytest.raises(DecisionError, match="only candidates that are shown can be compared"):
        store.offer(name, trial, ["q1", "q2"], after=1)
    store.offer(name, trial, ["q1", "q1-3"], after=1)
    assert trial_state(store.events(name, trial)).offered == ("q1", "q1-3")
    store.close()


def test_of_two_offers_at_once_one_is_made(database: str) -> None:
    store = EventStore(database, ranking_plan(1, design="pairs", comparisons=2))
    name = store.invite()[0].name
    trial = store.begin(name)
    (began,) = store.events(name, trial)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda k: store.offer(name, trial, ["q1", f"q1-{k % 3 + 1}"], began.sequence), range(6)))
    assert [event.kind for event in store.events(name, trial)] == ["began", "offered"]
    store.close()


def test_trials_that_are_not_open(store: EventStore) -> None:
    name = store.invite()[0].name
    for trial in (1, 3, 99, 10**30, -1):
        with pytest.raises(DecisionError, match=f"trial {trial} was never begun"):
            store.decide(name, trial, [sorted_("q1", "k")])
        with pytest.raises(DecisionError, match=f"trial {trial} was never begun"):
            store.finish(name, trial, "k")
    assert store.events(name, 10**30) == []
    query = ranked(store, name)
    with pytest.raises(DecisionError, match="trial 1 is finished"):
        store.decide(name, 1, [sorted_(query, "k")])


def test_the_end_of_a_trial(store: EventStore) -> None:
    name = store.invite()[0].name
    trial = store.begin(name)
    assert store.begin(name) == trial
    with pytest.raises(DecisionError, match="4 of the candidates are still to be judged"):
        store.finish(name, trial, "end")
    with pytest.raises(DecisionError, match="a trial is still open"):
        store.complete(name)
    shown = trial_state(store.events(name, trial)).shown
    store.decide(name, trial, [sorted_(each, f"k{n}") for n, each in enumerate(shown)])
    with pytest.raises(DecisionError, match="the key of the end of a trial must be new"):
        store.finish(name, trial, "k1")
    done = store.finish(name, trial, "end")
    assert store.finish(name, trial, "end") == done
    assert store.finish(name, trial, "of another tab").sequence == done.sequence
    with pytest.raises(DecisionError, match="there is still something to judge"):
        store.complete(name)


def test_nobody_unknown_writes(store: EventStore) -> None:
    for call in (
        lambda: store.expert("x"),
        lambda: store.begin("x"),
        lambda: store.add("x", "read"),
        lambda: store.withdraw("x"),
    ):
        with pytest.raises(UnknownExpertError, match="no participant of the study has this label"):
            call()
    assert store.events("x") == []


def test_the_practice(store: EventStore, tmp_path: Path) -> None:
    name = store.invite()[0].name
    shown = store.begin_practice(name).shown
    assert sorted(shown) == ["p-1", "p-2"]
    store.decide(name, 0, [sorted_("p-1", "k")])
    assert store.begin_practice(name).verdicts == {"p-1": "no"}
    without = EventStore(f"sqlite:///{tmp_path / 'without.db'}", replace(ranking_plan(), practice=None))
    other = without.invite()[0].name
    with pytest.raises(DecisionError, match="this study has no practice"):
        without.begin_practice(other)
    with pytest.raises(DecisionError, match="this study has no practice"):
        without.decide(other, 0, [sorted_("p-1", "k")])
    without.close()


def test_who_was_away_begins_again_where_the_study_says_so(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EventStore(database, ranking_plan(resume="restart", pause_hours=24))
    name = store.invite()[0].name
    store.consent(name)
    store.add(name, "answered")
    store.read_again(name)
    trial = store.begin(name)
    before = trial_state(store.events(name, trial))
    store.decide(name, trial, [sorted_(before.shown[0], "k")])
    store.read_again(name)  # not away: nothing is lost
    assert trial_state(store.events(name, trial)).verdicts
    later = clock.now_ms() + 25 * HOUR_MS
    monkeypatch.setattr(clock, "now_ms", lambda: later)
    store.read_again(name)
    after = trial_state(store.events(name, trial))
    assert (after.verdicts, after.shown) == ({}, before.shown)
    store.close()


# -- the study as a whole ---------------------------------------------------------------------------------------------


def test_a_study_is_paused_and_closed(store: EventStore) -> None:
    name, other = (each.name for each in store.invite(2))
    assert store.status == "open"
    ranked(store, name)
    store.set_status("paused")
    assert store.begin(name) == 0
    with pytest.raises(DecisionError, match="there is still something to judge"):
        store.complete(name)
    store.set_status("closed")
    assert store.begin(other) == 0
    with pytest.raises(DecisionError, match="there is still something to judge"):
        store.complete(name)  # closing completes nobody: they go on when it opens again
    store.set_status("open")
    assert store.begin(name) == 2
    assert store.begin(other) == 1
    assert store.state("nothing") == ""


def test_an_abandoned_trial_gives_its_place_back(store: EventStore, monkeypatch: pytest.MonkeyPatch) -> None:
    name = store.invite()[0].name
    trial = store.begin(name)
    store.decide(name, trial, [sorted_(trial_state(store.events(name, trial)).shown[0], "k")])
    assert Counter(load.running for load in store.loads().values()) == {0: 2, 1: 1}
    later = clock.now_ms() + 49 * HOUR_MS
    monkeypatch.setattr(clock, "now_ms", lambda: later)
    assert Counter(load.running for load in store.loads().values()) == {0: 3}


def test_who_has_decided_nothing_holds_no_place(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EventStore(database, ranking_plan(queries=2, quota=1))
    names = [each.name for each in store.invite(4)]
    first, second = (trial_state(store.events(name, store.begin(name))).query for name in names[:2])
    assert {first, second} == {"q1", "q2"}, "while another query is free, the one that was begun is not given again"
    assert store.loads() == dict.fromkeys(("q1", "q2"), Load(0, 0, 1))
    assert store.begin(names[2]) == 1, "nobody has judged anything, so nobody is turned away"
    for name in names[:2]:
        store.decide(name, 1, [Decision("heard", {"document": None}, "h")])
    assert store.begin(names[3]) == 1, "to listen is no decision"
    for name in names[:2]:
        store.decide(name, 1, [sorted_(trial_state(store.events(name, 1)).shown[0], "k")])
    assert [load.running for load in store.loads().values()] == [1, 1]
    assert store.begin(store.invite()[0].name) == 0
    later = clock.now_ms() + 16 * 60_000
    monkeypatch.setattr(clock, "now_ms", lambda: later)
    assert [load.begun for load in store.loads().values()] == [0, 0], "after some minutes they are not counted at all"
    assert [load.running for load in store.loads().values()] == [1, 1]
    store.close()


def test_what_is_frozen_stays(database: str) -> None:
    store = EventStore(database, ranking_plan())
    EventStore(database, ranking_plan(ties=True)).close()  # nobody has joined
    EventStore(database, ranking_plan()).close()
    name = store.invite()[0].name
    with pytest.raises(FrozenError, match="the study has begun, so name can no longer change"):
        EventStore(database, replace(ranking_plan(), name="another"))
    store.add(name, "consented")
    with pytest.raises(FrozenError, match=r"the study has begun, so rules\.ties can no longer change"):
        EventStore(database, ranking_plan(ties=True))
    EventStore(database, ranking_plan(quota=50)).close()
    store.close()


def test_the_trials_can_be_made_again_from_the_log(store: EventStore) -> None:
    name, open_one = (each.name for each in store.invite(2))
    judge_all(store, name)
    assert store.begin(open_one) == 1
    trials, loads = table(store, TRIALS), store.loads()
    experts = store.experts()
    store.rebuild()
    assert table(store, TRIALS) == trials
    assert (store.loads(), store.experts()) == (loads, experts)
    with store.database.writing() as connection:
        connection.execute(sa.delete(TRIALS))
    store.rebuild()
    assert table(store, TRIALS) == trials
    assert store.begin(open_one) == 1


def test_the_age_changes_with_everything(store: EventStore) -> None:
    ages = [store.age()]
    name = store.invite()[0].name
    ages.append(store.age())
    store.add(name, "consented")
    ages.append(store.age())
    store.withdraw(name)
    ages.append(store.age())
    assert len(set(ages)) == 4


def test_who_is_turned_away_gets_one_receipt_and_completes_with_it_later(store: EventStore) -> None:
    name = store.invite()[0].name
    store.consent(name)
    receipt = store.turn_away(name)
    assert store.turn_away(name) == receipt
    assert judge_all(store, name) == receipt
    kinds = [event.kind for event in store.events(name) if "receipt" in event.payload]
    assert kinds == ["turned_away", "completed"]
    assert store.turn_away(name) == receipt, "who is done stays done"
    assert is_complete(store.events(name))


def test_a_higher_quota_brings_people_back(database: str) -> None:
    plan = ranking_plan(queries=2, quota=1, queries_per_expert=2)
    store = EventStore(database, plan)
    first, second = (each.name for each in store.invite(2))
    ranked(store, first)
    ranked(store, second)
    receipt = store.complete(first)
    assert not store.has_more(first)
    store.resume(first)
    assert is_complete(store.events(first)), "nobody goes on where there is nothing to judge"
    store.close()
    store = EventStore(database, replace(plan, rules=replace(plan.rules, quota=2)))
    assert store.has_more(first)
    store.resume(first)
    assert not is_complete(store.events(first))
    ranked(store, first)
    assert not store.has_more(first)
    assert store.complete(first) == receipt
    store.close()


def test_each_consent_is_kept_with_its_text(database: str) -> None:
    store = EventStore(database, ranking_plan())
    one, two = (each.name for each in store.invite(2))
    first = store.consent(one).payload
    assert (first["version"], first["language"]) == (1, "en")
    assert first["sha256"] == hashlib.sha256(b"I agree.").hexdigest()
    store.close()
    changed = replace(ranking_plan(), languages=("en", "de"), consent={"en": "I agree to more.", "de": "Ja."})
    store = EventStore(database, changed)
    assert store.consent(two, "de").payload["version"] == 2
    assert store.consent(one, "fr").payload["language"] == "en", "where there is no text, the first language is shown"
    store.consent(one)
    told = [event.payload["version"] for event in store.events(one)]
    assert told == [1, 2], "the same text is agreed to once"
    assert store.consents() == [ranking_plan().consent, changed.consent]
    store.close()


# -- many at once -----------------------------------------------------------------------------------------------------


def together(count: int, call: Any) -> list[Any]:
    """Call with 0, 1, ... from as many threads, all at the same time."""
    gate = threading.Barrier(count)

    def wait_and_call(number: int) -> Any:
        gate.wait()
        return call(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(wait_and_call, range(count)))


def test_many_who_begin_at_once_are_spread_and_hold_the_places_when_they_decide(database: str) -> None:
    store = EventStore(database, ranking_plan(queries=3, quota=4))
    names = [each.name for each in store.invite(15)]
    assert set(together(12, lambda n: store.begin(names[n]))) == {1}
    assert store.loads() == {query: Load(0, 0, 4) for query in ("q1", "q2", "q3")}

    def decide(number: int) -> None:
        shown = trial_state(store.events(names[number], 1)).shown
        store.decide(names[number], 1, [sorted_(shown[0], "k")])

    together(12, decide)
    assert store.loads() == {query: Load(0, 4) for query in ("q1", "q2", "q3")}
    assert together(3, lambda n: store.begin(names[12 + n])) == [0, 0, 0]
    store.close()


def test_two_tabs_of_one_expert_lose_nothing(store: EventStore) -> None:
    name = store.invite()[0].name
    trial = store.begin(name)
    document = trial_state(store.events(name, trial)).shown[0]

    def tab(number: int) -> int:
        last = 0
        for k in range(8):
            shared, own = sorted_(document, f"both-{k}"), sorted_(document, f"tab{number}-{k}")
            last = store.decide(name, trial, [shared, own]).sequence
        return last

    together(4, tab)
    told = store.events(name)
    assert [event.sequence for event in told] == list(range(1, len(told) + 1))
    wanted = {f"both-{k}" for k in range(8)} | {f"tab{n}-{k}" for n in range(4) for k in range(8)}
    assert Counter(event.key for event in told if event.kind == "sorted") == Counter(wanted)


def test_a_trial_is_begun_and_finished_once(store: EventStore) -> None:
    name = store.invite()[0].name
    assert set(together(6, lambda _n: store.begin(name))) == {1}
    shown = trial_state(store.events(name, 1)).shown
    store.decide(name, 1, [sorted_(each, f"k{n}") for n, each in enumerate(shown)])
    together(6, lambda n: store.finish(name, 1, f"end-{n}"))
    kinds = Counter(event.kind for event in store.events(name))
    assert (kinds["began"], kinds["finished"]) == (1, 1)
    assert len(set(together(6, lambda _n: store.turn_away(name)))) == 1
    assert [event.kind for event in store.events(name)][-2:] == ["finished", "turned_away"]


def test_settings_and_trials_may_change_at_once(store: EventStore) -> None:
    names = [each.name for each in store.invite(6)]

    def mixed(number: int) -> None:
        match number % 3:
            case 0:
                store.set_state("status", "open")
            case 1:
                store.rebuild()
            case _:
                ranked(store, names[number])

    together(6, mixed)
    before = table(store, TRIALS)
    store.rebuild()
    assert table(store, TRIALS) == before
    assert len(before) == 2


def test_who_withdraws_while_they_decide_leaves_nothing(store: EventStore) -> None:
    name = store.invite()[0].name
    trial = store.begin(name)
    document = trial_state(store.events(name, trial)).shown[0]

    def either(number: int) -> str:
        try:
            if number == 0:
                store.withdraw(name)
            else:
                for k in range(5):
                    store.decide(name, trial, [sorted_(document, f"{number}-{k}")])
        except UnknownExpertError:
            return "gone"
        return "done"

    together(5, either)
    assert table(store, EVENTS) == []
    assert table(store, TRIALS) == []


_MOVES = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(["decide", "again", "finish", "begin", "withdraw", "rebuild"])),
    max_size=25,
)


@pytest.mark.long
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(moves=_MOVES)
def test_whatever_happens_the_log_has_no_gaps_and_the_trials_follow_from_it(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[int, str]]
) -> None:
    store = EventStore(f"sqlite:///{tmp_path_factory.mktemp('moves') / 'study.db'}", ranking_plan(quota=3))
    names = [each.name for each in store.invite(2)]
    for number, (who, move) in enumerate(moves):
        name = names[who]
        try:
            if move == "rebuild":
                store.rebuild()
            elif move == "withdraw":
                store.withdraw(name)
            elif move == "finish":
                ranked(store, name, key=f"{number}")
            elif trial := store.begin(name):
                shown = trial_state(store.events(name, trial)).shown
                key = f"{number}" if move == "decide" else "same"
                store.decide(name, trial, [sorted_(shown[0], key)])
        except (UnknownExpertError, AssertionError):
            continue
    for each in store.experts():
        told = store.events(each.name)
        assert [event.sequence for event in told] == list(range(1, each.sequence + 1))
        assert len({event.key for event in told}) == len(told)
    before = table(store, TRIALS)
    store.rebuild()
    assert table(store, TRIALS) == before
    store.close()


# -- deleting ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_who_is_deleted_leaves_no_trace_in_the_files(tmp_path: Path) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(queries=6, candidates=12, quota=99))
    everybody = store.invite(8, participant="a-participant")
    for number, each in enumerate(everybody):
        store.add(each.name, "answered", {"answers": {"remarks": f"my secret is {each.name} {number}-" * 40}})
    for _ in range(6):
        for each in everybody:
            ranked(store, each.name, key=each.name[:12])
    gone = everybody[3].name
    store.withdraw(gone)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["study.db", "study.db-shm", "study.db-wal"]
    for path in files:
        content = path.read_bytes()
        assert gone.encode() not in content
        assert gone[:12].encode() not in content
    kept = everybody[4].name.encode()
    assert any(kept in path.read_bytes() for path in files)
    assert not store.has_traces
    assert len(store.experts()) == 7
    store.close()


def test_who_is_deleted_is_in_no_table(database: str) -> None:
    store = EventStore(database, ranking_plan(quota=9))
    gone, kept = store.invite(2, participant="somebody")
    for each in (gone, kept):
        judge_all(store, each.name)
    backup = store.begin_backup("/since")
    store.end_backup(store.begin_backup("/failed"), is_there=False)
    late = store.invite()[0]
    assert store.withdraw(late.name) == ["/since"]  # it is being written
    store.end_backup(backup)
    assert store.withdraw(gone.name) == ["/since"]
    time.sleep(0.002)
    assert store.withdraw(store.invite()[0].name) == []
    with store.database.reading() as connection:
        for name in sa.inspect(store.database.engine).get_table_names():
            rows = connection.execute(sa.text(f"SELECT * FROM {name}")).all()
            assert gone.name not in repr(rows), name
    assert [each.name for each, _events in store.histories()] == [kept.name]
    assert store.loads() == {query: Load(1, 0) for query in ("q1", "q2", "q3")}
    store.close()


def test_files_that_cannot_be_rid_of_traces_now_are_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    store = EventStore(url, ranking_plan())
    name = store.invite()[0].name

    def fail() -> None:
        raise NotKeptError("the disk is full")

    monkeypatch.setattr(store.database, "forget_deleted", fail)
    store.withdraw(name)
    assert store.has_traces
    assert "deleted data of a participant is still in the files" in caplog.text
    assert name not in caplog.text
    store.close()
    again = EventStore(url, ranking_plan())
    assert not again.has_traces
    again.close()


def test_deleting_waits_for_who_reads(database: str) -> None:
    """An export that takes long delays it, and others hardly notice."""
    store = EventStore(database, ranking_plan())
    gone, other = store.invite(2)
    store.add(gone.name, "consented")
    reading = store.histories()
    next(reading)
    deleting = threading.Thread(target=store.withdraw, args=(gone.name,))
    deleting.start()
    while any(each.name == gone.name for each in store.experts()):
        time.sleep(0.01)
    store.add(other.name, "consented")
    assert [expert.name for expert, _told in reading] == [other.name]
    deleting.join()
    assert not store.has_traces
    store.close()

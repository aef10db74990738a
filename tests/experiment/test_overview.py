"""The overview of a study: known numbers, what the truth layer says of it, and that nobody waits for it."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.experiment.plans import judge_all, ranked, ranking_plan

from roslin.errors import NotKeptError
from roslin.experiment import clock
from roslin.experiment import overview as overview_module
from roslin.experiment.events import Decision, trial_state
from roslin.experiment.export import reconcile
from roslin.experiment.overview import Findings, LiveOverview, QueryFinding, findings_in_turn, overview_of
from roslin.experiment.results import rank_rows, trial_records
from roslin.experiment.store import EventStore
from roslin.truth import grouped_truth, method_named
from roslin.truth.rankings import as_rankings, careless
from roslin.web.experiment.dashboard import day_plot, quota_plot, time_plot

HOUR_MS = 3_600_000


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """Six who do everything, one who never puts the query first, one who stops in a trial, one who never comes."""
    opened = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(quota=7))
    everybody = opened.invite(9)
    for each in everybody[:6]:
        judge_all(opened, each.name)
    careless, stopped = everybody[6].name, everybody[7].name
    for name in (careless, stopped):
        opened.consent(name)
    while opened.begin(careless):
        ranked(opened, careless, [f"q{n}-{k}" for n in (1, 2, 3) for k in (3, 2, 1)])
    opened.begin(stopped)
    yield opened
    opened.close()


def findings_of(store: EventStore, records: Any, known: Findings | None = None, shuffles: int = 200) -> Findings:
    return list(findings_in_turn(store.plan, records, known, shuffles))[-1]


def test_known_numbers(store: EventStore) -> None:
    found = overview_of(store.plan, list(store.histories()), withdrawn=2)
    assert [(each.finished, each.quota, each.checks, each.failed) for each in found.queries] == [(7, 7, 7, 1)] * 3
    assert sum(each.running for each in found.queries) == 0  # the quota was full, so nothing was begun
    assert (found.finished, found.wanted, found.withdrawn) == (21, 21, 2)
    assert dict(found.funnel) == {
        "invited": 9,
        "agreed": 8,
        "answered the questions": 6,
        "read the instructions": 6,
        "finished the practice": 0,
        "began a query": 7,
        "finished a query": 7,
        "finished everything": 6,
    }
    assert [person.expert.label for person in found.careless] == ["expert-007"]
    assert sum(count for _day, count in found.days) == 21
    assert found.median_seconds is not None
    assert [person.words for person in found.people[5:]] == [
        "done",
        "at the questions",
        "at the questions",
        "has not come yet",
    ]


def test_who_is_stuck_and_what_is_abandoned(tmp_path: Path) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(quota=5))
    name = store.invite(2)[0].name
    store.consent(name)
    for kind in ("answered", "practised"):
        store.add(name, kind)
    store.read_again(name)
    trial = store.begin(name)
    shown = trial_state(store.events(name, trial)).shown
    begun = overview_of(store.plan, list(store.histories()))
    assert sum(each.running for each in begun.queries) == 0, "nothing is decided yet"
    store.decide(name, trial, [Decision("sorted", {"document": shown[0], "verdict": "no"}, "k")])
    histories = list(store.histories())
    now = clock.now_ms()
    assert overview_of(store.plan, histories, now=now).stuck == ()
    later = overview_of(store.plan, histories, now=now + 4 * HOUR_MS)
    assert [(person.expert.name, person.words) for person in later.stuck] == [(name, "trial 1 of 3")]
    assert sum(each.running for each in later.queries) == 1
    much_later = overview_of(store.plan, histories, now=now + 49 * HOUR_MS)
    assert sum(each.running for each in much_later.queries) == 0
    store.close()


def test_what_is_known_by_now(store: EventStore) -> None:
    found = findings_of(store, list(trial_records(store.histories())), shuffles=50)
    assert list(found.queries) == ["q1", "q2", "q3"]
    first = found.queries["q1"]
    assert "q1" in first.groups[0]
    assert "shuffled rankings give" in first.sentence
    assert "Kendall's W" in first.agreement
    assert first.neighbours == 2  # the fourth candidate was ranked by the careless expert alone
    counts = [count for _more, count in first.apart]
    assert counts == sorted(counts)
    assert f"of {first.neighbours} pairs of neighbours are separated" in first.outlook
    assert first.study is not None
    assert first.study.truth["q1"] == first.groups


def test_the_dashboard_groups_as_the_command_does_without_those_who_failed_the_check(store: EventStore) -> None:
    records = list(trial_records(store.histories()))
    rankings = as_rankings(rank_rows(records))
    found = findings_of(store, records, shuffles=10).queries
    assert {query: each.groups for query, each in found.items()} == dict(
        grouped_truth(rankings, method_named("roslin"))
    )
    assert careless(rankings) == ("expert-007",)
    assert all("expert-007" not in dict(each.of) for each in found.values())


@pytest.mark.parametrize(("experts", "is_told"), [(1, False), (4, False), (5, True)])
def test_what_more_experts_would_bring_is_not_told_from_fewer_than_five(experts: int, is_told: bool) -> None:
    of = tuple((f"expert-{number:03}", 1) for number in range(experts))
    outlooks = [
        QueryFinding("q1", of, (), "", "", apart=apart, neighbours=3).outlook
        for apart in (((0, 1), (5, 1), (50, 1)), ((0, 1), (5, 2), (50, 3)))
    ]
    assert all(outlook.startswith("1 of 3 pairs of neighbours are separated; ") for outlook in outlooks)
    assert ["50 more participants" in outlook for outlook in outlooks] == [is_told, is_told]
    assert all("from 5 participants on" in outlook for outlook in outlooks) != is_told


def test_only_what_is_new_is_made_again(store: EventStore) -> None:
    records = list(trial_records(store.histories()))
    before = findings_of(store, [each for each in records if each.state.query != "q2"], shuffles=10)
    assert list(before.queries) == ["q1", "q3"]
    turns = list(findings_in_turn(store.plan, records, before, shuffles=10))
    assert [list(each.queries) for each in turns] == [["q1", "q2", "q3"]] * 2
    assert all(turns[-1].queries[query] is before.queries[query] for query in ("q1", "q3"))
    fewer = [each for each in records if each.expert.number != 1]
    after = findings_of(store, fewer, turns[-1], shuffles=10)
    assert all(after.queries[query] is not turns[-1].queries[query] for query in after.queries)
    assert findings_of(store, [], after).queries == {}  # everybody withdrew


def test_nothing_is_known_before_the_first(tmp_path: Path) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan())
    assert findings_of(store, []).problem == "nobody has finished a query yet"
    empty = overview_of(store.plan, [])
    assert (empty.finished, empty.median_seconds, empty.stuck, empty.days) == (0, None, (), ())
    name = store.invite()[0].name
    ranked(store, name)
    one = findings_of(store, list(trial_records(store.histories())), shuffles=20)
    assert len(one.queries) == 1  # one opinion is enough not to fail
    store.close()


def test_comparisons_are_understood(tmp_path: Path) -> None:
    plan = ranking_plan(1, design="pairs", quota=99, comparisons=1)
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", plan)

    def vote(first: str, second: str) -> None:
        name = store.invite()[0].name
        trial = store.begin(name)
        store.decide(name, trial, [Decision("chose", {"documents": [first, second], "best": first}, "k")])
        store.finish(name, trial, "end")

    vote("q1", "q1-1")
    vote("q1-2", "q1-3")
    records = list(trial_records(store.histories()))
    assert findings_of(store, records).problem == "too few comparisons for a common scale yet"
    for _ in range(4):
        vote("q1-1", "q1-2")
        vote("q1", "q1-1")
        vote("q1-2", "q1-3")
    found = findings_of(store, list(trial_records(store.histories())), shuffles=20).queries["q1"]
    assert [id for group in found.groups for id in group] == ["q1", "q1-1", "q1-2", "q1-3"]
    assert (found.outlook, found.agreement) == ("", "14 votes")
    store.close()


def test_the_live_overview_is_made_once_for_each_state(store: EventStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    original = overview_of

    def counted(*args: Any) -> Any:
        made.append(1)
        return original(*args)

    monkeypatch.setattr(overview_module, "overview_of", counted)
    live = LiveOverview(store, rest_seconds=0)
    seen = live.seen(60)
    assert seen.is_current
    assert seen.findings is not None
    assert live.seen(60).overview is seen.overview
    assert len(made) == 1
    store.invite()
    assert live.seen(60).overview is not seen.overview
    assert len(made) == 2
    live.close()


@pytest.mark.long
def test_nobody_waits_for_the_live_overview(store: EventStore, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    original = findings_in_turn

    def slow(*args: Any) -> Any:
        go_on.wait(600)
        yield from original(*args)

    monkeypatch.setattr(overview_module, "findings_in_turn", slow)
    live = LiveOverview(store, rest_seconds=0)
    first = live.seen(0.2)
    assert not first.is_current
    assert first.findings is None
    go_on.set()
    assert live.seen(60).findings is not None
    live.close()


def test_a_database_that_is_away_is_no_end(
    store: EventStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    live = LiveOverview(store, rest_seconds=0)
    before = live.seen(60).overview

    def away() -> Any:
        raise NotKeptError("the database did not answer")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(store, "histories", away)
        store.invite()
        seen = live.seen(60)
    assert (seen.overview, seen.is_current) == (before, False)
    assert "the overview of the study could not be made" in caplog.text
    assert live.seen(60).is_current


def test_it_rests_between(store: EventStore) -> None:
    live = LiveOverview(store, rest_seconds=3600)
    assert live.seen(60).is_current
    store.invite()
    assert not live.seen(86_400).is_current  # it does not even wait


def test_drawings_have_every_query_and_no_style_of_their_own(store: EventStore) -> None:
    found = overview_of(store.plan, list(store.histories()))
    for drawn in (quota_plot(found.queries), time_plot(found.queries)):
        assert all(query in drawn for query in ("q1", "q2", "q3"))
        assert "style" not in drawn
    assert "7 of 7" in quota_plot(found.queries)
    assert "21" in day_plot(found.days)
    assert "<svg" in quota_plot([])
    assert "<svg" in day_plot([])
    assert "2026-01-70" in day_plot([(f"2026-01-{day}", 1) for day in range(11, 71)])


def test_receipts_are_reconciled(tmp_path: Path) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(quota=9))
    one, two, three = (store.invite(participant=f"PID-{n}")[0] for n in (1, 2, 3))
    receipts = [judge_all(store, each.name) for each in (one, two)]
    store.add(three.name, "consented")
    shy = f"{receipts[0][:5].lower()}-{receipts[0][5:].lower()}"
    text = f"{shy}, paid\n\n{receipts[0]}\nWRONG\nPID-2\tyes\nPID-3\nPID-9\n"
    found = reconcile(text, store.histories())
    assert [(each.verdict, each.expert) for each in found.codes] == [
        ("valid", "expert-001"),
        ("twice", "expert-001"),
        ("unknown", ""),
        ("valid", "expert-002"),
        ("not finished", "expert-003"),
        ("unknown", ""),
    ]
    assert (found.count("unknown"), found.missing) == (2, ())
    late = reconcile(store.turn_away(three.name), store.histories())
    assert [(each.verdict, each.expert) for each in late.codes] == [("turned away", "expert-003")]
    assert reconcile("", store.histories()).missing == ("expert-001", "expert-002")
    store.close()

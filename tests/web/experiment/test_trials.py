"""Trials as JSON: what a page is told, what it sends, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.web.experiment.browsers import Alone, Browser, Invited, sorted_as

from roslin.experiment.events import trial_state
from roslin.experiment.results import trial_records


def test_a_trial_that_nobody_has_touched(expert: Browser) -> None:
    expert.at_trial()
    state = expert.state(1)
    csrf, queue, sequence = state.pop("csrf"), state.pop("queue"), state.pop("sequence")
    assert state == {
        "trial": 1,
        "of": 3,
        "design": "ranking",
        "ties": False,
        "differences": True,
        "count": 6,
        "verdicts": {},
        "groups": [],
        "undoable": "",
        "offered": [],
        "choices": 0,
        "comparisons": 15,
        "is_finished": False,
        "log": [],
    }
    assert len(csrf) == len(queue) == 43
    assert sequence == expert.study.store.expert(expert.name).sequence


def test_decisions_are_kept_as_documents_in_the_order_shown(expert: Browser) -> None:
    expert.at_trial()
    before = expert.state(1)["sequence"]
    sent = [
        {"key": "a", **sorted_as(4, "resembles")},
        {"key": "b", "kind": "placed", "document": 4, "after": None, "tied": False},
        {"key": "c", "kind": "placed", "document": 2, "after": 4},
        {"key": "d", "kind": "heard", "document": 3},
        {"key": "e", **sorted_as(5, "perhaps")},
        {"key": "f", "kind": "undone", "undoes": "e"},
    ]
    answer = expert.send(1, *sent).json()
    assert answer == {"keys": ["a", "b", "c", "d", "e", "f"], "sequence": before + 6, "offered": []}
    state = expert.state(1)
    assert (state["verdicts"], state["groups"], state["undoable"]) == (
        {"4": "resembles", "2": "resembles"},
        [[4], [2]],
        "c",
    )
    events = expert.study.store.events(expert.name, 1)
    kept = trial_state(events)
    assert kept.groups == ((kept.shown[4],), (kept.shown[2],))
    assert {event.device for event in events[1:]} == {"phone touch"}
    assert [event.made_ms for event in events[1:]] == sorted({event.made_ms for event in events[1:]})
    assert [each["kind"] for each in state["log"]] == ["sorted", "placed", "placed", "sorted", "undone"]
    assert state["log"][2] == {"kind": "placed", "key": "c", "document": 2, "after": 4, "tied": False}


def test_a_key_that_comes_again_is_acknowledged_and_not_written_again(expert: Browser) -> None:
    expert.at_trial()
    first = expert.send(1, {"key": "once", **sorted_as(0, "no")}).json()
    again = expert.send(1, {"key": "once", **sorted_as(0, "no")}, {"key": "new", **sorted_as(1, "no")}).json()
    assert again["keys"] == ["once", "new"]
    assert again["sequence"] == first["sequence"] + 1


def test_two_tabs_at_once_lose_nothing(expert: Browser) -> None:
    expert.at_trial()
    expert.state(1)
    tabs = [Browser(expert.client, expert.study, expert.name, expert.csrf) for _ in range(2)]

    def click(tab: Browser, place: int) -> None:
        for number in range(10):
            tab.send(1, {"key": f"tab{place}-{number}", **sorted_as((number + place) % 6, "no")})

    threads = [threading.Thread(target=click, args=(tab, place)) for place, tab in enumerate(tabs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = expert.study.store.events(expert.name)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert len({event.key for event in events if event.key.startswith("tab")}) == 20


def test_finishing_says_what_is_missing(expert: Browser) -> None:
    expert.at_trial()
    expert.send(1, *(sorted_as(number, "no") for number in range(1, 5)), sorted_as(5, "resembles"))
    refused = expert.finish(1)
    assert refused.status_code == 409
    assert refused.json()["missing"] == [0, 5]
    assert refused.json()["error"]["code"] == "not_allowed"
    place = {"kind": "placed", "document": 5, "after": None}
    expert.send(1, sorted_as(0, "perhaps"), place)
    done = expert.finish(1)
    assert done.json() == {"next": "/continue", "sequence": expert.state(1)["sequence"]}
    assert expert.finish(1).json() == done.json(), "a second click changes nothing"
    late = expert.send(1, sorted_as(0, "no"))
    assert late.status_code == 409
    assert "is finished" in late.json()["error"]["message"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (sorted_as(6, "no"), 409),
        (sorted_as(-1, "no"), 422),
        (sorted_as(0, "maybe"), 422),
        ({"kind": "sorted", "document": "0", "verdict": "no"}, 422),
        ({"kind": "placed", "document": 0, "after": 17}, 409),
        ({"kind": "placed", "document": 0, "after": 1, "tied": True}, 409),
        ({"kind": "finished"}, 422),
        ({"kind": "completed", "receipt": "MINE"}, 422),
        ({"kind": "heard", "document": 0, "more": 1}, 422),
        ({"kind": "heard"}, 422),
        ({"kind": "heard", "document": 6}, 409),
        ({"kind": "heard", "document": None, "duration_ms": -1}, 422),
        ({"kind": "heard", "document": None, "duration_ms": 2**40}, 409),
        ({"kind": "compared", "documents": [0, 6]}, 409),
        ({"kind": "compared", "documents": [None]}, 422),
        ({"kind": "heard", "document": 0, "key": ""}, 422),
        ({"kind": "heard", "document": 0, "key": "k" * 65}, 422),
        ({"kind": "heard", "document": 0, "key": "<script>"}, 422),
        ({"kind": "heard", "document": 0, "made_ms": -1}, 422),
        ({"kind": "heard", "document": 0, "made_ms": 2**60}, 422),
        ({"kind": "chose", "documents": [0, 1], "best": 0}, 409),
    ],
)
def test_what_no_page_sends_is_refused(expert: Browser, sent: dict[str, Any], status: int) -> None:
    expert.at_trial()
    before = len(expert.study.store.events(expert.name))
    answer = expert.send(1, {"key": "good", **sorted_as(0, "no")}, sent)
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) >= {"code", "message"}
    assert len(expert.study.store.events(expert.name)) == before, "all or nothing"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"decisions": []}', b"\xff", b'{"decisions": 5}'])
def test_a_body_that_is_none_is_refused(expert: Browser, body: bytes) -> None:
    expert.at_trial()
    headers = {"X-Roslin-Csrf": expert.state(1)["csrf"]}
    answer = expert.client.post("/api/trials/1/decisions", content=body, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "parameter"


def test_trials_that_are_not_there(expert: Browser) -> None:
    expert.at_trial()
    expert.state(1)
    assert expert.get("/api/trials/2").status_code == 404
    assert expert.send(2, sorted_as(0, "no")).status_code == 404
    assert expert.finish(2).status_code == 404
    for number in ("-1", "x", "99999999999999999999", "1.5"):
        assert expert.get(f"/api/trials/{number}").status_code in (404, 422), number


def test_the_practice_is_over_when_it_is_over(expert: Browser) -> None:
    expert.at_trial()
    late = expert.send(0, sorted_as(0, "resembles"))
    assert late.status_code == 409
    assert late.json()["error"]["message"] == "the practice is over"


@pytest.mark.long
@pytest.mark.parametrize(("kind", "size"), [("pairs", 2), ("triplets", 3)])
def test_comparisons_are_offered_until_there_are_enough(alone: Alone, kind: str, size: int) -> None:
    expert = alone(kind=kind, comparisons=2)
    page = expert.follow()
    for path, fields in [("/consent", {"agree": "yes"}), ("/questions", {"q-experience_years": "1"})]:
        page = expert.submit(path, page, **fields)
    expert.submit("/instructions", page)
    for trial in (0, 1):
        state = expert.state(trial)
        assert expert.state(trial)["offered"] == state["offered"], "looking again offers nothing else"
        asked = []
        offered = state["offered"]
        while offered:
            assert len(set(offered)) == size
            asked.append(frozenset(offered))
            left = expert.finish(trial)
            assert left.status_code == 409
            assert left.json()["missing"] == []
            answer = expert.send(trial, {"kind": "chose", "documents": offered, "best": offered[-1]}).json()
            offered = answer["offered"]
        assert len(set(asked)) == state["comparisons"] == expert.state(trial)["choices"]
        ended = expert.finish(trial).json()
        if trial == 0:
            assert [set(each["documents"]) for each in ended["feedback"]] == [set(each) for each in asked]
            assert {each["is_right"] for each in ended["feedback"]} <= {True, False}
            expert.client.post("/practice", data={"csrf": expert.csrf})
    assert expert.get("/continue").url.path == "/trial"


@pytest.mark.long
def test_an_undone_choice_is_offered_again(alone: Alone) -> None:
    expert = alone(kind="pairs", comparisons=3)
    store = expert.study.store
    expert.follow()
    store.consent(expert.name)
    for kind in ("answered", "practised"):
        store.add(expert.name, kind)
    store.read_again(expert.name)
    assert expert.get("/continue").url.path == "/trial"
    first = expert.state(1)["offered"]
    second = expert.send(1, {"key": "c", "kind": "chose", "documents": first, "best": None}).json()["offered"]
    assert set(second) != set(first)
    assert expert.send(1, {"kind": "undone", "undoes": "c"}).json()["offered"] == first
    assert expert.state(1)["choices"] == 0


@pytest.mark.long
@pytest.mark.parametrize(("kind", "attention"), [("pairs", True), ("pairs", False), ("triplets", True)])
def test_comparisons_check_attention_where_the_query_hides(alone: Alone, kind: str, attention: bool) -> None:
    expert = alone(kind=kind, comparisons=5, query_among_candidates=True)
    expert.at_trial()
    state = expert.study.state(expert.name, 1)
    query = state.shown.index(state.query)
    met = 0
    offered = expert.state(1)["offered"]
    while offered:
        met += query in offered
        wanted = query if query in offered and attention else next(each for each in offered if each != query)
        offered = expert.send(1, {"kind": "chose", "documents": offered, "best": wanted}).json()["offered"]
    assert met >= 1
    assert expert.finish(1).status_code == 200
    own = [each for each in expert.study.store.histories() if each[0].name == expert.name]
    [record] = trial_records(own)
    assert record.attention is attention


def test_differences_are_marked_in_both(expert: Browser) -> None:
    expert.at_trial()
    shown = expert.study.shown(expert.name, 1)
    task = shown.task.query.id
    variant = shown.shown.index(f"{task}-4")
    both = expert.get(f"/api/trials/1/differences?first=query&second={variant}").json()
    assert set(both) == {"first", "second"}
    assert all(figure.startswith("<figure") for figure in both.values())
    assert f"candidate {variant + 1}" in both["second"].lower()
    itself = expert.get(f"/api/trials/1/differences?first={variant}&second={variant}").json()
    assert "matched " not in itself["first"]
    assert "matched " not in itself["second"]
    assert "matched " in both["first"] + both["second"]
    ids = [part.split('"')[0] for figure in itself.values() for part in figure.split(' id="')[1:]]
    assert len(ids) == len(set(ids)), "both can stand on one page"
    for wrong in ("first=query", "first=query&second=99", "first=query&second=x", "first=query&second=-1"):
        assert expert.get(f"/api/trials/1/differences?{wrong}").status_code in (404, 422), wrong


def test_a_study_shows_no_differences_unless_it_asks_for_them(alone: Alone) -> None:
    expert = alone()
    expert.at_trial()
    refused = [expert.get("/api/trials/1/differences?first=query&second=0")]
    refused.append(expert.send(1, {"kind": "compared", "documents": [None, 0]}))
    assert [answer.status_code for answer in refused] == [409, 409]
    assert all("set design.differences" in answer.json()["error"]["message"] for answer in refused)
    assert expert.state(1)["differences"] is False
    assert 'id="differences"' not in expert.get("/trial").text


def test_plays_and_uses_of_the_differences_are_events_without_a_state(expert: Browser) -> None:
    expert.at_trial()
    before = expert.state(1)
    sent: list[dict[str, Any]] = [
        {"kind": "heard", "document": None, "duration_ms": 2500},
        {"kind": "heard", "document": 1, "duration_ms": 0},
        {"kind": "compared", "documents": [None, 1]},
    ]
    assert expert.send(1, *sent).status_code == 200
    after = expert.state(1)
    assert {**after, "sequence": before["sequence"]} == before
    events = expert.study.store.events(expert.name, 1)
    shown = trial_state(events).shown
    assert [event.payload for event in events[1:]] == [
        {"document": None, "duration_ms": 2500},
        {"document": shown[1], "duration_ms": 0},
        {"documents": [None, shown[1]]},
    ]


def test_figures_are_drawn_once_for_everybody(invited: Invited, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = invited(), invited()
    first.at_trial()
    study = first.study
    for task in study.plan.tasks:  # whichever the second expert gets
        for item in (task.query, *task.candidates):
            study.figures.figure(item, 1, "query" if item is task.query else "0", "en")
    monkeypatch.setattr("roslin.web.experiment.study.melody_figure", None)
    page = second.until("trial")
    assert page.text.count("<figure") == 7
    assert "%N%" not in page.text


def test_health(served: TestClient) -> None:
    assert served.get("/healthz").json() == {"status": "ok", "study": "open"}

"""The state that follows from what an expert did: known cases, then properties of any two tabs, then the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiment.plans import ranking_plan

from roslin.experiment.events import (
    VERDICTS,
    Event,
    ExpertChoice,
    TrialState,
    comparisons_wanted,
    is_complete,
    missing,
    position_of,
    ranks_of,
    trial_state,
)
from roslin.experiment.plan import checksum

SHOWN = ("a", "b", "c", "d", "e", "f")
HOUR_MS = 3_600_000

Told = tuple[str, dict[str, Any], str]


def began(**payload: Any) -> Told:
    return "began", {"query": "q", "shown": list(SHOWN), **payload}, "began"


def sorted_as(document: str, verdict: str, key: str = "") -> Told:
    return "sorted", {"document": document, "verdict": verdict}, key or f"s-{document}-{verdict}"


def placed(document: str, after: str | None, tied: bool = False, key: str = "") -> Told:
    return "placed", {"document": document, "after": after, "tied": tied}, key or f"p-{document}-{after}"


def undone(key: str) -> Told:
    return "undone", {"undoes": key}, f"undo-{key}"


def offered(*documents: str) -> Told:
    return "offered", {"documents": list(documents)}, f"o-{''.join(documents)}"


def chose(best: str | None, *documents: str) -> Told:
    return "chose", {"documents": list(documents), "best": best}, f"c-{''.join(documents)}"


def folded(told: Sequence[Told]) -> TrialState:
    return trial_state(
        Event(place, kind, 1, payload, key, place) for place, (kind, payload, key) in enumerate(told, start=1)
    )


# -- known cases ----------------------------------------------------------------------------------------------------


def test_a_list_grows_by_placing() -> None:
    state = folded([began(), placed("a", None), placed("b", "a"), placed("c", None), placed("d", "a", tied=True)])
    assert state.groups == (("c",), ("a", "d"), ("b",))
    assert ranks_of(state) == {"c": 1, "a": 2.5, "d": 2.5, "b": 4, "e": None, "f": None}
    assert state.verdicts == dict.fromkeys("abcd", "resembles")
    assert state.undoable == "p-d-a"


def test_after_what_has_left_the_list_means_at_its_end() -> None:
    left = [began(), placed("a", None), placed("b", "a"), sorted_as("a", "no")]
    assert folded(left).groups == (("b",),)
    assert folded([*left, placed("c", "a")]).groups == (("b",), ("c",))


def test_after_itself_stays_or_goes_to_the_end() -> None:
    assert folded([began(), placed("a", None), placed("b", "a"), placed("a", "a")]).groups == (("a",), ("b",))
    assert folded([began(), placed("a", None), placed("b", "b")]).groups == (("a",), ("b",))


def test_placing_takes_back_that_it_does_not_resemble_but_not_a_perhaps() -> None:
    state = folded([began(), sorted_as("a", "no"), sorted_as("b", "perhaps"), placed("a", None), placed("b", "a")])
    assert state.verdicts == {"a": "resembles", "b": "perhaps"}


def test_what_is_undone_was_never_made() -> None:
    told = [began(), placed("a", None), placed("b", "a"), sorted_as("a", "no")]
    assert folded([*told, undone("s-a-no")]).groups == (("a",), ("b",))
    again = folded([*told, undone("s-a-no"), undone("p-b-a")])
    assert (again.groups, again.undoable) == ((("a",),), "p-a-None")
    assert folded([*told, undone("never heard of")]) == folded(told)


def test_a_trial_begun_again_starts_from_there() -> None:
    assert folded([began(), placed("a", None), began()]) == folded([began()])


def test_a_choice_that_is_undone_is_offered_again() -> None:
    told = [began(), offered("a", "b"), chose("a", "a", "b"), offered("c", "d")]
    state = folded(told)
    assert (state.choices, state.offered) == ((ExpertChoice(("a", "b"), "a"),), ("c", "d"))
    back = folded([*told, undone("c-ab")])
    assert (back.choices, back.offered, back.undoable) == ((), ("a", "b"), "")
    assert folded([*told, undone("c-ab"), chose(None, "b", "a")]).offered == ()


def test_what_is_missing_from_a_ranking() -> None:
    plan = ranking_plan()
    told = [began(), *(sorted_as(each, "no") for each in "abcd"), sorted_as("e", "resembles")]
    assert missing(folded(told), plan) == ["e", "f"]
    assert missing(folded([*told, placed("e", None)]), plan) == ["f"]
    assert missing(folded([*told, placed("e", None), sorted_as("f", "perhaps")]), plan) == []


@pytest.mark.parametrize(
    ("design", "trial", "documents", "wanted"),
    [("pairs", 1, 6, 9), ("pairs", 1, 3, 3), ("pairs", 0, 6, 5), ("triplets", 1, 12, 9), ("triplets", 0, 3, 1)],
)
def test_comparisons_are_as_many_as_wanted_or_possible(design: str, trial: int, documents: int, wanted: int) -> None:
    plan = ranking_plan(design=design, comparisons=9)
    assert comparisons_wanted(plan, trial, documents) == wanted
    state = TrialState("q", tuple("abcdefghijkl"[:documents]), choices=(ExpertChoice(("a", "b"), "a"),))
    assert missing(state, plan, trial) == [""] * (wanted - 1)


# -- properties -----------------------------------------------------------------------------------------------------

documents = st.sampled_from(SHOWN)


@st.composite
def decisions(draw: st.DrawFn, tab: str) -> list[Told]:
    """What one tab sends: it may undo anything that it sent before."""
    told: list[Told] = []
    for number in range(draw(st.integers(0, 8))):
        key = f"{tab}{number}"
        kind = draw(st.sampled_from(["sorted", "placed", "placed", "chose", "heard", "undone"]))
        if kind == "sorted":
            told.append(sorted_as(draw(documents), draw(st.sampled_from(VERDICTS)), key))
        elif kind == "placed":
            after = draw(st.none() | documents)
            told.append(placed(draw(documents), after, draw(st.booleans()), key))
        elif kind == "chose":
            pair = draw(st.permutations(SHOWN))[:2]
            told.append(("chose", {"documents": list(pair), "best": draw(st.sampled_from([None, *pair]))}, key))
        elif kind == "heard":
            told.append(("heard", {"document": draw(documents)}, key))
        elif told:
            told.append(("undone", {"undoes": draw(st.sampled_from(told))[2]}, key))
    return told


@st.composite
def two_tabs(draw: st.DrawFn) -> tuple[list[Told], list[Told], list[Told]]:
    """What each of two tabs sends, and both as they arrive: each in its own order."""
    first, second = draw(decisions("x")), draw(decisions("y"))
    turns = draw(st.permutations([0] * len(first) + [1] * len(second)))
    sources = (iter(first), iter(second))
    return first, second, [next(sources[turn]) for turn in turns]


def _live(told: Sequence[Told]) -> list[Told]:
    gone = {payload["undoes"] for kind, payload, _ in told if kind == "undone"}
    return [each for each in told if each[2] not in gone and each[0] in ("sorted", "placed", "chose")]


@given(two_tabs())
def test_any_interleaving_of_two_tabs_makes_sense(tabs: tuple[list[Told], list[Told], list[Told]]) -> None:
    _, _, arrived = tabs
    state = folded([began(), *arrived])
    listed = [document for group in state.groups for document in group]
    assert len(listed) == len(set(listed))
    assert all(state.groups)
    assert set(listed) <= {document for document, verdict in state.verdicts.items() if verdict != "no"}
    ranks = [rank for rank in ranks_of(state).values() if rank is not None]
    assert sum(ranks) == len(listed) * (len(listed) + 1) / 2
    live = _live(arrived)
    assert state.undoable == (live[-1][2] if live else "")
    assert len(state.choices) == sum(kind == "chose" for kind, _, _ in live)


@given(two_tabs())
def test_what_was_undone_leaves_no_trace(tabs: tuple[list[Told], list[Told], list[Told]]) -> None:
    _, _, arrived = tabs
    state, plain = folded([began(), *arrived]), folded([began(), *_live(arrived)])
    assert (state.verdicts, state.groups, state.choices, state.undoable) == (
        plain.verdicts,
        plain.groups,
        plain.choices,
        plain.undoable,
    )


@given(decisions("x"), documents, st.none() | documents, st.booleans(), st.sampled_from(VERDICTS), st.booleans())
def test_undoing_is_the_exact_inverse(
    before: list[Told], document: str, after: str | None, tied: bool, verdict: str, is_placed: bool
) -> None:
    then = placed(document, after, tied, "new") if is_placed else sorted_as(document, verdict, "new")
    assert folded([began(), *before, then, undone("new")]) == folded([began(), *before])


@given(decisions("x"), st.permutations(SHOWN), st.booleans())
def test_undoing_a_choice_is_the_exact_inverse(before: list[Told], order: list[str], is_next_there: bool) -> None:
    told = [began(), *before, offered(*order[:2])]
    then = [chose(order[0], *order[:2]), *([offered(*order[2:4])] if is_next_there else [])]
    assert folded([*told, *then, undone(then[0][2])]) == folded(told)


@given(two_tabs(), st.permutations(SHOWN), st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)))
def test_verdicts_on_two_candidates_come_in_any_order(
    tabs: tuple[list[Told], list[Told], list[Told]], order: list[str], verdicts: tuple[str, str]
) -> None:
    start = [began(), *tabs[2]]
    one, two = (sorted_as(document, verdict) for document, verdict in zip(order[:2], verdicts, strict=True))
    first, second = folded([*start, one, two]), folded([*start, two, one])
    assert (first.verdicts, first.groups) == (second.verdicts, second.groups)


@given(st.permutations(SHOWN), st.booleans(), st.booleans(), st.integers(0, 3), st.integers(0, 3))
def test_placing_beside_different_neighbours_comes_in_any_order(
    order: list[str], first_tied: bool, second_tied: bool, first_place: int, second_place: int
) -> None:
    """Two new ones; each goes after one of four that stand in the list, not the same."""
    listed, new = order[:4], order[4:]
    if first_place == second_place:
        return
    start = [began(), *(placed(document, before) for before, document in zip([None, *listed], listed, strict=False))]
    one, two = placed(new[0], listed[first_place], first_tied), placed(new[1], listed[second_place], second_tied)
    assert folded([*start, one, two]).groups == folded([*start, two, one]).groups


@pytest.mark.long
@given(two_tabs())
def test_what_only_one_tab_touched_is_as_that_tab_left_it(tabs: tuple[list[Told], list[Told], list[Told]]) -> None:
    first, second, arrived = tabs
    both, alone = folded([began(), *arrived]), folded([began(), *first])
    touched = {payload.get("document") for kind, payload, _ in second if kind in ("sorted", "placed")}
    for document in set(alone.verdicts) - touched:
        assert both.verdicts[document] == alone.verdicts[document]
        assert (document in both.placed) == (document in alone.placed)


# -- where an expert stands -----------------------------------------------------------------------------------------


def told(*kinds: str, hours: Sequence[float] = ()) -> list[Event]:
    """Events of these kinds, an hour apart or at these hours; "began 1" is of trial 1."""
    events = []
    for place, text in enumerate(kinds):
        kind, _, trial = text.partition(" ")
        at = int((hours[place] if hours else place) * HOUR_MS)
        payload: dict[str, Any] = {"query": "q1", "shown": list(SHOWN)}
        if kind in ("completed", "turned_away"):
            payload = {"receipt": "ABC"}
        elif kind == "consented":
            payload = {"sha256": checksum("I agree.")}
        events.append(Event(place + 1, kind, int(trial or 0), payload, str(place), at))
    return events


WHOLE = ("consented", "answered", "read", "began 0", "practised", "began 1", "sorted 1", "finished 1", "completed")


@pytest.mark.parametrize(
    ("count", "stage", "trial", "is_open", "finished"),
    [
        (0, "consent", 1, False, 0),
        (1, "questions", 1, False, 0),
        (2, "instructions", 1, False, 0),
        (3, "practice", 1, False, 0),
        (4, "practice", 1, False, 0),
        (5, "trial", 1, False, 0),
        (6, "trial", 1, True, 0),
        (7, "trial", 1, True, 0),
        (8, "trial", 2, False, 1),
        (9, "done", 2, False, 1),
    ],
)
def test_one_page_after_the_other(count: int, stage: str, trial: int, is_open: bool, finished: int) -> None:
    events = told(*WHOLE[:count])
    at = position_of(events, ranking_plan(), count * HOUR_MS)
    assert (at.stage, at.trial, at.is_open, at.finished, at.sequence) == (stage, trial, is_open, finished, count)
    assert at.receipt == ("ABC" if stage == "done" else "")


@pytest.mark.parametrize(
    ("resume", "hours", "stage"),
    [
        ("reread", 23.9, "trial"),
        ("reread", 24.1, "instructions"),
        ("restart", 24.1, "instructions"),
        ("continue", 1000, "trial"),
    ],
)
def test_after_a_long_pause_instructions_are_read_again(resume: str, hours: float, stage: str) -> None:
    events = told(*WHOLE[:7])
    now = events[-1].time_ms + int(hours * HOUR_MS)
    assert position_of(events, ranking_plan(resume=resume), now).stage == stage


def test_an_open_page_does_not_spare_anybody_the_instructions() -> None:
    events = told("consented", "answered", "read", "practised", "began 1", "sorted 1", hours=(0, 0, 0, 0, 1, 30))
    assert position_of(events, ranking_plan(), 31 * HOUR_MS).stage == "instructions"
    again = [*events, Event(7, "read", 0, {}, "r", 31 * HOUR_MS)]
    assert position_of(again, ranking_plan(), 32 * HOUR_MS).stage == "trial"


def test_whoever_is_done_stays_done_however_long() -> None:
    assert position_of(told(*WHOLE), ranking_plan(), 10_000 * HOUR_MS).stage == "done"


def test_who_was_turned_away_goes_on_and_who_was_done_only_if_they_want_to() -> None:
    turned_away = told(*WHOLE[:8], "turned_away")
    assert position_of(turned_away, ranking_plan(), 10 * HOUR_MS).stage == "trial"
    assert not is_complete(turned_away)
    resumed = told(*WHOLE, "resumed")
    at = position_of(resumed, ranking_plan(), 10 * HOUR_MS)
    assert (at.stage, at.receipt) == ("trial", "ABC")
    assert [is_complete(events) for events in (told(*WHOLE), resumed, told(*WHOLE, "resumed", "completed"))] == [
        True,
        False,
        True,
    ]


def test_who_agreed_to_another_text_is_asked_again() -> None:
    plan = ranking_plan()
    changed = replace(plan, consent={"en": "I agree to more."})
    events = told(*WHOLE[:7])
    assert position_of(events, plan, 7 * HOUR_MS).stage == "trial"
    assert position_of(events, changed, 7 * HOUR_MS).stage == "consent"
    again = Event(8, "consented", 0, {"sha256": checksum("I agree to more.")}, "c", 7 * HOUR_MS)
    assert position_of([*events, again], changed, 7 * HOUR_MS).stage == "trial"
    assert position_of(told(*WHOLE), changed, 9 * HOUR_MS).stage == "done", "who is done has nothing to agree to"
    translated = replace(plan, consent={"en": "I agree.", "de": "Einverstanden."})
    assert position_of(events, translated, 7 * HOUR_MS).stage == "trial", "another language is no other text"

"""Simulated participants who rehearse a study by the pages that people see.

A page does not show which document a candidate is. Bots therefore need a key: a function that returns the query of a
trial and the candidates in the order shown, read from the database of the study.
"""

from __future__ import annotations

import html
import json
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

import numpy as np

from roslin.display.table import Table
from roslin.errors import ArgumentError, ExperimentError, UnknownNameError
from roslin.experiment.plan import Question, StudyPlan, Task, chance_of
from roslin.experiment.store import EventStore
from roslin.truth.model import Groups
from roslin.truth.simulate import MODELS
from roslin.types import Progress

Key = Callable[[str, int], tuple[str, tuple[str, ...]]]
"""The query of a trial of a participant, and the candidates in the order shown."""

_STATE = re.compile(r'<script type="application/json" id="state">(.*?)</script>', re.S)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)"')
_BROWSERS = 16
_MOST_PAGES = 1000
_PATIENCE_SECONDS = 60.0  # for a server that asks to come back later
_RETRY_SECONDS = 0.2
_BUSY = (429, 503)
_DECISIONS_PER_REQUEST = 50


@dataclass(frozen=True, slots=True)
class Bots:
    """The address of the server, and the participants to simulate. `careless` and `quit` are shares of all."""

    address: str
    population: Population
    key: Key
    careless: float = 0.0
    quit: float = 0.0
    seed: int = 2005


@dataclass(slots=True)
class Visit:
    """The result of one simulated participant. `acknowledged`: the trial of every decision, by its key."""

    name: str
    end: str = "quit"  # or finished, nothing left, failed
    trials: int = 0
    acknowledged: dict[str, int] = field(default_factory=dict)
    problem: str = ""


def run_bots(bots: Bots, links: Sequence[tuple[str, str]], progress: Progress) -> list[Visit]:
    """Send participants through a study. `links`: the name and the personal link of each."""

    def visit(number: int, name: str, link: str) -> Visit:
        return _Bot(bots, number, name).visit(urlsplit(link).path)

    visits = []
    with ThreadPoolExecutor(_BROWSERS) as pool:
        for found in pool.map(visit, range(len(links)), *zip(*links, strict=True)):
            visits.append(found)
            progress(len(visits) / len(links), "simulated participants")
    return visits


def visits_table(visits: Sequence[Visit], lost: int, seconds: float) -> Table:
    """Counts of a rehearsal. `lost`: acknowledged decisions that the database lacks."""
    ends = Counter(visit.end for visit in visits)
    rows = {
        "simulated participants": len(visits),
        **{end: ends[end] for end in ("finished", "nothing left", "quit", "failed")},
        "trials finished": sum(visit.trials for visit in visits),
        "decisions": sum(len(visit.acknowledged) for visit in visits),
        "of these lost": lost,
        "seconds": round(seconds, 1),
    }
    return Table.of(("what", "number"), rows.items())


def lost_decisions(store: EventStore, visits: Iterable[Visit]) -> int:
    """How many acknowledged decisions are not stored in their trial."""
    stored = {expert.name: {event.key: event.trial for event in events} for expert, events in store.histories()}
    return sum(stored[visit.name].get(key) != trial for visit in visits for key, trial in visit.acknowledged.items())


class _LeftError(Exception):
    pass


class _Bot:
    """One participant in one browser."""

    def __init__(self, bots: Bots, number: int, name: str):
        self._bots, self._plan, self._number = bots, bots.population.plan, number
        self._chance = chance_of(bots.seed, "habits", number)
        self._is_careless, quits = (self._chance.random(2) < (bots.careless, bots.quit)).tolist()
        trials = min(self._plan.rules.queries_per_expert, len(self._plan.tasks))
        self._requests_left = int(self._chance.integers(1, 10 + 4 * trials)) if quits else -1
        self._browser = build_opener(HTTPCookieProcessor())
        self.found = Visit(name)

    def visit(self, path: str) -> Visit:
        try:
            self._study(path)
        except _LeftError:
            pass
        except ExperimentError as error:
            self.found.end, self.found.problem = "failed", str(error)
        return self.found

    def _study(self, path: str) -> None:
        for _ in range(_MOST_PAGES):
            where, page = self._ask(path)  # redirected to the page where the participant is
            path = "/continue"
            if where in ("/thanks", "/wait"):
                self.found.end = "finished" if where == "/thanks" else "nothing left"
                return
            if where in ("/practice", "/trial"):
                self._judge(page)
            if where != "/trial":
                fields = {name: html.unescape(value) for name, value in _HIDDEN.findall(page)}
                answers = map(self._answer, self._plan.questions) if where == "/questions" else ()
                self._ask(where, urlencode({**fields, "agree": "yes", **dict(answers)}).encode())
        raise ExperimentError("the study has no end")

    def _answer(self, question: Question) -> tuple[str, Any]:
        value: Any = "simulated"
        if question.kind == "number":
            low = question.least if question.least is not None else 0.0
            high = question.most if question.most is not None else low + 40
            value = int(self._chance.integers(int(low), int(high) + 1))
        elif question.choices:
            value = list(question.choices)[int(self._chance.integers(len(question.choices)))]
        return f"q-{question.name}", value

    # -- trials -------------------------------------------------------------------------------------------------------

    def _judge(self, page: str) -> None:
        found = _STATE.search(page)
        if found is None:
            raise ExperimentError("the page of a trial has no state")
        state = json.loads(found[1])
        query, shown = self._bots.key(self.found.name, state["trial"])
        task = self._plan.task(query, state["trial"])
        opinion = self._bots.population.opinion(self._number, task, self._is_careless)
        if state["design"] == "ranking":
            decisions = _ranking(shown, opinion, ties=state["ties"])
            for start in range(0, len(decisions), _DECISIONS_PER_REQUEST):
                self._decide(state, decisions[start : start + _DECISIONS_PER_REQUEST])
        else:
            self._compare(state, shown, opinion)
        self._post(state, "finish", {"key": secrets.token_hex(8)})
        self.found.trials += state["trial"] > 0

    def _compare(self, state: Mapping[str, Any], shown: Sequence[str], opinion: Opinion) -> None:
        offered = state["offered"]
        while offered:
            documents = [shown[number] for number in offered]
            is_tie = state["ties"] and len({opinion.levels[document] for document in documents}) == 1
            best = None if is_tie else shown.index(opinion.best(documents))
            offered = self._decide(state, [{"kind": "chose", "documents": offered, "best": best}])["offered"]

    def _decide(self, state: Mapping[str, Any], decisions: Iterable[Mapping[str, Any]]) -> Any:
        now = time.time_ns() // 1_000_000
        stamped = [{**decision, "key": secrets.token_hex(8), "made_ms": now} for decision in decisions]
        answer = self._post(state, "decisions", {"decisions": stamped})
        self.found.acknowledged.update(dict.fromkeys(answer["keys"], state["trial"]))
        return answer

    def _post(self, state: Mapping[str, Any], what: str, content: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "X-Roslin-Csrf": state["csrf"]}
        path = f"/api/trials/{state['trial']}/{what}"
        return json.loads(self._ask(path, json.dumps({**content, "device": "simulated"}).encode(), headers)[1])

    def _ask(self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Send a request: the path on which the redirects end, and its text."""
        if self._requests_left == 0:
            raise _LeftError
        self._requests_left -= 1
        request = Request(self._bots.address.rstrip("/") + path, body, dict(headers or {}))  # noqa: S310 - a server of studies
        shown = f"{request.get_method()} {path.split('-')[0]}"  # without the signature of a personal link
        limit = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with self._browser.open(request, timeout=_PATIENCE_SECONDS) as answer:
                    return urlsplit(answer.url).path, answer.read().decode()
            except HTTPError as error:
                if error.code not in _BUSY or time.monotonic() > limit:
                    raise ExperimentError(f"{shown}: status {error.code}") from None
            except (OSError, HTTPException):
                raise ExperimentError(f"{shown}: no answer") from None
            time.sleep(_RETRY_SECONDS)


def _ranking(shown: Sequence[str], opinion: Opinion, *, ties: bool) -> list[dict[str, Any]]:
    """The decisions of a ranking: every candidate sorted, and those that resemble the query placed in order."""
    found: list[dict[str, Any]] = [
        {"kind": "sorted", "document": number, "verdict": opinion.verdicts[id]} for number, id in enumerate(shown)
    ]
    alike = [id for id in shown if opinion.verdicts[id] == "resembles"]
    above: str | None = None
    for id in sorted(alike, key=lambda id: -opinion.merit(id, alike)):
        is_tied = ties and above is not None and opinion.levels[id] == opinion.levels[above]
        after = None if above is None else shown.index(above)
        found.append({"kind": "placed", "document": shown.index(id), "after": after, "tied": is_tied})
        above = id
    return found


# -- opinions ----------------------------------------------------------------------------------------------------------
#
# Opinions of simulated participants: the models of `truth.simulate`, drawn once for each participant and query, and
# `context`: plackett-luce, but a candidate seems less special beside others of its level, which no model of strengths
# allows.
#
# A ground truth gives the level of each candidate, the most similar group first. Candidates without a group are one
# level below the last and do not resemble the query. Without a ground truth the order of the plan is the true one, and
# its first half resembles the query. A query among its own candidates is above all others. A participant ranks about
# as many candidates as resemble the query. A careless participant judges at random.


BOT_MODELS = (*MODELS, "context")
_CROWDING = 4.0  # places that a candidate loses where all others are of about its level
_SURE = 0.95  # the share of the resembling candidates that a participant recognises


def levels_of(task: Task, groups: Groups | None) -> tuple[dict[str, int], int]:
    """The level of every candidate, 0 for the most similar, and the first level that does not resemble the query."""
    own = [task.query.id] if task.query.id in task.ids else []
    others = [id for id in task.ids if id not in own]
    if groups is None:
        levels = {id: level for level, id in enumerate([*own, *others])}
        return levels, -(-len(levels) // 2)
    ranked = [own, *groups] if own else list(groups)
    known = {id: level for level, group in reversed(list(enumerate(ranked))) for id in group}
    return {id: known.get(id, len(ranked)) for id in [*own, *others]}, len(ranked)


@dataclass(frozen=True, slots=True)
class Opinion:
    """One participant about the candidates of one query. `merits`: larger is more similar."""

    merits: Mapping[str, float]
    levels: Mapping[str, int]
    verdicts: Mapping[str, str]
    crowding: float = 0.0

    def merit(self, document: str, present: Collection[str]) -> float:
        others = [id for id in present if id != document]
        near = sum(abs(self.levels[id] - self.levels[document]) <= 1 for id in others)
        return self.merits[document] - self.crowding * near / max(len(others), 1)

    def best(self, documents: Sequence[str]) -> str:
        return max(documents, key=lambda id: self.merit(id, documents))


@dataclass(frozen=True, slots=True)
class Population:
    """Participants of one kind. `noise` as in `truth.simulate`: 0, all are right; 1, all judge at random."""

    plan: StudyPlan
    truth: Mapping[str, Groups] | None = None
    model: str = "mallows"
    noise: float = 0.5
    seed: int = 2005

    def __post_init__(self) -> None:
        if self.model not in BOT_MODELS:
            raise UnknownNameError("model", self.model, BOT_MODELS)
        if not 0 <= self.noise <= 1:
            raise ArgumentError(f"noise must be between 0 and 1; got {self.noise!r}")

    def opinion(self, expert: object, task: Task, is_careless: bool = False) -> Opinion:
        """The opinion of a participant about a query, the same for every call."""
        chance = chance_of(self.seed, expert, task.query.id)
        levels, end = levels_of(task, None if self.truth is None else self.truth.get(task.query.id, ()))
        ids, found = list(levels), np.array(list(levels.values()), dtype=np.int64)
        size, resembling = len(ids), int(np.count_nonzero(found < end))
        model = MODELS["plackett-luce" if self.model == "context" else self.model]
        order = chance.permutation(size) if is_careless else model(chance, 1, found, self.noise)[0]
        merits = {ids[k]: float(size - place) for place, k in enumerate(order)}
        if is_careless:
            ranked = int(chance.integers(size + 1))
        else:
            ranked = max(int(chance.binomial(resembling, _SURE)), min(1, size))
        verdicts = {ids[k]: "resembles" if place < ranked else "no" for place, k in enumerate(order)}
        for k in order[ranked : ranked + 2]:  # the next ones are doubtful
            verdicts[ids[k]] = "perhaps"
        return Opinion(merits, levels, verdicts, _CROWDING if self.model == "context" else 0.0)

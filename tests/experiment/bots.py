"""Simulated participants who put a server under stress, by the HTTP interface that browsers use.

Their opinions are those of `roslin.experiment.bots`. Bots without a key judge blindly. Their habits, each with its
share of the participants:

  careless   judge at random                       quit      leave at any point and never come back
  double     send everything twice, at once        tabs      work in two tabs at a time
  offline    send several decisions late, and again where an answer was lost

All of them repeat requests that were not acknowledged, as our pages do, with the same keys, until their patience ends.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.experiment.visits import HABITS, Habits, Visit, is_better

from roslin.experiment.bots import Key, Opinion, Population
from roslin.experiment.plan import Item, Question, Task, chance_of

_STATE = re.compile(r'<script type="application/json" id="state">(.*?)</script>', re.S)
_DEVICES = ("desktop mouse", "phone touch", "tablet touch")
_MOST_PAGES = 1000
_SLOWEST_RETRY = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Bots:
    """Who they are, where they go and what they know."""

    address: str
    population: Population
    key: Key | None = None
    habits: Habits = field(default_factory=Habits)
    seed: int = 2005
    is_over: Callable[[], bool] = lambda: False  # then everybody quits


class _QuitError(Exception):
    """Somebody leaves."""


class _GaveUpError(Exception):
    """The server does not do what a study needs."""


async def run_bots(
    bots: Bots, links: Sequence[tuple[str, str]], progress: Callable[[float, str], None] | None = None
) -> list[Visit]:
    """Send everybody through the study at the same time. `links`: the name and the personal link of each.

    Who thinks and does what follows from the seed and from the place in the list.
    """
    ended = 0

    async def visit(number: int, name: str, link: str) -> Visit:
        nonlocal ended
        await asyncio.sleep(bots.habits.arrive_seconds * number / max(len(links), 1))
        found = await _Bot(bots, number, name).visit(link)
        ended += 1
        if progress is not None:
            progress(ended / len(links), "simulated experts")
        return found

    return await asyncio.gather(*(visit(number, name, link) for number, (name, link) in enumerate(links)))


class _Bot:
    def __init__(self, bots: Bots, number: int, name: str):
        self._bots, self._plan, self._number = bots, bots.population.plan, number
        self._chance = chance_of(bots.seed, "habits", number)
        habits = {kind: self._chance.random() < getattr(bots.habits, kind) for kind in HABITS}
        self.found = Visit(name, tuple(kind for kind in HABITS if habits[kind]))
        cookies: dict[str, str] = {}
        count = 2 if habits["double"] or habits["tabs"] else 1
        self._tabs = [Tab(bots.address, cookies) for _ in range(count)]
        self._is = habits
        self._device = _DEVICES[int(self._chance.integers(len(_DEVICES)))]
        self._queue: list[dict[str, Any]] = []
        self._visit = secrets.token_hex(4)  # who comes twice makes other decisions
        self._csrf, self._trial, self._keys = "", 0, 0
        tasks = self._plan.tasks
        wanted = min(self._plan.rules.queries_per_expert, len(tasks)) * sum(len(task.ids) for task in tasks)
        self._steps = int(self._chance.integers(1, 10 + wanted // max(len(tasks), 1))) if habits["quit"] else -1

    async def visit(self, link: str) -> Visit:
        try:
            await self._study(urlsplit(link).path)
        except _QuitError:
            self.found.end = "quit"
        except _GaveUpError as error:
            self.found.end, self.found.problem = "failed", str(error)
        finally:
            for tab in self._tabs:
                tab.close()
        return self.found

    async def _study(self, path: str) -> None:
        await self._page(path)
        for _ in range(_MOST_PAGES):
            where = (await self._page("/continue")).location
            match where:
                case "/consent":
                    await self._form(where, {"agree": "yes"})
                case "/questions":
                    await self._form(where, dict(map(self._answer_to, self._plan.questions)))
                case "/instructions":
                    await self._form(where, {})
                case "/practice":
                    await self._one_trial(where)
                    await self._form(where, {})
                case "/trial":
                    await self._one_trial(where)
                case "/thanks":
                    self.found.receipt = _receipt(await self._page(where))
                    self.found.end = "finished"
                    return
                case "/wait":
                    self.found.end = "nothing left"
                    return
                case other:
                    raise _GaveUpError(f"an unknown page: {other!r}")
        raise _GaveUpError("the study has no end")

    # -- pages --------------------------------------------------------------------------------------------------------

    async def _page(self, path: str) -> Answer:
        self._step()
        start = time.perf_counter()
        answer = await self._ask(self._tabs[0], "GET", path)
        if answer.status not in (200, 303):
            raise _GaveUpError(f"GET {path.split('-')[0]}: status {answer.status}")
        self.found.page_seconds.append(time.perf_counter() - start)
        return answer

    async def _form(self, path: str, fields: dict[str, Any]) -> None:
        page = await self._page(path)
        if page.status != 200:
            return
        body = urlencode({**hidden_fields(page), **fields}, doseq=True).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        tabs = self._tabs if self._is["double"] else self._tabs[:1]
        answers = await asyncio.gather(*(self._ask(tab, "POST", path, body, headers) for tab in tabs))
        if any(answer.status != 303 for answer in answers):
            raise _GaveUpError(f"POST {path}: status {[answer.status for answer in answers]}")

    def _answer_to(self, question: Question) -> tuple[str, Any]:
        match question.kind:
            case "number":
                low = question.least if question.least is not None else 0.0
                high = question.most if question.most is not None else low + 40
                value: Any = int(self._chance.integers(int(low), int(high) + 1))
            case "text":
                value = "simulated"
            case "choice" | "choices":
                value = list(question.choices)[int(self._chance.integers(len(question.choices)))]
        return f"q-{question.name}", value

    # -- trials -------------------------------------------------------------------------------------------------------

    async def _one_trial(self, path: str) -> None:
        page = await self._page(path)
        if page.status != 200:
            return
        found = _STATE.search(page.body.decode())
        if found is None:
            raise _GaveUpError("the page of a trial has no state")
        state = json.loads(found[1])
        self._csrf, self._trial = state["csrf"], state["trial"]
        shown, opinion = self._opinion(state)
        if state["design"] == "ranking":
            await self._sort(state, shown, opinion)
            await self._rank(state, shown, opinion)
        else:
            await self._compare(state, shown, opinion)
        await self._flush()
        self._step()
        body = {"key": self._new_key(), "device": self._device}
        await self._post("finish", body)
        self.found.trials += self._trial > 0

    def _opinion(self, state: dict[str, Any]) -> tuple[tuple[str, ...], Opinion]:
        count, practice = state["count"], self._plan.practice
        if self._bots.key is None:
            shown = tuple(str(number) for number in range(count))
            blind = Task(Item(f"trial {self._trial}"), tuple(map(Item, shown)))
            return shown, self._bots.population.opinion(self._number, blind, is_careless=True)
        query, shown = self._bots.key(self.found.name, self._trial)
        task = practice.task if self._trial == 0 and practice is not None else self._plan.task(query)
        return shown, self._bots.population.opinion(self._number, task, self._is["careless"])

    async def _sort(self, state: dict[str, Any], shown: tuple[str, ...], opinion: Opinion) -> None:
        for number in range(state["count"]):
            if str(number) in state["verdicts"]:
                continue
            if self._chance.random() < 0.1:
                await self._decide({"kind": "heard", "document": number})
            if self._chance.random() < 0.03:
                slip = await self._decide({"kind": "sorted", "document": number, "verdict": "perhaps"})
                await self._decide({"kind": "undone", "undoes": slip})
            verdict = opinion.verdicts[shown[number]]
            await self._decide({"kind": "sorted", "document": number, "verdict": verdict})
        await self._flush()

    async def _rank(self, state: dict[str, Any], shown: tuple[str, ...], opinion: Opinion) -> None:
        """Place one after the other, each found by halving the list."""
        groups: list[list[int]] = [list(group) for group in state["groups"]]
        placed = {number for group in groups for number in group}
        for number in range(state["count"]):
            if number in placed or opinion.verdicts[shown[number]] != "resembles":
                continue
            present = {shown[other] for group in groups for other in group}
            low, high = 0, len(groups)
            while low < high:
                middle = (low + high) // 2
                self.found.comparisons += 1
                if is_better(opinion, shown[number], shown[groups[middle][0]], present):
                    high = middle
                else:
                    low = middle + 1
            after = groups[low - 1][-1] if low else None
            tied = bool(state["ties"]) and after is not None and _same(opinion, shown[number], shown[after])
            if tied:
                groups[low - 1].append(number)
            else:
                groups.insert(low, [number])
            await self._decide({"kind": "placed", "document": number, "after": after, "tied": tied}, alone=True)

    async def _compare(self, state: dict[str, Any], shown: tuple[str, ...], opinion: Opinion) -> None:
        offered, left = state["offered"], state["comparisons"] - state["choices"]
        for _ in range(left):
            if not offered:
                return
            documents = [shown[number] for number in offered]
            best: int | None = shown.index(opinion.best(documents))
            if state["ties"] and all(_same(opinion, documents[0], other) for other in documents):
                best = None
            await self._think()
            made = {"kind": "chose", "documents": offered, "best": best, **self._stamp()}
            self.found.comparisons += 1
            offered = (await self._send([made])).get("offered", [])

    # -- decisions ----------------------------------------------------------------------------------------------------

    async def _decide(self, decision: dict[str, Any], *, alone: bool = False) -> str:
        """Make a decision and send it now, or with others. `alone`: not at the same time as another."""
        await self._think()
        self._queue.append({**decision, **self._stamp()})
        key = str(self._queue[-1]["key"])
        together = 2 if self._is["tabs"] else 1
        if self._is["offline"]:
            together = int(self._chance.integers(2, 12))
        if (alone and not self._is["offline"]) or len(self._queue) >= together:
            await self._flush()
        return key

    async def _flush(self) -> None:
        queue, self._queue = self._queue, []
        if not queue:
            return
        if self._is["tabs"] and len(queue) == 2 and not any(each["kind"] == "undone" for each in queue):
            await asyncio.gather(*(self._send([each], tab) for each, tab in zip(queue, self._tabs, strict=True)))
        else:
            await self._send(queue)

    async def _send(self, decisions: list[dict[str, Any]], tab: Tab | None = None) -> dict[str, Any]:
        self.found.decisions += len(decisions)
        answer = await self._post("decisions", {"device": self._device, "decisions": decisions}, tab)
        wanted, kept = [each["key"] for each in decisions], answer["keys"]
        if list(kept) != wanted:
            raise _GaveUpError(f"{len(wanted)} decisions were sent, and {len(kept)} acknowledged")
        self.found.acknowledged.update(dict.fromkeys(kept, self._trial))
        return answer

    async def _post(self, what: str, content: dict[str, Any], tab: Tab | None = None) -> dict[str, Any]:
        path, body = f"/api/trials/{self._trial}/{what}", json.dumps(content).encode()
        headers = {"Content-Type": "application/json", "X-Roslin-Csrf": self._csrf}
        count = len(content.get("decisions", ()))
        if self._is["offline"] and self._chance.random() < 0.3:
            self.found.repeated += count
            try:
                await self._tabs[0].ask("POST", path, body, headers, hears=False)
            except LostError:
                self.found.lost += 1
        tabs = self._tabs if self._is["double"] and tab is None else [tab or self._tabs[0]]
        self.found.repeated += count * (len(tabs) - 1)
        start = time.perf_counter()
        answers = await asyncio.gather(*(self._ask(each, "POST", path, body, headers, count) for each in tabs))
        self.found.seconds.append(time.perf_counter() - start)
        self.found.moments.append(time.monotonic())
        for answer in answers:
            if answer.status != 200:
                raise _GaveUpError(f"POST {path}: status {answer.status}: {answer.body[:200]!r}")
        read: dict[str, Any] = json.loads(answers[0].body)
        return read

    async def _ask(
        self, tab: Tab, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, count: int = 0
    ) -> Answer:
        """Ask until there is an answer, as our pages do."""
        end, wait = time.monotonic() + self._bots.habits.patience_seconds, 0.05
        while True:
            try:
                answer = await tab.ask(method, path, body, headers)
            except LostError:
                self.found.lost += 1
            else:
                if answer.status not in (429, 503):
                    return answer
                self.found.refused[answer.status] += 1
            if time.monotonic() > end:
                raise _GaveUpError(f"{method} {path.split('-')[0]}: no answer")
            await asyncio.sleep(wait * (0.5 + self._chance.random()))
            wait = min(2 * wait, _SLOWEST_RETRY)
            self.found.repeated += count

    def _stamp(self) -> dict[str, Any]:
        self._step()
        return {"key": self._new_key(), "made_ms": time.time_ns() // 1_000_000}

    def _new_key(self) -> str:
        self._keys += 1
        return f"{self._visit}-{self._trial}-{self._keys}"

    async def _think(self) -> None:
        if self._bots.habits.think_seconds:
            await asyncio.sleep(float(self._chance.exponential(self._bots.habits.think_seconds)))

    def _step(self) -> None:
        if self._steps == 0 or self._bots.is_over():
            raise _QuitError
        self._steps -= 1


def _same(opinion: Opinion, first: str, second: str) -> bool:
    return opinion.levels[first] == opinion.levels[second]


def _receipt(page: Answer) -> str:
    found = re.search(r'class="receipt"><strong>([A-Z0-9]+)<', page.body.decode())
    if found is None:
        raise _GaveUpError("the last page has no receipt")
    return found[1]


# -- tabs --------------------------------------------------------------------------------------------------------------


_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)"')


class LostError(Exception):
    """The connection ended before the answer was there: nobody knows whether the request arrived."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server. `location` is the path to which it sends us on."""

    status: int
    location: str
    body: bytes


class Tab:
    """A tab of a simulated browser: one connection in one thread. Tabs of one browser share `cookies`."""

    def __init__(self, address: str, cookies: dict[str, str], patience_seconds: float = 60.0):
        parts = urlsplit(address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "localhost", parts.port, timeout=patience_seconds)
        self._thread = ThreadPoolExecutor(1, "tab")
        self.cookies = cookies

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, *, hears: bool = True
    ) -> Answer:
        """Send a request and wait for the answer. `hears=False`: leave before it comes, as where the network fails."""
        asked = partial(self._ask, method, path, body, dict(headers or {}), hears=hears)
        return await asyncio.get_running_loop().run_in_executor(self._thread, asked)

    def close(self) -> None:
        """End the connection and the thread."""
        self._thread.submit(self._connection.close)
        self._thread.shutdown(wait=False)

    def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str], *, hears: bool) -> Answer:
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            self._connection.request(method, path, body, headers)
            if not hears:
                raise LostError("the answer was not waited for")
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise LostError(str(error) or type(error).__name__) from error
        except LostError:
            self._connection.close()
            raise
        for header in response.headers.get_all("set-cookie", []):
            name, _, rest = header.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        return Answer(response.status, urlsplit(response.headers.get("location", "")).path, content)


def hidden_fields(page: Answer) -> dict[str, str]:
    """The hidden fields of the forms of a page; the last one of a name counts."""
    return {name: html.unescape(value) for name, value in _HIDDEN.findall(page.body.decode())}

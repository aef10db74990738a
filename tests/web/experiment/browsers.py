"""Experts with browsers, for tests of a study's pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
from fastapi.testclient import TestClient

from roslin.web.experiment.study import ExperimentSettings, OpenStudy

_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)"')


@dataclass
class Browser:
    """An expert with a browser: follows links, fills in forms, and sends decisions."""

    client: TestClient
    study: OpenStudy
    name: str
    csrf: str = ""
    sent: int = field(default=0)

    @property
    def link(self) -> str:
        return self.study.link(self.name)

    def follow(self) -> httpx.Response:
        return self.client.get(self.link)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(path, **options)

    def submit(self, path: str, page: httpx.Response | None = None, **fields: Any) -> httpx.Response:
        """Send the form of a page, with what is hidden in it."""
        shown = page if page is not None else self.get(path)
        return self.client.post(path, data={**dict(_HIDDEN.findall(shown.text)), **fields})

    def until(self, stage: str) -> httpx.Response:
        """Go on until this page: consent, questions, instructions, practice or trial."""
        page = self.follow()
        while (at := page.url.path) != f"/{stage}":
            if at == "/consent":
                page = self.submit(at, page, agree="yes")
            elif at == "/questions":
                page = self.submit(at, page, **{"q-experience_years": "12"})
            elif at == "/instructions":
                page = self.submit(at, page)
            elif at == "/practice":
                self.judge(0)
                page = self.submit(at, page, csrf=self.csrf)
            else:
                raise AssertionError(f"{stage} does not come: at {at}")
        return page

    def at_trial(self) -> None:
        """Signed in, with everything before the first trial done, and not by the pages."""
        store = self.study.store
        self.client.get(self.link, follow_redirects=False)
        store.consent(self.name)
        store.add(self.name, "answered", {"answers": {"experience_years": 3}})
        store.read_again(self.name)
        store.begin_practice(self.name)
        store.add(self.name, "practised")
        store.begin(self.name)

    def state(self, trial: int) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/api/trials/{trial}").json()
        self.csrf = found.get("csrf", self.csrf)
        return found

    def send(self, trial: int, *decisions: dict[str, Any], device: str = "phone touch") -> httpx.Response:
        """Send decisions, with keys of their own where they have none."""
        if not self.csrf:
            self.state(trial)
        keyed = []
        for decision in decisions:
            self.sent += 1
            keyed.append({"key": f"k{trial}-{self.sent}", "made_ms": 1000 + self.sent, **decision})
        body = {"device": device, "decisions": keyed}
        return self.client.post(f"/api/trials/{trial}/decisions", json=body, headers={"X-Roslin-Csrf": self.csrf})

    def finish(self, trial: int, key: str = "") -> httpx.Response:
        body = {"key": key or f"end-{trial}"}
        return self.client.post(f"/api/trials/{trial}/finish", json=body, headers={"X-Roslin-Csrf": self.csrf})

    def judge(self, trial: int) -> None:
        """Two resemble the query, the second more than the first; the others do not."""
        count = self.state(trial)["count"]
        verdicts = [sorted_as(number, "resembles" if number < 2 else "no") for number in range(count)]
        order = [{"kind": "placed", "document": 1, "after": None}, {"kind": "placed", "document": 0, "after": 1}]
        answer = self.send(trial, *verdicts, *order)
        assert answer.status_code == 200, answer.text

    def judge_everything(self, trial: int = 1) -> httpx.Response:
        """From this trial until the thanks."""
        page = self.until("trial")
        while page.url.path == "/trial":
            self.judge(trial)
            assert self.finish(trial).status_code == 200
            page = self.get("/continue")
            trial += 1
        return page


def sorted_as(document: int, verdict: str) -> dict[str, Any]:
    return {"kind": "sorted", "document": document, "verdict": verdict}


Invited = Callable[[], Browser]
Alone = Callable[..., Browser]


def settings_for(folder: Path, **options: Any) -> ExperimentSettings:
    return ExperimentSettings(str(folder), **{"warm_up": False, "log_requests": False, **options})

"""A list of receipt codes, as Prolific and others give it, compared with those that the study gave out.

A line is a receipt code, or the id of a participant where the study keeps those; what follows a comma, a semicolon, a
tab or a space is not looked at. Small letters and dashes do not matter in codes. Somebody is turned away who came while
the study was closed, or when there was no place in it, and has not judged everything since.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from roslin.experiment.results import History

__all__ = ["CheckedCode", "Reconciled", "reconcile"]

CodeVerdict = Literal["valid", "twice", "turned away", "not finished", "unknown"]
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """A line of the list. `expert` is the label of whose it is; empty: nobody's."""

    code: str
    verdict: CodeVerdict
    expert: str = ""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The list in its order, and who has done everything and is not in it."""

    codes: tuple[CheckedCode, ...]
    missing: tuple[str, ...]

    def count(self, verdict: CodeVerdict) -> int:
        """How many lines are so."""
        return sum(each.verdict == verdict for each in self.codes)


def reconcile(text: str, histories: Iterable[History]) -> Reconciled:
    """Compare a pasted list with what the study gave out."""
    receipts: dict[str, str] = {}
    participants: dict[str, tuple[str, str]] = {}
    turned_away = set()
    for expert, told in histories:
        receipt = next((str(event.payload["receipt"]) for event in told if "receipt" in event.payload), "")
        if receipt:
            receipts[receipt] = expert.label
            if all(event.kind != "completed" for event in told):
                turned_away.add(receipt)
        if expert.participant:
            participants[expert.participant] = expert.label, receipt
    seen: set[str] = set()
    checked = []
    for line in text.splitlines()[:_MOST]:
        words = re.split(r"[\s,;]+", line.strip(), maxsplit=1)
        if not words[0]:
            continue
        code = re.sub("[^A-Z0-9]", "", words[0].upper())
        if words[0] in participants:
            label, code = participants[words[0]]
        else:
            label = receipts.get(code, "")
        verdict: CodeVerdict = "unknown" if not label else "not finished" if not code else "valid"
        if verdict == "valid":
            verdict = "twice" if code in seen else "turned away" if code in turned_away else "valid"
        seen.add(code)
        checked.append(CheckedCode(words[0], verdict, label))
    missing = tuple(label for code, label in receipts.items() if code not in seen | turned_away)
    return Reconciled(tuple(checked), missing)

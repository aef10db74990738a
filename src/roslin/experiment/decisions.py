"""What a page may send: a decision with a key of its own. Anything else is refused before it is kept.

Both databases take then what they are given: PostgreSQL refuses what is too long, SQLite does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roslin.errors import DecisionError
from roslin.experiment.events import DECISIONS, VERDICTS
from roslin.experiment.plan import SIZES, StudyPlan

__all__ = ["Decision", "check_decision", "check_key"]

_LONGEST_MS = 86_400_000  # of one play: a day
_LATEST_MS = 2**53  # the largest whole number that a script in a browser counts to


@dataclass(frozen=True, slots=True)
class Decision:
    """What a page sends: `key` is the page's own, `made_ms` by its clock."""

    kind: str
    payload: dict[str, Any]
    key: str
    made_ms: int = 0


def check_key(key: str) -> None:
    """Refuse a key that no page makes."""
    if not 1 <= len(key) <= 64 or not key.isascii() or not key.isprintable():
        raise DecisionError(f"a key must be 1 to 64 plain letters and digits; got {key[:80]!r}")


def check_decision(decision: Decision, trial: int, shown: set[str], plan: StudyPlan) -> None:
    """Refuse a decision that no page of this study sends."""
    check_key(decision.key)
    payload, kind = decision.payload, decision.kind
    if kind not in DECISIONS:
        raise DecisionError(f"a decision must be one of {', '.join(DECISIONS)}; got {kind!r}")
    if not 0 <= decision.made_ms <= _LATEST_MS:
        raise DecisionError(f"the time of a decision must be milliseconds since 1970; got {decision.made_ms}")
    is_ranking = trial == 0 or plan.rules.design == "ranking"
    if (kind in ("sorted", "placed") and not is_ranking) or (kind == "chose" and plan.rules.design == "ranking"):
        raise DecisionError(f"{kind!r} is no decision of a study by {plan.rules.design}")
    named: list[Any] = []
    match kind:
        case "sorted":
            named = [payload.get("document")]
            if payload.get("verdict") not in VERDICTS:
                raise DecisionError(f"a verdict must be one of {', '.join(VERDICTS)}; got {payload.get('verdict')!r}")
        case "placed":
            after = payload.get("after")
            named = [payload.get("document"), *([] if after is None else [after])]
        case "chose":
            named = list(payload.get("documents", ()))
            if len(set(named)) != len(named) or len(named) != SIZES[plan.rules.design]:
                wanted = SIZES[plan.rules.design]
                raise DecisionError(f"a comparison must be of {wanted} different candidates; got {len(set(named))}")
            if payload.get("best") is not None and payload["best"] not in named:
                raise DecisionError("the best of a comparison must be one of those compared")
        case "heard":
            named = [each for each in (payload.get("document"),) if each is not None]  # None: the query
            duration = payload.get("duration_ms", 0)
            if type(duration) is not int or not 0 <= duration <= _LONGEST_MS:
                raise DecisionError(f"a melody plays for 0 to {_LONGEST_MS} milliseconds; got {duration!r}")
        case "compared":
            if not plan.rules.differences:
                raise DecisionError("this study shows no differences; set design.differences to allow them")
            documents = payload.get("documents")
            if not isinstance(documents, list) or len(documents) != 2:
                raise DecisionError("differences are those of two melodies")
            named = [each for each in documents if each is not None]
        case _:
            if not isinstance(payload.get("undoes"), str):
                raise DecisionError("what is undone must be the key of a decision")
    if not shown.issuperset(named):
        raise DecisionError("a decision names a candidate that was not shown")
    if payload.get("tied") and not plan.rules.ties:
        raise DecisionError("this study has no ties")

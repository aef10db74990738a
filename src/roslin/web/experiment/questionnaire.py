"""Answers of a form, checked against the questions of the study."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData

from roslin.experiment.plan import Question

MOST_LETTERS = 2000


@dataclass(frozen=True, slots=True)
class Answered:
    """What somebody answered; `given` as it stood in the form, and `problems` beside the questions that have one."""

    answers: dict[str, Any] = field(default_factory=dict)
    given: dict[str, list[str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def read_answers(questions: tuple[Question, ...], form: FormData, _: Callable[[str], str]) -> Answered:
    """The answers of a form. A question without an answer is left out, unless it must have one."""
    read = Answered()
    for question in questions:
        given = [str(text).strip() for text in form.getlist(f"q-{question.name}")]
        read.given[question.name] = given = [text for text in given if text]
        if not given:
            if question.required:
                read.problems[question.name] = _("Please answer this question.")
            continue
        try:
            read.answers[question.name] = _answer(question, given, _)
        except ValueError as error:
            read.problems[question.name] = str(error)
    return read


def _answer(question: Question, given: list[str], _: Callable[[str], str]) -> Any:
    match question.kind:
        case "number":
            return _number(question, given[0], _)
        case "text":
            if len(given[0]) > MOST_LETTERS:
                raise ValueError(_("Please write at most {most} letters.").format(most=MOST_LETTERS))
            return given[0]
        case "choice" | "choices":
            if not set(given) <= set(question.choices):
                raise ValueError(_("Please choose from the list."))
            return given[0] if question.kind == "choice" else list(dict.fromkeys(given))


def _number(question: Question, given: str, _: Callable[[str], str]) -> float | int:
    try:
        value = float(given.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(_("Please give a number."))
    if question.least is not None and value < question.least:
        raise ValueError(_("Please give a number of at least {least}.").format(least=f"{question.least:g}"))
    if question.most is not None and value > question.most:
        raise ValueError(_("Please give a number of at most {most}.").format(most=f"{question.most:g}"))
    return int(value) if value.is_integer() else value

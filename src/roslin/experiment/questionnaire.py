"""The questionnaire: what people are asked about themselves, as the file says it, or the usual questions."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from roslin.experiment.keys import KEYS
from roslin.experiment.plan import Question, QuestionKind, Words
from roslin.experiment.toml_table import NAME, TomlTable

__all__ = ["USUAL_QUESTIONS", "read_questions"]

# Section 3.2.2 of paper 002 tells of its experts how long they have made music, and what they play.
USUAL_QUESTIONS = (
    Question(
        "experience_years",
        "number",
        {
            "en": "For how many years have you played an instrument, sung or studied music?",
            "de": "Seit wie vielen Jahren spielen Sie ein Instrument, singen oder studieren Sie Musik?",
        },
        required=True,
        least=0,
        most=100,
    ),
    Question(
        "instruments",
        "text",
        {
            "en": "Which instruments do you play? Singing counts.",
            "de": "Welche Instrumente spielen Sie? Singen zählt mit.",
        },
    ),
    Question(
        "remarks",
        "text",
        {"en": "Is there anything else that we should know?", "de": "Gibt es etwas, das wir noch wissen sollten?"},
    ),
)


def read_questions(top: TomlTable, languages: tuple[str, ...]) -> tuple[Question, ...]:
    """The questions of a file."""
    if "questions" not in top:
        return tuple(
            replace(question, label={language: _in(question.label, language) for language in languages})
            for question in USUAL_QUESTIONS
        )
    found: list[Question] = []
    for table in top.tables("questions", KEYS["questions"]):
        question = _question(table, languages)
        if any(question.name == other.name for other in found):
            raise table.error("name", "two questions have this name", "each once", question.name)
        found.append(question)
    return tuple(found)


def _question(table: TomlTable, languages: tuple[str, ...]) -> Question:
    name = table.text("name")
    if not NAME.fullmatch(name):
        raise table.error("name", "must be a name for a column", "letters, digits, - and _, at most 60", name)
    kind = cast(QuestionKind, table.one_of("kind", ("number", "text", "choice", "choices")))
    if "choices" in table and kind not in ("choice", "choices"):
        raise table.error("choices", "is not for this kind", 'kind = "choice" or "choices"', kind)
    for bound in ("least", "most"):
        if bound in table and kind != "number":
            raise table.error(bound, "is not for this kind", 'kind = "number"', kind)
    least, most = (table.number(each, 0.0, -1e12) if each in table else None for each in ("least", "most"))
    if least is not None and most is not None and least > most:
        raise table.error("most", "must not be below least", f"{least:g} or more", most)
    return Question(
        name=name,
        kind=kind,
        label=table.words("label", languages),
        choices=_choices(table, languages) if kind in ("choice", "choices") else {},
        required=table.yes("required", otherwise=False),
        least=least,
        most=most,
    )


def _choices(table: TomlTable, languages: tuple[str, ...]) -> dict[str, Words]:
    value = table.values.get("choices")
    if isinstance(value, dict):
        choices = table.table("choices", ())
        found = {each: choices.words(each, languages) for each in choices.values}
    else:
        found = {each: dict.fromkeys(languages, each) for each in table.texts("choices")}
    if len(found) < 2:
        raise table.error("choices", "too few to choose from", "at least 2", len(found))
    return found


def _in(words: Words, language: str) -> str:
    return words.get(language, words["en"])

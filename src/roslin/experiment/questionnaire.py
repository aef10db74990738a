"""The questionnaire: what people are asked about themselves, as the file says it, or the usual questions."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, cast

from roslin.experiment.plan import FROZEN, Question, QuestionKind, StudyRules, Words
from roslin.experiment.toml_table import NAME, TomlTable

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


# -- keys --------------------------------------------------------------------------------------------------------------
#
# Every key that `study.toml` may have, by table: its form, what counts without it, and what it says.
#
# The reader refuses whatever is not here, and the reference of the documentation is made from it.


class KeyInfo(NamedTuple):
    """What a key is. `otherwise` is empty where the key must be given."""

    form: str
    otherwise: str
    meaning: str


_USUAL = StudyRules()
_WORDS = "text, or a text for each language"
_FILES = "file, or a file for each language"
_RANGE = "range"
_TEXTS = "text or list"

# What a table is for; how it is written.
TABLES: dict[str, str] = {
    "study": "`[study]`: what the study is called, in which languages, and what people read.",
    "design": "`[design]`: how people judge, and how many of them.",
    "material": "`[material]`: what is judged. Either a collection of melodies, or a folder of pictures and sounds.",
    "queries": "`[[queries]]`: one table for each query.",
    "pool": (
        "`[queries.pool]` below a query says how its candidates are found; `[pool]` says it for all queries, key by "
        "key, unless the query says otherwise. A range is `LOW..HIGH`, `LOW..` or `..HIGH`."
    ),
    "practice": "`[practice]`: a trial that does not count, with feedback. Without it a nursery tune is practised.",
    "questions": (
        "`[[questions]]`: one table for each question. Without any, people are asked for years of experience, "
        "instruments and remarks; `questions = []` at the top of the file asks nothing."
    ),
}

KEYS: dict[str, dict[str, KeyInfo]] = {
    "study": {
        "name": KeyInfo("word", "", "The name of the folder, `NAME.study`, and of the exported files."),
        "title": KeyInfo(_WORDS, "", "What people read above every page."),
        "languages": KeyInfo("list of codes", '`["en"]`', "The first is used where nothing else is known."),
        "contact": KeyInfo(
            "text", "", "Whom people write to; `{contact}` in a text stands for it, `{title}` for the title."
        ),
        "seed": KeyInfo("whole number", "`0`", "Decides all that is left to chance: who judges what, in which order."),
        "consent": KeyInfo(
            _FILES,
            "a text that comes with Roslin",
            "What people agree to, in Markdown. Who agreed to another text is asked again.",
        ),
        "instructions": KeyInfo(_FILES, "a text that comes with Roslin", "What people are asked to do, in Markdown."),
        "thanks": KeyInfo(_FILES, "a text that comes with Roslin", "What people read at the end, in Markdown."),
    },
    "design": {
        "kind": KeyInfo(
            '`"ranking"`, `"pairs"` or `"triplets"`',
            f'`"{_USUAL.design}"`',
            "Put all candidates in order, or choose again and again the most similar of two or three.",
        ),
        "quota": KeyInfo("whole number", f"`{_USUAL.quota}`", "How many opinions are wanted of each query."),
        "queries_per_expert": KeyInfo(
            "whole number", f"`{_USUAL.queries_per_expert}`", "How many one person judges at most."
        ),
        "ties": KeyInfo("`true` or `false`", "`false`", "Whether two candidates may share a rank. Only for rankings."),
        "query_among_candidates": KeyInfo(
            "`true` or `false`",
            "`true`",
            "Whether the query hides among its own candidates as a check of attention: it should be put first.",
        ),
        "resume": KeyInfo(
            '`"continue"`, `"reread"` or `"restart"`',
            f'`"{_USUAL.resume}"`',
            "What somebody does who comes back after a long pause: go on, read the instructions again, or begin the "
            "open query again as well.",
        ),
        "pause_hours": KeyInfo("number", f"`{_USUAL.pause_hours:g}`", "From when on a pause is long."),
        "abandoned_hours": KeyInfo(
            "number",
            f"`{_USUAL.abandoned_hours:g}`",
            "After so long without a decision an open query is given to somebody else as well. Without any decision, "
            "at once.",
        ),
        "comparisons": KeyInfo(
            "whole number",
            f"`{_USUAL.comparisons}`",
            "How many comparisons a person makes of each query. Not for rankings.",
        ),
        "differences": KeyInfo(
            "`true` or `false`",
            "`false`",
            "Whether participants may see which notes of two melodies have no partner, by Roslin's own alignment.",
        ),
        "keeps_participant": KeyInfo(
            "`true` or `false`",
            "`false`",
            "Whether the id that Prolific and the like put into the address is kept. The same id then joins once.",
        ),
        "completion_address": KeyInfo(
            "address",
            "none",
            "Where people go back who have judged everything, at Prolific and the like. `{receipt}` stands for their "
            "receipt code, `{participant}` for their id.",
        ),
        "screen_out_address": KeyInfo(
            "address",
            "none",
            "The same for people who found the study full or closed before they had judged everything.",
        ),
    },
    "material": {
        "collection": KeyInfo(
            "path", "folder and table", "A collection, `NAME.roslin`, or a file or folder of melodies in any notation."
        ),
        "folder": KeyInfo("path", "collection", "The folder of pictures and sounds."),
        "table": KeyInfo(
            "path",
            "collection",
            "A CSV file with the columns `id`, `picture` and `sound`: names of files in the folder.",
        ),
    },
    "queries": {
        "id": KeyInfo("text", "", "The id of the query in the collection or the table."),
        "notation": KeyInfo(
            "text", "of the collection", "A query that the collection lacks, in Plaine & Easie Code or ABC."
        ),
        "candidates": KeyInfo(
            "list of ids, or file",
            "by the pool",
            "The candidates by id; a file has one a line, or is the CSV of `roslin runs pool` for all queries.",
        ),
        "pool": KeyInfo("table", "none", "How candidates are found instead."),
    },
    "pool": {
        "pitch_range": KeyInfo(_RANGE, "no filter", "Lowest to highest note, in semitones or by name."),
        "max_interval": KeyInfo(_RANGE, "no filter", "Largest step between two notes, likewise."),
        "duration_ratio": KeyInfo(_RANGE, "no filter", "Shortest over longest note, from 0 to 1."),
        "note_count": KeyInfo(_RANGE, "no filter", "Number of notes."),
        "contains": KeyInfo(_TEXTS, "no filter", "Sequences of intervals, one of which is enough."),
        "contains_semitones": KeyInfo(_TEXTS, "no filter", "The same in semitones."),
        "share": KeyInfo(_TEXTS, "no filter", 'Part of all intervals that one is: `"third=0.5.."`.'),
        "motive": KeyInfo(_TEXTS, "no filter", "A repeated motive with these intervals."),
        "times": KeyInfo("whole number", "`2`", "In how many places the motive must be."),
        "contour": KeyInfo(
            "cost, or `LETTERS=COST`", "no filter", "Editing distance of gross contours from the query."
        ),
        "rhythm": KeyInfo("cost, or `LETTERS=COST`", "no filter", "Editing distance of rhythm strings from the query."),
        "costs": KeyInfo("text", "1 each", 'What editing costs: `"insertion=0.5 UD=2"`.'),
        "where": KeyInfo(_TEXTS, "no filter", 'Words in what is known of a melody: `"metre=3/4"`.'),
        "only": KeyInfo(_TEXTS, "no filter", 'The whole field: `["key=g", "key=d"]`; one of a field is enough.'),
        "also": KeyInfo(
            _TEXTS, "nothing", 'Words that bring a melody in whether the filters left it or not: `"title=Roslin"`.'
        ),
        "matchers": KeyInfo(
            "list, or table of numbers",
            "nothing",
            "Systems whose first finds are added, by the names of `roslin matchers`: ten of each, or as many as "
            "`{ emd = 8, p3 = 8 }` says.",
        ),
        "disagreement": KeyInfo(
            "whole number", "`0`", "How many to add, and keep, about which these systems disagree most."
        ),
        "add": KeyInfo("list of ids", "nothing", "Candidates that are there in any case."),
        "leave_out": KeyInfo("list of ids", "nothing", "Candidates that are not there in any case."),
        "unique": KeyInfo(
            '`true`, `false` or `"exactly"`',
            "`true`",
            'Whether what is identical with another, or part of it, goes; with `"exactly"` only where the rhythm '
            "agrees exactly.",
        ),
        "most": KeyInfo("whole number", "`50`", "How many candidates there are at most."),
    },
    "practice": {
        "skip": KeyInfo("`true` or `false`", "`false`", "Whether there is no practice."),
        "query": KeyInfo("text", "a nursery tune", "The id of the query of a practice of your own."),
        "expected": KeyInfo(
            "table",
            "a nursery tune",
            'What most people would say of each candidate: `{ id = "resembles", other = "no" }`; or `"perhaps"`.',
        ),
    },
    "questions": {
        "name": KeyInfo("word", "", "The name of the column in the export."),
        "kind": KeyInfo(
            '`"number"`, `"text"`, `"choice"` or `"choices"`', "", "What can be answered; `choices`: several."
        ),
        "label": KeyInfo(_WORDS, "", "The question."),
        "choices": KeyInfo(
            "list, or table of texts", "none", "What there is to choose from; in a table `name = text`."
        ),
        "required": KeyInfo("`true` or `false`", "`false`", "Whether it must be answered."),
        "least": KeyInfo("number", "none", "The smallest number that is taken."),
        "most": KeyInfo("number", "none", "The largest."),
    },
}

# The keys whose meaning a study that has begun can no longer change, by the part of the plan that they make.
FROZEN_KEYS: dict[str, str] = {
    "name": "`study.name`",
    "seed": "`study.seed`",
    "tasks": "queries and candidates, with `design.query_among_candidates`, and what melodies and files are like",
    **{
        part: f"`design.{'kind' if part == 'rules.design' else part.removeprefix('rules.')}`"
        for part in FROZEN
        if part.startswith("rules.")
    },
}

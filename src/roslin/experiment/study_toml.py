"""`study.toml`: every key that it may have, checked and read. The reference of the documentation is made from here.

Reading looks at no melody: the candidates are found when the study is made (`folder`). Paths are relative to the folder
of the file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo, model_validator
from pydantic.fields import FieldInfo

from roslin.experiment.plan import FROZEN, Design, Question, QuestionKind, Resume, StudyPlan, StudyRules, Words
from roslin.experiment.toml_file import (
    MOST_WHOLE,
    Number,
    Text,
    Texts,
    TomlPlace,
    TomlTable,
    Whole,
    WholeOrNone,
    read_toml,
    refusal,
)
from roslin.rows import table_rows

SHIPPED_LANGUAGES = ("en", "de")
MATCHER_COUNT = 10  # candidates of a matcher whose number is not given
_TEXTS: tuple[Literal["consent", "instructions", "thanks"], ...] = ("consent", "instructions", "thanks")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
_FIELD, _FIELDS = re.compile(r"[{}][^{}]*}?"), {"{receipt}", "{participant}"}


# -- values ------------------------------------------------------------------------------------------------------------


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise refusal("must be a name for files and columns", "letters, digits, - and _, at most 60")
    return value


def _languages(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or len(set(value)) < len(value) or not all(map(_LANGUAGE.fullmatch, value)):
        raise refusal("must be codes of languages", 'such as ["en", "de"], each once')
    return value


def _words(value: Any, info: ValidationInfo) -> Words:
    """A text in every language of the study: one text for all, or a table with one for each."""
    languages: list[str] = info.context or []
    if isinstance(value, str) and value.strip():
        return dict.fromkeys(languages, value)
    if not isinstance(value, dict) or not all(isinstance(text, str) and text.strip() for text in value.values()):
        raise refusal("must be text", f"text in quotes, or one for each language, as {{ {languages[0]} = ... }}")
    if missing := [language for language in languages if language not in value]:
        raise refusal("a language is missing", missing[0], found=", ".join(value))
    if unknown := [language for language in value if language not in languages]:
        raise refusal("unknown language", f"one of study.languages: {', '.join(languages)}", found=unknown[0])
    return dict(value)


def _choices(value: Any, info: ValidationInfo) -> dict[str, Words]:
    """A list of words, or a table of texts."""
    choices = dict.fromkeys(value) if isinstance(value, list) else value
    if not isinstance(choices, dict) or not all(isinstance(each, str) and each.strip() for each in choices):
        raise refusal("must be a list of texts", 'texts in quotes, as ["one", "two"], or a table of texts')
    if len(choices) < 2:
        raise refusal("too few to choose from", "at least 2", found=len(choices))
    return {name: _words(name if text is None else text, info) for name, text in choices.items()}


def _with_numbers(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _with_counts(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise refusal("must be matchers", 'names in quotes, as ["roslin"], or with numbers, as { roslin = 8 }')
    return dict.fromkeys(listed, MATCHER_COUNT)


def _address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or not set(_FIELD.findall(value)) <= _FIELDS:
        raise refusal("must be the address of a page", "https://..., with {receipt} or {participant}")
    return value


def _ids_or_file(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise refusal("must be a list of texts", 'texts in quotes, as ["one", "two"], or a file')
    return tuple(value)


# -- tables ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """How the documentation describes the values of a type, and the value without a line for the key."""

    form: str
    otherwise: str = ""


_USUAL = StudyRules()
_MANY = Field(ge=2, le=MOST_WHOLE)
_BOUND = Field(ge=-1e12, le=MOST_WHOLE, allow_inf_nan=False)

Name = Annotated[Text, AfterValidator(_name), Form("word")]
Translated = Annotated[Words, PlainValidator(_words), Form("text, or a text for each language")]
TextFiles = Annotated[
    Words | None, PlainValidator(_words), Form("file, or a file for each language", "a text that comes with Roslin")
]
YesNo = Annotated[bool, Form("`true` or `false`")]
Count = Annotated[Whole, Form("whole number")]
CountOrNone = Annotated[WholeOrNone, Form("whole number")]
Hours = Annotated[Number, Form("number")]
Address = Annotated[Text, AfterValidator(_address), Form("address", "none")]
Range = Annotated[Texts, BeforeValidator(_with_numbers), Form("range", "no filter")]
Filters = Annotated[Texts, BeforeValidator(_with_numbers), Form("text or list", "no filter")]
Distance = Annotated[Texts, BeforeValidator(_with_numbers), Form("cost, or `LETTERS=COST`", "no filter")]
Ids = Annotated[Texts, Form("list of ids", "nothing")]
Bound = Annotated[Annotated[float, _BOUND] | None, Form("number", "none")]


class StudyTable(TomlTable):
    """`[study]`: what the study is called, in which languages, and what people read."""

    name: Name
    """The name of the folder, `NAME.study`, and of the exported files."""
    languages: Annotated[Texts, AfterValidator(_languages), Form("list of codes", '`["en"]`')] = ("en",)
    """The first is used where nothing else is known."""
    title: Translated
    """What people read above every page."""
    contact: Annotated[Text, Form("text")]
    """Whom people write to; `{contact}` in a text stands for it, `{title}` for the title."""
    seed: CountOrNone = 0
    """Decides all that is left to chance: who judges what, in which order."""
    consent: TextFiles = None
    """What people agree to, in Markdown. Who agreed to another text is asked again."""
    instructions: TextFiles = None
    """What people are asked to do, in Markdown."""
    thanks: TextFiles = None
    """What people read at the end, in Markdown."""


class DesignTable(TomlTable):
    """`[design]`: how people judge, and how many of them."""

    kind: Annotated[Design, Form('`"ranking"`, `"pairs"` or `"triplets"`')] = _USUAL.design
    """Put all candidates in order, or choose again and again the most similar of two or three."""
    quota: Count = _USUAL.quota
    """How many opinions are wanted of each query."""
    queries_per_expert: Count = _USUAL.queries_per_expert
    """How many one person judges at most."""
    ties: YesNo = _USUAL.ties
    """Whether two candidates may share a rank. Only for rankings."""
    query_among_candidates: YesNo = True
    """Whether the query hides among its own candidates as a check of attention: it should be put first."""
    resume: Annotated[Resume, Form('`"continue"`, `"reread"` or `"restart"`')] = _USUAL.resume
    """What somebody does who comes back after a long pause: go on, read the instructions again, or begin the open
    query again as well."""
    pause_hours: Hours = _USUAL.pause_hours
    """From when on a pause is long."""
    abandoned_hours: Hours = _USUAL.abandoned_hours
    """After so long without a decision an open query is given to somebody else as well. Without any decision, at
    once."""
    comparisons: Count = _USUAL.comparisons
    """How many comparisons a person makes of each query. Not for rankings."""
    differences: YesNo = _USUAL.differences
    """Whether participants may see which notes of two melodies have no partner, by Roslin's own alignment."""
    keeps_participant: YesNo = _USUAL.keeps_participant
    """Whether the id that Prolific and the like put into the address is kept. The same id then joins once."""
    completion_address: Address = ""
    """Where people go back who have judged everything, at Prolific and the like. `{receipt}` stands for their receipt
    code, `{participant}` for their id."""
    screen_out_address: Address = ""
    """The same for people who found the study full or closed before they had judged everything."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.kind == "ranking" and "comparisons" in self.model_fields_set:
            raise refusal(
                "is only for pairs and triplets", 'kind = "pairs" or "triplets"', "comparisons", found=self.kind
            )
        if self.kind != "ranking" and self.ties:
            raise refusal("is only for rankings", 'kind = "ranking"', "ties", found=self.kind)
        for name in ("completion_address", "screen_out_address"):
            if "{participant}" in (address := getattr(self, name)) and not self.keeps_participant:
                raise refusal("the id of participants is not kept", "keeps_participant = true", name, found=address)
        return self

    @property
    def rules(self) -> StudyRules:
        """The rules of the plan."""
        return StudyRules(design=self.kind, **self.model_dump(exclude={"kind", "query_among_candidates"}))


class MaterialTable(TomlTable):
    """`[material]`: what is judged. Either a collection of melodies, or a folder of pictures and sounds."""

    collection: Annotated[Text, Form("path", "folder and table")] = ""
    """A collection, `NAME.roslin`, or a file or folder of melodies in any notation."""
    folder: Annotated[Text, Form("path", "collection")] = ""
    """The folder of pictures and sounds."""
    table: Annotated[Text, Form("path", "collection")] = ""
    """A CSV file with the columns `id`, `picture` and `sound`: names of files in the folder."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for name in ("folder", "table"):
            if self.collection and getattr(self, name):
                raise refusal("is not for melodies", "either collection, or folder and table", name)
            if (self.folder or self.table) and not getattr(self, name):
                raise refusal(f"{name} is missing", f"a line {name} = ...")
        if not (self.collection or self.folder):
            raise refusal("there is nothing to show", 'collection = "NAME.roslin", or folder and table')
        return self


class PoolTable(TomlTable):
    """`[queries.pool]` below a query says how its candidates are found; `[pool]` says it for all queries, key by key,
    unless the query says otherwise. A range is `LOW..HIGH`, `LOW..` or `..HIGH`.
    """

    pitch_range: Range = ()
    """Lowest to highest note, in semitones or by name."""
    max_interval: Range = ()
    """Largest step between two notes, likewise."""
    duration_ratio: Range = ()
    """Shortest over longest note, from 0 to 1."""
    note_count: Range = ()
    """Number of notes."""
    contains: Filters = ()
    """Sequences of intervals, one of which is enough."""
    contains_semitones: Filters = ()
    """The same in semitones."""
    share: Filters = ()
    """Part of all intervals that one is: `"third=0.5.."`."""
    motive: Filters = ()
    """A repeated motive with these intervals."""
    times: Annotated[int, _MANY, Form("whole number")] = 2
    """In how many places the motive must be."""
    contour: Distance = ()
    """Editing distance of gross contours from the query."""
    rhythm: Distance = ()
    """Editing distance of rhythm strings from the query."""
    costs: Annotated[Text, Form("text", "1 each")] = ""
    """What editing costs: `"insertion=0.5 UD=2"`."""
    where: Filters = ()
    """Words in what is known of a melody: `"metre=3/4"`."""
    only: Filters = ()
    """The whole field: `["key=g", "key=d"]`; one of a field is enough."""
    also: Annotated[Texts, Form("text or list", "nothing")] = ()
    """Words that bring a melody in whether the filters left it or not: `"title=Roslin"`."""
    matchers: Annotated[
        dict[str, Whole], BeforeValidator(_with_counts), Form("list, or table of numbers", "nothing")
    ] = Field(default={})
    """Systems whose first finds are added, by the names of `roslin matchers`: ten of each, or as many as
    `{ emd = 8, p3 = 8 }` says."""
    disagreement: CountOrNone = 0
    """How many to add, and keep, about which these systems disagree most."""
    add: Ids = ()
    """Candidates that are there in any case."""
    leave_out: Ids = ()
    """Candidates that are not there in any case."""
    unique: Annotated[Literal[True, False, "exactly"], Form('`true`, `false` or `"exactly"`')] = True
    """Whether what is identical with another, or part of it, goes; with `"exactly"` only where the rhythm agrees
    exactly."""
    most: Annotated[int, _MANY, Form("whole number")] = 50
    """How many candidates there are at most."""


class QueryPart(TomlTable):
    """`[[queries]]`: one table for each query."""

    id: Annotated[Text, Form("text")]
    """The id of the query in the collection or the table."""
    notation: Annotated[Text, Form("text", "of the collection")] = ""
    """A query that the collection lacks, in Plaine & Easie Code or ABC."""
    candidates: Annotated[
        tuple[str, ...] | str | None, PlainValidator(_ids_or_file), Form("list of ids, or file", "by the pool")
    ] = None
    """The candidates by id; a file has one a line, or is the CSV of `roslin runs pool` for all queries."""
    pool: Annotated[PoolTable, Form("table", "none")] = PoolTable()
    """How candidates are found instead."""


class PracticeTable(TomlTable):
    """`[practice]`: a trial that does not count, with feedback. Without it a nursery tune is practised."""

    skip: YesNo = False
    """Whether there is no practice."""
    query: Annotated[Text, Form("text", "a nursery tune")] = ""
    """The id of the query of a practice of your own."""
    expected: Annotated[dict[str, Literal["resembles", "perhaps", "no"]], Form("table", "a nursery tune")] = Field(
        default={}
    )
    """What most people would say of each candidate: `{ id = "resembles", other = "no" }`; or `"perhaps"`."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        own = sorted(self.model_fields_set - {"skip"}, reverse=True)
        if self.skip and own:
            raise refusal("there is no practice", "skip = false", own[0])
        if own and not self.query:
            raise refusal("query is missing", "a line query = ...")
        if own and len(self.expected) < 2:
            raise refusal("too few candidates", 'at least 2, as { "id" = "resembles" }', "expected")
        return self


class QuestionTable(TomlTable):
    """`[[questions]]`: one table for each question. Without any, people are asked for years of experience, instruments
    and remarks; `questions = []` at the top of the file asks nothing.
    """

    name: Name
    """The name of the column in the export."""
    kind: Annotated[QuestionKind, Form('`"number"`, `"text"`, `"choice"` or `"choices"`')]
    """What can be answered; `choices`: several."""
    label: Translated
    """The question."""
    choices: Annotated[dict[str, Words], PlainValidator(_choices), Form("list, or table of texts", "none")] = Field(
        default={}
    )
    """What there is to choose from; in a table `name = text`."""
    required: YesNo = False
    """Whether it must be answered."""
    least: Bound = None
    """The smallest number that is taken."""
    most: Bound = None
    """The largest."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        is_choice = self.kind in ("choice", "choices")
        if self.choices and not is_choice:
            raise refusal("is not for this kind", 'kind = "choice" or "choices"', "choices", found=self.kind)
        if is_choice and not self.choices:
            raise refusal("choices is missing", "a line choices = ...")
        for bound in ("least", "most"):
            if getattr(self, bound) is not None and self.kind != "number":
                raise refusal("is not for this kind", 'kind = "number"', bound, found=self.kind)
        if self.least is not None and self.most is not None and self.least > self.most:
            raise refusal("must not be below least", f"{self.least:g} or more", "most", found=self.most)
        return self


class _File(TomlTable):
    study: StudyTable = Field(default_factory=dict, validate_default=True)
    design: DesignTable = DesignTable()
    material: MaterialTable = Field(default_factory=dict, validate_default=True)
    queries: list[QueryPart] = Field(default=[])
    pool: PoolTable = PoolTable()
    practice: PracticeTable = PracticeTable()
    questions: list[QuestionTable] | None = None


class KeyInfo(NamedTuple):
    """What a key is. `otherwise` is empty where the key must be given."""

    form: str
    otherwise: str
    meaning: str


def _info(field: FieldInfo) -> KeyInfo:
    form = next(each for each in field.metadata if isinstance(each, Form))
    shown = f"{field.default:g}" if isinstance(field.default, float) else json.dumps(field.default, default=str)
    otherwise = "" if field.is_required() else form.otherwise or f"`{shown}`"
    return KeyInfo(form.form, otherwise, " ".join((field.description or "").split()))


_MODELS: dict[str, type[TomlTable]] = {
    "study": StudyTable,
    "design": DesignTable,
    "material": MaterialTable,
    "queries": QueryPart,
    "pool": PoolTable,
    "practice": PracticeTable,
    "questions": QuestionTable,
}
# The purpose of each table, and every key that it may have.
TABLES = {name: " ".join((model.__doc__ or "").split()) for name, model in _MODELS.items()}
KEYS = {table: {name: _info(field) for name, field in model.model_fields.items()} for table, model in _MODELS.items()}

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


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryWish:
    """One query of the file: its candidates by id, or a table that describes how to find them."""

    id: str
    notation: str
    candidates: tuple[str, ...]
    place: TomlPlace  # for errors that are found later
    pool: PoolTable | None = None


@dataclass(frozen=True, slots=True)
class StudyDraft:
    """A file that makes sense in itself. `plan` still lacks its tasks and its practice."""

    place: TomlPlace
    plan: StudyPlan
    material: MaterialTable
    queries: tuple[QueryWish, ...]
    hides_query: bool
    practice: PracticeTable
    ships_texts: bool  # some of the texts are those that come with Roslin

    def beside(self, name: str) -> Path:
        """A path of the file, from the folder in which the file is."""
        return self.place.path.parent / name


def read_study(path: Path) -> StudyDraft:
    """The study that a file describes."""
    source, values = read_toml(path)
    top = TomlPlace(path, source)
    given = values.get("study", {})
    listed = given.get("languages", ["en"]) if isinstance(given, dict) else ["en"]
    languages = [listed] if isinstance(listed, str) else listed
    file = top.read(_File, values, languages if isinstance(languages, list) and languages else ["en"])
    about, rules = file.study, file.design.rules
    plan = StudyPlan(
        name=about.name,
        title=about.title,
        languages=about.languages,
        contact=about.contact,
        questions=_questions(file, top),
        practice=None,
        tasks=(),
        rules=rules,
        seed=about.seed,
        **{name: _markdown(about, name, rules.design, top.below("study")) for name in _TEXTS},
    )
    return StudyDraft(
        top,
        plan,
        file.material,
        _queries(file, top),
        file.design.query_among_candidates,
        file.practice,
        any(getattr(about, name) is None for name in _TEXTS),
    )


def asked_pools(path: Path) -> dict[str, dict[str, Any]]:
    """The pool of each query as a file that was read before describes it."""
    _, values = read_toml(path)
    usual = values.get("pool", {})
    asked = {query["id"]: query for query in values["queries"] if "candidates" not in query}
    return {id: {**usual, **query.get("pool", {})} for id, query in asked.items()}


def shipped_text(name: str, language: str) -> str:
    """A text that comes with Roslin, in English or German: consent, instructions, comparing or thanks.

    "comparing" are the instructions for pairs and triplets.
    """
    return (files("roslin.experiment") / "example" / f"{name}.{language}.md").read_text(encoding="utf-8")


def _markdown(about: StudyTable, name: str, design: Design, place: TomlPlace) -> Words:
    """A text in every language: from the files that are named, or the one that comes with Roslin."""
    named: Words | None = getattr(about, name)
    if named is not None:
        texts = {language: _file_text(place, name, file) for language, file in named.items()}
    else:
        for language in about.languages:
            if language not in SHIPPED_LANGUAGES:
                expected = f"a file for {name} in every language, because none comes with Roslin in {language}"
                raise place.error("languages", f"no text for {name}", expected, language)
        shipped = "comparing" if name == "instructions" and design != "ranking" else name
        texts = {language: shipped_text(shipped, language) for language in about.languages}
    return {
        language: text.replace("{title}", about.title[language]).replace("{contact}", about.contact)
        for language, text in texts.items()
    }


def _file_text(place: TomlPlace, name: str, file: str) -> str:
    try:
        text = (place.path.parent / file).read_text(encoding="utf-8-sig").strip()
    except FileNotFoundError:
        raise place.error(name, "no such file", "a Markdown file beside this one", file) from None
    except (UnicodeDecodeError, IsADirectoryError):
        raise place.error(name, "cannot be read", "a Markdown file in UTF-8", file) from None
    if not text:
        raise place.error(name, "the file is empty", "a text in Markdown", file)
    return text + "\n"


def _queries(file: _File, top: TomlPlace) -> tuple[QueryWish, ...]:
    if not file.queries:
        raise top.error("queries", "there are no queries", "a table [[queries]] for each")
    ids = [query.id for query in file.queries]
    found = []
    for number, query in enumerate(file.queries):
        place = top.below("queries", number)
        if query.id in ids[:number]:
            raise place.error("id", "two queries have this id", "each query once", query.id)
        candidates: tuple[str, ...] = ()
        pool = None
        if query.candidates is not None:
            if query.pool.model_fields_set:
                raise place.error("pool", "the candidates are named already", "candidates or a pool, not both")
            candidates = _candidates(query, place)
        else:
            own = query.pool.model_dump(exclude_unset=True)
            pool = file.pool.model_copy(update=own)
            if not pool.model_fields_set:
                raise place.error("", "there are no candidates", "candidates = [...], or a table [queries.pool]")
        found.append(QueryWish(query.id, query.notation, candidates, place, pool))
    return tuple(found)


def _candidates(query: QueryPart, place: TomlPlace) -> tuple[str, ...]:
    """Ids in a list, or a file: one a line, as `roslin filter --save` writes it, or a pool of many queries in CSV."""
    ids = query.candidates or ()
    if isinstance(ids, str):
        path = place.path.parent / ids
        if not path.is_file():
            raise place.error("candidates", "no such file", "a list of ids, or a file with an id a line", ids)
        if path.suffix.lower() == ".csv":  # of `roslin runs pool`
            rows = table_rows(path, ["query", "document"])
            ids = tuple(str(cells["document"]) for cells, _ in rows if cells["query"] == query.id)
        else:
            try:
                lines = path.read_text(encoding="utf-8-sig").splitlines()
            except UnicodeDecodeError:
                raise place.error("candidates", "cannot be read", "a file in UTF-8 with an id a line", ids) from None
            ids = tuple(line.strip() for line in lines if line.strip())
    if len(ids) < 2:
        raise place.error("candidates", "too few to put in order", "at least 2", len(ids))
    for number, id in enumerate(ids):
        if id in ids[:number]:
            raise place.error("candidates", "a candidate is there twice", "each once", id)
    return ids


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


def _questions(file: _File, top: TomlPlace) -> tuple[Question, ...]:
    if file.questions is None:
        return tuple(
            replace(
                each, label={language: each.label.get(language, each.label["en"]) for language in file.study.languages}
            )
            for each in USUAL_QUESTIONS
        )
    names = [each.name for each in file.questions]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise top.below("questions", number).error("name", "two questions have this name", "each once", name)
    return tuple(Question(**each.model_dump()) for each in file.questions)

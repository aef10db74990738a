"""`study.toml`: its keys, their checks, and reading it. The reference in the documentation is made from this module.

Reading needs no melodies: `planning` finds the candidates. Paths are relative to the folder of the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo, model_validator

from roslin.experiment.plan import Design, Question, QuestionKind, Resume, StudyPlan, StudyRules, Words
from roslin.rows import table_rows
from roslin.values.toml_file import (
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

SHIPPED_LANGUAGES = ("en", "de")
MATCHER_COUNT = 10  # candidates of a matcher without a number
TEXTS = ("consent", "instructions", "thanks")
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
    """A text in every language of the study: one text for all languages, or a table."""
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
    """The description of the values in the documentation, and of the default."""

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
    """`[study]`: the name of the study, its languages and its texts."""

    name: Name
    """The name of the folder, `NAME.study`, and of the exported files."""
    languages: Annotated[Texts, AfterValidator(_languages), Form("list of codes", '`["en"]`')] = ("en",)
    """The first language is the default."""
    title: Translated
    """The title above every page."""
    contact: Annotated[Text, Form("text")]
    """The address for questions. Texts can use it as `{contact}`, and the title as `{title}`."""
    seed: CountOrNone = 0
    """Random seed for queries and orders."""
    consent: TextFiles = None
    """The consent, in Markdown. After a change, participants are asked again."""
    instructions: TextFiles = None
    """The instructions, in Markdown."""
    thanks: TextFiles = None
    """The last page, in Markdown."""


class DesignTable(TomlTable):
    """`[design]`: how participants judge, and how many judgements are wanted."""

    kind: Annotated[Design, Form('`"ranking"`, `"pairs"` or `"triplets"`')] = _USUAL.design
    """Participants rank all candidates, or repeatedly choose the most similar of two or three."""
    quota: Count = _USUAL.quota
    """Number of participants per query."""
    queries_per_expert: Count = _USUAL.queries_per_expert
    """Maximum number of queries per participant."""
    ties: YesNo = _USUAL.ties
    """Whether candidates may share a rank. Only for rankings."""
    query_among_candidates: YesNo = True
    """Whether the query hides among its candidates as a check of attention: it should be ranked first."""
    resume: Annotated[Resume, Form('`"continue"`, `"reread"` or `"restart"`')] = _USUAL.resume
    """After a long pause, participants continue, read the instructions again, or also begin the open query
    again."""
    pause_hours: Hours = _USUAL.pause_hours
    """Hours after which a pause is long."""
    abandoned_hours: Hours = _USUAL.abandoned_hours
    """Hours without a decision after which an open query is given to another participant too. Before the first
    decision it is given away immediately."""
    comparisons: Count = _USUAL.comparisons
    """Number of comparisons per participant and query. Not for rankings."""
    differences: YesNo = _USUAL.differences
    """Whether participants may see the notes of two melodies that Roslin's alignment leaves without a partner."""
    keeps_participant: YesNo = _USUAL.keeps_participant
    """Whether the participant id of a panel, such as Prolific, is stored. An id can then join only once."""
    completion_address: Address = ""
    """Address at the panel for participants who have judged everything. `{receipt}` is replaced by the receipt
    code, `{participant}` by the participant id."""
    screen_out_address: Address = ""
    """Address for participants who find the study full or closed before they have judged everything."""

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
        return StudyRules(design=self.kind, **self.model_dump(exclude={"kind", "query_among_candidates"}))


class MaterialTable(TomlTable):
    """`[material]`: either a collection of melodies, or a folder of pictures and sounds."""

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
    """`[queries.pool]` below a query sets how its candidates are found. `[pool]` sets the default of each key for all
    queries. A range is `LOW..HIGH`, `LOW..` or `..HIGH`.
    """

    pitch_range: Range = ()
    """Lowest to highest note, in semitones or by name."""
    max_interval: Range = ()
    """Largest interval between neighbouring notes, in semitones or by name."""
    duration_ratio: Range = ()
    """Ratio of shortest to longest note, from 0 to 1."""
    note_count: Range = ()
    """Number of notes."""
    contains: Filters = ()
    """Sequences of intervals; one is enough."""
    contains_semitones: Filters = ()
    """Sequences of intervals in semitones; one is enough."""
    share: Filters = ()
    """Share of an interval among all intervals: `"third=0.5.."`."""
    motive: Filters = ()
    """A repeated motive with these intervals."""
    times: Annotated[int, _MANY, Form("whole number")] = 2
    """Number of places where the motive must occur."""
    pattern: Filters = ()
    """Patterns of intervals and rhythms, as in `roslin filter --pattern`."""
    contour: Distance = ()
    """Edit distance of the gross contour from the query."""
    rhythm: Distance = ()
    """Edit distance of the rhythm from the query."""
    costs: Annotated[Text, Form("text", "1 each")] = ""
    """Costs of the edits: `"insertion=0.5 UD=2"`."""
    where: Filters = ()
    """Words in a metadata field: `"metre=3/4"`."""
    only: Filters = ()
    """Whole metadata fields: `["key=g", "key=d"]`; one value of a field is enough."""
    also: Annotated[Texts, Form("text or list", "nothing")] = ()
    """Words that add melodies despite the filters: `"title=Roslin"`."""
    matchers: Annotated[
        dict[str, Whole], BeforeValidator(_with_counts), Form("list, or table of numbers", "nothing")
    ] = Field(default={})
    """Matchers whose first results are added: ten of each, or other numbers, as in `{ emd = 8, p3 = 8 }`."""
    disagreement: CountOrNone = 0
    """Number of candidates to add, and keep, about which these matchers disagree most."""
    add: Ids = ()
    """Candidates that are always included."""
    leave_out: Ids = ()
    """Candidates that are never included."""
    unique: Annotated[Literal[True, False, "exactly"], Form('`true`, `false` or `"exactly"`')] = True
    """Whether candidates that are identical with another one or part of it are removed; with `"exactly"`, only if
    the rhythm agrees exactly."""
    most: Annotated[int, _MANY, Form("whole number")] = 50
    """Maximum number of candidates."""


class QueryPart(TomlTable):
    """`[[queries]]`: one table for each query."""

    id: Annotated[Text, Form("text")]
    """The id of the query in the collection or the table."""
    notation: Annotated[Text, Form("text", "of the collection")] = ""
    """A query outside the collection, in Plaine & Easie Code or ABC."""
    candidates: Annotated[
        tuple[str, ...] | str | None, PlainValidator(_ids_or_file), Form("list of ids, or file", "by the pool")
    ] = None
    """The candidates by id, or a file with one id per line, or the CSV of `roslin runs pool`."""
    pool: Annotated[PoolTable, Form("table", "none")] = PoolTable()
    """A search for candidates instead."""


class PracticeTable(TomlTable):
    """`[practice]`: a trial with feedback that does not count. The default is a nursery tune."""

    skip: YesNo = False
    """Whether to omit the practice."""
    query: Annotated[Text, Form("text", "a nursery tune")] = ""
    """The id of the query of your own practice."""
    expected: Annotated[dict[str, Literal["resembles", "perhaps", "no"]], Form("table", "a nursery tune")] = Field(
        default={}
    )
    """The expected answers: `{ id = "resembles", other = "no" }`; `"perhaps"` is possible too."""

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
    """`[[questions]]`: one table for each question. By default, participants are asked for years of experience,
    instruments and remarks. `questions = []` at the top of the file asks nothing.
    """

    name: Name
    """The name of the column in the export."""
    kind: Annotated[QuestionKind, Form('`"number"`, `"text"`, `"choice"` or `"choices"`')]
    """The form of the answer; `choices` allows several."""
    label: Translated
    """The question."""
    choices: Annotated[dict[str, Words], PlainValidator(_choices), Form("list, or table of texts", "none")] = Field(
        default={}
    )
    """The choices; in a table, `name = text`."""
    required: YesNo = False
    """Whether it must be answered."""
    least: Bound = None
    """The smallest number allowed."""
    most: Bound = None
    """The largest number allowed."""

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


class StudyFile(TomlTable):
    """The whole file."""

    study: StudyTable = Field(default_factory=dict, validate_default=True)
    design: DesignTable = DesignTable()
    material: MaterialTable = Field(default_factory=dict, validate_default=True)
    queries: list[QueryPart] = Field(default=[])
    pool: PoolTable = PoolTable()
    practice: PracticeTable = PracticeTable()
    questions: list[QuestionTable] | None = None


# The tables by name.
MODELS: dict[str, type[TomlTable]] = {
    "study": StudyTable,
    "design": DesignTable,
    "material": MaterialTable,
    "queries": QueryPart,
    "pool": PoolTable,
    "practice": PracticeTable,
    "questions": QuestionTable,
}


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryWish:
    """One query of the file: its candidates by id, or a pool."""

    id: str
    notation: str
    candidates: tuple[str, ...]
    place: TomlPlace  # for errors that are found later
    pool: PoolTable | None = None


@dataclass(frozen=True, slots=True)
class StudyDraft:
    """A valid file. `plan` still lacks tasks and practice."""

    place: TomlPlace
    file: StudyFile
    plan: StudyPlan
    queries: tuple[QueryWish, ...]

    def beside(self, name: str) -> Path:
        """A path relative to the folder of the file."""
        return self.place.path.parent / name


def read_study(path: Path) -> StudyDraft:
    """Read a study from its file."""
    source, values = read_toml(path)
    top = TomlPlace(path, source)
    given = values.get("study", {})
    listed = given.get("languages", ["en"]) if isinstance(given, dict) else ["en"]
    languages = [listed] if isinstance(listed, str) else listed
    file = top.read(StudyFile, values, languages if isinstance(languages, list) and languages else ["en"])
    about, rules = file.study, file.design.rules
    texts: dict[str, Any] = {name: _markdown(about, name, rules.design, top.below("study")) for name in TEXTS}
    named = about.model_dump(exclude=set(TEXTS)) | texts
    plan = StudyPlan(**named, questions=_questions(file, top), practice=None, tasks=(), rules=rules)
    return StudyDraft(top, file, plan, _queries(file, top))


def asked_pools(path: Path) -> dict[str, dict[str, Any]]:
    """The pool of each query in a valid file."""
    _, values = read_toml(path)
    usual = values.get("pool", {})
    asked = {query["id"]: query for query in values["queries"] if "candidates" not in query}
    return {id: {**usual, **query.get("pool", {})} for id, query in asked.items()}


def shipped_text(name: str, language: str) -> str:
    """A text of Roslin in English or German: consent, instructions, comparing (for pairs and triplets) or thanks."""
    return (files("roslin.experiment") / "example" / f"{name}.{language}.md").read_text(encoding="utf-8")


def _markdown(about: StudyTable, name: str, design: Design, place: TomlPlace) -> Words:
    """A text in every language, from the given files or from Roslin."""
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


def _queries(file: StudyFile, top: TomlPlace) -> tuple[QueryWish, ...]:
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
    """Ids from a list, or from a file of `roslin filter --save` or `roslin runs pool`."""
    ids = query.candidates or ()
    if isinstance(ids, str):
        path = place.path.parent / ids
        if not path.is_file():
            raise place.error("candidates", "no such file", "a list of ids, or a file with one id per line", ids)
        if path.suffix.lower() == ".csv":  # of `roslin runs pool`
            rows = table_rows(path, ["query", "document"])
            ids = tuple(str(cells["document"]) for cells, _ in rows if cells["query"] == query.id)
        else:
            try:
                lines = path.read_text(encoding="utf-8-sig").splitlines()
            except UnicodeDecodeError:
                raise place.error("candidates", "cannot be read", "a file in UTF-8 with one id per line", ids) from None
            ids = tuple(line.strip() for line in lines if line.strip())
    if len(ids) < 2:
        raise place.error("candidates", "too few to put in order", "at least 2", len(ids))
    for number, id in enumerate(ids):
        if id in ids[:number]:
            raise place.error("candidates", "a candidate is there twice", "each once", id)
    return ids


def _questions(file: StudyFile, top: TomlPlace) -> tuple[Question, ...]:
    """The questions of the file; without any, those about the experts of Typke et al. (2007) (section 3.2.2)."""
    if file.questions is None:
        usual = read_toml(Path(str(files("roslin.experiment") / "example" / "questions.toml")))[1]["questions"]
        labels = [
            {language: each["label"].get(language, each["label"]["en"]) for language in file.study.languages}
            for each in usual
        ]
        return tuple(Question(**(each | {"label": label})) for each, label in zip(usual, labels, strict=True))
    names = [each.name for each in file.questions]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise top.below("questions", number).error("name", "two questions have this name", "each once", name)
    return tuple(Question(**each.model_dump()) for each in file.questions)

"""`study.toml`: what an experimenter writes, checked and read; `keys` has every key that it may have.

Reading looks at no melody: which candidates there are is found out when the study is made (`folder`). Paths are those
from the folder in which the file lies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from roslin.experiment.plan import StudyPlan, StudyRules, Words
from roslin.experiment.questionnaire import KEYS, read_questions
from roslin.experiment.toml_table import NAME, TomlTable, read_toml
from roslin.rows import table_rows

SHIPPED_LANGUAGES = ("en", "de")
_TEXTS = ("consent", "instructions", "thanks")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
_FIELD, _FIELDS = re.compile(r"[{}][^{}]*}?"), {"{receipt}", "{participant}"}
_VERDICTS = ("resembles", "perhaps", "no")


@dataclass(frozen=True, slots=True)
class QueryWish:
    """One query as the file asks for it: its candidates by id, or a table that says how to find them."""

    id: str
    notation: str
    candidates: tuple[str, ...]
    table: TomlTable  # where it stands, for what is wrong later
    pool: TomlTable | None = None


@dataclass(frozen=True, slots=True)
class StudyDraft:
    """A file that makes sense in itself. `plan` still lacks its tasks and its practice."""

    path: Path
    plan: StudyPlan
    material: TomlTable
    queries: tuple[QueryWish, ...]
    hides_query: bool
    practice: TomlTable
    ships_texts: bool  # some of the texts are those that come with Roslin

    def beside(self, name: str) -> Path:
        """A path of the file, from the folder in which the file lies."""
        return self.path.parent / name


def read_study(path: Path) -> StudyDraft:
    """The study that a file describes."""
    source, values = read_toml(path)
    top = TomlTable(path, source, (), values)
    top.check_keys(list(KEYS))
    about = top.table("study", KEYS["study"])
    languages = _languages(about)
    name = about.text("name")
    if not NAME.fullmatch(name):
        raise about.error("name", "must be a name for a folder", "letters, digits, - and _, at most 60", name)
    title = about.words("title", languages)
    contact = about.text("contact")
    design = top.table("design", KEYS["design"])
    rules = _rules(design)
    shipped = {each: each for each in _TEXTS} | ({} if rules.design == "ranking" else {"instructions": "comparing"})
    texts = {each: _markdown(about, each, shipped[each], languages, title, contact) for each in _TEXTS}
    plan = StudyPlan(
        name=name,
        title=title,
        languages=languages,
        contact=contact,
        questions=read_questions(top, languages),
        practice=None,
        tasks=(),
        rules=rules,
        seed=about.whole("seed", 0, least=0),
        **texts,
    )
    return StudyDraft(
        path,
        plan,
        _material(top),
        _queries(top),
        design.yes("query_among_candidates", otherwise=True),
        _practice(top),
        any(name not in about for name in _TEXTS),
    )


def asked_pools(path: Path) -> dict[str, dict[str, Any]]:
    """What a file that was read before asks of the pool of each query."""
    _, values = read_toml(path)
    usual = values.get("pool", {})
    asked = {query["id"]: query for query in values["queries"] if "candidates" not in query}
    return {id: {**usual, **query.get("pool", {})} for id, query in asked.items()}


def shipped_text(name: str, language: str) -> str:
    """A text that comes with Roslin, in English or German: consent, instructions, comparing or thanks.

    "comparing" are the instructions for pairs and triplets.
    """
    return (files("roslin.experiment") / "example" / f"{name}.{language}.md").read_text(encoding="utf-8")


# -- the tables -----------------------------------------------------------------------------------------------------


def _languages(about: TomlTable) -> tuple[str, ...]:
    languages = about.texts("languages", ("en",))
    if not languages or len(set(languages)) < len(languages) or not all(map(_LANGUAGE.fullmatch, languages)):
        raise about.error("languages", "must be codes of languages", 'such as ["en", "de"], each once', list(languages))
    return languages


def _markdown(
    about: TomlTable, name: str, shipped: str, languages: tuple[str, ...], title: Words, contact: str
) -> Words:
    """A text in every language: from the files that are named, or the one that comes with Roslin."""
    if name in about:
        named = about.words(name, languages)
        texts = {language: _file_text(about, name, file) for language, file in named.items()}
    else:
        for language in languages:
            if language not in SHIPPED_LANGUAGES:
                expected = f"a file for {name} in every language, because none comes with Roslin in {language}"
                raise about.error("languages", f"no text for {name}", expected, language)
        texts = {language: shipped_text(shipped, language) for language in languages}
    return {
        language: text.replace("{title}", title[language]).replace("{contact}", contact)
        for language, text in texts.items()
    }


def _file_text(about: TomlTable, name: str, file: str) -> str:
    path = about.path.parent / file
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except FileNotFoundError:
        raise about.error(name, "no such file", "a Markdown file beside this one", file) from None
    except (UnicodeDecodeError, IsADirectoryError):
        raise about.error(name, "cannot be read", "a Markdown file in UTF-8", file) from None
    if not text:
        raise about.error(name, "the file is empty", "a text in Markdown", file)
    return text + "\n"


def _rules(design: TomlTable) -> StudyRules:
    usual = StudyRules()
    kind = design.one_of("kind", ("ranking", "pairs", "triplets"), usual.design)
    if kind == "ranking" and "comparisons" in design:
        raise design.error("comparisons", "is only for pairs and triplets", 'kind = "pairs" or "triplets"', kind)
    if kind != "ranking" and design.yes("ties", otherwise=False):
        raise design.error("ties", "is only for rankings", 'kind = "ranking"', kind)
    return StudyRules(
        design=cast(Any, kind),
        quota=design.whole("quota", usual.quota),
        queries_per_expert=design.whole("queries_per_expert", usual.queries_per_expert),
        ties=design.yes("ties", usual.ties),
        resume=cast(Any, design.one_of("resume", ("continue", "reread", "restart"), usual.resume)),
        pause_hours=design.number("pause_hours", usual.pause_hours),
        abandoned_hours=design.number("abandoned_hours", usual.abandoned_hours),
        comparisons=design.whole("comparisons", usual.comparisons),
        differences=design.yes("differences", usual.differences),
        keeps_participant=design.yes("keeps_participant", usual.keeps_participant),
        completion_address=_address(design, "completion_address"),
        screen_out_address=_address(design, "screen_out_address"),
    )


def _address(design: TomlTable, name: str) -> str:
    if name not in design:
        return ""
    address = design.text(name)
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or not set(_FIELD.findall(address)) <= _FIELDS:
        raise design.error(
            name, "must be the address of a page", "https://..., with {receipt} or {participant}", address
        )
    if "{participant}" in address and not design.yes("keeps_participant", otherwise=False):
        raise design.error(name, "the id of participants is not kept", "keeps_participant = true", address)
    return address


def _material(top: TomlTable) -> TomlTable:
    material = top.table("material", KEYS["material"])
    if "collection" in material:
        material.text("collection")
        for name in ("folder", "table"):
            if name in material:
                raise material.error(name, "is not for melodies", "either collection, or folder and table")
    elif "folder" in material or "table" in material:
        material.text("folder")
        material.text("table")
    else:
        raise material.error("", "there is nothing to show", 'collection = "NAME.roslin", or folder and table')
    return material


def _queries(top: TomlTable) -> tuple[QueryWish, ...]:
    usual = top.table("pool", KEYS["pool"])
    tables = top.tables("queries", KEYS["queries"])
    if not tables:
        raise top.error("queries", "there are no queries", "a table [[queries]] for each")
    found: list[QueryWish] = []
    for table in tables:
        id = table.text("id")
        if any(id == other.id for other in found):
            raise table.error("id", "two queries have this id", "each query once", id)
        found.append(_query(table, id, usual))
    return tuple(found)


def _query(table: TomlTable, id: str, usual: TomlTable) -> QueryWish:
    notation = table.text("notation", "")
    own = table.table("pool", KEYS["pool"])
    if "candidates" in table:
        if own.values:
            raise table.error("pool", "the candidates are named already", "candidates or a pool, not both")
        candidates = _candidates(table, id)
        return QueryWish(id, notation, candidates, table)
    if not own.values and not usual.values:
        raise table.error("", "there are no candidates", "candidates = [...], or a table [queries.pool]")
    return QueryWish(id, notation, (), table, replace(own, values={**usual.values, **own.values}))


def _candidates(table: TomlTable, query: str) -> tuple[str, ...]:
    """Ids in a list, or a file: one a line, as `roslin filter --save` writes it, or a pool of many queries in CSV."""
    value = table.values["candidates"]
    if isinstance(value, str):
        path = table.path.parent / value
        if not path.is_file():
            raise table.error("candidates", "no such file", "a list of ids, or a file with an id a line", value)
        ids = _pooled_in(path, query) if path.suffix.lower() == ".csv" else _lines_of(path, table, value)
    else:
        ids = table.texts("candidates")
    if len(ids) < 2:
        raise table.error("candidates", "too few to put in order", "at least 2", len(ids))
    for place, id in enumerate(ids):
        if id in ids[:place]:
            raise table.error("candidates", "a candidate is there twice", "each once", id)
    return ids


def _pooled_in(path: Path, query: str) -> tuple[str, ...]:
    """What a file of `roslin runs pool` has for this query."""
    rows = table_rows(path, ["query", "document"])
    return tuple(str(cells["document"]) for cells, _ in rows if cells["query"] == query)


def _lines_of(path: Path, table: TomlTable, value: str) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise table.error("candidates", "cannot be read", "a file in UTF-8 with an id a line", value) from None
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _practice(top: TomlTable) -> TomlTable:
    practice = top.table("practice", KEYS["practice"])
    if practice.yes("skip", otherwise=False):
        for name in ("query", "expected"):
            if name in practice:
                raise practice.error(name, "there is no practice", "skip = false")
        return practice
    if practice.values.keys() - {"skip"}:
        practice.text("query")
        expected = practice.table("expected", ())
        if len(expected.values) < 2:
            raise practice.error("expected", "too few candidates", 'at least 2, as { "id" = "resembles" }')
        for id in expected.values:
            expected.one_of(id, _VERDICTS)
    return practice

"""A campaign: several matchers, the same queries, the same collection, one or more truths.

The folder gets

    runs/NAME.run       one TREC run for each matcher
    campaign.json       where they come from: versions, parameters, checksums of collection, queries, truths and runs
    finished.sqlite     every list that is complete, with the time that it took; a second start continues from there

The same collection, queries, truths and versions give the same bytes in `runs` and `campaign.json`, with any number of
threads, interrupted or not: tied documents are listed by id, and no date is written but that of the collection.

Ids decide nothing. Values are means over all orders of tied documents, unless `with_ties` asks for another rule, and a
list never ends within a tie (`roslin.campaign.asking`). A document with the id of its query is left out where it is the
query, the same melody, and in no group of the truth; any other stays.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from roslin.campaign.asking import (
    LONGEST,
    CampaignQuery,
    Finished,
    Share,
    answers_elsewhere,
    answers_here,
    chosen_queries,
    chosen_truths,
    code_checksum,
    documents_asked,
    missing_documents,
)
from roslin.collection.files import remove_scratch, write_text
from roslin.collection.store import Store
from roslin.deadline import Work
from roslin.display.table import FrameLibrary, Table, frame
from roslin.display.text import counted
from roslin.errors import ArgumentError
from roslin.evaluate.evaluation import Evaluation, quietly
from roslin.evaluate.measures.base import Measure, measure
from roslin.evaluate.rankings import without
from roslin.matchers import Matcher, matcher
from roslin.melody import Melody
from roslin.notation import jsonl
from roslin.run import Ranking, Run
from roslin.search.program import checksum, program_versions
from roslin.truth.model import Truth
from roslin.types import Progress

# The measure of MIREX 2005 first; then those by which known items and works in several sources are judged.
CAMPAIGN_MEASURES = ("ADR", "AP", "R@10", "RR")
DEPTH = 100
MATCHERS = {"system": "matcher"}  # the heading of that column; programs read it under its own name

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._=]+")


@dataclass(frozen=True)
class System:
    """A matcher in a campaign: its lists, and the file that holds them."""

    matcher: Matcher
    file: str
    run: Run

    @property
    def name(self) -> str:
        """The matcher with the parameters that are not the defaults."""
        return self.run.name

    @property
    def refused(self) -> dict[str, str]:
        """The queries that the matcher could not take, and why."""
        return {query: ranking.refusal for query, ranking in self.run.rankings.items() if ranking.refusal}

    @property
    def seconds(self) -> list[float]:
        """The time of each query."""
        return [ranking.seconds or 0.0 for ranking in self.run.rankings.values()]

    @property
    def tied(self) -> int:
        """The number of documents that share their distance with another of their list."""
        return sum(ranking.tied for ranking in self.run.rankings.values())

    @property
    def cut(self) -> int:
        """The number of lists that end before a tie that is too large to list."""
        return sum(ranking.is_cut_in_a_tie for ranking in self.run.rankings.values())


@dataclass(frozen=True)
class Campaign:
    """The results: one evaluation for each truth (the first has all metrics), and all lists.

    >>> from tempfile import TemporaryDirectory
    >>> from roslin import Collection, load
    >>> folder = TemporaryDirectory()
    >>> three = Collection.build(load("'4CDEC\\n'4CDEF\\n''4GFED"), f"{folder.name}/three.roslin")
    >>> print(run_campaign(three, {"melody-1": [["melody-2"]]}, ["dp", "p3"], folder.name, measures=["RR"]))
    matcher      RR
    dp       1.0000
    p3       1.0000
    >>> three.close(); folder.cleanup()
    """

    evaluations: tuple[Evaluation, ...]
    systems: tuple[System, ...]
    queries: Mapping[str, Melody]
    provenance: Mapping[str, Any]
    remarks: tuple[str, ...]

    @property
    def evaluation(self) -> Evaluation:
        """All metrics under the first truth."""
        return self.evaluations[0]

    def to_table(self) -> Table:
        """The means: a row for each matcher, a column for each metric under the first truth, then under the others."""
        table = self.evaluation.to_table()
        columns, rows = list(table.columns), [dict(row) for row in table.rows]
        for name, other in zip(self._truth_names[1:], self.evaluations[1:], strict=True):
            means = other.to_table()
            for measure_name in means.columns[1:]:
                column = f"{measure_name} ({name})"
                columns.append(column)
                for row, found in zip(rows, means.rows, strict=True):
                    row[column] = found[measure_name]
        return Table(tuple(columns), tuple(rows), table.title, headings=MATCHERS)

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """Every value as a data frame: truth, system, measure, query, value. The means: `to_table().to_frame()`."""
        columns: dict[str, list[Any]] = {"truth": []}
        for name, evaluation in zip(self._truth_names, self.evaluations, strict=True):
            values = evaluation.long_columns()
            columns["truth"] += [name] * len(values["value"])
            for column, cells in values.items():
                columns.setdefault(column, []).extend(cells)
        return frame(columns, library)

    def with_ties(self, ties: str) -> Self:
        """The same lists with another rule for tied documents: expected, given or trec."""
        evaluations = tuple(
            quietly(each.truth, each.runs, each.measures, ties=ties, same_id=each.same_id) for each in self.evaluations
        )
        return replace(self, evaluations=evaluations)

    @property
    def _truth_names(self) -> list[str]:
        """A name for each truth that no other has: its own, or its number where it has none."""
        return [each.truth.name or f"truth {number}" for number, each in enumerate(self.evaluations, start=1)]

    def __repr__(self) -> str:
        matchers, queries = counted(len(self.systems), "matcher"), counted(len(self.queries), "query", "queries")
        return f"Campaign({matchers}, {queries}, {counted(len(self.evaluations), 'truth')})"

    def __str__(self) -> str:
        return str(self.to_table())

    def _repr_html_(self) -> str:
        return self.to_table().to_html()


def run_campaign(
    collection: Store,
    truths: Any,
    matchers: Sequence[str | Matcher],
    folder: str | Path,
    *,
    queries: str | Path | Iterable[Melody] | None = None,
    k: int = DEPTH,
    measures: Sequence[str | Measure] | str | Measure = CAMPAIGN_MEASURES,
    threads: int = 1,
    progress: Progress | None = None,
    work: Work | None = None,
) -> Campaign:
    """Search for every query of the truths with every matcher, and evaluate the lists of k documents.

    `truths`: one truth or a list of them, as `read_truth` takes them. `queries`: a file in any notation, or melodies,
    whose ids are those of the truths. By default they are melodies of the collection. A query that is a melody of the
    collection, or a piece of one, with its id, is omitted from its own lists unless a truth lists it. `work`: the
    workers, if not the threads of this process (`roslin.distributed`). It must be entered already, and reports the
    progress.
    """
    if not isinstance(k, int) or k < 1:
        raise ArgumentError(f"k must be a whole number, at least 1; got {k!r}")
    wanted = [measure(each) for each in ([measures] if isinstance(measures, (str, Measure)) else measures)]
    if not wanted:
        raise ArgumentError("a campaign needs at least one measure")
    chosen = _matchers(matchers)
    about_truths = chosen_truths(truths)
    known = [truth for truth, _ in about_truths]
    asked, remarks = chosen_queries(collection, known, queries)
    remarks += missing_documents(collection, known)
    output = _output_folder(folder)
    files = [f"runs/{file}" for file in _file_names(chosen)]
    itself = documents_asked(collection, asked)
    collection_checksum = checksum(collection.about["arrays_sha256"], *collection.ids())
    with Finished(output / "finished.sqlite") as finished:
        left_out = {id for id in itself if not any(_has(truth, id) for truth in known)}
        questions = [CampaignQuery(each, id, query, id in left_out) for each in chosen for id, query in asked.items()]
        keys = _identities(questions, collection_checksum, k)
        here = partial(answers_here, collection, k, threads, progress or (lambda _done, _name: None))
        answers = partial(answers_elsewhere, collection, k, work) if work else here
        rankings = _answered(questions, keys, finished, answers)
    systems = tuple(
        System(each, file, Run(rankings[first : first + len(asked)], name=repr(each), kind="distance"))
        for each, file, first in zip(chosen, files, range(0, len(questions), len(asked)), strict=True)
    )
    checksums = {system.name: _write(output / system.file, system.run.to_trec()) for system in systems}
    evaluations = _evaluate(known, systems, wanted, itself)
    provenance = {
        **program_versions(),
        "collection": _about_collection(collection, collection_checksum),
        "queries": {"from": _origin(queries), "number": len(asked), "sha256": checksum(*map(_text_of, asked.values()))},
        "truths": [about for _, about in about_truths],
        "k": k,
        "measures": [repr(each) for each in wanted],
        "systems": [_about(system, checksums[system.name]) for system in systems],
    }
    _write(output / "campaign.json", json.dumps(provenance, ensure_ascii=False, indent=1, default=repr) + "\n")
    remarks += _remarks(systems, k)
    return Campaign(evaluations, systems, asked, provenance, tuple(remarks))


def _about_collection(collection: Store, sha256: str) -> dict[str, Any]:
    return {
        "name": collection.path.name,
        "melodies": len(collection),
        "notes": int(collection.about["notes"]),
        "written": collection.about["written"],
        "sha256": sha256,
    }


def _output_folder(folder: str | Path) -> Path:
    """The folder of a campaign, without unfinished files of an earlier start."""
    for place in (Path(folder), Path(folder) / "runs"):
        place.mkdir(parents=True, exist_ok=True)
        remove_scratch(place)
    return Path(folder)


def _matchers(names: Sequence[str | Matcher]) -> list[Matcher]:
    chosen = [matcher(name) for name in ([names] if isinstance(names, (str, Matcher)) or callable(names) else names)]
    if not chosen:
        raise ArgumentError("a campaign needs at least one matcher")
    for name, count in Counter(map(repr, chosen)).items():
        if count > 1:
            raise ArgumentError(f"the matcher {name} is given {count} times; once is enough")
    return chosen


# -- lists ------------------------------------------------------------------------------------------------------------


def _identities(questions: Sequence[CampaignQuery], collection_checksum: str, k: int) -> list[str | None]:
    """The checksum of all that each answer depends on; None where code may change unseen: nothing is kept of it."""
    codes = {each.matcher: code_checksum(each.matcher) for each in questions}
    texts = {each.id: _text_of(each.query) for each in questions}
    versions = json.dumps(program_versions())
    return [
        None
        if (code := codes[each.matcher]) is None
        else checksum(
            versions,
            collection_checksum,
            json.dumps(each.matcher.parameters, default=repr),
            each.matcher.name,
            code,
            f"{k} with whole ties, at most {LONGEST} times as many",
            str(each.is_left_out),
            texts[each.id],
        )
        for each in questions
    ]


def _answered(
    questions: Sequence[CampaignQuery],
    keys: Sequence[str | None],
    finished: Finished,
    answers: Callable[[Sequence[CampaignQuery], Sequence[Share]], Iterator[Ranking]],
) -> list[Ranking]:
    """The lists of all questions. Those that are not finished are asked for and saved one by one."""
    known = [finished.get(key, each.id) if key else None for key, each in zip(keys, questions, strict=True)]
    missing = [number for number, ranking in enumerate(known) if ranking is None]
    shares = [(number / len(questions), (number + 1) / len(questions)) for number in missing]
    for number, ranking in zip(missing, answers([questions[number] for number in missing], shares), strict=True):
        if key := keys[number]:
            finished.put(key, repr(questions[number].matcher), ranking)
        known[number] = ranking
    return [ranking for ranking in known if ranking is not None]


# -- what comes out ---------------------------------------------------------------------------------------------------


def _evaluate(
    truths: Sequence[Truth], systems: Sequence[System], measures: Sequence[Measure], itself: Set[str]
) -> tuple[Evaluation, ...]:
    """All measures under the first truth, the first of them under the others."""
    runs = [system.run for system in systems]
    first, *others = truths
    return (
        quietly(first, [_lists(run, first, itself) for run in runs], measures),
        *(quietly(truth, [_lists(run, truth, itself) for run in runs], measures[:1]) for truth in others),
    )


def _lists(run: Run, truth: Truth, itself: Set[str]) -> Run:
    """The lists of the queries of a truth; where only another truth has the query among its documents, without it."""
    return Run(
        [
            without(ranking, query) if query in itself and not _has(truth, query) else ranking
            for query, ranking in run.rankings.items()
            if query in truth
        ],
        name=run.name,
        kind=run.kind,
    )


def _remarks(systems: Sequence[System], k: int) -> Iterator[str]:
    """The queries that a matcher refused, and the lists that end at a tie."""
    for system in systems:
        for query, reason in system.refused.items():
            yield f"{system.name} cannot take query {query}: {reason}; counted as an empty list"
        if system.cut:
            lists = f"{counted(system.cut, 'list')} of {len(system.run.rankings)}"
            yield (
                f"{system.name}: {lists} end before rank {k}, at a tie of more than "
                f"{(LONGEST - 1) * k} documents that nothing but their ids could order: left out"
            )


def _has(truth: Truth, query: str) -> bool:
    return any(query in group for group in truth.get(query, ()))


def _origin(queries: object) -> str:
    if isinstance(queries, (str, Path)):
        return Path(queries).name
    return "the collection" if queries is None else "memory"


def _about(system: System, run_sha256: str) -> dict[str, Any]:
    return {
        "name": system.name,
        "parameters": system.matcher.parameters,
        "reference": system.matcher.reference,
        "run": system.file,
        "sha256": run_sha256,
        "tied_documents": system.tied,
        "lists_cut_in_a_tie": system.cut,
        "refused": system.refused,
    }


def _text_of(query: Melody) -> str:
    """Everything about a melody that a matcher could look at, as text."""
    return jsonl.write_jsonl(query.with_metadata(music=None, notation=None))


def _file_names(matchers: Sequence[Matcher]) -> list[str]:
    """A file name for each matcher: its own, with what file names had better not have replaced."""
    names: list[str] = []
    for each in matchers:
        stem = _NOT_IN_A_NAME.sub("-", repr(each)).strip("-")
        taken = sum(name == f"{stem}.run" or name.startswith(f"{stem}~") for name in names)
        names.append(f"{stem}~{taken + 1}.run" if taken else f"{stem}.run")
    return names


def _write(path: Path, text: str) -> str:
    """Write a file that appears when it is complete; its checksum."""
    write_text(path, text)
    return hashlib.sha256(text.encode()).hexdigest()

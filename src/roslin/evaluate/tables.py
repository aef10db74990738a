"""An evaluation as tables: what `roslin evaluate` prints, and what its page shows.

Several evaluations of the same runs differ in their truth. The first is the one that everything is about.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import Any

import numpy as np

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError, shortened
from roslin.evaluate.evaluation import RUNS, Evaluation, values_of
from roslin.evaluate.exchanges import mean_intervals
from roslin.evaluate.measures.adr import RecallStep, adr_tie_break, average_dynamic_recall, inversions, steps
from roslin.evaluate.measures.base import DRAWN_ORDERS
from roslin.evaluate.rankings import hits_of_run, in_extreme_order, judge
from roslin.evaluate.significance import Comparison, Reach, compare, reach
from roslin.run import Run
from roslin.types import Floats

_SAME_ID = {
    "keep": "kept, as any other document; if queries are documents of the collection, drop it (same_id)",
    "drop": "taken out, as the query itself",
}


def means(evaluation: Evaluation, level: float = 0.95) -> Table:
    """The mean of each run and measure, with its confidence interval over queries, and over judges where known."""
    values, judges = evaluation.counted, evaluation.judges
    upper = np.array([each.largest for each in evaluation.measures])
    intervals = mean_intervals(values, level, upper)
    if judges is not None:
        intervals = judges.widened(evaluation.means, intervals, level, upper)
    rows = [
        {
            "system": system,
            "measure": repr(measure),
            "mean": float(evaluation.means[s, m]),
            "low": float(intervals[s, m, 0]),
            "high": float(intervals[s, m, 1]),
            "queries": values.shape[2],
            **({} if judges is None else {"judges": float(judges.deviations[s, m])}),
        }
        for s, system in enumerate(evaluation.systems)
        for m, measure in enumerate(evaluation.measures)
    ]
    columns = ("system", "measure", "mean", "low", "high", "queries", *(() if judges is None else ("judges",)))
    title = f"Means over queries, with {100 * level:g}% confidence intervals"
    if judges is not None:
        title += " that cover queries and judges"
    return Table(columns, tuple(rows), title, key="means", headings=RUNS)


def means_by_measure(evaluation: Evaluation, level: float = 0.95) -> Table:
    """The means as a paper prints them: one row for each run, one column a measure, the interval beside the mean."""
    found = means(evaluation, level)
    by_system: dict[str, dict[str, Any]] = {}
    for row in found.rows:
        interval = "" if math.isnan(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
        cell = None if math.isnan(row["mean"]) else f"{row['mean']:.3f}{interval}"
        by_system.setdefault(row["system"], {"system": row["system"]})[row["measure"]] = cell
    columns = ("system", *dict.fromkeys(map(repr, evaluation.measures)))
    return replace(found, columns=columns, rows=tuple(by_system.values()))


def per_query(evaluation: Evaluation) -> Table:
    """One row for each query and measure, one column for each run."""
    columns = _columns(("query", "measure"), evaluation.systems, "run")
    rows = [
        {
            "query": query,
            "measure": repr(measure),
            **{system: float(evaluation.values[s, m, q]) for s, system in enumerate(evaluation.systems)},
        }
        for q, query in enumerate(evaluation.queries)
        for m, measure in enumerate(evaluation.measures)
    ]
    return Table(columns, tuple(rows), "Query by query", key="per_query")


def _columns(fixed: tuple[str, ...], names: Sequence[str], what: str) -> tuple[str, ...]:
    """Columns of which some are named by the user, without double names."""
    for name in names:
        if name in fixed:
            raise ArgumentError(f"a {what} cannot be called {name!r}, which is a column of the table; rename it")
        if names.count(name) > 1:
            raise ArgumentError(f"two {what}s are called {name!r}; give each {what} a different name")
    return (*fixed, *names)


_NOT_SHOWN = ("queries", "level")  # the same in every row: said in the title, and in the table of what can be shown


def comparisons(evaluation: Evaluation, level: float = 0.95, against: str | None = None) -> list[Table]:
    """Every pair of runs on every measure, or with one run, after a table of what can be shown."""
    found = [compare(evaluation, measure, level, against=against) for measure in evaluation.measures]
    columns = [field.name for field in fields(Comparison) if field.name not in _NOT_SHOWN]
    note = (
        "low, high, p: of the pair alone; p_max, low_all, high_all: of all pairs of the measure together, as the "
        "sentences have it"
    )
    pairs = [each for of_measure in found for each in of_measure]
    reached = [reach(of_measure) for of_measure in found]
    return [
        _with_sentences(reached, [field.name for field in fields(Reach)], "What can be shown", key="reach"),
        _with_sentences(pairs, columns, "Pairs of runs", note=note, key="comparisons", headings=RUNS),
    ]


def _with_sentences(found: Sequence[Comparison | Reach], columns: Sequence[str], title: str, **about: Any) -> Table:
    """A row for each, with its sentence last."""
    named = (*columns, "sentence")
    rows = [[getattr(each, name) for name in named] for each in found]
    return Table.of(named, rows, title, words="sentence", **about)


def tie_ranges(evaluation: Evaluation) -> Table:
    """The best and worst mean over all orders of tied scores. Measures without these bounds are omitted."""
    able = [k for k, measure in enumerate(evaluation.measures) if measure.monotone]
    unable = [repr(measure) for measure in evaluation.measures if not measure.monotone]
    left_out = f"the best and worst order of ties is not known for {', '.join(unable)}"
    if not able:
        raise ArgumentError(left_out)
    kept = replace(evaluation, measures=tuple(evaluation.measures[k] for k in able), values=evaluation.values[:, able])
    columns = ("system", "measure", "worst", "value", "best")
    rows = [{name: getattr(each, name) for name in columns} for each in tie_sensitivity(kept)]
    note = f"{left_out}: left out" if unable else ""
    return Table(columns, tuple(rows), "What another order of tied scores could give", note, key="ties", headings=RUNS)


def tie_breaks(evaluation: Evaluation) -> Table:
    """Tie-breaks between runs with equal ADR: inversions, and the rule of Typke et al. (2006), section 4."""
    rows = []
    for query in evaluation.queries:
        groups, itself = evaluation.truth[query], evaluation.taken_out(query)
        for run in evaluation.runs if groups else ():
            ranking = run.ranking(query)
            keys = [of(groups, ranking, query=itself) for of in (average_dynamic_recall, inversions, adr_tie_break)]
            rows.append((query, run.name, *keys))
    columns = ("query", "system", "ADR", "inversions", "published")
    note = "of two lists with equal ADR, fewer inversions are better; the published rule prefers the smaller value"
    return Table.of(columns, rows, "Breaking ties of ADR", note=note, key="tie_break", headings=RUNS)


def steps_of(evaluation: Evaluation, query: str) -> list[Table]:
    """The calculation of ADR row by row, for every run (Typke et al. 2007, Table 3)."""
    if query not in evaluation.truth:
        raise UnknownNameError("query", query, evaluation.queries)
    if not evaluation.truth[query]:
        raise ArgumentError(f"query {query!r} has no relevant document, so there is no ADR to calculate")
    return [_steps(evaluation, run, query) for run in evaluation.runs]


def _steps(evaluation: Evaluation, run: Run, query: str) -> Table:
    groups = evaluation.truth[query]
    values = run.values(query)
    shows_value = values is not None and run.kind != "rank"
    rows = []
    for step in steps(groups, run.ranking(query), query=evaluation.taken_out(query), scores=values):
        value = (step.score,) if shows_value else ()
        note = _note(step, sum(map(len, groups)))
        rows.append((step.rank, *value, step.document, step.group, step.found, step.recall, step.adr, note))
    kind = (str(run.kind),) if shows_value else ()
    columns = ("rank", *kind, "document", "group", "found", "recall", "ADR", "note")
    title = f"{run.name}: average dynamic recall of {query}"
    return Table.of(columns, rows, title, key=f"steps of {run.name}", marks="group")


def _note(step: RecallStep, size: int) -> str:
    said = ["the list has ended"] if step.document is None else []
    if step.rank == size:
        said.append(f"the truth ends here (n = {size}): the ADR of the query")
    return "; ".join(said)


def groupings(evaluations: Sequence[Evaluation]) -> Table:
    """Runs under several truths (Urbano et al. 2010, Table 4): means of one measure, and Kendall's tau."""
    measure, systems = evaluations[0].measures[0], evaluations[0].systems
    names = _truth_names(evaluations)
    columns = _columns(("system",), names, "truth")
    by_truth = [dict(zip(systems, each.means[:, 0].tolist(), strict=True)) for each in evaluations]
    rows: list[dict[str, Any]] = [
        {"system": system, **{name: means[system] for name, means in zip(names, by_truth, strict=True)}}
        for system in systems
    ]
    if len(systems) > 1:
        tau = {name: _tau(by_truth[0], means) for name, means in zip(names, by_truth, strict=True)}
        rows.append({"system": "Kendall's tau", **tau})
    title = f"{measure!r} under {len(names)} groupings, and Kendall's tau to {names[0]}"
    return Table(columns, tuple(rows), title, key="groupings", headings=RUNS)


def _tau(means: Mapping[str, float], others: Mapping[str, float]) -> float:
    """NaN where a truth has no query that counts."""
    is_known = not any(map(math.isnan, [*means.values(), *others.values()]))
    return kendall_tau(means, others) if is_known else math.nan


def _truth_names(evaluations: Sequence[Evaluation]) -> list[str]:
    return [each.truth.name or f"truth {k}" for k, each in enumerate(evaluations, start=1)]


def remarks(evaluations: Sequence[Evaluation], what: str = "run") -> list[str]:
    """Remarks on the input, one sentence each. A remark for some truths only names them. `what`: the word for a run."""
    truths_of: dict[str, list[str]] = {}
    for name, evaluation in zip(_truth_names(evaluations), evaluations, strict=True):
        for sentence in _remarks(evaluation, what):
            truths_of.setdefault(sentence, []).append(name)
    notes = [note for evaluation in evaluations for note in evaluation.truth.notes]
    notes += [said for run in evaluations[0].runs for said in run.remarks]
    return notes + [
        sentence if len(truths) == len(evaluations) else f"{', '.join(truths)}: {sentence}"
        for sentence, truths in truths_of.items()
    ]


def _remarks(evaluation: Evaluation, what: str) -> list[str]:
    said = []
    silent = [repr(measure) for measure in evaluation.measures if measure.rewards_silence]
    for system, queries in evaluation.missing.items():
        best = f", for which {' and '.join(silent)} have their best value" if silent else ""
        said.append(f"{system} lacks {_list(queries)} of the truth: counted as an empty list{best}")
    for system, queries in evaluation.unknown.items():
        said.append(f"{system} has {_list(queries)} that the truth does not know: ignored")
    for run in evaluation.runs:
        found = any(
            id in group for query, ids in run.lists.items() for group in evaluation.truth.get(query, ()) for id in ids
        )
        if not found and len(evaluation.empty) < len(evaluation.queries):
            said.append(f"{run.name} finds no document of the truth: are the ids the same?")
    if evaluation.empty:
        said.append(f"{_list(evaluation.empty)} without a relevant document: left out of the means")
    for system, queries in evaluation.same_ids.items():
        rule = _SAME_ID[evaluation.same_id]
        said.append(f"{system} has a document with the id of its query in {_list(queries, 'list', 'lists')}: {rule}")
    if evaluation.judges is not None:
        said.append(evaluation.judges.note)
    return said + tie_remarks(evaluation, what)


def _list(queries: Sequence[str], one: str = "query", many: str = "queries") -> str:
    left = len(queries) - _MOST_NAMED
    plural = one if len(queries) == 1 else f"{len(queries)} {many}"
    return f"{plural} ({', '.join(map(shortened, queries[:_MOST_NAMED]))}{f' and {left} more' if left > 0 else ''})"


# -- correlation -------------------------------------------------------------------------------------------------------
#
# Both functions take two mappings {system: value}, larger values being better.


def kendall_tau(values: Mapping[str, float], others: Mapping[str, float], *, variant: str = "b") -> float:
    """(concordant - discordant pairs) / pairs; `b` corrects for ties on either side, `a` does not. NaN where undefined.

    >>> kendall_tau({"A": 0.3, "B": 0.2, "C": 0.1}, {"A": 0.3, "B": 0.1, "C": 0.2})
    0.3333333333333333
    """
    if variant not in ("a", "b"):
        raise ArgumentError(f"variant must be 'a' or 'b'; got {variant!r}")
    x, y = _aligned(values, others)
    upper = np.triu_indices(len(x), 1)
    dx, dy = np.sign(x[:, None] - x)[upper], np.sign(y[:, None] - y)[upper]
    agreement = float((dx * dy).sum())
    pairs = float(len(dx))
    scale = pairs if variant == "a" else float(np.sqrt(np.count_nonzero(dx) * np.count_nonzero(dy)))
    return agreement / scale if scale else float("nan")


def tau_ap(truth: Mapping[str, float], others: Mapping[str, float]) -> float:
    """tau-AP (Yilmaz, Aslam and Robertson 2008): as tau, but a swap among the best of `others` weighs more.

    Not symmetric: `truth` is the reference. Ties are refused, since its definition has none.

    >>> tau_ap({"A": 0.3, "B": 0.2, "C": 0.1}, {"A": 0.3, "B": 0.1, "C": 0.2})
    0.5
    """
    x, y = _aligned(truth, others)
    if len(set(x.tolist())) < len(x) or len(set(y.tolist())) < len(y):
        raise ArgumentError("tau-AP is not defined for runs with equal values")
    if len(x) < 2:
        return float("nan")
    in_order = x[np.argsort(-y)]
    above_right = [np.count_nonzero(in_order[:place] > in_order[place]) / place for place in range(1, len(in_order))]
    return 2.0 * float(np.mean(above_right)) - 1.0


def _aligned(values: Mapping[str, float], others: Mapping[str, float]) -> tuple[Floats, Floats]:
    if set(values) != set(others):
        only = sorted(set(values) ^ set(others))
        raise ArgumentError(f"both sides must have the same runs; only one has {', '.join(only)}")
    x = np.array([values[name] for name in values], dtype=np.float64)
    y = np.array([others[name] for name in values], dtype=np.float64)
    if np.isnan(x).any() or np.isnan(y).any():
        raise ArgumentError("a value is NaN; expected a number for every run")
    return x, y


# -- ties --------------------------------------------------------------------------------------------------------------
#
# For a `monotone` measure, a tie is best with the more similar documents first, and worst with them last. Later copies
# of a document fill ranks as unjudged documents do.


_MATTERS = 0.01  # difference between the best and the worst order from which ties are worth a remark
_MOST_NAMED = 5
_RULES = {
    "expected": "means over all orders of tied scores",
    "given": "for tied scores in the order of the run",
    "trec": "for tied scores in the order of trec_eval",
}


@dataclass(frozen=True, slots=True)
class TieRange:
    """The range of the mean of a metric over all orders of tied scores."""

    system: str
    measure: str
    value: float
    worst: float
    best: float


def tie_sensitivity(evaluation: Evaluation) -> list[TieRange]:
    """The best and the worst mean that any order of tied scores could give, for every run and measure.

    Exact for metrics that are `monotone`. Others are refused, because every order would have to be tried.
    """
    for each in evaluation.measures:
        if not each.monotone:
            raise ArgumentError(f"the best and worst order of ties is not known for {each!r}")
    truth = judge(evaluation.truth, evaluation.same_id)
    found = []
    for number, run in enumerate(evaluation.runs):
        hits = hits_of_run(truth, run, expected=True)
        ends = []
        for is_best in (False, True):
            values = values_of(in_extreme_order(hits, best=is_best), evaluation.measures)
            ends.append(replace(evaluation, runs=(run,), values=values[None]).means[0].tolist())
        names = map(repr, evaluation.measures)
        for name, value, worst, best in zip(names, evaluation.means[number].tolist(), *ends, strict=True):
            found.append(TieRange(run.name, name, value, worst, best))
    return found


def tie_remarks(evaluation: Evaluation, what: str) -> list[str]:
    """Which runs owe a hundredth or more of the first measure to the order of ties, and what is only sampled."""
    said = []
    if evaluation.sampled:
        names = ", ".join(map(repr, evaluation.sampled))
        said.append(
            f"{names} has no formula for tied scores: its values are means over {DRAWN_ORDERS} orders drawn from a "
            "fixed state"
        )
    first = next((k for k, each in enumerate(evaluation.measures) if each.monotone), None)
    tied = {run.name: _tied(evaluation, run) for run in evaluation.runs}
    if first is None or not any(tied.values()):
        return said
    alone = replace(evaluation, measures=evaluation.measures[first : first + 1], values=evaluation.values[:, [first]])
    ranges = sorted(tie_sensitivity(alone), key=lambda each: -abs(each.best - each.worst))
    matters = [each for each in ranges if abs(each.best - each.worst) >= _MATTERS]
    if matters:
        named = "; ".join(
            f"{each.system} {each.value:.3f}, worst {each.worst:.3f}, best {each.best:.3f} "
            f"({100 * tied[each.system]:.0f}% tied)"
            for each in matters[:_MOST_NAMED]
        )
        more = f"; and {len(matters) - _MOST_NAMED} more" if len(matters) > _MOST_NAMED else ""
        of = f"{len(matters)} of {len(evaluation.runs)} {what}s" if len(evaluation.runs) > 1 else matters[0].system
        said.append(
            f"ties matter for the {matters[0].measure} of {of}, values are {_RULES[evaluation.ties]}: {named}{more}"
        )
    return said


def _tied(evaluation: Evaluation, run: Run) -> float:
    """The share of the documents in the lists that have their score in common with another of their list."""
    lists = [run.rankings[query] for query in evaluation.queries if query in run]
    return sum(each.tied for each in lists) / max(sum(len(each.ids) for each in lists), 1)


# -- disagreement ------------------------------------------------------------------------------------------------------
#
# Documents that some runs rank high and others low or not at all. Ranks are compared by their logarithm: from 1 to 2 is
# as far as from 50 to 100. `spread` is the standard deviation of log2(rank) over the runs, so it is in doublings, and
# largest where half of the runs find what the others miss. A document that a list lacks counts as the rank after the
# longest list of the query.


_FIRST = 10  # documents below this rank in every list that are not relevant are left out


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One document of one query: its rank in each list (None: not in it), and how far these lie apart.

    `group` is the number of its group in the truth, or None.
    """

    query: str
    document: str
    group: int | None
    ranks: Mapping[str, int | None]
    spread: float


def rank_spread(ranks: Iterable[int | None], missing: int) -> float:
    """The spread of the ranks of one document, in doublings. `missing` is its rank in a list that lacks it.

    >>> rank_spread([1, 4], missing=9), rank_spread([8, None, 8], missing=8)
    (1.0, 0.0)
    """
    return float(np.std(np.log2([missing if rank is None else rank for rank in ranks])))


def disagreements(evaluation: Evaluation) -> list[Disagreement]:
    """Every document that is relevant or among the first ten of a list, the largest spread first.

    Of the same spread, documents of the truth come before others: there it is known who is right.
    """
    found = []
    for query in evaluation.queries:
        places = [
            {id: rank for rank, id in reversed(list(enumerate(run.ranking(query), start=1)))} for run in evaluation.runs
        ]
        groups = {id: number for number, group in enumerate(evaluation.truth[query], start=1) for id in group}
        documents = {id for place in places for id, rank in place.items() if rank <= _FIRST} | groups.keys()
        missing = 1 + max((len(place) for place in places), default=0)
        for document in sorted(documents - {query} if query not in groups else documents):
            ranks = [place.get(document) for place in places]
            by_system = dict(zip(evaluation.systems, ranks, strict=True))
            spread = rank_spread(ranks, missing)
            found.append(Disagreement(query, document, groups.get(document), by_system, spread))
    return sorted(found, key=lambda each: (-round(each.spread, 9), each.group is None, each.query, each.document))


# -- judged@k ----------------------------------------------------------------------------------------------------------
#
# The share of the first k documents of a list that the truth has judged: those in its groups, and those that it names
# as not relevant. If it is low, new documents that a matcher finds count against it.


def judged_at(judged: Collection[str], ranking: Collection[str], k: int) -> float:
    """The share of the first k documents that are judged, or of all if the list is shorter.

    >>> judged_at({"a", "b"}, ["a", "x", "b", "y"], 3) * 3
    2.0
    """
    if k < 1:
        raise ArgumentError(f"k must be 1 or more; got {k}")
    first = list(ranking)[:k]
    return sum(id in judged for id in first) / len(first) if first else 0.0


def judged_table(evaluation: Evaluation, k: int) -> Table:
    """The mean of each run over queries, and the query for which it is least."""
    truth = evaluation.truth
    known = {query: truth.judged(query) for query in evaluation.queries}
    name = f"judged@{k}"
    rows = []
    for run in evaluation.runs:
        shares = {query: judged_at(known[query], run.ranking(query), k) for query in evaluation.queries}
        worst = min(shares, key=lambda query: shares[query])
        rows.append({"system": run.name, name: fmean(shares.values()), "least": shares[worst], "query": worst})
    silent = sum(truth.nonrelevant(query) is None for query in evaluation.queries)
    asked = counted(silent, "query", "queries")
    note = f"for {asked} the truth does not say what was judged and found not relevant: only its groups count as judged"
    title = f"How much of the first {k} was judged"
    return Table(
        ("system", name, "least", "query"), tuple(rows), title, note if silent else "", key="judged", headings=RUNS
    )

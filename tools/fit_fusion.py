r"""The members of `fusion.SEVEN`, and how their fusion does on music that had no part in choosing them.

    roslin collection build ../shared/data/rism/incipits.jsonl.gz rism.roslin
    .venv/bin/python tools/music21_campaign.py music21
    .venv/bin/python tools/rism_systems.py rism.roslin rism-campaign
    roslin campaign music21/tunes.roslin --truth music21/titles.qrel -k 50 -o music21/titles
    .venv/bin/python tools/fit_fusion.py rism.roslin music21 \
      --rism-runs rism-campaign/runs --tune-runs music21/titles/runs

Three lists, each counting the same: RISM's strict and hard lists of the same work in different sources, and tunes of
the same title in different books, half of the titles, asked as they are and once more in notes twice as long. Every set
of NUMBER members out of CANDIDATES is tried, all with the same weight. Two checks:

- Five folds over composers and titles. Each query is scored by members that were chosen without its composer or title.
- The other half of the titles, by the members in use.

With --rism-runs and --tune-runs, the folders of runs of the two campaigns, it is compared with every system there:
mean average precision, 95 % interval, difference, p-value of a paired permutation test with Holm's correction.

RISM's lists leave out copies: of 196 queries whose first result is not in the strict one, 165 had a copy of the same
work there. So members are chosen without melodies that have the intervals of the query and that nobody judged, and
everything on RISM is counted twice: without them, and as it stands.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
from rich.progress import Progress

from music21_campaign import title_key
from real_data import DATA
from roslin import Collection, Melody
from roslin.campaign.fitting import (
    QueryScores,
    average_precisions,
    choose_members,
    evenly,
    fitted_folds,
    judged_by,
    left_out,
    member_scores,
)
from roslin.evaluate import bootstrap_intervals, effect_size, holm, permutation_test
from roslin.matchers.fusion import SEVEN
from roslin.represent.line import melodic_line
from roslin.run import Run, read_run
from roslin.truth import Truth
from roslin.truth.qrel import read_truth
from roslin.types import Floats

LISTS = ("strict", "hard")
NUMBER = 7
# Every kind of system that finds much, in the form that finds most alone; those that depend on tempo in a form that
# does not, too. Left out are those that take longest: emd, twv, mongeau_sankoff, p3 in several tempos.
CANDIDATES = (
    "alignment(metric=False, rhythm=0.75, divide='mean')",
    "alignment(metric=False, rhythm=0.75, tempo='histogram', divide='mean')",
    "dp",
    "fm",
    "lcts",
    "orio",
    "p2(tempos=(0.5, 1.0, 2.0))",
    "p3",
    "shapeh(aligner='global', divide='longer')",
    "time(aligner='global', divide='longer')",
)


@dataclass(frozen=True)
class Check:
    """Average precisions of ours, by query, and what is needed to compute those of another system."""

    name: str
    how: str
    ours: Mapping[str, float]
    truth: Truth
    copies: Mapping[str, Sequence[str]]

    def of_run(self, run: Run) -> Floats:
        """The average precision of each query in a run, without copies; ties count against it, as in ours."""
        values = []
        for query in self.ours:
            relevant = {id for group in self.truth[query] for id in group}
            unwanted = set(self.copies.get(query, ()))
            scored = zip(run.ranking(query), run.values(query) or (), strict=True)
            found = [(id, score) for id, score in scored if id not in unwanted]
            is_relevant = np.array([id in relevant for id, _ in found], dtype=bool)
            if not is_relevant.any():
                values.append(0.0)
                continue
            scores = np.array([[score for _, score in found]], dtype=np.float32)
            listed = QueryScores(query, tuple(id for id, _ in found), scores, is_relevant)
            values.append(average_precisions([listed], [1.0])[0] * is_relevant.sum() / len(relevant))
        return np.array(values)


def main() -> int:
    """Print what is chosen, and comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("tunes", type=Path, help="the folder that tools/music21_campaign.py made")
    parser.add_argument("--rism-runs", type=Path)
    parser.add_argument("--tune-runs", type=Path)
    parser.add_argument("--data", type=Path, default=DATA / "rism")
    options = parser.parse_args()
    truths = {name: read_truth(options.data / f"same_work_{name}_dev.qrel") for name in LISTS}
    titles = read_truth(options.tunes / "titles.qrel")
    with Collection(options.collection) as collection:
        either = _either(truths.values())
        group = {query: collection[query].composer or query for query in either if query in collection}
        copies = _copies(collection, either)
        incipits = _scores(collection, either, "RISM")
    with Collection(options.tunes / "tunes.roslin") as collection:
        title = {query: title_key(collection[query].title or query) for query in titles}
        tunes = _scores(collection, titles, "tunes")
        slower = _scores(collection, titles, "tunes in doubled values", doubled)
    for query, key in title.items():
        group[query] = f"title: {key}"
    halves = [[each for each in tunes if _half(title[each.query]) == half] for half in (0, 1)]
    slower_halves = [[each for each in slower if _half(title[each.query]) == half] for half in (0, 1)]
    whole = {name: judged_by(incipits, truth) for name, truth in truths.items()}
    lists = {
        **{name: left_out(scores, copies) for name, scores in whole.items()},
        "titles": halves[0] + slower_halves[0],
    }
    choose = partial(choose_members, number=NUMBER)
    together = evenly(lists.values())

    print("chosen on everything: " + _named(choose(together)))
    folds = fitted_folds(together, group, fit=choose)
    for number, (_, weights) in enumerate(folds, start=1):
        print(f"without fold {number}: {_named(weights)}")
    checks = []
    for name in LISTS:
        ours = _on_folds(lists[name], together, folds)
        checks.append(Check(f"{name}, without copies that nobody judged", "left out", ours, truths[name], copies))
        ours = _on_folds(whole[name], together, folds)
        checks.append(Check(f"{name}, as it stands", "left out", ours, truths[name], {}))
    _report(checks, options.rism_runs)
    in_use = [float(name in SEVEN) for name in CANDIDATES]
    first = Check("titles, first half", "left out", _on_folds(halves[0], together, folds), titles, {})
    second = Check("titles, second half", "as it is", _by_weights(halves[1], in_use), titles, {})
    _report([first, second], options.tune_runs)
    for number, scores in enumerate(slower_halves, start=1):
        mean = np.mean(list(_by_weights(scores, in_use).values()))
        print(f"\nhalf {number} of the titles in doubled values, as it is: MAP {mean:.3f}")
    return 0


def _either(truths: Iterable[Truth]) -> Truth:
    """What any of the truths calls relevant, as one truth."""
    found: dict[str, set[str]] = defaultdict(set)
    for truth in truths:
        for query in truth:
            found[query].update(id for group in truth[query] for id in group)
    return Truth({query: [sorted(ids)] for query, ids in found.items()})


def _copies(collection: Collection, judged: Truth) -> dict[str, list[str]]:
    """For each query, what has its intervals and is not judged."""
    alike = defaultdict(list)
    intervals = {}
    for id in collection.ids():
        intervals[id] = np.diff(melodic_line(collection[id])["pitch_midi"].astype(np.int64)).tobytes()
        alike[intervals[id]].append(id)
    known = {query: {id for group in judged[query] for id in group} for query in judged}
    return {query: [id for id in alike[intervals[query]] if id not in known[query]] for query in known}


def _half(title: str) -> int:
    """0 or 1, the same for a title everywhere."""
    return sha256(title.encode()).digest()[0] % 2


def doubled(melody: Melody) -> Melody:
    """The same in notes twice as long, and bars too; a metre of quarters becomes one of halves."""
    notes = melody.notes.copy()
    notes["onset_ticks"] *= 2
    notes["duration_ticks"] *= 2
    beats, _, unit = (melody.metre or "").partition("/")
    metre = f"{beats}/{int(unit) // 2}" if unit.isdigit() and int(unit) > 1 else None
    return replace(melody, notes=notes, metre=metre, changes=(), barlines_ticks=2 * melody.barlines_ticks)


def _scores(
    collection: Collection, truth: Truth, name: str, altered: Callable[[Melody], Melody] | None = None
) -> list[QueryScores]:
    with Progress(transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        return member_scores(collection, CANDIDATES, truth, lambda share, _: bar.update(task, completed=share), altered)


def _named(weights: Sequence[float]) -> str:
    return ", ".join(f"{weight:g} {name}" for name, weight in zip(CANDIDATES, weights, strict=True) if weight)


def _by_weights(scores: Sequence[QueryScores], weights: Sequence[float]) -> dict[str, float]:
    """The average precision of each query."""
    values = average_precisions(scores, weights).tolist()
    return dict(zip([each.query for each in scores], values, strict=True))


def _on_folds(
    scores: Sequence[QueryScores], fitted: Sequence[QueryScores], folds: Sequence[tuple[list[int], Sequence[float]]]
) -> dict[str, float]:
    """The average precision of each query, by the weights of the fold that it was left out in."""
    weights_of = {fitted[place].query: weights for inside, weights in folds for place in inside}
    return {each.query: float(average_precisions([each], weights_of[each.query])[0]) for each in scores}


def _report(checks: Sequence[Check], runs: Path | None) -> None:
    """Print each check, with every system that has a run in the folder."""
    single: list[dict[str, Floats]] = [{} for _ in checks]
    for path in sorted(runs.glob("*.run")) if runs else ():
        if path.stem.startswith("fuse"):
            continue
        run = read_run(path)  # once for all checks: reading takes longer than judging
        for check, values in zip(checks, single, strict=True):
            values[path.stem] = check.of_run(run)
    for check, others in zip(checks, single, strict=True):
        ours = np.array(list(check.ours.values()))
        low, high = bootstrap_intervals(ours)
        print(
            f"\n{check.name}, {len(ours)} queries\n"
            f"  MAP {ours.mean():.3f} ({low:.3f}-{high:.3f})  the seven, {check.how}"
        )
        p_values = holm([permutation_test(ours, other) for other in others.values()]) if others else ()
        rows = sorted(zip(others.items(), p_values, strict=True), key=lambda row: -row[0][1].mean())
        for (name, other), p in rows:
            low, high = bootstrap_intervals(other)
            print(
                f"  MAP {other.mean():.3f} ({low:.3f}-{high:.3f})  {ours.mean() - other.mean():+.3f}  p = {p:.4f}"
                f"  d = {effect_size(ours, other):.2f}  {name}"
            )


if __name__ == "__main__":
    sys.exit(main())

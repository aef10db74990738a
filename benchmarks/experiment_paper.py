"""The study of paper 002, section 3, once more: simulated experts at a real server, and the paper's figures beside it.

    .venv/bin/python benchmarks/experiment_paper.py [--experts 35]     about five minutes

Eleven queries of the starter collection, each with 50 candidates and itself among them, 30 opinions wanted of each,
11 queries an expert; some stop before they have done all. What is true of a query has the shape of the paper's results:
the five groups of "Roslin Castle" (Table 1), for the others the groups of the MIREX 2005 lists, where the real data are
there, and the same five groups otherwise. The real incipits and the experts' ranks are not published, so nothing here
is a repetition with the same material: it shows that the study runs, and what its numbers look like.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.experiment.rehearsing import fifty_study, opened

from real_data import DATA
from roslin.display.table import Table
from roslin.experiment.export import export_study
from roslin.experiment.results import trial_records
from roslin.experiment.visits import Habits, Population, visits_table
from roslin.truth import group_rankings, read_rankings, read_truth
from roslin.truth.rankings import QueryRankings
from roslin.web.experiment.rehearsal import rehearse, serving
from roslin.web.experiment.settings import ExperimentSettings

ROSLIN_CASTLE = (1, 2, 1, 1, 10)  # the groups of Table 1, as far as it is printed
QUERIES, CANDIDATES, QUOTA, SEED = 11, 49, 30, 2005
NOISE = 0.15  # the share of its chance that a candidate keeps from one group to the next


def shapes() -> list[tuple[int, ...]]:
    """The sizes of the groups of each query."""
    published = DATA / "mirex2005" / "All-2.qrel"
    if not published.is_file():
        return [ROSLIN_CASTLE] * QUERIES
    lists = [tuple(map(len, groups)) for groups in read_truth(published).values()]
    return [ROSLIN_CASTLE, *lists][:QUERIES]


def p_value(said: QueryRankings, first: str, second: str) -> float:
    """Of the Wilcoxon rank sum test for the ranks of two candidates, two-tailed."""
    from scipy.stats import mannwhitneyu

    one, two = (said.ranks[:, said.documents.index(id)] for id in (first, second))
    one, two = one[~np.isnan(one)], two[~np.isnan(two)]
    return float(mannwhitneyu(one, two, method="asymptotic").pvalue) if len(one) and len(two) else float("nan")


def main() -> None:
    """Run the study and print its figures beside the paper's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experts", type=int, default=35)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rules = {"quota": QUOTA, "query_among_candidates": True}
        study, truth = fifty_study(Path(name), shapes(), CANDIDATES, **rules)
        with study:
            folder, tasks = study.path, study.plan.tasks
        habits = Habits(careless=0.05, quit=0.2, double=0.05, tabs=0.05, offline=0.1)
        with serving(folder, Path(name) / "server.log") as (address, _):
            visits, found, seconds = rehearse(
                ExperimentSettings(str(folder)),
                address,
                options.experts,
                lambda opened_study: Population(opened_study.plan, truth, "plackett-luce", NOISE, SEED),
                habits,
                seed=SEED,
            )
        with opened(folder, "") as opened_study:
            export_study(opened_study.store, Path(name) / "export")
            records = list(trial_records(opened_study.store.histories()))
        said = read_rankings(Path(name) / "export" / "rankings.csv")
    print(visits_table(visits, found, seconds))
    print()
    opinions = [len(each.experts) for each in said.values()]
    decisions = [sum(event.kind in ("sorted", "placed") for event in record.own) for record in records]
    ranked = [len(record.state.placed) for record in records]
    attention = Counter(record.attention for record in records)
    castle = said["roslin-castle"]
    groups = group_rankings(said)["roslin-castle"]
    order = [id for group in groups for id in group if id != "roslin-castle"]
    sizes = [len([id for id in group if id != "roslin-castle"]) for group in groups]
    worst = max(
        p_value(each, query, other)
        for query, each in said.items()
        for other in each.documents
        if other != query and np.count_nonzero(~np.isnan(each.ranks[:, each.documents.index(other)])) >= QUOTA // 2
    )
    medians = [float(np.nanmedian(castle.ranks[:, castle.documents.index(id)])) - 1 for id in order[:6]]
    rows = [
        ("experts", "37", len(visits)),
        ("queries", "11", len(tasks)),
        ("candidates of a query", "about 50", len(tasks[0].ids)),
        ("opinions of a query", "30", f"{min(opinions)} to {max(opinions)}"),
        ("queries that an expert finished", "up to 11", f"{statistics.mean(visit.trials for visit in visits):.1f}"),
        ("the query itself put first", "not by everybody", f"{attention[True]} of {attention.total()} trials"),
        ("its largest p against another candidate", "0.0001123", f"{worst:.2g}"),
        ("groups of Roslin Castle", "5", len([size for size in sizes if size])),
        ("their sizes", "1, 2, 1, 1, the rest", ", ".join(str(size) for size in sizes if size)),
        ("median ranks", "1, 2, 3, 4, 5, 6.5", ", ".join(f"{median:g}" for median in medians)),
        ("p, second against first", "0.00006722", f"{p_value(castle, order[0], order[1]):.2g}"),
        ("p, third against first", "0.0002765", f"{p_value(castle, order[0], order[2]):.2g}"),
        ("p, third against second", "0.6363", f"{p_value(castle, order[1], order[2]):.2g}"),
        ("largest p, fourth against those before", "0.07633",
         f"{max(p_value(castle, id, order[3]) for id in order[:3]):.2g}"),
        ("decisions in a trial", "", f"{statistics.median(decisions):g}"),
        ("candidates that an expert ranked", "", f"{statistics.median(ranked):g}"),
    ]  # fmt: skip
    print(
        Table(
            ("figure", "paper", "here"), tuple(dict(zip(("figure", "paper", "here"), row, strict=True)) for row in rows)
        )
    )


if __name__ == "__main__":
    main()

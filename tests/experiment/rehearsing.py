"""What rehearsals in tests share: a server with a study, and simulated experts who know the starter truth."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.experiment.bots import Bots, run_bots
from tests.experiment.studies import study_text
from tests.experiment.visits import Audit, Habits, Visit, audit
from tests.ports import free_port

from roslin import load
from roslin.experiment.bots import Population
from roslin.experiment.folder import StudyFolder, create_study
from roslin.starter import truth_path, tunes_path
from roslin.truth.model import Groups
from roslin.truth.qrel import read_truth
from roslin.web.experiment.rehearsal import key_of, serving
from roslin.web.experiment.study import ExperimentSettings, OpenStudy

SEED = 4


@contextmanager
def opened(folder: Path, database: str) -> Iterator[OpenStudy]:
    """A study, to look into its database."""
    study = OpenStudy(ExperimentSettings(str(folder), database))
    try:
        yield study
    finally:
        study.close()


def rehearsed(
    folder: Path, database: str, count: int, habits: Habits, model: str = "mallows", noise: float = 0.3
) -> tuple[list[Visit], Audit]:
    """Simulated participants under stress, who go through a study on a separate server."""
    truth = read_truth(truth_path())
    options = ("--database", database)
    log, port = folder.parent / "server.log", free_port()
    with serving(folder, log, *options, port=port) as (address, _), opened(folder, database) as study:
        population = Population(study.plan, truth, model, noise, SEED)
        links = [(expert.name, study.link(expert, address)) for expert in study.store.invite(count, source="bot")]
        visits = asyncio.run(run_bots(Bots(address, population, key_of(study), habits, SEED), links))
        return visits, audit(study.store, visits)


def fifty_study(
    folder: Path, shapes: Sequence[Sequence[int]], candidates: int = 50, **rules: Any
) -> tuple[StudyFolder, dict[str, Groups]]:
    """A study of the starter collection with as many candidates as the paper had, and what is true of each query.

    `shapes`: for each query the sizes of its groups. Its own variants come first, then tunes that are others.
    """
    known = read_truth(truth_path())
    tunes = [melody.id for melody in load(tunes_path()) if melody.id]
    first = [query for query in ("roslin-castle", "white-cockade") if query in known]
    queries = [*first, *(query for query in sorted(known) if query not in first)][: len(shapes)]
    truth, listed = {}, {}
    for query, shape in zip(queries, shapes, strict=True):
        near = [id for group in known[query] for id in group]
        start = tunes.index(query)
        others = [id for id in (*tunes[start:], *tunes[:start]) if id != query and id not in near]
        shown = [*near, *others][:candidates]
        ends = np.cumsum(shape)
        truth[query] = tuple(tuple(shown[end - size : end]) for end, size in zip(ends, shape, strict=True))
        listed[query] = shown
    folder.mkdir(parents=True, exist_ok=True)
    text = study_text(listed, {"queries_per_expert": len(queries)} | rules)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return create_study(folder / "study.toml").folder, truth

"""What rehearsals in tests share: a server with a study, and simulated experts who know the starter truth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roslin.experiment.opinions import Population
from roslin.experiment.visits import Audit, Habits, Visit
from roslin.starter import truth_path
from roslin.truth.qrel import read_truth
from roslin.web.experiment.rehearsal import rehearse, serving
from roslin.web.experiment.settings import ExperimentSettings
from roslin.web.experiment.study import OpenStudy

__all__ = ["SEED", "opened", "rehearsed"]

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
) -> tuple[list[Visit], Audit, float]:
    """Simulated experts who go through a study on a server of its own."""
    truth = read_truth(truth_path())
    with serving(folder, folder.parent / "server.log", "--database", database) as (address, _):
        return rehearse(
            ExperimentSettings(str(folder), database),
            address,
            count,
            lambda study: Population(study.plan, truth, model, noise, SEED),
            habits,
            seed=SEED,
        )

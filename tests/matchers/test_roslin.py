"""`roslin`: the sum of its members, and what it must find whatever is chosen as members later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, matcher
from roslin.evaluate import evaluate
from roslin.matchers import fuse
from roslin.matchers.roslin import MEMBERS
from roslin.starter import truth_path, tunes_path
from roslin.truth.qrel import read_truth


@pytest.fixture(scope="module")
def tunes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder: Path = tmp_path_factory.mktemp("tunes")
    with Collection.build([tunes_path()], folder / "tunes.roslin") as collection:
        yield collection


def longer(melody: Melody, factor: int) -> Melody:
    times = [melody.notes[name] * factor for name in ("onset_ticks", "duration_ticks")]
    notes = melody.notes.copy()
    notes["onset_ticks"], notes["duration_ticks"] = times
    return Melody(notes, id="longer")


def test_all_members_count_the_same(tunes: Collection) -> None:
    query, packed = tunes["la-folia"], tunes.packed()
    distances = matcher("roslin").distances(query, packed)
    assert distances.tolist() == fuse(*MEMBERS).distances(query, packed).tolist()
    assert len(set(MEMBERS)) == len(MEMBERS)
    assert tunes.ids()[int(np.argmin(distances))] == "la-folia"


@pytest.mark.parametrize("id", ["roslin-castle", "la-folia", "old-hundredth", "frere-jacques"])
def test_a_tune_in_doubled_values_is_found_first(tunes: Collection, id: str) -> None:
    (first, *_) = tunes.search(longer(tunes[id], 2), "roslin", 1)
    assert first.id.startswith(id)


def test_variants_of_the_starter_collection(tunes: Collection) -> None:
    """Measured: AP .993, ADR .919. The five members of the first version, which knew no tempo, had ADR .851."""
    truth = read_truth(truth_path())
    run = {query: tunes.search(tunes[query], "roslin", 50, exclude=[query]).ids for query in truth}
    precision, recall = evaluate(truth, {"roslin": run}, ["AP", "ADR"]).means[0]
    assert precision > 0.98
    assert recall > 0.90

"""`roslin concordances` is killed ten times, at random, and finishes with the same bytes as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.program import begun, roslin

from roslin import Collection, load
from roslin.melody import Melody
from roslin.starter import tunes_path

pytestmark = pytest.mark.kills

KILLS = 10
TURNS = 6  # variants of every tune, so that there are several pieces of each kind
MOST_SECONDS = 300


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kills") / "many.roslin"
    Collection.build(list(variants()), path).close()
    return path


def variants() -> list[Melody]:
    changes = np.random.default_rng(3)
    made = []
    for tune in load(tunes_path()):
        for turn in range(TURNS):
            notes = tune.notes.copy()
            is_changed = changes.random(len(notes)) < 0.05 * turn
            notes["pitch_midi"] += (is_changed * changes.integers(-3, 4, len(notes))).astype(notes["pitch_midi"].dtype)
            made.append(Melody(notes, id=f"{tune.id}-{turn}"))
    return made


def command(collection: Path, output: Path) -> list[object]:
    return ["concordances", "find", collection, "--fast", "--threads", 2, "-o", output, "--format", "tsv"]


def finished(work: Path) -> int:
    """Pieces of work and prepared files that are there."""
    return sum(path.suffix == ".bin" for path in work.iterdir()) if work.is_dir() else 0


def killed(collection: Path, output: Path, chosen: random.Random) -> bool:
    """Start, let it finish none to two more things, and a moment later kill it. Whether it was in the middle of it.

    On a busy computer it may have finished before: then everything begins anew.
    """
    work = output / "work"
    wanted = finished(work) + chosen.randrange(3)
    nowhere = Path(os.devnull)
    process = begun(*command(collection, output), out=nowhere, error=nowhere)
    until = time.monotonic() + MOST_SECONDS
    while process.is_alive() and not (work.is_dir() and finished(work) >= wanted):
        assert time.monotonic() < until, "nothing happens"
        time.sleep(0.002)
    time.sleep(chosen.uniform(0, 0.05))
    process.kill()
    process.join()
    is_hit = process.exitcode == -signal.SIGKILL and not (output / "about.json").exists()
    if not is_hit:
        shutil.rmtree(output)
    return is_hit


def kept(output: Path) -> list[bytes]:
    """What was found, in files whose names are new each time."""
    return [path.read_bytes() for path in sorted(output.glob("*-*.*"), key=lambda path: path.name[:5])]


@pytest.mark.skipif(sys.platform == "win32", reason="a process that is killed there keeps its files open for a while")
def test_killed_ten_times_it_finishes_with_the_same_bytes(collection: Path, tmp_path: Path) -> None:
    undisturbed = tmp_path / "undisturbed"
    expected = roslin(*command(collection, undisturbed))
    chosen, output = random.Random(17), tmp_path / "killed"
    hits, states = 0, set[int]()
    for _ in range(3 * KILLS):
        if hits < KILLS and killed(collection, output, chosen):
            hits += 1
            states.add(finished(output / "work"))
    assert hits == KILLS, "ten kills must come while something is unfinished"
    assert len(states) > 3, "kills must come at different moments"
    done = roslin(*command(collection, output))
    assert not (output / "work").exists()
    assert done.stdout == expected.stdout
    assert done.stdout.count("\n") > 5
    assert len(kept(output)) == 1
    assert kept(output) == kept(undisturbed)

"""A limit of time is kept, however long a melody is; what was compared by then is the answer, and says so."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from roslin import Collection, deadline, load, matcher
from roslin.cli import app
from roslin.collection import write
from roslin.deadline import Deadline
from roslin.errors import TimeLimitError
from roslin.melody import Melody
from roslin.run.reading import read_run

LONG = 100_000
HEALTHY_SECONDS = 20  # of CPU, of a search that may take 2
SHORT = 24
# Everything is near enough, so bounds leave nothing out.
UNBOUNDED = "twv(radius=20)"
MANY_TEMPOS = "emd(tempos=(0.5, 0.6666666666666666, 1.0, 1.5, 2.0))"


def walk(random: np.random.Generator, notes: int, id: str) -> Melody:
    pitches = 60 + np.clip(np.cumsum(random.integers(-3, 4, notes)), -20, 20)
    return Melody.from_notes(np.arange(notes), np.ones(notes), pitches, id=id)


@pytest.fixture(scope="module")
def long_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some short melodies and, last, one that takes minutes to compare."""
    random, path = np.random.default_rng(19), tmp_path_factory.mktemp("long") / "long.roslin"
    write.build([*(walk(random, 30, f"m{k}") for k in range(SHORT)), walk(random, LONG, "long")], path)
    return path


class _ProcessorTimer(threading.Timer):
    """A timer of seconds of this process on a processor."""

    def run(self) -> None:
        ends = time.process_time() + self.interval
        while time.process_time() < ends and not self.finished.wait(0.02):
            pass
        if not self.finished.is_set():
            self.function()


@pytest.fixture
def processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits count the time of this process on a processor: on a busy computer it gets as far as on an idle one."""
    monkeypatch.setattr(deadline, "threading", SimpleNamespace(Timer=_ProcessorTimer))
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=time.process_time))


@pytest.fixture(scope="module")
def query() -> Melody:
    return walk(np.random.default_rng(20), 60, "asked")


@pytest.mark.usefixtures("processor_time")
@pytest.mark.long
@pytest.mark.parametrize(("name", "threads"), [(MANY_TEMPOS, 1), (UNBOUNDED, 1), (UNBOUNDED, 2)])
def test_what_is_finished_is_returned_and_marked(long_path: Path, query: Melody, name: str, threads: int) -> None:
    query = query[:12] if name == UNBOUNDED else query
    with Collection(long_path) as collection:
        short = np.arange(SHORT)
        whole = collection.search(query, name, k=5, within=short, threads=threads)
        assert whole.is_complete
        began = time.process_time()
        run = collection.search(query, name, k=5, seconds=2, threads=threads)
        assert time.process_time() - began < HEALTHY_SECONDS
    assert not run.is_complete
    (said,) = run.remarks
    assert said.startswith("Stopped after 2 seconds: ")
    assert said.endswith(" of 25 melodies had been compared. Closer ones may be missing from the list.")
    assert set(run.ids) <= {f"m{k}" for k in range(SHORT)}
    assert run.ids
    assert not run.has_meaning


@pytest.mark.usefixtures("processor_time")
@pytest.mark.long
def test_a_list_of_what_was_compared_has_its_distances(long_path: Path, query: Melody) -> None:
    with Collection(long_path) as collection:
        whole = {
            hit.id: hit.distance for hit in collection.search(query, MANY_TEMPOS, k=SHORT, within=np.arange(SHORT))
        }
        run = collection.search(query, MANY_TEMPOS, k=SHORT, seconds=2)
    assert not run.is_complete
    assert {hit.id: hit.distance for hit in run} == {id: whole[id] for id in run.ids}


@pytest.mark.long
def test_nothing_compared_is_an_error(long_path: Path, query: Melody) -> None:
    with Collection(long_path) as collection:
        collection.search(query, MANY_TEMPOS, k=2, within=np.arange(SHORT))
        began = time.process_time()
        with pytest.raises(
            TimeLimitError, match=r"the search was stopped after 0\.5 seconds, 0% done; allow more time"
        ):
            collection.search(query, MANY_TEMPOS, k=1, within=np.array([SHORT]), seconds=0.5)
        assert time.process_time() - began < HEALTHY_SECONDS


@pytest.mark.usefixtures("processor_time")
@pytest.mark.parametrize("name", ["emd", "twv"])
def test_one_note_in_a_long_melody(long_path: Path, name: str) -> None:
    """Every note of it is a place for the query, and none of them is better than the first."""
    with Collection(long_path) as collection:
        assert collection.search(load("'4C")[0], name, k=1, within=np.array([0])).is_complete
        run = collection.search(load("'4C")[0], name, k=30, seconds=60, within=np.arange(SHORT))
        assert run.is_complete
        assert {hit.distance for hit in run} == {0.0}


@pytest.mark.long
@pytest.mark.parametrize("name", ["alignment", "alignment(metric=False)", "shapeh", "shapetime", "time"])
def test_an_alignment_of_two_long_melodies_stops_inside(name: str) -> None:
    """One look at the clock for each note: all notes of both take from ten seconds to hours."""
    long = walk(np.random.default_rng(21), LONG, "long")
    began = time.process_time()
    with Deadline(0.5), pytest.raises(TimeLimitError, match="the comparison took too long"):
        matcher(name).distances(long, [long])
    assert time.process_time() - began < HEALTHY_SECONDS


@pytest.mark.usefixtures("processor_time")
@pytest.mark.long
def test_beginnings_keep_the_limit_too(long_path: Path, query: Melody, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roslin.search.refine._LONGER", LONG)
    with Collection(long_path) as collection:
        run = collection.search(query, MANY_TEMPOS, k=5, place="start", seconds=4)
    assert not run.is_complete
    assert "melodies had been compared" in run.remarks[0]


@pytest.mark.usefixtures("processor_time")
@pytest.mark.long
def test_the_mark_is_written_and_read(long_path: Path, query: Melody, tmp_path: Path) -> None:
    with Collection(long_path) as collection:
        run = collection.search(query, MANY_TEMPOS, k=3, seconds=2)
    run.write(tmp_path / "run.json")
    again = read_run(tmp_path / "run.json")
    assert again == run
    assert again[:1].remarks == run.remarks


@pytest.mark.usefixtures("processor_time")
@pytest.mark.long
def test_the_command_says_so(long_path: Path, query: Melody, tmp_path: Path) -> None:
    (tmp_path / "query.jsonl").write_text(
        json.dumps({"id": "asked", "notes": [list(map(int, row)) for row in _rows(query)]})
    )
    words = [
        "search",
        str(long_path),
        "--file",
        str(tmp_path / "query.jsonl"),
        "--matcher",
        MANY_TEMPOS,
        "--seconds",
        "2",
    ]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, [*words, "--format", "json", "--html", str(page)])
    assert done.exit_code == 0, done.stderr
    assert "Stopped after 2 seconds: " in done.stderr
    assert all(row["unfinished"].startswith("Stopped after 2 seconds: ") for row in json.loads(done.stdout))
    assert "Stopped after 2 seconds: " in page.read_text("utf-8")


def _rows(melody: Melody) -> list[tuple[int, ...]]:
    return [tuple(note)[:6] for note in melody.notes.tolist()]

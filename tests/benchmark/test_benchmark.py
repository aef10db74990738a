"""The test bed: its queries, its tasks, what comes out, and what others add."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from roslin import load
from roslin.benchmark import TASKS, Benchmark, Sources, run_benchmark, tasks
from roslin.benchmark.queries import ABILITIES, SUNG, TYPED, Singer, cut, notes_of, sing
from roslin.benchmark.results import RESULTS, write_page
from roslin.benchmark.tasks import tunes_in
from roslin.cli import app
from roslin.errors import ArgumentError, FormatError, UnknownNameError
from roslin.starter import truth_path, tunes_path

TUNE = load("%G-2@2/4 '4CCGG/AA2G/4FFEE/DD2C")[0]
FEW = Sources(queries=2)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, Path]:
    folder = tmp_path_factory.mktemp("benchmark")
    return run_benchmark(folder, ["starter", "rism"], ["roslin", "dp"], FEW), folder


# -- queries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "pitches", "quarters"),
    [
        ("exactly", [60, 60, 67, 67], [1, 1, 1, 1]),
        ("in doubled values", [60, 60, 67, 67], [2, 2, 2, 2]),
        ("1.5 times as long", [60, 60, 67, 67], [1.5] * 4),
    ],
)
def test_typed(form: str, pitches: list[int], quarters: list[float]) -> None:
    changed = TYPED[form](cut(TUNE, 0, 4), np.random.default_rng(1))
    assert changed is not None
    assert notes_of(changed) == (pitches, quarters)


def test_a_wrong_note_and_a_note_missing() -> None:
    pitches, quarters = notes_of(cut(TUNE, 0, 14))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one, two, less = (
            TYPED[form](cut(TUNE, 0, 14), rng)
            for form in ("with a wrong note", "with two wrong notes", "with a note missing")
        )
        assert one is not None
        assert two is not None
        assert less is not None
        assert [sum(a != b for a, b in zip(notes_of(each)[0], pitches, strict=True)) for each in (one, two)] == [1, 2]
        assert len(less) == 13
        assert sum(notes_of(less)[1]) == sum(quarters)


def test_in_minor_lowers_third_sixth_and_seventh() -> None:
    scale = load("%G-2@4/4 '4CDEF/GAB''C")[0].with_metadata(key="C major")
    changed = TYPED["in minor"](scale, np.random.default_rng(1))
    assert changed is not None
    assert notes_of(changed)[0] == [60, 62, 63, 65, 67, 68, 70, 72]
    assert TYPED["in minor"](scale.with_metadata(key="A minor"), np.random.default_rng(1)) is None


def test_a_perfect_singer_sings_what_is_written() -> None:
    perfect = Singer(note_error=0, tempo_wander=0, onset_error=0)
    sung = sing(perfect, np.array([1.0, 1, 2]), np.array([60.0, 64, 60]), np.random.default_rng(1))
    between = np.diff([*sung.onsets, sung.offsets[-1]])
    assert between / between[0] == pytest.approx([1, 1, 2])
    assert np.diff(sung.pitches) == pytest.approx([4, -4])


@pytest.mark.parametrize(("ability", "slip"), [("high", 26), ("middle", 49), ("low", 68)])
def test_singers_are_as_inaccurate_as_counted(ability: str, slip: float) -> None:
    """The median of the deviation of Laplace is ln 2 times its scale; 3% of notes are inserted, and 4% left out."""
    rng, count = np.random.default_rng(5), 4000
    steps = np.array([60.0, 62] * (count // 2))
    singer = ABILITIES[ability]
    sung = sing(replace(singer, inserted=0, deleted=0, key_change=0), np.ones(count), steps, rng)
    errors = 100 * (sung.pitches - steps)
    assert np.median(np.abs(errors - np.median(errors))) == pytest.approx(np.log(2) * slip, rel=0.08)
    again = sing(singer, np.ones(count), steps, rng)
    assert len(again.pitches) / count == pytest.approx((1 - 0.04) * (1 + 0.03), abs=0.01)
    assert SUNG[f"by {ability} ability"](TUNE, rng) is not None


# -- tasks and results ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_results(found: tuple[Benchmark, Path]) -> None:
    benchmark, folder = found
    assert list(benchmark.columns) == ["starter, whole", "starter, first 12", "starter, 12 from within"]
    assert list(benchmark.left_out) == ["rism"]
    assert benchmark.systems[0] == "roslin"
    assert all(0 <= each.low <= each.mean <= each.high <= 1 for each in benchmark.results)
    assert json.loads((folder / RESULTS).read_text("utf-8")) == json.loads(benchmark.to_json())
    page = write_page(benchmark, folder).read_text("utf-8")
    assert "starter, 12 from within" in page
    assert "The task rism was left out: it needs a folder with rism/incipits.jsonl.gz" in page


def test_a_query_is_not_in_its_own_list(found: tuple[Benchmark, Path]) -> None:
    _, folder = found
    for run in (folder / "starter").rglob("*.run"):
        for line in run.read_text("utf-8").splitlines():
            query, _, document, *_ = line.split()
            assert query != document, run


def test_a_second_run_takes_the_lists_of_the_first(
    found: tuple[Benchmark, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from roslin.campaign import asking

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a finished list was asked for again")

    monkeypatch.setattr(asking, "search", refused)
    again = run_benchmark(found[1], ["starter"], ["roslin", "dp"], FEW)
    assert again.results == found[0].results


@pytest.mark.long
def test_a_matcher_of_one_file_enters_and_its_results_are_added(found: tuple[Benchmark, Path], tmp_path: Path) -> None:
    plugin = tmp_path / "contours.py"
    plugin.write_text(
        "import roslin\n"
        "@roslin.register_matcher\n"
        "def contours(query, melodies):\n"
        "    return [abs(len(query) - len(each)) for each in melodies]\n",
        "utf-8",
    )
    arguments = ["benchmark", "starter", "--plugin", str(plugin), "--matcher", "contours", "--queries", "2"]
    # In a process of its own: a registered matcher stays.
    command = [sys.executable, "-m", "roslin", *arguments, "-o", str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True)
    benchmark = found[0].with_results(tmp_path / "out" / RESULTS)
    assert benchmark.systems == ["roslin", "dp", "contours"]
    assert {each.source for each in benchmark.results} == {"", RESULTS}
    assert benchmark.with_results(tmp_path / "out" / RESULTS).results == benchmark.results


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda _: "[]", FormatError, "not the results of a benchmark"),
        (lambda text: text.replace('"format": 1', '"format": 2'), FormatError, "of format 2; this Roslin reads 1"),
        (lambda text: text.replace('"documents": ', '"documents": 1'), ArgumentError, "no column of it has the same"),
    ],
)
def test_results_that_are_not_added(
    found: tuple[Benchmark, Path], tmp_path: Path, change: Callable[[str], str], error: type[Exception], message: str
) -> None:
    other = tmp_path / "other.json"
    other.write_text(change(found[0].to_json()), "utf-8")
    with pytest.raises(error, match=message):
        found[0].with_results(other)


def test_own_truth(tmp_path: Path) -> None:
    sources = Sources(incipits=tunes_path(), truth=truth_path(), queries=3)
    benchmark = run_benchmark(tmp_path, ["own"], ["dp"], sources)
    assert benchmark.columns["own, truth"]["queries"] == 3
    none = tmp_path / "none.qrel"
    none.write_text("list somebody else 1\n", "utf-8")
    with pytest.raises(ArgumentError, match="no query of the truth is in"):
        run_benchmark(tmp_path, ["own"], ["dp"], replace(sources, truth=none))


def test_tasks_that_cannot_run(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="the task own needs --incipits FILE and --truth FILE"):
        run_benchmark(tmp_path, ["own"], ["dp"])
    with pytest.raises(UnknownNameError, match="task 'startre'"):
        run_benchmark(tmp_path, ["startre"], ["dp"])


def test_every_task_is_listed() -> None:
    result = CliRunner().invoke(app, ["benchmark", "--list", "--format", "tsv"])
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["task", *TASKS]


@pytest.mark.long
def test_quick_benchmark_by_command(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["benchmark", "--quick", "--matcher", "roslin", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].split() == ["matcher", "starter", "typed", "sung"]
    assert "sung, by low ability" in result.stdout


@pytest.mark.long
def test_tune_books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a third of the files of each book."""
    pytest.importorskip("music21", reason="needs music21: pip install 'roslin[test]'")
    monkeypatch.setattr(tasks, "tunes_in", lambda paths: tunes_in(list(paths)[::3]))
    benchmark = run_benchmark(tmp_path, ["books"], ["us"], Sources(queries=3))
    assert list(benchmark.columns) == ["books, whole", "books, first 12", "books, 12 from within"]

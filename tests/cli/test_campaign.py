"""roslin campaign as it is typed: killed and started again, from made queries to the report."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.program import roslin
from tests.waiting import until

from roslin.matchers import MATCHERS
from roslin.starter import truth_path, tunes_path

PROGRAM = [sys.executable, "-m", "roslin"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("campaign")
    roslin("collection", "build", tunes_path(), path / "starter.roslin")
    lines = truth_path().read_text("utf-8").splitlines(keepends=True)
    (path / "folia.qrel").write_text("".join(line for line in lines if "la-folia" in line))
    return path


@pytest.mark.long
def test_from_made_queries_to_the_report(folder: Path) -> None:
    made = roslin("campaign", "make-queries", "starter.roslin", "-o", "queries.jsonl", "-n", 2, folder=folder)
    assert made.stdout == ""
    first, second = made.stderr.splitlines()
    assert first == "10 queries written to queries.jsonl, their truth to queries.qrel"
    command = second.removeprefix("Next: roslin ").split()
    done = roslin(*command, "--matcher", "dp", "--matcher", "dp(place='inside')", "-o", "out", folder=folder)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["matcher", "ADR", "low", "high", "AP", "R@10", "RR", "ms", "tied", "reference"]
    assert sorted(line.split()[0] for line in lines[1:]) == ["dp", "dp(place='inside')"]
    assert done.stderr == "runs written to out/runs, report to out/report.html\n"
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "campaign.json",
        "finished.sqlite",
        "report.html",
        "report.txt",
        "runs",
    ]
    evaluated = roslin("evaluate", "queries.qrel", "out/runs/dp.run", "-m", "RR", "--format", "json", folder=folder)
    mean = json.loads(evaluated.stdout)["means"][0]["mean"]
    again = roslin(*command, "--matcher", "dp", "-o", "out", "-m", "RR", "--format", "json", folder=folder)
    assert json.loads(again.stdout)["standings"][0]["RR"] == mean


@pytest.mark.long
def test_without_a_matcher_all_of_them(folder: Path) -> None:
    done = roslin("campaign", "starter.roslin", "--truth", "folia.qrel", "-k", 10, "--format", "tsv", folder=folder)
    lines = done.stdout.splitlines()
    assert sorted(line.split("\t")[0] for line in lines[1:]) == sorted(MATCHERS)
    assert (folder / "campaign" / "report.html").exists()


@pytest.mark.long
def test_options_may_come_first(folder: Path) -> None:
    arguments = ("--truth", "folia.qrel", "--matcher", "dp", "-o", "first", "starter.roslin")
    assert (
        roslin("campaign", *arguments, folder=folder).stdout
        == roslin("campaign", "run", *arguments, folder=folder).stdout
    )


@pytest.mark.long
def test_several_truths(folder: Path) -> None:
    (folder / "other.qrel").write_text("other la-folia la-folia-4 1\nother la-folia la-folia-2 2\n")
    truths = ("--truth", "folia.qrel", "--truth", "other.qrel")
    systems = ("--matcher", "dp", "--matcher", "dp(place='inside')")
    done = roslin("campaign", "starter.roslin", *truths, *systems, "-o", "several", folder=folder)
    assert "ADR under 2 groupings, and Kendall's tau to starter" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Kendall's tau")
    assert "ADR under 2 groupings" in (folder / "several" / "report.html").read_text("utf-8")


# A matcher that answers some queries, and the others when a file is there: the campaign is in the middle until then.
HELD = """
from collections.abc import Iterator
from pathlib import Path
import roslin

asked = 0

@roslin.register_matcher
def held(query, melodies):
    global asked
    asked += 1
    while asked > 12 and not Path("go-on").exists():
        time.sleep(0.01)
    return [abs(len(query) - len(each)) for each in melodies]
"""


@pytest.fixture
def held(folder: Path) -> Iterator[Path]:
    plugin = folder / "held.py"
    plugin.write_text(HELD)
    yield plugin
    (folder / "go-on").unlink(missing_ok=True)


def kept(path: Path) -> list[tuple[str, float]]:
    """What is finished, and how long it took."""
    if not path.exists():
        return []
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT key, seconds FROM answers ORDER BY key").fetchall()
    except sqlite3.OperationalError:  # the table is not there yet
        return []
    finally:
        connection.close()


@pytest.mark.kills
def test_killed_in_the_middle(folder: Path, held: Path) -> None:
    matchers = ("--plugin", held, "--matcher", "dp", "--matcher", "held")
    arguments = ("campaign", "starter.roslin", "--truth", truth_path(), *matchers, "-k", 9)
    names = ("campaign.json", "runs/dp.run", "runs/held.run")
    process = subprocess.Popen([*PROGRAM, *map(str, arguments), "-o", "killed"], cwd=folder, stderr=subprocess.DEVNULL)
    finished = folder / "killed" / "finished.sqlite"
    until(lambda: len(kept(finished)) >= 20 or process.poll() is not None)  # all of dp, and something of the other
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = kept(finished)
    assert 20 <= len(before) < 36
    assert not (folder / "killed" / "campaign.json").exists()
    (folder / "go-on").touch()
    roslin(*arguments, "-o", "whole", folder=folder)
    roslin(*arguments, "-o", "killed", folder=folder)
    assert set(before) <= set(kept(finished))  # with the times of the first start: nothing of it was done again
    for name in names:
        assert (folder / "killed" / name).read_bytes() == (folder / "whole" / name).read_bytes()


@pytest.mark.kills
def test_an_interrupt_says_that_nothing_is_lost(folder: Path, held: Path) -> None:
    matchers = ("--plugin", held, "--matcher", "held")
    arguments = ("campaign", "starter.roslin", "--truth", truth_path(), *matchers, "-o", "stopped")
    process = subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    until(lambda: kept(folder / "stopped" / "finished.sqlite") or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    said = "finished parts are saved in stopped; the same command continues from there\nroslin: stopped\n"
    assert process.communicate()[1] == said
    assert process.returncode == 130


@pytest.mark.long
def test_refusals_are_one_line(folder: Path) -> None:
    (folder / "broken.qrel").write_text("t la-folia la-folia-2 1\nt la-folia la-folia-3\n")
    (folder / "broken.jsonl").write_text('{"id": "la-folia", "pae": "\'4CZ"}\n')
    for arguments, message in (
        (("--truth", "broken.qrel"), "broken.qrel:2: "),
        (("--truth", "nothing.qrel"), "nothing.qrel: No such file or directory"),
        (("--truth", "folia.qrel", "--queries", "broken.jsonl"), "broken.jsonl:1, la-folia, column 4: unreadable sign"),
        (("--truth", "folia.qrel", "--matcher", "nothing"), "unknown matcher 'nothing'; known: "),
        ((), "Missing option '--truth'. (see: roslin campaign run --help)"),
    ):
        said = roslin("campaign", "starter.roslin", *arguments, "-o", "refused", code=2, folder=folder).stderr
        assert said.startswith(f"roslin: {message}"), said
        assert said.count("\n") == 1
    said = roslin("campaign", "gone.roslin", "--truth", "folia.qrel", code=2, folder=folder).stderr
    assert said.startswith("roslin: gone.roslin: there is no such folder")
    said = roslin("campaign", "make-queries", "starter.roslin", "-o", "q.mid", code=2, folder=folder).stderr
    assert said.startswith("roslin: q.mid: queries are written as JSON Lines")
    assert "make-queries" in roslin("campaign", code=2).stderr

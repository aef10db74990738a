"""--plugin: somebody's own matchers, measures and formats on every command that can use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from tests.web.running import running

PLUGIN = '''
import roslin
from roslin.evaluate import Measure
from roslin.notation import Format, Record


@roslin.register_matcher
def lengths(query, candidates):
    """Compares how many notes there are."""
    return [abs(len(query) - len(each)) for each in candidates]


@roslin.register_measure
class Listed(Measure):
    name = "Listed"
    summary = "How long the list is."
    reference = "nobody"

    def _values(self, hits):
        return hits.depth


def read(stream, *, strict):
    for line in stream.read().decode().splitlines()[1:]:
        id, *pitches = line.split()
        notes = range(len(pitches)), [1] * len(pitches), map(int, pitches)
        yield Record(roslin.Melody.from_notes(*notes, id, notation="numbers"))


roslin.register_format(Format("numbers", "MIDI numbers", (".num",), lambda head: head.startswith(b"NUMBERS"), read))
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plug-in, tunes in its format, a truth, and the collection that it makes of them."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "mine.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "tunes.num").write_text("NUMBERS\na 60 62 64 65\nb 60 62 64\nc 60 62\nd 60 62 64 65 67 69\n")
    (folder / "truth.qrel").write_text("t a b 1\nt a d 2\n")
    run(folder, "collection", "build", "tunes.num", "tunes.roslin", "--plugin", "mine.py")
    return folder


def run(folder: Path, *arguments: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roslin", *arguments]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.long
def test_before_and_after_the_command_and_from_the_environment(folder: Path) -> None:
    found = [
        run(folder, "matchers", "--plugin", "mine.py", "--format", "json"),
        run(folder, "--plugin", "mine.py", "matchers", "--format", "json"),
        run(folder, "--plugin", "mine.py", "matchers", "--plugin", "mine.py", "--format", "json"),
        run(folder, "matchers", "--format", "json", ROSLIN_PLUGINS="mine.py"),
    ]
    for done in found:
        rows = {row["name"]: row for row in json.loads(done.stdout)}
        assert rows["lengths"]["from"] == "mine.py"
        assert rows["lengths"]["reference"] == "the function lengths of mine.py"
        assert rows["dp"]["from"] == rows["fuse(...)"]["from"] == "roslin"
        assert done.stderr == ""
    assert '"lengths"' not in run(folder, "matchers", "--format", "json").stdout


@pytest.mark.long
def test_search_load_explain_and_evaluate(folder: Path) -> None:
    asked = ("search", "tunes.roslin", "--id", "a", "--matcher", "lengths", "--plugin", "mine.py")
    found = json.loads(run(folder, *asked, "--run", "mine.run", "--format", "json").stdout)
    assert [(row["id"], row["distance"]) for row in found] == [("b", 1.0), ("c", 2.0), ("d", 2.0)]
    rows = json.loads(run(folder, "load", "tunes.num", "--plugin", "mine.py", "--format", "json").stdout)
    assert [(row["id"], row["notation"]) for row in rows] == [(id, "numbers") for id in "abcd"]
    assert "--plugin FILE" in run(folder, "explain", "--help").stdout
    done = run(folder, "evaluate", "truth.qrel", "mine.run", "-m", "listed", "--plugin", "mine.py", "--format", "json")
    assert '"Listed"' in done.stdout
    assert "How long the list is." in run(folder, "evaluate", "--plugin", "mine.py", "--measures").stdout


@pytest.mark.long
def test_a_campaign_asks_again_when_the_file_has_changed(folder: Path) -> None:
    arguments = ("tunes.roslin", "--truth", "truth.qrel", "--matcher", "lengths", "-o", "out", "--plugin")
    run(folder, "campaign", *arguments, "mine.py")
    before = (folder / "out" / "runs" / "lengths.run").read_text()
    (folder / "changed.py").write_text(PLUGIN.replace("abs(", "-abs("), encoding="utf-8")
    run(folder, "campaign", *arguments, "changed.py")
    after = (folder / "out" / "runs" / "lengths.run").read_text()
    assert [line.split()[2] for line in before.splitlines()] == ["b", "c", "d"]
    assert [line.split()[2] for line in after.splitlines()] == ["c", "d", "b"]


@pytest.mark.long
def test_every_worker_of_the_page_has_it(folder: Path, tmp_path: Path) -> None:
    with running(folder / "tunes.roslin", tmp_path, "--workers", "2", "--plugin", str(folder / "mine.py")) as server:
        asked = urlencode({"id": "a", "matcher": "lengths", "k": 3, "all": True})
        for _ in range(6):
            with urlopen(f"{server.address}/api/search?{asked}") as answer:
                assert [one["id"] for one in json.load(answer)["results"]] == ["b", "c", "d"]
            with urlopen(f"{server.address}/api/matchers") as answer:
                assert "lengths" in [one["name"] for one in json.load(answer)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n1 / 0\n", "the plug-in broken.py cannot be loaded: broken.py:2: ZeroDivisionError: division by zero"),
        ("def f(:\n", "the plug-in broken.py cannot be loaded: broken.py:1: SyntaxError: invalid syntax"),
        (None, "the plug-in broken.py cannot be read: No such file or directory"),
    ],
)
def test_a_broken_file_is_one_line_and_exit_code_2(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "broken.py").write_text(text)
    assert run(tmp_path, "matchers", "--plugin", "broken.py", code=2).stderr == f"roslin: {message}\n"
    # Named by the environment it is a remark: the rest of Roslin is there.
    done = run(tmp_path, "matchers", "--format", "json", ROSLIN_PLUGINS="broken.py")
    assert done.stderr == f"roslin: {message}\n"
    assert len(json.loads(done.stdout)) > 20


@pytest.mark.long
def test_a_matcher_that_fails_or_gives_nonsense_is_one_line(folder: Path) -> None:
    (folder / "bad.py").write_text(
        "import roslin\n"
        "@roslin.register_matcher\n"
        "def fails(query, candidates):\n"
        "    return [1 / 0 for each in candidates]\n"
        "@roslin.register_matcher\n"
        "def short(query, candidates):\n"
        "    return [1.0]\n"
    )
    for name, message in (
        ("fails", "the matcher fails fails: bad.py:4: ZeroDivisionError: division by zero"),
        ("short", "the matcher short must give 4 distances, one for each candidate; got 1"),
    ):
        done = run(folder, "search", "tunes.roslin", "--id", "a", "--matcher", name, "--plugin", "bad.py", code=2)
        assert done.stderr == f"roslin: {message}\n"

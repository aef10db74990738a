"""A package of somebody else, installed beside Roslin in a fresh environment: its matchers, its measure and its format
are there on the command line, on the page, in campaigns and in Python.

The environment is made without the network: it sees the packages that these tests run with, and the package is a wheel
made here from its pyproject.toml.
"""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from tests.web.running import running

import roslin

pytestmark = pytest.mark.long

PROJECT = """
[project]
name = "tune-lengths"
version = "1.2"

[project.entry-points."roslin.matchers"]
lengths = "tune_lengths:Lengths"
ends = "tune_lengths:ends"

[project.entry-points."roslin.measures"]
listed = "tune_lengths:Listed"

[project.entry-points."roslin.formats"]
numbers = "tune_lengths:NUMBERS"
"""
PACKAGE = '''
"""A matcher, a function that is one, a measure and a format."""

import numpy as np

from roslin import Melody
from roslin.evaluate import Measure
from roslin.matchers import Matcher
from roslin.notation import Format, Record
from roslin.values import whole


class Lengths(Matcher):
    name = "lengths"
    summary = "Compares how many notes there are."
    reference = "nobody 2024"

    factor: int = whole(1, most=9)

    def _distances(self, query, candidates):
        return self.factor * np.abs(np.diff(candidates.offsets) - len(query))


def ends(query, candidates):
    """Compares the last notes."""
    last = query.notes["pitch_midi"][-1]
    return [abs(int(each.notes["pitch_midi"][-1]) - int(last)) for each in candidates]


class Listed(Measure):
    name = "Listed"
    summary = "How long the list is."
    reference = "nobody 2024"

    def _values(self, hits):
        return hits.depth


def read(stream, *, strict):
    for line in stream.read().decode().splitlines()[1:]:
        id, *pitches = line.split()
        yield Record(Melody.from_notes(range(len(pitches)), [1] * len(pitches), map(int, pitches), id))


NUMBERS = Format("numbers", "MIDI numbers, a line a melody", (".num",), lambda head: head.startswith(b"NUMBERS"), read)
'''
BROKEN_PROJECT = """
[project]
name = "broken-tunes"
version = "0.1"

[project.entry-points."roslin.matchers"]
broken = "broken_tunes:Broken"
"""
TUNES = "NUMBERS\na 60 62 64 65\nb 60 62 64\nc 60 62\nd 60 62 64 65 67 69\n"


def wheel(folder: Path, project: str, code: str) -> Path:
    """A wheel of one module, as a build backend would make it of these two files."""
    about = tomllib.loads(project)["project"]
    module, version = about["name"].replace("-", "_"), about["version"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in named.items())
        for group, named in about["entry-points"].items()
    )
    files = {
        f"{module}.py": code,
        f"{module}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {version}\n",
        f"{module}-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{module}-{version}.dist-info/entry_points.txt": points,
    }
    record = f"{module}-{version}.dist-info/RECORD"
    files[record] = "".join(f"{name},,\n" for name in (*files, record))
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return path


@dataclass(frozen=True)
class Environment:
    """A Python of its own, and a folder to work in."""

    python: Path
    folder: Path

    def run(self, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(self.python), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder, env=outside())
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    def roslin(self, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "roslin", *arguments, code=code)


def outside() -> dict[str, str]:
    """The variables without those that tell a Python where its packages are."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "env", with_pip=True, symlinks=os.name != "nt")
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    made = Environment(programs / "python", folder)
    packages = made.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    ours = dict.fromkeys([str(Path(roslin.__file__).parents[1]), *map(sysconfig.get_path, ("purelib", "platlib"))])
    Path(packages, "tests.pth").write_text("\n".join(ours) + "\n", encoding="utf-8")
    wheels = [wheel(folder, PROJECT, PACKAGE), wheel(folder, BROKEN_PROJECT, "import nothing_of_this_name\n")]
    made.run("-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", *wheels)
    (folder / "tunes.num").write_text(TUNES, encoding="utf-8")
    (folder / "truth.qrel").write_text("t a b 1\nt a d 2\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def collection(fresh: Environment) -> Path:
    path = fresh.folder / "tunes.roslin"
    assert "4 melodies" in fresh.roslin("collection", "build", "tunes.num", path).stdout
    return path


def test_the_tests_themselves_do_not_have_it() -> None:
    assert "lengths" not in roslin.matchers()


def test_matchers(fresh: Environment) -> None:
    done = fresh.roslin("matchers", "--format", "json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["lengths"] == {
        "name": "lengths",
        "summary": "Compares how many notes there are.",
        "reference": "nobody 2024",
        "from": "tune-lengths",
    }
    assert (rows["ends"]["summary"], rows["ends"]["from"]) == ("Compares the last notes.", "tune-lengths")
    assert {rows[name]["from"] for name in (*roslin.matchers(), "fuse(...)")} == {"roslin"}
    # The broken one is a remark of one line, and nothing more.
    assert done.stderr == (
        "roslin: the matcher 'broken' of broken-tunes cannot be used: "
        "broken_tunes.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'\n"
    )


def test_search(fresh: Environment, collection: Path) -> None:
    done = fresh.roslin("search", collection, "--id", "a", "--matcher", "lengths(factor=2)", "--format", "json")
    assert [(row["id"], row["distance"]) for row in json.loads(done.stdout)] == [("b", 2.0), ("c", 4.0), ("d", 4.0)]
    query = ("--file", "tunes.num", "--id", "b")
    done = fresh.roslin("search", collection, *query, "--matcher", "ends", "--format", "json")
    assert [(row["id"], row["distance"]) for row in json.loads(done.stdout)][:2] == [("b", 0.0), ("a", 1.0)]
    refused = fresh.roslin("search", collection, "--id", "a", "--matcher", "lengths(factor=0)", code=2)
    assert refused.stderr.endswith("\nroslin: lengths: factor must be a whole number from 1 to 9; got 0\n")


def test_campaign_and_evaluate(fresh: Environment, collection: Path) -> None:
    done = fresh.roslin(
        "campaign", collection, "--truth", "truth.qrel", "--matcher", "lengths", "--matcher", "ends",
        "-m", "ADR", "-m", "listed", "-o", "campaign", "--format", "json",
    )  # fmt: skip
    assert set(json.loads((fresh.folder / "campaign" / "campaign.json").read_text())["measures"]) == {"ADR", "Listed"}
    assert "lengths" in done.stdout
    done = fresh.roslin(
        "evaluate", "truth.qrel", "campaign/runs/lengths.run", "-m", "Listed", "-m", "ADR", "--format", "tsv"
    )
    assert "Listed" in done.stdout
    assert "3.0" in done.stdout


def test_the_page(fresh: Environment, collection: Path) -> None:
    with running(collection, fresh.folder, python=fresh.python, environment=outside()) as server:
        with urlopen(f"{server.address}/api/matchers") as answer:
            listed = {one["name"]: one["summary"] for one in json.load(answer)}
        assert listed["lengths"] == "Compares how many notes there are."
        asked = urlencode({"id": "a", "matcher": "lengths", "k": 3, "all": True})
        with urlopen(f"{server.address}/api/search?{asked}") as answer:
            found = [(one["id"], one["distance"]) for one in json.load(answer)["results"]]
        assert found == [("b", 1.0), ("c", 2.0), ("d", 2.0)]
        with urlopen(f"{server.address}/") as answer:
            assert "lengths" in answer.read().decode()


def test_python(fresh: Environment) -> None:
    code = """
import sys
import warnings
import roslin
from roslin.values import PluginWarning

roslin.matcher("dp")
assert "tune_lengths" not in sys.modules  # for a name that is known, nothing is loaded
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    names = roslin.matchers()
assert [warning.category for warning in caught] == [PluginWarning]
assert {"lengths", "ends"} <= set(names) and "broken" not in names
tunes = roslin.load("tunes.num")
assert repr(roslin.matcher("fuse(lengths(factor=3), ends)")) == "fuse(lengths(factor=3), ends)"
print(roslin.matcher("lengths").distances(tunes[0], tunes).tolist())
print(roslin.evaluate.measure("LISTED")([["a"]], ["a", "b"]))
from roslin.campaign.asking import code_checksum
assert code_checksum(roslin.matcher("lengths")) and code_checksum(roslin.matcher("ends"))  # a package has a source
"""
    assert fresh.run("-c", code).stdout == "[0.0, 1.0, 2.0, 2.0]\n2.0\n"

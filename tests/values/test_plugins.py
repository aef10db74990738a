"""Plug-ins from a file: loaded, loaded again, refused in one line."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest

import roslin
from roslin.errors import PluginError
from roslin.evaluate import MEASURES, measure
from roslin.matchers import MATCHERS
from roslin.notation import FORMATS, Format, load
from roslin.starter import tunes_path
from roslin.values import PluginWarning, plugins

pytestmark = pytest.mark.usefixtures("registries")

TUNES = load(tunes_path())[:5]
ALL = '''
"""A matcher, a function, a measure and a format."""
import numpy as np

import roslin
from roslin.evaluate import Measure
from roslin.matchers import Matcher
from roslin.notation import Format, Record
from roslin.values import whole


@roslin.register_matcher
class First(Matcher):
    name = "first"
    summary = "Compares the first notes."
    reference = "nobody"

    n: int = whole(1, most=4)

    def _distances(self, query, candidates):
        starts = candidates.offsets[:-1]
        return np.abs(candidates.notes["pitch_midi"][starts] - query.notes["pitch_midi"][0]) * float(self.n)


@roslin.register_matcher
def lengths(query, candidates):
    """Compares how many notes there are."""
    return [abs(len(query) - len(each)) for each in candidates]


@roslin.register_measure
class Depth(Measure):
    name = "Depth"
    summary = "How long the list is."
    reference = "nobody"

    def _values(self, hits):
        return hits.depth


def read(stream, *, strict):
    pitches = [int(word) for word in stream.read().split()[1:]]
    yield Record(roslin.Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches))


roslin.register_format(Format("numbers", "MIDI numbers", (".num",), lambda head: head.startswith(b"NUM"), read))
'''


def file(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_can_add_all_kinds_of_things(tmp_path: Path) -> None:
    path = file(tmp_path, ALL)
    roslin.load_plugin(path)
    assert {"first", "lengths"} <= set(roslin.matchers())
    first = roslin.matcher("first(n=2)")
    assert first.distances(TUNES[0], TUNES)[0] == 0
    assert pickle.loads(pickle.dumps(first)) == first
    expected = [abs(len(TUNES[0]) - len(tune)) for tune in TUNES]
    assert roslin.matcher("lengths").distances(TUNES[0], TUNES).tolist() == expected
    assert repr(roslin.matcher("fuse(first, lengths)")) == "fuse(first, lengths)"
    assert measure("depth")([["a"]], ["a", "b"]) == 2
    assert load(b"NUM 60 62 64")[0].notes["pitch_midi"].tolist() == [60, 62, 64]
    assert load(file(tmp_path, "NUM 60", "tune.num"))[0].notes["pitch_midi"].tolist() == [60]
    assert load(b"x 60 62", "numbers")[0].notes["pitch_midi"].tolist() == [60, 62]
    assert MATCHERS.origin("first") == MEASURES.origin("depth") == FORMATS.origin("numbers") == str(path)
    assert MATCHERS["lengths"].reference == "the function lengths of mine.py"


def test_formats_of_roslin_come_first() -> None:
    roslin.register_format(Format("all", "Everything.", (".abc",), lambda head: True, lambda stream, **_: iter(())))
    assert load("X:1\nK:C\nCDE")[0].notation == "abc"


def test_a_file_is_run_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    text = f"with open({str(tmp_path / 'runs')!r}, 'a') as file: file.write('x')\n"
    path = file(tmp_path, text + ALL)
    for _ in range(2):
        roslin.load_plugin(path)
    assert (tmp_path / "runs").read_text() == "x"
    file(tmp_path, text + ALL.replace("Compares the first notes.", "Compares first notes."))
    roslin.load_plugin(str(path))
    assert (tmp_path / "runs").read_text() == "xx"
    assert MATCHERS["first"].summary == "Compares first notes."


def test_what_lies_beside_a_file_can_be_imported(tmp_path: Path) -> None:
    file(tmp_path, "SUMMARY = 'From beside.'\n", "beside_the_plugin.py")
    text = """
import beside_the_plugin
import roslin

@roslin.register_matcher(name="beside", summary=beside_the_plugin.SUMMARY)
def zero(query, candidates):
    return [0.0] * len(candidates)
"""
    roslin.load_plugin(file(tmp_path, text))
    assert MATCHERS["beside"].summary == "From beside."


def test_two_files_cannot_own_one_name(tmp_path: Path) -> None:
    roslin.load_plugin(file(tmp_path, ALL))
    message = r"other\.py:\d+: two matchers are called 'first': First of mine\.py and First of other\.py; one needs an"
    with pytest.raises(PluginError, match=message):
        roslin.load_plugin(file(tmp_path, ALL, "other.py"))
    with pytest.raises(PluginError, match=r"two matchers are called 'dp': DP of roslin\.matchers\.edit\.dp and First"):
        roslin.load_plugin(file(tmp_path, ALL.replace('name = "first"', 'name = "dp"'), "third.py"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = 1 / 0\n", "mine.py:2: ZeroDivisionError: division by zero"),
        ("x = 1\n\ndef f(:\n", "mine.py:3: SyntaxError: invalid syntax"),
        ("import nothing_of_this_name\n", "mine.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("raise SystemExit('no')\n", "mine.py:1: SystemExit: no"),
        ("import roslin\nroslin.load('\\n')\n", "mine.py:2: "),
        ("import json\njson.loads('{')\n", "mine.py:2: JSONDecodeError: Expecting property name enclosed in double"),
        ("import roslin\n@roslin.register_matcher\nclass A: pass\n", "mine.py:2: a matcher must be a class made from"),
    ],
)
def test_a_broken_file_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = file(tmp_path, text)
    before = set(sys.modules)
    with pytest.raises(PluginError) as caught:
        roslin.load_plugin(path)
    assert str(caught.value).startswith(f"the plug-in {path} cannot be loaded: {message}")
    assert "\n" not in str(caught.value)
    assert not {name for name in set(sys.modules) - before if name.startswith("roslin_plugin")}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"nothing\.py cannot be read: No such file or directory"):
        roslin.load_plugin(tmp_path / "nothing.py")
    with pytest.raises(PluginError, match="cannot be read: Is a directory"):
        roslin.load_plugin(tmp_path)


def test_a_file_that_breaks_leaves_what_it_was(tmp_path: Path) -> None:
    path = file(tmp_path, ALL)
    roslin.load_plugin(path)
    before = MATCHERS["first"]
    file(tmp_path, "1 / 0\n")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        roslin.load_plugin(path)
    assert MATCHERS["first"] is before
    assert sys.modules[before.__module__].First is before


def test_files_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = file(tmp_path, ALL), file(tmp_path, "1 / 0\n", "bad.py")
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join([str(bad), "", str(good)]))
    with pytest.warns(PluginWarning, match=r"bad\.py cannot be loaded: bad\.py:1: ZeroDivisionError: division by zero"):
        plugins.load_environment()
    plugins.load_environment()  # said once, for however many registries
    assert "first" in roslin.matchers()

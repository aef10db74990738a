"""tools/soak.py: numbers make inputs, faults are seen, and what is killed goes on where it was."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from tests.notation.samples import SAMPLES, mxl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import soak
import soak_inputs
from roslin.errors import NotationError, Problem
from roslin.notation import mei, pae
from roslin.notation.scores import to_mei

pytestmark = pytest.mark.long

TOOLS = Path(soak.__file__).parent
INPUTS = 68  # four of each format


def seeds() -> dict[str, list[bytes]]:
    made = {name: [SAMPLES[name].scale(8)] for name in ("pae", "abc", "names", "kern", "musicxml", "mei", "midi")}
    made |= {name: [SAMPLES[name].scale(8)] for name in ("marcxml", "jsonl")}
    made |= {"mxl": [mxl(made["musicxml"][0])], "gz": [gzip.compress(made["abc"][0], mtime=0)], "tar": [b"x" * 600]}
    made |= {"zip": made["mxl"], "run": [b"q Q0 d 1 1 x\n"], "qrels": [b"q 0 d 1\n"]}
    return made | {
        "rankings": [b"query,expert,document,rank\nq,e,d,1\n"],
        "votes": [b"query,first,second,answer\nq,a,b,a\n"],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "seeds.pickle").write_bytes(pickle.dumps(seeds()))
    return tmp_path


def outcomes(folder: Path, first: int = 0) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mei, "to_mei", to_mei)  # the soak puts another in its place
        soak_inputs.soak(
            folder, first, INPUTS, lambda what, number, came, _: found.append((what, number, came)), seeds=seeds()
        )
    return found


def test_a_number_makes_the_same_input_and_every_format_has_its_turn(tmp_path: Path) -> None:
    assert [soak_inputs.damaged(n, seeds()) for n in range(INPUTS)] == [
        soak_inputs.damaged(n, seeds()) for n in range(INPUTS)
    ]
    found = outcomes(tmp_path)
    assert {what for what, _, _ in found} == set(soak_inputs.FORMATS)
    assert {came for _, _, came in found} >= {"read", "refused", "handed on"}
    assert not [each for each in found if each[2] in soak_inputs.BAD]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (KeyError("x"), "crash"),
        (NotationError(Problem("somewhere")), "nowhere"),
        (NotationError(Problem("there", line=1)), "refused"),
        (soak_inputs.HangError(), "hang"),
    ],
)
def test_faults_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception, outcome: str) -> None:
    def faulty(*_given: object, **_named: object) -> None:
        raise fault

    monkeypatch.setattr(soak_inputs, "records", faulty)
    assert soak_inputs.tried("abc", b"X:1\nK:C\nCDE", tmp_path)[0] == outcome


def test_changed_notes_and_lost_time_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pae, "write", lambda melody: "'4G")
    assert soak_inputs.tried("abc", b"X:1\nK:C\nCDE", tmp_path)[0] == "silent change"
    monkeypatch.setattr(soak_inputs, "SLOW_SECONDS", -1.0)
    assert soak_inputs.tried("abc", b"X:1\nK:C\nCDE", tmp_path, thorough=False)[0] == "growth"


def test_what_was_done_is_not_done_again(folder: Path) -> None:
    command = [sys.executable, str(TOOLS / "soak.py"), "--folder", str(folder), "--inputs"]
    assert subprocess.run([*command, "17"], capture_output=True).returncode == 0
    with (folder / "done.jsonl").open("a") as file:
        file.write('{"kind": "inputs", "fir')  # a kill while it was written
    assert list(soak.missing(folder, {"inputs": 20})) == [("inputs", 17, 3)]
    with (folder / "done.jsonl").open("a") as file:
        file.write("\n")
    assert subprocess.run([*command, "20"], capture_output=True).returncode == 0
    assert [(block["first"], block["count"]) for block in soak.done(folder)] == [(0, 17), (17, 3)]
    assert "| **all** |" in soak.summary(folder)
    assert list(soak.missing(folder, {"inputs": 20})) == []


def test_a_process_that_dies_has_crashed_on_what_it_had_in_hand(folder: Path) -> None:
    soak._in_hand(folder, os.getpid(), "inputs", 100).write_text("105")
    block, rest = soak._block(folder, "inputs", 100, 10, -11, "", "Segmentation fault")
    assert block["outcomes"] == {"inputs\tcrash": 1}
    assert block["first"] == 105
    assert rest == [("inputs", 100, 5), ("inputs", 106, 4)]
    assert json.dumps(block)

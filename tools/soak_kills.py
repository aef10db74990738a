"""Commands that write, killed at a random moment: nothing is half done, and the same command then completes it.

    .venv/bin/python tools/soak.py --folder /tmp/soak --kills 200

Kill NUMBER starts `roslin collection build`, `add` or `remove`, or `roslin campaign` (by turns) in a process of its own
and ends it with SIGKILL at a moment drawn from the random state of the number: before it begins, on the way, or just
after its end. Then the collection must open in its old or its new state, `check` must find it whole, and the same
command must give the bytes of an undisturbed one; a campaign that goes on must give the same runs.

    before      killed with the old state in place; done again, all is as it should be
    after       killed with the new state in place; the same
    nothing     the first build of a collection was killed and left none; the same
    broken      a state that is neither, that `check` does not find whole, or that cannot be completed
    crash       the check itself ended by a signal
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from roslin.cli import app
from roslin.collection.files import ARRAY_NAMES, DATABASE
from roslin.collection.store import Store, check

BAD = ("broken", "crash")
KINDS = ("build", "first build", "add", "remove", "campaign")
Report = Callable[[str, int, str, str], None]

_SEED = 19
_MELODIES, _MORE, _QUERIES, _NOTES = 60, 40, 4, 8
_TABLES = ("melodies", "folded", "features", "strings", "motives")
_HANGING_S = 120.0  # far more than anything here takes, even on a busy machine
_LATER = 1.1  # times what the command takes undisturbed: some kills come too late


class _Case:
    """One kind of command: what it starts from, its words, and what an undisturbed one leaves."""

    def __init__(self, folder: Path, kind: str):
        self.kind, self.folder = kind, folder
        self.target = folder / f"{kind.replace(' ', '_')}.roslin"
        self.output = folder / "campaign"
        old, more = str(folder / "old.jsonl"), str(folder / "more.jsonl")
        words = {
            "build": ["collection", "build", more, str(self.target), "--allow-smaller"],
            "first build": ["collection", "build", old, more, str(self.target)],
            "add": ["collection", "add", more, str(self.target)],
            "remove": ["collection", "remove", str(self.target), "m3", "m59"],
            "campaign": ["campaign", str(folder / "old.roslin"), "--truth", str(folder / "truth.qrel"),
                         "--matcher", "dp", "--matcher", "us", "--queries", str(folder / "queries.jsonl"),
                         "-o", str(self.output)],
        }  # fmt: skip
        self.words = words[kind]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            self.start()
            self.run()  # here, so that children find everything loaded
        self.start()
        self.before = self.state()
        undisturbed = in_child(self.run)
        if not undisturbed.is_good:
            raise RuntimeError(f"{kind} does not work at all: {undisturbed}")
        self.after, self.seconds = self.state(), undisturbed.seconds

    def start(self) -> None:
        """Put everything back to where the command begins."""
        shutil.rmtree(self.target, ignore_errors=True)
        shutil.rmtree(self.output, ignore_errors=True)
        if self.kind in ("build", "add", "remove"):
            shutil.copytree(self.folder / "old.roslin", self.target)

    def run(self) -> None:
        """The command itself."""
        app(self.words, standalone_mode=False)

    def state(self) -> str:
        """A checksum of all that the command is to leave; nothing in words where there is nothing."""
        if self.kind == "campaign":
            files = sorted([*self.output.glob("runs/*"), *self.output.glob("campaign.json")])
            return _checksum(*(path.read_bytes() for path in files)) if files else ""
        return contents(self.target) if (self.target / DATABASE).exists() else ""

    def faults(self) -> list[str]:
        """What is wrong with the collection, if there is one."""
        if self.kind == "campaign":
            return check(self.folder / "old.roslin")
        return check(self.target) if (self.target / DATABASE).exists() else []


def soak(folder: Path, first: int, count: int, report: Report) -> None:
    """Kills `first` to `first + count`; each is reported: what was killed, its number, the outcome, details."""
    folder.mkdir(parents=True, exist_ok=True)
    _make(folder)
    cases = {kind: _Case(folder, kind) for kind in KINDS}
    for number in range(first, first + count):
        case = cases[KINDS[number % len(KINDS)]]
        moment = float(np.random.default_rng((_SEED, number)).uniform(0.0, _LATER * case.seconds))
        case.start()
        killed_child(case.run, moment)
        outcome, detail = _outcome(case)
        report(f"kill {case.kind}", number, outcome, f"after {moment:.4f} s: {detail}")


def _outcome(case: _Case) -> tuple[str, str]:
    looked: Ended = in_child(lambda: [case.faults(), case.state()])
    if not looked.is_good:
        return ("crash", looked.signal) if looked.signal else ("broken", looked.error)
    faults, state = looked.value
    if faults:
        return "broken", "; ".join(faults)
    # A campaign writes its files one after the other; what counts is what it is when it has gone on to its end.
    if case.kind != "campaign" and state not in (case.before, case.after):
        return "broken", "a state that is neither the old one nor the new one"
    is_done = state == case.after
    again = in_child(case.run)
    if again.signal or (again.error and not (is_done and case.kind == "remove" and "unknown melody" in again.error)):
        return "broken", f"the same command again: {again.signal or again.error}"
    completed = in_child(lambda: [case.faults(), case.state()])
    if not completed.is_good or completed.value != [[], case.after]:
        return "broken", f"the same command again leaves something else: {completed}"
    return ("after" if is_done else "before" if state else "nothing"), ""


def _make(folder: Path) -> None:
    """The sources, the collection that commands start from, and what a campaign asks."""
    random = np.random.default_rng(_SEED)
    lines = [_line(random, f"m{number}") for number in range(_MELODIES + _MORE)]
    (folder / "old.jsonl").write_text("".join(lines[:_MELODIES]), "utf-8")
    (folder / "more.jsonl").write_text("".join(lines[_MELODIES:]) + '{"id": "bad", "pae": "Sol majeur"}\n', "utf-8")
    (folder / "queries.jsonl").write_text("".join(_line(random, f"q{number}") for number in range(_QUERIES)), "utf-8")
    truth = "".join(
        f"list q{query} m{query + 5 * number} {number + 1}\n" for query in range(_QUERIES) for number in (0, 1)
    )
    (folder / "truth.qrel").write_text(truth, "utf-8")
    made = in_child(lambda: app(["collection", "build", str(folder / "old.jsonl"), str(folder / "old.roslin")],
                                standalone_mode=False))  # fmt: skip
    if not made.is_good:
        raise RuntimeError(f"the collection cannot be built: {made}")


def _line(random: np.random.Generator, id: str) -> str:
    letters = "".join(random.choice(list("CDEFGAB"), _NOTES))
    return f'{{"id": "{id}", "pae": "\'4{letters}", "title": "Tune {id}"}}\n'


def contents(path: Path) -> str:
    """A checksum of what a collection holds: all but the name of its state and the time at which it was written."""
    with Store(path) as store:
        ask = store.connection.execute
        rows = [repr(ask(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()) for name in _TABLES]
        return _checksum(*(store.array(name).tobytes() for name in ARRAY_NAMES), *(row.encode() for row in rows))


def _checksum(*parts: bytes) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


# -- a function in a process of its own, forked from this one: everything is loaded already, and it may be killed ------


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its result, the error that it raised, or the signal that ended it."""

    value: Any = None
    error: str = ""
    signal: str = ""
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether it completed."""
        return not self.error and not self.signal


def in_child(function: Callable[[], Any]) -> Ended:
    """Call a function in a child and wait for its result, which must be possible to pickle."""
    ended = killed_child(function, _HANGING_S)
    return Ended(signal="hang", seconds=ended.seconds) if ended.seconds >= _HANGING_S else ended


def killed_child(function: Callable[[], Any], after_s: float) -> Ended:
    """The same, but after this many seconds the child is killed (SIGKILL), unless it has completed."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_run_and_leave, args=(function, sender))
    began = time.monotonic()
    child.start()
    sender.close()
    if not receiver.poll(after_s):
        child.kill()
    try:
        value, error = receiver.recv()
    except (EOFError, OSError):  # killed before or while it answered
        value, error = None, "it left without a word"
    child.join()
    receiver.close()
    seconds = time.monotonic() - began
    if child.exitcode is not None and child.exitcode < 0:
        return Ended(signal=signal.Signals(-child.exitcode).name, seconds=seconds)
    return Ended(value, error, seconds=seconds)


def _run_and_leave(function: Callable[[], Any], sender: Connection) -> None:
    """In the child: nothing of the parent's may be cleaned up here, so it leaves at once."""
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        answer = function(), ""
    except BaseException:
        answer = None, traceback.format_exc()
    sender.send(answer)
    os._exit(0)

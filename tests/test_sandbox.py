from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import unread, until

import roslin
from roslin import RoslinError, sandbox
from roslin.errors import SandboxError
from roslin.sandbox import Worker, shared_worker


def request(music: str) -> dict[str, Any]:
    return {"data": json.dumps({"clef": "G-2", "data": music}), "format": "pae"}


SCALE = request("'4CDE")
CRASHER = request("{=6}B")


def pitches(worker: Worker, payload: dict[str, Any] = SCALE) -> list[int]:
    return [pitch for _, pitch, _ in worker.call("sounding", payload)["notes"]]


def is_gone(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
        status = Path(f"/proc/{process_id}/stat")
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker(90.0) as made:
        yield made


def test_functions(worker: Worker) -> None:
    assert pitches(worker) == [60, 62, 64]
    assert worker.call("engrave", SCALE)["svg"].startswith("<svg")
    assert worker.call("engrave", SCALE)["pages"] == 1
    assert "<mei" in worker.call("to_mei", SCALE)["mei"]


def test_a_crash_costs_one_answer(worker: Worker) -> None:
    assert pitches(worker) == [60, 62, 64]
    before = worker.process_id
    for function in ("engrave", "to_mei", "sounding"):
        with pytest.raises(SandboxError, match=rf"{function}: the worker process crashed \(SIG[A-Z]+\)"):
            worker.call(function, CRASHER)
    assert pitches(worker) == [60, 62, 64]
    assert worker.process_id not in (None, before)


def test_killed_in_mid_work(worker: Worker) -> None:
    pitches(worker)
    process = worker.process_id
    assert process is not None
    os.kill(process, signal.SIGSTOP)  # it will never come to the end of the next request
    failed: list[SandboxError] = []

    def ask() -> None:
        try:
            pitches(worker)
        except SandboxError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: unread(process) > 0)  # before that, the worker could find it dead and start another one
    os.kill(process, signal.SIGKILL)
    thread.join()
    assert str(failed[0]) == "sounding: the worker process crashed (SIGKILL)"
    assert pitches(worker) == [60, 62, 64]


@pytest.mark.long
def test_a_hang_is_ended() -> None:
    with Worker(90.0) as worker:
        pitches(worker)
        hung = worker.process_id
        assert hung is not None
        os.kill(hung, signal.SIGSTOP)
        worker.time_limit_seconds = 0.2
        with pytest.raises(SandboxError, match=r"sounding: no answer within 0\.2 seconds"):
            pitches(worker)
        assert is_gone(hung)
        worker.time_limit_seconds = 90.0
        assert pitches(worker) == [60, 62, 64]


@pytest.mark.long
def test_a_request_that_nobody_reads_is_ended_too() -> None:
    with Worker(90.0) as worker:
        pitches(worker)
        assert worker.process_id is not None
        os.kill(worker.process_id, signal.SIGSTOP)
        worker.time_limit_seconds = 0.2
        with pytest.raises(SandboxError, match="no answer within"):
            pitches(worker, request("'4C" * 200_000))  # more than a pipe holds


def test_killed_between_two_calls_nobody_notices(worker: Worker) -> None:
    pitches(worker)
    assert worker.process_id is not None
    os.kill(worker.process_id, signal.SIGKILL)
    until(lambda: worker.process_id is None)
    assert pitches(worker) == [60, 62, 64]


def test_refusals(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match="nothing: no such function; known: engrave, to_mei, sounding"):
        worker.call("nothing", {})
    with pytest.raises(SandboxError, match="engrave: verovio refused the music"):
        worker.call("engrave", {"data": "<broken", "format": "mei"})
    with pytest.raises(SandboxError, match="engrave: 'format'"):
        worker.call("engrave", {})
    assert issubclass(SandboxError, RoslinError)
    monkeypatch.setattr(sandbox, "MAX_MESSAGE_BYTES", 10)
    with pytest.raises(SandboxError, match=r"sounding: the input is too large: \d+ bytes, at most 10"):
        pitches(worker)


def test_without_verovio(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    sandbox._verovio.cache_clear()
    answer = sandbox._answer(sandbox.FUNCTIONS, "engrave", SCALE)
    assert "No module named 'verovio'); run: pip install \"roslin[scores]\"" in answer["error"]


def test_an_interrupt_leaves_no_answer_behind(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(pipe: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "_read_message", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.call("to_mei", SCALE)
    assert pitches(worker) == [60, 62, 64]


def test_threads_share_a_worker(worker: Worker) -> None:
    songs = [request(f"'4{letter}") for letter in "CDEFGAB"] * 3
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda song: pitches(worker, song), songs))
    assert found == [[60], [62], [64], [65], [67], [69], [71]] * 3
    assert shared_worker() is shared_worker()


SCRIPT = """
import json, os, sys
from roslin.sandbox import Worker, shared_worker
music = {"data": json.dumps({"clef": "G-2", "data": "'4C"}), "format": "pae"}
worker = shared_worker()
worker.call("to_mei", music)
print(worker.process_id, flush=True)
"""
FORK = """
child = os.fork()
if child == 0:
    assert worker.call("sounding", music)["notes"][0][1] == 60
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert worker.call("sounding", music)["notes"][0][1] == 60
"""


DROP = """
forgotten = Worker()
forgotten.call("to_mei", music)
del forgotten
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("ending", "code"), [("", 0), (FORK, 0), (DROP, 0), ("raise SystemExit(3)", 3), ("os._exit(4)", 4)]
)
def test_no_worker_outlives_its_program(ending: str, code: int) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", SCRIPT + ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (code, "")
    until(lambda: is_gone(int(done.stdout)))


def test_only_the_sandbox_imports_verovio() -> None:
    folder = Path(roslin.__file__).parent
    pattern = re.compile(r"^\s*(?:import|from) verovio|import_module\(.verovio", re.MULTILINE)
    importing = [path.name for path in sorted(folder.rglob("*.py")) if pattern.search(path.read_text("utf-8"))]
    assert importing == ["sandbox.py"]

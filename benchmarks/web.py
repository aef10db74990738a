"""The web page under load: half a million melodies, two processes, fifty clients.

    .venv/bin/python benchmarks/web.py                                                 all of it, half an hour
    .venv/bin/python benchmarks/web.py --searches 0                                    the times alone, ten minutes
    .venv/bin/python benchmarks/web.py --melodies 50000 --seconds 10 --searches 200    a small form, two minutes

Makes the collection from the fragments unless one is given, starts
`roslin serve` and asks it by HTTP. Queries are the first seven notes of melodies of the collection, always the same
ones, all different; a cached page is the result page of one of twenty queries that were asked before. Prints

    alone    one client: time of an answer, of the search in it (header Server-Timing), and what is left: the web
    search   the clients together: answers a second, p50, p99, errors
    cached   the same for cached pages
    memory   of the server's processes, what they do not share, after each tenth of `--searches` searches with the
             matchers of `--mix` in turn, none of which was asked before

Targets: no error; the web takes under 15 ms of an answer at p50; memory grows by less than a tenth.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.web.running import Server, running

from real_data import FRAGMENTS, write_fragments
from roslin import Collection, Melody
from roslin.notation.jsonl import write_jsonl

SEED = 8
NOTES = 7
WEB_MILLISECONDS = 15
GROWTH = 1.1
CACHED = 20
MIX = ["emd", "twv", *["dp"] * 4, *["us"] * 4]  # an hour if all were emd
ASK_TOGETHER = 4
FOR_TIMES = 2000  # queries; the others are for the memory


@dataclass
class Answers:
    """Milliseconds of each answer, of the search in each, and what went wrong."""

    whole: list[float] = field(default_factory=list)
    search: list[float] = field(default_factory=list)
    match: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0


def main() -> int:
    """Print the figures; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", type=Path)
    parser.add_argument("--melodies", type=int, default=500_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120, help="how long the clients ask, for each kind")
    parser.add_argument("--searches", type=int, default=5000, help="for the memory; 0 leaves it out")
    parser.add_argument("--matcher", default="emd", help="for the times")
    parser.add_argument("--mix", nargs="+", default=MIX, help="for the memory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = arguments.collection or _build(folder, arguments.melodies)
        queries = list(_queries(path, FOR_TIMES + arguments.searches))
        options = ("--workers", str(arguments.workers), "--seconds", "600")
        with running(path, folder, *options) as server:
            return _measure(server, queries, arguments)


def _measure(server: Server, queries: list[str], arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    print(f"{arguments.collection or arguments.melodies}: {arguments.workers} processes, {arguments.matcher}")
    fresh = (f"/api/search?{query}&{urlencode({'matcher': arguments.matcher})}" for query in queries[:FOR_TIMES])
    for _ in range(4 * arguments.workers):  # every process has loaded its compiled code
        _ask(server, next(fresh), Answers())
    alone = Answers()
    for _ in range(20):
        _ask(server, next(fresh), alone)
    web = [a - s - m for a, s, m in zip(alone.whole, alone.search, alone.match, strict=True)]
    print(
        f"alone: answer {statistics.median(alone.whole):.1f} ms, search {statistics.median(alone.search):.1f} ms, "
        f"notes that match {statistics.median(alone.match):.1f} ms, web {statistics.median(web):.1f} ms (p50)"
    )
    lock = threading.Lock()

    def another() -> str:
        with lock:
            return next(fresh)

    searched = _together(server, another, arguments.clients, arguments.seconds)
    _print("search", searched, arguments)
    pages = [f"/?{query}&{urlencode({'matcher': arguments.matcher})}" for query in queries[:CACHED]]
    for page in pages * 3 * arguments.workers:
        _ask(server, page, Answers())
    again = cycle(pages)
    cached = _together(server, lambda: next(again), arguments.clients, arguments.seconds)
    _print("cached", cached, arguments)
    marks, errors = _memory(server, queries, arguments) if arguments.searches else ([], [])
    if marks:
        print(f"memory: {marks[-1] / 1e6:.0f} MB after all, {marks[-1] / marks[0]:.3f} times that after a tenth")
    wrong = [*alone.errors, *searched.errors, *cached.errors, *errors]
    for error in sorted(set(wrong))[:5]:
        print(f"error: {error}")
    print(f"{len(wrong)} errors; {(time.monotonic() - began) / 60:.0f} minutes")
    has_grown = bool(marks) and marks[-1] > GROWTH * marks[0]
    return int(bool(wrong) or statistics.median(web) > WEB_MILLISECONDS or has_grown)


def _together(server: Server, path: Callable[[], str], clients: int, seconds: float) -> Answers:
    answers, began = Answers(), time.monotonic()
    end = began + seconds

    def ask() -> None:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=600)
        try:
            while time.monotonic() < end:
                _ask(server, path(), answers, connection)
        except StopIteration:  # all queries are used up
            return
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.seconds = time.monotonic() - began  # those that had begun came to their end
    return answers


def _ask(server: Server, path: str, answers: Answers, connection: HTTPConnection | None = None) -> None:
    own = connection or HTTPConnection("127.0.0.1", server.port, timeout=600)
    began = time.perf_counter()
    try:
        own.request("GET", path)
        response = own.getresponse()
        body = response.read()
    except (OSError, HTTPException) as error:
        answers.errors.append(type(error).__name__)
        own.close()
        return
    took = (time.perf_counter() - began) * 1000
    if response.status != 200:
        answers.errors.append(f"{response.status} {body[:200]!r}")
        return
    parts = dict(re.findall(r"(\w+);dur=([\d.]+)", response.headers.get("Server-Timing", "")))
    answers.whole.append(took)
    answers.search.append(float(parts.get("search", 0)))
    answers.match.append(float(parts.get("match", 0)))
    if connection is None:
        own.close()


def _print(name: str, answers: Answers, arguments: argparse.Namespace) -> None:
    times = sorted(answers.whole) or [float("nan")]
    p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
    print(
        f"{name}: {arguments.clients} clients, {len(answers.whole)} answers, "
        f"{len(answers.whole) / answers.seconds:.1f} a second, p50 {statistics.median(times):.0f} ms, "
        f"p99 {p99:.0f} ms, {len(answers.errors)} errors"
    )


def _memory(server: Server, queries: list[str], arguments: argparse.Namespace) -> tuple[list[int], list[str]]:
    """(bytes after each tenth, errors); a few clients ask one search after the other."""
    count, answers, lock = arguments.searches, Answers(), threading.Lock()
    fresh = zip(queries[FOR_TIMES:], cycle(arguments.mix), strict=False)
    marks: list[int] = []

    def ask() -> None:
        while True:
            with lock:
                query, matcher = next(fresh, ("", ""))
                if len(answers.whole) >= (len(marks) + 1) * count / 10:
                    marks.append(_private(server))
                    print(f"memory: {marks[-1] / 1e6:.0f} MB after {len(answers.whole)} searches", flush=True)
            if not query:
                return
            _ask(server, f"/api/search?{query}&{urlencode({'matcher': matcher})}", answers)

    threads = [threading.Thread(target=ask) for _ in range(ASK_TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [*marks, _private(server)], answers.errors


def _private(server: Server) -> int:
    """Bytes that the processes of the server do not share with anybody."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    total = 0
    for process in [str(server.process.pid), *children]:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private"):
                total += int(line.split()[1]) * 1024
    return total


def _queries(path: Path, count: int) -> Iterator[str]:
    """Beginnings of melodies, as parameters of an address."""
    chosen = random.Random(SEED)
    with Collection(path) as collection:
        numbers = chosen.sample(range(len(collection)), min(3 * count, len(collection)))
        seen = set()
        for melody in collection.melodies(numbers):
            notes = melody.notes[~melody.notes["is_grace"]][:NOTES]
            if len(notes) < NOTES or notes.tobytes() in seen:
                continue
            seen.add(notes.tobytes())
            text = json.dumps({"notes": json.loads(write_jsonl(Melody(notes)))["notes"]}, separators=(",", ":"))
            yield urlencode({"q": text, "notation": "jsonl"})
            if len(seen) == count:
                return


def _build(folder: Path, melodies: int) -> Path:
    source = folder / "fragments.jsonl.gz"
    write_fragments(FRAGMENTS, melodies, source)
    Collection.build(source, folder / "fragments.roslin").close()
    source.unlink()
    return folder / "fragments.roslin"


if __name__ == "__main__":
    sys.exit(main())

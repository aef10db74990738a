"""A server among hostile clients: is it well, are real requests answered, do memory and files grow?

    .venv/bin/python benchmarks/hostile_clients.py                                  all of it, ten minutes
    .venv/bin/python benchmarks/hostile_clients.py --sockets 300 --seconds 5        a small form, two minutes
    .venv/bin/python benchmarks/hostile_clients.py --page dev/measurements/hostile-clients.md    and write the tables

Starts `roslin serve` with the starter collection, open to others, and attacks it from 16 addresses, in two waves:

    idle        sockets that say nothing
    headers     sockets whose headers come byte by byte and never end
    bodies      uploads of 4 MB that come byte by byte
    deaf        requests for pages of which nothing is read
    uploads     files made to be slow: newlines, brackets, tags, digits, 4 MB each
    searches    200 clients that search and explain by several matchers, while the process that engraves is killed again
                and again

Whatever is cut off or refused is tried again after a second. Meanwhile another process (`watching.py`) asks ten times a
second for /healthz, each time on a new connection, and once a second for a drawing of a query, as a person would. A
look at /healthz that takes longer than the limit is repeated once, and counted. It is counted apart where it would have
been within the limit, had the server been given a processor whenever it could run: other programs may use the computer.

Targets: /healthz under 0.5 seconds throughout, with at most one look repeated; no answer 500; every real request
answered; after the second wave at most 64 MB more memory than after the first, which the cache of answers fills, and no
more open files but for pipes of processes that were started since.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.watching import status_of
from tests.waiting import until
from tests.web.running import Server, running

from roslin import Collection
from roslin.starter import tunes_path

LIMIT_SECONDS = 0.5
SPARE_MEGABYTES = 64  # the cache of answers fills: with nine waves memory levelled off 60 MB above the first
SPARE_FILES = 8  # readers and threads that were started since
ADDRESSES = [f"127.0.0.{number}" for number in range(2, 18)]
CLIENTS = 200
UPLOADS = 8
MATCHERS = ("dp", "us", "roslin", "emd", "gam", "orio")
QUERIES = ("'4CDEC/CDEC/EF2G/", "'4GGAG/''C'2B", "''4EEFG/GFED/", "'8CDEFGABG/4C", "'4C''C'BA/GFED/")
FILES = {
    "newlines": b"\n" * 4_000_000,
    "brackets": b"{" * 4_000_000,
    "tags": b"<?xml version='1.0'?>" + b"<a>" * 1_000_000,
    "digits": b"'" + b"9" * 3_000_000 + b"C",
    "notes": b"%G-2 '" + b"4C" * 1_900_000,
}
SEED = 19
_MARK = "<!-- by benchmarks/hostile_clients.py -->"


@dataclass
class Seen:
    """What the watching process saw in one attack. Times are in milliseconds."""

    looks: list[float] = field(default_factory=list)
    repeated: list[tuple[float, float]] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    real: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Figures:
    """One attack: what was seen, what the attackers were answered, and what the server had of the computer after it."""

    attack: str
    wave: int
    seen: Seen
    answers: Counter[int]
    megabytes: float
    files: int

    @property
    def slowest(self) -> float:
        """Milliseconds of the slowest look at /healthz; of one that was repeated, the faster one."""
        return max([*self.seen.looks, *(min(pair) for pair in self.seen.repeated)], default=0.0)

    @property
    def failures(self) -> list[str]:
        """What missed its target."""
        missed = []
        if self.slowest > LIMIT_SECONDS * 1000 or len(self.seen.repeated) > 1:
            missed.append(f"/healthz took {self.slowest:.0f} ms; repeated looks: {self.seen.repeated}")
        if self.answers[500]:
            missed.append(f"{self.answers[500]} answers 500")
        if set(self.seen.real) != {200}:
            missed.append(f"real requests were answered {dict(self.seen.real)}")
        return missed


# -- the process that watches: benchmarks/watching.py ------------------------------------------------------------------


@asynccontextmanager
async def watched(server: Server, seen: Seen) -> AsyncIterator[None]:
    """Look after the server in a process of its own, as long as the block lasts."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("watching.py")),
        str(server.port),
        str(server.process.pid),
        str(LIMIT_SECONDS),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=2**24,
    )
    assert process.stdout is not None
    await process.stdout.readline()  # it watches
    try:
        yield
    finally:
        told = json.loads((await process.communicate(b"\n"))[0])
        seen.looks, seen.busy = told["looks"], told["busy"]
        seen.repeated = [(first, second) for first, second in told["repeated"]]
        seen.real = Counter({int(status): count for status, count in told["real"].items()})


# -- those who attack -------------------------------------------------------------------------------------------------


@dataclass
class Attack:
    """One kind of client: what each does on a connection, again and again until the time is over."""

    name: str
    clients: int
    what: Callable[[Target, int], Awaitable[None]]
    pause_seconds: float = 1.0  # before it is tried again
    kills_engraver: bool = False


@dataclass
class Target:
    """The server, when the attack ends, and how the attackers were answered."""

    port: int
    until: float
    answers: Counter[int] = field(default_factory=Counter)

    async def connect(self, number: int, **options: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection from one of the addresses."""
        made = socket.socket()
        for option, value in options.items():
            made.setsockopt(socket.SOL_SOCKET, getattr(socket, option), value)
        made.setblocking(False)
        made.bind((ADDRESSES[number % len(ADDRESSES)], 0))
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", self.port))
        return await asyncio.open_connection(sock=made)

    async def ask(self, number: int, request: bytes) -> None:
        """Send a request, and note the status of the answer."""
        reader, writer = await self.connect(number)
        try:
            writer.write(request)
            await writer.drain()
            received = await reader.read()
            self.answers[int(received.split(b" ", 2)[1]) if received else 0] += 1
        finally:
            writer.close()


async def _sit(target: Target, number: int) -> None:
    reader, writer = await target.connect(number)
    await _until_cut(target, reader, writer)


async def _drip(target: Target, number: int, beginning: bytes) -> None:
    reader, writer = await target.connect(number)
    writer.write(beginning)
    await _until_cut(target, reader, writer, b"x")


async def _until_cut(
    target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, drop: bytes = b""
) -> None:
    try:
        while time.monotonic() < target.until:
            with suppress(TimeoutError):
                received = await asyncio.wait_for(reader.read(4096), 1.0)
                if received:
                    target.answers[int(received.split(b" ", 2)[1])] += 1
                return
            writer.write(drop)
    finally:
        writer.close()


async def _headers(target: Target, number: int) -> None:
    await _drip(target, number, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")


async def _body(target: Target, number: int) -> None:
    kind = b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 4000000\r\n\r\n--b\r\n"
    await _drip(target, number, b"POST /api/read HTTP/1.1\r\nHost: localhost\r\n" + kind)


async def _deaf(target: Target, number: int) -> None:
    _, writer = await target.connect(number, SO_RCVBUF=2048)
    try:
        writer.write(b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        await asyncio.sleep(max(min(20.0, target.until - time.monotonic()), 0))
    finally:
        writer.transport.abort()


async def _upload(target: Target, number: int) -> None:
    data = list(FILES.values())[number % len(FILES)]
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="tune"\r\n\r\n' + data + b"\r\n--b--\r\n"
    head = b"POST /api/read HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n" % len(body)
    await target.ask(number, head + b"Content-Type: multipart/form-data; boundary=b\r\n\r\n" + body)


async def _search(target: Target, number: int) -> None:
    chosen = random.Random(SEED * number + int(time.monotonic() * 10))
    path = chosen.choice(("/", "/results", "/api/search", "/api/search", "/explain", "/api/read"))
    asked = {"q": chosen.choice(QUERIES) + "".join(chosen.choices("CDEFGAB", k=4)), "matcher": chosen.choice(MATCHERS)}
    if path == "/explain":
        asked["candidate"] = "frere-jacques"
    if path == "/api/read":
        del asked["matcher"]
    address = f"{path}?{urlencode(asked, quote_via=quote)}"
    await target.ask(number, f"GET {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())


def attacks(sockets: int, clients: int) -> list[Attack]:
    """All kinds, in their order."""
    return [
        Attack("idle", sockets, _sit),
        Attack("headers", sockets, _headers),
        Attack("bodies", sockets // 4, _body),
        Attack("deaf", sockets // 20, _deaf),
        Attack("uploads", UPLOADS, _upload, 0.0),
        Attack("searches", clients, _search, 0.0, kills_engraver=True),
    ]


async def carried_out(attack: Attack, server: Server, seconds: float) -> tuple[Seen, Counter[int]]:
    """What was seen while an attack went on for so many seconds, and how the attackers were answered."""
    target, seen = Target(server.port, time.monotonic() + seconds), Seen()

    async def one(number: int) -> None:
        for turn in itertools.count():
            if time.monotonic() >= target.until:
                return
            with suppress(OSError):  # refused, or cut off
                await attack.what(target, number + turn * 7919)
            await asyncio.sleep(attack.pause_seconds)

    async def kill() -> None:
        while attack.kills_engraver and time.monotonic() < target.until:
            await asyncio.sleep(0.3)
            _kill_engraver(server.process.pid)

    async with watched(server, seen):
        await asyncio.gather(kill(), *(one(number) for number in range(attack.clients)))
    return seen, target.answers


def _kill_engraver(parent: int) -> None:
    for child in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            for number in child.read_text().split():
                command = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
                if b"roslin.sandbox" in command[4:]:
                    os.kill(int(number), signal.SIGKILL)


# -- the server -------------------------------------------------------------------------------------------------------


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    """A server that is open to others, without a limit of rate, which draws everything anew; when it is ready."""
    collection = folder / "starter.roslin"
    Collection.build(tunes_path(), collection).close()
    options = ("--host", "0.0.0.0", "--rate", "100000000")
    with running(collection, folder, *options, environment={**os.environ, "ROSLIN_CACHE_MEGABYTES": "0"}) as server:
        until(lambda: status_of(server.port, "/readyz") == 200, 180)
        for path, matcher in itertools.product(("/results", "/explain"), MATCHERS):
            asked = {"q": QUERIES[0], "matcher": matcher, "candidate": "frere-jacques"}
            status_of(server.port, f"{path}?{urlencode(asked)}")  # what is loaded once is no growth
        yield server


def of_computer(server: Server) -> tuple[float, int]:
    """Megabytes in memory and open files of the server's process, when all connections are over."""
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        time.sleep(1)
        if len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) == files:
            break
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    kilobytes = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return kilobytes / 1000, files


def attacked(server: Server, chosen: list[Attack], seconds: float, waves: int = 2) -> list[Figures]:
    """The figures of all attacks in all waves, told on stderr as they come."""
    found = []
    for wave, attack in itertools.product(range(1, waves + 1), chosen):
        seen, answers = asyncio.run(carried_out(attack, server, seconds))
        figures = Figures(attack.name, wave, seen, answers, *of_computer(server))
        found.append(figures)
        print(_row(figures), *figures.failures, file=sys.stderr, flush=True)
    return found


def grown(found: list[Figures]) -> list[str]:
    """What there is more of after the last wave than after the first, by more than is allowed."""
    last = found[-1].wave
    before, after = ([each for each in found if each.wave == wave][-1] for wave in (1, last))
    missed = []
    if after.megabytes > before.megabytes + SPARE_MEGABYTES:
        missed.append(f"memory grew from {before.megabytes:.0f} to {after.megabytes:.0f} MB")
    if after.files > before.files + SPARE_FILES:
        missed.append(f"open files grew from {before.files} to {after.files}")
    return missed


def _row(figures: Figures) -> str:
    seen = figures.seen
    answered = ", ".join(f"{count:,} × {status or 'none'}" for status, count in sorted(figures.answers.items())) or "–"
    middle = statistics.median(seen.looks) if seen.looks else 0.0
    cells = [
        str(figures.wave),
        figures.attack,
        f"{len(seen.looks)}",
        f"{middle:.0f}",
        f"{figures.slowest:.0f}",
        f"{len(seen.repeated)}",
        f"{len(seen.busy)}",
        f"{seen.real[200]} of {seen.real.total()}",
        answered,
        f"{figures.megabytes:.0f}",
        f"{figures.files}",
    ]
    return f"| {' | '.join(cells)} |"


def table(found: list[Figures]) -> str:
    """All figures in Markdown."""
    heads = (
        "wave", "attack", "looks at `/healthz`", "median, ms", "slowest, ms", "repeated", "computer busy",
        "real requests answered", "answers to the attackers", "memory, MB", "open files",
    )  # fmt: skip
    ruler = "|" + "|".join(["---:", "---", *["---:"] * 6, "---", "---:", "---:"]) + "|"
    return "\n".join([f"| {' | '.join(heads)} |", ruler, *map(_row, found)])


def main() -> int:
    """Print the figures; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sockets", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each attack")
    parser.add_argument("--page", type=Path, help="put the table into this page")
    arguments = parser.parse_args()
    allow_files(arguments.sockets + 500)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        found = attacked(server, attacks(arguments.sockets, arguments.clients), arguments.seconds)
        code = server.end()
        log = server.log.read_text()
    printed = table(found)
    print(printed)
    if arguments.page:
        before, _, rest = arguments.page.read_text("utf-8").partition(_MARK)
        after = rest.partition(_MARK)[2]
        arguments.page.write_text(f"{before}{_MARK}\n{printed}\n{_MARK}{after}", "utf-8")
    missed = [f"{each.attack}, wave {each.wave}: {why}" for each in found for why in each.failures] + grown(found)
    if code or "Traceback" in log:
        missed.append(f"exit code {code}, {log.count('Traceback')} tracebacks in the log")
    for each in missed:
        print(f"missed: {each}")
    return 1 if missed else 0


def allow_files(count: int) -> None:
    """Ask the system for so many open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())

"""Every command that writes something: killed, with a damaged source, on a full disk, in a read-only folder.

    .venv/bin/python tools/faults_by_command.py                       the table, to stdout
    .venv/bin/python tools/faults_by_command.py --only "truth group"  some commands
    .venv/bin/python tools/faults_by_command.py -o dev/measurements/faults-by-command.md

Each command runs in a folder on a small disk of its own (tmpfs), which needs root or `unshare --user`. Before the fault
the folder has an older output of the command where it may have one. Afterwards each file must be the old one or the
complete new one, and the same command must then complete.

    killed           SIGKILL at several moments of its undisturbed time
    damaged source   one input is cut off, or has bytes in its middle that do not belong there
    full disk        nothing is free, or half of what the command writes
    read-only        the disk is mounted read-only
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import roslin.api
import roslin.cli
from roslin.collection.check import check
from roslin.concordances.review import Review
from roslin.starter import truth_path, tunes_path
from soak_child import in_child, killed_child
from soak_kills import contents

_DISK_MEGABYTES = 64
_KILLS = (0.15, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
_PAGE = 4096
# Made again when it is needed, or only there while somebody writes.
_PASSING = re.compile(
    r"(^|/)cache/(?!data/)|(^|/)\.new-[0-9a-f]{8}(/|$)|\.part(/|$)|\.(lock|lock-journal|(db|sqlite)-(wal|shm|journal))$"
)
_OLD = b"an older output\n"
_DATED = "manifest.json"  # holds the minute of its making
_WRITING = ("output", "save", "svg", "html", "run_file", "midi")  # parameters of commands
# How a file of a kind that holds times, keys or drawn numbers ends when it is whole.
_ENDS = {".html": b"</html>", ".svg": b"</svg>", ".xml": b">", ".graphml": b"</graphml>", ".json": b"}", ".jsonl": b"}"}


@dataclass(frozen=True, slots=True)
class Case:
    """A command, what it writes, the source that is damaged, and the command that makes an older output."""

    words: str
    target: str = ""
    source: str = ""
    old: str = ""  # a command; without one, a target that is a file has other content
    is_new: bool = False  # the target must not be there yet
    needs: str = ""  # a command to run before, when the place is made

    @property
    def name(self) -> str:
        """Its first words."""
        return " ".join(word for word in shlex.split(self.words)[:3] if re.fullmatch("[a-z-]+", word))


CASES = [
    Case("filter mine.roslin --note-count 5..30 --save ids.txt", "ids.txt", "mine.roslin/collection.sqlite"),
    Case("search mine.roslin --id ode-to-joy -k 3 --run out.run", "out.run", "mine.roslin/collection.sqlite"),
    Case("search mine.roslin --id ode-to-joy -k 3 --html out.html", "out.html", "mine.roslin/collection.sqlite"),
    Case("search fresh.roslin --id ode-to-joy -k 3", needs="collection build tunes.jsonl fresh.roslin"),
    Case("explain mine.roslin ode-to-joy-2 --id ode-to-joy --svg flow.svg",
         "flow.svg", "mine.roslin/collection.sqlite"),
    Case("explain mine.roslin ode-to-joy-2 --id ode-to-joy --html why.html",
         "why.html", "mine.roslin/collection.sqlite"),
    Case("show mine.roslin --id ode-to-joy --output tune.svg", "tune.svg", "mine.roslin/collection.sqlite"),
    Case("show mine.roslin --id ode-to-joy --output tune.svg --midi tune.mid",
         "tune.mid", "mine.roslin/collection.sqlite"),
    Case("evaluate truth.qrel a.run -m ADR -o table.tsv --format tsv", "table.tsv", "a.run"),
    Case("collection build tunes.jsonl new.roslin",
         "new.roslin", "tunes.jsonl", old="collection build more.jsonl new.roslin"),
    Case("collection build tunes.jsonl first.roslin", "first.roslin", "tunes.jsonl", is_new=True),
    Case("collection add more.jsonl mine.roslin", "mine.roslin", "more.jsonl"),
    Case("collection remove mine.roslin ode-to-joy", "mine.roslin", "mine.roslin/collection.sqlite"),
    Case("collection export mine.roslin out.jsonl", "out.jsonl", "mine.roslin/collection.sqlite"),
    Case("collection export mine.roslin out.parquet", "out.parquet", "mine.roslin/collection.sqlite"),
    Case("collection shard mine.roslin --parts 2 -o shards", "shards", "mine.roslin/collection.sqlite",
         old="collection shard old.roslin --parts 2 -o shards"),
    Case("campaign run mine.roslin --truth truth.qrel --matcher dp --matcher us -o campaign", "campaign", "truth.qrel",
         old="campaign run mine.roslin --truth truth.qrel --matcher dp -o campaign"),
    Case("campaign make-queries mine.roslin -o queries.jsonl", "queries.jsonl", "mine.roslin/collection.sqlite"),
    Case("concordances find records.roslin -o records.concordances", "records.concordances",
         "records.roslin/collection.sqlite",
         old="concordances find records.roslin --level perhaps"),
    Case("concordances report records.roslin -o pages", "pages", "records.roslin/collection.sqlite",
         old="concordances report records.roslin -o pages --link https://example.org/{id}"),
    Case("concordances report records.roslin -o page.html", "page.html", "records.roslin/collection.sqlite"),
    Case("concordances export pairs records.roslin -o pairs.csv", "pairs.csv", "records.roslin/collection.sqlite"),
    Case("concordances export graphml records.roslin -o pairs.graphml",
         "pairs.graphml", "records.roslin/collection.sqlite"),
    Case("concordances marc records.roslin --source records.xml -o patches", "patches", "records.xml", is_new=True),
    Case("concordances review merge anna.jsonl ben.jsonl -o all.jsonl", "all.jsonl", "ben.jsonl",
         old="concordances review merge anna.jsonl -o all.jsonl"),
    Case("concordances review merge anna.jsonl ben.jsonl -o records.roslin", "records.roslin", "ben.jsonl"),
    Case("runs fuse a.run b.run -o both.run", "both.run", "b.run"),
    Case("runs pool a.run b.run -o pool.csv", "pool.csv", "b.run"),
    Case("truth group rankings.csv -o out.qrel", "out.qrel", "rankings.csv"),
    Case("truth report rankings.csv -o truth.html", "truth.html", "rankings.csv"),
    Case("truth strengths rankings.csv -o out.json --resamples 20 --shuffles 0", "out.json", "rankings.csv"),
    Case("truth votes votes.csv -o voted.qrel --shuffles 0", "voted.qrel", "votes.csv"),
    Case("truth simulate -o simulated.csv", "simulated.csv"),
    Case("truth convert truth.qrel truth.json", "truth.json", "truth.qrel"),
    Case("experiment example new-study", "new-study", is_new=True),
    Case("experiment create new.toml -o new.study", "new.study", "new.toml", is_new=True),
    Case("experiment create study.toml", "my.study", "study.toml"),
    Case("experiment invite my.study -n 3 -o links.csv", "links.csv", "my.study/study.db"),
    Case("experiment export my.study -o results", "results", "my.study/study.db", is_new=True),
    Case("experiment backup my.study -o my.backup", "my.backup", "my.study/study.db", is_new=True),
    Case("experiment move my.study sqlite:///moved.db", "moved.db", "my.study/study.db", is_new=True),
    Case("experiment delete my.study expert-001 --yes", "my.study", "my.study/study.db"),
    Case("experiment bots my.study -n 2 --think 0 -o bots", "bots", "my.study/study.db", is_new=True),
    Case("data get toy --from toy", "cache/data/toy", "toy/a.txt", is_new=True),
    Case("demo --output demo", "demo", old="demo --output demo"),
]  # fmt: skip


def writers() -> Iterator[tuple[str, str]]:
    """Every command with an option for what it writes, and that option."""
    import typer

    def walked(command: Any, words: list[str]) -> Iterator[tuple[str, str]]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from walked(inner, [*words, name])
        for each in getattr(command, "params", ()):
            if each.name in _WRITING and each.opts[0].startswith("-"):
                yield " ".join(words), each.opts[0]

    yield from walked(typer.main.get_command(roslin.cli.app), [])


# -- a place ----------------------------------------------------------------------------------------------------------


@contextmanager
def _disk(place: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_MEGABYTES}m", "roslin", place], check=True)
    try:
        yield place
    finally:
        os.chdir("/")
        subprocess.run(["umount", "--lazy", place], check=True)


def _make(folder: Path) -> None:
    """The sources of all commands."""
    lines = tunes_path().read_text("utf-8").splitlines(keepends=True)
    (folder / "tunes.jsonl").write_text("".join(lines), "utf-8")
    (folder / "more.jsonl").write_text(
        "".join(line.replace('"id": "', '"id": "more-', 1) for line in lines[:20]), "utf-8"
    )
    (folder / "truth.qrel").write_bytes(truth_path().read_bytes())
    (folder / "records.xml").write_text(f"<collection>{''.join(map(_record, range(24)))}</collection>", "utf-8")
    votes = "".join(f"q{q},{a},{b},{'a' if a < b else 'b'}\n" for q in range(2) for a in "xyz" for b in "xyz" if a != b)
    (folder / "votes.csv").write_text(f"query,first,second,answer\n{votes * 4}", "utf-8")
    (folder / "toy").mkdir()
    (folder / "toy" / "a.txt").write_bytes(b"a toy\n" * 5000)
    for words in (
        "collection build tunes.jsonl mine.roslin",
        "collection build more.jsonl old.roslin",
        "collection build records.xml records.roslin",
        "search mine.roslin --id ode-to-joy -k 3",
        "concordances find records.roslin -o records.concordances",
        "campaign run mine.roslin --truth truth.qrel --matcher dp --matcher us -o c",
        "truth simulate -o rankings.csv --queries 2 --experts 8 --candidates 5",
        "experiment example s",
    ):
        _prepared(folder, words)
    for run, name in zip(sorted((folder / "c" / "runs").glob("*.run*")), ("a.run", "b.run"), strict=True):
        run.replace(folder / name)
    shutil.rmtree(folder / "c")
    for name in ("anna", "ben"):
        review = Review.open(folder / f"{name}.jsonl", digest_of=lambda id: hashlib.sha256(id.encode()).hexdigest())
        review.decide("0-1.1.1", f"{6 if name == 'anna' else 12}-1.1.1", "accept", "", name)
    _study(folder)


def _study(folder: Path) -> None:
    """A small study in which some simulated experts have answered."""
    text = (folder / "s" / "study.toml").read_text("utf-8")
    head, _, _ = text.partition("[[queries]]")
    query = (
        '[[queries]]\nid = "ode-to-joy"\ncandidates = ["ode-to-joy-2", "ode-to-joy-3", "la-folia", "greensleeves"]\n'
    )
    head = head.replace("queries_per_expert = 3", "queries_per_expert = 1").replace("starter.roslin", "mine.roslin")
    for path in (folder / "s").iterdir():
        if path.name == "texts":
            path.rename(folder / "texts")
    shutil.rmtree(folder / "s")
    (folder / "study.toml").write_text(head.replace('name = "starter"', 'name = "my"') + query, "utf-8")
    (folder / "new.toml").write_text(head.replace('name = "starter"', 'name = "new"') + query, "utf-8")
    _prepared(folder, "experiment create study.toml")
    _prepared(folder, "experiment bots my.study -n 3 --think 0 -o answered")
    shutil.rmtree(folder / "my.study")
    (folder / "answered").rename(folder / "my.study")


def _record(number: int) -> str:
    tunes = [
        "'4CDEC/CDEC/EF2G/EF2G/",
        "'4EEFG/GFED/CCDE/4.E8D2D/",
        "''4C'BAG/FEDC/GAB''C/2C'G/",
        "'4CEG''C/'BAGF/EGFD/2C/",
    ]
    subfields = "".join(
        f'<subfield code="{code}">{text}</subfield>'
        for code, text in zip("abcgnop", ("1", "1", "1", "G-2", "", "4/4", tunes[number % 4]), strict=True)
    )
    return (
        f'<record><controlfield tag="001">{number}</controlfield><datafield tag="100"><subfield code="a">Composer '
        f'{number % 3}</subfield></datafield><datafield tag="031">{subfields}</datafield></record>'
    )


def _prepared(folder: Path, words: str) -> None:
    ended = _run(folder, words)
    if ended[0] != 0:
        raise RuntimeError(f"{words!r} does not work at all: {ended}")


def _run(folder: Path, words: str, after_s: float | None = None) -> tuple[int, str, float]:
    """(exit code, what it said, seconds) of a command in a folder, in a process of its own."""
    said = Path(gettempdir()) / f"roslin-said-{os.getpid()}"  # on another disk
    group = said.with_suffix(".group")

    def command() -> int:
        os.setsid()
        group.write_text(str(os.getpid()))
        os.chdir(folder)
        descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, 2)
        os.environ["ROSLIN_CACHE"] = str(folder / "cache")
        os.environ.pop("ROSLIN_DATA", None)
        sys.argv = ["roslin", *shlex.split(words)]
        _pretend_toy()
        try:
            roslin.cli.main()
        except SystemExit as error:
            return int(error.code or 0)
        return 0

    ended = in_child(command) if after_s is None else killed_child(command, after_s)
    message = said.read_text("utf-8", "replace") if said.exists() else ""
    with suppress(ProcessLookupError, FileNotFoundError):  # whom it had started, and no longer ends itself
        os.killpg(int(group.read_text()), signal.SIGKILL)
    said.unlink(missing_ok=True)
    group.unlink(missing_ok=True)
    if ended.signal:
        return -9, ended.signal, ended.seconds
    return (ended.value if ended.is_good else 1), message + ended.error, ended.seconds


def _pretend_toy() -> None:
    """A data set of one small file."""
    from roslin.data import DATA_SETS, DataFile, DataSet

    sha = hashlib.sha256(b"a toy\n" * 5000).hexdigest()
    toy = DataSet("toy", "A toy.", "CC0", "Nobody 2005.", (DataFile("a.txt", "https://example.org/a.txt", sha),))
    DATA_SETS["toy"] = toy


# -- what is there ----------------------------------------------------------------------------------------------------


def _seen(folder: Path) -> dict[str, str]:
    """What is in a folder, file by file; collections and databases by what they hold, not by how they lie there."""
    found = dict[str, str]()
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        is_collection = (path.parent / "collection.sqlite").exists() and path.name != "review.jsonl"
        if (path / "collection.sqlite").exists() and not _PASSING.search(name):
            found[name] = _outcome(partial(_collection, path))
        # A first build that was stopped leaves files that no command sees, and that the next build removes.
        elif path.is_file() and not (_PASSING.search(name) or is_collection or path.parent.suffix == ".roslin"):
            found[name] = _outcome(partial(_database, path)) if path.suffix == ".db" else _digest(path)
    return found


def _outcome(looked: Callable[[], str]) -> str:
    ended = in_child(looked)
    return str(ended.value) if ended.is_good else f"broken: {ended.signal or ended.error.strip().splitlines()[-1]}"


def _collection(path: Path) -> str:
    faults = check(path)
    return f"broken: {faults[0]}" if faults else contents(path)


def _database(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        (is_whole,) = database.execute("PRAGMA integrity_check").fetchone()
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        counts = [database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names]
    return f"rows {counts}" if is_whole == "ok" else f"broken: {is_whole}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_complete(folder: Path, name: str, first: str, second: str, now: str) -> bool:
    """Whether a file is what the command writes undisturbed: the same, or whole where that differs each time."""
    if first == second and not name.endswith(_DATED):
        return now == first
    content = (folder / name).read_bytes() if (folder / name).is_file() else b""
    return content.rstrip().endswith(_ENDS.get(Path(name).suffix, b"\n"[:0])) and bool(content)


@dataclass(frozen=True, slots=True)
class _Undisturbed:
    """What there is before a command and after it (twice: what differs holds times or keys), and how long it takes."""

    before: dict[str, str]
    once: dict[str, str]
    again: dict[str, str]
    seconds: float
    pages: int  # of the disk that it needs

    def faults(self, folder: Path, now: dict[str, str]) -> Iterator[str]:
        """Each file that is neither the old one nor the complete new one."""
        for name in sorted({*self.before, *now}):
            is_old = now.get(name) == self.before.get(name)
            is_gone = name not in now and name not in self.once
            if is_old or is_gone:
                continue
            if name not in now:
                yield f"lost: {name}"
            elif name not in self.once and name not in self.again:
                yield f"left over: {name}"
            elif not _is_complete(folder, name, self.once.get(name, ""), self.again.get(name, ""), now[name]):
                yield f"{'half written' if name in self.before else 'unfinished'}: {name}"

    def state(self, folder: Path) -> str:
        """In words: as it was, new, partly new, or what is wrong."""
        now = _seen(folder)
        if faults := list(self.faults(folder, now)):
            return "; ".join(faults[:3]) + (f" and {len(faults) - 3} more" if len(faults) > 3 else "")
        changed = {name for name in {*self.before, *self.once} if self.before.get(name) != self.once.get(name)}
        new = {name for name in changed if now.get(name) != self.before.get(name)}
        if not changed or not new:
            return "as it was"
        return "new" if new == changed else "partly new"


# -- the sweep --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """A command, a fault, and what came of it."""

    command: str
    fault: str
    code: str
    message: str
    data: str
    again: str

    @property
    def is_good(self) -> bool:
        """Whether nothing is lost or half done, the refusal is one line, and the command completes afterwards."""
        is_lost = re.search("lost|half|broken|left over", self.data)  # what is unfinished was not there before
        return (
            not is_lost
            and self.again == "completes"
            and "Traceback" not in self.message
            and "lines" not in self.message
        )


class Sweep:
    """All faults of one command after the other."""

    def __init__(self, template: Path, disk: Path):
        self.template, self.prepared, self.disk = template, template.with_name("prepared"), disk
        self.folder = disk / "w"

    def rows(self, case: Case) -> Iterator[Row]:
        """What comes of each fault."""
        try:
            undisturbed = self._undisturbed(case)
        except RuntimeError as error:
            yield Row(case.words, "none", "", str(error).splitlines()[-1], "broken", "")
            return
        yield self._killed(case, undisturbed)
        if case.source:
            for fault in ("cut off", "bytes"):
                yield self._damaged(case, undisturbed, fault)
        for free in (0, undisturbed.pages // 2):
            yield self._full(case, undisturbed, free)
        yield self._read_only(case, undisturbed)

    def _prepare(self, case: Case) -> None:
        """What there is before the command."""
        shutil.rmtree(self.prepared, ignore_errors=True)
        shutil.copytree(self.template, self.prepared)
        for words in filter(None, (case.needs, case.old)):
            _prepared(self.prepared, words)
        if case.target and not (case.is_new or (self.prepared / case.target).exists()):
            (self.prepared / case.target).write_bytes(_OLD)

    def _start(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.prepared, self.folder)

    def _undisturbed(self, case: Case) -> _Undisturbed:
        self._prepare(case)
        seen = []
        for _ in range(2):
            self._start()
            before, used = _seen(self.folder), self._free()
            code, message, seconds = _run(self.folder, case.words)
            if code != 0:
                raise RuntimeError(f"{case.words!r} does not work at all: {code} {message}")
            seen.append(_seen(self.folder))
        return _Undisturbed(before, seen[0], seen[1], seconds, max(2, used - self._free()))

    def _free(self) -> int:
        return os.statvfs(self.disk).f_bavail

    def _killed(self, case: Case, undisturbed: _Undisturbed) -> Row:
        codes, states, again = Counter[str](), Counter[str](), Counter[str]()
        for part in _KILLS:
            self._start()
            code, _, _ = _run(self.folder, case.words, part * undisturbed.seconds)
            codes[str(code)] += 1
            state = undisturbed.state(self.folder)
            states[state] += 1
            again[self._again(case, undisturbed, state)] += 1
        return Row(
            case.words, f"killed at {len(_KILLS)} moments", _counted(codes), "", _counted(states), _counted(again)
        )

    def _damaged(self, case: Case, undisturbed: _Undisturbed, fault: str) -> Row:
        self._start()
        source = self.folder / case.source
        whole = source.read_bytes()
        middle = len(whole) // 2
        damaged = (
            whole[: middle + 7] if fault == "cut off" else whole[:middle] + b"\xff\x00" * 40 + whole[middle + 80 :]
        )
        source.write_bytes(damaged)
        code, message, _ = _run(self.folder, case.words)
        if code != 0 or (source.exists() and source.read_bytes() == damaged):
            source.write_bytes(whole)
        state = undisturbed.state(self.folder)
        if code == 0 and state.startswith(
            ("half written", "unfinished")
        ):  # the output of what could be read, as the message tells
            broken = [name for name, held in _seen(self.folder).items() if held.startswith("broken")]
            return Row(
                case.words,
                f"source {fault}",
                "0",
                _shown(message, self.folder),
                "without what is damaged",
                *(["completes"] if not broken and _run(self.folder, case.words)[0] == 0 else [f"broken: {broken}"]),
            )
        return self._row(case, undisturbed, f"source {fault}", code, message, state)

    def _full(self, case: Case, undisturbed: _Undisturbed, free: int) -> Row:
        self._start()
        filler = self.disk / "filler"
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, self._free() - free) * _PAGE)
        code, message, _ = _run(self.folder, case.words)
        filler.unlink()
        fault = "full disk" if not free else f"full disk after {free * _PAGE // 1024} kB"
        return self._row(case, undisturbed, fault, code, message, undisturbed.state(self.folder))

    def _read_only(self, case: Case, undisturbed: _Undisturbed) -> Row:
        self._start()
        while subprocess.run(["mount", "-o", "remount,ro", self.disk], capture_output=True).returncode:
            time.sleep(0.1)  # somebody who was killed has not closed everything yet
        code, message, _ = _run(self.folder, case.words)
        subprocess.run(["mount", "-o", "remount,rw", self.disk], check=True)
        return self._row(case, undisturbed, "read-only", code, message, undisturbed.state(self.folder))

    def _row(self, case: Case, undisturbed: _Undisturbed, fault: str, code: int, message: str, state: str) -> Row:
        return Row(
            case.words, fault, str(code), _shown(message, self.folder), state, self._again(case, undisturbed, state)
        )

    def _again(self, case: Case, undisturbed: _Undisturbed, state: str) -> str:
        """Whether the same command completes when the fault is over."""
        code, message, _ = _run(self.folder, case.words)
        now = undisturbed.state(self.folder)
        if scratch := [path.name for part in (".new-*", "*.part") for path in self.folder.rglob(part)]:
            now = f"left over: {', '.join(scratch)}"
        # Complete before: what must be new is there, and invitations are made once more.
        is_done = state == "new" and code in (0, 2) and "broken" not in now and "left over" not in now
        if is_done or (code == 0 and now in ("new", "as it was")):
            return "completes"
        return f"{now}: {_shown(message, self.folder)}"


def _counted(values: Counter[str]) -> str:
    return (
        next(iter(values)) if len(values) == 1 else ", ".join(f"{value} ({count})" for value, count in values.items())
    )


def _shown(message: str, folder: Path) -> str:
    """The refusal: its one line, or how many there are."""
    if "Traceback" in message:
        return f"Traceback: {message.strip().splitlines()[-1]}"
    refusals = [line for line in message.splitlines() if line.startswith("roslin: ")]
    text = refusals[-1].removeprefix("roslin: ") if refusals else (message.strip().splitlines() or [""])[-1]
    return text.replace(f"{folder}/", "")


def swept(cases: list[Case], folder: Path) -> Iterator[Row]:
    """All faults of these commands."""
    template = folder / "template"
    template.mkdir()
    _make(template)
    with _disk(folder / "disk") as disk:
        for case in cases:
            yield from Sweep(template, disk).rows(case)


def _written(rows: list[Row]) -> str:
    head = ["command", "fault", "exit code", "message", "files", "the same command again"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [f"`{row.command}`", row.fault, row.code, row.message, row.data, row.again]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


_INTRODUCTION = """# Faults by command

Every command that writes something was killed, given a damaged source, and run on a full disk and in a read-only
folder. `files` describes the folder afterwards: each file is the old one ("as it was") or the complete new one ("new").
A file is "unfinished" where there was none before. The last column shows whether the same command completes when the
fault is over. To print the table again, run:

```
.venv/bin/python tools/faults_by_command.py -o dev/measurements/faults-by-command.md
```

Three outcomes remain. `collection shard` removes the older shards before the new ones are complete; the same command
makes them again. `experiment bots -o` leaves its folder when it is killed; remove the folder before you repeat the
command. `data get` leaves a folder `.new-NAME-...` in the cache when it is killed, because another process may still
write there.

Servers write while they run. `tests/experiment/test_faults.py`, `tests/web/experiment/test_trouble.py` and
`tests/web/test_faults.py` try the same faults with them.

"""


def main() -> int:
    """Print the table; exit code 1 where something was lost, half done or told in more than a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="Only commands that hold these words.")
    parser.add_argument("-o", "--output", type=Path, help="Write the table to this file, with an introduction.")
    asked = parser.parse_args()
    if os.environ.get(_INSIDE) != "1":
        users = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.environ[_INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--mount", *users, sys.executable, *sys.argv])
    rows = list[Row]()
    with TemporaryDirectory(prefix="roslin-faults-") as folder:
        for row in swept([case for case in CASES if asked.only in case.words], Path(folder)):
            rows.append(row)
            print("  " if row.is_good else "! ", row.command, "|", row.fault, "|", row.code, "|", row.message, "|",
                  row.data, "|", row.again, flush=True)  # fmt: skip
    if asked.output is not None:
        asked.output.parent.mkdir(parents=True, exist_ok=True)
        asked.output.write_text(_INTRODUCTION + _written(rows), "utf-8")
    bad = sum(not row.is_good for row in rows)
    print(f"{len(rows)} faults, {bad} of them with something to mend", file=sys.stderr)
    return 1 if bad else 0


_INSIDE = "ROSLIN_FAULTS_INSIDE"

if __name__ == "__main__":
    sys.exit(main())

"""Damaged inputs of every format, and what came of reading them. `soak.py` asks for many; the number makes the input.

Input NUMBER takes its random state from the number, a format by turns, a seed (`soak_seeds.py`), and damages it in one
to four ways: bytes, digits, tokens, encodings, rows of one token, parts of other seeds; elements and attributes of XML;
members of archives.

Each is read and looked at:

    read                   every record is a melody, and nothing below is the case
    refused                something is refused, with its place
    handed on              a score that would now be given to verovio
    unsteady               read at one time; at another verovio crashed on it in its worker, and that is the refusal
    nowhere                something is refused, and nobody says where
    crash                  an exception that is not Roslin's
    hang                   more than ten seconds of processor time: a busy machine is no hang
    growth                 more time than any input of that size should take
    silent change          other notes when it is read again, or when what was read is written and read

In-process, scores are read up to the place where verovio would be asked; `sandboxed` inputs are read through it.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent))

from roslin.errors import NotationError, Problem, RoslinError
from roslin.melody import Melody
from roslin.notation import mei, pae, records
from roslin.notation.record import Record, refusal
from roslin.run import read_run
from roslin.truth import read_rankings, read_truth
from roslin.truth.choice_models import read_votes
from soak_seeds import ARCHIVES, Seeds

BAD = ("nowhere", "crash", "hang", "growth", "silent change")
HANG_SECONDS = 10
SLOW_SECONDS, SECONDS_PER_BYTE = 2.0, 100e-6  # of processor time: ten times what the slowest sign of a format takes

Report = Callable[[str, int, str, str], None]

_HANDED_ON = "handed on"
_MEMORY = Path("/dev/shm")  # a disk would be slower
_TABLES = ("run", "qrels", "rankings", "votes")
FORMATS = ("pae", "abc", "names", "kern", "musicxml", "mxl", "mei", "midi", "marcxml", "jsonl", *_TABLES, *ARCHIVES)
SANDBOXED = ("kern", "musicxml", "mxl")
_XML = ("musicxml", "mei", "marcxml")
_SUFFIXES = {"run": ".run", "qrels": ".qrel", "rankings": ".rankings.csv", "votes": ".votes.csv"}


# -- damage -----------------------------------------------------------------------------------------------------------

Damage = Callable[[bytes, random.Random, Callable[[], bytes]], bytes]
_TOKEN = re.compile(rb"\w+|\s+|.", re.DOTALL)
_DIGITS = re.compile(rb"\d+")
_NUMBERS = [*b"0 -1 1.5 1e999 nan 00 1/0 %".split(), *(b"9" * digits for digits in (20, 400, 4301)), "٣".encode()]
_ODD = [b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x85", b"\r", b"\\ud800", b"&a;"]
_STARTS = [bytes([sign]) for sign in b"<>\"'{}()[]!%@$*=/|:"]
_CHARSETS = [b"klingon", b"utf-16", b"zlib", b"idna", b"utf-7", b"undefined", b"unicode_escape", b"cp037", b"big5"]


def _flip(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    changed = bytearray(data or b"x")
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _delete(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.choice((1, 1, 2, 4, 40, 400, len(data))) :]


def _insert(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    start = chance.randrange(len(data) + 1)
    piece = chance.choice(chance.choice((_ODD, _STARTS, _NUMBERS)))
    return data[:start] + piece * chance.choice((1, 1, 2, 40)) + data[start:]


def _duplicate(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    start = chance.randrange(len(data) + 1)
    piece = data[start : start + chance.choice((1, 4, 20, 100))]
    return data[:start] + piece * chance.choice((1, 2, 30)) + data[start:]


def _splice(data: bytes, chance: random.Random, other: Callable[[], bytes]) -> bytes:
    more = other()
    return data[: chance.randrange(len(data) + 1)] + more[chance.randrange(len(more) + 1) :]


def _swap(data: bytes, chance: random.Random, other: Callable[[], bytes]) -> bytes:
    tokens = _TOKEN.findall(data) or [b""]
    more = tokens if chance.random() < 0.7 else _TOKEN.findall(other()) or [b""]
    for _ in range(chance.randint(1, 4)):
        tokens[chance.randrange(len(tokens))] = chance.choice(more)
    return b"".join(tokens)


def _numbers(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    found = list(_DIGITS.finditer(data))
    if not found:
        return data + chance.choice(_NUMBERS)
    place = chance.choice(found)
    return data[: place.start()] + chance.choice(_NUMBERS) + data[place.end() :]


def _row(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    """One token, and perhaps another, many times: what a reader must not look at again and again."""
    tokens = _TOKEN.findall(data) or [b"x"]
    start = chance.randrange(len(data) + 1)
    some = [b"".join(tokens[(at := chance.randrange(len(tokens))) : at + chance.randint(1, 4)]) for _ in range(2)]
    row = b"".join(piece * min(chance.choice((100, 2_000)), 8_000 // (len(piece) + 1) + 1) for piece in some)
    return data[:start] + row + data[start:]


def _encoding(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    text = data.decode("utf-8", "replace")
    match chance.randrange(5):
        case 0:
            return text.encode("utf-16")
        case 1:
            return text.encode("latin-1", "replace")
        case 2:
            return chance.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) + data
        case 3:
            return b'<?xml version="1.0" encoding="' + chance.choice(_CHARSETS) + b'"?>' + data
        case _:
            named = text.replace("UTF-8", chance.choice(_CHARSETS).decode(), 1)
            return named.encode("utf-16" if chance.random() < 0.5 else "utf-8")


def _cut(data: bytes, chance: random.Random, _other: Callable[[], bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


_BYTES: tuple[Damage, ...] = (_flip, _delete, _insert, _duplicate, _splice, _swap, _numbers, _row, _encoding, _cut)
_PACKED: tuple[Damage, ...] = (_flip, _flip, _delete, _insert, _splice, _cut)


def _elements(data: bytes, chance: random.Random) -> bytes:
    """Elements dropped, doubled, moved or renamed; attributes dropped, doubled or with other values; other text."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError:
        return data
    for _ in range(chance.randint(1, 4)):
        parents = [element for element in root.iter() if len(element)]
        if not parents:
            break
        parent = chance.choice(parents)
        child = chance.choice(list(parent))
        others = list(root.iter())
        match chance.randrange(8):
            case 0:
                parent.remove(child)
            case 1:
                parent.insert(chance.randrange(len(parent) + 1), child)
            case 2:
                parent.remove(child)
                to = chance.choice(parents)
                if to not in child.iter():
                    to.insert(chance.randrange(len(to) + 1), child)
            case 3:
                child.tag = chance.choice(others).tag
            case 4 | 5:
                names = [name for element in others for name in element.attrib] or ["n"]
                values = [value for element in others for value in element.attrib.values()] or [""]
                numbers = [number.decode() for number in _NUMBERS]
                child.set(
                    chance.choice(names), chance.choice([*chance.sample(values, 1), chance.choice(numbers), "", "-"])
                )
            case 6:
                child.attrib.pop(chance.choice(list(child.attrib)), None) if child.attrib else child.attrib.clear()
            case _:
                child.text = chance.choice([chance.choice(others).text, chance.choice(_NUMBERS).decode(), None, "C"])
    return bytes(ElementTree.tostring(root, encoding="utf-8"))


_MEMBER_NAMES = [
    "../a.pae",
    "/etc/passwd",
    "a" * 300,
    "\ud7ff.abc",
    "",
    "con",
    "a/../b.abc",
    "META-INF/container.xml",
    "x.gz",
]


def _members(kind: str, data: bytes, chance: random.Random, other: Callable[[], bytes]) -> bytes:
    """Archives with members cut off, under odd names, in each other, larger than they look, or with wrong sums."""
    inside = other()
    match chance.randrange(6):
        case 0:
            inside = _cut(inside, chance, other)
        case 1:
            inside = data  # an archive in an archive
        case 2:
            inside = bytes(chance.choice((1_000, 60_000_000))) if chance.random() < 0.02 else inside * 40
        case 3:
            inside = gzip.compress(inside, mtime=0)
        case _:
            pass
    if kind == "gz":
        packed = gzip.compress(inside, mtime=0)
        return packed + (packed if chance.random() < 0.3 else b"")
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # two members of one name are what is wanted
        for _ in range(chance.randint(0, 3)):
            archive.writestr(zipfile.ZipInfo(chance.choice(_MEMBER_NAMES)), inside, zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("tune.abc"), other(), zipfile.ZIP_STORED)
    changed = bytearray(made.getvalue())
    if chance.random() < 0.5:  # sizes and sums, in the header of a member or in the directory
        headers = [found.start() for found in re.finditer(rb"PK\x03\x04|PK\x01\x02", changed)]
        at = chance.choice(headers) + chance.randint(4, 40)
        changed[at % len(changed)] = chance.randrange(256)
    return bytes(changed)


def damaged(number: int, seeds: Seeds, formats: tuple[str, ...] = FORMATS) -> tuple[str, bytes]:
    """Input NUMBER: its format and its bytes."""
    chance = random.Random(number)
    format = formats[number % len(formats)]
    data = chance.choice(seeds[format])

    def other() -> bytes:
        foreign = chance.random() < 0.2
        inner = "abc" if format in ARCHIVES else format
        return chance.choice(seeds[chance.choice(("pae", "abc", "marcxml", "midi")) if foreign else inner])

    if format in ("zip", "gz") and chance.random() < 0.5:
        data = _members(format, data, chance, other)
        return format, data if chance.random() < 0.7 else _flip(data, chance, other)
    if format == "mxl" and chance.random() < 0.5:
        return format, _mxl(chance.choice(seeds["musicxml"]), chance, other)
    if format in _XML and chance.random() < 0.5:
        return format, _elements(data, chance)
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(_PACKED if format in (*ARCHIVES, "mxl") else _BYTES)(data, chance, other)
    return format, data


def _mxl(score: bytes, chance: random.Random, other: Callable[[], bytes]) -> bytes:
    score = _elements(score, chance) if chance.random() < 0.5 else chance.choice(_BYTES)(score, chance, other)
    container = b'<container><rootfiles><rootfile full-path="score.xml"/></rootfiles></container>'
    if chance.random() < 0.3:
        container = chance.choice(_BYTES)(container, chance, other)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("META-INF/container.xml"), container)
        archive.writestr(zipfile.ZipInfo(chance.choice(("score.xml", "score.xml", "other.xml"))), score)
    return packed.getvalue()


# -- reading ----------------------------------------------------------------------------------------------------------


class HangError(Exception):
    """More than ten seconds."""


@contextmanager
def _watched() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise HangError(f"more than {HANG_SECONDS} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def tried(format: str, data: bytes, folder: Path, *, sandboxed: bool = False, thorough: bool = True) -> tuple[str, str]:
    """What comes of reading an input, and details. `thorough`: it is also read again, strictly, written and read."""
    start = time.process_time()
    try:
        if sandboxed:  # verovio has a time limit of its own
            outcome = _look(format, data, folder, thorough)
        else:
            with _watched():
                outcome = _look(format, data, folder, thorough)
    except HangError as error:
        return "hang", str(error)
    except RecursionError:
        return "crash", traceback.format_exc()[-600:]
    except Exception:
        return "crash", traceback.format_exc()[-1500:]
    took = time.process_time() - start
    allowed = SLOW_SECONDS + SECONDS_PER_BYTE * len(data) * (4 if thorough else 1)
    return ("growth", f"{took:.1f} s for {len(data)} bytes") if took > allowed and not sandboxed else outcome


def _look(format: str, data: bytes, folder: Path, thorough: bool) -> tuple[str, str]:
    if format in _TABLES:
        return _look_at_table(format, data, folder)
    found = list(_records(format, data, folder, strict=False))
    nowhere = [
        problem for record in found if record.melody is None for problem in record.problems[:1] if _is_lost(problem)
    ]
    if nowhere:
        return "nowhere", str(nowhere[0])
    if thorough:
        again = list(_records(format, data, folder, strict=False))
        if [record.melody for record in again] != [record.melody for record in found]:
            if crash := _worker_crash([*found, *again]):
                return "unsteady", crash
            return "silent change", "other notes when read again"
        for record in _records(format, data, folder, strict=True):
            if record.melody is None and _is_lost(record.problems[0]):
                return "nowhere", f"strict: {record.problems[0]}"
            if record.melody is not None and record.problems:
                return "silent change", f"strict reading let this pass: {record.problems[0]}"
        for record in found[:5]:
            if record.melody is not None and (changed := _changed_by_writing(record.melody)):
                return "silent change", changed
    refused = [record.problems[0] for record in found if record.melody is None]
    if refused and all(problem.reason == _HANDED_ON for problem in refused):
        return _HANDED_ON, ""
    return ("refused", str(refused[0])) if refused else ("read", "")


def _records(format: str, data: bytes, folder: Path, *, strict: bool) -> Iterator[Record]:
    """The records of an input; a file that is refused as a whole is one with its place, or with none."""
    named = {"mxl": "musicxml"}.get(format, format)
    try:
        if format in ARCHIVES:
            path = folder / f"input.{format}"
            path.write_bytes(data)
            yield from records(path, strict=strict)
        else:
            yield from records(data, named, strict=strict)
    except NotationError as error:
        yield Record(None, (error.problem,))
    except RoslinError as error:
        place = "input" if "input" in str(error) and format in ARCHIVES else ""
        yield Record(None, (Problem(str(error), record=place),))


def _is_lost(problem: Problem) -> bool:
    return not (problem.line or problem.column or problem.record or problem.file)


def _worker_crash(found: list[Record]) -> str:
    """The refusal that says that verovio crashed, if there is one."""
    refusals = [str(problem) for record in found if record.melody is None for problem in record.problems[:1]]
    return next((refusal for refusal in refusals if "crashed" in refusal), "")


def _changed_by_writing(melody: Melody) -> str:
    if not len(melody):  # Plaine & Easie has no music without notes
        return ""
    try:
        text = pae.write(melody)
    except RoslinError:
        return ""
    try:
        again = pae.read(text)
    except RoslinError as error:
        return f"written as {text[:200]!r}, refused: {error}"
    for name in ("onset_ticks", "duration_ticks", "pitch_midi", "is_grace"):
        if again.notes[name].tolist() != melody.notes[name].tolist():
            return f"written as {text[:300]!r}, read with another {name}"
    return ""


def _look_at_table(format: str, data: bytes, folder: Path) -> tuple[str, str]:
    path = folder / f"input{_SUFFIXES[format]}"
    path.write_bytes(data)
    read = {"run": read_run, "qrels": read_truth, "rankings": read_rankings, "votes": read_votes}[format]
    try:
        read(path)  # type: ignore[operator]
    except RoslinError as error:
        return ("refused" if path.name in str(error) else "nowhere"), str(error)
    return "read", ""


def _not_converted(_text: str, _format: str, line: int = 1) -> str:
    raise refusal(_HANDED_ON, "", "", line)


def soak(folder: Path, first: int, count: int, report: Report, *, seeds: Seeds, sandboxed: bool = False) -> None:
    """Inputs `first` to `first + count`; each is reported, and those with a fault are kept in `folder`/found."""
    formats = SANDBOXED if sandboxed else FORMATS
    if not sandboxed:
        setattr(mei, "to_mei", _not_converted)  # noqa: B010  # what it imports is not its to give
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as made:
        for number in range(first, first + count):
            format, data = damaged(number, seeds, formats)
            outcome, detail = tried(format, data, Path(made), sandboxed=sandboxed, thorough=number % 4 == 0)
            if outcome in BAD:
                kept = folder / "found" / f"{'sandboxed-' * sandboxed}{number}.{format}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
            report(format, number, outcome, detail)

"""Damaged files of runs, truths and rankings: is a line ever lost without a word, or is there a traceback?

    python tools/fuzz_runs.py --count 100000

Every file starts whole and is damaged in one to three ways that happen to files: lines cut, doubled, moved or glued;
columns lost or added; bytes changed; other line ends; numbers that are none; ids of 2,000 letters; files cut off,
packed with gzip or zstd, or damaged after that. Then one of two things must be true:

- reading fails with an error of Roslin that names the file, in at most 2,000 characters; or
- every line that has something in it is in the result, or is counted in a remark (JSON has no lines; there only the
  errors are looked at).

The same seed makes the same files. The suite runs the first thousand (tests/run/test_fuzz_runs.py).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from roslin.errors import RoslinError
from roslin.run import Run, read_run
from roslin.truth import read_rankings, read_truth

Outcome = str
Damage = Callable[[bytes, random.Random], bytes]
LONGEST_MESSAGE = 2_000
_NUMBERS = ("", "nan", "inf", "-inf", "1e999", "-1", "0", "x", "9" * 5_000, "1.5", "0x10", "\u0663", "1_000", "--1")


# -- whole files ------------------------------------------------------------------------------------------------------


def _trec(chance: random.Random) -> str:
    return "".join(
        f"q{q} Q0 d{d} {rank} {100 - 7.5 * rank:g} mine\n"
        for q in range(chance.randint(1, 4))
        for rank, d in enumerate(chance.sample(range(30), chance.randint(1, 6)), start=1)
    )


def _run_csv(chance: random.Random) -> str:
    kind = chance.choice(["score", "distance", "rank"])
    rows = [
        f"q{q},d{d},{d / 2 if kind != 'rank' else d + 1:g}\n" for q in range(3) for d in range(chance.randint(1, 5))
    ]
    return f"query,document,{kind}\n" + "".join(rows)


def _grouped(chance: random.Random) -> str:
    return "".join(f"mine\tq{q}\td{d}\t{d % 3}\n" for q in range(3) for d in range(chance.randint(1, 6)))


def _qrels(chance: random.Random) -> str:
    iteration = chance.choice(["0", "Q0", "1"])
    return "".join(f"q{q} {iteration} d{d} {d % 4 - 1}\n" for q in range(3) for d in range(chance.randint(1, 6)))


def _truth_csv(chance: random.Random) -> str:
    column = chance.choice(["group", "relevance"])
    rows = [f"q{q},d{d},{d % 3}\n" for q in range(2) for d in range(chance.randint(1, 5))]
    return f"query,document,{column}\n" + "".join(rows)


def _rankings(chance: random.Random) -> str:
    rows = []
    for q in range(2):
        for e in range(chance.randint(1, 3)):
            order = chance.sample(range(5), 5)
            rows += [f"q{q},e{e},d{d},{rank if rank < 5 else ''}\n" for rank, d in enumerate(order, start=1)]
    return "query,expert,document,rank\n" + "".join(rows)


def _run_json(chance: random.Random) -> str:
    lists = {f"q{q}": {f"d{d}": d / 3 for d in range(chance.randint(0, 4))} for q in range(2)}
    own = Run(lists, name="mine").to_json()
    return chance.choice([json.dumps(lists, indent=1), json.dumps({q: list(each) for q, each in lists.items()}), own])


def _truth_json(chance: random.Random) -> str:
    groups = {f"q{q}": [["a", "b"], [str(d) for d in range(chance.randint(1, 3))]] for q in range(2)}
    gains = {q: {"a": 2, "b": 1, "c": 0, "d": -1} for q in groups}
    queries = {q: {"groups": each, "gains": [2, 1], "nonrelevant": ["z"]} for q, each in groups.items()}
    return json.dumps(chance.choice([groups, gains, {"format": "roslin-truth", "queries": queries}]), indent=1)


def _rankings_json(chance: random.Random) -> str:
    rows = [{"query": "q", "expert": f"e{e}", "document": f"d{d}", "rank": d + 1} for e in range(2) for d in range(3)]
    lists = {"q": {"e1": ["a", ["b", "c"]], "e2": {"a": 1, "b": None}}}
    return json.dumps(chance.choice([rows, lists]), indent=1)


# A file's name, what makes it, and whether its first line is a header.
KINDS: dict[str, tuple[Callable[[random.Random], str], bool]] = {
    "trec.run": (_trec, False),
    "table.run.csv": (_run_csv, True),
    "grouped.qrel": (_grouped, False),
    "trec.qrels": (_qrels, False),
    "table.truth.csv": (_truth_csv, True),
    "said.rankings.csv": (_rankings, True),
    "object.run.json": (_run_json, False),
    "object.truth.json": (_truth_json, False),
    "object.rankings.json": (_rankings_json, False),
}


# -- damages ----------------------------------------------------------------------------------------------------------


def _lines(change: Callable[[list[bytes], random.Random], None]) -> Damage:
    def damage(raw: bytes, chance: random.Random) -> bytes:
        lines = raw.split(b"\n")
        change(lines, chance)
        return b"\n".join(lines)

    return damage


def _drop(lines: list[bytes], chance: random.Random) -> None:
    del lines[chance.randrange(len(lines))]


def _double(lines: list[bytes], chance: random.Random) -> None:
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))


def _swap(lines: list[bytes], chance: random.Random) -> None:
    chance.shuffle(lines)


def _empty(lines: list[bytes], chance: random.Random) -> None:
    lines.insert(chance.randrange(len(lines) + 1), chance.choice([b"", b"  ", b"\t", b",,", b"#", b"\x00"]))


def _glue(lines: list[bytes], chance: random.Random) -> None:
    k = chance.randrange(len(lines))
    lines[k : k + 2] = [b"".join(lines[k : k + 2])]


def _cut_line(lines: list[bytes], chance: random.Random) -> None:
    k = chance.randrange(len(lines))
    lines[k] = lines[k][: chance.randint(0, len(lines[k]))]


def _cell(lines: list[bytes], chance: random.Random) -> None:
    """Another cell in a line: a number that is none, a long id, one of another line, none, or one more."""
    k = chance.randrange(len(lines))
    sign = b"," if b"," in lines[k] else b"\t" if b"\t" in lines[k] else b" "
    cells = lines[k].split(sign)
    place = chance.randrange(len(cells))
    other = chance.choice(lines).split(sign)
    new = chance.choice(
        [chance.choice(_NUMBERS).encode(), b"d" * 2_000, chance.choice(other), b'"', b"%20", b"\xc3\xa4"]
    )
    what = chance.randrange(3)
    cells[place : place + (what != 1)] = [new] * (what != 2)
    lines[k] = sign.join(cells)


def _bytes(raw: bytes, chance: random.Random) -> bytes:
    changed = bytearray(raw or b"x")
    for _ in range(chance.randint(1, 3)):
        changed[chance.randrange(len(changed))] = chance.choice([0, 9, 10, 13, 32, 34, 44, 0x81, 0xE9, 0xFF, 48, 65])
    return bytes(changed)


def _cut(raw: bytes, chance: random.Random) -> bytes:
    return raw[: chance.randint(0, len(raw))]


def _ends(raw: bytes, chance: random.Random) -> bytes:
    return raw.replace(b"\n", chance.choice([b"\r\n", b"\r", b"\n\n", b"\x0b", b"\xe2\x80\xa8"]))


def _encoding(raw: bytes, chance: random.Random) -> bytes:
    return chance.choice([b"\xef\xbb\xbf" + raw, raw.decode("utf-8", "replace").encode("utf-16"), b"\xff" + raw])


DAMAGES: tuple[Damage, ...] = (
    *map(_lines, (_drop, _double, _swap, _empty, _glue, _cut_line, _cell, _cell, _cell)),
    _bytes,
    _cut,
    _ends,
    _encoding,
)


def _packed(raw: bytes, chance: random.Random) -> tuple[bytes, str, bool]:
    """The file as it lies on the disk, what its name ends with, and whether it is whole."""
    kind = chance.randrange(10)
    if kind > 1:
        return raw, "", True
    # With a checksum, as the command zstd writes it; without one nobody can see that a byte was changed.
    packed = gzip.compress(raw, mtime=0) if kind else zstandard.ZstdCompressor(write_checksum=True).compress(raw)
    if chance.random() < 0.5:
        return packed, ".gz" if kind else ".zst", True
    return (_cut if chance.random() < 0.5 else _bytes)(packed, chance), ".gz" if kind else ".zst", False


# -- reading ----------------------------------------------------------------------------------------------------------

_COUNTS = (
    re.compile(r"is judged again for query"),
    re.compile(r"([\d,]+) more judgements? of documents that were judged before"),
    re.compile(r"([\d,]+) relevances? below 0: taken as not judged"),
)


def _counted(remarks: tuple[str, ...]) -> int:
    """How many lines the remarks say were not taken."""
    total = 0
    for said in remarks:
        for pattern in _COUNTS:
            if match := pattern.search(said):
                total += int(match[1].replace(",", "")) if match.groups() else 1
    return total


def _taken(path: Path) -> int:
    """The number of lines that are in the result, or counted in its remarks."""
    if ".run" in path.name:
        return len(read_run(path))
    if ".rankings" in path.name:
        return sum(experts * documents for experts, documents in _shown(path))
    truth = read_truth(path)
    return sum(1 for _ in truth.judgements()) + _counted(truth.notes)


def _shown(path: Path) -> Iterator[tuple[int, int]]:
    for each in read_rankings(path, ties=True).values():
        yield each.ranks.shape


def _expected(raw: bytes, has_header: bool) -> int:
    """The number of lines with something in them, by a route of its own; where quotes may hold line ends, -1."""
    text = raw.decode("utf-8-sig")
    if '"' in text:
        return -1
    lines = [line for line in re.split("\r\n|\r|\n", text) if line.split()]
    return len(lines) - has_header


def try_files(count: int, seed: int = 18, folder: Path | None = None) -> Iterator[tuple[int, Outcome, str]]:
    """(number, outcome, details) for each of so many files; a fault is in capital letters.

    `uncounted` was read, but has no lines to count: JSON, or quotes that may hold a line end.
    """
    with tempfile.TemporaryDirectory() as made:
        where = folder or Path(made)
        for number in range(count):
            yield (number, *_try(number, seed, where))


def _try(number: int, seed: int, folder: Path) -> tuple[Outcome, str]:
    chance = random.Random(f"{seed}-{number}")
    name = chance.choice(list(KINDS))
    make, has_header = KINDS[name]
    raw = make(chance).encode()
    for _ in range(chance.choice([1, 1, 2, 3])):
        raw = chance.choice(DAMAGES)(raw, chance)
    data, ending, is_whole = _packed(raw, chance)
    path = folder / (name + ending)
    path.write_bytes(data)
    try:
        taken = _taken(path)
    except RoslinError as error:
        message = str(error)
        if path.name not in message:
            return "NOWHERE", message
        return ("LONG" if len(message) > LONGEST_MESSAGE else "refused"), message
    except Exception:
        return "TRACEBACK", traceback.format_exc()
    if not is_whole and not _holds(data, raw):
        return "LOST", f"{path.name}: a damaged archive was read as if it were whole"
    expected = _expected(raw, has_header)
    if ".rankings" in name and expected >= 0:
        return ("read", "") if _all_said(path, raw) else ("LOST", f"{path.name}: a row is not in the rankings")
    if expected == -1:
        return "uncounted", ""
    if expected != taken:
        return "LOST", f"{path.name}: {expected} lines, {taken} taken or counted"
    return "read", ""


def _holds(data: bytes, raw: bytes) -> bool:
    """Whether a damaged archive holds the same all the same: what was changed may be its date."""
    try:
        return raw == (gzip.decompress(data) if data[:1] == b"\x1f" else zstandard.decompress(data))
    except Exception:
        return False


def _all_said(path: Path, raw: bytes) -> bool:
    """Whether each row of rankings is among those of the result, with its rank."""
    rankings = read_rankings(path, ties=True)
    said = {(query, expert, document) for query, expert, document, _ in rankings.rows()}
    rows = [line.split(",") for line in re.split("\r\n|\r|\n", raw.decode("utf-8-sig")) if line.split()]
    header = [cell.strip().lower() for cell in rows[0]]
    places = [header.index(column) for column in ("query", "expert", "document")]
    return all(tuple(row[place].strip() for place in places) in said for row in rows[1:])


def main() -> None:
    """Try many, and say what came of them."""
    parser = argparse.ArgumentParser(description="Read damaged files of runs, truths and rankings.")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--show", type=int, default=5, help="how many faults of each kind are shown")
    options = parser.parse_args()
    outcomes: Counter[Outcome] = Counter()
    for number, outcome, details in try_files(options.count, options.seed):
        outcomes[outcome] += 1
        if outcome.isupper() and outcomes[outcome] <= options.show:
            print(f"{outcome} {number}: {details[-1500:]}")
    print(", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items())))
    sys.exit(1 if any(outcome.isupper() for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()

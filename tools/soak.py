"""Hours of damage, counted by what came of it: mutated inputs, killed programs, flipped bits of collections.

    .venv/bin/python tools/soak.py --folder /tmp/soak --inputs 1000000 --sandboxed 20000 --kills 1000 --flips 2000
    .venv/bin/python tools/soak.py --folder /tmp/soak --summary          # writes dev/measurements/soak.md
    .venv/bin/python tools/soak.py --folder /tmp/soak --replay 4711      # input 4711 again; also --of sandboxed

The work is cut into blocks. Each block is done by a process of its own and written to `done.jsonl` when it is finished,
so whatever is killed, the machine too, a later call goes on with the blocks that are missing. A process that dies has
crashed on the input that it had in hand; the rest of its block is done by another. `--hours` ends it early.

    inputs, sandboxed   soak_inputs.py: read in-process, and through verovio in its worker
    kills               soak_kills.py: build, add, remove and campaign, killed at any moment
    flips               soak_flips.py: one bit in one file of a collection
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import roslin
import soak_inputs
from soak_seeds import Seeds, checksum, make_seeds

KINDS = ("inputs", "sandboxed", "kills", "flips")
BLOCK = {"inputs": 2_000, "sandboxed": 100, "kills": 20, "flips": 50}
PAGE = Path(__file__).resolve().parents[1] / "dev" / "measurements" / "soak.md"
_BEHIND_SECONDS = 3_600  # a block that takes longer has come to a stop


# -- one block, in a process of its own -------------------------------------------------------------------------------


def work(folder: Path, kind: str, first: int, count: int) -> dict[str, Any]:
    """Do a block: how often what came of it, and each fault."""
    outcomes: Counter[str] = Counter()
    faults: list[tuple[str, int, str, str]] = []
    in_hand = _in_hand(folder, os.getppid(), kind, first)
    bad = _module(kind).BAD

    def report(what: str, number: int, outcome: str, detail: str) -> None:
        outcomes[f"{what}\t{outcome}"] += 1
        if outcome in bad:
            faults.append((what, number, outcome, detail))
        in_hand.write_text(str(number + 1))

    in_hand.write_text(str(first))
    if kind in ("inputs", "sandboxed"):
        soak_inputs.soak(folder, first, count, report, seeds=_seeds(folder), sandboxed=kind == "sandboxed")
    else:
        with tempfile.TemporaryDirectory(dir=folder) as made:
            _module(kind).soak(Path(made), first, count, report)
    in_hand.unlink()
    return {"kind": kind, "first": first, "count": count, "outcomes": outcomes, "faults": faults, **_code()}


def _module(kind: str) -> Any:
    return soak_inputs if kind in ("inputs", "sandboxed") else import_module(f"soak_{kind}")


def _in_hand(folder: Path, parent: int, kind: str, first: int) -> Path:
    return folder / f"in-hand-{parent}-{kind}-{first}"


def _seeds(folder: Path) -> Seeds:
    """Those of the folder, made at the first time: the numbers mean the same as long as it is there."""
    path = folder / "seeds.pickle"
    if not path.exists():
        made = make_seeds(Path(os.environ.get("ROSLIN_DATA", "../shared/data")))
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(pickle.dumps(made))
        unfinished.replace(path)
    seeds: Seeds = pickle.loads(path.read_bytes())
    return {format: list(files) for format, files in seeds.items()}


def _code() -> dict[str, str]:
    here = Path(__file__).resolve().parent
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True)
    return {"version": roslin.__version__, "commit": commit.stdout.strip()}


# -- all blocks -------------------------------------------------------------------------------------------------------


def done(folder: Path) -> list[dict[str, Any]]:
    """The finished blocks. A line that a kill cut short is none."""
    blocks = []
    path = folder / "done.jsonl"
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            blocks.append(json.loads(line))
        except ValueError:
            continue
    return blocks


def missing(folder: Path, wanted: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """(kind, first, count) of every block that is yet to be done."""
    finished: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for block in done(folder):
        finished[block["kind"]].update(range(block["first"], block["first"] + block["count"]))
    for kind, total in wanted.items():
        for start in range(0, total, BLOCK[kind]):
            numbers = range(start, min(start + BLOCK[kind], total))
            for is_done, some in groupby(numbers, finished[kind].__contains__):
                left = list(some)
                if not is_done:
                    yield kind, left[0], len(left)


def drive(folder: Path, wanted: dict[str, int], processes: int, hours: float) -> None:
    """Do what is missing, so many blocks at once."""
    folder.mkdir(parents=True, exist_ok=True)
    _seeds(folder)
    end = time.monotonic() + 3600 * hours
    waiting = list(missing(folder, wanted))
    total = sum(count for _, _, count in waiting)
    running: list[tuple[subprocess.Popen[str], str, int, int, float]] = []
    ready = 0
    while waiting or running:
        while waiting and len(running) < processes and time.monotonic() < end:
            kind, first, count = waiting.pop(0)
            command = [sys.executable, __file__, "--folder", str(folder), "--work", kind, str(first), str(count)]
            started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            running.append((started, kind, first, count, time.monotonic()))
        if not running:
            break
        for entry in list(running):
            process, kind, first, count, since = entry
            try:
                output, said = process.communicate(timeout=0.5)
            except subprocess.TimeoutExpired:
                if time.monotonic() - since < _BEHIND_SECONDS:
                    continue
                process.kill()
                output, said = process.communicate()
            running.remove(entry)
            block, rest = _block(folder, kind, first, count, process.returncode, output, said)
            _keep(folder, block)
            ready += block["count"]
            waiting[:0] = rest
            for what, number, outcome, detail in block["faults"][:3]:
                print(f"{outcome}: {what} {kind} {number}: {detail[-300:]}", flush=True)
            print(f"{ready:,} of {total:,} ({kind} {first:,})", file=sys.stderr, flush=True)


def _block(
    folder: Path, kind: str, first: int, count: int, code: int, output: str, said: str
) -> tuple[dict[str, Any], list[tuple[str, int, int]]]:
    """What a process came to; where it died, what it had in hand is a crash, and the rest is to be done again."""
    in_hand = _in_hand(folder, os.getpid(), kind, first)
    if code == 0 and output.strip():
        return json.loads(output.splitlines()[-1]), []
    at = int(in_hand.read_text() or first) if in_hand.exists() else first
    in_hand.unlink(missing_ok=True)
    what = f"{kind}\tcrash"
    detail = f"the process ended with {code}: {said[-500:]}"
    block = {"kind": kind, "first": at, "count": 1, "outcomes": {what: 1}, "faults": [(kind, at, "crash", detail)]}
    rest = [
        (kind, start, length) for start, length in ((first, at - first), (at + 1, first + count - at - 1)) if length
    ]
    return {**block, **_code()}, rest


def _keep(folder: Path, block: dict[str, Any]) -> None:
    with (folder / "done.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(block) + "\n")
        file.flush()
        os.fsync(file.fileno())


# -- what came of it --------------------------------------------------------------------------------------------------


def summary(folder: Path) -> str:
    """The page of the docs."""
    blocks = done(folder)
    counts: dict[str, Counter[tuple[str, str]]] = {kind: Counter() for kind in KINDS}
    for block in blocks:
        for name, number in block["outcomes"].items():
            what, _, outcome = name.partition("\t")
            counts[block["kind"]][what, outcome] += number
    parts = [_INTRODUCTION.format(code=", ".join(sorted({f"{b['version']} ({b['commit']})" for b in blocks})))]
    for kind in KINDS:
        if counts[kind]:
            parts.append(f"## {_TITLES[kind]}\n\n{_table(counts[kind], _module(kind).BAD)}\n")
    parts.append(f"Checksum of the seeds: `{checksum(_seeds(folder))}`.\n")
    return "\n".join(parts)


def _table(counts: Counter[tuple[str, str]], bad: tuple[str, ...]) -> str:
    good = sorted({outcome for _, outcome in counts} - set(bad))
    columns = [*good, *bad]
    rows = [("", *columns, "all")]
    for what in sorted({what for what, _ in counts}):
        numbers = [counts[what, outcome] for outcome in columns]
        rows.append((what, *(f"{number:,}" for number in numbers), f"{sum(numbers):,}"))
    totals = [sum(number for (_, each), number in counts.items() if each == outcome) for outcome in columns]
    rows.append(("**all**", *(f"{number:,}" for number in totals), f"{sum(totals):,}"))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


_TITLES = {
    "inputs": "Damaged inputs, read in-process",
    "sandboxed": "Damaged scores, read through verovio",
    "kills": "Programs killed while they write",
    "flips": "Flipped bits in a collection",
}
_INTRODUCTION = """# What damage does

Real files are damaged in many ways and read; programs that write are killed; bits of collections are flipped. What came
of each is counted here. A column for a fault stays in the table when it is zero: a crash, a hang, a refusal that does
not say where, notes that change without a word, time far beyond what the size of the input accounts for.

```
tools/soak.py --folder /tmp/soak --inputs 1000000 --sandboxed 20000 --kills 1000 --flips 2000
tools/soak.py --folder /tmp/soak --summary
```

`read` and `refused` are both right answers: a damaged file is read as far as it makes sense, with what was wrong kept
beside the melody, or refused with its place; `handed on` are scores that would then be converted. `unsteady` are scores
that verovio converts at one time and crashes on at another, in a process of its own: what is read is the same each
time, and the crash is a refusal with its place. Whatever was found is kept in `tests/corpus/` and read again in every
test run. This page was made by version {code}.
"""


def replay(folder: Path, kind: str, number: int) -> int:
    """One input again: what it is, and what comes of it."""
    formats = soak_inputs.SANDBOXED if kind == "sandboxed" else soak_inputs.FORMATS
    format, data = soak_inputs.damaged(number, _seeds(folder), formats)
    kept = folder / f"replayed-{number}.{format}"
    kept.write_bytes(data)
    found: list[tuple[str, str]] = []
    soak_inputs.soak(
        folder,
        number,
        1,
        lambda _what, _number, outcome, detail: found.append((outcome, detail)),
        seeds=_seeds(folder),
        sandboxed=kind == "sandboxed",
    )
    print(f"{format}, {len(data)} bytes in {kept}\n{found[0][0]}: {found[0][1]}")
    return found[0][0] in soak_inputs.BAD


def main() -> int:
    """Do what is asked for; 1 where there were faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="what is done is kept here")
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--replay", type=int)
    parser.add_argument("--of", choices=("inputs", "sandboxed"), default="inputs")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, first, count = options.work
        print(json.dumps(work(options.folder, kind, int(first), int(count))))
        return 0
    if options.replay is not None:
        return replay(options.folder, options.of, options.replay)
    wanted = {kind: getattr(options, kind) for kind in KINDS}
    if any(wanted.values()):
        drive(options.folder, wanted, options.processes, options.hours)
    if options.summary:
        PAGE.write_text(summary(options.folder), "utf-8")
        print(f"{PAGE} written")
    return any(block["faults"] for block in done(options.folder))


if __name__ == "__main__":
    sys.exit(main())

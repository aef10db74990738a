"""What each size of a collection needs: building, searching and joining 37,773 to 5,000,000 melodies.

    .venv/bin/python benchmarks/scale.py /tmp/scale 60000 500000        these sizes, all stages
    .venv/bin/python benchmarks/scale.py /tmp/scale 5000000 --stages arrays table search prepare sample
    .venv/bin/python benchmarks/scale.py /tmp/scale                     only the tables, of what was measured

37,773 are the incipits of RISM; up to 500,000 the fragments of real melodies; beyond, the same fragments again with
variations: transposed, up to six of ten notes changed, up to four cut off at either end, by a fixed random state.

Every stage is a process of its own, and its figures go to results.json in the folder: what is there is not measured
again (delete the entry). Collections and work of joins stay in the folder, some 10 GB for 2,000,000 melodies.

    build     a collection from a stream of melodies
    arrays    in place of it, only the notes of a collection: enough for all that follows but the join and its results
    table     the table of notes of the measure `roslin`
    search    20 queries of 12 notes, the ten nearest each: the median
    join      the fast join at the level "same", by its parts: getting ready, what is rare, chance, comparing
    exact     some pieces of the exact join, scaled up; all of it for RISM
    prepare   of the join only what it prepares and what is rare
    sample    some pieces of chance and of the fast comparison, scaled up: an estimate of the join

Memory is given twice: the peak of what a process alone holds, which must fit, and the peak with the files that it has
mapped, which the system takes back when others need it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import FRAGMENTS, INCIPITS, packed_fragments
from roslin import Collection, Melody
from roslin.collection.files import ARRAY_NAMES, DATABASE, array_header, array_path
from roslin.collection.verified import open_array
from roslin.collection.write import build
from roslin.concordances.join import piece_count
from roslin.concordances.journal import Journal
from roslin.concordances.pairs import find_pairs, make_buckets
from roslin.concordances.prepared import ChancePiece, Join, PairPiece, keep_needed, opened, prepare
from roslin.display.table import Table
from roslin.matchers.roslin.roslin import Roslin
from roslin.represent.packed import Packed
from roslin.search import Request, search
from roslin.search.chance import Background, WholeCollection, default_tails, mode_of, sample_of
from roslin.search.engines.roslin import Aligned, ByEvidence, open_table
from roslin.search.work import Work

RISM = 37_773
SIZES = (RISM, 60_000, 500_000, 2_000_000, 5_000_000)
STAGES = ("build", "table", "search", "join", "exact")
LEVEL = 0.1  # of doubt
THREADS = 2
SEED = 17
QUERIES, QUERY_NOTES = 20, 12
MOST_CHANGED, MOST_CUT, LEAST_LEFT = 0.6, 4, 6
SAMPLED_PIECES, EXACT_PIECES = 12, 2
_RESULTS = "results.json"
_CHUNK = 1000  # melodies
_TOKEN = "00000000"


def main() -> int:
    """Measure what is asked for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sizes", type=int, nargs="*")
    parser.add_argument("--stages", nargs="+", default=STAGES, choices=list(_MEASURES))
    parser.add_argument("--one", action="store_true", help="this process measures: one size, one stage")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(arguments.stages[0], arguments.folder, arguments.sizes[0])))
        return 0
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for size in arguments.sizes:
        for stage in arguments.stages:
            _measure(arguments.folder, size, stage)
    report(_known(arguments.folder))
    return 0


def _known(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / _RESULTS
    known: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return known


def _measure(folder: Path, size: int, stage: str) -> None:
    """Have a stage measured in a process of its own, unless that was done."""
    if stage in _known(folder).get(str(size), {}):
        return
    command = [sys.executable, __file__, str(folder), str(size), "--stages", stage, "--one"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{stage} of {size} failed with status {done.returncode}")
    known = _known(folder)  # another process may have added to it meanwhile
    known.setdefault(str(size), {})[stage] = json.loads(done.stdout.splitlines()[-1])
    (folder / _RESULTS).write_text(json.dumps(known, indent=1))
    print(size, stage, known[str(size)][stage], file=sys.stderr, flush=True)


# -- the stages -----------------------------------------------------------------------------------------------------


def measured(stage: str, folder: Path, size: int) -> dict[str, Any]:
    """The figures of one stage: those of its own, seconds, CPU seconds, and peaks of memory in bytes."""
    begun = time.perf_counter(), time.process_time()
    with _peak_of_own_memory() as peak:
        figures: dict[str, Any] = _MEASURES[stage](folder, size)
    return {
        "seconds": time.perf_counter() - begun[0],
        "cpu": time.process_time() - begun[1],
        "own_memory": peak[0],
        "with_files": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "load": os.getloadavg()[1],
        **figures,
    }


@contextmanager
def _peak_of_own_memory() -> Iterator[list[int]]:
    """The most memory that this process held without files that it has mapped; known at the end."""
    peak, is_over = [0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.05):
            with suppress(OSError, IndexError):
                status = Path("/proc/self/status").read_text()
                peak[0] = max(peak[0], int(status.split("RssAnon:")[1].split()[0]) * 1024)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        is_over.set()
        thread.join()


def _path(folder: Path, size: int) -> Path:
    return folder / f"{size}.roslin"


def _disk(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


class _Notes:
    """The notes of a collection without the rest of it."""

    def __init__(self, path: Path):
        self.path, self.about = path, {"token": _TOKEN}
        self._packed = Packed(*(open_array(path, name, _TOKEN) for name in ARRAY_NAMES))

    def __len__(self) -> int:
        return len(self._packed)

    def packed(self) -> Packed:
        return self._packed


def _store(folder: Path, size: int) -> Any:
    path = _path(folder, size)
    return Collection(path) if (path / DATABASE).exists() else _Notes(path)


def _arrays(folder: Path, size: int) -> dict[str, Any]:
    """Notes and where each melody begins, written some at a time."""
    path = _path(folder, size)
    path.mkdir(parents=True, exist_ok=True)
    ends, total = [np.zeros(1, np.int64)], 0
    with (path / "notes").open("wb") as file:
        for notes, offsets in _chunks(folder, size):
            file.write(notes.data)
            ends.append(offsets[1:] + total)
            total += len(notes)
    with (path / "notes").open("rb") as file, array_path(path, "notes", _TOKEN).open("wb") as out:
        out.write(array_header("notes", total))
        shutil.copyfileobj(file, out)
    (path / "notes").unlink()
    nothing = np.zeros(size + 1, np.int64)
    rest = {"offsets": np.concatenate(ends), "barlines": nothing[:0], "bar_offsets": nothing}
    for name, values in rest.items():
        array_path(path, name, _TOKEN).write_bytes(array_header(name, len(values)) + values.tobytes())
    return {"melodies": size, "disk": _disk(path)}


def _build(folder: Path, size: int) -> dict[str, Any]:
    path = _path(folder, size)
    report = build(INCIPITS if size == RISM else _melodies(folder, size), path)
    return {"melodies": report.total, "disk": _disk(path)}


def _table(folder: Path, size: int) -> dict[str, Any]:
    table = open_table(_store(folder, size))
    return {"melodies": len(table), "disk": table.size}


def _search(folder: Path, size: int) -> dict[str, Any]:
    queries, store = _queries(folder), _store(folder, size)
    times, cpu = [], []
    for query in [queries[0], *queries]:  # what is made for the first of all searches is no part of a search
        begun = time.perf_counter(), time.process_time()
        _nearest(query, store)
        times.append(time.perf_counter() - begun[0])
        cpu.append(time.process_time() - begun[1])
    return {"median": statistics.median(times[1:]), "median_cpu": statistics.median(cpu[1:]), "worst_cpu": max(cpu[1:])}


def _nearest(query: Melody, store: Any) -> None:
    if isinstance(store, Collection):
        search(Request(query), store)
        return
    table = store.packed().keep("table", lambda _: open_table(store))
    both = Roslin(compare="both")
    background = Background.among(store.packed(), sample_of(store), lambda *asked: default_tails()[mode_of(*asked)])
    whole = WholeCollection(background, len(table), coinciding=False)
    nobody, everything = np.empty(0, np.int64), np.arange(len(table))
    ByEvidence(Aligned.of(query, both, table), store.packed(), everything, nobody, whole, Work()).find(10, np.inf)


def _join(folder: Path, size: int) -> dict[str, Any]:
    """The fast join; its parts by what it reports."""
    work_folder = folder / f"{size}.work"
    parts: dict[str, list[float]] = {}
    last = [time.perf_counter(), time.process_time()]

    def told(_: float, what: str) -> None:
        """A report comes when something is done, so the time before it belongs to what it names."""
        now = [time.perf_counter(), time.process_time()]
        taken = parts.get(what, [0.0, 0.0])
        parts[what] = [taken[k] + now[k] - last[k] for k in range(2)]
        last[:] = now

    with Collection(_path(folder, size)) as collection, Work(THREADS, progress=told) as work:
        found = find_pairs(collection, LEVEL, work, folder=work_folder, exact=False)
    told(1.0, "putting together")
    return {
        "parts": parts,
        "pairs": len(found),
        "copies": int(found.is_copy.sum()),
        "compared": found.compared,
        "disk": _disk(work_folder),
    }


def _prepared(folder: Path, size: int, is_exact: bool) -> Join:
    store, place = _store(folder, size), folder / f"{size}.work"
    join = Join(str(store.path), store.about["token"], str(place), is_exact=is_exact, is_all=True, asked="")
    if isinstance(store, _Notes):
        vars(opened(join)).update(store=store, tails=default_tails()["both/anywhere/any"])
    return join


def _prepare(folder: Path, size: int) -> dict[str, Any]:
    join = _prepared(folder, size, is_exact=False)
    place = Path(join.folder)
    place.mkdir(exist_ok=True)
    ready = prepare(join, None)
    seconds = time.perf_counter()
    with Work(THREADS) as work:
        make_buckets(ready, work, Journal(place / "rare", {}))
    return {
        "distinct": len(ready.distinct),
        "buckets": len(ready.shortlist.buckets.starts) - 1 if ready.shortlist else 0,
        "rare_seconds": time.perf_counter() - seconds,
        "disk": _disk(place),
    }


def _sample(folder: Path, size: int) -> dict[str, Any]:
    """Chance of some pieces, and their pairs: as if all needed the same share of themselves, unless a join knows."""
    join = _prepared(folder, size, is_exact=False)
    ready = opened(join)
    count = piece_count(len(ready.distinct))
    pieces = _spread(count, SAMPLED_PIECES)
    begun = time.process_time()
    for piece in pieces:
        ChancePiece(join)(piece)
    chance = time.process_time() - begun
    if not (ready.folder / "needed.bin").exists():
        own = ready.table.own_scores[ready.table.order]
        keep_needed(join, (_USUAL_SHARE * own).astype(np.int32))
    begun, compared = time.process_time(), 0
    for piece in pieces:
        compared += int(PairPiece(join)(piece)["compared"][0])
    pairs = time.process_time() - begun
    scale = count / len(pieces)
    return {"chance_cpu": scale * chance, "pairs_cpu": scale * pairs, "compared": scale * compared, "pieces": count}


def _exact(folder: Path, size: int) -> dict[str, Any]:
    """Pieces of the exact join after a fast one, which has found out what is needed."""
    join = _prepared(folder, size, is_exact=True)
    ready = opened(join)
    count = piece_count(len(ready.places))
    pieces = list(range(count)) if size == RISM else _spread(count, EXACT_PIECES)
    begun, compared = time.perf_counter(), 0
    cpu = time.process_time()
    with Work(THREADS) as work:
        for result in work.map(PairPiece(join), pieces):
            compared += int(result["compared"][0])
    scale = count / len(pieces)
    return {
        "join_seconds": scale * (time.perf_counter() - begun),
        "join_cpu": scale * (time.process_time() - cpu),
        "compared": scale * compared,
        "is_extrapolated": len(pieces) < count,
    }


def _spread(count: int, most: int) -> list[int]:
    """Numbers of pieces, evenly from the shortest melodies to the longest."""
    return sorted({int((k + 0.5) * count / most) for k in range(most)})


_USUAL_SHARE = 0.7
_MEASURES = {
    "build": _build,
    "arrays": _arrays,
    "table": _table,
    "search": _search,
    "join": _join,
    "exact": _exact,
    "prepare": _prepare,
    "sample": _sample,
}


# -- melodies -------------------------------------------------------------------------------------------------------


def _fragments(folder: Path) -> tuple[Any, Any]:
    """(notes, offsets) of the fragments, mapped."""
    paths = folder / "fragments-notes.npy", folder / "fragments-offsets.npy"
    if not paths[1].exists():
        packed = packed_fragments(FRAGMENTS)
        np.save(paths[0], packed.notes)
        np.save(paths[1], packed.offsets)
    return np.load(paths[0], mmap_mode="r"), np.load(paths[1])


def _queries(folder: Path) -> list[Melody]:
    notes, offsets = _fragments(folder)
    long = np.flatnonzero(np.diff(offsets) >= QUERY_NOTES)
    chosen = np.random.default_rng(SEED).choice(long, QUERIES, replace=False)
    return [Melody(np.array(notes[offsets[k] : offsets[k] + QUERY_NOTES])) for k in chosen.tolist()]


def _melodies(folder: Path, size: int) -> Iterator[Melody]:
    """So many melodies: the fragments, and then again and again with variations."""
    number = 0
    for notes, offsets in _chunks(folder, size):
        for begin, end in pairwise(offsets.tolist()):
            yield Melody(notes[begin:end].copy(), id=f"m{number}")
            number += 1


def _chunks(folder: Path, size: int) -> Iterator[tuple[Any, Any]]:
    """(notes, offsets) of some melodies at a time."""
    notes, offsets = _fragments(folder)
    count = len(offsets) - 1
    for start in range(0, size, _CHUNK):
        numbers = np.arange(start, min(start + _CHUNK, size))
        firsts, lasts = offsets[numbers % count], offsets[numbers % count + 1]
        random = np.random.default_rng((SEED, start))
        cut = random.integers(0, MOST_CUT + 1, (2, len(numbers)))
        cut *= (numbers >= count) & (lasts - firsts - cut.sum(axis=0) >= LEAST_LEFT)
        firsts, lasts = firsts + cut[0], lasts - cut[1]
        sizes = lasts - firsts
        taken = np.concatenate([[0], np.cumsum(sizes)])
        some = np.array(notes[np.repeat(firsts - taken[:-1], sizes) + np.arange(taken[-1])])
        of = np.repeat(np.arange(len(numbers)), sizes)
        is_changed = random.random(len(some)) < random.uniform(0, MOST_CHANGED, len(numbers))[of]
        steps = random.integers(-4, 5, len(some)) * is_changed + random.integers(-6, 7, len(numbers))[of]
        steps *= (numbers >= count)[of]
        some["pitch_midi"] = np.clip(some["pitch_midi"] + steps, 12, 115)
        some["onset_ticks"] -= some["onset_ticks"][taken[:-1]][of]
        yield some, taken


# -- tables ---------------------------------------------------------------------------------------------------------


def report(known: dict[str, dict[str, Any]]) -> None:
    """Print what was measured, how it grows, and what each size needs."""
    sizes = sorted(int(size) for size in known)
    measured_rows = [_measured_row(size, known[str(size)]) for size in sizes]
    if not sizes:
        print("nothing is measured yet")
        return
    print(_shown(measured_rows), end="\n\n")
    memory = [row for size in sizes for row in _memory_rows(size, known[str(size)])]
    print(_shown(memory), end="\n\n")
    fits = {name: _fit(name, measured_rows) for name in measured_rows[0] if name.endswith("cpu s")}
    print(_shown([{"what": name, "exponent": fit[0] if fit else None} for name, fit in fits.items()]), end="\n\n")
    print(_shown([_needs(size, known.get(str(size), {}), fits) for size in SIZES]))
    print("~ scaled up from some pieces of work; * from the growth between the sizes that were measured")


def _shown(rows: list[dict[str, Any]]) -> Table:
    return Table(tuple(rows[0]) if rows else (), tuple(rows))


def _measured_row(size: int, of: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of everything at one size; what was scaled up from some pieces of work has a ~ behind it."""
    parts, sample = of.get("join", {}).get("parts", {}), of.get("sample", {})
    ready = sum(parts.get(name, (0, 0))[1] for name in ("getting ready", "what is rare")) or None
    return {
        "melodies": size,
        "build cpu s": of.get("build", {}).get("cpu"),
        "table cpu s": of.get("table", {}).get("cpu"),
        "search cpu s": of.get("search", {}).get("median_cpu"),
        "ready cpu s": ready or of.get("prepare", {}).get("cpu"),
        "chance cpu s": _first(parts.get("what chance gives", (None, None))[1], sample.get("chance_cpu")),
        "fast cpu s": _first(parts.get("comparing", (None, None))[1], sample.get("pairs_cpu")),
        "exact cpu s": of.get("exact", {}).get("join_cpu"),
        "join s": of.get("join", {}).get("seconds"),
        "load": of.get("join", {}).get("load"),
        "pairs": of.get("join", {}).get("pairs"),
        "sampled": " ".join(
            name
            for name, is_so in (
                ("chance, fast", bool(sample) and not parts),
                ("exact", of.get("exact", {}).get("is_extrapolated", False)),
            )
            if is_so
        ),
    }


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _memory_rows(size: int, of: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for stage, figures in of.items():
        yield {
            "melodies": size,
            "stage": stage,
            "own MB": round(figures["own_memory"] / 1e6),
            "with files MB": round(figures["with_files"] / 1e6),
            "on disk MB": round(figures["disk"] / 1e6) if "disk" in figures else None,
        }


def _fit(name: str, rows: list[dict[str, Any]]) -> tuple[float, float] | None:
    """(exponent, ln of the factor) of growth among the fragments and their variations; with RISM only if need be."""
    of_all = [(row["melodies"], row[name]) for row in rows if row[name]]
    of_fragments = [each for each in of_all if each[0] != RISM]  # RISM is another music
    known = of_fragments if len(of_fragments) > 1 else of_all
    if len(known) < 2:
        return None
    sizes, values = (np.log(each) for each in zip(*known, strict=True))
    exponent, factor = np.polyfit(sizes, values, 1)
    return float(exponent), float(factor)


def _needs(size: int, of: dict[str, Any], fits: dict[str, Any]) -> dict[str, Any]:
    """Core hours of one size, from what was measured or from the fits."""
    row = _measured_row(size, of) if of else {}

    def seconds(name: str) -> tuple[float, str]:
        if row.get(name) is not None:
            return row[name], "~" if name.split()[0] in row["sampled"] else ""
        return (float(np.exp(np.polyval(fits[name], np.log(size)))), "*") if fits.get(name) else (float("nan"), "?")

    def hours(*names: str) -> str:
        each = [seconds(name) for name in names]
        mark = max((mark for _, mark in each), key=" ~*?".find)
        return f"{sum(value for value, _ in each) / 3600:.3g}{mark}"

    search_s, mark = seconds("search cpu s")
    return {
        "melodies": size,
        "build, core h": hours("build cpu s", "table cpu s"),
        "search, core ms": f"{1e3 * search_s:.0f}{mark}",
        "fast join, core h": hours("ready cpu s", "chance cpu s", "fast cpu s"),
        "exact join, core h": hours("ready cpu s", "chance cpu s", "exact cpu s"),
    }


if __name__ == "__main__":
    sys.exit(main())

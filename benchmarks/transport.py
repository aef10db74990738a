"""One Earth Mover's Distance against other libraries, and what the ways of aligning cost and find.

    uv venv /tmp/peer && uv pip install --python /tmp/peer/bin/python wasserstein "numpy<2"
    .venv/bin/python benchmarks/transport.py --wasserstein /tmp/peer/bin/python

`wasserstein` cannot be loaded beside numpy 2, so it runs in an environment of its own, in the same run on the same
sets; without the option it is left out. Times are CPU times, the best of several rounds. Ours is one batched call from
points and weights, ground distances included; cv2 and wasserstein get their signatures ready made. POT is timed twice:
`emd2` alone, with the ground distances and the row that makes the sums equal ready made, and from points and weights
like ours. The targets are about `emd2` alone.

The second table is about 300 pairs of real incipits: a segment of eight notes against a whole incipit, half of them of
the same work according to the catalogue, half at random. The gap of a pair is (found - best) / max(best, 0.1), where
the best is the least that any method found. Evolution searches tempo continuously, coincidence a list of tempos.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin import Melody
from roslin.native import kernels
from roslin.notation import records
from roslin.represent.points import point_sets
from roslin.transport.align import Document, Query, Setting, pair_of
from roslin.transport.arguments import Pair
from roslin.transport.methods import coincident, evolved, refined, unaligned

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from real_data import DATA, FRAGMENTS, INCIPITS
from roslin.types import Floats

Set = tuple[Floats, Floats]

BLOCKS = 4
ROUNDS = 6
PAIRS = 300
SEGMENT = 8
TEMPOS = (0.5, 0.75, 1.0, 1.5, 2.0)
MANY_TEMPOS = np.geomspace(0.5, 2, 17)
# At least this many times as fast.
POT_TARGET, WASSERSTEIN_TARGET, CV2_SEGMENT_TARGET, POT_SEGMENT_TARGET = 5.0, 2.5, 5.0, 50.0

# Run by the other Python: reads the sets, prints microseconds and the distances.
CHILD = """
import json, sys, time
import numpy as np, wasserstein
sets = np.load(sys.argv[1])
offsets_a, offsets_b = sets["offsets_a"], sets["offsets_b"]
events = [
    tuple(np.ascontiguousarray(sets[name][o[k]:o[k + 1]]) for name, o in (
        ("weights_a", offsets_a), ("points_a", offsets_a), ("weights_b", offsets_b), ("points_b", offsets_b)))
    for k in range(len(offsets_a) - 1)
]
emd = wasserstein.EMD(R=1.0, beta=1.0, norm=False)
best = float("inf")
for _ in range(int(sys.argv[2])):
    began = time.thread_time()
    values = [emd(*event) for event in events]
    best = min(best, time.thread_time() - began)
# The package charges 1 for each unit of weight that one set has more than the other.
values = [(v - abs(e[0].sum() - e[2].sum())) / min(e[0].sum(), e[2].sum()) for v, e in zip(values, events)]
print(json.dumps({"microseconds": best / len(events) * 1e6, "distances": values}))
"""


def main() -> int:
    """Print both tables; exit code 1 when a target is missed or the libraries disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wasserstein", type=Path, metavar="PYTHON", help="a Python that has wasserstein")
    parser.add_argument("--pairs", type=int, default=300, help="pairs of the table of alignments")
    arguments = parser.parse_args()
    missed = _distances(arguments.wasserstein)
    missed += _alignments(arguments.pairs)
    for line in missed:
        sys.stdout.write(f"missed: {line}\n")
    return int(bool(missed))


def _walk(rng: np.random.Generator, size: int) -> Set:
    """A random walk in pitch with lengths of a melody."""
    lengths = rng.choice([0.25, 0.5, 1.0, 1.0, 2.0], size)
    onsets = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return np.column_stack([onsets, 60.0 + np.cumsum(rng.choice([-4, -2, -1, 0, 1, 2, 3, 5], size))]), lengths


def _segments(rng: np.random.Generator) -> list[tuple[Set, Set]]:
    """Segments of 6 to 9 notes against fragments of 13 to 19, real ones, laid on each other by a note."""
    with np.load(FRAGMENTS) as stored:
        offsets, onset, length, pitch = (
            stored[name] for name in ("offsets", "onset_ticks", "duration_ticks", "pitch_midi")
        )
    sizes = np.diff(offsets)
    chosen = rng.choice(np.flatnonzero((sizes >= 13) & (sizes <= 19)), (PAIRS, 2))

    def points(number: int, notes: slice) -> Set:
        span = slice(offsets[number], offsets[number + 1])
        at = np.column_stack([onset[span] / 48, pitch[span]])[notes].astype(np.float64)
        return at - at[0], length[span][notes] / 48

    pairs = []
    for a, b in chosen.tolist():
        (at, weights), whole = points(a, slice(2, 2 + int(rng.integers(6, 10)))), points(b, slice(None))
        pairs.append(((at + whole[0][int(rng.integers(len(whole[0])))], weights), whole))
    return pairs


def _joined(sets: list[Set]) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    offsets = np.concatenate([[0], np.cumsum([len(weights) for _, weights in sets])]).astype(np.int64)
    return np.concatenate([points for points, _ in sets]), np.concatenate([weights for _, weights in sets]), offsets


def _padded(a: Set, b: Set) -> tuple[Floats, Floats, Floats]:
    """What POT solves: a row or a column more takes what the heavier set keeps, at no cost."""
    apart = np.linalg.norm(a[0][:, None, :] - b[0][None, :, :], axis=2)
    spare = a[1].sum() - b[1].sum()
    if spare > 0:
        return a[1], np.append(b[1], spare), np.ascontiguousarray(np.pad(apart, ((0, 0), (0, 1))))
    if spare < 0:
        return np.append(a[1], -spare), b[1], np.ascontiguousarray(np.pad(apart, ((0, 1), (0, 0))))
    return a[1], b[1], apart


def _distances(other_python: Path | None) -> list[str]:
    """Microseconds per distance, as a table; what was missed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import cv2
        import ot
    rng = np.random.default_rng(1998)
    cases = {f"n = {size}": [(_walk(rng, size), _walk(rng, size)) for _ in range(PAIRS)] for size in (8, 16, 24, 32)}
    cases["segment"] = _segments(rng)
    missed = []
    sys.stdout.write("microseconds per distance (times as slow as ours)\n")
    for name, pairs in cases.items():
        joined = (*_joined([a for a, _ in pairs]), *_joined([b for _, b in pairs]))
        padded = [_padded(a, b) for a, b in pairs]
        signatures = [tuple(np.column_stack([w, p]).astype(np.float32) for p, w in pair) for pair in pairs]
        works: dict[str, Callable[[], object]] = {
            "ours": partial(kernels.emd_pairs, *joined, 0, False, np.empty(len(pairs))),
            "POT emd2": partial(_each, ot.emd2, padded),
            "POT from points": partial(_each, lambda a, b: ot.emd2(*_padded(a, b)), pairs),
            "cv2.EMD": partial(_each, cv2.EMD, [(a, b, cv2.DIST_L2) for a, b in signatures]),
        }
        best = dict.fromkeys(works, np.inf)
        for _ in range(BLOCKS):  # turn and turn about: what else the machine does comes and goes
            for peer, work in works.items():
                best[peer] = min(best[peer], _microseconds(work) / len(pairs))
        distances = np.empty(len(pairs))
        kernels.emd_pairs(*joined, 0, False, distances)
        totals = [min(a[1].sum(), b[1].sum()) for a, b in pairs]
        errors = {"POT emd2": np.array([ot.emd2(*problem) for problem in padded]) / totals - distances}
        if other_python:
            best["wasserstein"], found = _other(other_python, joined)
            errors["wasserstein"] = found - distances
        for peer, error in errors.items():
            if not np.abs(error).max() < 1e-9:
                missed.append(f"{name}: {peer} differs by {np.abs(error).max():.1e}")
        row = "  ".join(f"{peer} {value:7.2f} ({value / best['ours']:5.1f})" for peer, value in best.items())
        sys.stdout.write(f"{name:8s}  {row}\n")
        targets = {"POT emd2": POT_TARGET, "wasserstein": WASSERSTEIN_TARGET}
        if name == "segment":
            targets = {"POT emd2": POT_SEGMENT_TARGET, "cv2.EMD": CV2_SEGMENT_TARGET}
        for peer, target in targets.items():
            if peer in best and best[peer] < target * best["ours"]:
                missed.append(f"{name}: {best[peer] / best['ours']:.2f} times as fast as {peer}; target {target:g}")
    return missed


def _microseconds(work: Callable[[], object]) -> float:
    work()
    best = np.inf
    for _ in range(ROUNDS):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return best * 1e6


def _each(work: Callable[..., object], problems: list[Any]) -> list[object]:
    return [work(*problem) for problem in problems]


def _other(python: Path, joined: tuple[npt.NDArray[np.generic], ...]) -> tuple[float, Floats]:
    names = ("points_a", "weights_a", "offsets_a", "points_b", "weights_b", "offsets_b")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sets.npz"
        np.savez(path, **dict(zip(names, joined, strict=True)))  # type: ignore[arg-type]
        command = [str(python), "-c", CHILD, str(path), str(BLOCKS * ROUNDS)]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(answer["microseconds"]), np.array(answer["distances"])


def _real_pairs(count: int) -> list[tuple[Melody, Melody]]:
    """Pairs of incipits, the first half of the same work and the rest at random."""
    rng = np.random.default_rng(2004)
    with (DATA / "rism" / "same_work_hard_dev.qrel").open(encoding="utf-8") as lines:
        related = [(line.split()[0], line.split()[2]) for line in lines]
    with gzip.open(INCIPITS, "rt", encoding="utf-8") as lines:
        rows = {json.loads(line)["id"]: line for line in lines}
    known = sorted(rows)
    pairs = [related[k] for k in rng.permutation(len(related)).tolist()]
    ids = rng.choice(len(known), (20 * count, 2)).tolist()
    strangers = [(known[a], known[b]) for a, b in ids]
    wanted = {name for pair in [*pairs[: 4 * count], *strangers[: 2 * count]] for name in pair if name in rows}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chosen.jsonl"
        path.write_text("".join(rows[name] for name in sorted(wanted)), "utf-8")
        melodies = {r.melody.id: r.melody for r in records(path, strict=False) if r.melody and len(r.melody) >= SEGMENT}
    found: list[tuple[Melody, Melody]] = []
    for source, enough in ((pairs, count // 2), (strangers, count)):
        for a, b in source:
            if len(found) < enough and a in melodies and b in melodies and len(melodies[b]) <= 40:
                found.append((melodies[a], melodies[b]))
    return found


def _pair(query: Melody, document: Melody, setting: Setting) -> Pair:
    points = point_sets([query, document])
    moving, still = Query.of(points, setting, slice(0, SEGMENT)), Document.of(points, 1, setting)
    return pair_of(moving, still, setting)


def _coincidence(pair: Pair, counts: npt.NDArray[np.int64]) -> float:
    return coincident(pair, counts=counts)[0]


def _none(pair: Pair, counts: npt.NDArray[np.int64]) -> float:
    counts[0] += len(pair.rules.tempos)
    return unaligned(pair)[0]


def _at_many_tempos(pair: Pair) -> Pair:
    return pair._replace(rules=pair.rules._replace(tempos=MANY_TEMPOS))


METHODS: dict[str, Callable[[Pair, npt.NDArray[np.int64]], float]] = {
    "none": _none,
    "coincidence": _coincidence,
    "coincidence, 17 tempos": lambda pair, counts: _coincidence(_at_many_tempos(pair), counts),
    "refined": lambda pair, counts: refined(pair, counts)[0],
    "evolution 30x60": lambda pair, counts: evolved(pair, counts=counts)[0],
    "evolution 64x120, polished": lambda pair, counts: evolved(pair, 64, 120, True, counts)[0],
}


def _alignments(count: int) -> list[str]:
    """Quality and cost of the methods, as a table; what was missed."""
    chosen = [(query, document) for query, document in _real_pairs(count) if len(point_sets([query]).time) >= SEGMENT]
    missed = []
    for title, tempos in (("tempo 1", (1.0,)), ("tempo 1/2 to 2", TEMPOS)):
        setting = Setting(tempos=tempos)
        pairs = [_pair(query, document, setting) for query, document in chosen]
        values, seconds, counts = {}, {}, {}
        methods = {name: method for name, method in METHODS.items() if len(tempos) > 1 or "tempos" not in name}
        for name, method in methods.items():
            method(pairs[0], np.zeros(1, np.int64))
            tally = np.zeros(1, np.int64)
            began = time.process_time()
            values[name] = np.array([method(pair, tally) for pair in pairs])
            seconds[name], counts[name] = time.process_time() - began, tally[0] / len(pairs)
        best = np.min(list(values.values()), axis=0)
        gaps = {name: (found - best) / np.maximum(best, 0.1) for name, found in values.items()}
        sys.stdout.write(f"\n{len(pairs)} pairs, {title}: mean gap, within 1 %, distances a pair, CPU of evolution\n")
        for name, gap in gaps.items():
            share = seconds[name] / seconds["evolution 30x60"]
            sys.stdout.write(
                f"{name:28s} {gap.mean():8.2%} {(gap <= 0.01).mean():7.0%} {counts[name]:8.0f} {share:8.3f}\n"
            )
        for name in methods.keys() & {"coincidence", "coincidence, 17 tempos", "refined"}:
            if gaps[name].mean() > gaps["evolution 30x60"].mean():
                missed.append(f"{title}: the gap of {name} is larger than that of evolution")
            if seconds[name] > seconds["evolution 30x60"] / 3:
                missed.append(f"{title}: {name} costs more than a third of evolution")
    return missed


if __name__ == "__main__":
    sys.exit(main())

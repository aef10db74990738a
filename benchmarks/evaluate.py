"""nDCG + AP + bpref + ADR over 10,000 queries of 1,000 results, beside pytrec_eval, ir_measures and ranx, in one run.

    .venv/bin/python benchmarks/evaluate.py

Each runs in a fresh process of its own on the same data, which lie in files. Timed is the CPU time of the evaluation
alone, the best of some rounds. Memory (Linux) is the most that the process ever held, its peak resident set; beside it
stands what it held when all was ready: Python, the library, and the data in the form that it takes. The others have no
ADR: they compute three measures, Roslin four. pytrec_eval and ir_measures take dicts; ranx is timed warm: compiled, its
own structures built. Roslin is timed from dicts {query: {document: score}} in no order.
Targets: at most 1.0 times pytrec_eval's time; less memory than any other.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

TARGETS = {"roslin": 1.0}
MEASURES = ("nDCG", "AP", "bpref", "ADR")
_TYPES = {"documents": np.int64, "judged": np.int64, "grades": np.int64, "scores": np.float64}
# What is to be timed, its data ready.
Work = Callable[[], dict[str, float]]


class Data:
    """Random documents and scores; a hundred judged a query, grades 0 to 3, half of them in the results."""

    def __init__(self, folder: Path, queries: int):
        self.folder, self.queries = folder, queries

    def write(self, depth: int, judged: int = 100) -> None:
        """Make the files."""
        chance = np.random.default_rng(2005)
        pool = 20 * depth
        documents = np.stack([chance.choice(pool, depth, replace=False) for _ in range(self.queries)])
        half = min(judged // 2, depth)
        found = np.stack([chance.choice(row, half, replace=False) for row in documents])
        others = pool + np.stack([chance.choice(pool, judged - half, replace=False) for _ in range(self.queries)])
        grades = chance.choice([0, 0, 1, 2, 3], (self.queries, judged))
        grades[:, 0] = 1
        documents.tofile(self.folder / "documents")
        chance.random((self.queries, depth)).tofile(self.folder / "scores")
        np.concatenate([found, others], axis=1).tofile(self.folder / "judged")
        grades.tofile(self.folder / "grades")

    def array(self, name: str) -> Any:
        """All rows of a file, (queries, ...)."""
        return np.fromfile(self.folder / name, _TYPES[name]).reshape(self.queries, -1)

    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgements as dicts."""
        return dict(self._dicts("judged", "grades"))

    def run(self) -> dict[str, dict[str, float]]:
        """The results as dicts."""
        return dict(self._dicts("documents", "scores"))

    def _dicts(self, ids: str, values: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Query by query, so that no large array is left over whose memory could be used again unseen."""
        for query, (row, own) in enumerate(zip(self._rows(ids), self._rows(values), strict=True)):
            yield f"q{query}", {f"d{id}": value for id, value in zip(row, own, strict=True)}

    def _rows(self, name: str) -> Iterator[list[Any]]:
        path = self.folder / name
        width = path.stat().st_size // 8 // self.queries
        with path.open("rb") as stream:
            for _ in range(self.queries):
                yield np.fromfile(stream, _TYPES[name], width).tolist()


def roslin_from_dicts(data: Data) -> Work:
    """Everything from dicts to means, the truth included."""
    from roslin.evaluate import measure
    from roslin.evaluate.rankings import hits_of, judge
    from roslin.truth import Truth

    qrels, run = data.qrels(), data.run()

    def work() -> dict[str, float]:
        hits = hits_of(judge(Truth.from_relevance(qrels)), run)
        return {name: float(measure(name).values(hits).mean()) for name in MEASURES}

    return work


def pytrec(data: Data) -> Work:
    """pytrec_eval from dicts."""
    import pytrec_eval

    qrels, run = data.qrels(), data.run()

    def work() -> dict[str, float]:
        results = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg", "map", "bpref"}).evaluate(run)
        names = {"nDCG": "ndcg", "AP": "map", "bpref": "bpref"}
        return {ours: sum(r[theirs] for r in results.values()) / len(results) for ours, theirs in names.items()}

    return work


def ir_measures_from_dicts(data: Data) -> Work:
    """ir_measures from dicts."""
    import ir_measures
    from ir_measures import AP, Bpref, nDCG

    qrels, run = data.qrels(), data.run()
    wanted = [nDCG, AP, Bpref]

    def work() -> dict[str, float]:
        means = ir_measures.calc_aggregate(wanted, qrels, run)
        return {repr(measure): means[measure] for measure in wanted}

    return work


def ranx_warm(data: Data) -> Work:
    """ranx, compiled and with its structures built."""
    from ranx import Qrels, Run, evaluate

    judgements, results = data.qrels(), data.run()
    qrels, run = Qrels(judgements), Run(results)
    names = ["ndcg", "map", "bpref"]
    evaluate(qrels, run, names)
    return lambda: {name: float(value) for name, value in evaluate(qrels, run, names).items()}


CONTENDERS: dict[str, Callable[[Data], Work]] = {
    "pytrec_eval": pytrec,
    "ir_measures": ir_measures_from_dicts,
    "ranx (warm)": ranx_warm,
    "roslin": roslin_from_dicts,
}


def _measure(name: str, data: Data, rounds: int) -> dict[str, Any]:
    work = CONTENDERS[name](data)
    before = _in_use()
    times, values = [], {}
    for _ in range(rounds):
        began = time.process_time()
        values = work()
        times.append(time.process_time() - began)
    return {"seconds": min(times), "ready": before, "peak": _megabytes("VmHWM"), "values": values}


def _in_use() -> float:
    """Memory in use now (Linux), after what is free was handed back, so that none of it is used again unseen."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return _megabytes("VmRSS")


def _megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def main() -> int:
    """Print a table; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        data = Data(options.folder, options.queries)
        sys.stdout.write(json.dumps(_measure(options.only, data, options.rounds)))
        return 0
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        Data(Path(folder), options.queries).write(options.depth)
        for name in CONTENDERS:
            command = [sys.executable, __file__, "--only", name, "--folder", folder]
            command += ["--queries", str(options.queries), "--rounds", str(options.rounds)]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
            results[name] = json.loads(done.stdout)
    base = results["pytrec_eval"]["seconds"]
    sys.stdout.write(f"{options.queries} queries x {options.depth} results, best of {options.rounds}\n")
    failed = False
    least = min(result["peak"] for name, result in results.items() if name not in TARGETS)
    for name, result in results.items():
        ratio = result["seconds"] / base
        values = ", ".join(f"{value:.6f}" for value in result["values"].values())
        target = f" (target {TARGETS[name]:g})" if name in TARGETS else ""
        memory = f"peak {result['peak']:5.0f} MB, ready {result['ready']:5.0f} MB"
        sys.stdout.write(f"{name:<18} {result['seconds']:7.2f} s  {ratio:6.3f}{target}  {memory}  {values}\n")
        failed |= name in TARGETS and (ratio > TARGETS[name] or result["peak"] > least)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

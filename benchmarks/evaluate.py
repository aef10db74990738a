"""nDCG + AP + bpref + ADR over 10,000 queries of 1,000 results, beside pytrec_eval, ir_measures and ranx, in one run.

    .venv/bin/python benchmarks/evaluate.py

Each runs in a process of its own on the same seeded data. Timed is the CPU time of the evaluation alone; memory is how
far it rose above the data (Linux). The others have no ADR: they compute three measures, Roslin four. pytrec_eval and
ir_measures take dicts; ranx is timed warm: compiled, with its own structures built before, whose memory counts. Roslin
is timed twice: from dicts {query: {document: score}}, and from integer codes with scores, both in no order.
Targets: at most 1.0 times pytrec_eval's time from dicts, at most 0.25 times from codes; less memory than any other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TARGETS = {"roslin from dicts": 1.0, "roslin from codes": 0.25}
MEASURES = ("nDCG", "AP", "bpref", "ADR")
# Memory in use when the data stood ready, and what is to be timed.
Prepared = tuple[float, Callable[[], dict[str, float]]]


class Data:
    """Random documents and scores; a hundred judged a query, grades 0 to 3, half of them in the results."""

    def __init__(self, queries: int, depth: int, judged: int = 100):
        chance = np.random.default_rng(2005)
        self.queries = queries
        pool = 20 * depth
        self.documents = np.stack([chance.choice(pool, depth, replace=False) for _ in range(queries)])
        self.scores = chance.random((queries, depth))
        half = min(judged // 2, depth)
        found = np.stack([chance.choice(row, half, replace=False) for row in self.documents])
        others = pool + np.stack([chance.choice(pool, judged - half, replace=False) for _ in range(queries)])
        self.judged = np.concatenate([found, others], axis=1)
        self.grades = chance.choice([0, 0, 1, 2, 3], self.judged.shape)
        self.grades[:, 0] = 1

    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgements as dicts."""
        rows = zip(self.judged.tolist(), self.grades.tolist(), strict=True)
        return {f"q{q}": {f"d{d}": g for d, g in zip(*row, strict=True)} for q, row in enumerate(rows)}

    def run(self) -> dict[str, dict[str, float]]:
        """The results as dicts."""
        rows = zip(self.documents.tolist(), self.scores.tolist(), strict=True)
        return {f"q{q}": {f"d{d}": s for d, s in zip(*row, strict=True)} for q, row in enumerate(rows)}


def roslin_from_dicts(data: Data) -> Prepared:
    """Everything from dicts to means, the truth included."""
    from roslin.evaluate import measure
    from roslin.evaluate.rankings import hits_of, judge
    from roslin.truth import Truth

    qrels, run = data.qrels(), data.run()
    before = _restart_peak()

    def work() -> dict[str, float]:
        hits = hits_of(judge(Truth.from_relevance(qrels)), run)
        return {name: float(measure(name).values(hits).mean()) for name in MEASURES}

    return before, work


def roslin_from_codes(data: Data) -> Prepared:
    """From integer codes and scores to means, the truth included."""
    from roslin.evaluate import measure
    from roslin.evaluate.rankings import CodedTruth, hits_of_codes

    query = np.repeat(np.arange(data.queries), data.judged.shape[1])
    document, gain = data.judged.ravel(), data.grades.ravel().astype(np.float64)
    before = _restart_peak()

    def work() -> dict[str, float]:
        hits = hits_of_codes(CodedTruth(query, document, gain, data.queries), data.documents, data.scores)
        return {name: float(measure(name).values(hits).mean()) for name in MEASURES}

    return before, work


def pytrec(data: Data) -> Prepared:
    """pytrec_eval from dicts."""
    import pytrec_eval

    qrels, run = data.qrels(), data.run()
    before = _restart_peak()

    def work() -> dict[str, float]:
        results = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg", "map", "bpref"}).evaluate(run)
        names = {"nDCG": "ndcg", "AP": "map", "bpref": "bpref"}
        return {ours: sum(r[theirs] for r in results.values()) / len(results) for ours, theirs in names.items()}

    return before, work


def ir_measures_from_dicts(data: Data) -> Prepared:
    """ir_measures from dicts."""
    import ir_measures
    from ir_measures import AP, Bpref, nDCG

    qrels, run = data.qrels(), data.run()
    before = _restart_peak()
    return before, lambda: {repr(m): v for m, v in ir_measures.calc_aggregate([nDCG, AP, Bpref], qrels, run).items()}


def ranx_warm(data: Data) -> Prepared:
    """ranx, compiled and with its structures built."""
    from ranx import Qrels, Run, evaluate

    judgements, results = data.qrels(), data.run()
    before = _restart_peak()
    qrels, run = Qrels(judgements), Run(results)
    names = ["ndcg", "map", "bpref"]
    evaluate(qrels, run, names)
    return before, lambda: {name: float(value) for name, value in evaluate(qrels, run, names).items()}


CONTENDERS: dict[str, Callable[[Data], Prepared]] = {
    "pytrec_eval": pytrec,
    "ir_measures": ir_measures_from_dicts,
    "ranx (warm)": ranx_warm,
    "roslin from dicts": roslin_from_dicts,
    "roslin from codes": roslin_from_codes,
}


def _measure(name: str, queries: int, depth: int, rounds: int) -> dict[str, Any]:
    before, work = CONTENDERS[name](Data(queries, depth))
    times, values = [], {}
    for _ in range(rounds):
        began = time.process_time()
        values = work()
        times.append(time.process_time() - began)
    return {"seconds": min(times), "megabytes": _megabytes("VmHWM") - before, "values": values}


def _restart_peak() -> float:
    """Memory in use now; the peak counts from here (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
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
    options = parser.parse_args()
    if options.only:
        sys.stdout.write(json.dumps(_measure(options.only, options.queries, options.depth, options.rounds)))
        return 0
    results = {}
    for name in CONTENDERS:
        command = [sys.executable, __file__, "--only", name, "--rounds", str(options.rounds)]
        command += ["--queries", str(options.queries), "--depth", str(options.depth)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        results[name] = json.loads(done.stdout)
    base = results["pytrec_eval"]["seconds"]
    sys.stdout.write(f"{options.queries} queries x {options.depth} results, best of {options.rounds}\n")
    failed = False
    least = min(result["megabytes"] for name, result in results.items() if name not in TARGETS)
    for name, result in results.items():
        ratio = result["seconds"] / base
        values = ", ".join(f"{value:.6f}" for value in result["values"].values())
        target = f" (target {TARGETS[name]:g})" if name in TARGETS else ""
        line = f"{name:<18} {result['seconds']:7.2f} s  {ratio:6.3f}{target}  {result['megabytes']:7.0f} MB  {values}\n"
        sys.stdout.write(line)
        failed |= name in TARGETS and (ratio > TARGETS[name] or result["megabytes"] > least)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

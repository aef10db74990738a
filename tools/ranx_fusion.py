"""What ranx makes of random runs, kept for the test that Roslin makes the same of them (tests/run/test_fusion.py).

    python tools/ranx_fusion.py

ranx compiles each method before it is first used, together more than a minute: too long for every run of the suite.
It needs the extra `bench`. Standard scores are compared on lists that have every document: where a run lacks one, ranx
adds 0, which for standard scores is the mean, and Roslin adds the least score of the run.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import ranx

KEPT = Path(__file__).resolve().parents[1] / "tests" / "run" / "ranx_fusion.json"
METHODS = ("sum", "mnz", "rrf")
SCALES = {"zscore": "zmuv", "minmax": "min-max", "rank": "rank", "none": None}


def runs(*, whole: bool) -> list[dict[str, dict[str, float]]]:
    """Three runs of six queries with 20 documents, or with 12 of them."""
    chance = np.random.default_rng(18)
    found: list[dict[str, dict[str, float]]] = []
    for _ in range(3):
        queries = {}
        for q in range(6):
            kept = chance.choice(20, size=20 if whole else 12, replace=False).tolist()
            queries[f"q{q}"] = {f"d{k}": round(float(chance.random()), 6) for k in kept}
        found.append(queries)
    return found


def main() -> None:
    """Write what ranx says."""
    cases = []
    for scale, norm in SCALES.items():
        for method in METHODS:
            if (scale, method) == ("zscore", "mnz"):
                continue  # ours are moved up to 0 first, so that no document is worse for being found more often
            given = runs(whole=scale == "zscore")
            fused = ranx.fuse([ranx.Run(each) for each in given], norm=norm, method=method)
            expected = {query: dict(fused.run[query].items()) for query in fused.run}
            cases.append({"method": method, "scale": scale, "expected": expected})
    kept = {
        "ranx": "0.3.21",
        "runs": {name: runs(whole=name == "whole") for name in ("whole", "partial")},
        "cases": cases,
    }
    KEPT.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases written to {KEPT}")


if __name__ == "__main__":
    main()

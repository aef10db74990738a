"""How often intervals hold the mean and tests raise a false alarm, for few queries and many systems.

    .venv/bin/python tools/simulate_inference.py build/inference [--repeats 400]

Populations of queries, each with the values of 24 systems:

- ADR, AP, yes/no: the real values of Roslin's systems on the starter collection. Every tune of a family of three or
  more is a query, and the rest of its family is relevant, the base tune first; yes/no is Success@1. Systems that
  do well on most queries find nothing on some: as hard as real data get.
- made: values of a model, 37 % of them 1 and 4 % of them 0, with easy and hard queries and good and bad systems.

Samples of n queries are drawn from a population; its means are what intervals should hold. Three tables:

- means: share of intervals that hold the mean; the average over systems, and that of the worst tenth of systems.
- pairs: share of intervals of differences that hold the true one, and false alarms at 5 % where two systems are
  exchanged at random for each query (equal), or have the same mean but keep their skewness (skewed).
- families: 24 systems, 276 pairs: the chance of any false alarm where all systems are equal, where twelve pairs are and
  the others are not (half), and where only the means are (skewed); the share of true differences that are claimed;
  and how often any claim has the wrong direction. `within`: how often all 276 intervals hold.

A line goes to FOLDER/lines.tsv as soon as it is known; what is there is not done again. All chance has a fixed state.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from roslin.api import Collection
from roslin.campaign.campaign import run_campaign
from roslin.evaluate import Evaluation, bootstrap_intervals, holm, mean_intervals
from roslin.evaluate.exchanges import exchange_p, pair_tests, student_p
from roslin.matchers.base import matchers
from roslin.starter import tunes_path
from roslin.truth.model import Truth
from roslin.types import Floats

SYSTEMS, SIZES = 24, (5, 11, 30, 100)
MEASURES = {"ADR": "ADR", "AP": "AP", "yes/no": "Success@1"}
DRAWS, EXCHANGES = 500, 2_000
ALPHA, SEED = 0.05, 18
FIRST, SECOND = np.triu_indices(SYSTEMS, 1)


def real_values(folder: Path) -> dict[str, Floats]:
    """(systems, queries) The values of the starter collection, under each measure."""
    kept = folder / "values.npy"
    if not kept.exists():
        np.save(kept, _campaign(folder).values)
    values = np.load(kept)
    found = {name: values[:SYSTEMS, k] for k, name in enumerate(MEASURES)}
    return found | {"yes/no": (found["yes/no"] >= 0.5) * np.float64(1)}  # ties for the first rank are between 0 and 1


def _campaign(folder: Path) -> Evaluation:
    families: dict[str, list[dict[str, str]]] = {}
    for line in tunes_path().read_text(encoding="utf-8").splitlines():
        tune = json.loads(line)
        families.setdefault(tune["family"], []).append(tune)
    truth = {}
    for tunes in families.values():
        for query in tunes if len(tunes) > 2 else ():
            others = [tune for tune in tunes if tune is not query]
            groups = [[tune["id"] for tune in others if (tune["variant"] == "base") is base] for base in (True, False)]
            truth[query["id"]] = [group for group in groups if group]
    with Collection.build(tunes_path(), folder / "starter.roslin") as collection:
        measures = list(MEASURES.values())
        campaign = run_campaign(collection, Truth(truth), matchers(), folder / "campaign", k=20, measures=measures)
        return campaign.evaluation


def made_values(queries: int = 102) -> Floats:
    """(systems, queries) Values of a model of good and bad systems, easy and hard queries."""
    chance = np.random.default_rng(SEED)
    ability, ease = chance.normal(1.0, 0.8, (SYSTEMS, 1)), chance.normal(0.0, 1.3, (1, queries))
    found = 1 / (1 + np.exp(-(ability + ease + chance.normal(0.0, 1.0, (SYSTEMS, queries)))))
    size = chance.integers(2, 8, queries)
    values = np.clip(np.round(found * size) / size + chance.normal(0.0, 0.08, found.shape), 0.0, 1.0)
    return np.where(found > 0.85, 1.0, np.where(found < 0.12, 0.0, values))


# -- means ------------------------------------------------------------------------------------------------------------


def means(population: Floats, n: int, repeats: int, chance: np.random.Generator) -> dict[str, str]:
    """Coverage of intervals of a mean."""
    methods: dict[str, Callable[[Floats], Floats]] = {
        "ours": mean_intervals,
        "t": _student,
        "bootstrap": lambda rows: bootstrap_intervals(rows, resamples=DRAWS, seed=int(chance.integers(2**31))),
        "bootstrap-t": lambda rows: _bootstrap_t(rows, chance),
    }
    covered: dict[str, list[float]] = {name: [] for name in methods}
    for values in population[np.ptp(population, axis=1) > 0]:
        sample = values[chance.integers(0, len(values), (repeats, n))]
        for name, method in methods.items():
            ends = method(sample[: repeats // 3] if "bootstrap" in name else sample)
            held = (ends[:, 0] <= values.mean() + 1e-9) & (ends[:, 1] >= values.mean() - 1e-9)
            covered[name].append(float(held.mean()))
    return {name: f"{np.mean(held):.3f} ({np.percentile(held, 10):.2f})" for name, held in covered.items()}


def _student(rows: Floats) -> Floats:
    from scipy.special import stdtrit

    n = rows.shape[1]
    half = stdtrit(n - 1, 1 - ALPHA / 2) * rows.std(axis=1, ddof=1) / np.sqrt(n)
    return np.stack([rows.mean(axis=1) - half, rows.mean(axis=1) + half], axis=1)


def _bootstrap_t(rows: Floats, chance: np.random.Generator) -> Floats:
    """Studentised bootstrap: t of every draw; a draw without variance has the t of no difference or an infinite one."""
    ends = []
    for row in rows:
        draws = row[chance.integers(0, len(row), (DRAWS, len(row)))]
        off, error = draws.mean(axis=1) - row.mean(), draws.std(axis=1, ddof=1) / np.sqrt(len(row))
        t = np.where(error > 0, off / np.where(error > 0, error, 1.0), np.where(off == 0, 0.0, np.sign(off) * 1e6))
        low, high = np.quantile(t, [ALPHA / 2, 1 - ALPHA / 2])
        spread = row.std(ddof=1) / np.sqrt(len(row))
        ends.append((row.mean() - high * spread, row.mean() - low * spread))
    return np.array(ends)


# -- pairs ------------------------------------------------------------------------------------------------------------


def pairs(population: Floats, n: int, repeats: int, chance: np.random.Generator) -> dict[str, str]:
    """Coverage of the interval of a difference, and false alarms, over 40 of the pairs."""
    chosen = chance.choice(len(FIRST), 40, replace=False)
    held: list[float] = []
    alarms: dict[str, list[float]] = {
        f"{null} {test}": [] for null in ("equal", "skewed") for test in ("ours", "exact")
    }
    for k in chosen:
        values = population[FIRST[k]] - population[SECOND[k]]
        if np.ptp(values) == 0:
            continue
        sample = values[chance.integers(0, len(values), (repeats, n))]
        ends = np.concatenate([pair_tests(row[None], limit=1.0).intervals for row in sample])
        held.append(float(((ends[:, 0] <= values.mean() + 1e-9) & (ends[:, 1] >= values.mean() - 1e-9)).mean()))
        nulls = {"equal": sample * chance.choice([-1.0, 1.0], sample.shape), "skewed": sample - values.mean()}
        for null, rows in nulls.items() if not is_yes_or_no(population) else [("equal", nulls["equal"])]:
            alarms[f"{null} ours"].append(float((student_p(rows) < ALPHA).mean()))
            few = rows[: repeats // 4]
            alarms[f"{null} exact"].append(float((exchange_p(few, EXCHANGES) < ALPHA).mean()))
    return {"coverage": f"{np.mean(held):.3f} ({np.percentile(held, 10):.2f})"} | {
        name: f"{np.mean(found):.3f}" if found else "–" for name, found in alarms.items()
    }


def is_yes_or_no(population: Floats) -> bool:
    """Then systems with the same mean differ as often to one side as to the other, and nothing is skewed."""
    return bool(np.isin(population, (0.0, 1.0)).all())


# -- families ---------------------------------------------------------------------------------------------------------


def families(population: Floats, n: int, repeats: int, chance: np.random.Generator) -> dict[str, str]:
    """False alarms among all pairs, and what is found of true differences."""
    every = np.ones(len(FIRST), dtype=bool)
    couples = (SECOND == FIRST + 1) & (FIRST % 2 == 0)
    true = population[FIRST].mean(axis=1) - population[SECOND].mean(axis=1)
    counts: dict[str, list[float]] = {}
    for _ in range(repeats):
        drawn = population[:, chance.integers(0, population.shape[1], n)]
        swapped = drawn.copy()
        swap = chance.random((SYSTEMS // 2, n)) < 0.5
        swapped[0::2], swapped[1::2] = (
            np.where(swap, drawn[0::2], drawn[1::2]),
            np.where(swap, drawn[1::2], drawn[0::2]),
        )
        nulls = {
            "equal": (chance.permuted(drawn, axis=0), every),
            "half": (swapped, couples),
            "skewed": (drawn - population.mean(axis=1, keepdims=True) + population.mean(), every),
        }
        for null, (values, equal) in nulls.items():
            for test, p in _corrected(values).items():
                is_asked = null != "skewed" or not is_yes_or_no(population)
                counts.setdefault(f"{null} {test}", []).extend([float((p[equal] < ALPHA).any())] * is_asked)
        differences = drawn[FIRST] - drawn[SECOND]
        tests = pair_tests(differences, limit=1.0, exchanges=EXCHANGES)
        for test, p in {"Holm": np.array(holm(tests.p.tolist())), "p_max": tests.p_max}.items():
            claimed = p < ALPHA
            right = np.sign(differences.mean(axis=1)) == np.sign(true)
            counts.setdefault(f"found {test}", []).append(float((claimed & right)[true != 0].mean()))
            counts.setdefault(f"wrong {test}", []).append(float((claimed & ~right).any()))
        low, high = tests.intervals_all.T
        counts.setdefault("within", []).append(float(((low <= true + 1e-9) & (high >= true - 1e-9)).all()))
    return {name: f"{np.mean(found):.3f}" if found else "–" for name, found in counts.items()}


def _corrected(values: Floats) -> dict[str, Floats]:
    tests = pair_tests(values[FIRST] - values[SECOND], exchanges=EXCHANGES)
    return {"Holm": np.array(holm(tests.p.tolist())), "p_max": tests.p_max}


TABLES = {"means": means, "pairs": pairs, "families": families}


def main() -> None:
    """Do what is left to do, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=400)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    lines = arguments.folder / "lines.tsv"
    known = [line.split("\t") for line in lines.read_text().splitlines()] if lines.exists() else []
    populations = real_values(arguments.folder) | {"made": made_values()}
    for table, simulate in TABLES.items():
        for data, population in populations.items():
            for n in SIZES:
                if any(line[:3] == [table, data, str(n)] for line in known):
                    continue
                state = [SEED, list(TABLES).index(table), list(populations).index(data), n]
                found = simulate(population, n, arguments.repeats, np.random.default_rng(state))
                known.append([table, data, str(n), json.dumps(found)])
                with lines.open("a") as file:
                    file.write("\t".join(known[-1]) + "\n")
    for table in TABLES:
        chosen = [(data, n, json.loads(found)) for name, data, n, found in known if name == table]
        chosen.sort(key=lambda line: list(populations).index(line[0]))
        columns = list(chosen[0][2])
        print(f"\n### {table}\n\n| data | queries | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 2)}")
        for data, n, found in chosen:
            print(f"| {data} | {n} | {' | '.join(found[column] for column in columns)} |")


if __name__ == "__main__":
    main()

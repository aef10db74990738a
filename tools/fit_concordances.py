"""Fit how probable it is that a pair of melodies is the same tune, and print how true that is.

    .venv/bin/python tools/fit_concordances.py rism.roslin

All pairs of a collection that chance does not explain (E of at most 1), in different records that both name a composer:
does the catalogue name the same one? Composers are divided into two halves by their names. Pairs within the first half
fit the three numbers of `concordances.certainty`, pairs within the second are reported: of the pairs whose
probability lies between two bounds, the mean that is promised and the share that names the same composer.

Two unrelated melodies may be by the same composer: the share of such pairs among random ones is taken off both. A true
concordance may name two composers, for which the catalogue is at fault: it counts as wrong here.

The same composer is not the same tune: one composer writes many pieces that begin with the same figure. So the odds are
corrected with pairs that were judged by eye (`--judged`, half "choosing"): corrected = shift + slope * odds. Pairs that
were judged later (half "report") show whether the corrected probability is right.
"""

from __future__ import annotations

import argparse
import csv
import sys
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from roslin import Collection
from roslin.concordances.certainty import FITTED, Fitted, probability
from roslin.concordances.concordance import is_nobody, surname
from roslin.concordances.join import find_pairs
from roslin.concordances.pairs import FoundPairs
from roslin.deadline import Work
from roslin.display.table import Table
from roslin.notation.record import record_of
from roslin.types import Floats

BOUNDS = (1.0, 0.98, 0.95, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0)
LEAST = 1e-6  # a probability that every pair has
RANDOM_PAIRS, SEED = 1_000_000, 17
RIDGE, SLOPE_RIDGE = 1e-6, 0.002
JUDGED = Path(__file__).resolve().parents[1] / "dev" / "measurements" / "labels-by-eye.tsv"
SEEN = {"yes": 1.0, "open": 0.5, "no": 0.0}
JUDGED_BOUNDS = (1.0, 0.9, 0.5, 0.2, 0.0)  # those of the labels


def main() -> int:
    """Print the fitted numbers and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--judged", type=Path, default=JUDGED, help="Pairs that were judged by eye.")
    options = parser.parse_args()
    with Collection(options.collection) as collection:
        melodies = list(collection)
        names = np.array(["" if is_nobody(each.composer) else surname(each.composer or "") for each in melodies])
        records = np.array([record_of(each.id or "") for each in melodies])
        with Work(options.threads) as work:
            pairs = find_pairs(collection, 1.0 - LEAST, work)
    by_chance = same_by_chance(names, records)
    print(f"two random melodies of different records name the same composer: {by_chance:.4f}")
    counted = (names[pairs.first] != "") & (names[pairs.second] != "") & (records[pairs.first] != records[pairs.second])
    is_same = names[pairs.first] == names[pairs.second]
    half = np.array([zlib.crc32(name.encode()) % 2 for name in names])
    of_half = [counted & (half[pairs.first] == which) & (half[pairs.second] == which) for which in (0, 1)]
    fitted = fit(pairs, is_same, of_half[0], by_chance)
    print(f"fitted on {of_half[0].sum()} pairs: {fitted}")
    print(report(pairs, is_same, of_half[1], by_chance, fitted))
    judged = {half: judged_pairs(options.judged, half) for half in ("choosing", "report")}
    right = corrected(fitted, *judged["choosing"])
    print(f"corrected with {len(judged['choosing'][0])} pairs judged by eye: {right}; in use: {FITTED}")
    print(report_of_judged(*judged["report"], right))
    return 0


def judged_pairs(path: Path, half: str) -> tuple[Floats, Floats, Floats]:
    """Of the pairs that were judged by eye: E, distance, and 1, 0 or 0.5 for yes, no and open."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if (row["kind"], row["half"]) == ("pair", half)]
    columns = [(float(row["expected"]), float(row["distance"]), SEEN[row["judged"]]) for row in rows]
    expected, distances, seen = np.array(columns).T
    return expected, distances, seen


def corrected(fitted: Fitted, expected: Floats, distances: Floats, seen: Floats) -> Fitted:
    """The fitted numbers with the shift and the slope that judged pairs ask for."""
    promised = probability(expected, distances, fitted)
    odds = np.log(promised) - np.log1p(-np.minimum(promised, 1 - 1e-12))

    def surprise(numbers: Floats) -> float:
        shift, slope = numbers
        logit = shift + slope * odds
        surprises = seen * np.logaddexp(0, -logit) + (1 - seen) * np.logaddexp(0, logit)
        return float(np.mean(surprises) + SLOPE_RIDGE * (slope - 1) ** 2)

    shift, slope = minimize(surprise, np.array([0.0, 1.0]), method="Nelder-Mead").x
    numbers = (shift + slope * fitted.base, slope * fitted.by_chance, slope * fitted.by_distance)
    return Fitted(*(round(float(each), 3) for each in numbers))


def report_of_judged(expected: Floats, distances: Floats, seen: Floats, numbers: Fitted) -> Table:
    """Promised and judged."""
    promised = probability(expected, distances, numbers)
    rows = []
    for most, least in pairwise(JUDGED_BOUNDS):
        chosen = (promised >= least) & ((promised < most) | (most == 1.0))
        rows.append(
            {
                "probability": f"{least:g} to {most:g}",
                "pairs": int(chosen.sum()),
                "same": int((seen[chosen] == 1).sum()),
                "not": int((seen[chosen] == 0).sum()),
                "open": int((seen[chosen] == 0.5).sum()),
                "promised": float(promised[chosen].mean()) if chosen.any() else None,
            }
        )
    return Table(tuple(rows[0]), tuple(rows), "promised and judged by eye")


def same_by_chance(names: npt.NDArray[np.str_], records: npt.NDArray[np.str_]) -> float:
    """The share of random pairs of different records that name the same composer."""
    one, two = np.random.default_rng(SEED).integers(0, len(names), (2, RANDOM_PAIRS))
    counted = (names[one] != "") & (names[two] != "") & (records[one] != records[two])
    return float(np.mean(names[one][counted] == names[two][counted]))


def fit(pairs: FoundPairs, is_same: npt.NDArray[np.bool_], of: npt.NDArray[np.bool_], by_chance: float) -> Fitted:
    """The numbers that make what is seen most probable."""
    expected, distances, seen = pairs.expected[of], pairs.distances[of], is_same[of]

    def surprise(numbers: Floats) -> float:
        same = probability(expected, distances, Fitted(*numbers))
        same = np.clip(same + (1 - same) * by_chance, 1e-12, 1 - 1e-12)
        return float(-np.mean(np.where(seen, np.log(same), np.log1p(-same))) + RIDGE * numbers @ numbers)

    return Fitted(*(round(float(each), 3) for each in minimize(surprise, np.array(FITTED), method="Nelder-Mead").x))


def report(
    pairs: FoundPairs, is_same: npt.NDArray[np.bool_], of: npt.NDArray[np.bool_], by_chance: float, numbers: Fitted
) -> Table:
    """Promised and seen."""
    promised = probability(pairs.expected, pairs.distances, numbers)
    rows = []
    for most, least in pairwise(BOUNDS):
        chosen = of & (promised >= least) & ((promised < most) | (most == 1.0))
        seen = (float(is_same[chosen].mean()) - by_chance) / (1 - by_chance) if chosen.any() else None
        rows.append(
            {
                "probability": f"{least:g} to {most:g}",
                "pairs": int(chosen.sum()),
                "of them copies": int((chosen & pairs.is_copy).sum()),
                "promised": float(promised[chosen].mean()) if chosen.any() else None,
                "same composer": seen,
            }
        )
    return Table(tuple(rows[0]), tuple(rows), "promised and seen")


if __name__ == "__main__":
    sys.exit(main())

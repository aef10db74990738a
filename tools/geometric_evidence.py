"""Whether `p3` finds what the alignment of `roslin` misses, and what it would cost elsewhere to believe both.

    .venv/bin/python tools/geometric_evidence.py build/roslin build/changes rism.roslin [--count 16]

Queries of the share `choose`: songs of Essen changed in four ways (tools/musical_changes.py, which makes
`build/changes/essen.roslin`), and incipits of RISM as they are typed, hummed and found in other sources. Each list is
ordered by the evidence of `roslin`, by that of `p3`, by the greater of both (also with ten times the chance matches for
`p3`, which is then *doubted*), and by a log-odds of both that is fitted on the other half of the queries. Only the
first 1,000 of `roslin` and the first 300 of `p3` are ordered. The table has the share found first, among the first ten,
and the mean average precision.

The evidence of `p3` is minus the logarithm of the number of chance matches, taken from the distances of the query to
the whole collection: a share `TAIL` of them is in a tail that falls exponentially.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from musical_changes import alike, changed
from report_roslin import exactly, in_quarters, melody_of, notes_of
from roslin import Collection, Melody, matcher
from roslin.represent.packed import Packed, pack
from roslin.types import Floats, Numbers
from roslin_data import Material, cut, material

FIRST_OF_ROSLIN, FIRST_OF_P3, TAIL, RELATIVES = 1000, 300, 0.02, 0.001
DOUBT = float(np.log(10))  # so many times as many chance matches as `p3` seems to have
CHANGES = ("turns on long notes", "reduced to beats", "60% of the notes left", "a descant above")


class Asked(NamedTuple):
    """A query, the numbers of what it should find, and of what is left out of its list."""

    melody: Melody
    wanted: Sequence[int] | Numbers
    without: Sequence[int] = ()


class Listed(NamedTuple):
    """The two kinds of evidence for the first of a list, which of them are wanted, and how many are in all."""

    both: Floats
    is_wanted: npt.NDArray[np.bool_]
    total: int


Order = Callable[[Floats], Floats]
_KEYS: dict[str, Order] = {
    "roslin": lambda both: both[:, 0],
    "p3": lambda both: both[:, 1],
    "greater": lambda both: both.max(axis=1),
    "doubted": lambda both: np.maximum(both[:, 0], both[:, 1] - DOUBT),
}


def main() -> int:
    """Ask everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path, help="the folder of tools/fit_roslin.py")
    parser.add_argument("changes", type=Path, help="the folder of tools/musical_changes.py")
    parser.add_argument("rism", type=Path, help="the collection of the RISM sample")
    parser.add_argument("--count", type=int, default=16, help="queries of each kind")
    options = parser.parse_args()
    strict, hard, _, songs = material(options.material / "material.pickle")
    rows: dict[str, list[Listed]] = {}
    for path, kinds in (
        (options.changes / "essen.roslin", _changed(songs, options.count)),
        (options.rism, _incipits(strict, hard, options.count)),
    ):
        with Collection(path) as collection:
            melodies = list(collection)
            place, packed = {str(melody.id): at for at, melody in enumerate(melodies)}, pack(melodies)
            for name, queries in kinds:
                rows[name] = [_listed(each, collection, place, packed) for each in queries]
                print(f"{name}: {len(queries)} queries", file=sys.stderr, flush=True)
    _print_table(rows)
    return 0


def _changed(songs: Material, count: int) -> Iterator[tuple[str, list[Asked]]]:
    queries = changed(songs, "choose", count)
    for name in CHANGES:
        yield f"a song, {name}", [Asked(*each) for each in queries[name]]


def _incipits(strict: Material, hard: Material, count: int) -> Iterator[tuple[str, list[Asked]]]:
    same = alike(strict)
    order = np.random.default_rng(5).permutation(len(strict.melodies)).tolist()
    drawn = [at for at in order if strict.share[at] == "choose" and len(strict.line(at)) > 12][:count]
    for name, edit, size in (("exactly", exactly, 8), ("in quarters", in_quarters, 8), ("hummed", _hummed, 12)):
        made = [(edit(cut(strict.melodies[at], 0, size), np.random.default_rng(at)), same[at]) for at in drawn]
        yield f"an incipit, first {size} {name}", [Asked(*each) for each in made]
    for of in (strict, hard):
        queries = np.random.default_rng(6).permutation(of.queries("choose"))[:count].tolist()
        for notes in (None, 8):
            asked = [of.melodies[at] if notes is None else cut(of.melodies[at], 0, notes) for at in queries]
            yield (
                f"same work, {of.name}, {'whole' if notes is None else f'first {notes}'}",
                [
                    Asked(melody, of.relatives[at], [at, *of.copies(at)])
                    for melody, at in zip(asked, queries, strict=True)
                ],
            )


def _hummed(melody: Melody, rng: np.random.Generator) -> Melody:
    """Semitones slipped, notes left out and added, in another key and perhaps in half or double values."""
    made: list[tuple[int, float]] = []
    up, by = int(rng.integers(-5, 6)), float(rng.choice([0.5, 1, 2]))
    for pitch, time in zip(*notes_of(melody), strict=True):
        up += int(rng.choice([-1, 1])) if rng.random() < 0.004 else 0
        if rng.random() < 0.04 and made:
            made[-1] = (made[-1][0], made[-1][1] + time * by)
            continue
        made.append((pitch + up + (int(rng.choice([-1, 1])) if rng.random() < 0.22 else 0), time * by))
        if rng.random() < 0.03:
            made.append((made[-1][0] + (0 if rng.random() < 2 / 3 else int(rng.choice([-2, -1, 1, 2]))), by / 2))
    return melody_of([pitch for pitch, _ in made], [time for _, time in made])


def _listed(asked: Asked, collection: Collection, place: dict[str, int], packed: Packed) -> Listed:
    ours = np.full(len(packed), -np.inf)
    run = collection.search(asked.melody, k=len(packed))
    ours[[place[id] for id in run.ids]] = np.array([hit.value for hit in run]) * np.log(10)
    theirs = evidence_of(matcher("p3").distances(asked.melody, packed))
    first = np.union1d(np.argsort(-ours)[:FIRST_OF_ROSLIN], np.argsort(-theirs, kind="stable")[:FIRST_OF_P3])
    first = first[~np.isin(first, asked.without)]
    both = np.stack([np.clip(ours[first], -8, 40), np.clip(theirs[first], -4, 40)], axis=1)
    return Listed(both, np.isin(first, asked.wanted), len(np.setdiff1d(asked.wanted, asked.without)))


def evidence_of(distances: Floats) -> Floats:
    """Minus the logarithm of the number of melodies that chance puts as near."""
    nearness, count = -distances, len(distances)
    falling = np.sort(nearness)[::-1]
    begin, related = falling[int(TAIL * count)], int(RELATIVES * count)
    scale = max(float((falling[related : int(TAIL * count)] - begin).mean()), 1e-6)
    rare = np.log(TAIL) - (nearness - begin) / scale
    usual = np.log(np.maximum(np.searchsorted(-falling, -nearness, side="right") / count, TAIL))
    return np.asarray(-np.log(count) - np.where(nearness > begin, rare, usual))


def _fitted(lists: Sequence[Listed]) -> Floats:
    """Weights of both and a constant: a logistic regression in which the strangers of a query weigh as much as one."""
    x = np.concatenate([np.column_stack([each.both, np.ones(len(each.both))]) for each in lists])
    y = np.concatenate([each.is_wanted for each in lists]).astype(float)
    weight = np.where(y > 0, 1.0, np.concatenate([np.full(len(each.both), 1 / len(each.both)) for each in lists]))

    def loss(w: Floats) -> tuple[float, Floats]:
        z = x @ w
        return (
            float((weight * (np.logaddexp(0, z) - y * z)).sum() + 0.01 * w @ w),
            x.T @ (weight * (1 / (1 + np.exp(-z)) - y)) + 0.02 * w,
        )

    return np.asarray(minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x)


def _figures(order: Order | Floats, each: Listed) -> tuple[float, float, float]:
    keys = order(each.both) if callable(order) else each.both @ order[:2]
    places = np.flatnonzero(each.is_wanted[np.lexsort((each.is_wanted, -keys))]) + 1
    if not len(places):
        return 0.0, 0.0, 0.0
    return (
        float(places[0] == 1),
        float(places[0] <= 10),
        float((np.arange(1, len(places) + 1) / places).sum() / each.total),
    )


def _print_table(rows: dict[str, list[Listed]]) -> None:
    halves = [[each for lists in rows.values() for each in lists[half::2]] for half in (0, 1)]
    weights = [_fitted(halves[1]), _fitted(halves[0])]  # each half is ordered by what the other taught
    print(f"log-odds: {', '.join(f'{a:.2f} roslin + {b:.2f} p3' for a, b, _ in weights)}\n")
    print("| query | queries | `roslin` | `p3` | the greater | `p3` doubted | log-odds |\n" + "|---" * 7 + "|")
    for name, lists in rows.items():
        cells = []
        for order in (*_KEYS, "log-odds"):
            ordered = [_figures(_KEYS.get(order, weights[at % 2]), each) for at, each in enumerate(lists)]
            cells.append(", ".join(f"{value:.2f}" for value in np.mean(ordered, axis=0)))
        print(f"| {name} | {len(lists)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.exit(main())

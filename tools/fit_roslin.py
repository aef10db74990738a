"""Fit the numbers of the measure `roslin` and write them to src/roslin/matchers/roslin/scores.json.

    .venv/bin/python tools/fit_roslin.py build/roslin

The folder keeps what takes long to make: the material (`roslin_data`) and the numbers after every round, so that a run
that was stopped goes on where it was. Structured ranking: align each query with its relatives and with the nearest of
the strangers; count in the best alignment how often each number is used, so that a score is a sum of counts times
numbers; make the mean probability of the relatives, in a softmax with the strangers, as large as possible; align again.

    probability of a relative = exp(a / T) / (exp(a / T) + sum over strangers of exp(b / T))

with a and b the scores divided as the distance divides them, T = 0.026. A quadratic price keeps numbers near the start
(0.0005) and near the round before (0.002). Worths do not rise as note values become unlike; prices are at least 0; the
first note of a gap costs at least as much as the next; what the longer melody has after the last pair has one price.
The search needs these conditions (`rounding.check`).

Fitted on the share `fit`; the round is chosen on the share `choose`; `roslin benchmark` reports on `report`. Each
catalogue counts the same, whole melodies, their first 12 notes and fragments of 12 notes alike. What is fitted for
melody, rhythm or contour alone sees nothing else of the notes.

The start knows no music (`START`), so nothing of the other shares has been seen; random states are fixed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from roslin.benchmark.queries import cut
from roslin.matchers.roslin.scores import (
    COMPARED,
    PAIR,
    SKIP_MELODY,
    UNITS,
    Encoded,
    FittedWorth,
    Tables,
    check,
    tables,
)
from roslin.matchers.roslin.table import contours, encoded, one
from roslin.melody import Melody
from roslin.native import kernels
from roslin.types import Floats, Numbers
from roslin_data import Material, material

TARGET = Path(__file__).parent.parent / "src" / "roslin" / "matchers" / "roslin" / "scores.json"
TEMPERATURE, TO_START, TO_LAST = 0.026, 0.0005, 0.002
ROUNDS, STEPS = dict.fromkeys(COMPARED, 4), 60
RELATIVES, STRANGERS = 5, 15
FORMS = {"rism strict": ("whole",), "rism hard": ("whole",)}
ALL_FORMS = ("whole", "beginning", "fragment")
NOTES, LEAST = 12, 18  # of a beginning or fragment; of a melody to take one from
FIT, CHOOSE = (100, 400), (80, 600)  # queries of a form, strangers among the candidates
LONGEST = 1024

# Equal pitches are worth 1, unequal ones -1, and a skipped note costs 1; all else counts nothing. In a rhythm the same
# holds of note values. The unit is 4 nats, because scores are divided and rounded to a 32nd of a nat.
_ONE = 4.0
START = FittedWorth(
    equal=(_ONE,) * 11,
    pitch=(-_ONE,) * 6,
    near=(0.0,) * 11,
    kinds=(0.0,) * 12,
    equal_context=(0.0,) * 4,
    near_context=(0.0,) * 4,
    openings=(_ONE,) * 3,
    extension=_ONE,
    start_any=(0.0,) * 2,
    start_more=(0.0,) * 2,
    end_any=(0.0,) * 2,
    end_more=(0.0,) * 2,
    tempo=(0.0,) * 2,
    metre=(0.0,) * 6,
    phrase=(0.0,) * 6,
)
STARTS = dict.fromkeys(COMPARED, START) | {
    "rhythm": replace(START, equal=(_ONE, *(-_ONE,) * 10), pitch=(0.0,) * 6),
}

# Where each number stands in the vector that is fitted.
SIZES = {field.name: np.size(getattr(START, field.name)) for field in fields(FittedWorth)}
FIRST = dict(zip(SIZES, np.concatenate([[0], np.cumsum(list(SIZES.values()))[:-1]]).tolist(), strict=True))
COUNT = sum(SIZES.values())
PAIRS = ((0, 1, 2), (1, 3, 4), (2, 4, 5))  # of two kinds of metre or phrase


def vector(worth: FittedWorth) -> Floats:
    """All numbers, one after the other."""
    return np.concatenate([np.atleast_1d(np.array(value, dtype=float)) for value in asdict(worth).values()])


def worth_of(numbers: Floats) -> FittedWorth:
    """The numbers by their names again."""
    parts = {name: numbers[FIRST[name] : FIRST[name] + size].tolist() for name, size in SIZES.items()}
    return FittedWorth(**{**parts, "extension": parts["extension"][0]})


# -- what is compared ---------------------------------------------------------------------------------------------


def _melody_only(melodies: Encoded) -> Encoded:
    """Nothing of rhythm: all notes equally long, without metre and phrase."""
    zero = np.zeros_like(melodies.values)
    return melodies._replace(
        tempos=np.zeros_like(melodies.tempos),
        values=zero,
        labels=zero,
        gaps=zero + 1,
        kinds=3 * (melodies.kinds // 3) + 1,
    )


def _rhythm_only(melodies: Encoded) -> Encoded:
    zero = np.zeros_like(melodies.values)
    return melodies._replace(pitches=zero, intervals=zero, kinds=zero + 1, labels=zero)


SEEN: dict[str, Callable[[Encoded], Encoded]] = {
    "both": lambda melodies: melodies,
    "melody": _melody_only,
    "rhythm": _rhythm_only,
    "contour": lambda melodies: contours(_melody_only(melodies)),
}
# The numbers that each way to compare has, by name; the others keep the start.
_ENDS = ("openings", "extension", "start_any", "start_more", "end_any", "end_more")
FREE = {
    "both": tuple(SIZES),
    "melody": ("equal", "near", "pitch", "kinds", "equal_context", "near_context", *_ENDS),
    "rhythm": ("equal", *_ENDS),  # a rhythm is the same in any tempo
    "contour": ("equal", "near", "pitch", "equal_context", "near_context", *_ENDS),
}


def spread_out(worth: FittedWorth, compared: str) -> FittedWorth:
    """Numbers fitted where all notes are alike in something, said for all that they stand for."""
    if compared in ("both", "rhythm"):
        return worth
    kinds = [worth.kinds[3 * kind + 1] for kind in range(4) for _ in range(3)]
    flat: dict[str, Any] = {name: (getattr(worth, name)[0],) * 11 for name in ("equal", "near")}
    return replace(worth, **flat, kinds=tuple(kinds), openings=(worth.openings[1],) * 3)


# -- queries and candidates ---------------------------------------------------------------------------------------


@dataclass
class Exercise:
    """Queries of one form with candidates; `relatives` and `left_out` are places among the candidates."""

    name: str
    queries: Encoded
    candidates: Encoded
    relatives: list[Numbers]
    left_out: list[Numbers]


def exercise(of: Material, share: str, form: str, size: tuple[int, int], compared: str) -> Exercise:
    """Queries of a share: whole, their first notes, or notes from their middle."""
    rng = np.random.default_rng(1)
    most = size[0] // 2 if form == "whole" and of.name in ("books", "essen") else size[0]
    chosen = of.queries(share)
    if len(chosen) > most:
        chosen = sorted(rng.choice(chosen, most, replace=False).tolist())
    strangers = rng.choice(len(of.melodies), min(size[1], len(of.melodies)), replace=False).tolist()
    among = sorted({*chosen, *strangers, *(other for query in chosen for other in of.relatives[query])})
    place = {number: at for at, number in enumerate(among)}
    queries: list[Melody] = []
    relatives, left_out = [], []
    for number in chosen:
        melody = of.melodies[number]
        length = len(of.line(number))
        if form != "whole" and length < LEAST:
            continue
        first = 0 if form != "fragment" else int(rng.integers(2, length - NOTES - 1))
        queries.append(melody if form == "whole" else cut(melody, first, first + NOTES))
        relatives.append(np.array([place[other] for other in of.relatives[number]]))
        copies = [place[other] for other in of.copies(number) if other in place]
        left_out.append(np.array([place[number], *copies]))
    see = SEEN[compared]
    known = see(encoded([of.melodies[number] for number in among]))
    return Exercise(f"{of.name}, {form}", see(encoded(queries)), known, relatives, left_out)


def exercises(of: Sequence[Material], share: str, size: tuple[int, int], compared: str) -> list[Exercise]:
    """All forms of all catalogues; whole tunes only where everything is compared, because they take longest."""
    return [
        exercise(each, share, form, size, compared)
        for each in of
        for form in FORMS.get(each.name, ALL_FORMS if compared == "both" else ALL_FORMS[1:])
    ]


# -- scores as sums of counts -------------------------------------------------------------------------------------


def count_uses(query: Encoded, melody: Encoded, steps: Numbers, tempo: int, lane: int) -> Floats:
    """How often each number is used by an alignment; prices count below 0."""
    uses = np.zeros(COUNT)
    size, length = len(query.pitches), len(melody.pitches)
    shift = kernels.tempo_shift(tempo, int(melody.tempos[0]) - int(query.tempos[0]))
    shares = (0.5, 0.5) if size == length else (1.0, 0.0)  # of the prices of the shorter and the longer
    (first_i, first_j), (last_i, last_j) = steps[0, 1:].tolist(), steps[-1, 1:].tolist()
    left_out = [(first_i, size - 1 - last_i), (first_j, length - 1 - last_j)]
    for (before, after), own in zip(
        left_out if size <= length else left_out[::-1], (shares, shares[::-1]), strict=True
    ):
        for which, share in enumerate(own):
            uses[FIRST["start_any"] + which] -= share * (before > 0)
            uses[FIRST["start_more"] + which] -= share * np.log1p(before)
            uses[FIRST["end_any"] + which] -= share * (after > 0)
            uses[FIRST["end_more"] + which] -= share * np.log1p(after)
    if tempo:
        uses[FIRST["tempo"] + (tempo > 1)] -= 1
    last_kind = PAIR
    for kind, i, j in steps.tolist():
        if kind == PAIR:
            for number, count in pair_uses(query, i, melody, j, shift, lane):
                uses[number] += count
        elif kind == last_kind:
            uses[FIRST["extension"]] -= 1
        else:
            uses[FIRST["openings"] + (melody.gaps[j] if kind == SKIP_MELODY else query.gaps[i])] -= 1
        last_kind = kind
    return uses


def pair_uses(query: Encoded, i: int, melody: Encoded, j: int, shift: int, lane: int) -> Iterator[tuple[int, float]]:
    """The numbers that make up the worth of a pair, and how often it uses each."""
    unlike = min(abs(int(melody.values[j]) - int(query.values[i]) - shift), 10)
    seen = int(i > 0 and j > 0 and query.intervals[i] == melody.intervals[j])
    if i + 1 < len(query.pitches) and j + 1 < len(melody.pitches):
        seen += 2 * int(query.intervals[i + 1] == melody.intervals[j + 1])
    apart = (int(melody.pitches[j]) - int(query.pitches[i]) - lane) % 12
    apart = min(apart, 12 - apart)
    if apart == 0:
        yield FIRST["equal"] + unlike, 1
        yield FIRST["kinds"] + int(query.kinds[i]), 0.5
        yield FIRST["kinds"] + int(melody.kinds[j]), 0.5
        yield FIRST["equal_context"] + seen, 1
    else:
        yield FIRST["pitch"] + apart - 1, 1
        yield FIRST["near"] + unlike, 1
        yield FIRST["near_context"] + seen, 1
    own, other = int(query.labels[i]), int(melody.labels[j])
    if own > 0 and other > 0:
        yield FIRST["metre"] + PAIRS[(own - 1) // 3][(other - 1) // 3], 1
        yield FIRST["phrase"] + PAIRS[(own - 1) % 3][(other - 1) % 3], 1


def uses_of(query: Encoded, melody: Encoded, known: Tables) -> Floats:
    """How often the best alignment of two melodies uses each number."""
    steps = np.empty((len(query.pitches) + len(melody.pitches), 3), dtype=np.int64)
    found = np.empty(4, dtype=np.int64)
    kernels.best_path(query, melody, 0, known, steps, found)
    _, tempo, lane, count = found.tolist()
    return count_uses(query, melody, steps[:count], tempo, lane)


def likenesses(of: Exercise, known: Tables) -> Floats:
    """The score of each query with each candidate, divided as the distance divides it."""
    count = len(of.candidates.offsets) - 1
    others, own = np.empty(count, np.int32), np.empty(len(of.relatives), np.int32)
    kernels.self_scores(of.candidates, known, others)
    kernels.self_scores(of.queries, known, own)
    found = np.empty((len(own), count))
    scores = np.empty(count, np.int32)
    for at in range(len(own)):
        kernels.align_all(one(of.queries, at), of.candidates, known, np.arange(count), scores)
        low, high = np.minimum(own[at], others), np.maximum(own[at], others)
        found[at] = scores / np.sqrt(low * np.minimum(high, 2.0 * low))
    return found


@dataclass
class Example:
    """Uses of a query's relatives and of its nearest strangers, and of all of them beside themselves."""

    relatives: int
    uses: Floats
    own: Floats
    others: Floats


def examples(of: Exercise, known: Tables) -> list[Example]:
    """One for each query."""
    rng = np.random.default_rng(0)
    alike, alone, made = likenesses(of, known), dict[int, Floats](), list[Example]()
    for at, relatives in enumerate(of.relatives):
        wanted = np.setdiff1d(relatives, of.left_out[at])
        if not len(wanted):
            continue
        if len(wanted) > RELATIVES:
            wanted = rng.choice(wanted, RELATIVES, replace=False)
        strangers = alike[at].copy()
        strangers[np.concatenate([relatives, of.left_out[at]])] = -np.inf
        chosen = [*wanted.tolist(), *np.argsort(-strangers)[:STRANGERS].tolist()]
        query = one(of.queries, at)
        for number in chosen:
            if number not in alone:
                melody = one(of.candidates, number)
                alone[number] = uses_of(melody, melody, known)
        uses = np.array([uses_of(query, one(of.candidates, number), known) for number in chosen])
        others = np.array([alone[number] for number in chosen])
        made.append(Example(len(wanted), uses, uses_of(query, query, known), others))
    return made


def loss(numbers: Floats, made: Sequence[Example]) -> tuple[float, Floats]:
    """Minus the mean probability of relatives, and how it changes with each number."""
    total, slope = 0.0, np.zeros(COUNT)
    for each in made:
        scores, own, others = each.uses @ numbers, each.own @ numbers, each.others @ numbers
        is_own = own <= others
        low, high = np.minimum(own, others), np.maximum(own, others)
        low_uses = np.where(is_own[:, None], each.own, each.others)
        high_uses = np.where(is_own[:, None], each.others, each.own)
        is_capped = high > 2 * low
        top = np.where(is_capped, 2 * low, high)
        top_uses = np.where(is_capped[:, None], 2 * low_uses, high_uses)
        by = np.sqrt(low * top)
        alike = scores / by
        change = each.uses / by[:, None]
        change -= alike[:, None] / 2 * (low_uses / low[:, None] + top_uses / top[:, None])
        weights = np.exp((alike - alike.max()) / TEMPERATURE)
        strangers = weights[each.relatives :].sum()
        average = weights[each.relatives :] @ change[each.relatives :] / max(strangers, 1e-300)
        for at in range(each.relatives):
            chance = weights[at] / (weights[at] + strangers)
            total += chance / each.relatives
            slope += chance * (1 - chance) / TEMPERATURE * (change[at] - average) / each.relatives
    return -total / len(made), -slope / len(made)


# -- fitting ------------------------------------------------------------------------------------------------------


def steps_down() -> tuple[Floats, Floats, Floats]:
    """Numbers as sums of steps, with bounds for the steps, so that all conditions are bounds."""
    sums, least, most = np.eye(COUNT), np.full(COUNT, -np.inf), np.full(COUNT, np.inf)
    for name in ("equal", "near"):
        first, size = FIRST[name], SIZES[name]
        sums[first : first + size, first : first + size] = np.triu(np.ones((size, size)))
        least[first : first + size - 1] = 0
    sums[FIRST["openings"] : FIRST["openings"] + 3, FIRST["extension"]] = 1
    for name in ("openings", "extension", "start_any", "start_more", "end_any", "end_more", "tempo"):
        least[FIRST[name] : FIRST[name] + SIZES[name]] = 0
    for fixed in (FIRST["end_more"] + 1, FIRST["equal_context"], FIRST["near_context"]):
        least[fixed] = most[fixed] = 0
    return sums, least, most


def fit(groups: Sequence[Sequence[Example]], start: Floats, last: Floats, free: Sequence[str]) -> Floats:
    """The numbers that do best on examples, each group counting the same, without going far."""
    sums, least, most = steps_down()
    is_free = np.zeros(COUNT, dtype=bool)
    for name in free:
        is_free[FIRST[name] : FIRST[name] + SIZES[name]] = True
    begin = np.clip(np.linalg.solve(sums, last), least, most)
    bounds = [
        (a, b) if f else (at, at) for a, b, f, at in zip(least, most, is_free.tolist(), begin.tolist(), strict=True)
    ]

    def total(steps: Floats) -> tuple[float, Floats]:
        numbers = sums @ steps
        value = TO_START * ((numbers - start) ** 2).sum() + TO_LAST * ((numbers - last) ** 2).sum()
        slope = 2 * TO_START * (numbers - start) + 2 * TO_LAST * (numbers - last)
        for group in groups:
            one_value, one_slope = loss(numbers, group)
            value, slope = value + one_value / len(groups), slope + one_slope / len(groups)
        return value, sums.T @ slope

    found = minimize(total, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
    numbers: Floats = sums @ found.x
    return numbers


def precision(of: Exercise, known: Tables) -> float:
    """Mean average precision."""
    alike, values = likenesses(of, known), []
    for at, relatives in enumerate(of.relatives):
        alike[at, of.left_out[at]] = -np.inf
        wanted = np.zeros(alike.shape[1], dtype=bool)
        wanted[relatives] = True
        wanted[of.left_out[at]] = False
        ranks = np.flatnonzero(wanted[np.argsort(-alike[at], kind="stable")]) + 1
        values.append((np.arange(1, len(ranks) + 1) / ranks).sum() / max(len(ranks), 1))
    return float(np.mean(values))


def fitted(of: Sequence[Material], compared: str, folder: Path) -> tuple[FittedWorth, float]:
    """The numbers of the best round, and their mean average precision on the share that chooses."""
    to_fit, to_choose = (exercises(of, share, size, compared) for share, size in (("fit", FIT), ("choose", CHOOSE)))
    start = vector(STARTS[compared])
    rounds = [start]
    values = []
    for number in range(ROUNDS[compared] + 1):
        kept = folder / f"{compared}-{number}.npy"
        if number and kept.exists():
            rounds.append(np.load(kept))
        elif number:
            known = tables(worth_of(rounds[-1]), LONGEST)
            rounds.append(fit([examples(each, known) for each in to_fit], start, rounds[-1], FREE[compared]))
            np.save(kept, rounds[-1])
        known = tables(spread_out(worth_of(rounds[-1]), compared), LONGEST)
        found = [precision(each, known) for each in to_choose]
        values.append(float(np.mean(found)))
        shown = ", ".join(f"{each.name} {value:.3f}" for each, value in zip(to_choose, found, strict=True))
        print(f"{compared}, round {number}: {values[-1]:.4f} ({shown})", flush=True)
    best = int(np.argmax(values))
    return spread_out(worth_of(rounds[best]), compared), values[best]


def main() -> int:
    """Fit all ways to compare and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=COMPARED, action="append")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    of = material(options.folder / "material.pickle")
    worth, chosen = {}, {}
    for compared in options.only or COMPARED:
        numbers, value = fitted(of, compared, options.folder)
        check(tables(numbers, LONGEST, compared=compared))
        worth[compared] = {
            name: [round(each, 3) for each in value_] if isinstance(value_, tuple) else round(value_, 3)
            for name, value_ in asdict(numbers).items()
        }
        chosen[compared] = round(value, 4)
    about = {
        "made_by": "tools/fit_roslin.py",
        "on": datetime.now(UTC).date().isoformat(),
        "roslin": version("roslin"),
        "numpy": np.__version__,
        "units_a_nat": UNITS,
        "material": {
            each.name: {
                "melodies": len(each.melodies),
                "queries": {share: len(each.queries(share)) for share in ("fit", "choose", "report")},
                "checksum": each.checksum,
            }
            for each in of
        },
        "parameters": {"temperature": TEMPERATURE, "to_start": TO_START, "to_last": TO_LAST, "rounds": ROUNDS},
    }
    before = json.loads(TARGET.read_text("utf-8")) if TARGET.exists() else {}
    made = {
        "provenance": about,
        "chosen_at": {**before.get("chosen_at", {}), **chosen},
        "worth": {**before.get("worth", {}), **worth},
    }
    TARGET.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    print(f"written to {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

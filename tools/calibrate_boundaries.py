"""Are lines as often real as their confidence says? Simulated studies with known groups, six functions of paper 004.

    .venv/bin/python tools/calibrate_boundaries.py --studies 40 --plot docs/images/boundaries.svg

A study has 11 queries of 6 to 24 candidates in 1 to 6 true groups, 8 to 40 experts, a model of them (Mallows or
Plackett-Luce) with a noise drawn at random, and no, 15 or 30 % of the candidates left unranked. The factor in the
confidence (`roslin.truth.consistency`) was chosen on the studies with the seeds 0 to 39; those from 1000 on, which this
program draws, had no part in it.

A line is real if, of all pairs of documents, one from each of its groups, most are truly in that order. Two other
meanings stand beside it, for which the confidence was not made: `next` is the share of lines whose two next documents
are truly in that order, `any` of those whose groups are not all of one true group. `--example`
shows one list with three true groups under Any-1.

Exit code 1 when the mean confidence of a function is more than 0.06 from the share of real lines.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from roslin.evaluate.exchanges import mean_intervals
from roslin.report.svg import SvgElement, circle, line, path, plot_style, svg, text
from roslin.truth import Rankings, Truth, simulate_rankings, study_rankings
from roslin.truth.consistency import boundaries
from roslin.truth.grouping import SIX_FUNCTIONS, Method, function_named, groups_of

FIRST_SEED = 1000
EDGES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
CLOSE = 0.06
_SIZE, _LEFT, _TOP = 300.0, 56.0, 12.0
_COLOURS = {"All-2": "#0072b2", "Any-1": "#d55e00"}


@dataclass(frozen=True)
class Line:
    """A line that a function drew: what is said of it, whether it is real, and the study that it is from."""

    function: str
    confidence: float
    is_real: bool
    experts: int
    model: str
    dropout: float
    is_noise: bool
    is_next: bool
    is_any: bool


def level(document: str) -> int:
    """The true group of a simulated document, from 0."""
    return int(document.split("-")[0])


def study(seed: int) -> tuple[Rankings, str, float]:
    """The rankings of one simulated study, the model, and the share left unranked."""
    chance = np.random.default_rng(seed)
    model = str(chance.choice(["mallows", "plackett-luce"]))
    experts, dropout = int(chance.integers(8, 41)), float(chance.choice([0, 0.15, 0.3]))
    noise = float(chance.uniform(0.55, 0.95) if model == "mallows" else chance.uniform(0.15, 0.8))
    groups = {}
    for query in range(11):
        size = int(chance.integers(6, 25))
        count = int(chance.integers(1, min(6, size) + 1))
        cuts = np.sort(chance.choice(np.arange(1, size), count - 1, replace=False))
        sizes = np.diff([0, *cuts, size])
        groups[f"q{query}"] = [[f"{k}-{j}" for j in range(n)] for k, n in enumerate(sizes)]
    said = simulate_rankings(experts=experts, model=model, noise=noise, dropout=dropout, truth=Truth(groups), seed=seed)
    return said, model, dropout


def lines_of(seed: int, method: Method, shuffles: int) -> Iterator[Line]:
    """Every line that a function draws in one study."""
    said, model, dropout = study(seed)
    for each in said.values():
        grouped = groups_of(each, method)
        levels = np.array([level(id) for id in grouped.arranged.documents])
        ends = (*grouped.starts, len(levels))
        for number, found in enumerate(boundaries(grouped, method, shuffles, seed)):
            above, below = levels[ends[number] : ends[number + 1]], levels[ends[number + 1] : ends[number + 2]]
            is_real = bool(np.mean(above[:, None] < below) > 0.5)
            is_noise = len(set(map(level, each.documents))) == 1
            is_next, is_any = bool(above[-1] < below[0]), len({*above.tolist(), *below.tolist()}) > 1
            yield Line(
                method.name, found.confidence, is_real, len(each.experts), model, dropout, is_noise, is_next, is_any
            )


def bins(lines: list[Line]) -> list[tuple[float, float, float, float, int]]:
    """For every range of confidences: the mean, the share of real lines with a 95 % interval, and how many."""
    confidence, real = np.array([each.confidence for each in lines]), np.array([each.is_real for each in lines])
    found = []
    for low, high in pairwise(EDGES):
        inside = (confidence >= low) & (confidence < high)
        if np.count_nonzero(inside) > 1:
            share = float(real[inside].mean())
            ends = mean_intervals(real[inside].astype(np.float64)).tolist()
            found.append((float(confidence[inside].mean()), share, *ends, int(inside.sum())))
    return found


def plot(lines: list[Line]) -> str:
    """Confidence against the share of real lines: dots with intervals for all functions, curves for two of them."""

    def right(value: float) -> float:
        return _LEFT + _SIZE * value

    def up(value: float) -> float:
        return _TOP + _SIZE * (1 - value)

    parts: list[SvgElement] = []
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts += [
            line("plot-grid", right(tick), up(0), right(tick), up(1)),
            line("plot-grid", right(0), up(tick), right(1), up(tick)),
        ]
        parts.append(text("plot-soft", right(tick), up(0) + 16, f"{tick:.1f}", "middle"))
        parts.append(text("plot-soft", _LEFT - 6, up(tick) + 4, f"{tick:.1f}", "end"))
    parts.append(
        path("plot-curve", [(right(0), up(0)), (right(1), up(1))], stroke="#7f7f7f", **{"stroke-dasharray": "4 3"})
    )
    for number, (name, colour) in enumerate(_COLOURS.items()):
        points = [
            (right(x), up(y)) for x, y, _, _, count in bins([e for e in lines if e.function == name]) if count >= 10
        ]
        legend = up(0) + 66 + 20 * number
        parts.append(path("plot-curve", points, stroke=colour))
        parts.append(path("plot-curve", [(_LEFT, legend), (_LEFT + 30, legend)], stroke=colour))
        parts.append(text("plot-text", _LEFT + 38, legend + 4, f"{name} alone"))
    for x, y, low, high, _ in bins(lines):
        parts += [
            line("plot-interval", right(x), up(low), right(x), up(high)),
            circle("plot-shade", right(x), up(y), 4),
        ]
    parts.append(text("plot-text", right(0.5), up(0) + 36, "confidence", "middle"))
    parts.append(
        text(
            "plot-text",
            14,
            up(0.5),
            "share of lines that are real",
            "middle",
            transform=f"rotate(-90 14 {up(0.5):.1f})",
        )
    )
    parts.append(circle("plot-shade", _LEFT + 15, up(0) + 106, 4))
    parts.append(text("plot-text", _LEFT + 38, up(0) + 110, "all six functions, with 95 % intervals"))
    return (
        svg(parts, right(1) + 24, up(0) + 126, "Confidence of lines, and how many are real", style=plot_style()) + "\n"
    )


def example() -> None:
    """Three true groups, 30 experts, Any-1."""
    sizes = (5, 7, 8)
    truth = Truth({"q": [[f"{k}-{j}" for j in range(n)] for k, n in enumerate(sizes)]})
    said = simulate_rankings(experts=30, model="plackett-luce", noise=0.02, truth=truth, seed=3)
    found = study_rankings(said, function_named("Any-1"), power=False).queries["q"]
    sys.stdout.write(f"{found.sentence}\n{found.doubts[0]}\n")
    for each in found.boundaries:
        between = f"true groups {level(each.above) + 1} and {level(each.below) + 1}"
        sys.stdout.write(
            f"{each.above} | {each.below}  {between}  p = {each.p:.3f}  confidence {each.confidence:.2f}\n"
        )


def main() -> int:
    """Print how often lines are real, by confidence and by function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--shuffles", type=int, default=300)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--example", action="store_true")
    options = parser.parse_args()
    if options.example:
        example()
        return 0
    lines = [
        each
        for seed in range(FIRST_SEED, FIRST_SEED + options.studies)
        for method in SIX_FUNCTIONS
        for each in lines_of(seed, method, options.shuffles)
    ]
    write = sys.stdout.write
    write("confidence  real    95 % interval   lines  next   any\n")
    other_meanings = [
        bins([replace(e, is_real=e.is_next) for e in lines]),
        bins([replace(e, is_real=e.is_any) for e in lines]),
    ]
    for (confidence, share, low, high, count), *others in zip(bins(lines), *other_meanings, strict=True):
        nearest, at_all = (each[1] for each in others)
        write(
            f"{confidence:10.2f}  {share:4.2f}    {low:.2f} to {high:.2f}  {count:6}  {nearest:4.2f}  {at_all:4.2f}\n"
        )
    slices = {method.name: [e for e in lines if e.function == method.name] for method in SIX_FUNCTIONS}
    slices["fewer than 15 experts"] = [e for e in lines if e.experts < 15]
    slices["more than 30 experts"] = [e for e in lines if e.experts > 30]
    slices["Mallows"] = [e for e in lines if e.model == "mallows"]
    slices["Plackett-Luce"] = [e for e in lines if e.model != "mallows"]
    slices["nothing unranked"] = [e for e in lines if e.dropout == 0]
    slices["30 % unranked"] = [e for e in lines if e.dropout == 0.3]
    slices["one true group"] = [e for e in lines if e.is_noise]
    slices["all"] = lines
    write(f"\n{'':22} lines   real  confidence  expected spurious  really spurious\n")
    is_close = True
    for name, some in slices.items():
        if not some:
            continue
        real, sure = float(np.mean([e.is_real for e in some])), float(np.mean([e.confidence for e in some]))
        spurious = sum(1 - e.confidence for e in some), sum(not e.is_real for e in some)
        write(f"{name:22} {len(some):5}  {real:5.3f}  {sure:10.3f}  {spurious[0]:17.0f}  {spurious[1]:15}\n")
        if name in {method.name for method in SIX_FUNCTIONS}:
            is_close &= abs(real - sure) <= CLOSE
    if options.plot:
        options.plot.write_text(plot(lines), encoding="utf-8")
    return int(not is_close)


if __name__ == "__main__":
    sys.exit(main())

"""Table 3 of Urbano et al. (2010): group sizes of the real lists, and consistency and group sizes of simulated experts.

The real MIREX 2005 lists are published for all six functions, the experts' ranks are not. Consistency therefore comes
from simulated experts of the same shape: 11 queries with 4 to 23 candidates, 30 experts, three tenths of the candidates
left unranked. The noise is the one that comes nearest to the real group size under All-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from roslin.truth import Rankings, Truth, group_rankings, list_consistency, read_truth, simulate_rankings
from roslin.truth.grouping import SIX_FUNCTIONS

# Urbano et al. (2010), Table 3: ADR-1 consistency, incipits per group, Pearson's r of the two.
PAPER = {
    "All-2": (0.844, 3.752, -0.892),
    "Any-2": (0.913, 2.539, -0.862),
    "Prev-2": (0.857, 3.683, -0.937),
    "All-1": (0.881, 3.297, -0.954),
    "Any-1": (0.926, 1.981, -0.749),
    "Prev-1": (0.916, 2.858, -0.939),
}
CLOSE = 0.2
STRONG = -0.5


NOISE, DROPOUT = 0.2, 0.3  # of the simulated experts


@dataclass(frozen=True)
class Row:
    """One function: group size of the real lists, then consistency, group size and correlation of simulated ones."""

    real_size: float
    consistency: float
    size: float
    correlation: float


def sizes_per_group(truth: Truth) -> list[float]:
    """The mean group size of each list."""
    return [sum(map(len, groups)) / len(groups) for groups in truth.values()]


def real_lists(data_folder: Path) -> dict[str, Truth]:
    return {method.name: read_truth(data_folder / "mirex2005" / f"{method.name}.qrel") for method in SIX_FUNCTIONS}


def with_both_rows(path: Path, *, both: bool) -> tuple[int, float]:
    """Pairs in the same group, and incipits per group, of a published file with its repeated row or without."""
    groups: dict[str, dict[str, list[str]]] = {}
    for row in path.read_text(encoding="utf-8").splitlines():
        _, query, document, group = row.split()
        members = groups.setdefault(query, {}).setdefault(group, [])
        if group != "0" and (both or document not in members):
            members.append(document)
    sizes = [[len(members) for members in each.values() if members] for each in groups.values()]
    pairs = sum(size * (size - 1) // 2 for each in sizes for size in each)
    return pairs, float(np.mean([np.mean(each) for each in sizes]))


def table(real: dict[str, Truth], studies: int = 20) -> dict[str, Row]:
    """Every row of the table. A correlation is the mean over the studies in which consistency varies."""
    simulated = [study(experts(real["All-2"], seed)) for seed in range(studies)]
    rows = {}
    for name, truth in real.items():
        consistency, size, correlation = np.nanmean([each[name] for each in simulated], axis=0)
        rows[name] = Row(float(np.mean(sizes_per_group(truth))), float(consistency), float(size), float(correlation))
    return rows


def experts(truth: Truth, seed: int) -> Rankings:
    """Thirty experts who rank the candidates of these lists, for whom the published groups are true."""
    lengths = [sum(map(len, groups)) for groups in truth.values()]
    return simulate_rankings(lengths, 30, model="plackett-luce", noise=NOISE, dropout=DROPOUT, truth=truth, seed=seed)


def study(rankings: Rankings) -> dict[str, tuple[float, float, float]]:
    """One study under the six functions: mean consistency, mean group size, their correlation over the lists."""
    found = {}
    for method in SIX_FUNCTIONS:
        truth = group_rankings(rankings, method.rule, method.tails)
        consistency, sizes = list_consistency(truth, rankings, tails=1), sizes_per_group(truth)
        found[method.name] = (consistency.mean, float(np.mean(sizes)), pearson(list(consistency.values()), sizes))
    return found


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's r; NaN where either does not vary."""
    return float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) > 0 and np.ptp(y) > 0 else float("nan")


def over_functions(rows: dict[str, Row]) -> tuple[float, float]:
    """Pearson's r of mean consistency and mean group size over the six functions: the paper's, and simulated."""
    paper = pearson([each[0] for each in PAPER.values()], [each[1] for each in PAPER.values()])
    return paper, pearson([row.consistency for row in rows.values()], [row.size for row in rows.values()])


def findings(rows: dict[str, Row]) -> dict[str, bool]:
    """What Urbano et al. (2010) found in Table 3, and whether it comes out."""
    close = all(abs(row.real_size - PAPER[name][1]) <= CLOSE for name, row in rows.items())
    return {
        f"real lists: incipits per group within {CLOSE} of the paper for all six": close,
        "simulated: All-2 is the least consistent": min(rows, key=lambda n: rows[n].consistency) == "All-2",
        "simulated: All-2 has the largest groups": max(rows, key=lambda n: rows[n].size) == "All-2",
        "simulated: Any-1 is the most consistent": max(rows, key=lambda n: rows[n].consistency) == "Any-1",
        "simulated: Any-1 has the smallest groups": min(rows, key=lambda n: rows[n].size) == "Any-1",
        "simulated: All < Prev < Any in consistency, with two tails and with one": all(
            rows[f"All-{k}"].consistency < rows[f"Prev-{k}"].consistency < rows[f"Any-{k}"].consistency for k in (1, 2)
        ),
        "simulated: r below 0 for all six": all(row.correlation < 0 for row in rows.values()),
        f"simulated: r below {STRONG} for all six": all(row.correlation < STRONG for row in rows.values()),
        f"simulated: r over the six functions below {STRONG}": over_functions(rows)[1] < STRONG,
    }


def test_a_repeated_row_explains_the_pairs_and_the_sizes_of_the_paper(data_folder: Path) -> None:
    """The paper's 509 pairs in the same group need both rows; its 3.752 incipits per group only the first."""
    path = data_folder / "mirex2005" / "All-2.qrel"
    for both, pairs, size in ((True, 509, 3.782), (False, 488, 3.752)):
        counted, mean = with_both_rows(path, both=both)
        assert counted == pairs
        assert round(mean, 3) == size


@pytest.mark.long
def test_the_findings_of_the_paper_are_found_again(data_folder: Path) -> None:
    rows = table(real_lists(data_folder))
    assert len(rows) == 6
    assert rows["All-2"].real_size == pytest.approx(PAPER["All-2"][1], abs=5e-4)
    assert all(abs(row.real_size - PAPER[name][1]) <= CLOSE for name, row in rows.items())
    paper, simulated = over_functions(rows)
    assert paper == pytest.approx(-0.942, abs=5e-4)
    assert -1 < simulated < -0.9
    assert [finding for finding, comes_out in findings(rows).items() if not comes_out] == []

"""Table 3 of paper 004, ours beside the paper's: consistency, incipits per group, and how the two go together.

    .venv/bin/python tools/paper_004_table_3.py

Group sizes are those of the real MIREX 2005 lists, which Urbano et al. published for all six functions. The experts'
own ranks are lost, so consistency cannot be recomputed on them. It comes from simulated experts of the same shape: the
11 queries with their 4 to 23 candidates, 30 experts, for whom the published list (All-2) is true: groups differ, inside
a group nobody prefers anything. Three tenths of the candidates are left unranked; the one pair of sample sizes that the
paper gives away (15 and 21 ranks of about 30 experts, appendix) says that it was about so many. Of the noises of
Plackett-Luce in `GROUPED`, the one is taken that comes nearest to the real group size under All-2.

Pearson's r is a row of Table 3 for each function, so it is taken over the 11 lists of that function. The last line
takes it over the six functions, from the means in the table.

Above it stands what a repeated row does: every file judges one document of one query twice. The paper's 509 pairs in
the same group need both rows of All-2, its 3.752 incipits a group only the first.

`--sweep` runs every setting that was looked at, and prints in how many each finding comes out: `GROUPED` as above, and
`EVEN`, in which every candidate differs from the next as much as any other.

Exit code 1 when a group size is more than 0.2 from the paper's, or a finding does not come out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from real_data import DATA
from roslin.truth import Rankings, Truth, group_rankings, list_consistency, read_truth, simulate_rankings
from roslin.truth.grouping import SIX_FUNCTIONS

# Paper 004, Table 3: ADR-1 consistency, incipits per group, Pearson's r of the two.
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
AS_LARGE = 0.4  # simulated groups that differ by less from the real ones are called alike


@dataclass(frozen=True)
class Setting:
    """Simulated experts. Noise is one for all lists, or rises from the shortest list to the longest."""

    model: str
    noise: tuple[float, float]
    dropout: float
    grouped: bool = True

    def __str__(self) -> str:
        least, most = self.noise
        noise = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        return (
            f"{self.model}, noise {noise}, dropout {self.dropout:g}, {'real groups' if self.grouped else 'even steps'}"
        )


CHOSEN = Setting("plackett-luce", (0.2, 0.2), 0.3)
_NOISES = {"mallows": (0.2, 0.3, 0.4, 0.5, 0.6), "plackett-luce": (0.15, 0.2, 0.3, 0.4, 0.5)}
_ONE_NOISE = tuple((noise, noise) for noise in (0.7, 0.8, 0.85, 0.9, 0.95))
_RISING_NOISE = ((0.3, 0.8), (0.4, 0.75), (0.4, 0.7), (0.5, 0.8), (0.2, 0.75), (0.5, 0.9))
GROUPED = tuple(
    Setting(model, (noise, noise), dropout)
    for model, noises in _NOISES.items()
    for noise in noises
    for dropout in (0.0, 0.15, 0.3, 0.45)
)
EVEN = tuple(
    Setting(model, noise, dropout, grouped=False)
    for model in _NOISES
    for noises, dropouts in ((_ONE_NOISE, (0.0, 0.3)), (_RISING_NOISE, (0.0, 0.2, 0.4)))
    for noise in noises
    for dropout in dropouts
)


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


def real_lists() -> dict[str, Truth]:
    """The published lists of each function."""
    return {method.name: read_truth(DATA / "mirex2005" / f"{method.name}.qrel") for method in SIX_FUNCTIONS}


def with_both_rows(function: str, *, both: bool) -> tuple[int, float]:
    """Pairs in the same group, and incipits per group, of a published file with its repeated row or without."""
    groups: dict[str, dict[str, list[str]]] = {}
    for row in (DATA / "mirex2005" / f"{function}.qrel").read_text(encoding="utf-8").splitlines():
        _, query, document, group = row.split()
        members = groups.setdefault(query, {}).setdefault(group, [])
        if group != "0" and (both or document not in members):
            members.append(document)
    sizes = [[len(members) for members in each.values() if members] for each in groups.values()]
    pairs = sum(size * (size - 1) // 2 for each in sizes for size in each)
    return pairs, float(np.mean([np.mean(each) for each in sizes]))


def table(real: dict[str, Truth], setting: Setting = CHOSEN, studies: int = 20) -> dict[str, Row]:
    """Every row of the table. A correlation is the mean over the studies in which consistency varies."""
    simulated = [study(experts(real["All-2"], setting, seed)) for seed in range(studies)]
    rows = {}
    for name, truth in real.items():
        consistency, size, correlation = np.nanmean([each[name] for each in simulated], axis=0)
        rows[name] = Row(float(np.mean(sizes_per_group(truth))), float(consistency), float(size), float(correlation))
    return rows


def experts(truth: Truth, setting: Setting, seed: int) -> Rankings:
    """Thirty experts who rank the candidates of these lists."""
    lengths = [sum(map(len, groups)) for groups in truth.values()]
    longer = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
    noise = np.linspace(*setting.noise, len(lengths))[longer].tolist()
    known = truth if setting.grouped else None
    return simulate_rankings(
        lengths, 30, model=setting.model, noise=noise, dropout=setting.dropout, truth=known, seed=seed
    )


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
    """What paper 004 found in Table 3, and whether it comes out."""
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


def sweep(real: dict[str, Truth], studies: int) -> None:
    """In how many settings each finding comes out."""
    tables = {setting: table(real, setting, studies) for setting in GROUPED + EVEN}
    alike = [s for s in GROUPED if abs(tables[s]["All-2"].size - tables[s]["All-2"].real_size) < AS_LARGE]
    columns = (("real groups, of real size", alike), ("real groups", GROUPED), ("even steps", EVEN))
    sys.stdout.write("  ".join(f"{f'{name} ({len(settings)})':>30}" for name, settings in columns) + "\n")
    for finding in findings(tables[CHOSEN]):
        if finding.startswith("simulated"):
            counts = [sum(findings(tables[setting])[finding] for setting in settings) for _, settings in columns]
            sys.stdout.write("  ".join(f"{count:30}" for count in counts) + f"  {finding}\n")
    gaps: dict[str, float] = {}
    for setting in GROUPED:
        values = {name: row.consistency for name, row in tables[setting].items()}
        best = max(values, key=lambda name: values[name])
        gaps[best] = max(gaps.get(best, 0.0), values[best] - values["Any-1"])
    ahead = ", ".join(f"{name} by {gap:.3f}" for name, gap in gaps.items() if name != "Any-1")
    sys.stdout.write(f"real groups: more consistent than Any-1 somewhere, at most: {ahead or 'none'}\n")


def main() -> int:
    """Print the table and the findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--sweep", action="store_true", help="every setting in place of the table")
    options = parser.parse_args()
    real = real_lists()
    if options.sweep:
        sweep(real, options.studies)
        return 0
    rows = table(real, studies=options.studies)
    write = sys.stdout.write
    for both, rows_read in ((True, "both rows of the repeated one"), (False, "the first of them")):
        pairs, size = with_both_rows("All-2", both=both)
        write(f"All-2 with {rows_read}: {pairs} pairs in the same group, {size:.3f} incipits per group\n")
    write("           incipits per group          ADR-1 consistency    Pearson's r over the lists\n")
    write("function   paper   real  simulated     paper  simulated     paper  simulated\n")
    for name, row in rows.items():
        consistency, size, correlation = PAPER[name]
        write(
            f"{name:<8} {size:7.3f} {row.real_size:6.3f} {row.size:10.3f} {consistency:9.3f} {row.consistency:10.3f}"
            f" {correlation:9.3f} {row.correlation:10.3f}\n"
        )
    write("Pearson's r over the six functions: paper {:.3f}, simulated {:.3f}\n".format(*over_functions(rows)))
    write(f"simulated: {CHOSEN}, mean of {options.studies} studies; others: --sweep\n")
    found = findings(rows)
    for finding, comes_out in found.items():
        write(f"{'yes' if comes_out else 'NO ':<3}  {finding}\n")
    return int(not all(found.values()))


if __name__ == "__main__":
    sys.exit(main())

"""Arrangement and grouping: the papers' cases, then what the papers leave open."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth import Rankings, Truth, group_rankings, grouped_truth, method_named
from roslin.truth.grouping import SIX_FUNCTIONS, Method, function_named, group_starts, groups_of
from roslin.truth.model import arrange
from roslin.truth.rankings import QueryRankings, as_rankings
from roslin.truth.study import count_groups

Row = tuple[str, str, str, float | None]


def grouped(differs: str, rule: str, scope: str = "group", size: str = "ABCD") -> str:
    """Groups of a list in which these pairs differ, such as "AB BC"."""
    matrix = np.zeros((len(size), len(size)), dtype=bool)
    for pair in differs.split():
        i, j = map(size.index, pair)
        matrix[i, j] = matrix[j, i] = True
    begins = group_starts(matrix, Method(rule, scope=scope))
    return "".join(("|" if begins[k] and k else "") + size[k] for k in range(len(size)))


ALL_OF_FOUR = "AB AC AD BC BD CD"


@pytest.mark.parametrize(
    ("differs", "size", "all_group", "all_list", "any_group", "prev"),
    [
        ("AB BC", "ABC", "A|B|C", "A|BC", "A|B|C", "A|B|C"),
        ("AC", "ABC", "ABC", "ABC", "AB|C", "ABC"),
        ("AC AD BD", "ABCD", "ABCD", "ABCD", "AB|CD", "ABCD"),
        (ALL_OF_FOUR, "ABCD", "A|B|C|D", "A|B|C|D", "A|B|C|D", "A|B|C|D"),
        ("", "ABCD", "ABCD", "ABCD", "ABCD", "ABCD"),
    ],
)
def test_rules_on_the_small_cases(
    differs: str, size: str, all_group: str, all_list: str, any_group: str, prev: str
) -> None:
    assert grouped(differs, "all", size=size) == all_group
    assert grouped(differs, "all", "list", size) == all_list
    assert grouped(differs, "any", size=size) == any_group
    assert grouped(differs, "prev", size=size) == prev


def test_any_in_the_scope_of_the_list() -> None:
    assert grouped("AC AD BD", "any", "list") == "AB|C|D"


def test_roslin_castle() -> None:
    """Typke et al. (2007), section 3.3.2: p-values of Table 1 give <(1), (2, 3), (4), (5), (6, ...)>."""
    p = np.full((7, 7), 0.01)
    p[0, 1], p[0, 2], p[1, 2], p[:3, 3] = 0.00006722, 0.0002765, 0.6363, 0.07633
    p[5, 6] = 0.9
    starts = {alpha: np.flatnonzero(group_starts(p < alpha, Method(scope="list"))).tolist() for alpha in (0.25, 0.05)}
    assert starts[0.25] == [0, 1, 3, 4, 5]
    assert starts[0.05] == [0, 1, 4, 5]  # the fourth incipit would no longer stand alone


def test_a_difference_is_strictly_below_alpha() -> None:
    rows = [("q", str(n), d, r) for n, pair in enumerate([(1, 2), (1, 2)]) for d, r in zip("ab", pair, strict=True)]
    p = groups_of(as_rankings(rows)["q"], Method()).pvalues[0, 1]
    assert len(group_rankings(rows, alpha=float(p))["q"]) == 1
    assert len(group_rankings(rows, alpha=float(np.nextafter(p, 1)))["q"]) == 2


def test_one_tail_separates_what_two_do_not() -> None:
    """The appendix of Urbano et al. (2010), as ranks of two incipits by 21 experts."""
    first: list[float] = [*range(1, 9), 14, *range(31, 37)]
    second: list[float] = [*range(9, 14), *range(15, 31)]
    rows: list[Row] = [("q", f"e{n}", "x", rank) for n, rank in enumerate(first)]
    rows += [("q", f"e{n}", "y", rank) for n, rank in enumerate(second)]
    assert group_rankings(rows, tails=2)["q"] == (("x", "y"),)
    assert group_rankings(rows, tails=1)["q"] == (("x",), ("y",))


def test_arrangement_by_median_mean_votes_id() -> None:
    columns: dict[str, list[float | None]] = {
        "z": [2, 2, 2, None],
        "b": [1, 2, 9, None],  # the median of z, a larger mean
        "y": [2, 2, 2, 2],  # z with one vote more
        "x": [2, 2, 2, None],  # z by all but its id
        "first": [1, 1, 1, 9],
    }
    rows = [("q", f"e{n}", id, rank) for id, ranks in columns.items() for n, rank in enumerate(ranks)]
    assert arrange(as_rankings(rows)["q"]).documents == ("first", "y", "x", "z", "b")
    assert any("x and z have the same median, mean and votes" in note for note in group_rankings(rows).notes)


def test_one_vote_heads_the_list_unless_unranked_counts() -> None:
    """GOLDEN.md, section 3.4: X is ranked first by one expert and left out by 29; Q is the query itself."""
    rows: list[Row] = [("q", f"e{n}", "Q", 2 if n < 3 else 1) for n in range(30)]
    rows += [("q", f"e{n}", "X", 1 if n == 0 else None) for n in range(30)]
    rows += [("q", f"e{n}", f"d{k}", k + 3) for n in range(30) for k in range(48)]
    said = as_rankings(rows)["q"]
    assert arrange(said).documents[:2] == ("X", "Q")
    last = arrange(said, "last")
    assert last.documents[0] == "Q"
    assert last.medians[last.documents.index("X")] == 50
    few = arrange(said, min_votes=2)
    assert few.documents[0] == "Q"
    assert few.left_out == ("X",)
    assert group_rankings(rows, min_votes=2).nonrelevant("q") == ("X",)


def test_the_last_place_is_behind_every_rank_that_was_given() -> None:
    """Two candidates of many are in the file, and ann ranked one of them ninth: being left out is not better."""
    rows: list[Row] = [("q", "ann", "a", 1), ("q", "ann", "b", 9), ("q", "bob", "a", 1), ("q", "bob", "b", None)]
    assert arrange(as_rankings(rows)["q"], "last").ranks[:, 1].tolist() == [9, 9]
    assert arrange(as_rankings([*rows[2:], ("q", "ann", "c", 1)])["q"], "last").ranks.max() == 3
    nothing = arrange(as_rankings([("q", "ann", "a", None)])["q"], "last")
    assert nothing.left_out == ("a",)


@pytest.mark.parametrize(("min_votes", "left"), [(1, "abc"), (3, "ab"), (0.25, "abc"), (0.3, "ab"), (0.9, "a")])
def test_votes_may_be_a_share_of_the_experts(min_votes: float, left: str) -> None:
    """Of eight experts eight ranked a, six b, two c, and one of these nothing else."""
    rows: list[Row] = [("q", f"e{n}", id, 1) for n in range(8) for id in "abc" if n < {"a": 8, "b": 6, "c": 2}[id]]
    truth = group_rankings([*rows, ("q", "e0", "d", None)], min_votes=min_votes)
    assert {id for group in truth["q"] for id in group} == set(left)
    assert truth.nonrelevant("q") == tuple(id for id in "abcd" if id not in left)
    few = [note for note in truth.notes if "judged not relevant, as fewer than" in note]
    assert len(few) == (left != "abc")  # what no expert ranked goes without saying
    ranks = as_rankings(rows)["q"].ranks[None]
    assert count_groups(ranks, Method(min_votes=min_votes)) == len(group_rankings(rows, min_votes=min_votes)["q"])


def simulated(share: float) -> tuple[Rankings, dict[str, int]]:
    """Forty queries, 30 experts, this share of them careless: they rank at random, also what resembles nothing."""
    chance = np.random.default_rng(20)
    levels = np.repeat(np.arange(4), (1, 2, 3, 4))
    names, careless = tuple(f"e{n:02}" for n in range(30)), round(30 * share)
    tables = []
    level: dict[str, int] = {}
    for query in (f"q{n:02}" for n in range(40)):
        ids = (query, *(f"{query}-{k:02}" for k in range(1, 22)))
        ranks = np.full((30, 22), np.nan)
        for n in range(30):
            order = chance.permutation(22)[: chance.integers(1, 23)]
            if n >= careless:
                order = np.argsort(np.where(levels > 0, levels, -1) * 1.2 - chance.gumbel(size=10))
            ranks[n, order] = np.arange(1, len(order) + 1)
        tables.append(QueryRankings(query, names, ids, ranks))
        level |= dict(zip(ids, [*levels.tolist(), *[4] * 12], strict=True))
    return Rankings(tables), level


def told_apart(truth: Truth, level: dict[str, int]) -> float:
    """The share of pairs of different levels that the truth has in this order; no group is after all groups."""
    right = pairs = 0
    for query, groups in truth.items():
        place = {id: number for number, group in enumerate(groups) for id in group}
        own = [id for id in level if id.startswith(query)]
        for first, second in combinations(own, 2):
            if level[first] != level[second]:
                pairs += 1
                right += place.get(first, 99) < place.get(second, 99)
    return right / pairs


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_groups_of_the_usual_method_survive_careless_experts(share: float) -> None:
    """`24d3b3c:tools/simulate_judges.py --careless` has the whole table."""
    rankings, level = simulated(share)
    truth = grouped_truth(rankings, method_named("roslin"))
    assert told_apart(truth, level) > 0.88
    assert not any(level[id] == 4 for groups in truth.values() for group in groups for id in group)
    papers = told_apart(grouped_truth(rankings, method_named("typke2005")), level)
    assert papers > 0.99 if share == 0 else papers < 0.3


def test_the_papers_method_is_what_python_does_unless_told() -> None:
    rankings, _ = simulated(0.2)
    assert Method() == method_named("typke2005")
    assert group_rankings(rankings) == grouped_truth(rankings, method_named("typke2005"))
    with pytest.raises(UnknownNameError, match="unknown method 'typke2004'; known: roslin, typke2005"):
        method_named("typke2004")


def noise_groups(correction: str | None = None) -> dict[str, float]:
    chance = np.random.default_rng(1)
    ranks = chance.permuted(np.broadcast_to(np.arange(1.0, 21), (120, 30, 20)), axis=-1)
    found: dict[str, float] = {}
    for six in SIX_FUNCTIONS:
        method = Method(six.rule, six.tails, correction=correction)
        found[method.name] = float(np.mean(count_groups(ranks, method)))
    return found


def test_groups_of_pure_noise() -> None:
    """GOLDEN.md, section 3.2: 30 experts, 20 candidates, 120 lists. The right answer is 1."""
    golden = {"All-2": 1.08, "All-1": 1.70, "Prev-2": 1.30, "Prev-1": 2.68, "Any-2": 3.36, "Any-1": 5.17}
    found = noise_groups()
    assert found.keys() == golden.keys()
    for name, groups in golden.items():
        assert found[name] == pytest.approx(groups, abs=0.25)


def test_correction_keeps_noise_together() -> None:
    found = noise_groups("holm")
    assert found["All-2"] == found["Prev-2"] == 1
    assert found["Any-2"] == pytest.approx(1.11, abs=0.15)


def test_one_expert_is_one_group_and_a_note() -> None:
    truth = group_rankings([("q", "ann", "b", 2), ("q", "ann", "a", 1)], rule="any", tails=1)
    assert truth["q"] == (("a", "b"),)
    assert truth.notes == ("query q: only one expert (ann); no difference can be tested",)


def test_one_candidate_all_tied_nothing_ranked() -> None:
    assert group_rankings([("q", "ann", "a", 1), ("q", "bob", "a", 3)])["q"] == (("a",),)
    tied = [("q", expert, id, 1) for expert in ("ann", "bob", "cy") for id in "cba"]
    assert group_rankings(tied, rule="any", tails=1)["q"] == (("a", "b", "c"),)
    nothing = group_rankings([("q", "ann", "a", None), ("q", "bob", "b", None)])
    assert nothing["q"] == ()
    assert nothing.nonrelevant("q") == ("a", "b")
    assert "nobody ranked any candidate" in nothing.notes[0]
    assert group_rankings([]) == Truth({})


@pytest.mark.parametrize("method", SIX_FUNCTIONS, ids=lambda method: method.name)
def test_order_of_rows_does_not_matter(method: Method) -> None:
    chance = np.random.default_rng(8)
    rows = [("q", f"e{e}", f"d{d}", float(chance.integers(1, 9))) for e in range(12) for d in range(9)]
    shuffled = [rows[k] for k in chance.permutation(len(rows))]
    assert group_rankings(rows, method.rule, method.tails) == group_rankings(shuffled, method.rule, method.tails)


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"rule": "most"}, UnknownNameError, "unknown rule 'most'; known: all, any, prev"),
        ({"scope": "page"}, UnknownNameError, "unknown scope 'page'; known: group, list"),
        ({"test": "t"}, UnknownNameError, "unknown test 't'"),
        (
            {"unranked": "first"},
            UnknownNameError,
            "unknown way to count unranked candidates 'first'; known: drop, last",
        ),
        ({"correction": "b"}, UnknownNameError, "unknown correction 'b'; known: None, holm, bh"),
        ({"tails": 3}, ArgumentError, "tails must be 1 or 2; got 3"),
        ({"alpha": 0.0}, ArgumentError, "alpha must be above 0 and at most 1; got 0.0"),
        ({"min_votes": 0}, ArgumentError, "min_votes must be at least 1; got 0"),
        ({"min_votes": float("nan")}, ArgumentError, "min_votes must be at least 1; got nan"),
        ({"min_votes": 2.5}, ArgumentError, "min_votes must be a whole number, or a share of the experts below 1"),
    ],
)
def test_choices_that_do_not_exist(choice: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        group_rankings([("q", "ann", "a", 1)], **choice)  # type: ignore[arg-type]


def test_functions_of_paper_004_by_name() -> None:
    assert function_named("Prev-1") == Method("prev", 1)
    assert function_named("ALL-2") == Method()
    with pytest.raises(UnknownNameError, match="unknown grouping 'any'; known: All-2, Any-2, Prev-2, All-1, Any-1"):
        function_named("any")

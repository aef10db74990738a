"""Votes to lists, and models beyond the papers: the published lists first, then definitions, then odd input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from roslin.errors import ArgumentError, FormatError, UnknownNameError
from roslin.truth import Truth, group_rankings, read_truth
from roslin.truth.bradley_terry import bradley_terry, group_votes
from roslin.truth.grouping import Method
from roslin.truth.plackett_luce import group_by_strength, plackett_luce
from roslin.truth.power import more_experts
from roslin.truth.preferences import Vote, count_votes, read_votes, segment_votes
from roslin.truth.rankings import Floats, QueryRankings, as_rankings
from roslin.truth.simulate import simulate_rankings


def votes(*counted: str) -> list[Vote]:
    """Votes from "A B 3 1 6": three for A, one for B, six the same."""
    found = []
    for text in counted:
        first, second, *numbers = text.split()
        for answer, count in zip("abs", map(int, numbers), strict=True):
            found += [Vote("q", f"w{k}", first, second, answer) for k in range(count)]
    return found


def test_published_lists_of_crowd2010(data_folder: Path) -> None:
    """The same groups for 9 of 11 queries. Two rest on which candidate of a last pair was its pivot: not recorded."""
    given = read_votes(data_folder / "crowd2010" / "judgments.csv")
    assert len(given) == 2805  # of 2,810; five are empty
    published = read_truth(data_folder / "crowd2010" / "MTurk.qrel")

    def same(ours: Truth) -> set[str]:
        return {q for q in published if list(map(set, ours[q])) == list(map(set, published[q]))}

    found = same(segment_votes(given))
    assert set(published) - found == {"600.054.278-1.1.1", "600.192.742-1.1.1"}
    # The other choice of pivots: ids in reverse order, and back again.
    order = sorted({id for vote in given for id in (vote.first, vote.second)}, reverse=True)
    code = {id: f"{k:04}" for k, id in enumerate(order)}
    turned = segment_votes([replace(vote, first=code[vote.first], second=code[vote.second]) for vote in given])
    back = {query: [[order[int(id)] for id in group] for group in groups] for query, groups in turned.items()}
    assert found | same(Truth(back)) == set(published)
    assert len(same(segment_votes(given, margin=3))) < 3


def test_segments_by_hand() -> None:
    asked = votes("A P 8 0 2", "B P 1 2 7", "C P 2 6 2", "D P 0 9 1", "C D 4 1 5")
    assert segment_votes(asked)["q"] == (("A",), ("B", "P"), ("C",), ("D",))
    assert segment_votes(asked, margin=4)["q"] == (("A",), ("B", "P"), ("C", "D"))
    with pytest.raises(ArgumentError, match="margin must be at least 1; got 0"):
        segment_votes(asked, margin=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q,a,b,x\n", "votes.csv:2: bad answer; expected one of a, b, s; found x"),
        ("q,a,a,s\n", "votes.csv:2: a candidate is compared with itself; expected two candidates; found a"),
        ("q,a,b,\n", "votes.csv: no votes; expected at least one row with an answer; found none"),
    ],
)
def test_votes_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("query,first,second,answer\n" + text)
    with pytest.raises(FormatError, match=message):
        read_votes(path)


def test_votes_with_comments_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(b"query,first,second,answer,comment\nq,a,b,s,it\xb4s nice\n")
    assert read_votes(path) == [Vote("q", "", "a", "b", "s")]


def test_bradley_terry_of_two_is_closed_form() -> None:
    """Two candidates: wins differ by the factor exp(s_a - s_b); v is the ties over the root of the wins' product."""
    found = bradley_terry(count_votes(votes("a b 4000 1000 2000"))["q"])
    assert found.values[0] - found.values[1] == pytest.approx(np.log(4), abs=2e-3)
    assert found.log_same == pytest.approx(np.log(2000 / np.sqrt(4000 * 1000)), abs=2e-3)


def test_bradley_terry_finds_what_it_was_drawn_from() -> None:
    strength, same = np.array([1.0, 0.3, -0.4, -0.9]), 0.7
    chance = np.random.default_rng(1)
    drawn = []
    for i in range(4):
        for j in range(i + 1, 4):
            weights = np.exp([strength[i], strength[j], (strength[i] + strength[j]) / 2])
            weights[2] *= same
            drawn.append(f"{i} {j} " + " ".join(map(str, chance.multinomial(3000, weights / weights.sum()))))
    found = bradley_terry(count_votes(votes(*drawn))["q"])
    assert found.values == pytest.approx(strength - strength.mean(), abs=0.08)
    errors = np.sqrt(np.diag(found.covariance))
    assert np.all(errors < 6)  # the common level is known by the prior alone
    assert np.all(found.less[np.triu_indices(4, 1)] < 1e-6)
    assert found.less + found.less.T == pytest.approx(np.ones((4, 4)) + np.eye(4))


def test_bradley_terry_stays_finite_and_groups() -> None:
    clear = votes("a b 10 0 0", "b c 0 1 9", "a c 10 0 0")
    assert np.all(np.abs(bradley_terry(count_votes(clear)["q"]).values) < 50)
    assert [set(group) for group in group_votes(clear)["q"]] == [{"a"}, {"b", "c"}]
    assert len(group_votes(votes("a b 1 1 8", "b c 1 1 8", "a c 0 0 10"))["q"]) == 1


# -- Plackett-Luce ----------------------------------------------------------------------------------------------------


def penalised(said: QueryRankings, unranked: str) -> Floats:
    """The optimum by another route: scipy on the likelihood, pick by pick."""

    def loss(logs: Floats) -> float:
        value = -float((0.5 * logs - np.log1p(np.exp(logs))).sum())
        for row in said.ranks:
            for item in np.flatnonzero(~np.isnan(row)):
                in_set = (row >= row[item]) | (np.isnan(row) if unranked == "last" else False)
                value -= logs[item] - np.log(np.exp(logs[in_set]).sum())
        return value

    found = optimize.minimize(loss, np.zeros(len(said.documents)), options={"gtol": 1e-7}).x
    return np.asarray(found - found.mean())


@pytest.mark.parametrize("unranked", ["last", "drop"])
def test_plackett_luce_is_the_optimum(unranked: str) -> None:
    said = simulate_rankings(5, 12, model="plackett-luce", noise=0.6, dropout=0.4, seed=3)["q1"]
    tied = QueryRankings("q", said.experts, said.documents, np.where(said.ranks == 3, 2, said.ranks))
    for each in (said, tied):
        found = plackett_luce(each, unranked, resamples=2).values
        assert found == pytest.approx(penalised(each, unranked), abs=1e-3)


def test_plackett_luce_finds_what_it_was_drawn_from() -> None:
    said = simulate_rankings(6, 1500, model="plackett-luce", noise=0.6, dropout=0.3, seed=1)["q1"]
    found = plackett_luce(said, resamples=60)
    steps = -np.diff(found.values)
    assert steps == pytest.approx(np.full(5, -np.log(0.6)), abs=0.15)
    low, high = found.intervals(0.99).T
    assert np.all((low < found.values) & (found.values < high))
    assert np.all(high - low < 0.5)


def test_groups_by_strength() -> None:
    clear = simulate_rankings([6, 6], 25, model="plackett-luce", noise=0.3, seed=2)
    truth = group_by_strength(clear)
    assert [id for group in truth["q1"] for id in group] == list(clear["q1"].documents)
    assert len(truth["q1"]) >= 4
    assert len(group_by_strength(simulate_rankings(6, 25, noise=1.0, seed=5))["q1"]) <= 2
    assert truth.name == "plackett-luce-All-2"
    one_vote = [("q", f"e{n}", "Q", 1 + (n == 0)) for n in range(30)] + [("q", "e0", "X", 1)]
    assert group_rankings(one_vote)["q"][0][0] == "X"
    assert group_by_strength(one_vote)["q"][0] == ("Q",)  # X, which 29 left out, no longer heads the list


def test_plackett_luce_of_odd_input() -> None:
    assert group_by_strength([("q", "ann", "a", None)])["q"] == (("a",),)
    assert len(group_by_strength([("q", "ann", "a", 1), ("q", "ann", "b", 1)])["q"]) == 1
    said = as_rankings([("q", "ann", "a", 1)])["q"]
    with pytest.raises(ArgumentError, match="resamples must be at least 1; got 0"):
        plackett_luce(said, resamples=0)
    with pytest.raises(UnknownNameError, match="known: drop, last"):
        plackett_luce(said, "first")


# -- power ------------------------------------------------------------------------------------------------------------


def test_as_many_experts_as_the_formula_says_have_the_power() -> None:
    """Normal ranks half a deviation apart; the formula's n, then how often a test of n and n finds it."""
    chance = np.random.default_rng(7)
    shape = np.tile([[10.0, 10.5]], (4000, 1)) + chance.normal(size=(4000, 2))
    documents = ("a", "b")
    large = QueryRankings("q", tuple(map(str, range(4000))), documents, shape)
    (found,) = more_experts(large, Method(tails=1, alpha=0.25), power=0.8)
    assert found.chance == pytest.approx(stats.norm.cdf(0.5 / np.sqrt(2)), abs=0.02)
    assert found.needed is not None
    assert found.more == 0
    draws = np.array([[10.0], [10.5]]) + chance.normal(size=(600, 2, found.needed))
    detected = [stats.mannwhitneyu(x, y, alternative="less").pvalue < 0.25 for x, y in draws]
    assert np.mean(detected) == pytest.approx(0.8, abs=0.06)


def test_neighbours() -> None:
    said = simulate_rankings(5, 10, noise=0.6, seed=1)["q1"]
    found = more_experts(said)
    assert [each.first for each in found[1:]] == [each.second for each in found[:-1]]
    for each in found:
        assert each.votes == 10
        assert each.more is None or each.needed is None or each.more == max(0, each.needed - 10)
    same = as_rankings([("q", expert, id, 1) for expert in "xyz" for id in "ab"])["q"]
    assert more_experts(same)[0].needed is None
    with pytest.raises(ArgumentError, match=r"power must lie between 0 and 1; got 1.0"):
        more_experts(said, power=1.0)

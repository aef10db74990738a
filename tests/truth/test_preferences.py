"""Votes to lists, and models beyond the papers: the published lists first, then definitions, then odd input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from roslin.errors import ArgumentError, FormatError, UnknownNameError
from roslin.truth import Truth, group_rankings, read_truth
from roslin.truth.choice_models import (
    QueryVotes,
    Vote,
    bradley_terry,
    count_votes,
    group_votes,
    plackett_luce,
    read_votes,
    segment_votes,
    segments,
    strength_groups,
)
from roslin.truth.grouping import Method
from roslin.truth.model import Groups
from roslin.truth.rankings import QueryRankings, as_rankings
from roslin.truth.ranktests import pairwise_less
from roslin.truth.simulate import simulate_rankings
from roslin.truth.study import null_strengths, null_votes, study_strengths
from roslin.truth.tables import more_experts
from roslin.types import Floats


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
        (" ,a,b,s\n", "votes.csv:2: no query; expected a name; found nothing"),
        ("q,,b,s\n", "votes.csv:2: no first; expected a name; found nothing"),
        ("q,a, ,s\n", "votes.csv:2: no second; expected a name; found nothing"),
        ("q,a,b,\n", "votes.csv: no votes; expected at least one row with an answer; found none"),
    ],
)
def test_votes_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("query,first,second,answer\n" + text)
    with pytest.raises(FormatError, match=message):
        read_votes(path)


def test_an_expert_who_votes_twice(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("query,expert,first,second,answer\nq,ann,a,b,a\nq,bob,a,b,a\nr,ann,a,b,a\nq,ann,b,a,s\n")
    with pytest.raises(
        FormatError, match=r"votes.csv:5: expert ann compares b and a again for query q \(first in line 2\)"
    ):
        read_votes(path)


def test_candidates_that_nothing_links_have_no_common_scale() -> None:
    apart = votes("a b 9 0 1", "c d 9 0 1")
    assert count_votes(apart)["q"].linked == [["a", "b"], ["c", "d"]]
    with pytest.raises(
        ArgumentError, match="query q: no chain of comparisons links a and c, so there is no common scale"
    ):
        group_votes(apart)
    # Nobody can be a pivot: the segment stays whole, which is no judgement where nobody was asked.
    assert segment_votes(apart)["q"] == (("a", "b", "c", "d"),)
    assert segment_votes(apart).notes == ()
    lonely = segment_votes(votes("a b 9 0 1", "a c 9 0 1"))
    assert lonely["q"] == (("a",), ("b", "c"))
    assert lonely.notes == ("query q: b is in a group of 2 with none of which it was compared",)


def test_shuffled_votes() -> None:
    clear = count_votes(votes("a b 10 0 0", "a c 10 0 0", "b c 9 0 1"))["q"]
    for group in (segments, lambda votes: strength_groups(bradley_terry(votes), Method())):
        null = null_votes(clear, group, shuffles=60)
        assert null.found == 3
        assert null.mean < 2.4
        assert null.p < 0.5
    kept: list[QueryVotes] = []

    def keep(each: QueryVotes) -> Groups:
        kept.append(each)
        return (("a",),)

    mixed = count_votes(votes("a b 6 2 2", "a c 1 1 8", "b c 0 5 0"))["q"]
    null_votes(mixed, keep, shuffles=30)
    for each in kept:
        given = each.wins + each.wins.T + each.same
        assert np.array_equal(given, mixed.wins + mixed.wins.T + mixed.same)
        assert each.same.sum() == mixed.same.sum()
    assert len({each.wins.tobytes() for each in kept}) > 20
    with pytest.raises(ArgumentError, match="shuffles must be at least 1; got 0"):
        null_votes(mixed, keep, shuffles=0)


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


def strength_truth(rows: Any) -> Truth:
    return study_strengths(rows, shuffles=0).truth


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
    truth = strength_truth(clear)
    assert [id for group in truth["q1"] for id in group] == list(clear["q1"].documents)
    assert len(truth["q1"]) >= 4
    assert len(strength_truth(simulate_rankings(6, 25, noise=1.0, seed=5))["q1"]) <= 2
    assert truth.name == "plackett-luce-All-2"
    one_vote = [("q", f"e{n}", "Q", 1 + (n == 0)) for n in range(30)] + [("q", "e0", "X", 1)]
    assert group_rankings(one_vote)["q"][0][0] == "X"
    assert strength_truth(one_vote)["q"][0] == ("Q",)  # X, which 29 left out, no longer heads the list


@pytest.mark.parametrize(("experts", "groups"), [(1, 1), (2, 1), (3, 1), (4, 5), (12, 5)])
def test_few_experts_who_agree_prove_little(experts: int, groups: int) -> None:
    """Two-tailed, n experts of one mind have p = 2 / 2^n: below 0.25 from four on."""
    rows = [("q", f"e{n}", d, r) for n in range(experts) for r, d in enumerate("abcde", start=1)]
    truth = strength_truth(rows)
    assert len(truth["q"]) == groups
    told = f"query q: {experts} expert{'' if experts == 1 else 's'} cannot tell candidates apart"
    assert truth.notes == ((told,) if groups == 1 else ())
    fitted = plackett_luce(as_rankings(rows)["q"], resamples=50)
    assert np.isinf(fitted.intervals(0.95)).all() == (experts < 6)  # 2^-6 is below 2.5 %
    assert fitted.less[0, 1] == pytest.approx(max(1 / 51, 0.5**experts))


def test_a_pair_that_few_of_many_ranked() -> None:
    """Thirty experts, but only two ranked a and b, both alike; what the others said does not make that surer."""
    rows: list[tuple[str, str, str, float | None]] = [("q", f"e{n}", id, 1) for n in range(30) for id in "xy"]
    rows += [("q", f"e{n}", id, r) for n in range(2) for id, r in (("a", 2), ("b", 3))]
    for unranked in ("last", "drop"):
        fitted = plackett_luce(as_rankings(rows)["q"], unranked, resamples=50)
        assert fitted.judges[2, 3] == 2
        assert fitted.less[2, 3] >= 0.25


def test_strengths_of_noise_and_of_order() -> None:
    method = Method("any", 1, unranked="last")
    for noise, low, high in ((1.0, 0.05, 1.0), (0.6, 0.0, 0.05)):
        said = simulate_rankings(8, 20, noise=noise, dropout=0.2, seed=3)["q1"]
        null = null_strengths(said, plackett_luce(said), method, shuffles=30)
        assert null.mean == pytest.approx(3.3, abs=0.8)
        assert low < null.p <= high


def test_a_bootstrap_to_first_order_is_near_the_whole() -> None:
    said = simulate_rankings(6, 25, model="plackett-luce", noise=0.7, dropout=0.2, seed=1)["q1"]
    whole, quick = (plackett_luce(said, resamples=300, quick=flag) for flag in (False, True))
    assert np.array_equal(whole.values, quick.values)
    assert quick.bootstrap == pytest.approx(whole.bootstrap, abs=0.5)
    assert quick.less == pytest.approx(whole.less, abs=0.05)


def test_plackett_luce_of_odd_input() -> None:
    nothing = strength_truth([("q", "ann", "a", None)])
    assert nothing["q"] == ()
    assert nothing.nonrelevant("q") == ("a",)
    assert "nobody ranked any candidate" in nothing.notes[0]
    assert plackett_luce(as_rankings([("q", "ann", "a", None)])["q"], quick=True).bootstrap.shape == (200, 0)
    some = strength_truth([("q", e, d, r) for e in "uvwxyz" for d, r in (("a", 1), ("b", 2), ("n", None))])
    assert some["q"] == (("a",), ("b",))
    assert some.nonrelevant("q") == ("n",)  # nobody ranked it: it is not relevant, whatever its strength would be
    assert strength_truth([("q", "ann", "a", 1)])["q"] == (("a",),)
    assert len(strength_truth([("q", "ann", "a", 1), ("q", "ann", "b", 1)])["q"]) == 1
    said = as_rankings([("q", "ann", "a", 1)])["q"]
    with pytest.raises(ArgumentError, match="resamples must be at least 1; got 0"):
        plackett_luce(said, resamples=0)
    with pytest.raises(UnknownNameError, match="known: drop, last"):
        plackett_luce(said, "first")


# -- power ------------------------------------------------------------------------------------------------------------


def seven_to_five(empty: int = 0) -> QueryRankings:
    """Seven experts put a before b, five the other way; so many more ranked neither."""
    ranks = np.array([[1.0, 2.0]] * 7 + [[2.0, 1.0]] * 5 + [[np.nan, np.nan]] * empty)
    return QueryRankings("q", tuple(f"e{k}" for k in range(len(ranks))), ("a", "b"), ranks)


@pytest.mark.parametrize("test", ["asymptotic", "exact", "paired"])
def test_as_many_experts_as_it_says_have_the_power(test: str) -> None:
    """So many experts, seven twelfths of them for a, are drawn again and again, by other means."""
    (found,) = more_experts(seven_to_five(), Method(test=test), power=0.8)
    assert found.p > 0.25
    assert found.experts == 12
    assert found.needed is not None
    assert found.more == found.needed - 12
    for_a = np.random.default_rng(1).binomial(found.needed, 7 / 12, 400)
    ranks = np.where(np.arange(found.needed) < for_a[:, None], 1.0, 2.0)
    less = pairwise_less(np.stack([ranks, 3 - ranks], axis=-1), "paired" if test == "paired" else "asymptotic")
    assert np.mean(2 * less[:, 0, 1] < 0.25) == pytest.approx(0.8, abs=0.08)


def test_who_leaves_candidates_out_makes_more_experts_needed() -> None:
    """Every second expert ranks nothing: twice as many experts, for as many ranks."""
    few, half = (more_experts(seven_to_five(empty))[0].needed for empty in (0, 12))
    assert few is not None
    assert half is not None
    assert half / few == pytest.approx(2, rel=0.2)


def test_level_power_and_tails_count() -> None:
    usual, surer, stricter, one_tail = (
        more_experts(seven_to_five(), method, power)[0].needed or 0
        for method, power in ((Method(), 0.6), (Method(), 0.9), (Method(alpha=0.1), 0.6), (Method(tails=1), 0.6))
    )
    assert one_tail < usual < min(surer, stricter)


def test_neighbours() -> None:
    said = simulate_rankings(5, 10, noise=0.6, seed=0)["q1"]
    found = more_experts(said)
    assert [each.first for each in found[1:]] == [each.second for each in found[:-1]]
    for each in found:
        if each.p < 0.25:
            assert (each.needed, each.more) == (10, 0)  # apart already
    assert any(each.p < 0.25 for each in found)
    assert more_experts(said, seed=3) == more_experts(said, seed=3)
    same = as_rankings([("q", expert, id, 1) for expert in "xyz" for id in "ab"])["q"]
    assert more_experts(same)[0].needed is None
    alone = as_rankings([("q", "ann", "a", 1), ("q", "ann", "b", 2)])["q"]
    assert more_experts(alone)[0].more is None
    with pytest.raises(ArgumentError, match=r"power must be between 0 and 1; got 1.0"):
        more_experts(said, power=1.0)
    with pytest.raises(ArgumentError, match="seed must be 0 or more; got -1"):
        more_experts(said, seed=-1)

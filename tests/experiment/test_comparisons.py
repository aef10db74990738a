"""Which candidates are compared next: what links them, then what tells most; and what the truth layer makes of it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.experiment.comparisons import as_votes, fitted_strengths, is_check, next_comparison
from roslin.experiment.events import ExpertChoice
from roslin.experiment.plan import SIZES, most_comparisons
from roslin.truth.choice_models import bradley_terry, count_votes, group_votes


def answered(
    count: int, size: int, experts: int, each: int, noise: float = 0.5, seed: int = 1
) -> tuple[list[str], list[list[ExpertChoice]]]:
    """Experts who order d00, d01, ... with errors, and answer what is asked."""
    documents = [f"d{k:02}" for k in range(count)]
    chance = np.random.default_rng(seed)
    said: list[list[ExpertChoice]] = []
    for expert in range(experts):
        utility = dict(zip(documents, np.arange(count) * np.log(noise) + chance.gumbel(size=count), strict=True))
        own: list[ExpertChoice] = []
        for _ in range(each):
            asked = next_comparison(documents, [c for one in [*said, own] for c in one], own, size, seed, expert)
            if not asked:
                break
            own.append(ExpertChoice(asked, max(asked, key=lambda id: utility[id])))
        said.append(own)
    return documents, said


@pytest.mark.parametrize("size", SIZES.values())
def test_the_first_comparisons_link_all_candidates(size: int) -> None:
    documents, (own,) = answered(21, size, experts=1, each=20 // (size - 1))
    linked = {documents[0]}
    for _ in documents:
        linked |= {id for choice in own if linked & set(choice.documents) for id in choice.documents}
    assert linked == set(documents)


def test_others_who_have_linked_them_are_not_repeated() -> None:
    documents = ["a", "b", "c", "d"]
    chain = [ExpertChoice(pair, pair[0]) for pair in (("a", "b"), ("b", "c"))]
    assert "d" in next_comparison(documents, chain, (), 2, 7, "ada")


def test_what_is_known_is_not_asked_but_what_is_close() -> None:
    """a and b are far above c and d; only the order inside these two is unknown."""
    known = [ExpertChoice((high, low), high) for high in "ab" for low in "cd"] * 20
    for expert in range(20):
        assert set(next_comparison("abcd", known, (), 2, 7, expert)) in ({"a", "b"}, {"c", "d"})


def test_a_thousand_answers_to_one_pair_leave_the_other_more_interesting() -> None:
    equal = [ExpertChoice(("a", "b"), best) for best in "ab"] * 500
    few = [ExpertChoice(("b", "c"), "b"), ExpertChoice(("c", "a"), "c")]
    assert "c" in next_comparison("abc", [*equal, *few], (), 2, 7, "ada")


@settings(max_examples=25)
@given(st.integers(3, 9), st.sampled_from([2, 3]), st.integers(0, 1000))
def test_nobody_compares_two_candidates_twice_and_everything_possible_is_asked(
    count: int, size: int, seed: int
) -> None:
    documents, (own,) = answered(count, size, experts=1, each=100, seed=seed)
    pairs = [frozenset(pair) for choice in own for pair in combinations(choice.documents, 2)]
    assert len(set(pairs)) == len(pairs)
    assert all(set(choice.documents) <= set(documents) and len(choice.documents) == size for choice in own)
    assert len(own) >= most_comparisons(count, size)
    if size == 2:
        assert len(own) == most_comparisons(count, 2)


def test_how_many_comparisons_are_always_possible() -> None:
    assert [most_comparisons(n, 2) for n in (0, 1, 2, 20, 50)] == [0, 0, 1, 190, 1225]
    assert [most_comparisons(n, 3) for n in (0, 2, 3, 20, 50)] == [0, 0, 1, 30, 200]


@pytest.mark.parametrize("documents", [[], ["a"]])
def test_nothing_is_asked_of_too_few_candidates(documents: list[str]) -> None:
    assert next_comparison(documents, (), (), 2, 7, "ada") == ()
    assert next_comparison([*documents, "b"][:2], (), (), 3, 7, "ada") == ()


@pytest.mark.parametrize("size", SIZES.values())
def test_the_same_seed_asks_the_same_whatever_the_order_of_the_documents(size: int) -> None:
    documents, said = answered(10, size, experts=2, each=6)
    choices = [choice for own in said for choice in own]
    asked = next_comparison(documents, choices, said[1], size, 7, "ada")
    assert asked == next_comparison(documents[::-1], choices, said[1], size, 7, "ada")
    others = {next_comparison(documents, choices[:1], (), size, 7, f"expert {k}") for k in range(20)}
    assert len(others) > 5


def test_a_tenth_of_the_comparisons_are_checks_of_attention_at_turns_that_nobody_guesses() -> None:
    turns = {
        expert: [turn for turn in range(40) if is_check(turn, 40, 7, expert, "q")] for expert in ("ada", "bo", "cy")
    }
    assert [len(each) for each in turns.values()] == [4, 4, 4]
    assert len({tuple(each) for each in turns.values()}) == 3
    assert [sum(is_check(turn, wanted, 7, "ada", "q") for turn in range(wanted)) for wanted in (1, 2, 11)] == [0, 1, 2]


@pytest.mark.parametrize("size", SIZES.values())
def test_a_document_that_must_be_compared_is_until_all_is_asked_about_it(size: int) -> None:
    documents = ["a", "b", "c", "d", "e", "q"]
    own: list[ExpertChoice] = []
    for _ in range(5 // (size - 1)):
        asked = next_comparison(documents, own, own, size, 7, "ada", among="q")
        assert "q" in asked
        own.append(ExpertChoice(asked, "q"))
    rest = next_comparison(documents, own, own, size, 7, "ada", among="q")
    assert rest
    assert size == 3 or "q" not in rest


def test_candidates_are_not_shown_in_an_order_that_says_something() -> None:
    first = sum(next_comparison("ab", (), (), 2, 7, expert) == ("a", "b") for expert in range(400))
    assert 160 < first < 240


@pytest.mark.long
def test_strengths_are_those_of_the_truth_layer() -> None:
    """Another program, and a weaker prior, but many answers: the same strengths."""
    documents, said = answered(6, 2, experts=80, each=10, noise=0.6)
    choices = [choice for own in said for choice in own]
    found, covariance = fitted_strengths(documents, choices)
    votes = count_votes(as_votes("q", "", choices))["q"]
    other = bradley_terry(votes)
    assert votes.documents == tuple(documents)
    np.testing.assert_allclose(found - found.mean(), other.values, atol=0.05)
    spread = np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance
    theirs = np.diag(other.covariance)[:, None] + np.diag(other.covariance) - 2 * other.covariance
    np.testing.assert_allclose(spread, theirs, rtol=0.1, atol=1e-9)


def test_no_answers_leave_the_prior() -> None:
    means, covariance = fitted_strengths(["a", "b"], [])
    np.testing.assert_allclose(means, 0)
    np.testing.assert_allclose(covariance, 9 * np.eye(2))


def test_no_difference_counts_for_each() -> None:
    means, _ = fitted_strengths(["a", "b", "c"], [ExpertChoice(("a", "b"), None), ExpertChoice(("b", "c"), "b")])
    alone, _ = fitted_strengths(["a", "b", "c"], [ExpertChoice(("b", "c"), "b")])
    assert means[1] > means[0] > alone[0]  # who is as good as the winner


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES.values())
def test_the_truth_layer_finds_the_order_that_experts_had(size: int) -> None:
    documents, said = answered(8, size, experts=30, each=12 if size == 2 else 4, noise=0.3)
    votes = [vote for expert, own in enumerate(said) for vote in as_votes("q", f"expert {expert}", own)]
    groups = group_votes(votes)["q"]
    found = [id for group in groups for id in group]
    # The best of three says little about the last ones.
    assert found[:6] == documents[:6]
    assert set(found) == set(documents)
    assert len(groups) >= 6


def test_votes_of_each_kind() -> None:
    choices = [ExpertChoice(("a", "b"), "b"), ExpertChoice(("a", "b", "c"), "c"), ExpertChoice(("b", "c"), None)]
    told = [(vote.first, vote.second, vote.answer) for vote in as_votes("q", "ada", choices)]
    assert told == [("b", "a", "a"), ("c", "a", "a"), ("c", "b", "a"), ("b", "c", "s")]

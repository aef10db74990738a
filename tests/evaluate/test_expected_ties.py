"""Expected values under every order of tied scores, against the mean over all orders; and what ids may decide."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import groupby, permutations, product
from typing import ClassVar

import numpy as np
import pytest

from roslin.errors import UnknownNameError
from roslin.evaluate import MEASURES, Measure, evaluate, measure, measures, tie_sensitivity
from roslin.evaluate.measures.base import DRAWN_ORDERS
from roslin.evaluate.rankings import Hits, drawn, hits_of_run, judge
from roslin.evaluate.tables import remarks
from roslin.run import Ranking, Run
from roslin.truth import Truth
from roslin.types import Floats

VARIANTS = [
    "AP(variant=serra)",
    "RR(variant=serra)",
    "BreakEven(variant=serra)",
    "bpref(variant=2004)",
    "bpref(variant=serra)",
    "bpref(variant=old)",
    "bpref_10(variant=trec)",
    "bpref_star(length=7)",
    "DCG(gain=exp)",
    "DCG(gain=binary, discount=serra)",
    "nDCG(discount=jarvelin)",
    "AO(ties=b)",
    "AO(ties=w)",
    "RBO(ties=b)",
    "RBO(ties=w)",
    "Compat(normalise=False)",
    "ADR(short=cut)",
    "F(beta=2)",
    "Specificity(size=50, variant=serra)",
    "LiftArea(rule=step)",
    "ERR(top=5)",
    "Success(k=None)",
]


def every_text() -> list[str]:
    """Every measure, every variant, and each with cutoffs where it has one."""
    texts = [
        f"{name}(size=50)" if "size" in [field.name for field in fields(MEASURES[name])] else name
        for name in measures()
    ]
    texts += VARIANTS
    cut = [
        f"{text}@{k}"
        for text in texts
        if "k" in [field.name for field in fields(type(measure(text)))] and "k=" not in text
        for k in (1, 2, 4, 9)
    ]
    return texts + cut


def orders(ranking: Ranking) -> Iterator[list[str]]:
    """The list with its ties in every order."""
    pairs = zip(ranking.values or (), ranking.ids, strict=True)
    ties = [[id for _, id in tie] for _, tie in groupby(pairs, key=lambda pair: pair[0])]
    for parts in product(*(list(permutations(tie)) for tie in ties)):
        yield [id for part in parts for id in part]


def cases(number: int) -> Iterator[tuple[Truth, Run]]:
    """Small truths with and without judged documents that are not relevant, and lists with ties of up to five."""
    state = random.Random(11)
    for _ in range(number):
        documents = list("abcdefghijkl")
        state.shuffle(documents)
        sizes = [state.randint(1, 2) for _ in range(state.randint(1, 3))]
        taken = iter(documents)
        groups = [[next(taken) for _ in range(size)] for size in sizes]
        rest = list(taken)
        judged = {"q": rest[: state.randint(0, 4)]} if state.random() < 0.6 else None
        found = state.sample(documents, state.randint(1, 8))
        values: list[float] = []
        while len(values) < len(found):
            values += [-float(len(values))] * min(state.choice([1, 2, 3, 5]), len(found) - len(values))
        run = Run([Ranking("q", tuple(found), tuple(values))], name="mine", kind="score")
        yield Truth({"q": groups}, nonrelevant=judged), run


CASES = list(cases(25))


@cache
def with_orders() -> list[tuple[Truth, Run, Hits, list[list[str]]]]:
    """The cases, with their hits and with every order of their ties."""
    return [
        (truth, run, hits_of_run(judge(truth), run, expected=True), list(orders(run.rankings["q"])))
        for truth, run in CASES
    ]


@pytest.mark.long
@pytest.mark.parametrize("text", every_text())
def test_the_mean_over_every_order_of_the_ties(text: str) -> None:
    wanted = measure(text)
    for truth, run, hits, listed in with_orders():
        (value,) = wanted.values(hits)
        alone = [
            wanted(truth["q"], order, nonrelevant=truth.nonrelevant("q"), gains=truth.gains("q")) for order in listed
        ]
        # Of a mean over drawn orders only this much is known.
        tolerance = 1e-11 if wanted.exact_in_ties else 5 * float(np.std(alone)) / math.sqrt(DRAWN_ORDERS) + 1e-9
        assert value == pytest.approx(np.mean(alone), abs=tolerance), (truth, run.rankings["q"])


def test_every_measure_of_ours_but_one_variant_has_a_formula() -> None:
    assert [text for text in every_text() if not measure(text).exact_in_ties] == ["BreakEven(variant=serra)"]


def test_known_numbers() -> None:
    """By hand: one relevant document among three that are tied at the head."""
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5}}
    texts = ["P@1", "RR", "AP", "Success@2", "R@3", "ADR"]
    found = evaluate({"q": [["b"]]}, {"mine": run}, texts).means[0].tolist()
    mean = (1 + 1 / 2 + 1 / 3) / 3
    assert found == pytest.approx([1 / 3, mean, mean, 2 / 3, 1.0, 1 / 3])


@pytest.mark.long
def test_large_ties_against_chance() -> None:
    """Ties of hundreds, where no one can list all orders: against 1,000 drawn ones."""
    state = random.Random(3)
    ids = [f"d{k}" for k in range(600)]
    state.shuffle(ids)
    values = tuple([3.0] * 150 + [2.0] * 50 + [1.0] * 400)
    truth = Truth({"q": [["d1", "d2", "d3"], ["d4"], ["d5", "d6", "d7", "d8"]]})
    run = Run([Ranking("q", tuple(ids), values)], kind="score")
    hits = hits_of_run(judge(truth), run, expected=True)
    generator = np.random.default_rng(5)
    lists = [drawn(hits, generator) for _ in range(1000)]
    for text in ("ADR@100", "AP", "AP(variant=serra)@170", "RR", "nDCG", "ERR", "Compat", "RBO", "bpref", "Success@40"):
        wanted = measure(text)
        alone = [float(wanted.values(each)[0]) for each in lists[: 400 if text in ("RBO", "Compat") else None]]
        error = float(np.std(alone)) / math.sqrt(len(alone))
        assert wanted.values(hits)[0] == pytest.approx(np.mean(alone), abs=4 * error + 1e-12), text


@pytest.mark.long
def test_ids_decide_nothing() -> None:
    """The same run under other ids, and so in another order within its ties, has the same value to the last bit."""
    state = random.Random(7)
    for truth, run in CASES:
        ids = sorted({*run.rankings["q"].ids, *(id for group in truth["q"] for id in group)})
        renamed = dict(zip(ids, state.sample([f"x{k}" for k in range(99)], len(ids)), strict=True))
        other = Truth({"q": [[renamed[id] for id in group] for group in truth["q"]]})
        pairs = list(zip(run.rankings["q"].values or (), map(renamed.__getitem__, run.rankings["q"].ids), strict=True))
        pairs.sort(key=lambda pair: (-pair[0], pair[1]))
        again = Run([Ranking("q", tuple(id for _, id in pairs), tuple(value for value, _ in pairs))], kind="score")
        wanted = every_text()
        plain = Truth({"q": truth["q"]})
        assert np.array_equal(evaluate(plain, run, wanted).values, evaluate(other, again, wanted).values)


def test_a_run_without_ties_is_as_it_is_given() -> None:
    truth = {"q": [["a", "b"], ["c"]]}
    values = {rule: evaluate(truth, {"q": {"b": 3, "x": 2, "c": 1}}, every_text(), ties=rule).values for rule in RULES}
    assert np.array_equal(values["expected"], values["given"])
    assert np.array_equal(values["trec"], values["given"])
    ordered = evaluate(truth, {"q": ["x", "a"]}, "RR")  # an order without scores has no ties
    assert ordered.means.tolist() == [[0.5]]


RULES = ("expected", "given", "trec")


def test_the_three_rules() -> None:
    truth, run = {"q": [["b"]]}, {"mine": {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}}
    assert [evaluate(truth, run, "RR", ties=rule).means.item() for rule in RULES] == pytest.approx(
        [11 / 18, 1 / 2, 1 / 2]
    )
    run = {"mine": {"q": {"b": 1.0, "a": 1.0}}}
    assert [evaluate(truth, run, "RR", ties=rule).means.item() for rule in RULES] == [0.75, 1.0, 1.0]
    run = {"mine": {"q": {"b": 1.0, "c": 1.0}}}
    assert [evaluate(truth, run, "RR", ties=rule).means.item() for rule in RULES] == [0.75, 1.0, 0.5]
    distances = Run([Ranking("q", ("b", "c"), (0.2, 0.2))], kind="distance")
    assert evaluate(truth, distances, "RR", ties="trec").means.item() == 0.5
    with pytest.raises(UnknownNameError, match="unknown rule for ties 'worst'; known: expected, given, trec"):
        evaluate(truth, run, ties="worst")


def test_trec_order_is_that_of_trec_eval() -> None:
    """Scores of 32 bits, then the larger id: with pytrec_eval as the judge."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs pytrec_eval: pip install 'roslin[test]'")
    state = random.Random(2)
    ids = [f"d{k}" for k in range(30)] + ["D3", "é", "10", "9"]
    for _ in range(40):
        qrels = {"q": {id: state.randint(0, 1) for id in state.sample(ids, 12)} | {"d0": 1}}
        scores = {id: 1.0 + state.choice([0.0, 1e-9, 0.5, 1e-7]) for id in state.sample(ids, 25)}
        theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "P_5", "Rprec"}).evaluate({"q": scores})[
            "q"
        ]
        ours = evaluate(Truth.from_relevance(qrels), {"q": scores}, ["AP", "RR", "P@5", "PND"], ties="trec")
        expected = [theirs["map"], theirs["recip_rank"], theirs["P_5"], theirs["Rprec"]]
        assert ours.means[0].tolist() == pytest.approx(expected, abs=1e-6)


@dataclass(frozen=True, repr=False)
class FirstPlace(Measure):
    """What somebody might register: the rank of the first hit, without a thought of ties."""

    name: ClassVar[str] = "FirstPlace"

    def _values(self, hits: Hits) -> Floats:
        return hits.per_query(hits.rank.astype(np.float64), hits.order_in_query() == 1)


def test_a_measure_without_a_formula_is_sampled_and_says_so() -> None:
    run = {"mine": {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}}
    result = evaluate({"q": [["b"]]}, run, [FirstPlace(), "RR"])
    assert result.means[0, 0] == pytest.approx(2.0, abs=0.15)
    assert result.means[0, 0] == evaluate({"q": [["b"]]}, run, [FirstPlace()]).means[0, 0]
    assert result.sampled == (FirstPlace(),)
    said = " ".join(remarks([result]))
    assert f"FirstPlace has no formula for tied scores: its values are means over {DRAWN_ORDERS} orders" in said
    assert evaluate({"q": [["b"]]}, run, [FirstPlace()], ties="given").sampled == ()


def test_copies_in_one_tie() -> None:
    """A copy fills a place as an unjudged document does."""
    twice = Run.from_rows([("q", "a", 1.0), ("q", "a", 1.0), ("q", "x", 1.0)])
    once = Run.from_rows([("q", "a", 1.0), ("q", "y", 1.0), ("q", "x", 1.0)])
    texts = ["RR", "ADR", "P@1", "bpref"]
    assert np.array_equal(evaluate({"q": [["a"]]}, twice, texts).values, evaluate({"q": [["a"]]}, once, texts).values)


def test_the_query_leaves_its_tie() -> None:
    run = {"mine": {"q": {"q": 1.0, "a": 1.0, "b": 1.0}}}
    kept, dropped = (evaluate({"q": [["b"]]}, run, "P@1", same_id=rule).means.item() for rule in ("keep", "drop"))
    assert [kept, dropped] == pytest.approx([1 / 3, 0.5])


@pytest.mark.long
def test_the_range_holds_the_expected_value() -> None:
    for truth, run in CASES:
        able = [text for text in every_text() if measure(text).monotone]
        for each in tie_sensitivity(evaluate(truth, run, able)):
            low, high = sorted((each.worst, each.best))
            assert low - 1e-12 <= each.value <= high + 1e-12, each


# -- ids of queries ---------------------------------------------------------------------------------------------------


def test_numbers_as_ids_are_no_trap() -> None:
    """Query 1 has nothing to do with document 1: pytrec_eval finds P@1 = 0.5, and so does Roslin."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs pytrec_eval: pip install 'roslin[test]'")
    qrels = {"1": {"7": 1}, "2": {"8": 1}}
    run = {"1": {"1": 3.0, "7": 2.0}, "2": {"8": 3.0, "2": 2.0}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"P_1"}).evaluate(run)
    assert np.mean([values["P_1"] for values in theirs.values()]) == 0.5
    truth = Truth.from_relevance(qrels)
    result = evaluate(truth, {"mine": run}, "P@1")
    assert result.means.item() == 0.5
    assert result.same_ids == {"mine": ("1", "2")}
    (said,) = remarks([result])
    assert said == (
        "mine has a document with the id of its query in 2 lists (1, 2): kept, as any other document; if queries are "
        "documents of the collection, drop it (same_id)"
    )
    dropped = evaluate(truth, {"mine": run}, "P@1", same_id="drop")
    assert dropped.means.item() == 1.0
    (said,) = remarks([dropped])
    assert said == "mine has a document with the id of its query in 2 lists (1, 2): taken out, as the query itself"


def test_a_query_in_a_group_of_the_truth_always_stays() -> None:
    result = [evaluate({"q": [["q"]]}, {"mine": {"q": ["q", "a"]}}, "P@1", same_id=rule) for rule in ("keep", "drop")]
    assert [each.means.item() for each in result] == [1.0, 1.0]
    assert [each.same_ids for each in result] == [{}, {}]


def test_what_is_no_rule_for_ids() -> None:
    message = "unknown rule for documents with the id of their query 'maybe'; known: keep, drop"
    with pytest.raises(UnknownNameError, match=message):
        evaluate({"q": [["a"]]}, {"q": ["a"]}, same_id="maybe")


def test_one_rule_for_all_measures_of_a_call() -> None:
    """Through ir_measures, theirs and ours see the same list: ids and ties as trec_eval has them."""
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir_measures: pip install 'roslin[test]'")
    import roslin.interop.ir_bridge  # noqa: F401

    qrels = {"1": {"7": 1, "1": 0}, "2": {"8": 1}}
    run = {"1": {"1": 3.0, "7": 2.0}, "2": {"8": 3.0, "9": 3.0, "2": 2.0}}
    asked = [ir_measures.parse_measure(name) for name in ("P@1", "TP@1", "RR", "ADR@1")]
    found = ir_measures.calc_aggregate(asked, qrels, run)
    assert [found[each] for each in asked] == [0.0, 0.0, 0.5, 0.0]

"""Plain functions as matchers, and what any matcher must give."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roslin import Collection, Melody, load, matcher, matchers, register_matcher
from roslin.errors import ArgumentError, MelodyError, PluginError
from roslin.matchers import DP, EMD, MATCHERS, fuse
from roslin.starter import tunes_path

TUNES = load(tunes_path())[:40]


def lengths(query: Melody, candidates: list[Melody]) -> list[int]:
    """Compares how many notes there are.

    And nothing else.
    """
    return [abs(len(query) - len(each)) for each in candidates]


def expected(query: Melody = TUNES[0]) -> list[float]:
    return [float(abs(len(query) - len(each))) for each in TUNES]


def test_one_line_makes_a_matcher_of_a_function() -> None:
    chosen = matcher(lengths)
    assert repr(chosen) == "lengths"
    assert chosen.summary == "Compares how many notes there are."
    assert chosen.reference.startswith("the function lengths of ")
    assert chosen.distances(TUNES[0], TUNES).tolist() == expected()
    assert chosen.distances(TUNES[0], TUNES).dtype == np.float64
    assert chosen == matcher(lengths)
    assert hash(chosen) == hash(matcher(lengths))
    assert chosen != matcher(lengths, name="others")
    assert pickle.loads(pickle.dumps(chosen)) == chosen
    assert "lengths" not in matchers()


def test_functions_without_a_name_of_their_own() -> None:
    assert repr(matcher(lambda query, candidates: [0.0] * len(candidates))) == "lambda"
    assert repr(matcher(functools.partial(lengths))) == "partial"
    named = matcher(lambda query, candidates: [0.0] * len(candidates), name="nothing")
    assert repr(named) == "nothing"
    assert named.summary.startswith("The function <lambda> of ")


def test_the_function_gets_melodies_with_notes_and_bar_lines_and_nothing_else(tmp_path: Path) -> None:
    seen: list[list[Melody]] = []

    def look(query: Melody, candidates: list[Melody]) -> list[float]:
        assert query is TUNES[3]
        seen.append(candidates)
        return [0.0] * len(candidates)

    bare = [Melody(tune.notes, barlines_ticks=tune.barlines_ticks) for tune in TUNES]
    matcher(look).distances(TUNES[3], TUNES)
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        matcher(look).distances(TUNES[3], collection)
    assert [type(each) for each in seen] == [list, list]
    assert seen[0] == bare
    assert [each.notes["pitch_midi"].tolist() for each in seen[1]] == [
        each.notes["pitch_midi"].tolist() for each in bare
    ]
    assert all(each.id is each.title is None for each in seen[1])
    with pytest.raises(ValueError, match="read-only"):
        seen[0][0].notes["pitch_midi"][0] = 3


def test_all_candidates_come_at_once_unless_the_function_looks_at_each_alone(tmp_path: Path) -> None:
    calls: list[int] = []

    def count(query: Melody, candidates: list[Melody]) -> Any:
        calls.append(len(candidates))
        return lengths(query, candidates)

    def alone(query: Melody, candidates: list[Melody]) -> Any:
        return count(query, candidates)

    alone.is_independent = True  # type: ignore[attr-defined]
    assert (matcher(count).is_independent, matcher(alone).is_independent) == (False, True)
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection, pytest.MonkeyPatch.context() as patch:
        patch.setattr("roslin.search.refine.COMPARED_AT_ONCE", 7)
        found = [collection.search(TUNES[0], matcher(each), 40, threads=2) for each in (count, alone)]
    assert calls[0] == 40
    assert sorted(calls[1:]) == [5, 7, 7, 7, 7, 7]
    assert found[0].ids == found[1].ids
    assert sorted(hit.distance for hit in found[0]) == sorted(expected())


def test_in_a_search_and_among_others(tmp_path: Path) -> None:
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        run = collection.search(TUNES[0], lengths, 3)  # type: ignore[arg-type]
        assert [hit.distance for hit in run] == sorted(expected())[:3]
        assert len(collection.search(TUNES[0], fuse("dp", matcher(lengths)), 3)) == 3


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"two matchers are called 'emd': EMD of roslin\.\S+ and lengths of tests\."
    ):
        matcher(lengths, name="emd")
    with pytest.raises(ArgumentError, match=r"the name of a matcher must be a word .*; got 'two words'"):
        matcher(lengths, name="two words")


def test_a_function_with_other_arguments_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"must take a query and a list of candidates to be a matcher; got expected\("
    ):
        matcher(expected)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"a matcher must be a name, such as 'dp'; got <class '\S*Melody'>"):
        matcher(Melody)  # type: ignore[arg-type]


@pytest.mark.usefixtures("registries")
def test_registered_it_is_known_by_name() -> None:
    assert register_matcher(lengths) is lengths
    assert "lengths" in matchers()
    assert matcher("lengths") == matcher(lengths)
    assert MATCHERS.origin("lengths") == "tests"

    @register_matcher(name="half", summary="Half of it.", reference="me")
    def halved(query: Melody, candidates: list[Melody]) -> Any:
        return np.array(lengths(query, candidates)) / 2

    assert (matcher("half").summary, matcher("half").reference) == ("Half of it.", "me")
    assert matcher("half").distances(TUNES[0], TUNES).tolist() == [value / 2 for value in expected()]
    assert halved(TUNES[0], [TUNES[0]]).tolist() == [0]
    with pytest.raises(ArgumentError, match="name, summary and reference can be given for a function"):
        register_matcher(DP, name="other")
    with pytest.raises(ArgumentError, match="a matcher must be a class made from Matcher; got 3"):
        register_matcher(3)


# -- what any matcher must give ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([1.0, 2.0], "2"),
        ([[1.0, 2.0, 3.0]], r"an array of shape \(1, 3\)"),
        (3.0, r"3\.0"),
        (None, "None"),
        ("abc", "'abc'"),
        ([1.0, float("nan"), float("nan")], "NaN for number 2"),
        ([1.0, 2.0, -float("inf")], "minus infinity for number 3"),
        (["a", "b", "c"], r"text, such as .*'a'\)?"),
        ([True, False, True], r"True and False, such as .*True.*"),
        ([None, 1.0, 2.0], "things that are no numbers, such as None"),
        ([1j, 2j, 3j], "complex numbers, such as .*1j.*"),
        ([[1.0], [2.0, 3.0], []], r"\[\[1\.0\], \[2\.0, 3\.0\], \[\]\]"),
    ],
)
def test_what_is_not_one_number_for_each_candidate_is_refused(given: Any, got: str) -> None:
    chosen = matcher(lambda query, candidates: given, name="wrong")
    message = f"^the matcher wrong must give 3 distances, one for each candidate; got {got}$"
    with pytest.raises(PluginError, match=message):
        chosen.distances(TUNES[0], TUNES[:3])


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda values: np.array(values, dtype=np.int16)])
def test_any_kind_of_numbers_will_do(make: Callable[[list[int]], Any]) -> None:
    chosen = matcher(lambda query, candidates: make([3, 1, 2]), name="right")
    found = chosen.distances(TUNES[0], TUNES[:3])
    assert found.tolist() == [3.0, 1.0, 2.0]
    assert found.dtype == np.float64
    nothing = matcher(lambda query, candidates: [], name="nothing")
    assert nothing.distances(TUNES[0], []).shape == (0,)


def test_an_error_in_a_function_says_where() -> None:
    def fails(query: Melody, candidates: list[Melody]) -> Any:
        return [1 / len(query.title) for _ in candidates]  # type: ignore[arg-type]

    with pytest.raises(
        PluginError, match=r"^the matcher fails fails: test_function\.py:\d+: TypeError: object of type"
    ):
        matcher(fails).distances(Melody.from_notes([0], [1], [60]), TUNES)

    def refuses(query: Melody, candidates: list[Melody]) -> Any:
        raise MelodyError("not this one")

    with pytest.raises(MelodyError, match=r"^not this one$"):
        matcher(refuses).distances(TUNES[0], TUNES)


def test_an_error_of_our_own_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DP, "_distances", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        DP().distances(TUNES[0], TUNES)


def test_what_is_at_infinity_is_in_no_list(tmp_path: Path) -> None:
    def shorter(query: Melody, candidates: list[Melody]) -> list[float]:
        return [len(each) if len(each) <= len(query) else float("inf") for each in candidates]

    chosen = matcher(shorter)
    assert np.isinf(chosen.distances(TUNES[0], TUNES)).any()
    few = sum(len(each) <= len(TUNES[0]) for each in TUNES)
    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        for k in (1, few, few + 1, 40):
            run = collection.search(TUNES[0], chosen, k)
            assert len(run) == min(k, few)
            assert all(np.isfinite(hit.distance) for hit in run)
        # In a fusion it is as far as the farthest.
        assert len(collection.search(TUNES[0], fuse(chosen, "dp"), 40)) == 40


def test_a_class_made_from_a_matcher_with_a_shortcut_is_asked_itself(tmp_path: Path) -> None:
    class Opposite(EMD):
        def _distances(self, query: Melody, candidates: Any) -> Any:
            return 10.0 - super()._distances(query, candidates)

    with Collection.build(TUNES, tmp_path / "x.roslin") as collection:
        run = collection.search(TUNES[0], Opposite(), 3)
        assert [hit.distance for hit in run] == sorted(Opposite().distances(TUNES[0], TUNES).tolist())[:3]

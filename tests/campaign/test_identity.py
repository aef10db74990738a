"""A finished list is that of the code that made it: changed code is asked again, of unseen code nothing is kept."""

from __future__ import annotations

import functools
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import roslin
from roslin import Collection, Melody, load_plugin, matcher, run_campaign
from roslin.campaign.asking import code_checksum
from roslin.matchers import DP, fuse
from roslin.starter import truth_path, tunes_path
from roslin.truth import read_truth

pytestmark = pytest.mark.usefixtures("registries")

TRUTH = {"la-folia": read_truth(truth_path())["la-folia"]}
MINE = """
import numpy as np
import roslin
from roslin.matchers import Matcher
{more}

@roslin.register_matcher
class Mine(Matcher):
    name = "mine"
    summary = "For tests."
    reference = "none"

    def _distances(self, query, candidates):
        return np.arange(len(candidates)) * {factor}


@roslin.register_matcher
def plain(query, candidates):
    return {factor} * np.arange(len(candidates))
"""


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("identity") / "starter.roslin") as collection:
        yield collection


def plugin(folder: Path, factor: object, more: str = "") -> None:
    path = folder / "mine.py"
    path.write_text(MINE.format(factor=factor, more=more), encoding="utf-8")
    load_plugin(path)


def first(starter: Collection, chosen: Any, folder: Path) -> list[str]:
    campaign = run_campaign(starter, TRUTH, chosen, folder, k=3)
    return list(campaign.systems[0].run.ids)


def kept(folder: Path) -> int:
    with sqlite3.connect(folder / "finished.sqlite") as connection:
        found: int = connection.execute("SELECT count(*) FROM answers").fetchone()[0]
    connection.close()
    return found


@pytest.mark.parametrize("name", ["mine", "plain", "fuse(mine, dp, weights=(1, 0))"])
def test_a_matcher_that_changed_its_code_is_asked_again(starter: Collection, tmp_path: Path, name: str) -> None:
    plugin(tmp_path, 1)
    before = first(starter, name, tmp_path / "campaign")
    plugin(tmp_path, -1)
    after = first(starter, name, tmp_path / "campaign")
    assert before != after
    assert kept(tmp_path / "campaign") == 2
    plugin(tmp_path, 1)
    assert first(starter, name, tmp_path / "campaign") == before
    assert kept(tmp_path / "campaign") == 2


def test_what_has_no_source_is_asked_every_time(starter: Collection, tmp_path: Path) -> None:
    sign = [1]
    made: dict[str, Any] = {"sign": sign}
    exec("def typed(query, candidates): return [sign[0] * k for k in range(len(candidates))]", made)
    before = first(starter, made["typed"], tmp_path / "campaign")
    sign[0] = -1
    after = first(starter, made["typed"], tmp_path / "campaign")
    assert before != after
    assert kept(tmp_path / "campaign") == 0


# -- what the checksum sees -------------------------------------------------------------------------------------------


def zero(query: Melody, candidates: list[Melody]) -> list[float]:
    return [0.0] * len(candidates)


def shifted(by: object) -> Callable[..., list[float]]:
    def compare(query: Melody, candidates: list[Melody], more: object = None) -> list[float]:
        return [float(str(by) == str(more)) for _ in candidates]

    return compare


def test_our_own_matchers_are_in_the_checksum_of_the_program() -> None:
    assert code_checksum(DP()) == code_checksum(matcher("roslin")) == code_checksum(fuse("dp", "emd"))


def test_values_that_a_function_was_made_with() -> None:
    values = [1, 1, 2, "1", (1, "x")]
    found = [code_checksum(matcher(shifted(by), name=f"by-{number}")) for number, by in enumerate(values)]
    assert found[0] == found[1]
    assert len(set(found)) == 4
    assert None not in found
    assert code_checksum(matcher(shifted(zero), name="f")) not in (None, code_checksum(matcher(zero)))
    assert code_checksum(matcher(shifted(DP()), name="g")) != code_checksum(matcher(shifted(DP("inside")), name="h"))
    assert code_checksum(matcher(shifted(DP), name="k")) is not None
    assert code_checksum(matcher(shifted(sys.modules[__name__]), name="l")) is not None
    parts = [functools.partial(shifted(1), more=more) for more in (1, 1, 2)]
    one, same, other = (code_checksum(matcher(part, name=f"part-{k}")) for k, part in enumerate(parts))
    assert one == same != other


class Compiled:
    """What a compiler such as Numba makes of a function."""

    def __init__(self, function: Any):
        self.__wrapped__ = function

    def __call__(self, *given: Any) -> Any:
        return self.__wrapped__(*given)


Compiled.__module__ = "numba.core.registry"


def test_wrapped_functions() -> None:
    def louder(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(query: Melody, candidates: list[Melody]) -> Any:
            return [2 * value for value in function(query, candidates)]

        return wrapper

    one, two = louder(zero), louder(shifted(3))
    found = {code_checksum(matcher(each, name=f"w{k}")) for k, each in enumerate((zero, one, two, louder(one)))}
    assert len(found) == 4
    assert None not in found
    cached: Any = functools.cache(zero)
    assert code_checksum(matcher(cached, name="cached")) == code_checksum(matcher(zero))
    compiled = Compiled(zero)
    assert code_checksum(matcher(compiled, name="compiled")) == code_checksum(matcher(zero))


class Counter:
    """Something with a state that nobody sees."""

    def __call__(self, query: Melody, candidates: list[Melody]) -> list[float]:
        return [0.0] * len(candidates)

    def compare(self, query: Melody, candidates: list[Melody]) -> list[float]:
        return [0.0] * len(candidates)


@pytest.mark.parametrize(
    "function",
    [Counter(), Counter().compare, shifted(Counter()), shifted({1: 2})],
    ids=["object", "method", "holds an object", "holds a dict"],
)
def test_a_state_that_nobody_sees(function: Any) -> None:
    assert code_checksum(matcher(function, name="unseen")) is None
    assert code_checksum(fuse("dp", matcher(function, name="unseen"))) is None


def test_a_function_that_calls_itself_or_does_not_know_all_yet() -> None:
    def again(query: Melody, candidates: list[Melody]) -> list[float]:
        return again(query, candidates[:-1]) if len(candidates) > 1 else [0.0]

    assert code_checksum(matcher(again)) is not None

    def early(query: Melody, candidates: list[Melody]) -> list[float]:
        return [late] * len(candidates)

    assert code_checksum(matcher(early)) is None
    late = 0.0
    assert code_checksum(matcher(early)) is not None


def test_a_class_typed_into_a_session() -> None:
    made: dict[str, Any] = {"__name__": "typed_in"}
    exec("from roslin.matchers import DP\nclass Typed(DP):\n    name = 'typed'\n", made)
    assert code_checksum(made["Typed"]()) is None
    made["Typed"].__module__ = __name__  # a module with a file, in which it does not stand
    assert code_checksum(made["Typed"]()) is None


def test_what_is_imported_from_beside_counts_and_strangers_do_not(tmp_path: Path) -> None:
    beside = tmp_path / "beside_mine.py"
    stranger = tmp_path / "site-packages" / "stranger_of_mine.py"
    stranger.parent.mkdir()
    sys.path.append(str(stranger.parent))
    for file in (beside, stranger):
        file.write_text("X = 1\n\ndef helper(): return 3\n")
    plugin(tmp_path, 1, "from beside_mine import helper\nimport json, numpy, stranger_of_mine")
    chosen = roslin.matcher("mine")
    before = code_checksum(chosen)
    assert before is not None
    stranger.write_text("X = 2\n")
    assert code_checksum(chosen) == before
    beside.write_text("X = 2\n\ndef helper(): return 3\n")
    assert code_checksum(chosen) not in (None, before)

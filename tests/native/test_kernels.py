"""Calls of kernels: what they take, what they refuse, and that headers, libraries and callers agree."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from tests.native.conftest import kernels_of, loaded

from roslin.native import build, kernels

ROOT = Path(__file__).parents[2]


class Tune(NamedTuple):
    times: npt.NDArray[np.float64]
    table: npt.NDArray[np.int8]
    weight: float


class Pair(NamedTuple):
    inner: Tune
    more: int


def tune(notes: int = 3) -> Tune:
    return Tune(np.arange(notes + 1.0), np.zeros((2, notes), np.int8), 0.5)


# -- what is taken ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_sizes_are_read_off_the_arrays(sample: ModuleType) -> None:
    assert sample.sum_of(np.array([1.0, 2.0, 4.0])) == 7.0
    table = np.empty((2, 3))
    assert sample.fill(table, 10) is None
    assert table.tolist() == [[10, 11, 12], [13, 14, 15]]
    assert sample.spans(np.zeros(4, np.int64), np.zeros(6, np.int64), np.zeros(3, np.int64)) == 3


@pytest.mark.long
def test_arrays_may_be_empty(sample: ModuleType) -> None:
    assert sample.sum_of(np.empty(0)) == 0.0
    assert sample.spans(np.zeros(1, np.int64), np.empty(0, np.int64), np.zeros(3, np.int64)) == 0


def test_arrays_that_are_only_read_may_be_read_only_or_mapped(sample: ModuleType, tmp_path: Path) -> None:
    values = np.array([1.0, 2.0])
    values.flags.writeable = False
    assert sample.sum_of(values) == 3.0
    np.array([1.0, 2.0, 4.0]).tofile(tmp_path / "values")
    mapped = np.memmap(tmp_path / "values", np.float64, "r")
    assert sample.sum_of(mapped) == 7.0
    assert sample.sum_of(mapped[1:]) == 6.0


def test_a_named_tuple_is_a_struct_and_its_sizes_are_sizes_of_the_call(sample: ModuleType) -> None:
    assert sample.sum_of_tune(tune(), np.array([10, 20, 30]), -1) == 3 + 0.5 + 60 - 1
    with pytest.raises(
        ValueError, match=r"scores must have shape \[query->notes\] with .*query->notes = 3.*got \(2,\)"
    ):
        sample.sum_of_tune(tune(), np.array([10, 20]), 0)


def test_structs_may_hold_others(sample: ModuleType) -> None:
    assert sample.sum_of_pair(Pair(tune(5), 7)) == 12.0


def test_the_arrays_of_a_struct_are_checked_like_all_others(sample: ModuleType) -> None:
    with pytest.raises(TypeError, match="tune: table must be int8, got int64"):
        sample.sum_of_pair(Pair(tune()._replace(table=np.zeros((2, 3), np.int64)), 0))
    with pytest.raises(
        ValueError, match=r"tune: table must have shape \[kinds\]\[notes\] with notes = 3.*got \(2, 4\)"
    ):
        sample.sum_of_pair(Pair(tune()._replace(table=np.zeros((2, 4), np.int8)), 0))
    with pytest.raises(AttributeError, match="weight"):
        sample.sum_of_pair(Pair(type("Other", (), {"times": np.zeros(1), "table": np.zeros((1, 0), np.int8)})(), 0))


def test_arrays_that_only_a_struct_holds_live_until_the_call_is_over(sample: ModuleType) -> None:
    made: list[weakref.ref[Any]] = []

    class Lazy:
        weight = 0.25
        table = np.zeros((2, 3), np.int8)

        @property
        def times(self) -> npt.NDArray[np.float64]:
            times = np.arange(4.0)
            made.append(weakref.ref(times))
            return times

    lazy: Any = Lazy()
    arguments, _ = sample.sum_of_pair._plan.arguments((Pair(lazy, 1),))
    assert made[0]() is not None
    del arguments


def test_a_row_of_a_table_is_a_packed_struct(sample: ModuleType) -> None:
    rows = np.array([(False, 3), (True, 5), (False, 9)], [("is_grace", np.bool_), ("onset", np.int64)])
    assert sample.sum_of_rows(rows) == 12
    with pytest.raises(TypeError, match=r"notes must be .*onset.*got int64"):
        sample.sum_of_rows(np.zeros(3, np.int64))


def test_results_and_names(sample: ModuleType) -> None:
    assert sample.takes_memory(True) is None
    assert repr(sample.sum_of) == "<kernel sum_of>"
    assert sample.sum_of.__doc__ == sample.documentation("sum_of")
    assert "The sum of all values." in sample.documentation("sum_of")
    assert "spans" in sample.names()


# -- what is refused --------------------------------------------------------------------------------------------------


def refused(given: Any, expected: type[Exception], message: str) -> Any:
    return pytest.param(given, expected, message, id=message)


@pytest.mark.parametrize(
    ("given", "expected", "message"),
    [
        refused([1.0, 2.0], TypeError, "sum_of: values must be an array of 1 dimensions"),
        refused(np.float64(1.0), TypeError, "sum_of: values must be an array of 1 dimensions"),
        refused(np.zeros((2, 2)), TypeError, "sum_of: values must be an array of 1 dimensions"),
        refused(np.zeros(2, np.float32), TypeError, "sum_of: values must be float64, got float32"),
        refused(np.zeros(2, ">f8"), TypeError, "sum_of: values must be float64, got >f8"),
        refused(np.zeros(8)[::2], TypeError, "sum_of: values must be contiguous"),
    ],
)
def test_arrays_that_c_would_read_wrongly(
    sample: ModuleType, given: Any, expected: type[Exception], message: str
) -> None:
    with pytest.raises(expected, match=message):
        sample.sum_of(given)


def test_what_is_written_to_must_not_be_read_only(sample: ModuleType) -> None:
    table = np.zeros((2, 2))
    table.flags.writeable = False
    with pytest.raises(TypeError, match="fill: table is written to, but is read-only"):
        sample.fill(table, 0)


def test_columns_in_the_order_of_fortran(sample: ModuleType) -> None:
    with pytest.raises(TypeError, match="table must be contiguous"):
        sample.fill(np.zeros((2, 3), order="F"), 0)


@pytest.mark.parametrize(("ends", "both", "three"), [(4, 5, 3), (4, 6, 2), (3, 6, 3)])
def test_shapes_that_do_not_fit_together(sample: ModuleType, ends: int, both: int, three: int) -> None:
    with pytest.raises(ValueError, match=r"spans: (both|three) must have shape \[.*\] with n = [23]; got"):
        sample.spans(*(np.zeros(size, np.int64) for size in (ends, both, three)))


def test_an_array_of_n_more_than_nothing_has_an_element(sample: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"spans: n cannot be -1|must have shape"):
        sample.spans(np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(3, np.int64))


def test_whole_numbers_are_whole_and_in_range(sample: ModuleType) -> None:
    with pytest.raises(TypeError, match="float"):
        sample.fill(np.zeros((1, 1)), 0.5)
    with pytest.raises(
        OverflowError, match=r"fill: first must be from .* to 9223372036854775807, got 9223372036854775808"
    ):
        sample.fill(np.zeros((1, 1)), 2**63)
    with pytest.raises(OverflowError, match="sum_of_tune: more must be from -128 to 127, got 128"):
        sample.sum_of_tune(tune(0), np.empty(0, np.int64), 128)


def test_the_number_of_arguments(sample: ModuleType) -> None:
    with pytest.raises(TypeError, match="fill takes table, first; got 1 arguments"):
        sample.fill(np.zeros((1, 1)))


def test_no_memory(sample: ModuleType) -> None:
    with pytest.raises(MemoryError, match="no memory for takes_memory"):
        sample.takes_memory(False)


def test_unknown_kernels(sample: ModuleType) -> None:
    with pytest.raises(AttributeError, match="there is no kernel 'sum_off'"):
        _ = sample.sum_off
    with pytest.raises(AttributeError, match="there is no kernel 'nothing'"):
        _ = kernels.nothing


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("void wrong(int64_t n, double *values);", "wrong: values needs a shape"),
        ("void wrong(size_t n);", "wrong: size_t is no type that kernels take"),
        ("void wrong(grace_row row);", "wrong: grace_row is no type that kernels take"),
        ("void wrong(int64_t (*rows)[3]);", "wrong: .* is no parameter that kernels take"),
        ("typedef struct {\n    double *a;\n} wrong;\nvoid f(const wrong *of);", "wrong: a needs a shape"),
        (
            "typedef struct {\n    int64_t a; int64_t b;\n} wrong;\nvoid f(const wrong *of);",
            "wrong: a field must be alone",
        ),
    ],
)
def test_declarations_that_are_not_understood(
    make_family: Callable[[str], ModuleType], line: str, message: str
) -> None:
    own = make_family("own")
    (own.SOURCES / "wrong.h").write_text(f"{line}\n", "utf-8")
    own_kernels = kernels_of(own)
    with pytest.raises(own_kernels.KernelError, match=message):
        own_kernels.names()


# -- libraries --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_an_instruction_set_can_be_chosen(make_family: Callable[[str], ModuleType], monkeypatch: Any) -> None:
    own = make_family("own")
    monkeypatch.setenv("ROSLIN_KERNELS", "plain")
    assert kernels_of(own).level() == "plain"
    monkeypatch.setenv("ROSLIN_KERNELS", "")
    newest = kernels_of(own)
    assert newest.level() in build.levels()
    assert newest.sum_of(np.array([2.0])) == 2.0
    monkeypatch.setenv("ROSLIN_KERNELS", "mmx")
    with pytest.raises(Exception, match=r"ROSLIN_KERNELS must be one of plain.*, got 'mmx'"):
        kernels_of(own).level()


@pytest.mark.long
def test_an_instruction_set_that_the_processor_lacks(
    make_family: Callable[[str], ModuleType], monkeypatch: Any
) -> None:
    own, levels = make_family("own"), {**build.levels(), "future": list[str]()}
    monkeypatch.setattr(own, "levels", lambda _target="": levels)
    monkeypatch.setenv("ROSLIN_KERNELS", "future")
    with pytest.raises(Exception, match="ROSLIN_KERNELS: this processor has no future; it has plain"):
        kernels_of(own).level()


def test_a_library_that_is_missing_or_broken(make_family: Callable[[str], ModuleType]) -> None:
    own = make_family("own")
    for path in own.SOURCES.glob("*.c"):
        path.unlink()  # as in an installed wheel
    with pytest.raises(Exception, match=r"the compiled kernels cannot be loaded .*reinstall roslin"):
        kernels_of(own).level()


def test_sources_that_cannot_be_compiled(make_family: Callable[[str], ModuleType]) -> None:
    own = make_family("own")
    (own.SOURCES / "sample.c").write_text("int nothing(", "utf-8")
    with pytest.raises(Exception, match=r"(?s)the kernels cannot be compiled: .*sample.c.*error"):
        kernels_of(own).level()


def test_all_instruction_sets_of_this_processor_have_all_kernels() -> None:
    simplest = kernels.level()
    for level in list(build.levels())[: list(build.levels()).index(simplest) + 1]:
        text = build.library(level).read_bytes()
        assert [name for name in kernels.names() if name.encode() not in text] == []


# -- headers, and those who call --------------------------------------------------------------------------------------


def test_no_declaration_of_a_header_is_overlooked() -> None:
    declaration = re.compile(r"^(?!static|extern|typedef|_Static_assert)\w[^;{}()]*?(\w+)\([^;{}]*\)\s*;", re.MULTILINE)
    seen = [name for path in build.SOURCES.glob("*.h") for name in declaration.findall(path.read_text("utf-8"))]
    assert sorted(seen) == kernels.names()


def test_every_kernel_has_a_comment() -> None:
    assert [name for name in kernels.names() if not kernels.documentation(name).startswith("//")] == []


def test_every_kernel_is_called_and_every_call_has_a_kernel() -> None:
    texts = [
        path.read_text("utf-8")
        for room in ("src", "tools", "benchmarks", "tests")
        for path in (ROOT / room).rglob("*.py")
    ]
    callers = [text for text in texts if re.search(r"^\s*from roslin\.native import .*\bkernels\b", text, re.MULTILINE)]
    called = {name for text in callers for name in re.findall(r"(?<![\w.])kernels\.(\w+)", text)}
    assert sorted(called - {name for name in called if hasattr(kernels, name)} - {"nothing"}) == []
    assert sorted(set(kernels.names()) - called - {"processor_level"}) == []


def test_the_module_that_compiles_needs_nothing_of_roslin() -> None:
    assert "roslin" not in re.findall(
        r"^\s*(?:from|import) (\w+)", Path(build.__file__).read_text("utf-8"), re.MULTILINE
    )
    assert loaded(Path(build.__file__)).levels("aarch64-macos").keys() == {"plain", "neon"}

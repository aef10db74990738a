"""The tolerances of Python and of the kernels are the same numbers, and each is larger than the one before."""

from __future__ import annotations

import re
from pathlib import Path

from roslin import tolerances
from roslin.native import build

HEADER = Path(build.__file__).with_name("tolerances.h").read_text(encoding="utf-8")


def test_python_and_the_kernels_have_the_same_tolerances() -> None:
    in_kernels = {
        name: float(value) for name, value in re.findall(r"^#define ([A-Z_]+) (1e\S+)$", HEADER, re.MULTILINE)
    }
    in_python = {name: value for name, value in vars(tolerances).items() if name.isupper()}
    assert in_kernels.pop("REORDERED_PARTS") * in_python.pop("REORDERED") == 1
    assert in_python.items() <= in_kernels.items()
    assert in_python


def test_tolerances_grow() -> None:
    values = [float(value) for value in re.findall(r"^#define [A-Z_]+ (1e-\S+)$", HEADER, re.MULTILINE)]
    assert values == sorted(values)
    assert len(values) > 5

"""A small family of kernels of its own: the build and the calls are tested with it, as they are used for all others."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from roslin.native import build

_HEADER = """\
#include "common.h"

typedef struct {
    int64_t notes, kinds;
    const double *times; // [notes + 1]
    const int8_t *table; // [kinds][notes]
    double weight;
} tune;

typedef struct {
    const tune *inner;
    int64_t more;
} pair;

typedef struct __attribute__((packed)) {
    bool is_grace;
    int64_t onset;
} grace_row;

// The sum of all values.
double sum_of(int64_t n, const double values[n]);

// Fill a table with its places, counted from `first`.
void fill(int64_t rows, int64_t columns, double table[rows][columns], int64_t first);

// The sum of the last time of a tune, its weight, the scores and `more`.
double sum_of_tune(const tune *query, const int64_t scores[query->notes], int8_t more);

// The sum of the last time of the inner tune and `more`.
double sum_of_pair(const pair *both);

// False, as where there is no memory, unless `answer` is true.
bool takes_memory(bool answer);

// The sum of the onsets that are not graces.
int64_t sum_of_rows(int64_t rows, const grace_row notes[rows]);

// The number of spans.
int64_t spans(int64_t n, const int64_t ends[n + 1], const int64_t both[2 * n], const int64_t three[3]);
"""

_SOURCE = """\
#include "sample.h"

double sum_of(int64_t n, const double values[n]) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += values[i];
    return sum;
}

void fill(int64_t rows, int64_t columns, double table[rows][columns], int64_t first) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) table[i][j] = (double)(first + i * columns + j);
}

double sum_of_tune(const tune *query, const int64_t scores[query->notes], int8_t more) {
    double sum = query->times[query->notes] + query->weight + more;
    for (int64_t i = 0; i < query->notes; i++) sum += (double)scores[i];
    return sum;
}

double sum_of_pair(const pair *both) { return both->inner->times[both->inner->notes] + (double)both->more; }

bool takes_memory(bool answer) { return answer; }

int64_t sum_of_rows(int64_t rows, const grace_row notes[rows]) {
    int64_t sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += notes[i].is_grace ? 0 : notes[i].onset;
    return sum;
}

int64_t spans(int64_t n, const int64_t ends[n + 1], const int64_t both[2 * n], const int64_t three[3]) {
    return n + 0 * (ends[0] + three[0] + (n ? both[0] : 0));
}
"""


def loaded(path: Path) -> ModuleType:
    """A module from a file, apart from the one that Roslin uses."""
    spec = importlib.util.spec_from_file_location(f"tests_native_{path.stem}_{abs(hash(path))}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def kernels_of(own_build: ModuleType) -> ModuleType:
    """The calls, with kernels from another folder than Roslin's."""
    kernels = loaded(build.SOURCES / "kernels.py")
    vars(kernels)["build"] = own_build
    return kernels


def _make_family(folder: Path) -> ModuleType:
    folder.mkdir()
    for name in ("build.py", "common.c", "common.h", "tolerances.h"):
        shutil.copy(build.SOURCES / name, folder)
    (folder / "sample.h").write_text(_HEADER, "utf-8")
    (folder / "sample.c").write_text(_SOURCE, "utf-8")
    return loaded(folder / "build.py")


@pytest.fixture
def make_family(tmp_path: Path) -> Callable[[str], ModuleType]:
    """A folder with the sample family, not compiled yet: its `build` module."""
    return lambda name: _make_family(tmp_path / name)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The compiled sample family."""
    return kernels_of(_make_family(tmp_path_factory.mktemp("native") / "sample"))

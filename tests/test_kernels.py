"""The decorator of all kernels: what is kept on disk is used as long as no source changes, and never longer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba.core.caching
import pytest

from roslin import kernels
from roslin.kernels import kernel, stamp_of

# A small Roslin with a kernel of its own, and a plug-in of two kernel files and a file of numbers.
FILES = {
    "roslin/__init__.py": "",
    "roslin/_own.py": "from roslin.kernels import kernel\n@kernel\ndef own(x):\n    return x + 1\n",
    "roslin/other.py": "TEXT = 'one'\n",
    "plugin/__init__.py": "",
    "plugin/numbers.py": "FACTOR = 10\n",
    "plugin/inner.py": (
        "from plugin.numbers import FACTOR\nfrom roslin.kernels import kernel\n"
        "@kernel\ndef inner(x):\n    return FACTOR * x\n"
    ),
    "plugin/outer.py": (
        "from plugin.inner import inner\nfrom roslin._own import own\nfrom roslin.kernels import kernel\n"
        "@kernel\ndef outer(x):\n    return inner(own(x))\n"
    ),
}
RUN = "from plugin.outer import outer; print(outer(3), sum(outer.stats.cache_hits.values()), outer.stats.cache_path)"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    shutil.copy(kernels.__file__, tmp_path / "roslin" / "kernels.py")
    return tmp_path


def run(tree: Path) -> tuple[int, int, str]:
    """(result, kernels that were found compiled, where) in a new process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    environment |= {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(tree / "home")}
    done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result, hits, place = done.stdout.split()
    return int(result), int(hits), place


def test_what_did_not_change_is_not_compiled_again(tree: Path) -> None:
    assert run(tree) == (40, 0, str(tree / "plugin" / "__pycache__"))
    assert run(tree)[:2] == (40, 1)
    (tree / "roslin" / "other.py").write_text("TEXT = 'two'\n")  # no kernel can know of it
    os.utime(tree / "plugin" / "inner.py")  # says the same as before
    assert run(tree)[:2] == (40, 1)


@pytest.mark.parametrize(
    ("name", "old", "new", "result"),
    [
        ("plugin/inner.py", "FACTOR * x", "FACTOR + x", 14),
        ("plugin/numbers.py", "10", "20", 80),
        ("roslin/_own.py", "x + 1", "x + 2", 50),
        ("plugin/outer.py", "inner(own(x))", "own(inner(x))", 31),
    ],
)
def test_a_change_in_any_kernel_file_is_seen(tree: Path, name: str, old: str, new: str, result: int) -> None:
    before = (tree / name).read_text()
    assert old in before
    assert run(tree)[0] == 40
    (tree / name).write_text(before.replace(old, new))
    assert run(tree)[:2] == (result, 0)
    assert run(tree)[:2] == (result, 1)


# A kernel with what the rest of the kernels have: new arrays, a sum that NumPy has, and an error.
SUM = """
import numpy as np
from roslin.kernels import kernel

@kernel
def total(values):
    if len(values) == 0:
        raise ValueError("no values")
    return np.sort(values.copy()).sum()
"""
TOTAL = """
import sys
import numpy as np
from roslin._sum import total
CHANGE
print(total(np.array([2.0, 3.0])), sum(total.stats.cache_hits.values()), "numba.np.arraymath" in sys.modules)
try:
    total(np.zeros(0))
except ValueError as error:
    print(error)
print(total(np.array([2, 3])), sum(total.stats.cache_hits.values()))
"""
WITHOUT_THE_QUICK_WAY = """
from numba.core.runtime import nrt
real = nrt.rtsys.initialize
nrt.rtsys.initialize = lambda target: (setattr(nrt.rtsys, "initialize", real), 1 / 0)
"""


@pytest.mark.parametrize(("change", "has_compiler"), [("", "False"), (WITHOUT_THE_QUICK_WAY, "True")])
def test_what_is_kept_loads_without_the_compiler(tree: Path, change: str, has_compiler: str) -> None:
    (tree / "roslin" / "_sum.py").write_text(SUM)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    environment |= {"PYTHONPATH": str(tree)}

    def lines(program: str) -> list[str]:
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def total_of(kind: str) -> str:
        return f"import numpy as np; from roslin._sum import total; print(total(np.array([2, 3], {kind})))"

    assert lines(total_of("float")) == ["5.0"]
    # Floats are found; integers are not, and compile beside what was loaded.
    assert lines(TOTAL.replace("CHANGE", change)) == [f"5.0 1 {has_compiler}", "no values", "5 1"]
    assert lines(TOTAL.replace("CHANGE", change)) == [f"5.0 1 {has_compiler}", "no values", "5 2"]


def test_a_folder_that_cannot_be_written_to(tree: Path) -> None:
    (tree / "plugin" / "__pycache__").write_text("no folder")
    assert run(tree)[2].startswith(str(tree / "home"))
    assert run(tree)[:2] == (40, 1)


def test_the_stamp_of_a_plug_in_has_that_of_roslin_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = stamp_of("roslin.transport._kernels")
    assert own == stamp_of("roslin.matchers.edit._dp_kernels")
    assert stamp_of("alone") == own  # a file without a package: Numba looks at it anyway
    (tmp_path / "stamped").mkdir()
    (tmp_path / "stamped" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("stamped")
    assert stamp_of("stamped.inside").startswith(own + "/")


def test_options_pass_through() -> None:
    @kernel
    def plain(x: int) -> int:
        return x + 1

    @kernel(fastmath=True, inline="always")
    def quick(x: int) -> int:
        return x + 2

    assert (plain(1), quick(1)) == (2, 3)
    options = vars(quick)["targetoptions"]
    assert options["fastmath"] is True
    assert options["inline"] == "always"
    assert options["nogil"] is True
    assert vars(plain)["targetoptions"]["nogil"] is True


def test_where_there_is_no_file_nothing_is_kept() -> None:
    names: dict[str, object] = {"kernel": kernel, "__name__": "typed"}
    exec("@kernel\ndef typed(x):\n    return x + 1\n", names)
    typed = names["typed"]
    assert callable(typed)
    assert typed(1) == 2


@pytest.mark.parametrize("change", ["name", "part"])
def test_a_numba_that_keeps_kernels_otherwise(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    if change == "name":
        monkeypatch.delattr(numba.core.caching, "FunctionCache")
    else:
        monkeypatch.setattr(numba.core.caching, "FunctionCache", lambda function: object())
    kernels._warn_once.cache_clear()

    def add(x: int) -> int:
        return x + 1

    with pytest.warns(RuntimeWarning, match=r"kernels are compiled anew in every process: Numba .* in a way that"):
        compiled = kernel(add)
    assert compiled(1) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(add)(2) == 3  # one warning is enough

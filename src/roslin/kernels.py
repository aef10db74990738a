"""`kernel`: the one decorator of all compiled loops.

    @kernel
    def total(values): ...

    @kernel(inline="always", fastmath=True)
    def half(value): ...

It is Numba's `njit` with two options that every kernel has: the lock of the interpreter is released while the kernel
runs, so that threads work side by side; and what was compiled is kept on disk for the next process, in the place that
Numba chooses (`__pycache__` beside the file, or the user's own cache where that cannot be written to).

Numba keeps a compiled kernel until its own file changes. But other kernels, constants and tuples are compiled into it,
and these may stand in other files. So here what is kept has a stamp of all files that can matter, made from what they
say: those of the kernels of Roslin, and all of the package that the kernel belongs to, if that is another one. A change
in any of them, or a new version of either package, and everything is compiled again.

The kernels of Roslin, and every constant and tuple that they take from elsewhere, are in modules whose names begin with
an underscore. tests/test_architecture.py sees to that.

The stamp goes into a part of Numba that is not meant for others. Should a later Numba have changed it, kernels are not
kept at all, and a warning says so: every process then compiles what it needs, which is slow but never wrong.

Before Numba looks for what is kept, it prepares for compiling: it imports all that it knows of NumPy, and with it much
of SciPy. That takes longer than a small search. The kernels of Roslin are loaded without it, in 3 to 30 milliseconds
each; only what has to be compiled waits for it. Machine code needs nothing of that except what keys of dictionaries and
members of sets need, so the kernels of Roslin have neither. Those of others are loaded as Numba does.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, overload

import numba

__all__ = ["kernel", "stamp_of"]

Function = TypeVar("Function", bound=Callable[..., Any])

_ROSLIN = Path(__file__).parent


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...


def kernel(function: Function | None = None, /, **options: Any) -> Any:
    """A function compiled by Numba, without the interpreter's lock, and kept for the next process.

    `options` are those of `numba.njit`, such as `inline`, `fastmath` and `error_model`.
    """
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    compiled = numba.njit(nogil=True, **options)(function)
    if hasattr(compiled, "py_func"):  # not where compiling is switched off (NUMBA_DISABLE_JIT)
        _keep(compiled, function)
    return compiled


def _keep(compiled: Any, function: Callable[..., Any]) -> None:
    """Have a compiled function kept on disk, with the stamp of its package."""
    try:
        from numba.core.caching import FunctionCache, NullCache

        is_known = isinstance(compiled._cache, NullCache)
        stored: Any = FunctionCache(function)  # type: ignore[no-untyped-call]
        stamped = stored._cache_file
        stamped._source_stamp = (stamped._source_stamp, stamp_of(function.__module__))
        if _package(function.__module__) == __package__:
            _load_quickly(stored)
    except RuntimeError:
        return  # no file, or no folder that can be written to: Numba has no place for it
    except (AttributeError, ImportError, TypeError):
        is_known = False
    if is_known:
        compiled._cache = stored
    else:
        _warn_once()


def _load_quickly(stored: Any) -> None:
    """Have what is kept of a kernel loaded without the part of Numba that compiles."""
    as_numba_does, files = stored.load_overload, stored._cache_file

    def load(signature: Any, target: Any) -> Any:
        try:
            from numba.core.runtime.nrt import rtsys

            rtsys.initialize(target)
            return stored._load_overload(signature, target)
        except Exception:  # whatever a future Numba raises: its own way of loading decides
            vars(files).pop("_load_data", None)
            return as_numba_does(signature, target)

    def read(name: str) -> Any:
        with Path(files._data_path(name)).open("rb") as file:
            return _Unpickler(file).load()

    stored.load_overload, files._load_data = load, read


class _Unpickler(pickle.Unpickler):
    """Reads a kept kernel. It names the modules of Numba that its parts come from; they are not imported for that."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return partial(_environment, found) if name == "_rebuild_env" else found


def _environment(rebuild: Callable[..., Any], module: str, *rest: Any) -> Any:
    """The constants of a compiled function. Its module matters only where names are looked up while it runs: never."""
    is_needless = _package(module) == "numba" and module not in sys.modules
    return rebuild("numba" if is_needless else module, *rest)


@cache
def _warn_once() -> None:
    warnings.warn(
        f"kernels are compiled anew in every process: Numba {numba.__version__} keeps them in a way that Roslin does "
        "not know",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def stamp_of(module: str) -> str:
    """The stamp of the kernels of a module: of all sources whose change may change what is compiled.

    >>> stamp_of("roslin.transport._kernels") == stamp_of("roslin.truth._kernels")
    True
    """
    package = _package(module)
    stamps = [_stamp(_ROSLIN, "_*.py")]
    if package != __package__:
        stamps += [_stamp(Path(folder), "*.py") for folder in getattr(sys.modules.get(package), "__path__", [])]
    return "/".join(stamps)


def _package(module: str) -> str:
    return module.partition(".")[0]


@cache
def _stamp(folder: Path, pattern: str) -> str:
    """A hash of the names and contents of the Python files of a folder and of those inside it, and of this file."""
    total = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=16)
    for path in sorted(folder.rglob(pattern)):
        content = path.read_bytes()
        total.update(f"{path.relative_to(folder).as_posix()}\n{len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()

"""What a campaign has done so far, kept on disk: one row for each system and query, in a small SQLite file.

A row is written when its list is complete, in one transaction: a process killed at any moment loses the list that it
was working on, and no other. A row is found by a key made of everything that its list depends on, so a list is never
taken for that of another collection, parameter or version.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Self

from roslin.errors import CollectionError
from roslin.matchers import Matcher
from roslin.matchers.base import FunctionMatcher
from roslin.run import Ranking
from roslin.search.program import checksum

_TABLE = """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, system TEXT NOT NULL, query TEXT NOT NULL,
    ids TEXT NOT NULL, distances TEXT NOT NULL, is_cut_in_a_tie INTEGER NOT NULL, refusal TEXT NOT NULL,
    seconds REAL NOT NULL
)"""


class Finished:
    """Finished lists by key. Use as a context manager."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._connection = sqlite3.connect(path)
            # A commit needs no waiting for the disk: a power cut may cost the last answers, never the file.
            self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            self._connection.execute(_TABLE)
        except sqlite3.Error as error:
            raise CollectionError(f"{path}: cannot be used ({error}); remove it to begin the campaign again") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, key: str, query: str) -> Ranking | None:
        """The list under a key, if it is there."""
        row = self._connection.execute(
            "SELECT ids, distances, is_cut_in_a_tie, seconds, refusal FROM answers WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        ids, distances, is_cut, seconds, refusal = row
        return Ranking(query, tuple(json.loads(ids)), tuple(json.loads(distances)), seconds, refusal, bool(is_cut))

    def put(self, key: str, system: str, ranking: Ranking) -> None:
        """Keep a list. System and query are for people who look into the file."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    system,
                    ranking.query,
                    json.dumps(ranking.ids, ensure_ascii=False),
                    json.dumps(ranking.values),
                    ranking.is_cut_in_a_tie,
                    ranking.refusal,
                    ranking.seconds,
                ),
            )


# -- identity ----------------------------------------------------------------------------------------------------------
#
# Which code a matcher runs, as a checksum: so that a finished list is not taken for that of a matcher since changed.
#
# Roslin's own code is in the checksum of the program. For what somebody else wrote it is the source of the class or
# function, the files of their modules, and those of all modules that these import from beside them: from the same
# package, or from the same folder. What has no source, because it was typed into a session or made by `exec`, and what
# holds things that cannot be read in a source, such as the method of an object, may change unseen: it has no checksum.


_PLAIN = (bool, int, float, complex, str, bytes, type(None))
# What wraps a function without a will of its own: caches and compilers.
_TRANSPARENT = ("functools", "numba")
_INSTALLED = ("site-packages", "dist-packages")


class _UnseenCodeError(Exception):
    """Something that a distance may depend on has no source."""


def code_checksum(matcher: Matcher) -> str | None:
    """The checksum of all code of a matcher that is not Roslin's own, members too; None where that is not known."""
    try:
        return checksum(*_of_matcher(matcher))
    except _UnseenCodeError:
        return None


def _of_matcher(matcher: Matcher) -> Iterator[str]:
    if isinstance(matcher, FunctionMatcher):
        yield from _of_function(type(matcher).function, ())
    else:
        for kind in type(matcher).__mro__:
            yield from _of_class(kind)
    for value in matcher.parameters.values():
        for member in value if isinstance(value, tuple) else (value,):
            if isinstance(member, Matcher):
                yield from _of_matcher(member)


def _of_class(kind: type) -> Iterator[str]:
    if _is_settled(kind.__module__):
        return
    try:
        yield inspect.getsource(kind)
    except (OSError, TypeError):
        raise _UnseenCodeError from None
    yield from _of_module(kind.__module__)


def _of_function(function: Any, within: tuple[Any, ...]) -> Iterator[str]:
    """A function, all that it wraps, and the values that it was made with; `within` are those it was reached from."""
    if any(function is outer for outer in within):
        return
    inner = (*within, function)
    if isinstance(function, functools.partial):
        yield from _of_function(function.func, inner)
        yield from _of_values([*function.args, *sorted(function.keywords.items())], inner)
    elif isinstance(function, FunctionType):
        module = str(function.__globals__.get("__name__", ""))
        if _is_settled(module):
            return
        if not Path(function.__code__.co_filename).is_file():
            raise _UnseenCodeError
        try:
            source, held = inspect.getsource(function.__code__), inspect.getclosurevars(function).nonlocals
        except (OSError, ValueError):  # the file has changed beyond recognition; a value is not there yet
            raise _UnseenCodeError from None
        yield source
        yield from _of_module(module)
        yield from _of_values(held.values(), inner)
        yield from _of_values([*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())], inner)
    elif hasattr(function, "__wrapped__") and type(function).__module__.partition(".")[0] in _TRANSPARENT:
        yield from _of_function(function.__wrapped__, inner)
    else:
        raise _UnseenCodeError


def _of_values(values: Iterable[Any], within: tuple[Any, ...]) -> Iterator[str]:
    for value in values:
        if isinstance(value, _PLAIN):
            yield repr(value)
        elif isinstance(value, (tuple, list)):
            yield from _of_values(value, within)
        elif isinstance(value, Matcher):
            yield repr(value)
            yield from _of_matcher(value)
        elif isinstance(value, ModuleType):
            yield from _of_module(value.__name__)
        elif isinstance(value, type):
            yield from _of_class(value)
        else:
            yield from _of_function(value, within)


def _of_module(name: str) -> Iterator[str]:
    """The checksums of the file of a module, and of those that lie beside it and that it uses."""
    module = sys.modules.get(name)
    if _is_settled(name):
        return
    if module is None or not _file(module):
        raise _UnseenCodeError
    found, waiting, root = {name: module}, [module], _root(module)
    while waiting:
        for other in _used(waiting.pop()):
            if other.__name__ not in found and root and _is_below(root, other):
                found[other.__name__] = other
                waiting.append(other)
    for _, each in sorted(found.items()):
        file = _file(each)
        yield hashlib.sha256(file.read_bytes() if file else b"").hexdigest()


def _is_settled(module: str) -> bool:
    """Whether the checksum of the program, or the version of Python, says all about a module."""
    package = module.partition(".")[0]
    return package == "roslin" or (package in sys.stdlib_module_names and package != "__main__")


def _is_below(root: Path, module: ModuleType) -> bool:
    file = _file(module)
    if file is None or _is_settled(module.__name__) or not file.is_relative_to(root):
        return False
    return not set(_INSTALLED) & set(file.relative_to(root).parts)


def _file(module: ModuleType) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name) if name and Path(name).is_file() else None


def _root(module: ModuleType) -> Path | None:
    """The folder of the package, or else of the module, unless many strangers live there."""
    package = sys.modules.get(module.__name__.partition(".")[0])
    file = _file(package) if package is not None and hasattr(package, "__path__") else None
    folder = (file or _file(module) or Path()).parent
    return None if folder.name in _INSTALLED else folder


def _used(module: ModuleType) -> Iterator[ModuleType]:
    """The modules whose names, functions or classes a module has."""
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        other = sys.modules.get(name) if isinstance(name, str) else None
        if other is not None and other is not module:
            yield other

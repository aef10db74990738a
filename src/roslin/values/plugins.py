"""Plug-ins: matchers, metrics and formats from other authors.

A package announces them by entry point, in the groups `roslin.matchers`, `roslin.measures` and `roslin.formats`:

    [project.entry-points."roslin.matchers"]
    mine = "my_package.matchers:Mine"

The object is the class (or format) itself, a plain function where the registry takes one, or a module that registers
what it has when it is imported. A single file, which registers in the same way, is loaded with `load_plugin`, with
`--plugin` on the command line, or by the environment variable `ROSLIN_PLUGINS` (paths, separated as in PATH), which
worker processes inherit.

Packages and the files of the variable are loaded when a registry is first listed, or asked for a name that it does not
know. One that is broken is left out with a `PluginWarning`. A file that was asked for by name is refused with an error.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from roslin.errors import ArgumentError, PluginError, RoslinError
from roslin.values.parameters import Named, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import numpy as np
    import numpy.typing as npt

VARIABLE = "ROSLIN_PLUGINS"
_ROOT = Path(__file__).parents[1]
_PREFIX = "roslin_plugin_"  # of the modules that are made of files
_OWN = "roslin"

Result = TypeVar("Result")

_LOADING: ContextVar[str] = ContextVar("roslin_plugin", default="")
# What was loaded: the checksum of its text by the path of a file.
_FILES: dict[Path, str] = {}
_WARNED: set[str] = set()

_NOT_IN_A_NAME = re.compile(r"\W+")
# One class for one function, so that equal values are equal. A class keeps its function, so an id stays valid.
_MADE: dict[tuple[type[Named], int, str, str, str], Any] = {}
_WORDS = {"U": "text", "S": "bytes", "b": "True and False", "c": "complex numbers", "O": "things that are no numbers"}


class PluginWarning(UserWarning):
    """A plug-in that is installed and cannot be used."""


def installed(group: str) -> list[tuple[str, EntryPoint]]:
    """The packages with an entry point of a group, in order of package and name."""
    from importlib.metadata import entry_points

    found = [(point.dist.name if point.dist else point.module, point) for point in entry_points(group=group)]
    return sorted(found, key=lambda pair: (pair[0], pair[1].name))


def load_plugin(path: str | os.PathLike[str]) -> None:
    """Run a Python file that registers matchers, metrics or formats.

    The file can import modules next to it. A file that was already loaded and has not changed is not run again.
    """
    file = Path(path).resolve()
    try:
        source = file.read_bytes()
    except OSError as error:
        raise PluginError(f"the plug-in {path} cannot be read: {error.strerror or error}") from None
    checksum = hashlib.sha256(source).hexdigest()
    if _FILES.get(file) == checksum:
        return
    name = f"{_PREFIX}{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    before = sys.modules.get(name)
    module = ModuleType(name)
    module.__file__ = str(file)
    module.__spec__ = importlib.util.spec_from_file_location(name, file)
    sys.modules[name] = module  # dataclasses and pickles look their module up there
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # last: nothing of ours, or of Python, is hidden by it
    try:
        with loading(str(path)):
            exec(compile(source, str(file), "exec"), module.__dict__)  # noqa: S102  # that is what a plug-in is
    except (Exception, SystemExit) as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise PluginError(f"the plug-in {path} cannot be loaded: {failure(error, file)}") from error
    _FILES[file] = checksum


def load_environment() -> None:
    """Load the files that the environment names, as far as they can be."""
    for path in os.environ.get(VARIABLE, "").split(os.pathsep):
        if path:
            try:
                load_plugin(path)
            except PluginError as error:
                if str(error) not in _WARNED:  # every registry asks; once is enough
                    _WARNED.add(str(error))
                    warnings.warn(str(error), PluginWarning, stacklevel=2)


@contextmanager
def loading(origin: str) -> Iterator[None]:
    """Record this origin for everything that is registered meanwhile."""
    token = _LOADING.set(origin)
    try:
        yield
    finally:
        _LOADING.reset(token)


def origin_of(module: str) -> str:
    """The origin of a registered name: Roslin, a package, a file, or the session."""
    package = module.partition(".")[0]
    if package == _OWN:
        return _OWN
    return _LOADING.get() or ("this session" if package == "__main__" else package)


def place_of(module: str) -> str:
    """The name of a module for people: the file name of a plug-in, or else its own."""
    if module.startswith(_PREFIX) and module in sys.modules:
        return Path(str(sys.modules[module].__file__)).name
    return module


def is_own(code: Any) -> bool:
    """Whether a class or function is Roslin's own."""
    return str(code.__module__).partition(".")[0] == _OWN


def failure(error: BaseException, file: Path | None = None) -> str:
    """An error of a plug-in in one line, with the innermost place in its code (or in `file`)."""
    what = str(error) if isinstance(error, RoslinError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).name}:{error.lineno}"
        what = f"{type(error).__name__}: {error.msg}"
    else:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if (Path(frame.filename) == file if file else not Path(frame.filename).is_relative_to(_ROOT))
        ]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return " ".join(f"{place}: {what}".split()) if place else " ".join(what.split())


# -- plain functions as named values, and the numbers they return -----------------------------------------------------


@dataclass(frozen=True, repr=False)
class OfFunction(Named):
    """A named value that calls a plain function. Each function has a class, which `of` makes."""

    function: ClassVar[Callable[..., Any]]
    takes: ClassVar[str]  # in errors, the arguments of a function that can become such a value

    @classmethod
    def of(cls, function: Callable[..., Any], name: str = "", summary: str = "", reference: str = "") -> type[Self]:
        """The class of a function. Texts that are not given are those of the function."""
        own = getattr(function, "__name__", type(function).__name__)
        _check_signature(function, own, cls.takes)
        called = name or _NOT_IN_A_NAME.sub("", own)
        lines = (inspect.getdoc(function) or "").strip().splitlines() if hasattr(function, "__name__") else []
        module = str(getattr(function, "__module__", None) or type(function).__module__)
        where = place_of(module)
        described = summary or (lines[0] if lines else f"The function {own} of {where}.")
        origin = reference or f"the function {own} of {where}"
        key = cls, id(function), called, described, origin
        if key not in _MADE:
            members = {
                "__module__": module,
                "__qualname__": called,
                "__doc__": described,
                "name": called,
                "summary": described,
                "reference": origin,
                "function": staticmethod(function),
            }
            _MADE[key] = type(called, (cls,), members)
        made: type[Self] = _MADE[key]
        return made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _made_again, (type(self).__bases__[0], type(self).function, self.name, self.summary, self.reference)


def _made_again(base: type[OfFunction], *described: Any) -> OfFunction:
    return base.of(*described)()


def _check_signature(function: Callable[..., Any], name: str, takes: str) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # compiled code may have no signature
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise ArgumentError(f"a function must take {takes}; got {name}{signature}") from None


def guarded(value: Named, kind: str, work: Callable[[], Result]) -> Result:
    """The result of some code of a value. If others wrote it, its exceptions are errors that name the value."""
    if is_own(type(value)):
        return work()
    try:
        return work()
    except RoslinError:
        raise
    except Exception as error:
        raise PluginError(f"the {kind} {value!r} fails: {failure(error)}") from error


def one_number_each(found: Any, count: int, expected: str, *, undefined: bool = False) -> npt.NDArray[np.float64]:
    """The numbers as an array. Anything but `count` numbers is refused. `expected` describes them in errors.

    Infinity is allowed, and minus infinity is not. `undefined`: NaN is allowed.
    """
    import numpy as np  # not for `roslin --help`, which knows plug-ins

    try:
        array = np.asarray(found)
    except ValueError:  # lists of different lengths
        raise PluginError(f"{expected}; got {shown(found)}") from None
    if array.shape != (count,):
        what = (
            f"{len(array)}" if array.ndim == 1 else f"an array of shape {array.shape}" if array.ndim else shown(found)
        )
        raise PluginError(f"{expected}; got {what}")
    if array.dtype.kind not in "fiu" and count:
        raise PluginError(f"{expected}; got {_WORDS.get(array.dtype.kind, array.dtype)}, such as {shown(array[0])}")
    numbers: npt.NDArray[np.float64] = array.astype(np.float64, copy=False)
    for name, is_wrong in (("NaN", np.isnan(numbers) & (not undefined)), ("minus infinity", np.isneginf(numbers))):
        if is_wrong.any():
            raise PluginError(f"{expected}; got {name} for number {int(np.argmax(is_wrong)) + 1}")
    return numbers

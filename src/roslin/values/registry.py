"""Registries: which names there are, who owns each, and what is written under it.

    MATCHERS = NamedRegistry("matcher", Matcher, entry_points="roslin.matchers")

    @MATCHERS.register
    class Mine(Matcher): ...

    MATCHERS.parse("mine(n=3)")

A registry is a mapping of names to what was registered. It refuses what is not complete, and a second owner of a name;
the same owner may register again, as a cell of a notebook does that is run twice. What others wrote (`plugins`) is
loaded when the registry is first listed, or asked for a name that it does not know.
"""

from __future__ import annotations

import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from roslin.errors import ArgumentError, UnknownNameError
from roslin.values import plugins
from roslin.values.grammar import NAME, Written, read
from roslin.values.parameters import Named, members_of, rule_of, shown

Thing = TypeVar("Thing")
Given = TypeVar("Given")
Value = TypeVar("Value", bound=Named)

_LOCK = threading.RLock()  # one for all: loading a plug-in may fill several registries


class Registry(Mapping[str, Thing]):
    """Names and the things they name.

    `kind` is what one of them is called, `entry_points` the group in which packages announce theirs. `code_of` gives
    the function or class by the author of a thing, where that is not the thing itself; `adapt` makes a thing from a
    registered object and its name in an entry point.
    """

    def __init__(
        self,
        kind: str,
        base: type,
        entry_points: str = "",
        *,
        ignore_case: bool = False,
        code_of: Callable[[Any], Any] = lambda thing: thing,
        adapt: Callable[[Any, str], Any] = lambda thing, _: thing,
    ):
        self.kind, self.base, self.entry_points = kind, base, entry_points
        self.compound: dict[str, Thing] = {}  # things with members: they cannot be used by name alone
        self._fold: Callable[[str], str] = str.lower if ignore_case else str
        self._code_of, self._adapt = code_of, adapt
        self._things: dict[str, Thing] = {}
        self._names: dict[str, str] = {}  # every name that is understood, and the one that is written
        self._origins: dict[str, str] = {}
        self._is_loaded = False

    def register(self, thing: Given) -> Given:
        """Register an object under its name. Also works as a decorator."""
        self._add(self._adapt(thing, ""))
        return thing

    def names(self) -> list[str]:
        """All names that can be used alone, in order of the alphabet."""
        return sorted(self, key=str.lower)

    def find(self, name: str) -> Thing:
        """The object with this name, in any spelling. An unknown name raises an error that lists all."""
        if self._fold(name) not in self._names:
            self._load()
        known = self._names.get(self._fold(name))
        if known is None:
            raise UnknownNameError(self.kind, name, self.names())
        return self.compound[known] if known in self.compound else self._things[known]

    def origin(self, name: str) -> str:
        """Where it comes from: "roslin", a package, or the path of a file."""
        self.find(name)
        return self._origins[self._names[self._fold(name)]]

    def __getitem__(self, name: str) -> Thing:
        if name not in self._things:
            self._load()
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(list(self._things))

    def __len__(self) -> int:
        self._load()
        return len(self._things)

    def check_free(self, thing: Any) -> None:
        self._check(thing)
        code = self._code_of(thing)
        for name in (thing.name, *getattr(thing, "also", ())):
            other = self._names.get(self._fold(name))
            if other is None:
                continue
            before, now = _owner(self._code_of(self.compound.get(other) or self._things[other])), _owner(code)
            if before != now:
                owners = f"{before[1]} and {now[1]}"
                raise ArgumentError(f"two {self.kind}s are called {name!r}: {owners}; one needs another name")

    def _add(self, thing: Any) -> None:
        self.check_free(thing)
        code = self._code_of(thing)
        for name in (thing.name, *getattr(thing, "also", ())):
            before = self._names.get(self._fold(name), "")
            self._things.pop(before, None)
            self.compound.pop(before, None)
            self._names[self._fold(name)] = thing.name
        is_compound = isinstance(thing, type) and bool(members_of(thing))
        (self.compound if is_compound else self._things)[thing.name] = thing
        self._origins[thing.name] = plugins.origin_of(code.__module__)

    def _check(self, thing: Any) -> None:
        if not isinstance(thing, self.base):
            raise ArgumentError(f"a {self.kind} must be a {self.base.__name__}; got {shown(thing)}")
        self._check_name(thing)

    def _check_name(self, thing: Any) -> None:
        name = getattr(thing, "name", "")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            whose = getattr(thing, "__qualname__", type(thing).__name__)
            expected = "a word of letters, digits and . _ * + -, with a letter first"
            raise ArgumentError(f"{whose}: the name of a {self.kind} must be {expected}; got {shown(name)}")

    def _load(self) -> None:
        with _LOCK:
            if self._is_loaded:
                return
            self._is_loaded = True
            for package, point in plugins.installed(self.entry_points) if self.entry_points else ():
                try:
                    with plugins.loading(package):
                        thing = point.load()
                        if not isinstance(thing, ModuleType):  # a module has registered what it has
                            self._add(self._adapt(thing, point.name))
                except (Exception, SystemExit) as error:
                    message = f"the {self.kind} {point.name!r} of {package} cannot be used: {plugins.failure(error)}"
                    warnings.warn(message, plugins.PluginWarning, stacklevel=2)
            plugins.load_environment()


class NamedRegistry(Registry[type[Value]], Generic[Value]):
    """A registry of classes whose values are written in the form of `grammar`; `example` is a name that errors show."""

    def __init__(self, kind: str, base: type, entry_points: str = "", *, example: str = "", **options: Any):
        super().__init__(kind, base, entry_points, **options)
        self.example = example

    def parse(self, text: str | Value) -> Value:
        """A value from its name, with parameters where they are not the defaults. A value is given back as it is."""
        if isinstance(text, self.base):
            return cast(Value, text)
        if not isinstance(text, str):
            raise ArgumentError(f"a {self.kind} must be a name, such as {self.example!r}; got {shown(text)}")
        return self._made(read(text, self.kind))

    def _made(self, written: Written) -> Value:
        kind = self.find(written.name)
        known = [field.name for field in fields(kind)]
        parameters = dict(written.parameters)
        if written.cutoff is not None:
            cutoff = kind.cutoff
            if not cutoff:
                raise ArgumentError(f"{kind.name} has no cutoff; got @{written.cutoff}")
            if cutoff in parameters:
                raise ArgumentError(f"{kind.name}: {cutoff} is given twice, once as @{written.cutoff}")
            parameters[cutoff] = written.cutoff
        for parameter in parameters:
            if parameter not in known:
                raise UnknownNameError(f"parameter of {kind.name}", parameter, sorted(known))
        if written.made_of:
            made_of = members_of(kind)
            if not made_of:
                have = ", ".join(known) or "it has none"
                raise ArgumentError(f"the parameters of {kind.name} need their names: {have}")
            parameters[made_of] = tuple(
                self._made(member) if isinstance(member, Written) else member for member in written.made_of
            )
        return kind(**parameters)

    def _check(self, thing: Any) -> None:
        if not isinstance(thing, type) or not issubclass(thing, self.base):
            raise ArgumentError(f"a {self.kind} must be a class made from {self.base.__name__}; got {shown(thing)}")
        self._check_name(thing)
        kind = cast(type[Named], thing)
        for word in ("summary", "reference"):
            said = getattr(kind, word, "")
            if not isinstance(said, str) or not said.strip():
                raise ArgumentError(f"the {self.kind} {kind.name} has no {word}; expected a sentence")
        if inspect.isabstract(kind):
            missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
            raise ArgumentError(f"the {self.kind} {kind.name} is not complete; it lacks {missing}")
        if "__dataclass_params__" not in kind.__dict__:
            dataclass(frozen=True, repr=False)(kind)
        elif kind.__dict__["__dataclass_params__"].repr:
            raise ArgumentError(
                f"the {self.kind} {kind.name} must be a @dataclass(frozen=True, repr=False): its repr is its name"
            )
        for field in fields(kind):
            if rule_of(field) is None:
                raise ArgumentError(
                    f"the parameter {field.name} of {kind.name} has no rule; declare it with one of roslin.values, "
                    "such as whole(3) or choice('a', 'a', 'b')"
                )


def _owner(code: Any) -> tuple[str, str]:
    """(who, in words): the same for one class or function of one file, however often that is run."""
    name = getattr(code, "__qualname__", type(code).__qualname__)
    module = getattr(code, "__module__", "")
    try:
        place = inspect.getsourcefile(code) or module
    except (TypeError, OSError):
        place = module
    return f"{place}:{name}", f"{name} of {plugins.place_of(module)}"


class _CallablePackage(ModuleType):
    def __call__(self) -> Any:
        return self._answer()


def answer_calls(package: str, function: Callable[[], Any]) -> None:
    """Let a package be called: `roslin.matchers` is a package, and `roslin.matchers()` lists the names."""
    module = sys.modules[package]
    module.__dict__["_answer"] = function
    module.__class__ = _CallablePackage

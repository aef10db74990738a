"""Registries: which names there are, who owns each, and the one reader of named values.

    MATCHERS = NamedRegistry("matcher", Matcher, entry_points="roslin.matchers")

    @MATCHERS.register
    class Mine(Matcher): ...

    MATCHERS.parse("mine(n=3)")

A registry is a mapping of names to what was registered. It refuses what is not complete, and a second owner of a name.
The same owner may register again, as a cell of a notebook does that is run twice. Plug-ins (`plugins`) are loaded when
the registry is first listed, or asked for a name that it does not know.

    value      name [ "(" [ argument { "," argument } ] ")" ] [ "@" digits ]
    argument   value | text | number | word "=" setting
    setting    number | text | word | "(" settings ")" | "[" settings "]"

Examples are `dp`, `dp(place=inside)`, `fuse(dp, emd, weights=(2, 1))` and `nDCG(base=3)@10`. A bare word is a text, so
that a shell needs no second pair of quotes. True, False and None mean the same as in Python. An argument without a name
is a member of the value. Python's own parser finds the structure, and only these forms are accepted. Nothing is ever
evaluated.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import ModuleType
from typing import Any, Generic, NoReturn, TypeVar, cast

from roslin.errors import ArgumentError, UnknownNameError
from roslin.values import plugins
from roslin.values.parameters import Named, members_of, rule_of, shown

# A name, or a bare word: letters and digits, and the signs of bpref* and bpref-10.
NAME = re.compile(r"[^\W\d][\w.*+-]*")
_TOKEN = re.compile(
    rf"""(?P<word>{NAME.pattern})
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<sign>[()\[\],=@])
      | (?P<space>\s)""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = {"True": True, "False": False, "None": None}

# The messages of Python's parser that also fit here, in all its versions.
_ON_BRACKETS = re.compile("never closed|does not match|unmatched|nested|positional argument follows")

_LONGEST_WRITTEN = 10_000
_LONGEST_NUMBER = 100
_DEEPEST_BRACKETS = 20
_SIGNS_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Written:
    """A named value as it was written: `made_of` are the arguments without a name, other values as a rule."""

    name: str
    made_of: tuple[Any, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    cutoff: int | None = None


def read(text: str, kind: str) -> Written:
    """A text as it was written; `kind` names it in errors.

    >>> read("nDCG(base=3)@10", "measure")
    Written(name='nDCG', made_of=(), parameters={'base': 3}, cutoff=10)
    """
    return _NameReader(text, kind).read()


class _NameReader:
    """Reads one text: words, numbers and texts become plain Python names of the same length before it is parsed."""

    def __init__(self, text: str, kind: str):
        self.text, self.kind = text, kind
        self.tokens: dict[int, re.Match[str]] = {}  # words, numbers and texts by their place

    def read(self) -> Written:
        if len(self.text) > _LONGEST_WRITTEN:
            self.refuse(f"it has {len(self.text)} characters; at most {_LONGEST_WRITTEN} are read")
        structure = self._structure()
        start = len(structure) - len(structure.lstrip())
        if start == len(structure):
            self.refuse_at(len(self.text), "a name")
        try:
            # The spaces before the name would be an indentation.
            parsed = ast.parse(structure[start:] + "\n", mode="eval").body
        except SyntaxError as error:
            at = start + (error.offset or 1) - 1
            if _ON_BRACKETS.search(error.msg):
                self.refuse(f"column {at + 1}: {error.msg}")
            self.refuse_at(at, "a form such as dp(place=inside), fuse(dp, emd) or nDCG@10")
        except (RecursionError, MemoryError):
            self.refuse(f"brackets are nested more than {_DEEPEST_BRACKETS} deep")
        if start:
            for node in ast.walk(parsed):
                if isinstance(node, (ast.expr, ast.keyword)):
                    node.col_offset += start
        return self._value(parsed, _DEEPEST_BRACKETS)

    def _structure(self) -> str:
        """The text with underscores for words, numbers and texts. It has the same length and only plain letters."""
        structure, at = "", 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self.refuse_at(at, "a name, a value or one of ( ) [ ] , = @")
            is_plain = match.lastgroup in ("sign", "space")
            if not is_plain:
                self.tokens[at] = match
            if match.lastgroup == "number" and match.end() - at > _LONGEST_NUMBER:
                self.refuse_at(at, f"a number of at most {_LONGEST_NUMBER} digits")
            if is_plain:
                structure += match[0] if match["sign"] else " "
            elif structure.endswith("_"):
                self.refuse_at(at, "',' or the end")
            else:
                structure += "_" * len(match[0])
            at = match.end()
        return structure

    def _value(self, node: ast.expr, depth: int) -> Written:
        self._check_depth(depth)
        cutoff = None
        if isinstance(node, ast.BinOp):  # the one operator of the grammar is @
            digits = self._token(node.right, "number", "a whole number after '@'")
            if not digits.isdecimal():
                self.refuse_at(node.right.col_offset, "a whole number after '@'")
            cutoff, node = int(digits), node.left
        made_of: list[Any] = []
        parameters: dict[str, Any] = {}
        if isinstance(node, ast.Call):
            for argument in node.args:
                is_word = isinstance(argument, (ast.BinOp, ast.Call)) or self._kind(argument) == "word"
                made_of.append(self._value(argument, depth - 1) if is_word else self._atom(argument))
            for keyword in node.keywords:
                word = self._token(keyword, "word", "the name of a parameter")
                if word in parameters:
                    self.refuse(f"the parameter {word} is given twice")
                parameters[word] = self._setting(keyword.value, depth - 1)
            node = node.func
        return Written(self._token(node, "word", "a name"), tuple(made_of), parameters, cutoff)

    def _setting(self, node: ast.expr, depth: int) -> Any:
        self._check_depth(depth)
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self._setting(one, depth - 1) for one in node.elts)
        return self._atom(node)

    def _atom(self, node: ast.expr) -> Any:
        kind = self._kind(node)
        if not kind:
            self.refuse_at(node.col_offset, "a number, a text or a word")
        written = self._token(node, kind, "a value")
        if kind == "word":
            return _CONSTANTS.get(written, written)
        if kind == "number":
            return int(written) if written.lstrip("+-").isdecimal() else float(written)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a backslash before a letter that has no meaning
                return str(ast.literal_eval(written.replace("\n", "\\n")))
        except (SyntaxError, ValueError):
            return self.refuse_at(node.col_offset, "a text with complete escapes")

    def _kind(self, node: ast.AST) -> str:
        """`word`, `number` or `text`; empty where the node is none of them."""
        token = self.tokens.get(node.col_offset) if isinstance(node, (ast.Name, ast.keyword)) else None
        return str(token.lastgroup) if token else ""

    def _token(self, node: ast.expr | ast.keyword, kind: str, expected: str) -> str:
        if self._kind(node) != kind:
            self.refuse_at(node.col_offset, expected)
        return self.tokens[node.col_offset][0]

    def _check_depth(self, depth: int) -> None:
        if depth <= 0:
            self.refuse(f"brackets are nested more than {_DEEPEST_BRACKETS} deep")

    def refuse(self, reason: str) -> NoReturn:
        shown = self.text if len(self.text) <= _SIGNS_SHOWN else f"{self.text[:_SIGNS_SHOWN]} ..."
        raise ArgumentError(f"cannot read the {self.kind} {shown!r}: {reason}")

    def refuse_at(self, at: int, expected: str) -> NoReturn:
        token = self.tokens.get(at)
        found = repr((token[0] if token else self.text[at])[:_SIGNS_SHOWN]) if at < len(self.text) else "the end"
        self.refuse(f"column {at + 1}: expected {expected}; found {found}")


Thing = TypeVar("Thing")
Given = TypeVar("Given")
Value = TypeVar("Value", bound=Named)

_LOCK = threading.RLock()  # one for all: loading a plug-in may fill several registries


class Registry(Mapping[str, Thing]):
    """Names and the things they name.

    `kind` is what one of them is called, `entry_points` the group in which packages announce theirs. `code_of` gives
    the function or class by the author of a thing, where that is not the thing itself.
    """

    def __init__(
        self,
        kind: str,
        base: type,
        entry_points: str = "",
        *,
        ignore_case: bool = False,
        code_of: Callable[[Any], Any] = lambda thing: thing,
    ):
        self.kind, self.base, self.entry_points = kind, base, entry_points
        self.compound: dict[str, Thing] = {}  # things with members: they cannot be used by name alone
        self._fold: Callable[[str], str] = str.lower if ignore_case else str
        self._code_of = code_of
        self._things: dict[str, Thing] = {}
        self._names: dict[str, str] = {}  # every name that is understood, and the one that is written
        self._origins: dict[str, str] = {}
        self._is_loaded = False

    def register(self, thing: Given) -> Given:
        """Register an object under its name. Also works as a decorator."""
        self._add(self._adapted(thing))
        return thing

    def _adapted(self, thing: Any, name: str = "") -> Any:
        """The thing that a registered object stands for; `name` is that of its entry point."""
        del name
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
                            self._add(self._adapted(thing, point.name))
                except (Exception, SystemExit) as error:
                    message = f"the {self.kind} {point.name!r} of {package} cannot be used: {plugins.failure(error)}"
                    warnings.warn(message, plugins.PluginWarning, stacklevel=2)
            plugins.load_environment()


class NamedRegistry(Registry[type[Value]], Generic[Value]):
    """A registry of classes whose values are names with parameters; `example` is a name that errors show.

    `of_functions` is the class of values that call a plain function, if there can be any.
    """

    def __init__(
        self,
        kind: str,
        base: type,
        entry_points: str = "",
        *,
        example: str = "",
        of_functions: type[plugins.OfFunction] | None = None,
        ignore_case: bool = False,
    ):
        super().__init__(kind, base, entry_points, ignore_case=ignore_case, code_of=_code_of)
        self.example, self.of_functions = example, of_functions

    def register_described(self, thing: Any, **described: str) -> Any:
        """Register a class, or a function with a name, a summary and a reference. None: a decorator for it."""
        if thing is None:
            return lambda given: self.register_described(given, **described)
        kind = self._adapted(thing, **described)
        if kind is thing and any(described.values()):
            raise ArgumentError("name, summary and reference can be given for a function, but not for a class")
        self._add(kind)
        return thing

    def _adapted(self, thing: Any, name: str = "", **described: str) -> Any:
        is_function = self.of_functions and callable(thing) and not isinstance(thing, (type, self.base))
        return self.of_functions.of(thing, name, **described) if self.of_functions and is_function else thing

    def parse(self, given: str | Value | Callable[..., Any], name: str = "") -> Value:
        """A value from its name, with parameters where they are not the defaults. A value is returned unchanged.

        A plain function becomes a value with this `name`, by default that of the function.
        """
        if isinstance(given, self.base):
            return cast(Value, given)
        if isinstance(given, str):
            return self._made(read(given, self.kind))
        kind = self._adapted(given, name)
        if kind is given:
            raise ArgumentError(f"a {self.kind} must be a name, such as {self.example!r}; got {shown(given)}")
        self.check_free(kind)
        return cast(Value, kind())

    def _made(self, written: Written) -> Value:
        kind = self.find(written.name)
        known = [each.name for each in fields(kind)]
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
        for each in fields(kind):
            if rule_of(each) is None:
                raise ArgumentError(
                    f"the parameter {each.name} of {kind.name} has no rule; declare it with one of roslin.values, "
                    "such as whole(3) or choice('a', 'a', 'b')"
                )


def _code_of(kind: Any) -> Any:
    return kind.function if isinstance(kind, type) and issubclass(kind, plugins.OfFunction) else kind


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

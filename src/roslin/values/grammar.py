"""How named values are written, and the one reader for all of them.

    value      name [ "(" [ argument { "," argument } ] ")" ] [ "@" digits ]
    argument   value | text | number | word "=" setting
    setting    number | text | word | "(" settings ")" | "[" settings "]"

Examples are `dp`, `dp(place=inside)`, `fuse(dp, emd, weights=(2, 1))` and `nDCG(base=3)@10`. A bare word is a text, so
that a shell needs no second pair of quotes. True, False and None mean the same as in Python. An argument without a name
is a member of the value.

Python's own parser finds the structure, and only the forms above are accepted. Nothing is ever evaluated. The registry
decides whether a name or parameter exists.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, NoReturn

from roslin.errors import ArgumentError

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
        """The text with underscores for words, numbers and texts; it has the same length and only plain letters."""
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

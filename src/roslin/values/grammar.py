"""How named values are written, and the one reader for all of them.

    value      name [ "(" [ argument { "," argument } ] ")" ] [ "@" digits ]
    argument   word "=" setting | value | text | number
    setting    number | text | word | "(" settings ")" | "[" settings "]"

`dp`, `dp(place=inside)`, `dp(place='inside')`, `fuse(dp, emd, weights=(2, 1))`, `nDCG(base=3)@10`. A bare word is a
text, so that a shell needs no second pair of quotes; True, False and None are what they are in Python. An argument
without a name is something that the value is made of.

This reads the form alone: whether there is such a name, and such a parameter, is for the registry to say. What is not
of this form is refused with its column; nothing is ever evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from roslin.errors import ArgumentError

# A name, or a bare word: letters and digits, and the signs of bpref* and bpref-10.
NAME = re.compile(r"[^\W\d][\w.*+-]*")
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<word>{NAME.pattern})
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<sign>[()\[\],=@])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})|(.))", re.DOTALL
)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS = {"True": True, "False": False, "None": None}
_CLOSING = {"(": ")", "[": "]"}

# More than anybody writes, and little enough that nonsense is refused at once.
_LONGEST = 10_000
_LONGEST_NUMBER = 100
_DEEPEST = 20
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Written:
    """A named value as it was written: `made_of` are the arguments without a name, other values as a rule."""

    name: str
    made_of: tuple[Any, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    cutoff: int | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # word, number, text, sign, end
    text: str
    column: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text[:_SHOWN])


def read(text: str, kind: str) -> Written:
    """A text as it was written; `kind` says in errors what it should have been.

    >>> read("nDCG(base=3)@10", "measure")
    Written(name='nDCG', made_of=(), parameters={'base': 3}, cutoff=10)
    """
    reader = _NameReader(text, kind)
    found = reader.value(_DEEPEST)
    reader.expect("end", "", "the end")
    return found


class _NameReader:
    """Goes through the tokens of one text."""

    def __init__(self, text: str, kind: str):
        self.whole, self.kind, self.place = text, kind, 0
        if len(text) > _LONGEST:
            self.refuse(f"it has {len(text)} characters; at most {_LONGEST} are read")
        self.tokens = self._tokens()

    def value(self, depth: int) -> Written:
        """A name with its arguments and its cutoff."""
        self.check_depth(depth)
        name = self.expect("word", "", "a name")
        made_of: list[Any] = []
        parameters: dict[str, Any] = {}
        if self.take("("):
            while not self.take(")"):
                self._argument(made_of, parameters, depth)
                if not self.take(","):
                    self.expect("sign", ")", "',' or ')'")
                    break
        cutoff = None
        if self.take("@"):
            digits = self.expect("number", "", "a whole number after '@'")
            if not digits.text.isdecimal():
                self.refuse_at(digits, "a whole number after '@'")
            cutoff = int(digits.text)
        return Written(name.text, tuple(made_of), parameters, cutoff)

    def _argument(self, made_of: list[Any], parameters: dict[str, Any], depth: int) -> None:
        token = self.token
        if token.kind == "word" and self.tokens[self.place + 1].text == "=" and token.text not in _CONSTANTS:
            self.place += 2
            if token.text in parameters:
                self.refuse(f"the parameter {token.text} is given twice")
            parameters[token.text] = self._setting(depth - 1)
        elif token.kind == "word":
            made_of.append(self.value(depth - 1))
        elif token.kind in ("text", "number"):
            made_of.append(self._setting(depth - 1))
        else:
            self.refuse_at(token, "a parameter, such as name=value")

    def _setting(self, depth: int) -> Any:
        """What a parameter is set to."""
        self.check_depth(depth)
        token = self.token
        self.place += 1
        if token.kind == "number":
            is_whole = token.text.lstrip("+-").isdecimal()
            return int(token.text) if is_whole else float(token.text)
        if token.kind == "text":
            return _ESCAPE.sub(_unescaped, token.text[1:-1])
        if token.kind == "word":
            return _CONSTANTS.get(token.text, token.text)
        if token.kind == "sign" and token.text in _CLOSING:
            return self._several(token.text, depth)
        return self.refuse_at(token, "a value")

    def _several(self, opening: str, depth: int) -> Any:
        """Settings in brackets; in round ones a single setting without a comma is that setting, as in Python."""
        found, is_one = [], opening == "("
        while not self.take(_CLOSING[opening]):
            found.append(self._setting(depth - 1))
            if self.take(","):
                is_one = False
            else:
                self.expect("sign", _CLOSING[opening], f"',' or '{_CLOSING[opening]}'")
                break
        return found[0] if is_one and found else tuple(found)

    @property
    def token(self) -> _Token:
        """The next one."""
        return self.tokens[self.place]

    def take(self, sign: str) -> bool:
        """Whether this sign comes next; then it is passed."""
        is_next = self.token.kind == "sign" and self.token.text == sign
        self.place += is_next
        return is_next

    def expect(self, kind: str, text: str, words: str) -> _Token:
        """The next token, which must be of this kind and, unless empty, have this text."""
        token = self.token
        if token.kind != kind or (text and token.text != text):
            self.refuse_at(token, words)
        self.place += 1
        return token

    def check_depth(self, depth: int) -> None:
        """Refuse brackets in brackets in brackets."""
        if depth <= 0:
            self.refuse(f"brackets are nested more than {_DEEPEST} deep")

    def refuse(self, reason: str) -> NoReturn:
        """Say why it cannot be read."""
        shown = self.whole if len(self.whole) <= _SHOWN else f"{self.whole[:_SHOWN]} ..."
        raise ArgumentError(f"cannot read the {self.kind} {shown!r}: {reason}")

    def refuse_at(self, token: _Token, expected: str) -> NoReturn:
        """Say where it cannot be read."""
        self.refuse(f"column {token.column}: expected {expected}; found {token}")

    def _tokens(self) -> list[_Token]:
        text, found, at = self.whole.rstrip(), list[_Token](), 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                start = at + len(text[at:]) - len(text[at:].lstrip())
                self.refuse_at(_Token("sign", text[start], start + 1), "a name, a value or one of ( ) [ ] , = @")
            kind = str(match.lastgroup)
            token = _Token(kind, match[kind], match.start(kind) + 1)
            if kind == "number" and len(token.text) > _LONGEST_NUMBER:
                self.refuse_at(token, f"a number of at most {_LONGEST_NUMBER} digits")
            found.append(token)
            at = match.end()
        return [*found, _Token("end", "", len(text) + 1)]


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    return chr(int(code, 16)) if code else _ESCAPED.get(match[4], match[4])

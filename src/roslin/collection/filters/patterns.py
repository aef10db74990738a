"""A small pattern language for melodies, as a filter: intervals, wildcards, choices, repeats, rhythm.

    pattern    branches between "|", at the beginning perhaps "^", at the end perhaps "$"
    branch     elements, one after the other
    element    an interval, a rhythm, an interval with its rhythm, or "(" branches ")"; then perhaps a repeat
    interval   +5 -3 1     by number, as spelled; without a sign in either direction
               +7s -4s 0s  by semitones
               up down     any size
               .           any interval
    rhythm     :L :S :=    the second note is longer, shorter, equally long
    repeat     * ?         any number of times, at most once
               {2} {2,} {2,4}

A pattern is found anywhere in the line of a melody, unless "^" and "$" hold it. It becomes an automaton without
backtracking: a set of places in the pattern is a state, and a state with its next states is worked out when it is met.
So no pattern takes longer than its length times that of the melodies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

from roslin.melody.intervals import refusal
from roslin.represent.strings import CHROMATIC_LETTERS, DIATONIC_LETTERS

_MOST_PLACES = 100  # of a pattern whose repeats are written out
_MOST_STATES = 2000  # that are remembered
_LARGEST = 25  # number or semitones; one letter further is whatever is larger
_STRINGS = ("chromatic", "diatonic", "rhythm")
_TOKEN = re.compile(
    r"(?P<interval>[-+\N{MINUS SIGN}]?\d+s?)|(?P<word>up|down|\.)|:(?P<rhythm>[ls=])"
    r"|(?P<repeat>[*?]|\{\d{0,9},?\d{0,9}\})|(?P<sign>[(|)^$])",
    re.IGNORECASE,
)
_EXPECTED = "an interval such as +5, -4s, up or '.', a rhythm such as :L, or '('"


def is_found(text: str, *strings: str) -> bool:
    """Whether a melody has the pattern. Its strings are those that the pattern speaks of.

    >>> is_found("^ +5 .{1,3} -2$", "ECb"), is_found("-2:L", "ECb", "==S")
    (True, False)
    """
    return compiled(text).is_found(strings[0] if len(strings) == 1 else zip(*strings, strict=True))


@lru_cache(maxsize=64)
def compiled(text: str) -> Automaton:
    """A pattern, read; `FilterError` with the column where it is none."""
    return Automaton(text)


_Step = dict[str, str]  # a place in a pattern: the letters that each string may have there


@dataclass(slots=True)
class _Part:
    """A piece of a pattern: whether it may be nothing, the places it begins and ends with, as bits."""

    is_optional: bool = True
    first: int = 0
    last: int = 0


class _State(dict[str | tuple[str, ...], "_State"]):
    """Places of the pattern that may have been reached, and the states that follow by letter."""

    __slots__ = ("automaton", "is_accepted", "is_decided", "places")

    def __init__(self, automaton: Automaton, places: int):
        super().__init__()
        self.automaton, self.places = automaton, places
        self.is_accepted = bool(places & automaton.accepted)
        self.is_decided = self.is_accepted and not automaton.is_to_end

    def __missing__(self, letter: str | tuple[str, ...]) -> _State:
        self[letter] = state = self.automaton.after(self.places, letter)
        return state


@dataclass(slots=True)
class Automaton:
    """A pattern that was read. Place 0 is before its beginning; `follow` has the places after each."""

    text: str
    strings: tuple[str, ...] = ()
    accepted: int = 0
    is_to_end: bool = False
    is_from_start: bool = False
    steps: list[_Step] = field(default_factory=lambda: [{}])
    follow: list[int] = field(default_factory=lambda: [0])
    states: dict[int, _State] = field(default_factory=dict)
    start: _State = field(init=False)

    def __post_init__(self) -> None:
        whole = _PatternReader(self).read()
        self.follow[0] = whole.first
        self.accepted = whole.last | whole.is_optional
        used = {name for step in self.steps for name in step}
        self.strings = tuple(name for name in _STRINGS if name in used) or _STRINGS[:1]
        self.start = self._state(1)

    def is_found(self, letters: Iterable[str | tuple[str, ...]]) -> bool:
        state = self.start
        for letter in letters:
            if state.is_decided:
                return True
            state = state[letter]
        return state.is_accepted

    def after(self, places: int, letter: str | tuple[str, ...]) -> _State:
        found = dict(zip(self.strings, letter, strict=True))
        reached = 0
        for place, following in enumerate(self.follow):
            if places >> place & 1:
                reached |= following
        taken = sum(1 << place for place, step in enumerate(self.steps) if reached >> place & 1 and _takes(step, found))
        return self._state(taken | (not self.is_from_start))

    def _state(self, places: int) -> _State:
        if len(self.states) > _MOST_STATES:
            for state in self.states.values():
                state.clear()
            self.states.clear()
        return self.states.setdefault(places, _State(self, places))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int

    def is_beside(self, other: _Token) -> bool:
        return other.column + len(other.text) == self.column


class _PatternReader:
    """Reads a pattern into the places of an automaton (Glushkov's construction)."""

    def __init__(self, automaton: Automaton):
        self.automaton = automaton
        self.tokens = list(_tokens(automaton.text))
        self.at = 0

    def read(self) -> _Part:
        self.automaton.is_from_start = self._skip("^")
        if self.automaton.text.count("(") > _MOST_PLACES:
            raise refusal(1, f"at most {_MOST_PLACES} groups", "more")
        whole = self._branches()
        self.automaton.is_to_end = self._skip("$")
        if (token := self._now()).kind != "end":
            expected = "nothing after '$'" if self.automaton.is_to_end else _EXPECTED
            if token.text == "^":
                expected = "'^' only at the beginning"
            raise refusal(token.column, expected, token.text)
        return whole

    def _now(self) -> _Token:
        return self.tokens[self.at]

    def _skip(self, sign: str) -> bool:
        is_there = self._now().text == sign
        self.at += is_there
        return is_there

    def _branches(self) -> _Part:
        found = self._branch()
        while self._skip("|"):
            other = self._branch()
            optional = found.is_optional or other.is_optional
            found = _Part(optional, found.first | other.first, found.last | other.last)
        return found

    def _branch(self) -> _Part:
        found, begin = _Part(), self._now()
        while (token := self._now()).kind in ("interval", "word", "rhythm") or token.text == "(":
            found = self._joined(found, self._element())
        if token is begin:
            raise refusal(token.column, _EXPECTED, token.text)
        return found

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        first = left.first | (right.first if left.is_optional else 0)
        last = right.last | (left.last if right.is_optional else 0)
        return _Part(left.is_optional and right.is_optional, first, last)

    def _link(self, places: int, following: int) -> None:
        for place in range(len(self.automaton.follow)):
            if places >> place & 1:
                self.automaton.follow[place] |= following

    def _element(self) -> _Part:
        begin = self.at
        found = self._one()
        if self._now().kind != "repeat":
            return found
        least, most = _times(self._now())
        self.at += 1
        end = self.at
        parts = [found]
        for _each in range((least if most is None else most) - 1):
            self.at = begin
            parts.append(self._one())
        self.at = end
        if most is None:
            self._link(parts[-1].last, parts[-1].first)
        whole = _Part()
        for number, part in enumerate(parts if most != 0 else ()):
            whole = self._joined(whole, _Part(part.is_optional or number >= least, part.first, part.last))
        return whole

    def _one(self) -> _Part:
        token = self._now()
        self.at += 1
        if token.text == "(":
            found = self._branches()
            if not self._skip(")"):
                raise refusal(self._now().column, f"')' for the '(' in column {token.column}", self._now().text)
        else:
            found = self._place(token)
        if self._now().kind == "rhythm" and self._now().is_beside(self.tokens[self.at - 1]):
            raise refusal(self._now().column, "one rhythm beside one interval; or a space before it", self._now().text)
        return found

    def _place(self, token: _Token) -> _Part:
        letters = _letters(token)
        if token.kind != "rhythm" and (beside := self._now()).kind == "rhythm" and beside.is_beside(token):
            letters |= _letters(beside)
            self.at += 1
        if len(self.automaton.steps) > _MOST_PLACES:
            raise refusal(token.column, f"at most {_MOST_PLACES} intervals, repeats written out", "more")
        self.automaton.steps.append(letters)
        self.automaton.follow.append(0)
        place = 1 << (len(self.automaton.steps) - 1)
        return _Part(False, place, place)


def _takes(step: _Step, found: dict[str, str]) -> bool:
    return all(found[name] in letters for name, letters in step.items())


def _tokens(text: str) -> Iterable[_Token]:
    at = 0
    while at < len(text):
        if text[at].isspace() or text[at] == ",":
            at += 1
        elif found := _TOKEN.match(text, at):
            yield _Token(str(found.lastgroup), found[0], at + 1)
            at = found.end()
        else:
            raise refusal(at + 1, _EXPECTED, text[at:].split()[0])
    yield _Token("end", "", len(text) + 1)


def _letters(token: _Token) -> dict[str, str]:
    text = token.text.lower().replace("\N{MINUS SIGN}", "-")
    if token.kind == "rhythm":
        return {"rhythm": text[1].upper()}
    if token.kind == "word":
        ways = {"up": ascii_uppercase, "down": ascii_lowercase}
        return {"chromatic": ways[text]} if text in ways else {}
    size = int(text.strip("+-s")[:9])
    is_exact = text.endswith("s")
    if not 1 - is_exact <= size <= _LARGEST:
        what = "0 to 25 semitones" if is_exact else "1 (a unison) to 25; semitones have an s, as in +4s"
        raise refusal(token.column, what, token.text)
    letters = CHROMATIC_LETTERS if is_exact else DIATONIC_LETTERS
    steps = size if is_exact else size - 1
    rising, falling = letters[steps], letters[-steps]
    wanted = {"+": rising, "-": falling}.get(text[0], rising + falling)
    return {"chromatic" if is_exact else "diatonic": wanted}


def _times(token: _Token) -> tuple[int, int | None]:
    """The least and the most repeats; None: without end."""
    if token.text in ("*", "?"):
        return 0, 1 if token.text == "?" else None
    least, comma, most = token.text[1:-1].partition(",")
    if not (least or most) or (most and int(most) < int(least or 0)) or max(int(least or 0), int(most or 0)) > 99:
        raise refusal(token.column, "a repeat such as {2}, {2,} or {2,4}, at most 99", token.text)
    return int(least or 0), int(most) if most else None if comma else int(least)

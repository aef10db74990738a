"""Modes: what is compared, where, and in which key, in words that mean the same for every matcher that can do them.

    compare   both: melody and rhythm; melody: no change of rhythm counts; rhythm: no change of pitch counts; contour:
              of pitch only whether it rises, stays or falls
    place     anywhere: the query may be any passage of a melody; start: both begin together, and the melody may go on;
              whole: whatever only one of them has counts
    key       any: a transposed melody is the same; written: it is another

A matcher says in its table `modes` which of these it can do, and which parameters make it so; nothing to change is an
empty mapping. A mode that is not asked for is left as it is. What is made of others can do what all of them can.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from roslin.display.words import N_
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers.base import MATCHERS, Matcher
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES
from roslin.values.parameters import members_of

# What can be chosen, and how people call it.
MODES: dict[str, tuple[str, ...]] = {"compare": COMPARED, "place": PLACES, "key": KEYS}
MODE_WORDS = {
    "compare": {
        "both": N_("melody and rhythm"),
        "melody": N_("melody only"),
        "rhythm": N_("rhythm only"),
        "contour": N_("contour"),
    },
    "place": {
        "anywhere": N_("anywhere"),
        "start": N_("at the start"),
        "end": N_("at the end"),
        "whole": N_("the whole melody"),
    },
    "key": {"any": N_("any key"), "written": N_("as written")},
}
_ABILITIES = {
    "compare": {
        "both": "compare melody and rhythm together",
        "melody": "compare the melody without its rhythm",
        "rhythm": "compare the rhythm without its melody",
        "contour": "compare contours",
    },
    "place": {
        "anywhere": "look for the query anywhere in a melody",
        "start": "compare beginnings",
        "end": "compare endings",
        "whole": "compare whole melodies",
    },
    "key": {"any": "find melodies in any key", "written": "tell one key from another"},
}


@dataclass(frozen=True, slots=True)
class Mode:
    """What was asked for; None is what the matcher does anyway.

    >>> from roslin import matcher
    >>> Mode(compare="melody", place="start").of(matcher("dp"))
    (dp, True)
    """

    compare: str | None = None
    place: str | None = None
    key: str | None = None

    def of(self, matcher: Matcher) -> tuple[Matcher, bool]:
        """The matcher in this mode, and whether melodies must be cut to their beginnings for it.

        Beginnings can be compared by every matcher, if not by a way of its own.
        """
        is_cut = self.place == "start" and not has_mode(matcher, "place", "start")
        place = None if is_cut else self.place
        return in_mode(matcher, compare=self.compare, place=place, key=self.key), is_cut


def in_mode(
    matcher: Matcher, *, compare: str | None = None, place: str | None = None, key: str | None = None
) -> Matcher:
    """The matcher with the parameters that make these modes. One that cannot do them is refused.

    >>> from roslin import matcher
    >>> in_mode(matcher("dp"), place="anywhere"), in_mode(matcher("time"), compare="melody", place="whole")
    (dp(place='inside'), time(aligner='global', rhythm=0.0))
    """
    for mode, value in (("compare", compare), ("place", place), ("key", key)):
        if value is not None:
            matcher = _in_one(matcher, mode, value)
    return matcher


def has_mode(matcher: Matcher, mode: str, value: str) -> bool:
    """Whether the matcher can do this by a way of its own."""
    if made_of := members_of(type(matcher)):
        return all(has_mode(member, mode, value) for member in getattr(matcher, made_of))
    return value in matcher.modes.get(mode, {})


def those_with(mode: str, value: str) -> list[str]:
    """The names of the matchers that can do this.

    >>> those_with("compare", "contour")
    ['roslin']
    """
    return [name for name in MATCHERS.names() if value in MATCHERS[name].modes.get(mode, {})]


def _in_one(matcher: Matcher, mode: str, value: str) -> Matcher:
    if value not in MODES[mode]:
        raise UnknownNameError(mode, value, MODES[mode])
    if made_of := members_of(type(matcher)):
        members = tuple(_in_one(member, mode, value) for member in getattr(matcher, made_of))
        return replace(matcher, **{made_of: members})
    known = matcher.modes.get(mode, {})
    if value not in known:
        can = ", ".join(those_with(mode, value))
        raise ArgumentError(f"{matcher.name} cannot {_ABILITIES[mode][value]} ({mode} {value!r}); these can: {can}")
    # Out of any other mode first: what made it so goes back to its default.
    usual = {field.name: field.default for field in fields(matcher)}
    changed: dict[str, Any] = {}
    for other, parameters in known.items():
        if other != value and parameters and all(getattr(matcher, name) == set_ for name, set_ in parameters.items()):
            changed |= {name: usual[name] for name in parameters}
    return replace(matcher, **(changed | dict(known[value])))

"""Filters by the intervals of a melody: sequences that it contains, shares of one interval, repeated motives."""

from __future__ import annotations

from roslin.collection.chain import Filter, Parameter, call_text
from roslin.collection.filters.ranges import Bound, checked_bounds, range_words
from roslin.display.words import _
from roslin.errors import FilterError
from roslin.melody.intervals import Kind
from roslin.represent.strings import interval_words, parse_interval, parse_intervals

_INDEXED_LETTERS = 3  # the index of intervals finds sequences of this length and more


def contains(*sequences: str, kind: Kind = "diatonic", times: int = 1) -> Filter:
    """At least one of several sequences of intervals, in at least `times` places that do not overlap.

    >>> print(contains("+5 -3 1 +6", "third up, unison, unison, sixth up"))
    Contains "fifth up, third down, unison, sixth up" or "third up, unison, unison, sixth up".
    """
    if not sequences:
        raise FilterError("contains: needs at least one sequence of intervals; got none")
    _check_times("contains", times, 1)
    patterns = [parse_intervals(sequence, kind) for sequence in sequences]
    sql, parameters, table = _found(patterns, kind)
    if times > 1:
        enough = f"length(strings.{kind}) - length(replace(strings.{kind}, ?, '')) >= ?"
        sql, table = f"({sql}) AND ({' OR '.join([enough] * len(patterns))})", "strings"
        parameters += [value for pattern in patterns for value in (pattern, times * len(pattern))]
    words = _(" or ").join(f'"{interval_words(pattern, kind)}"' for pattern in patterns)
    said = _("Contains {intervals} in at least {times} places.") if times > 1 else _("Contains {intervals}.")
    name = call_text("contains", *sequences, kind=(kind, "diatonic"), times=(times, 1))
    return Filter(name, table, sql, tuple(parameters), said.format(intervals=words, times=times))


def _found(patterns: list[str], kind: Kind) -> tuple[str, list[Parameter], str]:
    """Condition, parameters and table: long patterns are looked up in the index, short ones searched for."""
    long = [pattern for pattern in patterns if len(pattern) >= _INDEXED_LETTERS]
    short = [pattern for pattern in patterns if len(pattern) < _INDEXED_LETTERS]
    conditions = [f"instr(strings.{kind}, ?) > 0"] * len(short)
    parameters: list[Parameter] = [*short]
    if long:
        # A pattern has only letters and "=", so quotes make it a phrase and nothing else.
        phrases = " OR ".join(f'"{pattern}"' for pattern in long)
        conditions.append("features.number IN (SELECT rowid FROM interval_index WHERE interval_index MATCH ?)")
        parameters.append(f"{kind} : ({phrases})")
    return " OR ".join(conditions), parameters, "strings" if short else "interval_index"


def share_of_interval(interval: str, low: Bound = None, high: Bound = None, kind: Kind = "diatonic") -> Filter:
    """How large a part of all intervals is this one, from 0 to 1; both directions unless one is given.

    >>> print(share_of_interval("third", 0.5))
    Share of "third" among the intervals at least 0.5.
    """
    letters = parse_interval(interval, kind)
    lowest, highest = checked_bounds("share_of_interval", low, high, 0, 1, whole=False)
    length, rest = f"length(strings.{kind})", f"strings.{kind}"
    for _each in letters:
        rest = f"replace({rest}, ?, '')"
    condition = f"1.0 * ({length} - length({rest})) / nullif({length}, 0) BETWEEN ? AND ?"
    parameters = (*letters, 0 if lowest is None else lowest, 1 if highest is None else highest)
    sentence = _('Share of "{interval}" among the intervals {range}.').format(
        interval=interval_words(letters[0], kind, has_direction=len(letters) == 1),
        range=range_words(lowest, highest),
    )
    name = call_text("share_of_interval", interval, lowest, highest, kind=(kind, "diatonic"))
    return Filter(name, "strings", condition, parameters, sentence)


def repeats_motive(sequence: str, times: int = 2) -> Filter:
    """A motive (represent/features.py) that contains these chromatic intervals and occurs at least so often.

    Three repeated notes are two unisons:

    >>> print(repeats_motive("unison, unison"))
    Repeats a motive with "unison, unison" in at least 2 places.
    """
    pattern = parse_intervals(sequence, "chromatic")
    _check_times("repeats_motive", times, 2)
    return Filter(
        call_text("repeats_motive", sequence, times),
        "motives",
        "features.number IN (SELECT number FROM motives WHERE instr(motive, ?) > 0 AND occurrences >= ?)",
        (pattern, times),
        _('Repeats a motive with "{intervals}" in at least {times} places.').format(
            intervals=interval_words(pattern, "chromatic"), times=times
        ),
    )


def _check_times(name: str, times: int, least: int) -> None:
    if not isinstance(times, int) or isinstance(times, bool) or times < least:
        raise FilterError(f"{name}: times must be a whole number, at least {least}; got {times!r}")

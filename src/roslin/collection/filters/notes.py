"""Filters by the notes of a melody: by numbers, by intervals that follow each other, by editing distance from a query.

Numbers are the pitch range, the largest interval, the number of notes and the ratio of durations.
"""

from __future__ import annotations

import math

from roslin.collection.filters.chain import EDIT_DISTANCE, PATTERN, Cost, Filter, Parameter, call_text, costs_as_text
from roslin.collection.filters.patterns import compiled
from roslin.display.words import _, ngettext
from roslin.errors import FilterError
from roslin.melody import Melody
from roslin.melody.intervals import Kind, an_interval
from roslin.represent.edits import EditCosts
from roslin.represent.strings import interval_semitones, interval_words, parse_interval, parse_intervals, strings_of
from roslin.tolerances import RECOMPUTED

_LISTED_VALUES = 24  # a range of at most this many whole numbers is written as a list
_INDEXED_LETTERS = 3  # the index of intervals finds sequences of this length and more

Bound = int | float | str | None


def pitch_range(low: Bound = None, high: Bound = None) -> Filter:
    """Semitones between the lowest and the highest note. Names of intervals are allowed.

    >>> print(pitch_range("octave", "minor tenth"))
    Pitch range between an octave and a minor tenth (12 to 15 semitones).
    """
    return _semitones("pitch_range", _("Pitch range"), low, high)


def max_interval(low: Bound = None, high: Bound = None) -> Filter:
    """Semitones of the largest interval between consecutive notes. Names of intervals are allowed."""
    return _semitones("max_interval", _("Largest interval"), low, high)


def duration_ratio(low: Bound = None, high: Bound = None) -> Filter:
    """Ratio of the shortest to the longest note, from 0 to 1."""
    lowest, highest = _checked_bounds("duration_ratio", low, high, 0, 1, whole=False)
    sentence = _("Duration ratio {range} (shortest note to longest note).")
    return _between("duration_ratio", lowest, highest, sentence.format(range=_range_words(lowest, highest)))


def note_count(low: Bound = None, high: Bound = None) -> Filter:
    """Number of notes of the melodic line."""
    lowest, highest = _checked_bounds("note_count", low, high, 0, 10**9, whole=True)
    sentence = _("Number of notes {range}.").format(range=_range_words(lowest, highest))
    return _between("note_count", lowest, highest, sentence)


def parse_range(text: str) -> tuple[Bound, Bound]:
    """Bounds as users type them. Text that is not a number stays text, for the filter to interpret.

    >>> parse_range("12..15"), parse_range("..0.51"), parse_range("octave..minor tenth"), parse_range("7")
    ((12, 15), (None, 0.51), ('octave', 'minor tenth'), (7, 7))
    """
    low, dots, high = text.partition("..")
    if not (low.strip() or high.strip()):
        raise FilterError(f"range must be LOW..HIGH, LOW.., ..HIGH or one value; got {text!r}")
    return _bound(low), _bound(high if dots else low)


def _bound(text: str) -> Bound:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip() or None


def _checked_bounds(
    name: str, low: Bound, high: Bound, floor: int, ceiling: int, *, whole: bool
) -> tuple[float | None, float | None]:
    if low is None and high is None:
        raise FilterError(f"{name}: needs a lowest or a highest value; got neither")
    lowest = None if low is None else _checked_bound(f"{name}: the lowest value", low, floor, ceiling, whole)
    highest = None if high is None else _checked_bound(f"{name}: the highest value", high, floor, ceiling, whole)
    if lowest is not None and highest is not None and lowest > highest:
        raise FilterError(f"{name}: the lowest value must not be above the highest; got {lowest:g} and {highest:g}")
    return lowest, highest


def _checked_bound(what: str, value: int | float | str, floor: int, ceiling: int, whole: bool) -> float:
    if not isinstance(value, (bool, str)) and floor <= value <= ceiling and not (whole and value != int(value)):
        return int(value) if whole else float(value)
    raise FilterError(f"{what} must be a {'whole ' * whole}number from {floor} to {ceiling}; got {value!r}")


def _range_words(low: float | None, high: float | None) -> str:
    if high is None:
        return _("at least {number}").format(number=f"{low or 0:g}")
    if low is None:
        return _("at most {number}").format(number=f"{high:g}")
    if low == high:
        return _("exactly {number}").format(number=f"{high:g}")
    return _("between {low} and {high}").format(low=f"{low:g}", high=f"{high:g}")


def _semitones(name: str, subject: str, low: Bound, high: Bound) -> Filter:
    low, high = _named_size(low), _named_size(high)
    lowest, highest = _checked_bounds(name, low, high, 0, 127, whole=True)
    return _between(name, lowest, highest, _range_of_intervals(subject, lowest, highest))


def _range_of_intervals(subject: str, low: float | None, high: float | None) -> str:
    """Each case has a separate sentence, because some languages decline the names of intervals."""
    if low is not None and high is not None and low != high:
        said = _("{subject} between {low} and {high} ({least} to {most} semitones).")
        return said.format(
            subject=subject, low=an_interval(int(low)), high=an_interval(int(high)), least=low, most=high
        )
    size = int((high if low is None else low) or 0)
    if high is None:
        said = _("{subject} at least {interval} ({semitones}).")
    elif low is None:
        said = _("{subject} at most {interval} ({semitones}).")
    else:
        said = _("{subject} exactly {interval} ({semitones}).")
    semitones = ngettext("{count} semitone", "{count} semitones", size).format(count=size)
    return said.format(subject=subject, interval=an_interval(size), semitones=semitones)


def _named_size(bound: Bound) -> int | float | None:
    return interval_semitones(bound) if isinstance(bound, str) else bound


def _between(column: str, low: float | None, high: float | None, sentence: str) -> Filter:
    values = range(low, high + 1) if isinstance(low, int) and isinstance(high, int) else range(0)
    parameters: tuple[Parameter, ...]
    if 0 < len(values) <= _LISTED_VALUES:
        # The index on features jumps to each value of a list, and on to the values of the next column.
        condition, parameters = f"features.{column} IN ({', '.join('?' * len(values))})", tuple(values)
    else:
        tests = [f"features.{column} {sign} ?" for sign, bound in ((">=", low), ("<=", high)) if bound is not None]
        condition, parameters = " AND ".join(tests), tuple(bound for bound in (low, high) if bound is not None)
    return Filter(call_text(column, low, high), "features", condition, parameters, sentence)


# -- by intervals -----------------------------------------------------------------------------------------------------


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
    """Share of this interval among all intervals, from 0 to 1, in both directions unless one is given.

    >>> print(share_of_interval("third", 0.5))
    Share of "third" among the intervals at least 0.5.
    """
    letters = parse_interval(interval, kind)
    lowest, highest = _checked_bounds("share_of_interval", low, high, 0, 1, whole=False)
    length, rest = f"length(strings.{kind})", f"strings.{kind}"
    for _each in letters:
        rest = f"replace({rest}, ?, '')"
    condition = f"1.0 * ({length} - length({rest})) / nullif({length}, 0) BETWEEN ? AND ?"
    parameters = (*letters, 0 if lowest is None else lowest, 1 if highest is None else highest)
    sentence = _('Share of "{interval}" among the intervals {range}.').format(
        interval=interval_words(letters[0], kind, has_direction=len(letters) == 1), range=_range_words(lowest, highest)
    )
    name = call_text("share_of_interval", interval, lowest, highest, kind=(kind, "diatonic"))
    return Filter(name, "strings", condition, parameters, sentence)


def pattern(text: str) -> Filter:
    """A pattern of intervals, wildcards, repeats and rhythms somewhere in the melody (patterns.py has the language).

    >>> print(pattern("^ +5 .{1,3} -2:L"))
    Has the pattern "^ +5 .{1,3} -2:L".
    """
    strings = ", ".join(f"strings.{name}" for name in compiled(text).strings)
    sentence = _('Has the pattern "{pattern}".').format(pattern=text.strip())
    return Filter(call_text("pattern", text), "strings", f"{PATTERN}(?, {strings})", (text,), sentence)


def repeats_motive(sequence: str, times: int = 2) -> Filter:
    """A motive (represent/strings.py) that contains these chromatic intervals and occurs at least `times` times.

    Three repeated notes are two unisons:

    >>> print(repeats_motive("unison, unison"))
    Repeats a motive with "unison, unison" in at least 2 places.
    """
    pattern = parse_intervals(sequence, "chromatic")
    _check_times("repeats_motive", times, 2)
    sql = "features.number IN (SELECT number FROM motives WHERE instr(motive, ?) > 0 AND occurrences >= ?)"
    said = _('Repeats a motive with "{intervals}" in at least {times} places.')
    said = said.format(intervals=interval_words(pattern, "chromatic"), times=times)
    return Filter(call_text("repeats_motive", sequence, times), "motives", sql, (pattern, times), said)


def _check_times(name: str, times: int, least: int) -> None:
    if not isinstance(times, int) or isinstance(times, bool) or times < least:
        raise FilterError(f"{name}: times must be a whole number, at least {least}; got {times!r}")


# -- by editing distance ----------------------------------------------------------------------------------------------


def contour_distance(query: str | Melody, at_most: float, costs: EditCosts | None = None) -> Filter:
    """Editing distance between the gross contour of the query (letters U, D, R, or a melody) and each melody's.

    `costs` is that of an insertion, a deletion and a replacement (represent/edits.py); `Selection.candidates` has each.

    >>> print(contour_distance("UUDR", 1))
    Gross contour at an editing distance of at most 1 from UUDR (insertion 1, deletion 1, replacement 1).
    """
    letters = strings_of(query).contour if isinstance(query, Melody) else query.strip().removeprefix("*").upper()
    return _edit_distance("contour", _("Gross contour"), letters, "UDR", at_most, costs or EditCosts())


def rhythm_distance(query: str | Melody, at_most: float, costs: EditCosts | None = None) -> Filter:
    """Editing distance between the rhythm string of the query (letters L, S, =, or a melody) and each melody's."""
    letters = strings_of(query).rhythm if isinstance(query, Melody) else query.strip().upper()
    return _edit_distance("rhythm", _("Rhythm"), letters, "LS=", at_most, costs or EditCosts())


def _edit_distance(column: str, subject: str, letters: str, known: str, at_most: float, costs: EditCosts) -> Filter:
    for position, letter in enumerate(letters, start=1):
        if letter not in known:
            expected = ", ".join(known)
            raise FilterError(f"{column}_distance: column {position}: expected one of {expected}; found {letter!r}")
    if isinstance(at_most, (bool, str)) or not 0 <= at_most < math.inf:
        raise FilterError(f"{column}_distance: the distance must be a finite number, at least 0; got {at_most!r}")
    # A candidate that is longer by n letters costs at least n insertions; that is quicker to see than the distance.
    shortest = len(letters) - _affordable(at_most, costs.deletion)
    longest = len(letters) + _affordable(at_most, costs.insertion)
    condition = f"length(strings.{column}) BETWEEN ? AND ? AND {EDIT_DISTANCE}(?, strings.{column}, ?) <= ?"
    parameters = (shortest, longest, letters, costs_as_text(costs), at_most + RECOMPUTED)
    sentence = _("{subject} at an editing distance of at most {distance} from {letters} ({costs}).").format(
        subject=subject, distance=f"{at_most:g}", letters=letters or _("nothing"), costs=costs
    )
    name = call_text(f"{column}_distance", letters, at_most, costs=(costs, EditCosts()))
    cost = Cost(f"{column} cost", f"{EDIT_DISTANCE}(?, strings.{column}, ?)", (letters, costs_as_text(costs)))
    return Filter(name, "strings", condition, parameters, sentence, cost)


def _affordable(at_most: float, cost: float) -> int:
    return 2**31 if cost * 2**31 <= at_most else int((at_most + RECOMPUTED) / cost)

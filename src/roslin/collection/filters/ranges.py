"""Filters by a number: pitch range, largest interval, number of notes, ratio of durations."""

from __future__ import annotations

from roslin.collection.chain import Filter, Parameter, call_text
from roslin.display.words import _, ngettext
from roslin.errors import FilterError
from roslin.melody.intervals import an_interval
from roslin.represent.strings import interval_semitones

_LISTED_VALUES = 24  # a range of at most so many whole numbers is written as a list

Bound = int | float | str | None


def pitch_range(low: Bound = None, high: Bound = None) -> Filter:
    """Semitones between the lowest and the highest note; names of intervals are understood.

    >>> print(pitch_range("octave", "minor tenth"))
    Pitch range between an octave and a minor tenth (12 to 15 semitones).
    """
    return _semitones("pitch_range", _("Pitch range"), low, high)


def max_interval(low: Bound = None, high: Bound = None) -> Filter:
    """Semitones of the largest step between two notes that follow each other; names of intervals are understood."""
    return _semitones("max_interval", _("Largest interval"), low, high)


def duration_ratio(low: Bound = None, high: Bound = None) -> Filter:
    """Shortest note over longest note, from 0 to 1."""
    lowest, highest = checked_bounds("duration_ratio", low, high, 0, 1, whole=False)
    sentence = _("Duration ratio {range} (shortest note over longest note).")
    return _between("duration_ratio", lowest, highest, sentence.format(range=range_words(lowest, highest)))


def note_count(low: Bound = None, high: Bound = None) -> Filter:
    """Notes of the melodic line."""
    lowest, highest = checked_bounds("note_count", low, high, 0, 10**9, whole=True)
    sentence = _("Number of notes {range}.").format(range=range_words(lowest, highest))
    return _between("note_count", lowest, highest, sentence)


def parse_range(text: str) -> tuple[Bound, Bound]:
    """Bounds as people type them; what is no number is left as a word for the filter to understand.

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


def checked_bounds(
    name: str, low: Bound, high: Bound, floor: int, ceiling: int, *, whole: bool
) -> tuple[float | None, float | None]:
    """The bounds as numbers from `floor` to `ceiling`; anything else is refused."""
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


def range_words(low: float | None, high: float | None) -> str:
    """Bounds in words: "at least 0.5"."""
    if high is None:
        return _("at least {number}").format(number=f"{low or 0:g}")
    if low is None:
        return _("at most {number}").format(number=f"{high:g}")
    if low == high:
        return _("exactly {number}").format(number=f"{high:g}")
    return _("between {low} and {high}").format(low=f"{low:g}", high=f"{high:g}")


def _semitones(name: str, subject: str, low: Bound, high: Bound) -> Filter:
    low, high = _named_size(low), _named_size(high)
    lowest, highest = checked_bounds(name, low, high, 0, 127, whole=True)
    return _between(name, lowest, highest, _range_of_intervals(subject, lowest, highest))


def _range_of_intervals(subject: str, low: float | None, high: float | None) -> str:
    """A sentence of its own for each case: some languages decline the names of intervals."""
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

"""The filters: conditions in SQL with bound parameters, each with a sentence for a musicologist (paper 002, 3.1).

Every function here checks its arguments, refuses with `FilterError`, and gives a `Filter`; `apply_filters` (chain.py)
applies a chain of them and `remove_near_duplicates` (duplicates.py) thins out what is left. `FILTERS` lists them by
name. Units are those of schema.sql: semitones for pitch, shares and ratios from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from roslin.collection.chain import (
    EDIT_DISTANCE,
    Addition,
    Cost,
    Filter,
    FilterReport,
    FilterStep,
    Parameter,
    apply_filters,
    costs_as_text,
)
from roslin.collection.dates import century_number, years_of
from roslin.collection.duplicates import NearDuplicate, remove_near_duplicates
from roslin.collection.folding import FOLDED_FIELDS, folded_field
from roslin.display.words import N_, _, ngettext
from roslin.errors import FilterError, UnknownNameError
from roslin.melody import Melody
from roslin.represent.edits import EditCosts
from roslin.represent.intervals import (
    Kind,
    an_interval,
    interval_semitones,
    interval_words,
    parse_interval,
    parse_intervals,
)
from roslin.represent.key_names import key_name
from roslin.represent.strings import contour_string, rhythm_string

__all__ = [
    "CENTURY",
    "FIELDS",
    "FILTERS",
    "Addition",
    "Filter",
    "FilterReport",
    "FilterStep",
    "NearDuplicate",
    "apply_filters",
    "contains",
    "contour_distance",
    "duration_ratio",
    "max_interval",
    "metadata",
    "note_count",
    "one_of",
    "parse_range",
    "pitch_range",
    "remove_near_duplicates",
    "repeats_motive",
    "rhythm_distance",
    "share_of_interval",
    "words",
]

FIELDS = FOLDED_FIELDS
CENTURY = "century"  # a field of `one_of` beside these
_FIELD_WORDS = {
    "title": N_("Title"),
    "composer": N_("Composer"),
    "voice": N_("Voice"),
    "key": N_("Key"),
    "metre": N_("Metre"),
    "text": N_("Text"),
    "source": N_("Source"),
    "scoring": N_("Scoring"),
    "library": N_("Library"),
    "date": N_("Date"),
    CENTURY: N_("Century"),
}
_SEARCHED_FIELDS = ("title", "composer", "text", "source")  # where `words` looks
_INDEXED_LETTERS = 3  # the index of intervals finds sequences of this length and more
_LISTED_VALUES = 24  # a range of at most so many whole numbers is written as a list
_ROUNDING = 1e-9  # sums of costs such as 0.1 are not exact

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
    lowest, highest = _checked_bounds("duration_ratio", low, high, 0, 1, whole=False)
    sentence = _("Duration ratio {range} (shortest note over longest note).")
    return _between("duration_ratio", lowest, highest, sentence.format(range=_in_words(lowest, highest, _plain)))


def note_count(low: Bound = None, high: Bound = None) -> Filter:
    """Notes of the melodic line."""
    lowest, highest = _checked_bounds("note_count", low, high, 0, 10**9, whole=True)
    sentence = _("Number of notes {range}.").format(range=_in_words(lowest, highest, _plain))
    return _between("note_count", lowest, highest, sentence)


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
    name = _call("contains", *sequences, kind=(kind, "diatonic"), times=(times, 1))
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
    lowest, highest = _checked_bounds("share_of_interval", low, high, 0, 1, whole=False)
    length, rest = f"length(strings.{kind})", f"strings.{kind}"
    for _each in letters:
        rest = f"replace({rest}, ?, '')"
    condition = f"1.0 * ({length} - length({rest})) / nullif({length}, 0) BETWEEN ? AND ?"
    parameters = (*letters, 0 if lowest is None else lowest, 1 if highest is None else highest)
    sentence = _('Share of "{interval}" among the intervals {range}.').format(
        interval=interval_words(letters[0], kind, has_direction=len(letters) == 1),
        range=_in_words(lowest, highest, _plain),
    )
    name = _call("share_of_interval", interval, lowest, highest, kind=(kind, "diatonic"))
    return Filter(name, "strings", condition, parameters, sentence)


def contour_distance(query: str | Melody, at_most: float, costs: EditCosts | None = None) -> Filter:
    """Editing distance between the gross contour of the query (letters U, D, R, or a melody) and each melody's.

    `costs` says what an insertion, a deletion and a replacement cost (represent/edits.py); what each melody costs is in
    `Selection.candidates`.

    >>> print(contour_distance("UUDR", 1))
    Gross contour at an editing distance of at most 1 from UUDR (insertion 1, deletion 1, replacement 1).
    """
    letters = contour_string(query) if isinstance(query, Melody) else query.strip().removeprefix("*").upper()
    return _edit_distance("contour", _("Gross contour"), letters, "UDR", at_most, costs or EditCosts())


def rhythm_distance(query: str | Melody, at_most: float, costs: EditCosts | None = None) -> Filter:
    """Editing distance between the rhythm string of the query (letters L, S, =, or a melody) and each melody's."""
    letters = rhythm_string(query) if isinstance(query, Melody) else query.strip().upper()
    return _edit_distance("rhythm", _("Rhythm"), letters, "LS=", at_most, costs or EditCosts())


def repeats_motive(sequence: str, times: int = 2) -> Filter:
    """A motive (represent/features.py) that contains these chromatic intervals and occurs at least so often.

    Three repeated notes are two unisons:

    >>> print(repeats_motive("unison, unison"))
    Repeats a motive with "unison, unison" in at least 2 places.
    """
    pattern = parse_intervals(sequence, "chromatic")
    _check_times("repeats_motive", times, 2)
    return Filter(
        _call("repeats_motive", sequence, times),
        "motives",
        "features.number IN (SELECT number FROM motives WHERE instr(motive, ?) > 0 AND occurrences >= ?)",
        (pattern, times),
        _('Repeats a motive with "{intervals}" in at least {times} places.').format(
            intervals=interval_words(pattern, "chromatic"), times=times
        ),
    )


def metadata(field: str, value: str, *, exactly: bool = False) -> Filter:
    """Words in what is known about a melody: anywhere, with or without accents, in any case; or exactly this value.

    A key is a key, however it is written.

    >>> print(metadata("title", "Roslin"), metadata("key", "g-Moll"))
    Title contains "Roslin". Key is G minor.
    """
    if field not in FIELDS:
        raise UnknownNameError("field", field, sorted(FIELDS))
    if not value or not _is_text(value):
        raise FilterError(f"{field}: must be text that is not empty; got {value!r}")
    sought = folded_field(field, value)
    if not sought:
        raise FilterError(f"{field}: must be text with letters or signs; got {value!r}")
    named = key_name(value) if field == "key" else None
    condition = f"folded.{field} = ?" if exactly or named else f"instr(folded.{field}, ?) > 0"
    said = _("{field} is {value}.") if exactly or named else _("{field} contains {value}.")
    name = _call("metadata", field, value, exactly=(exactly, False))
    return Filter(
        name, "folded", condition, (sought,), said.format(field=_field_words(field), value=_value_words(field, value))
    )


def one_of(field: str, *values: str) -> Filter:
    """A field that is one of several values as a whole, with or without accents and in any case; or a century.

    >>> print(one_of("key", "g", "d-Moll"), one_of("library", "CZ-Bu"), one_of("century", "18"))
    Key is G minor or D minor. Library is "CZ-Bu". Century is the 18th.
    """
    if not values:
        raise FilterError(f"{field}: needs at least one value; got none")
    said: list[str]
    if field == CENTURY:
        centuries = [century_number(value) for value in values]
        condition = " OR ".join(["folded.date BETWEEN ? AND ?"] * len(centuries))
        parameters = tuple(str(year) for century in centuries for year in years_of(century))
        said = [_("the {ordinal}").format(ordinal=_ordinal(century)) for century in centuries]
    else:
        exact = [metadata(field, value, exactly=True) for value in values]
        condition = f"folded.{field} IN ({', '.join('?' * len(exact))})"
        parameters = tuple(str(value) for each in exact for value in each.parameters)
        said = [_value_words(field, value) for value in values]
    sentence = _("{field} is {value}.").format(field=_field_words(field), value=_(" or ").join(said))
    return Filter(_call("one_of", field, *values), "folded", condition, parameters, sentence)


def _field_words(field: str) -> str:
    return _(_FIELD_WORDS.get(field, field.capitalize()))


def _value_words(field: str, value: str) -> str:
    """A key by its name, anything else between quotation marks."""
    return (key_name(value) if field == "key" else None) or f'"{value}"'


def _ordinal(number: int) -> str:
    """Of a century from the 11th to the 21st."""
    return (_("{number}st") if number % 10 == 1 and number > 20 else _("{number}th")).format(number=number)


def words(text: str) -> list[Filter]:
    """A filter for each word: it stands somewhere in title, composer, text or source.

    >>> print(*words("Roslin castle"))
    "Roslin" in title, composer, text or source. "castle" in title, composer, text or source.
    """
    return [_one_word(word) for word in text.split()]


def _one_word(word: str) -> Filter:
    parts = [metadata(field, word) for field in _SEARCHED_FIELDS]
    said = _("{word} in title, composer, text or source.").format(word=f'"{word}"')
    return Filter(
        _call("words", word),
        "folded",
        " OR ".join(part.sql for part in parts),
        tuple(value for part in parts for value in part.parameters),
        said,
    )


FILTERS: dict[str, Callable[..., Filter]] = {
    maker.__name__: maker
    for maker in (
        pitch_range,
        max_interval,
        duration_ratio,
        note_count,
        contains,
        share_of_interval,
        contour_distance,
        rhythm_distance,
        repeats_motive,
        metadata,
        one_of,
    )
}


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


# -- parts that several filters share -------------------------------------------------------------------------------


def _semitones(name: str, subject: str, low: Bound, high: Bound) -> Filter:
    low, high = _named_size(low), _named_size(high)
    lowest, highest = _checked_bounds(name, low, high, 0, 127, whole=True)
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


def _plain(value: float) -> str:
    return f"{value:g}"


def _in_words(low: float | None, high: float | None, word: Callable[[float], str]) -> str:
    if high is None:
        return _("at least {number}").format(number=word(low or 0))
    if low is None:
        return _("at most {number}").format(number=word(high))
    if low == high:
        return _("exactly {number}").format(number=word(high))
    return _("between {low} and {high}").format(low=word(low), high=word(high))


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


def _between(column: str, low: float | None, high: float | None, sentence: str) -> Filter:
    values = range(low, high + 1) if isinstance(low, int) and isinstance(high, int) else range(0)
    parameters: tuple[Parameter, ...]
    if 0 < len(values) <= _LISTED_VALUES:
        # The index on features jumps to each value of a list, and on to the values of the next column.
        condition, parameters = f"features.{column} IN ({', '.join('?' * len(values))})", tuple(values)
    else:
        tests = [f"features.{column} {sign} ?" for sign, bound in ((">=", low), ("<=", high)) if bound is not None]
        condition, parameters = " AND ".join(tests), tuple(bound for bound in (low, high) if bound is not None)
    return Filter(_call(column, low, high), "features", condition, parameters, sentence)


def _call(name: str, *arguments: object, **options: tuple[object, object]) -> str:
    """A call as text; an option is given as its value and its default."""
    named = [f"{option}={value!r}" for option, (value, default) in options.items() if value != default]
    return f"{name}({', '.join([*map(repr, arguments), *named])})"


def _check_times(name: str, times: int, least: int) -> None:
    if not isinstance(times, int) or isinstance(times, bool) or times < least:
        raise FilterError(f"{name}: times must be a whole number, at least {least}; got {times!r}")


def _is_text(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


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
    parameters = (shortest, longest, letters, costs_as_text(costs), at_most + _ROUNDING)
    sentence = _("{subject} at an editing distance of at most {distance} from {letters} ({costs}).").format(
        subject=subject, distance=f"{at_most:g}", letters=letters or _("nothing"), costs=costs
    )
    name = _call(f"{column}_distance", letters, at_most, costs=(costs, EditCosts()))
    cost = Cost(f"{column} cost", f"{EDIT_DISTANCE}(?, strings.{column}, ?)", (letters, costs_as_text(costs)))
    return Filter(name, "strings", condition, parameters, sentence, cost)


def _affordable(at_most: float, cost: float) -> int:
    """How many operations of one kind a distance can pay for."""
    return 2**31 if cost * 2**31 <= at_most else int((at_most + _ROUNDING) / cost)

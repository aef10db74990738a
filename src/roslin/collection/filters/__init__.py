"""Filters: conditions in SQL, each with a sentence for a musicologist (Typke et al. 2007, section 3.1).

    notes     by numbers, by the intervals that follow each other, by the editing distance from a query
    patterns  a small language for sequences of intervals
    chain     filters applied one after the other, and near-duplicates removed

Filters by what is known about a melody besides its notes (title, composer, key, century, and so on) are here.

Every function checks its arguments, refuses with `FilterError`, and gives a `Filter`. `FILTERS` lists them by name.
Units are those of schema.sql: semitones for pitch, shares and ratios from 0 to 1.

`all_asked` makes filters of names and texts, as people write them in the options of a command or in the file of a
study:

    pitch_range, max_interval           LOW..HIGH, in semitones or in names: "octave..minor tenth"
    duration_ratio, note_count          LOW..HIGH
    contains, contains_semitones        intervals, "fifth up, third down"; of several texts one is enough
    share                               INTERVAL=LOW..HIGH, "third=0.5.."
    motive                              intervals that are repeated
    pattern                             as patterns.py describes
    contour, rhythm                     COST from the query, or LETTERS=COST
    where                               FIELD=TEXT
    only                                FIELD=VALUE, the whole field; of several values of one field one is enough
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from roslin.collection.filters.chain import (
    Addition,
    Filter,
    FilterReport,
    FilterStep,
    NearDuplicate,
    apply_filters,
    call_text,
    remove_near_duplicates,
)
from roslin.collection.filters.notes import (
    contains,
    contour_distance,
    duration_ratio,
    max_interval,
    note_count,
    parse_range,
    pattern,
    pitch_range,
    repeats_motive,
    rhythm_distance,
    share_of_interval,
)
from roslin.collection.folding import FOLDED_FIELDS, century_number, folded_field, years_of
from roslin.display.words import N_, _
from roslin.errors import FilterError, UnknownNameError
from roslin.melody import Melody
from roslin.represent.edits import EditCosts
from roslin.represent.keys import key_name

__all__ = [
    "CENTURY", "FIELDS", "FILTERS", "Addition", "Filter", "FilterReport", "FilterStep", "NearDuplicate",
    "apply_filters", "contains", "contour_distance", "duration_ratio", "max_interval", "metadata", "note_count",
    "one_of", "parse_range", "pattern", "pitch_range", "remove_near_duplicates", "repeats_motive", "rhythm_distance",
    "share_of_interval", "words",
]  # fmt: skip

FIELDS = FOLDED_FIELDS
CENTURY = "century"  # a field of `one_of` beside these
_FIELD_WORDS = {
    "title": N_("Title"), "composer": N_("Composer"), "voice": N_("Voice"), "key": N_("Key"), "metre": N_("Metre"),
    "text": N_("Text"), "source": N_("Source"), "scoring": N_("Scoring"), "library": N_("Library"),
    "date": N_("Date"), CENTURY: N_("Century"),
}  # fmt: skip


def metadata(field: str, value: str, *, exactly: bool = False) -> Filter:
    """Words anywhere in a field, with or without accents, in any case and spelling of a key; `exactly`: all of it.

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
    name = call_text("metadata", field, value, exactly=(exactly, False))
    said = said.format(field=_field_words(field), value=_value_words(field, value))
    return Filter(name, "folded", condition, (sought,), said)


def one_of(field: str, *values: str) -> Filter:
    """A field that equals one of several values, with or without accents and in any case, or a century.

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
    return Filter(call_text("one_of", field, *values), "folded", condition, parameters, sentence)


def words(text: str) -> list[Filter]:
    """A filter for each word, which must occur in title, composer, text or source.

    >>> print(*words("Roslin castle"))
    "Roslin" in title, composer, text or source. "castle" in title, composer, text or source.
    """
    found = []
    for word in text.split():
        parts = [metadata(field, word) for field in ("title", "composer", "text", "source")]
        said = _("{word} in title, composer, text or source.").format(word=f'"{word}"')
        sql, sought = " OR ".join(part.sql for part in parts), (value for part in parts for value in part.parameters)
        found.append(Filter(call_text("words", word), "folded", sql, tuple(sought), said))
    return found


def _field_words(field: str) -> str:
    return _(_FIELD_WORDS.get(field, field.capitalize()))


def _value_words(field: str, value: str) -> str:
    return (key_name(value) if field == "key" else None) or f'"{value}"'


def _ordinal(number: int) -> str:
    return (_("{number}st") if number % 10 == 1 and number > 20 else _("{number}th")).format(number=number)


def _is_text(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


# -- by name and texts ------------------------------------------------------------------------------------------------

FILTERS: dict[str, Callable[..., Filter]] = {
    maker.__name__: maker
    for maker in (
        pitch_range, max_interval, duration_ratio, note_count, contains, share_of_interval, pattern, contour_distance,
        rhythm_distance, repeats_motive, metadata, one_of,
    )
}  # fmt: skip
NEAR = ("contour", "rhythm")  # these may need the query


def all_asked(
    asked: Mapping[str, Sequence[str]],
    *,
    times: int = 2,
    query: Melody | None = None,
    costs: EditCosts | None = None,
    label: Callable[[str], str] = str,
) -> list[Filter]:
    """The filters that names of `ASKED` make of texts, in their order; `label` names what a reader typed.

    `times` is for a motive, `query` and `costs` for contour and rhythm.

    >>> print(*all_asked({"note_count": ["..4"], "share": ["third=0.5..", "unison=..0.1"]}), sep="\\n")
    Number of notes at most 4.
    Share of "third" among the intervals at least 0.5.
    Share of "unison" among the intervals at most 0.1.
    """
    return [
        each
        for name, texts in asked.items()
        for each in _FROM_TEXTS[name](_Asked(texts, label(name), times, query, costs))
    ]


def metadata_of(text: str, label: str) -> Filter:
    """The filter that FIELD=TEXT asks for."""
    return metadata(*_pair(text, label, "FIELD=TEXT"))


def chosen_values(texts: Sequence[str], label: str = "only") -> dict[str, tuple[str, ...]]:
    """The values that FIELD=VALUE texts ask for, by field.

    >>> chosen_values(["key=g", "library=CZ-Bu", "key=d"])
    {'key': ('g', 'd'), 'library': ('CZ-Bu',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        field, sign, value = text.partition("=")
        if not (field and sign and value):
            raise FilterError(f"{label} must be FIELD=VALUE; got {text!r}")
        found[field] = (*found.get(field, ()), value)
    return found


def _pair(text: str, label: str, form: str) -> tuple[str, str]:
    left, sign, right = text.rpartition("=")
    if not (left and sign and right):
        raise FilterError(f"{label} must be {form}; got {text!r}")
    return left, right


@dataclass(frozen=True, slots=True)
class _Asked:
    """The texts that were typed for one filter, and what some filters need beside them."""

    texts: Sequence[str]
    label: str
    times: int
    query: Melody | None
    costs: EditCosts | None

    def ranges(self, make: Callable[..., Filter]) -> list[Filter]:
        return [make(*parse_range(text)) for text in self.texts]

    def shares(self) -> list[Filter]:
        pairs = [_pair(text, self.label, "INTERVAL=RANGE") for text in self.texts]
        return [share_of_interval(interval, *parse_range(bounds)) for interval, bounds in pairs]

    def patterns(self) -> list[Filter]:
        try:
            return [pattern(text) for text in self.texts]
        except FilterError as error:
            raise FilterError(f"{self.label}, {error}") from None

    def near(self, make: Callable[..., Filter]) -> list[Filter]:
        return [make(*self._near(text), self.costs) for text in self.texts]

    def _near(self, text: str) -> tuple[str | Melody, float]:
        letters, _, number = text.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            raise FilterError(f"{self.label} must be COST or LETTERS=COST; got {text!r}") from None
        near_to = letters or self.query
        if near_to is None:
            raise FilterError(f"{self.label} without LETTERS= needs a query; got {text!r}")
        return near_to, cost


_FROM_TEXTS: dict[str, Callable[[_Asked], list[Filter]]] = {
    "pitch_range": lambda asked: asked.ranges(pitch_range),
    "max_interval": lambda asked: asked.ranges(max_interval),
    "duration_ratio": lambda asked: asked.ranges(duration_ratio),
    "note_count": lambda asked: asked.ranges(note_count),
    "contains": lambda asked: [contains(*asked.texts)],
    "contains_semitones": lambda asked: [contains(*asked.texts, kind="chromatic")],
    "share": _Asked.shares,
    "motive": lambda asked: [repeats_motive(text, asked.times) for text in asked.texts],
    "pattern": _Asked.patterns,
    "contour": lambda asked: asked.near(contour_distance),
    "rhythm": lambda asked: asked.near(rhythm_distance),
    "where": lambda asked: [metadata_of(text, asked.label) for text in asked.texts],
    "only": lambda asked: [one_of(field, *values) for field, values in chosen_values(asked.texts, asked.label).items()],
}
ASKED = tuple(_FROM_TEXTS)  # cheap ones first, which is the order in which they are applied
_FROM_TEXTS |= {  # of the search page
    "title": lambda asked: [metadata("title", text) for text in asked.texts],
    "composer": lambda asked: [metadata("composer", text) for text in asked.texts],
    "words": lambda asked: [each for text in asked.texts for each in words(text)],
}

"""Filters by what is known about a melody besides its notes: title, composer, key, century, and so on."""

from __future__ import annotations

from roslin.collection.filters.chain import Filter, call_text
from roslin.collection.folding import FOLDED_FIELDS, century_number, folded_field, years_of
from roslin.display.words import N_, _
from roslin.errors import FilterError, UnknownNameError
from roslin.represent.keys import key_name

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

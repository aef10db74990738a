"""The words in use: English, unless the reader of a page has chosen another language.

Sentences for people are in the code, in English, as `_("...")`, or `ngettext("one ...", "{count} ...", n)` where they
depend on a number. Values are filled in afterwards, `_("bar {number}").format(number=3)`. A sentence in a table
that is made once is only marked there, with `N_("...")`, and goes through `_` where it is shown. Which language is in
use belongs to the context of a thread or task, so two people can be served at once. `roslin.web.language` has the
translations; everywhere else the sentences stay in English.

>>> _("Listen"), ngettext("one note", "{count} notes", 2).format(count=2), number(12345.5, 2)
('Listen', '2 notes', '12,345.50')
>>> capital("notes of a Tune"), continued("Notes of a Tune")
('Notes of a Tune', 'notes of a Tune')
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Words:
    """English, as it is in the code. Other languages are subclasses."""

    language = "en"

    def gettext(self, message: str) -> str:
        return message

    def ngettext(self, one: str, many: str, count: int) -> str:
        return one if count == 1 else many

    def number(self, value: float, digits: int = 0) -> str:
        return f"{value:,.{digits}f}"

    def continued(self, sentence: str) -> str:
        return f"{sentence[:1].lower()}{sentence[1:]}"


_ENGLISH = Words()
_in_use: ContextVar[Words] = ContextVar("words", default=_ENGLISH)


def words() -> Words:
    """The words in use."""
    return _in_use.get()


@contextmanager
def in_words(of: Words) -> Iterator[Words]:
    """Use these words for a while."""
    token = _in_use.set(of)
    try:
        yield of
    finally:
        _in_use.reset(token)


def _(message: str) -> str:
    """A sentence in the words in use."""
    return words().gettext(message)


def ngettext(one: str, many: str, count: int) -> str:
    """A sentence that depends on a number, in the words in use."""
    return words().ngettext(one, many, count)


def number(value: float, digits: int = 0) -> str:
    """A number as people write it who read these words."""
    return words().number(value, digits)


def continued(sentence: str) -> str:
    """A sentence as it follows a colon or a comma."""
    return words().continued(sentence)


def capital(sentence: str) -> str:
    """A sentence with a capital letter. The others stay, for nouns have capitals in some languages."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def N_(message: str) -> str:  # noqa: N802 - the name by which everybody knows it
    """A sentence to be translated where it is shown."""
    return message

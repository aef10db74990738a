"""The words of the pages. English is written in templates and scripts; other languages are gettext catalogues.

`translations/de.po` has every sentence of templates/experiment/*.html, of the Python of this room and of the scripts of
a trial, found by `_("...")` and `ngettext("...", "...", n)`. `tools/translate.py` brings it up to date; a test
fails while anything is missing. A message that a script uses has the name of a script among its places in the
catalogue: a page hands those over as JSON (`for_scripts`: sentence to translation, or to [singular, plural]).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files

from babel import Locale
from babel.core import UnknownLocaleError, negotiate_locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from roslin.experiment.plan import StudyPlan

__all__ = ["SOURCE_LANGUAGE", "Catalogues", "Translation", "catalogue"]

SOURCE_LANGUAGE = "en"
_MOST_ASKED_FOR = 20


@cache
def catalogue(language: str) -> Catalog | None:
    """The translations into a language; None: there are none, and pages are in English."""
    found = files("roslin.web.experiment").joinpath("translations", f"{language}.po")
    if not found.is_file():
        return None
    with found.open("rb") as lines:
        return read_po(lines, locale=language)


@dataclass(frozen=True, slots=True)
class Translation:
    """All sentences in one language."""

    language: str
    translations: NullTranslations
    for_scripts: dict[str, str | list[str]]

    def gettext(self, message: str) -> str:
        """A sentence."""
        return self.translations.gettext(message)

    def ngettext(self, one: str, many: str, number: int) -> str:
        """A sentence that depends on a number."""
        return self.translations.ngettext(one, many, number)


class Catalogues:
    """The words of a study in each of its languages."""

    def __init__(self, plan: StudyPlan):
        self._words = {language: _words(language) for language in plan.languages}
        self._first = plan.languages[0]

    def __getitem__(self, language: str) -> Translation:
        return self._words[language]

    @property
    def named(self) -> list[tuple[str, str]]:
        """Each language with its own name for itself."""
        return [(code, _own_name(code)) for code in self._words]

    def best(self, chosen: str, accepted: str) -> str:
        """The language that was chosen; else the first that a browser asks for; else the first of the study."""
        if chosen in self._words:
            return chosen
        found = negotiate_locale(list(_asked_for(accepted)), list(self._words), sep="-")
        return found if found in self._words else self._first


def _own_name(code: str) -> str:
    try:
        return str(Locale.parse(code, sep="-").get_display_name()).capitalize()
    except (UnknownLocaleError, ValueError):
        return code


def _asked_for(accepted: str) -> Iterator[str]:
    """The languages of an Accept-Language header, the most wanted first."""
    wanted = []
    for part in accepted.split(",")[:_MOST_ASKED_FOR]:
        name, _, weight = part.strip().partition(";q=")
        try:
            wanted.append((-float(weight or 1), name.strip()))
        except ValueError:
            continue
    yield from (name for weight, name in sorted(wanted, key=lambda each: each[0]) if weight < 0)


def _words(language: str) -> Translation:
    found = catalogue(language)
    if found is None:
        return Translation(language, NullTranslations(), {})
    compiled = io.BytesIO()
    write_mo(compiled, found)
    compiled.seek(0)
    used: dict[str, str | list[str]] = {
        message.id if isinstance(message.id, str) else message.id[0]: (
            message.string if isinstance(message.string, str) else list(message.string or ())
        )
        for message in found
        if message.id and any(place.endswith(".js") for place, _ in message.locations)
    }
    return Translation(language, GNUTranslations(compiled), used)

"""The languages of all pages, and the language of each request. English is written in the code. Others are catalogues.

`translations/LANGUAGE.po` has every sentence that templates, Python and scripts mark by `_("...")`, `N_("...")` and
`ngettext("...", "...", n)`. `tools/translate.py` brings it up to date. A message that a script uses has the name of a
script among its places in the catalogue: a page hands those over as JSON (`for_scripts`: sentence to translation, or to
[singular, plural]), and `words.js` looks them up.

A request names its language in the address (`?lang=de`, which a cookie then remembers), in the cookie, or by the
settings of the browser. Answers to programs (`/api/`) are in English.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache, cached_property
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from urllib.parse import parse_qsl, urlencode

from babel import Locale
from babel.core import UnknownLocaleError, negotiate_locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from roslin.display.words import Words, in_words, words
from roslin.web.security import Guard

LANGUAGES = ("en", "de", "fr", "it")  # of our own pages; a study lists its own
_MOST_ACCEPTED = 20  # entries of an Accept header


@cache
def catalogue(language: str) -> Catalog | None:
    """The translations into a language; None: there are none, and pages are in English."""
    found = files("roslin.web").joinpath("translations", f"{language}.po")
    if not found.is_file():
        return None
    with found.open("rb") as lines:
        return read_po(lines, locale=language)


class Translation(Words):
    """All sentences in one language; those that it lacks are in English."""

    def __init__(self, language: str):
        self.language = language
        self._catalogue, self._compiled = catalogue(language), NullTranslations()
        if self._catalogue is not None:
            compiled = io.BytesIO()
            write_mo(compiled, self._catalogue)
            compiled.seek(0)
            self._compiled = GNUTranslations(compiled)

    def gettext(self, message: str) -> str:
        return self._compiled.gettext(message)

    def ngettext(self, one: str, many: str, count: int) -> str:
        return self._compiled.ngettext(one, many, count)

    def number(self, value: float, digits: int = 0) -> str:
        if self._catalogue is None:
            return super().number(value, digits)
        pattern = f"#,##0.{'0' * digits}" if digits else "#,##0"
        return str(format_decimal(value, pattern, locale=self.language.replace("-", "_")))

    def continued(self, sentence: str) -> str:
        """A sentence as it follows a colon or a comma; in German it may begin with a noun, which keeps its capital."""
        return sentence if self.language.startswith("de") else super().continued(sentence)

    def for_scripts(self, is_wanted: Callable[[str], bool]) -> dict[str, str | list[str]]:
        """The translations for the scripts with these names, by sentence."""
        return {
            said: translated
            for said, (translated, scripts) in self._in_scripts.items()
            if any(is_wanted(name) for name in scripts)
        }

    @cached_property
    def _in_scripts(self) -> dict[str, tuple[str | list[str], tuple[str, ...]]]:
        """The translation and the names of the scripts, by sentence."""
        used = {}
        for message in self._catalogue or ():
            scripts = tuple(place for place, _ in message.locations if place.endswith(".js"))
            forms = (message.string,) if isinstance(message.string, str) else tuple(message.string or ())
            if message.id and scripts and all(forms):
                said = message.id if isinstance(message.id, str) else message.id[0]
                used[said] = (forms[0] if isinstance(message.id, str) else list(forms), scripts)
        return used


class Catalogues(dict[str, Translation]):
    """The words in several languages. The first is the default."""

    def __init__(self, languages: Sequence[str] = LANGUAGES):
        super().__init__((language, Translation(language)) for language in languages)

    @property
    def named(self) -> list[tuple[str, str]]:
        """Each language with its own name for itself."""
        return [(code, _own_name(code)) for code in self]

    def best(self, chosen: str, accepted: str) -> str:
        """The language that was chosen; else the first that a browser asks for; else the first of all."""
        if chosen in self:
            return chosen
        wanted = {name: -weight for name, weight in weights(accepted).items() if weight}
        found = negotiate_locale(sorted(wanted, key=wanted.__getitem__), list(self), sep="-")
        return found if found and found in self else next(iter(self))


def _own_name(code: str) -> str:
    try:
        return str(Locale.parse(code, sep="-").get_display_name()).capitalize()
    except (UnknownLocaleError, ValueError):
        return code


def weights(accepted: str) -> dict[str, float]:
    """What an Accept header lists, each with its weight from 0 to 1; 0 if the weight cannot be read."""
    found = {}
    for part in accepted.split(",")[:_MOST_ACCEPTED]:
        name, *parameters = (each.strip() for each in part.split(";"))
        given = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        found[name] = float(given) if re.fullmatch(r"[01](\.\d{0,3})?", given) else 0.0
    return found


LANGUAGE_COOKIE = "roslin_language"
_NAME = "lang"
_YEAR_SECONDS = 365 * 24 * 3600
_NOT_READ = ("/api/", "/static/", "/healthz", "/readyz")  # by people
_OF_OTHERS = ("trial", "published")  # how the names of scripts of a study, and of published pages, begin

_here: ContextVar[tuple[str, str]] = ContextVar("here", default=("/", ""))


@cache
def catalogues() -> Catalogues:
    """The languages of the page."""
    return Catalogues()


class InTheirLanguage(Guard):
    """Answer in the language of the reader, with headers that name it and what it depends on."""

    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        named, kept = request.query_params.get(_NAME, ""), request.cookies.get(LANGUAGE_COOKIE, "")
        if scope["path"].startswith(_NOT_READ):
            with in_words(catalogues()[named if named in catalogues() else "en"]):
                await self.app(scope, receive, send)
            return
        language = catalogues().best(
            named if named in catalogues() else kept, request.headers.get("accept-language", "")
        )

        async def send_told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Language"] = language
                headers.add_vary_header("Accept-Language, Cookie")
                if named == language != kept:
                    kept_for = f"Max-Age={_YEAR_SECONDS}; SameSite=Lax; HttpOnly"
                    headers.append("Set-Cookie", f"{LANGUAGE_COOKIE}={language}; Path=/; {kept_for}")
            await send(message)

        _here.set((scope["path"], request.url.query))
        with in_words(catalogues()[language]):
            await self.app(scope, receive, send_told)


def in_other_languages() -> list[tuple[str, str, str]]:
    """Each language: its code, its own name, and the address of this page in it."""
    path, query = _here.get()
    others = [each for each in parse_qsl(query, keep_blank_values=True) if each[0] != _NAME]
    return [(code, name, f"{path}?{urlencode([*others, (_NAME, code)])}") for code, name in catalogues().named]


def words_for_scripts() -> dict[str, str | list[str]]:
    """The translations for the scripts of the page, in the language in use."""
    return catalogues()[words().language].for_scripts(lambda name: not name.startswith(_OF_OTHERS))

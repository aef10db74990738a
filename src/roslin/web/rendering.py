"""Pages from the templates of this room, in the one environment of `roslin.display.templates` and the words in use."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Protocol

from roslin.display.words import _, words
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers.base import MODE_WORDS, MODES
from roslin.run.meaning import CHANCE_LINE
from roslin.web.imprint import Imprint
from roslin.web.language import in_other_languages, words_for_scripts
from roslin.web.requests import SearchParams, where_to
from roslin.web.search import Found
from roslin.web.sentences import chance_words, in_bars, key_words, method_words, query_name, result_sentence
from roslin.web.static_files import address
from roslin.web.under_path import page, path_here


class OnPages(Protocol):
    """What pages show of a collection, or of several."""

    @property
    def title(self) -> str: ...
    @property
    def collection(self) -> Sized: ...
    @property
    def imprint(self) -> Imprint | None: ...


def rendered(library: OnPages, template: str, **values: Any) -> str:
    """A template with these values and those of every page."""
    return page(
        f"web/{template}",
        library=library,
        start=path_here().rpartition("/")[0] + "/",
        imprint=library.imprint,
        site=library.imprint.site if library.imprint else None,
        language=words().language,
        languages=in_other_languages(),
        words=words_for_scripts(),
        static=address,
        where_to=where_to,
        sentence=_sentence,
        by_chance=chance_words,
        method=method_words,
        in_bars=in_bars,
        key_words=key_words,
        query_name=query_name,
        search_title=_search_title,
        result_sentence=result_sentence,
        mode_words=MODE_WORDS,
        CHANCE_LINE=CHANCE_LINE,
        usual_matcher=DEFAULT_MATCHER,
        **values,
    )


def _sentence(text: str) -> str:
    """A message of an error as a sentence on a page.

    >>> _sentence("there is no such file")
    'There is no such file.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _search_title(asked: SearchParams, found: Found | None) -> str:
    """The query for the title of a page: the melody and the aspects compared; "" without a query."""
    if found is None:
        return ""
    chosen = [MODE_WORDS[name][value] for name in MODES if (value := getattr(asked, name))]
    return ", ".join([_("Melodies like {name}").format(name=query_name(found.query)), *map(_, chosen)])

"""Pages from the templates of this room, in the one environment of `roslin.display.templates` and the words in use."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from roslin.display.templates import render
from roslin.display.words import _, words
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers.modes import MODE_WORDS, MODES
from roslin.run.meaning import CHANCE_LINE
from roslin.web.language import in_other_languages, words_for_scripts
from roslin.web.library import Library
from roslin.web.requests import SearchParams, where_to
from roslin.web.search import Found
from roslin.web.sentences import chance_words, in_bars, key_words, method_words, query_name, result_sentence
from roslin.web.static_files import address


def rendered(library: Library, template: str, **values: Any) -> str:
    """What a template makes of these values, and of those that every page knows."""
    return render(
        f"web/{template}",
        library=library,
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
        roslin_version=version("roslin"),
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
    """What was asked, for the title of a page: the melody, and what of it counts; empty before anything is."""
    if found is None:
        return ""
    chosen = [MODE_WORDS[name][value] for name in MODES if (value := getattr(asked, name))]
    return ", ".join([_("Melodies like {name}").format(name=query_name(found.query)), *map(_, chosen)])

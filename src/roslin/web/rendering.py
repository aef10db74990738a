"""Pages from the templates of this room, in the one environment of `roslin.display.templates` and the words in use."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from roslin.display.templates import render
from roslin.display.words import words
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers.modes import MODE_WORDS
from roslin.run.meaning import by_chance
from roslin.web.library import Library
from roslin.web.routes.static import address
from roslin.web.schemas import where_to
from roslin.web.speaking import in_other_languages, words_for_scripts

__all__ = ["rendered"]


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
        by_chance=by_chance,
        mode_words=MODE_WORDS,
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

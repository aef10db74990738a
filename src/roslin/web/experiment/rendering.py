"""Pages from templates, in the language of the reader."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from typing import Any

from fastapi import Request
from markupsafe import Markup

from roslin.display.templates import render
from roslin.display.words import in_words
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.visitor import visitor_or_none
from roslin.web.language import Translation
from roslin.web.static_files import address


def language_of(request: Request) -> str:
    """The language of the reader: chosen, or what their browser asks for, or the first of the study.

    Experts have chosen in the session; whoever is none yet, in the address.
    """
    study: OpenStudy = request.app.state.study
    who = visitor_or_none(request)
    chosen = request.query_params.get("language", "") if who is None else who.language
    return study.catalogues.best(chosen, request.headers.get("accept-language", ""))


def words_of(request: Request) -> Translation:
    """The words of the pages in the language of the reader."""
    study: OpenStudy = request.app.state.study
    return study.catalogues[language_of(request)]


def page(request: Request, template: str, **values: Any) -> str:
    """What a template makes of these values, and of those that every page knows."""
    study: OpenStudy = request.app.state.study
    who = visitor_or_none(request)
    words, plan = words_of(request), study.plan
    with in_words(words):
        return render(
            f"web/experiment/{template}",
            plan=plan,
            title=plan.text(plan.title, words.language),
            language=words.language,
            languages=study.catalogues.named,
            words=words.for_scripts(lambda name: name.startswith("trial")),
            text=lambda text: markdown(plan.text(text, words.language)),
            label=lambda text: plan.text(text, words.language),
            static=address,
            path=request.url.path,
            query=request.url.query,
            is_known=who is not None,
            csrf="" if who is None else who.form,
            roslin_version=version("roslin"),
            **values,
        )


@lru_cache(maxsize=256)
def markdown(text: str) -> Markup:
    """A text of the study as HTML. Tags in it are shown as text, and nothing is loaded from anywhere."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
    return Markup(reader.render(text))  # noqa: S704 - markdown-it escapes what it is given

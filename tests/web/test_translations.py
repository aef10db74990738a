"""The catalogues have every sentence, and no template or script says anything that is not in them."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest
from babel.messages.jslexer import tokenize

from roslin.web.language import LANGUAGES, Translation

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from translate import TRANSLATIONS, as_text, said, untranslated, updated

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "roslin" / "web"
CATALOGUES = sorted(TRANSLATIONS.glob("*.po"))
# Pages for the experimenter of a study are in English.
_IN_ENGLISH = ("dashboard",)
TEMPLATES = [
    path
    for path in (*sorted((WEB / "templates").rglob("*.html")), *(ROOT / "src/roslin/report/templates").glob("*.html"))
    if not set(_IN_ENGLISH) & set(path.parts) and re.search(r"\b(_|ngettext)\(", path.read_text(encoding="utf-8"))
]
SCRIPTS = [path for path in sorted((WEB / "static").glob("*.js")) if path.stem not in _IN_ENGLISH]
_FILLED_IN = re.compile(r"\$\{(?:[^{}]|\{[^{}]*\})*\}")
# Names, which are the same in every language.
NAMES = {"Roslin", "MIDI", "JSON", "LD", "CSV", "TREC", "ABC", "va", "GET", "POST"}

merged = cache(updated)  # catalogues are only read here


def test_the_catalogues_are_those_of_the_page() -> None:
    assert {path.stem for path in CATALOGUES} == set(LANGUAGES) - {"en"}


@pytest.mark.long
@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_every_sentence_is_translated(path: Path) -> None:
    catalogue = merged(path)
    assert untranslated(catalogue) == [], "run tools/translate.py, and translate"
    assert as_text(catalogue) == path.read_text(encoding="utf-8"), "run tools/translate.py"


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_values_stand_in_both(path: Path) -> None:
    for message in merged(path):
        if message.id:
            ids, strings = ((each,) if isinstance(each, str) else each or () for each in (message.id, message.string))
            wanted = set(re.findall(r"\{\w+\}", ids[-1]))
            assert all(set(re.findall(r"\{\w+\}", each)) <= wanted for each in strings), ids
            assert set(re.findall(r"\{\w+\}", strings[-1])) == wanted, ids
            assert all(len(each) - len(each.lstrip()) == len(ids[0]) - len(ids[0].lstrip()) for each in strings), ids


@pytest.mark.long
def test_the_catalogue_knows_what_is_said() -> None:
    places = {message.id: {name for name, _ in message.locations} for message in said() if message.id}
    assert places["Continue"] >= {"consent.html", "questions.html"}
    assert "participants.py" in places["Please enter a number."]
    assert "sentences.py" in places["Same tune, any key and tempo (recommended)"]
    assert "results.js" in places["Drawing …"]
    assert ("One answer needs your attention.", "{count} answers need your attention.") in places
    assert ("one note differs", "{count} notes differ") in places


def test_numbers_and_plurals_are_those_of_the_language() -> None:
    french, italian, german = (Translation(code) for code in ("fr", "it", "de"))
    assert [french.ngettext("one note differs", "{count} notes differ", n) for n in (0, 1, 2)] == [
        "une note diffère", "une note diffère", "{count} notes diffèrent"
    ]  # fmt: skip
    assert italian.ngettext("one note differs", "{count} notes differ", 0) == "{count} note sono diverse"
    assert [each.number(1234.5, 1).replace("\u202f", " ") for each in (french, italian, german)] == [
        "1 234,5", "1.234,5", "1.234,5"
    ]  # fmt: skip
    assert [each.gettext("B") for each in (french, italian, german)] == ["si", "si", "H"]
    assert german.gettext("B flat") == "B"


def test_there_are_templates_and_scripts_to_look_at() -> None:
    names = {path.name for path in (*TEMPLATES, *SCRIPTS)}
    assert names >= {"search.html", "_results.html", "trial.html", "figure.html", "entry.js", "results.js", "trial.js"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_template_says_anything_by_itself(path: Path) -> None:
    """Whatever is left when tags and expressions are gone is shown to everybody as it stands."""
    text = path.read_text(encoding="utf-8")
    shown = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", text, flags=re.DOTALL)
    bare = re.sub(r"<(script|kbd|code)\b.*?</\1>|<[^>]*>", " ", shown, flags=re.DOTALL)
    assert [word for word in re.findall(r"[^\W\d_]{2,}", bare) if word not in NAMES] == []
    spoken = re.findall(r'\b(?:aria-label|alt|title|data-done)="([^"]*)"', shown)
    assert [word for word in re.findall(r"[^\W\d_]{2,}", " ".join(spoken)) if word not in NAMES] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_expression_of_a_template_says_anything_by_itself(path: Path) -> None:
    """A sentence begins with a capital letter, or has several words, and stands in `_` or `ngettext`."""
    text = path.read_text(encoding="utf-8")
    for found in re.findall(r"\{\{.*?\}\}|\{%.*?%\}", text, flags=re.DOTALL):
        without = re.sub(r'\b(?:_|ngettext)\(\s*("[^"]*"|\'[^\']*\')(\s*,\s*("[^"]*"|\'[^\']*\'))?', "", found)
        strings = [one or two for one, two in re.findall(r'"([^"]*)"|\'([^\']*)\'', without)]
        assert [each for each in strings if _is_said(each)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_says_anything_by_itself(path: Path) -> None:
    before, depth, inside = ["", ""], 0, 0
    for token in tokenize(path.read_text(encoding="utf-8"), jsx=False, template_string=True):
        if token.type == "linecomment" or token.type == "multilinecomment":
            continue
        if token.value == "(":
            depth += 1
            if before[-1] in ("_", "ngettext") and not inside:
                inside = depth
        elif token.value == ")":
            if depth == inside:
                inside = 0
            depth -= 1
        elif token.type in ("string", "template_string") and not inside:
            value = token.value[1:-1]
            is_shown = before[-1] == "=" and before[-2] in ("textContent", "title", "placeholder", "ariaLabel")
            assert not _is_said(value), f"{path.name}:{token.lineno}: {value}"
            assert not (is_shown and re.search(r"[^\W\d_]{2,}", _FILLED_IN.sub("", value))), f"{path.name}: {value}"
        before.append(token.value)


def _is_said(text: str) -> bool:
    """Whether a text looks like a sentence: several words, the first with a capital letter."""
    bare = _FILLED_IN.sub(" ", text)
    return bool(re.match(r"\s*[A-Z][^\W\d_]+ [^\W\d_]{2,}", bare)) and bare.strip() not in ("Plaine & Easie",)

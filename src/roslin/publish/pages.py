"""Publishes a collection: pages in all languages, scripts, kernels and data as files for any web server.

    index.html, de.html, ...   the page in each language
    service-worker.js          keeps everything for visits without a network
    files-MARK/                scripts, styles, kernels and data (`data`); the mark changes whenever one of them does

The page is that of `roslin serve`: its scripts for entry and results are the same, and `published.js` answers in the
browser what a server would answer. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from roslin.api import Collection
from roslin.display.templates import render
from roslin.display.words import in_words
from roslin.engrave import engrave
from roslin.errors import ArgumentError, MissingExtraError
from roslin.matchers.base import MODE_WORDS
from roslin.native.build import BuildError, build_wasm
from roslin.notation.query import read_query
from roslin.publish.data import MELODIES_OF_DETAILS, write_data
from roslin.types import Progress
from roslin.web.language import catalogues
from roslin.web.pages import examples
from roslin.web.requests import SearchParams, where_to
from roslin.web.settings import Settings

_FROM_THE_SERVER = (
    "style.css", "editor.css", "lists.css", "icon.svg", "words.js", "results.js", "piano.js", "singing.js", "heard.js",
    "entry.js", "entry-history.js", "editor.js", "editor-drawing.js", "editor-edits.js", "editor-text.js", "pitch.js",
    "microphone.js", "microphone-worklet.js", "rhythm.js", "segments.js",
)  # fmt: skip
_OF_OTHER_PAGES = ("trial",)  # how the names of scripts begin whose words are not needed
_GLYPH = re.compile(r'<g id="(E[0-9A-F]{3})">.*?</g>')
# Music in which every glyph occurs that the drawings of the page need.
_WITH_GLYPHS = (
    "%G-2@2/8 '2xC4bD8nC6xxE3bbF5-3-6-8-4-2-1-1C''''8C6C3C5C,,8C6C3C5C",
    "%F-4@c '1C/", "%C-3@c/ '1C/", "%G-2@3/4 '2.C/", "%G-2@9/16 '2C/", "%G-2@5/7 '2C/", "%G-2@10/8 '2C/",
)  # fmt: skip
_WORKER = "service-worker.js"


def publish(
    collection: Collection,
    folder: Path,
    *,
    title: str = "",
    link: str = "",
    replace: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write a collection as a folder of static files, and return its size in bytes.

    `link` is the address pattern of a melody at its source. An existing folder is replaced only with `replace`, and
    only if it was written by this function.
    """
    if not len(collection):
        raise ArgumentError(f"{collection.path}: the collection is empty; add melodies before you publish it")
    _check_folder(folder, replace)
    try:
        kernels = build_wasm()
    except BuildError as error:
        raise ArgumentError(f"the kernels for browsers are missing: {error}") from error
    settings = Settings(str(collection.path), title=title, link=link)
    title = title or collection.path.name.removesuffix(".roslin")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        made, data = Path(place) / "made", Path(place) / "made" / "files"
        data.mkdir(parents=True)
        _copy_scripts(data, kernels)
        write_data(collection, data, settings.link_to, progress or (lambda _done, _what: None))
        mark = _mark(data)
        data.rename(made / mark)
        _write_pages(made, mark, title, len(collection))
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        if folder.exists():
            folder.rename(Path(place) / "old")  # it goes with the temporary folder, once the new one is there
        made.rename(folder)
    return size


def _check_folder(folder: Path, replace: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not replace:
        raise ArgumentError(f"{folder}: the folder is not empty; choose another one, or replace it with --replace")
    if not folder.is_dir() or not (folder / _WORKER).is_file():
        raise ArgumentError(f"{folder}: --replace replaces only a folder that roslin publish has written")


def _copy_scripts(target: Path, kernels: Path) -> None:
    shutil.copy(kernels, target / "roslin.wasm")
    shutil.copy(str(files("roslin.report").joinpath("player.js")), target)
    for name in _FROM_THE_SERVER:
        shutil.copy(str(files("roslin.web").joinpath("static", name)), target)
    for path in Path(str(files("roslin.publish").joinpath("static"))).glob("published*"):
        shutil.copy(path, target)


def _mark(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(path.name.encode() + path.read_bytes())
    return f"files-{found.hexdigest()[:12]}"


def _write_pages(made: Path, mark: str, title: str, count: int) -> None:
    known = catalogues()
    pages = {code: "index.html" if code == "en" else f"{code}.html" for code, _ in known.named}
    glyphs = _glyphs()
    for code, page in pages.items():
        with in_words(known[code]):
            text = render(
                "publish/page.html",
                language=code,
                languages=known.named,
                pages=pages,
                here=page,
                files=mark,
                title=title,
                count=count,
                pack=MELODIES_OF_DETAILS,
                glyphs=glyphs,
                words=known[code].for_scripts(lambda name: not name.startswith(_OF_OTHER_PAGES)),
                mode_words=MODE_WORDS,
                asked=SearchParams(),
                where_to=_where_to,
                examples=examples(),
                reads_abc=False,
                **dict.fromkeys(("refusal", "browsed", "found"), None),
            )
        (made / page).write_text(text, "utf-8")
    names = sorted(path.name for path in (made / mark).iterdir())
    first = ["./", *pages.values(), *(f"{mark}/{name}" for name in names if not name.startswith("melodies-"))]
    later = [f"{mark}/{name}" for name in names if name.startswith("melodies-")]
    content = json.dumps(json.dumps({"name": f"roslin-{mark}", "files": {"first": first, "later": later}}))
    worker = files("roslin.publish").joinpath("static", _WORKER).read_text("utf-8")
    (made / _WORKER).write_text(worker.replace('"FILES"', content), "utf-8")


def _where_to(asked: BaseModel, path: str, **changes: Any) -> str:
    """An address of this page, wherever it is."""
    return where_to(asked, path, **changes).removeprefix("/")


def _glyphs() -> str:
    """The glyphs of staff notation, each once."""
    found = dict[str, str]()
    for text in _WITH_GLYPHS:
        drawn = engrave(read_query(text))
        if not drawn.drawn:
            raise MissingExtraError("roslin publish", "verovio", "web")
        found |= {each[1]: each[0] for each in _GLYPH.finditer(drawn.svg)}
    return "".join(found.values())

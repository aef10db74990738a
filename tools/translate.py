"""Bring the translations of the pages up to date with what templates, Python and scripts say.

    python tools/translate.py            update every catalogue, and say what is to be translated
    python tools/translate.py --check    change nothing; fail where something is missing

New sentences are added without a translation, those that nobody says any more are removed. Sentences that differ a
little from an old one are not guessed at. Edit src/roslin/web/translations/*.po by hand or with any editor for gettext
catalogues.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

_ROSLIN = Path(__file__).resolve().parents[1] / "src" / "roslin"
TRANSLATIONS = _ROSLIN / "web" / "translations"
_METHODS = {".html": "jinja2.ext:babel_extract", ".py": "python", ".js": "javascript"}
_KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2)}
_OPTIONS = {"parse_template_string": True}  # of scripts


def _sources() -> Iterator[Path]:
    """Whatever may say something to the reader of a page: any room may, by `roslin.display.words`."""
    yield from sorted(path for suffix in _METHODS for path in _ROSLIN.rglob(f"*{suffix}"))


def said() -> Catalog:
    """Every sentence that the pages say, with the files that say it."""
    catalogue = Catalog(project="Roslin", charset="utf-8")
    for path in _sources():
        for _line, message, _comments, _context in extract_from_file(
            _METHODS[path.suffix], path, _KEYWORDS, options=_OPTIONS
        ):
            catalogue.add(message, locations=[(path.name, 0)])
    return catalogue


def updated(path: Path) -> Catalog:
    """A catalogue with the sentences of today, in the translations that it has."""
    with path.open("rb") as lines:
        kept = read_po(lines, locale=path.stem)
    old: dict[object, Message] = {message.id: message for message in kept if message.id}
    new = Catalog(locale=path.stem, project="Roslin", charset="utf-8", fuzzy=False)
    for message in said():
        if message.id:
            before = old.get(message.id)
            new.add(message.id, before.string if before else None, locations=message.locations)
    return new


def as_text(catalogue: Catalog) -> str:
    """The catalogue as a file, without what changes with every day."""
    out = BytesIO()
    write_po(out, catalogue, width=120, omit_header=True, sort_output=True, ignore_obsolete=True, include_lineno=False)
    head = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Language: {catalogue.locale}\\n"\n'
    return f'{head}"Plural-Forms: {catalogue.plural_forms}\\n"\n\n{out.getvalue().decode()}'


def untranslated(catalogue: Catalog) -> list[str]:
    """The sentences without a translation."""
    return [
        message.id if isinstance(message.id, str) else message.id[0]
        for message in catalogue
        if message.id and not (message.string and all(message.string))
    ]


def main() -> int:
    """Update, or check."""
    is_check, failed = "--check" in sys.argv[1:], False
    for path in sorted(TRANSLATIONS.glob("*.po")):
        catalogue = updated(path)
        left, text = untranslated(catalogue), as_text(catalogue)
        is_old = text != path.read_text(encoding="utf-8")
        if not is_check:
            path.write_text(text, encoding="utf-8")
        failed = failed or bool(left) or (is_check and is_old)
        print(f"{path.name}: {len(left)} to be translated{', out of date' if is_check and is_old else ''}")
        for sentence in left:
            print(f"  {sentence}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

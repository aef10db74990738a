"""Bring the translations of the pages up to date with what templates, Python and scripts say.

    python tools/translate.py            update every catalogue, and say what is to be translated
    python tools/translate.py --check    change nothing; fail where something is missing

New sentences are added without a translation, those that nobody says any more are removed. Sentences that differ a
little from an old one are not guessed at. Edit src/roslin/web/translations/*.po by hand or with any editor for gettext
catalogues.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

_ROSLIN = Path(__file__).resolve().parents[1] / "src" / "roslin"
TRANSLATIONS = _ROSLIN / "web" / "translations"
_METHODS = {".html": "jinja2.ext:babel_extract", ".py": "python", ".js": "javascript"}
_KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2)}
_OPTIONS = {"parse_template_string": True}  # of scripts
_MAKE_PROBLEMS = ("Problem", "problem", "problem_at", "refusal", "warn", "Damage")
_TYPED = re.compile(r"pae/|abc/|(names|typed|query|volpiano|gabc)\.py")  # readers of music that people type
_NAMES = (
    "_DIALECT",
    "_MUSIC_SIGN",
    "_NOTE_OR_SIGN",
    "expected",
    "found_there",
    "kind",
    "taken",
)  # of texts of problems


def _sources() -> Iterator[Path]:
    """Whatever may say something to the reader of a page: any room may, by `roslin.display.words`."""
    yield from sorted(path for suffix in _METHODS for path in _ROSLIN.rglob(f"*{suffix}"))


def said() -> Catalog:
    """Every sentence that the pages say, with the files that say it."""
    catalogue = Catalog(project="Roslin", charset="utf-8")
    for message, name in _sentences():
        catalogue.add(message, locations=[(name, 0)])
    return catalogue


@cache
def _sentences() -> list[tuple[Any, str]]:
    found = [
        (message, path.name)
        for path in _sources()
        for _line, message, _comments, _context in extract_from_file(
            _METHODS[path.suffix], path, _KEYWORDS, options=_OPTIONS
        )
    ]
    for path in sorted(path for path in (_ROSLIN / "notation").rglob("*.py") if path.stem not in ("writer", "lengths")):
        tree, is_typed = ast.parse(path.read_text(encoding="utf-8")), bool(_TYPED.search(str(path)))
        for text in _texts_of_reader(tree, is_typed=is_typed):
            if re.search("[a-z]{2}", text.replace("{value}", "")) and text != "acde":
                found.append((text, path.name))
    return found


def _texts_of_reader(tree: ast.Module, *, is_typed: bool) -> Iterator[str]:
    """The texts of problems; of files, which people do not type, only the reasons."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1].strip("_") in _MAKE_PROBLEMS:
            first = 1 if isinstance(node.args[0], ast.Name) else 0
            values = [
                *(node.args if is_typed else node.args[first : first + 1]),
                *(each.value for each in node.keywords),
            ]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and is_typed:
            name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            values = [node.value] if name in _NAMES and node.value else []
        else:
            continue
        yield from (text for value in values for text in _texts(value))


def _texts(value: ast.AST) -> Iterator[str]:
    """The texts of an expression. Values in them are `{value}`; text after a colon and a value is not translated."""
    if isinstance(value, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "{value}" for part in value.values]
        yield "".join(parts).partition(": ")[0]
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp | ast.BoolOp | ast.Dict | ast.DictComp | ast.Tuple | ast.Call):
        for each in ast.iter_child_nodes(value):
            yield from _texts(each)


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

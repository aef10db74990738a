"""A result list to take along: CSV for a spreadsheet, a TREC run for `roslin evaluate`, citations."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

from roslin.web.service import Found, Result

__all__ = ["EXPORTS", "Export"]

_MEASURED = ("rank", "distance", "expected", "meaning")
_ABOUT = ("id", "title", "composer", "voice", "key", "metre", "text", "source")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TEX = re.compile(r"[\\{}$&#%_^~]")


def _as_csv(found: Found, _title: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*_MEASURED, *_ABOUT, "link"])
    for result in found.results:
        hit, about = result.hit, [getattr(result.melody, name) for name in _ABOUT]
        expected = "" if hit.expected is None else repr(hit.expected)
        measured = [hit.rank, repr(hit.distance), expected, hit.meaning]
        writer.writerow([*measured, *map(_cell, about), result.link or ""])
    return out.getvalue()


def _cell(text: str | None) -> str:
    """A cell that no spreadsheet takes for a formula: a title may contain anything."""
    return f"'{text}" if text and text.startswith(_FORMULA) else text or ""


def _as_trec(found: Found, _title: str) -> str:
    ranks = [result.rank for result in found.results]
    lines = found.run.to_trec().splitlines(keepends=True)
    return "".join(lines[rank - 1] for rank in ranks)


def _as_citations(found: Found, title: str) -> str:
    return "\n".join(_citation(result, title) for result in found.results)


def _citation(result: Result, title: str) -> str:
    melody = result.melody
    word = re.sub(r"[^A-Za-z0-9:.-]+", "-", melody.id or f"melody-{result.rank}")
    fields = {
        "author": melody.composer,
        "title": melody.title or melody.text or melody.id,
        "howpublished": melody.source,
        "note": f"{title}, melody {melody.id}" + (f", {melody.key}" if melody.key else ""),
        "url": result.link,
    }
    lines = [f"  {name} = {{{_tex(name, value)}}},\n" for name, value in fields.items() if value]
    return f"@misc{{{word},\n{''.join(lines)}}}\n"


def _tex(name: str, text: str) -> str:
    text = " ".join(text.split())
    return text if name == "url" else _TEX.sub(lambda sign: _ESCAPED.get(sign[0], f"\\{sign[0]}"), text)


_ESCAPED = {"\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}"}

Export = tuple[Callable[[Found, str], str], str, str]

# name: (how it is written, media type, file name)
EXPORTS: dict[str, Export] = {
    "csv": (_as_csv, "text/csv", "results.csv"),
    "trec": (_as_trec, "text/plain", "results.run"),
    "citations": (_as_citations, "application/x-bibtex", "results.bib"),
}

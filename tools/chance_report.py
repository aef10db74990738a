"""Expected against seen chance matches of `roslin`, and how often its words are right.

    .venv/bin/python tools/chance_report.py build/roslin build/chance --plot docs/images/chance.svg

Collections: incipits (RISM), tune books, Essen songs. Queries of 8, 12, 20 and 40 notes that have no relative in the
collection they are searched for in: melodies of the other collections, and decoys (the pitches of a melody of the same
collection in reverse order) of melodies that had no part in the calibration. For each, how many melodies of the
collection have E of at most 0.01, 0.1, 1 and 10: by its meaning the mean over queries should be just that. A query of
another collection may have a relative after all; the decoys cannot.

Words: whole melodies and first 12 notes of the share `report`, searched for in their collection without themselves. Of
the ten nearest, how many with each word belong to the query by RISM's lists or by title (cleaned; `roslin_data`), and
how many have the same composer; copies that nobody judged are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from roslin import Collection, Melody
from roslin.matchers import Roslin
from roslin.matchers.roslin._alignment import Encoded
from roslin.report.svg import SvgElement, circle, line, path, plot_style, svg, text
from roslin.represent.line import melodic_line
from roslin.run.meaning import MEANINGS, meaning_of
from roslin.search.chance import Null, Tail, decoy, sample_of, tail_of
from roslin_data import Material, cut, material

LIMITS = (0.01, 0.1, 1.0, 10.0)
LENGTHS = (8, 12, 20, 40)
QUERIES = 50
BOTH = Roslin(compare="both")


def main() -> int:
    """Print both tables and draw the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path, help="the folder of tools/fit_roslin.py")
    parser.add_argument("folder", type=Path, help="where collections are kept")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    of = {each.name: each for each in material(options.material / "material.pickle") if each.name != "rism hard"}
    options.folder.mkdir(parents=True, exist_ok=True)
    seen: dict[tuple[str, str, int], np.ndarray] = {}
    words: dict[str, Counter[tuple[str, str]]] = {}
    for name, each in of.items():
        path_ = options.folder / f"{name.replace(' ', '-')}.roslin"
        if not path_.exists():
            named = [melody.with_metadata(id=f"m{at}") for at, melody in enumerate(each.melodies)]
            Collection.build(named, path_).close()
        with Collection(path_) as collection:
            melodies = BOTH.encoded(each.melodies[0], collection.packed())
            print(f"{name}: {len(collection)} melodies", flush=True)
            for kind, length, queries in _strangers(name, of):
                tail = tail_of(collection, "both", length)
                found = np.array([_counts(query, melodies, tail) for query in queries]).mean(axis=0)
                seen[name, kind, length] = found
                shown = "  ".join(f"{limit:g}: {value:.3f}" for limit, value in zip(LIMITS, found, strict=True))
                print(f"  {kind}, {length} notes, {len(queries)} queries: {shown}", flush=True)
            for form in ("whole", "beginning"):
                words[f"{name}, {form}"] = _words(each, collection, form)
                _print_words(f"{name}, {form}", words[f"{name}, {form}"])
    if options.plot:
        options.plot.write_text(_plot(seen), encoding="utf-8")
    return 0


def _strangers(name: str, of: dict[str, Material]) -> Iterator[tuple[str, int, list[Melody]]]:
    rng = np.random.default_rng(3)
    for length in LENGTHS:
        for kind in ("decoys", "others"):
            sources = [of[name]] if kind == "decoys" else [each for other, each in of.items() if other != name]
            queries: list[Melody] = []
            while len(queries) < QUERIES:
                source = sources[len(queries) % len(sources)]
                melody = source.melodies[int(rng.integers(len(source.melodies)))]
                line_ = melodic_line(melody)
                if len(line_) >= length:
                    first = int(rng.integers(0, len(line_) - length + 1))
                    part = cut(melody, first, first + length)
                    query = decoy(part, length) if kind == "decoys" else part
                    queries += [] if query is None else [query]
            yield kind, length, queries


def _counts(query: Melody, melodies: Encoded, tail: Tail | None) -> list[int]:
    """How many melodies have at most the chance matches of each limit."""
    every = BOTH.missing_in(query, melodies)
    null = Null.of(every[sample_of(len(every))], tail, BOTH.missing_backwards(query))
    expected = null.expected(every, len(every))
    return [int((expected <= limit).sum()) for limit in LIMITS]


def _words(of: Material, collection: Collection, form: str) -> Counter[tuple[str, str]]:
    rng = np.random.default_rng(5)
    queries = of.queries("report")
    queries = sorted(rng.choice(queries, min(QUERIES, len(queries)), replace=False).tolist())
    counted: Counter[tuple[str, str]] = Counter()
    for number in queries:
        melody = of.melodies[number]
        if form == "beginning":
            if len(of.line(number)) < 18:
                continue
            melody = cut(melody, 0, 12)
        left_out = [f"m{other}" for other in (number, *of.copies(number))]
        relatives = {f"m{other}" for other in of.relatives[number]}
        for hit in collection.search(melody, BOTH, 10, exclude=left_out):
            found = of.melodies[int(hit.id[1:])]
            same = bool(found.composer) and found.composer == of.melodies[number].composer
            kind = "listed" if hit.id in relatives else ("same composer" if same else "other")
            counted[meaning_of(hit.expected or 0.0), kind] += 1
    return counted


def _print_words(name: str, counted: Counter[tuple[str, str]]) -> None:
    for word in (*(word for _, word in MEANINGS), meaning_of(np.inf)):
        right, same, other = (counted[word, kind] for kind in ("listed", "same composer", "other"))
        print(f"  {name}, {word}: {right} listed, {same} not listed by the same composer, {other} others")


def _plot(seen: dict[tuple[str, str, int], np.ndarray]) -> str:
    """Expected to the right, seen upwards, both in powers of ten; one field a collection."""
    size, left, top, gap = 190.0, 50.0, 34.0, 36.0
    colours = dict(zip(LENGTHS, ("#0072b2", "#009e73", "#e69f00", "#d55e00"), strict=True))
    parts: list[SvgElement] = []
    names = list(dict.fromkeys(name for name, _, _ in seen))

    def place(value: float) -> float:
        return float(np.log10(max(value, 0.002)) + 2.7) / 4.2 * size

    for column, name in enumerate(names):
        x0 = left + column * (size + gap)
        parts.append(text("plot-text", x0 + size / 2, top - 12, name.replace(" strict", ""), "middle"))
        for tick in LIMITS:
            parts += [
                line("plot-grid", x0 + place(tick), top, x0 + place(tick), top + size),
                line("plot-grid", x0, top + size - place(tick), x0 + size, top + size - place(tick)),
                text("plot-soft", x0 + place(tick), top + size + 16, f"{tick:g}", "middle"),
            ]
            if not column:
                parts.append(text("plot-soft", x0 - 6, top + size - place(tick) + 4, f"{tick:g}", "end"))
        for factor in (0.5, 1, 2):
            ends = [(x0 + place(e), top + size - place(e * factor)) for e in (0.01, 10)]
            parts.append(
                path("plot-curve", ends, stroke="#7f7f7f", **{"stroke-dasharray": "none" if factor == 1 else "3 3"})
            )
        for (other, kind, length), found in seen.items():
            if other == name:
                points = [(x0 + place(e), top + size - place(v)) for e, v in zip(LIMITS, found, strict=True)]
                dashes = "none" if kind == "decoys" else "6 3"
                parts.append(path("plot-curve", points, stroke=colours[length], **{"stroke-dasharray": dashes}))
                parts += [circle("plot-dot", x, y, 2.5) for x, y in points]
    width = left + len(names) * (size + gap)
    parts.append(text("plot-text", width / 2, top + size + 38, "chance matches expected; upwards: seen", "middle"))
    for row, length in enumerate(LENGTHS):
        y = top + size + 58
        x = left + row * 110
        parts += [
            path("plot-curve", [(x, y), (x + 26, y)], stroke=colours[length], **{"stroke-dasharray": "none"}),
            text("plot-soft", x + 32, y + 4, f"{length} notes"),
        ]
    notes = "solid: decoys; dashed: melodies of other collections; grey: as expected, half and twice as many"
    parts.append(text("plot-soft", left, top + size + 82, notes))
    return svg(parts, width, top + size + 96, "Chance matches of roslin, expected and seen", style=plot_style())


if __name__ == "__main__":
    sys.exit(main())

"""Chance matches of `roslin`, expected and seen, in every mode.

    python tools/calibration.py build/calibration dev/measurements/chance.md [COLLECTION ...]

Collections: the RISM sample, Essen songs (of music21) and the starter; they are built in the folder. Queries have no
relative in the collection that is searched, or at least are not meant to have one, a quarter of each kind:

    decoys      the pitches in reverse order (of a rhythm, the note values)
    shuffled    the notes in a random order
    inverted    the intervals upside down (of a rhythm, shuffled once more)
    foreign     of another of the collections

They are beginnings for place=start, and pieces from anywhere otherwise. All are asked for the first 500 results, and
those with an E of at most 0.001, 0.01, 0.1 and 1 are counted. The page gets a table of each collection, or of those
that are named: the others keep theirs. Beyond a factor of two counts only if chance hardly explains it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import poisson

from real_data import INCIPITS
from roslin import Collection, Melody
from roslin.benchmark.queries import cut
from roslin.matchers import Roslin
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.line import melodic_line
from roslin.search.chance import decoy
from roslin.starter import tunes_path
from roslin_data import songs

COLLECTIONS = {"RISM incipits": "rism", "Essen songs": "essen", "starter": "starter"}
LEVELS = (0.001, 0.01, 0.1, 1.0)
LENGTHS = (5, 8, 12, 20)
QUERIES, SEED, DEPTH = 152, 27, 500
KINDS = ("decoys", "shuffled", "inverted", "foreign")
_DOUBTFUL = 0.01  # a factor of two is marked if as much is rarer than this by chance
_HEAD = "| compared | place | notes | E = 0.001 | 0.01 | 0.1 | 1 | most of one query |\n|" + 8 * "---|"


def main() -> int:
    """Ask, count and write."""
    folder, page, *asked = sys.argv[1:]
    folder_ = Path(folder)
    folder_.mkdir(parents=True, exist_ok=True)
    opened = {name: _opened(folder_ / f"{short}.roslin") for name, short in COLLECTIONS.items()}
    for name in asked or COLLECTIONS:
        rows = [_HEAD]
        others = [collection for other, collection in opened.items() if other not in (name, "starter")]
        for compare in ("both", "melody", "rhythm", "contour"):
            for place in ("anywhere", "start"):
                for length in LENGTHS:
                    queries = list(_strangers(opened[name], others, compare, place, length))
                    seen = np.array([_counts(opened[name], query, compare, place) for query in queries])
                    rows.append(_row(compare, place, length, seen))
                    kinds = [f"{seen[at :: len(KINDS), -1].mean():.2f}" for at in range(len(KINDS))]
                    print(name, rows[-1], "at 1 by kind:", *kinds, flush=True)
        _write(Path(page), COLLECTIONS[name], "\n".join(rows))
    return 0


def _opened(path: Path) -> Collection:
    if not path.exists():
        named = [melody.with_metadata(id=f"song {number}") for number, melody in enumerate(songs())]
        sources: dict[str, Any] = {"rism": [INCIPITS], "essen": named, "starter": tunes_path()}
        Collection.build(sources[path.stem], path).close()
    return Collection(path)


def _strangers(
    collection: Collection, others: list[Collection], compare: str, place: str, length: int
) -> Iterator[Melody]:
    """Queries of each kind in turn."""
    random = np.random.default_rng((SEED, length, place == "start"))
    made = 0
    while made < QUERIES:
        kind = KINDS[made % len(KINDS)]
        source = others[made // len(KINDS) % len(others)] if kind == "foreign" else collection
        melody = source[int(random.integers(len(source)))]
        size = len(melodic_line(melody))
        if size < length:
            continue
        first = 0 if place == "start" else int(random.integers(size - length + 1))
        query = _made(cut(melody, first, first + length), kind, compare, random)
        if query is not None:
            made += 1
            yield query


def _made(piece: Melody, kind: str, compare: str, random: np.random.Generator) -> Melody | None:
    if kind == "decoys":
        return decoy(piece, len(piece.notes), compare)
    if kind == "foreign":
        return piece
    notes = piece.notes
    pitches = notes["pitch_midi"].astype(int)
    times = np.append(np.diff(notes["onset_ticks"]), notes["duration_ticks"][-1]) / TICKS_PER_QUARTER
    if kind == "inverted" and compare != "rhythm":
        pitches = 2 * pitches[0] - pitches
    else:
        order = random.permutation(len(notes))
        pitches, times = pitches[order], times[order]
    onsets = np.append(0.0, np.cumsum(times)[:-1])
    return Melody.from_notes(onsets.tolist(), times.tolist(), pitches.tolist())


def _counts(collection: Collection, query: Melody, compare: str, place: str) -> list[int]:
    run = collection.search(query, Roslin(compare=compare, place=place), DEPTH)
    expected = np.array([hit.expected for hit in run], dtype=float)
    return [int((expected <= level).sum()) for level in LEVELS]


def _row(compare: str, place: str, length: int, seen: np.ndarray) -> str:
    cells = []
    for level, total in zip(LEVELS, seen.sum(axis=0).tolist(), strict=True):
        usual = level * len(seen)
        off = "**" if total > 2 * usual and poisson.sf(total - 1, usual) < _DOUBTFUL else ""
        off = off or ("*" if total < usual / 2 and poisson.cdf(total, usual) < _DOUBTFUL else "")
        cells.append(f"{off}{total / len(seen):.3g}{off}")
    return f"| {compare} | {place} | {length} | {' | '.join(cells)} | {int(seen[:, -1].max())} |"


def _write(page: Path, short: str, table: str) -> None:
    text = page.read_text("utf-8")
    marks = rf"(<!-- {short} -->\n).*?(<!-- end -->)"
    page.write_text(re.sub(marks, lambda found: found[1] + table + "\n" + found[2], text, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    sys.exit(main())

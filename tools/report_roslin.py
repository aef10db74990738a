"""How well `roslin` finds what it was not fitted on, beside all other systems.

    .venv/bin/python tools/report_roslin.py build/roslin build/report [MATCHER ...]

Two tables, on the share `report` of the material that `tools/fit_roslin.py` made (no part of fitting or choosing):

- relatives: mean average precision and how often a relative comes first, for the same work in different sources of
  RISM (strict and hard; as the lists stand, and without copies that nobody judged) and the same title in tune books and
  Essen songs (whole tunes, their first 12 notes, 12 notes from within). Candidates: all relatives and STRANGERS others.
- typed: the first 12 notes of 200 incipits of RISM as people type them: exactly, all in quarters, in doubled values,
  1.5 times as long, with one and two wrong notes, a note missing, ornamented, in minor; how often the incipit, or one
  with the same intervals, is first, and among the first ten, of TYPED_AMONG.

Equal distances count as if the wanted one came last among them. A line for each system and row goes to FOLDER/lines.tsv
as soon as it is known; a system that is there is not asked again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fit_roslin import ALL_FORMS, FORMS, LEAST, NOTES
from roslin import Melody, matcher
from roslin.matchers.base import Matcher
from roslin.matchers.fusion import SEVEN
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.packed import pack
from roslin.types import Numbers
from roslin_data import Material, cut, material

STRANGERS, QUERIES = 2000, 60
TYPED, TYPED_AMONG = 200, 4000
SYSTEMS = (
    "roslin",
    f"fuse({', '.join(SEVEN)})",
    "time",
    "time(aligner='global', divide='longer')",
    "shapeh",
    "shapetime",
    "us",
    "us(divide='both')",
    "dp",
    "dp(place='inside')",
    "lcts(place='inside')",
    "alignment",
    "orio",
    "rismonline",
    "fm",
    "p2",
    "p2(tempos=(0.5, 1.0, 2.0))",
    "p3",
    "gam",
    "mongeau_sankoff",
    "twv",
    "twv_covered",
    "emd",
)

Edit = Callable[[Melody, np.random.Generator], Melody | None]


def main() -> int:
    """Append what is not known yet, then print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path, help="the folder of tools/fit_roslin.py")
    parser.add_argument("folder", type=Path)
    parser.add_argument("matchers", nargs="*", default=SYSTEMS)
    parser.add_argument("--table", choices=("relatives", "typed"), action="append")
    parser.add_argument("--rows", default="", help="only rows with these words; some systems take hours for all")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    lines = options.folder / "lines.tsv"
    known = {tuple(line.split("\t")[:2]) for line in lines.read_text().splitlines()} if lines.exists() else set()
    of = material(options.material / "material.pickle")
    for name in options.matchers:
        chosen = matcher(name)
        rows = {"relatives": relatives, "typed": typed}
        for table in options.table or rows:
            for row, measure in rows[table](of):
                if (name, row) in known or options.rows not in row:
                    continue
                began = time.process_time()
                first, second, count = measure(chosen)
                spent = time.process_time() - began
                with lines.open("a") as file:
                    file.write(f"{name}\t{row}\t{first:.4f}\t{second:.4f}\t{count}\t{spent:.1f}\n")
                print(f"{name:40.40s} {row:45s} {first:.3f} {second:.3f} ({count} queries, {spent:.0f} s)", flush=True)
    _print_tables(lines)
    return 0


def _print_tables(lines: Path) -> None:
    """Both tables in Markdown: a line for each system, its first number for relatives, both for what was typed."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for line in lines.read_text().splitlines():
        name, row, first, second, *_ = line.split("\t")
        found.setdefault(name, {})[row] = (first, second)
    rows = list(dict.fromkeys(row for each in found.values() for row in each))
    for is_typed in (False, True):
        columns = [row for row in rows if row.startswith("typed") == is_typed]
        print("\n| system | " + " | ".join(column.removeprefix("typed ") for column in columns) + " |")
        print("|---" * (len(columns) + 1) + "|")
        for name, each in found.items():
            cells = []
            for column in columns:
                first, second = each.get(column, ("", ""))
                both = f"{first[:-1]}, {second[:-1]}" if is_typed else first[:-1]
                cells.append(both.replace("0.", ".") if first else "")
            print(f"| `{name}` | " + " | ".join(cells) + " |")


Row = tuple[str, Callable[[Matcher], tuple[float, float, int]]]


def relatives(of: Sequence[Material]) -> Iterator[Row]:
    """Rows of the first table: mean average precision, and the share of queries with a relative first."""
    for each in of:
        for form in FORMS.get(each.name, ALL_FORMS):
            yield f"{each.name}, {form}", partial(_precision, of=each, form=form, without_copies=True)
            if each.name.startswith("rism"):
                row = f"{each.name}, {form}, as it stands"
                yield row, partial(_precision, of=each, form=form, without_copies=False)


def _precision(chosen: Matcher, of: Material, form: str, without_copies: bool) -> tuple[float, float, int]:
    rng = np.random.default_rng(7)
    queries = of.queries("report")
    if len(queries) > QUERIES:
        queries = sorted(rng.choice(queries, QUERIES, replace=False).tolist())
    strangers = rng.choice(len(of.melodies), min(STRANGERS, len(of.melodies)), replace=False).tolist()
    copies = {query: of.copies(query) for query in queries}
    among = {*queries, *strangers, *(other for query in queries for other in (*of.relatives[query], *copies[query]))}
    numbers = np.array(sorted(among))
    packed = pack([of.melodies[number] for number in numbers])
    precisions, firsts = [], []
    for query in queries:
        melody, length = of.melodies[query], len(of.line(query))
        if form != "whole" and length < LEAST:
            continue
        start = 0 if form != "fragment" else int(rng.integers(2, length - NOTES - 1))
        asked = melody if form == "whole" else cut(melody, start, start + NOTES)
        distances = chosen.distances(asked, packed)
        left_out = np.isin(numbers, [query, *(copies[query] if without_copies else ())])
        wanted = np.isin(numbers, of.relatives[query])[~left_out]
        found = ranks(distances[~left_out], wanted)
        precisions.append(float((np.arange(1, len(found) + 1) / found).sum() / len(found)))
        firsts.append(found[0] == 1)
    return float(np.mean(precisions)), float(np.mean(firsts)), len(precisions)


def ranks(distances: npt.NDArray[np.float64], wanted: npt.NDArray[np.bool_]) -> Numbers:
    """The ranks of what is wanted, each behind all others that are as near."""
    order = np.lexsort((wanted, distances))
    return np.flatnonzero(wanted[order]) + 1


def typed(of: Sequence[Material]) -> Iterator[Row]:
    """Rows of the second table: shares of queries whose melody is first, and among the first ten."""
    (rism,) = (each for each in of if each.name == "rism strict")
    rng = np.random.default_rng(8)
    numbers = rng.permutation(len(rism.melodies))[:TYPED_AMONG]
    melodies = [rism.melodies[number] for number in numbers]
    packed = pack(melodies)
    alike = {number: np.isin(numbers, [number, *rism.copies(int(number))]) for number in numbers.tolist()}
    long_enough = [at for at, melody in enumerate(melodies) if len(rism.line(int(numbers[at]))) >= NOTES]
    for name, edit in EDITS.items():
        queries = []
        for at in long_enough:
            changed = edit(cut(melodies[at], 0, NOTES).with_metadata(key=melodies[at].key), np.random.default_rng(at))
            if changed is not None:
                queries.append((changed, alike[int(numbers[at])]))
            if len(queries) == TYPED:
                break

        def measure(
            chosen: Matcher, queries: list[tuple[Melody, npt.NDArray[np.bool_]]] = queries
        ) -> tuple[float, float, int]:
            best = np.array([ranks(chosen.distances(query, packed), wanted)[0] for query, wanted in queries])
            return float((best == 1).mean()), float((best <= 10).mean()), len(best)

        yield f"typed {name}", measure


# -- how people type ----------------------------------------------------------------------------------------------


def melody_of(pitches: Sequence[int], times: Sequence[float]) -> Melody:
    """One note after the other, each as long as it is until the next."""
    onsets = np.concatenate([[0.0], np.cumsum(times)[:-1]])
    return Melody.from_notes(onsets.tolist(), list(times), [int(pitch) for pitch in pitches])


def notes_of(melody: Melody) -> tuple[list[int], list[float]]:
    """The pitches of a line, and the quarters from each note to the next."""
    notes = melody.notes
    times = np.append(np.diff(notes["onset_ticks"]), notes["duration_ticks"][-1]) / TICKS_PER_QUARTER
    return notes["pitch_midi"].astype(int).tolist(), times.tolist()


def exactly(melody: Melody, _: np.random.Generator) -> Melody:
    """As it is."""
    return melody


def longer(by: float) -> Edit:
    """All notes so many times as long."""

    def edit(melody: Melody, _: np.random.Generator) -> Melody:
        pitches, times = notes_of(melody)
        return melody_of(pitches, [each * by for each in times])

    return edit


def in_quarters(melody: Melody, _: np.random.Generator) -> Melody:
    """All notes equally long."""
    pitches, _times = notes_of(melody)
    return melody_of(pitches, [1.0] * len(pitches))


def wrong(number: int) -> Edit:
    """So many notes, neither the first nor the last, one or two semitones off."""

    def edit(melody: Melody, rng: np.random.Generator) -> Melody:
        pitches, times = notes_of(melody)
        for at in rng.choice(np.arange(1, len(pitches) - 1), number, replace=False):
            pitches[at] += int(rng.choice([-2, -1, 1, 2]))
        return melody_of(pitches, times)

    return edit


def _missing(melody: Melody, rng: np.random.Generator) -> Melody:
    pitches, times = notes_of(melody)
    at = int(rng.integers(1, len(pitches) - 1))
    times[at - 1] += times[at]
    return melody_of(pitches[:at] + pitches[at + 1 :], times[:at] + times[at + 1 :])


def _ornamented(melody: Melody, rng: np.random.Generator) -> Melody:
    """Three notes go up a step and back, in their own time."""
    pitches, times = notes_of(melody)
    made: list[tuple[int, float]] = []
    turned = set(rng.choice(len(pitches), 3, replace=False).tolist())
    for at, (pitch, each) in enumerate(zip(pitches, times, strict=True)):
        made += [(pitch, each / 2), (pitch + 2, each / 4), (pitch, each / 4)] if at in turned else [(pitch, each)]
    return melody_of([pitch for pitch, _ in made], [each for _, each in made])


_TONICS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
_LOWERED = (4, 9, 11)  # semitones above the tonic: third, sixth and seventh


def in_minor(melody: Melody, _: np.random.Generator) -> Melody | None:
    """A melody in major with its third, sixth and seventh lowered; None if it has none of them, or another key."""
    key = melody.key or ""
    if not key or key[0] not in _TONICS or "minor" in key:
        return None
    signs = key[1:].replace(" sharp", "#").replace(" flat", "b").partition(" ")[0]
    tonic = _TONICS[key[0]] + signs.count("x") + signs.count("#") - signs.count("b")
    pitches, times = notes_of(melody)
    lowered = [pitch - 1 if (pitch - tonic) % 12 in _LOWERED else pitch for pitch in pitches]
    return melody_of(lowered, times) if lowered != pitches else None


EDITS: dict[str, Edit] = {
    "exactly": exactly,
    "in quarters": in_quarters,
    "in doubled values": longer(2),
    "1.5 times as long": longer(1.5),
    "with a wrong note": wrong(1),
    "with two wrong notes": wrong(2),
    "with a note missing": _missing,
    "ornamented": _ornamented,
    "in minor": in_minor,
}

if __name__ == "__main__":
    sys.exit(main())

"""How often the page finds a melody by its first eight notes, entered in different ways, exactly and not.

    python tools/known_items.py rism.roslin dev/measurements/known-items.md [WAY ...]

With names of ways, only those are asked again, and the page keeps the rows of the others.

The melodies are a fixed sample of the collection. Each way makes a query of a melody, and the page's own service is
asked, with its usual method. A melody counts as found when it, or one with the same notes throughout, comes first or
is among the first ten; it is listed when, besides, the headline above does not deny it. The report is a table with the
interval of Wilson for each share.

A rhythm of a few notes is shared by many melodies, and no comparison can tell those apart. What could be found at best
is counted (`most_by_rhythm`).
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from roslin import Collection, Melody
from roslin.errors import NotationError
from roslin.evaluate.exchanges import mean_intervals
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.jsonl import write_jsonl
from roslin.notation.pae import write
from roslin.represent.line import melodic_line
from roslin.run.meaning import headline_of
from roslin.web.library import Library
from roslin.web.progress import Wait
from roslin.web.requests import SearchParams
from roslin.web.search import find
from roslin.web.settings import Settings

Numbers = npt.NDArray[np.float64]

COUNT, NOTES, SEED, FIRST = 200, 8, 20, 10
_NOTHING = headline_of(np.inf)
_FURTHEST_WRONG = 4  # semitones that a wrong note is off


_HEAD = """# Known melodies found by a few notes

The sample has {count} melodies of the RISM sample ({melodies:,} incipits), a fixed choice of those with more than
{notes} notes. The queries are {notes} notes of each, entered in different ways. The search page answers with its usual
method. The columns show how often the melody, or one with the same notes throughout, comes first or is among the first
{first}. A melody is *listed* if it is among the first {first} and the headline is not "Nothing better than chance".
Brackets contain 95% intervals.

| entered | first | first {first} | listed |
|---|---|---|---|"""
_TAIL = """Queries *from the middle* are {notes} successive notes from a random place after the first note. All other
queries are the first {notes} notes.

Rhythm alone is compared in any tempo, at the start. {notes} notes of a rhythm are shared by many melodies. If all
melodies that begin with exactly this rhythm came first, in a random order, {most:.1f}% would be among the first
{first}.

`tools/known_items.py rism.roslin dev/measurements/known-items.md` writes this page."""


@dataclass(frozen=True, slots=True)
class Item:
    """The beginning of a melody of the collection, the rest of it, and the notes of all of it."""

    id: str
    quarters: Numbers  # from each onset to the next
    sounding: Numbers  # without the rests
    pitches: Numbers
    notes: bytes  # intervals and lengths of the whole
    line: Melody


@dataclass(frozen=True, slots=True)
class Query:
    """What the page is asked: its text, and what is compared, if not the usual."""

    text: str
    notation: Literal["pae", "jsonl"] = "pae"
    compare: Literal["", "rhythm"] = ""
    place: Literal["", "start"] = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a melody came first, was among the first ten, and was not denied by the headline."""

    first: bool
    found: bool
    listed: bool


def known_items(collection: Collection, count: int = COUNT, notes: int = NOTES, seed: int = SEED) -> Iterator[Item]:
    """A sample of the melodies with more notes than that, the same every time."""
    wanted = count
    for number in np.random.default_rng(seed).permutation(len(collection)):
        melody = collection[int(number)]
        if len(melodic_line(melody)) <= notes:
            continue
        yield _item(melody, 0, notes)
        wanted -= 1
        if not wanted:
            return


def _item(melody: Melody, begin: int, notes: int) -> Item:
    """Some notes of a melody, from one of them on. The last of a melody ends where it stops sounding."""
    line = melodic_line(melody)
    ends = np.append(line["onset_ticks"], line["onset_ticks"][-1] + line["duration_ticks"][-1])
    part = line[begin : begin + notes]
    quarters = np.diff(ends[begin : begin + notes + 1]) / TICKS_PER_QUARTER
    sounding = part["duration_ticks"] / TICKS_PER_QUARTER
    return Item(str(melody.id), quarters, sounding, part["pitch_midi"].astype(float), _notes(melody), melody)


def _notes(melody: Melody) -> bytes:
    line = melodic_line(melody)
    return np.diff(line["pitch_midi"].astype(np.int64)).tobytes() + line["duration_ticks"].tobytes()


def most_by_rhythm(collection: Collection, items: Iterable[Item]) -> float:
    """The share that is found on average if all with the same rhythm, in any tempo, come first, in a random order."""
    alike: dict[tuple[int, ...], Counter[bytes]] = defaultdict(Counter)
    for melody in collection:
        line = melodic_line(melody)
        if len(line) > NOTES:
            alike[_ratios(np.diff(line["onset_ticks"][: NOTES + 1]))][_notes(melody)] += 1
    shares = []
    for item in items:
        same = alike[_ratios(np.rint(item.quarters * TICKS_PER_QUARTER).astype(np.int64))]
        count = same.total()
        shares.append(1 - comb(count - same[item.notes], FIRST) / comb(count, FIRST) if count > FIRST else 1.0)
    return float(np.mean(shares))


def _ratios(ticks: npt.NDArray[np.int64]) -> tuple[int, ...]:
    return tuple((ticks // np.gcd.reduce(ticks)).tolist())


def _typed(quarters: Numbers, sounding: Numbers, pitches: Numbers) -> Query:
    """The notes as a line of Plaine & Easie, or as a list where the code has no such length."""
    onsets = np.concatenate([[0.0], np.cumsum(quarters)[:-1]])
    melody = Melody.from_notes(onsets.tolist(), sounding.tolist(), [int(pitch) for pitch in pitches])
    try:
        return Query(write(melody))
    except NotationError:
        return Query(write_jsonl(melody), "jsonl")


def exactly(item: Item, _: np.random.Generator) -> Query:
    """As it stands."""
    return _typed(item.quarters, item.sounding, item.pitches)


def in_quarters(item: Item, _: np.random.Generator) -> Query:
    """Every note a quarter, without rests: as names of notes, or on a keyboard without a thought for rhythm."""
    same = np.ones(len(item.pitches))
    return _typed(same, same, item.pitches)


def doubled(item: Item, _: np.random.Generator) -> Query:
    """In notes twice as long."""
    return _typed(2 * item.quarters, 2 * item.sounding, item.pitches)


def one_wrong(item: Item, rng: np.random.Generator) -> Query:
    """One note a semitone to a major third too high or too low."""
    pitches = item.pitches.copy()
    off = int(rng.integers(1, _FURTHEST_WRONG + 1)) * int(rng.choice([-1, 1]))
    pitches[int(rng.integers(len(pitches)))] += off
    return _typed(item.quarters, item.sounding, pitches)


def its_rhythm(item: Item, _: np.random.Generator) -> Query:
    """Without its pitches and rests, as an exact tapper would have it."""
    exact = _typed(item.quarters, item.quarters, np.full_like(item.pitches, item.pitches[0]))
    return replace(exact, compare="rhythm", place="start")


def _middle(item: Item, rng: np.random.Generator) -> Item:
    size = len(melodic_line(item.line))
    return _item(item.line, int(rng.integers(1, size - NOTES + 1)), NOTES)


def from_the_middle(item: Item, rng: np.random.Generator) -> Query:
    """Not the beginning."""
    return exactly(_middle(item, rng), rng)


def middle_in_quarters(item: Item, rng: np.random.Generator) -> Query:
    """The same without rhythm."""
    return in_quarters(_middle(item, rng), rng)


Way = Callable[[Item, np.random.Generator], Query]
WAYS: dict[str, Way] = {
    "typed exactly": exactly,
    "all in quarters": in_quarters,
    "doubled": doubled,
    "with one wrong note": one_wrong,
    "from the middle": from_the_middle,
    "from the middle, all in quarters": middle_in_quarters,
    "its rhythm alone": its_rhythm,
}


def outcome(library: Library, item: Item, query: Query) -> Outcome:
    """What comes of asking the page."""
    if not query.text:
        return Outcome(False, False, False)
    asked = SearchParams(q=query.text, notation=query.notation, compare=query.compare, place=query.place, k=FIRST)
    found = find(library, asked, Wait())
    results = found.answer.results
    ranks = [each.rank for each in results if each.melody.id == item.id or _notes(each.melody) == item.notes]
    is_found = bool(ranks) and ranks[0] <= FIRST
    return Outcome(ranks[:1] == [1], is_found, is_found and found.run.headline != _NOTHING)


def report(rows: Sequence[str], count: int, melodies: int, most: float) -> str:
    """The page of the documentation."""
    head = _HEAD.format(count=count, melodies=melodies, notes=NOTES, first=FIRST)
    tail = _TAIL.format(notes=NOTES, first=FIRST, most=100 * most)
    return "\n".join([head, *rows, "", tail, ""])


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    shares = [[getattr(each, kind) for each in outcomes] for kind in ("first", "found", "listed")]
    return f"| {name} | {' | '.join(_share(share) for share in shares)} |"


def _share(values: Sequence[bool]) -> str:
    low, high = mean_intervals(np.array(values, dtype=float))
    return f"{100 * np.mean(values):.1f}% [{100 * low:.1f}, {100 * high:.1f}]"


def _rows(page: Path) -> dict[str, str]:
    """The rows of a page that was written before."""
    cells = [(line, line.split("|")) for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    return {each[1].strip(): line for line, each in cells[2:]}


def main() -> int:
    """Ask, count and write."""
    path, page_path, *asked = sys.argv[1:]
    target = Path(page_path)
    library = Library(Settings(path, log_requests=False, search_seconds=600))
    items = list(known_items(library.collection))
    most = most_by_rhythm(library.collection, items)
    rows = _rows(target) if asked else {}
    for name in asked or WAYS:
        rng = np.random.default_rng(SEED)
        rows[name] = _row(name, [outcome(library, item, WAYS[name](item, rng)) for item in items])
        print(rows[name], flush=True)
        in_order = [rows[each] for each in WAYS if each in rows]
        target.write_text(report(in_order, len(items), len(library.collection), most), encoding="utf-8")
    library.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

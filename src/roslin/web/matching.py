"""Which notes of a query and a candidate belong together, and what was done to the query, for every kind of matcher.

    transport   weight moves between notes (`roslin.search.explain`)
    alignment   notes are inserted, deleted or changed: the cheapest way, the one that `dp` counts
    grams       runs of successive intervals that both melodies have
    likeness    any other matcher: the same alignment, as an aid to the eye. It is not how the matcher measures

A matcher that compares runs of intervals is in `GRAMS`, with the number of intervals in a run; one that has a
parameter `n` for it says so itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from roslin.matchers import DP, MATCHERS, Matcher, matchers
from roslin.matchers.transport import Transport
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.represent.intervals import interval_name
from roslin.represent.line import melodic_line
from roslin.search.explain import Explanation, explain
from roslin.search.words import place_words, tempo_words, transposition_words

__all__ = ["GRAMS", "Grams", "Match", "Pair", "Run", "aligned", "kind_of", "match", "offered", "shared_runs"]

GRAMS = {"ngrsumco": 3, "ngrukkon": 3, "orio": 3, "us": 5}
# Taking a distance apart costs more than the product of the lengths: beyond this many pairs of notes it would take
# seconds for one result, and the notes are shown side by side instead.
MOST_PAIRS = 40_000
_VARIANTS = {"dp": ("dp(place='inside')",)}  # offered beside the defaults


@dataclass(frozen=True, slots=True)
class Pair:
    """Rows of two notes that stand together ("same", "other"), or of one alone ("missing", "added")."""

    query_note: int | None
    candidate_note: int | None
    deed: str


@dataclass(frozen=True, slots=True)
class Run:
    """Intervals that both melodies have, and the rows of the notes at each place."""

    words: str
    query_places: tuple[tuple[int, ...], ...]
    candidate_places: tuple[tuple[int, ...], ...]


Grams = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """What belongs together. Of `explanation`, `pairs` and `runs` the one that fits the kind is filled."""

    kind: str
    words: str
    transposition: str
    tempo: str
    query_notes: tuple[int, ...]
    candidate_notes: tuple[int, ...]
    explanation: Explanation | None = None
    pairs: tuple[Pair, ...] = ()
    runs: Grams = ()


def offered() -> list[str]:
    """The matchers that the page offers: each with its defaults, and a few variants."""
    return [text for name in matchers() for text in (name, *_VARIANTS.get(name, ()))]


def kind_of(chosen: Matcher | str) -> str:
    """How a matcher is explained."""
    known = MATCHERS[chosen.partition("(")[0]] if isinstance(chosen, str) else type(chosen)
    if issubclass(known, Transport):
        return "transport"
    if issubclass(known, DP):
        return "alignment"
    return "grams" if known.name in GRAMS else "likeness"


def match(query: Melody, candidate: Melody, chosen: Matcher) -> Match:
    """The notes that belong together, as this matcher sees it."""
    if not len(melodic_line(candidate)):
        return Match(kind_of(chosen), "The melody has no notes.", "", "", (), ())
    kind = kind_of(chosen)
    if kind == "transport" and len(query) * len(candidate) > MOST_PAIRS:
        kind = "likeness"
    return _WAYS[kind](query, candidate, chosen)


def _by_transport(query: Melody, candidate: Melody, chosen: Matcher) -> Match:
    found = explain(query, candidate, chosen)
    moves = [move for part in found.parts for move in part.moves if move.candidate_note is not None]
    if not found.parts:
        return Match("transport", found.words, "", "", (), (), explanation=found)
    first = found.parts[0].alignment
    return Match(
        "transport",
        found.words,
        transposition_words(first.transposition, found.matcher.pitch),
        tempo_words(first.tempo),
        _sorted(move.query_note for move in moves),
        _sorted(move.candidate_note for move in moves if move.candidate_note is not None),
        explanation=found,
    )


def _by_alignment(query: Melody, candidate: Melody, chosen: Matcher) -> Match:
    inside = not isinstance(chosen, DP) or chosen.place == "inside"
    pairs = aligned(query, candidate, inside=inside)
    same = [pair for pair in pairs if pair.deed == "same"]
    transposition, tempo, place = _moved(query, candidate, pairs)
    changes = Counter(pair.deed for pair in pairs)
    counts = [f"{changes[deed]} {words}" for deed, words in _DEEDS.items() if changes[deed]]
    what = ", ".join(counts) if counts else "no notes in common"
    is_own = isinstance(chosen, DP)
    if not is_own:
        what = f"Notes side by side, as an aid to the eye: {what}"
    return Match(
        "alignment" if is_own else "likeness",
        f"{what}; {', '.join(part for part in (transposition, tempo, place) if part)}.".replace("; .", "."),
        transposition,
        tempo,
        _sorted(pair.query_note for pair in same if pair.query_note is not None),
        _sorted(pair.candidate_note for pair in same if pair.candidate_note is not None),
        pairs=pairs,
    )


_DEEDS = {"same": "notes agree", "other": "changed", "missing": "left out", "added": "added"}


def _by_grams(query: Melody, candidate: Melody, chosen: Matcher) -> Match:
    n = getattr(chosen, "n", GRAMS[chosen.name])
    runs = shared_runs(query, candidate, min(n) if isinstance(n, tuple) else n)
    count = f"{len(runs)} run{'' if len(runs) == 1 else 's'} of intervals in common"
    first = (runs[0].query_places[0][0], runs[0].candidate_places[0][0]) if runs else None
    up = _steps(query, candidate, [first]) if first else ""
    return Match(
        "grams",
        f"{count}; {up}." if up else f"{count}.",
        up,
        "",
        _sorted(row for run in runs for place in run.query_places for row in place),
        _sorted(row for run in runs for place in run.candidate_places for row in place),
        runs=runs,
    )


_WAYS = {
    "transport": _by_transport,
    "alignment": _by_alignment,
    "likeness": _by_alignment,
    "grams": _by_grams,
}


def aligned(query: Melody, candidate: Melody, *, inside: bool) -> tuple[Pair, ...]:
    """The cheapest way to edit the intervals of the query into those of the candidate, as `dp` counts it.

    `inside`: what lies before and after in the candidate is free, and not in the answer.

    >>> from roslin import load
    >>> [pair.deed for pair in aligned(load("'4CDEF")[0], load("'4GABG''C")[0], inside=False)]
    ['same', 'same', 'same', 'other', 'added']
    """
    asked, stored = _rows(query), _rows(candidate)
    a, b = (melody.notes["pitch_midi"][rows].astype(np.int64) for melody, rows in ((query, asked), (candidate, stored)))
    agree = _agreement(a, b)
    table = _table(agree, inside)
    m, j = len(a), int(np.argmin(table[-1])) if inside else len(b)
    i, pairs = m, list[Pair]()
    while i or (j and not inside):
        here = table[i, j]
        if j and here == table[i, j - 1] + 1:  # of equally cheap ways, the one that agrees earliest
            j -= 1
            pairs.append(Pair(None, int(stored[j]), "added"))
        elif i and j and here == table[i - 1, j - 1] + (not agree[i - 1, j - 1]):
            i, j = i - 1, j - 1
            pairs.append(Pair(int(asked[i]), int(stored[j]), "same" if agree[i, j] else "other"))
        else:
            i -= 1
            pairs.append(Pair(int(asked[i]), None, "missing"))
    return tuple(reversed(pairs))


def shared_runs(query: Melody, candidate: Melody, length: int) -> Grams:
    """The runs of so many intervals, in semitones, that both melodies have, in the order of the query."""
    asked, stored = _runs(query, length), _runs(candidate, length)
    return tuple(
        Run(", ".join(map(_interval, run)), tuple(places), tuple(stored[run]))
        for run, places in asked.items()
        if run in stored
    )


def _runs(melody: Melody, length: int) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    rows = _rows(melody).tolist()
    pitches = melody.notes["pitch_midi"][rows].tolist()
    steps = [after - before for before, after in pairwise(pitches)]
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for start in range(len(steps) - length + 1):
        found.setdefault(tuple(steps[start : start + length]), []).append(tuple(rows[start : start + length + 1]))
    return found


def _interval(semitones: int) -> str:
    return "repeated" if not semitones else f"{interval_name(abs(semitones))} {'up' if semitones > 0 else 'down'}"


def _agreement(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether two notes are reached by the same interval; the first note of either agrees with any."""
    agree = np.ones((len(a), len(b)), dtype=bool)
    agree[1:, 1:] = np.equal.outer(np.diff(a), np.diff(b))
    return agree


def _table(agree: npt.NDArray[np.bool_], inside: bool) -> npt.NDArray[np.int64]:
    m, n = agree.shape
    table = np.zeros((m + 1, n + 1), dtype=np.int64)
    table[:, 0] = np.arange(m + 1)
    table[0] = 0 if inside else np.arange(n + 1)
    steps = np.arange(n + 1)
    for i in range(1, m + 1):
        best = table[i - 1] + 1
        best[1:] = np.minimum(best[1:], table[i - 1, :-1] + ~agree[i - 1])
        # Notes that are added cost 1 each: a running minimum once their number is taken off.
        table[i] = np.minimum.accumulate(best - steps) + steps
    return table


def _rows(melody: Melody) -> npt.NDArray[np.int64]:
    """The rows of the notes that make the top line, as `melodic_line` takes them."""
    line = melodic_line(melody)
    wanted = set(zip(line["onset_ticks"].tolist(), line["pitch_midi"].tolist(), strict=True))
    rows, table = list[int](), melody.notes
    for row in np.flatnonzero(~table["is_grace"]).tolist():
        place = (int(table["onset_ticks"][row]), int(table["pitch_midi"][row]))
        if place in wanted:
            wanted.discard(place)
            rows.append(row)
    return np.array(rows, dtype=np.int64)


def _moved(query: Melody, candidate: Melody, pairs: Sequence[Pair]) -> tuple[str, str, str]:
    """Transposition, tempo and place in words, from the notes that stand together."""
    both = [
        (pair.query_note, pair.candidate_note)
        for pair in pairs
        if pair.query_note is not None and pair.candidate_note is not None
    ]
    if not both:
        return "", "", ""
    (first_query, first), (last_query, last) = both[0], both[-1]
    ticks, there = query.notes["onset_ticks"], candidate.notes["onset_ticks"]
    asked, found = int(ticks[last_query] - ticks[first_query]), int(there[last] - there[first])
    tempo = tempo_words(found / asked) if asked and found else ""
    return _steps(query, candidate, both), tempo, place_words(float(there[first]) / TICKS_PER_QUARTER, candidate)


def _steps(query: Melody, candidate: Melody, both: Sequence[tuple[int, int]]) -> str:
    """The transposition that most pairs have."""
    asked, found = query.notes["pitch_midi"], candidate.notes["pitch_midi"]
    ((most, _),) = Counter(int(found[j]) - int(asked[i]) for i, j in both).most_common(1)
    return transposition_words(most)


def _sorted(rows: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(rows)))

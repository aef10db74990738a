"""Which notes of a query and a candidate belong together, and what was done to the query, for every kind of matcher.

transport   weight moves between notes (`roslin.search.explain`)
alignment, grams, places, sum
            the account of the matcher (`roslin.matchers.account`); of a sum, that of what weighs most in it
likeness    a matcher that gives no account, and melodies too long for one: how `dp` would lay the query into the
            candidate, as an aid to the eye. It is not how the matcher measures
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from roslin.matchers import DP, MATCHERS, Matcher, matchers
from roslin.matchers.account import Account
from roslin.matchers.transport.base import Transport
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.represent.packed import Packed, pack
from roslin.search.explain import Explanation, explain
from roslin.search.words import place_words, tempo_words, transposition_words

__all__ = ["Match", "kind_of", "match", "offered"]

# Taking a distance apart costs more than the product of the lengths. Beyond this many pairs of notes, moving weight
# would take seconds for one result; and beyond that many, a table of edits more memory than a result is worth.
MOST_PAIRS = Transport.pairs_at_once
MOST_CELLS = 250_000
_VARIANTS = {"dp": ("dp(place='inside')",)}  # offered beside the defaults
_AID = DP(place="inside")
_AGREE = ("same", "shared")
_FREE = ("joined", "split")  # agree if that costs nothing: a half note and two quarters of its pitch
_DEEDS = {
    "same": "agree",
    "other": "changed",
    "joined": "joined",
    "split": "split",
    "missing": "left out",
    "added": "added",
}


@dataclass(frozen=True, slots=True)
class Match:
    """What belongs together. Of `explanation` and `account` the one that fits the kind is filled, or none."""

    kind: str
    words: str
    transposition: str = ""
    tempo: str = ""
    query_notes: tuple[int, ...] = ()
    candidate_notes: tuple[int, ...] = ()
    explanation: Explanation | None = None
    account: Account | None = None


def offered() -> list[str]:
    """The matchers that the page offers: each with its defaults, and a few variants."""
    return [text for name in matchers() for text in (name, *_VARIANTS.get(name, ()))]


def kind_of(text: str) -> str:
    """How a matcher is explained."""
    return MATCHERS[text.partition("(")[0]].kind


def match(query: Melody, candidate: Melody, chosen: Matcher, among: Packed | None = None, number: int = 0) -> Match:
    """The notes that belong together, as this matcher sees it, or the member of it that decides most.

    `among` are the melodies that the distance may depend on; the candidate is one of them.
    """
    if candidate.notes["is_grace"].all():
        return Match(chosen.kind, "The melody has no notes.")
    leading, pairs = chosen.leading, len(query) * len(candidate)
    if isinstance(leading, Transport) and pairs <= MOST_PAIRS:
        return _by_transport(query, candidate, leading)
    if pairs > MOST_CELLS:
        return Match("likeness", "The two are too long to be laid side by side.")
    account = leading.account(query, among if among is not None else pack([candidate]), number)
    if account is not None:
        return _by_account(query, candidate, account, chosen)
    aid = _AID.account(query, [candidate])
    assert aid is not None  # it has notes
    return _by_account(query, candidate, aid, None)


def _by_transport(query: Melody, candidate: Melody, leading: Transport) -> Match:
    found = explain(query, candidate, leading)
    moves = [move for part in found.parts for move in part.moves if move.candidate_note is not None]
    if not found.parts:
        return Match("transport", found.words, explanation=found)
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


def _by_account(query: Melody, candidate: Melody, account: Account, chosen: Matcher | None) -> Match:
    """`chosen` is None where the account is only an aid to the eye."""
    agreeing = [step for step in account.steps if step.deed in _AGREE or (step.deed in _FREE and not step.cost)]
    both = [(step.query_notes[0], step.candidate_notes[0]) for step in agreeing]
    moved = [
        _transposition(query, candidate, both),
        tempo_words(account.tempo) if account.tempo and both else _tempo(query, candidate, both),
        place_words(candidate.notes["onset_ticks"][both[0][1]] / TICKS_PER_QUARTER, candidate) if both else "",
    ]
    what = _counted(account, chosen or _AID)
    if chosen is None:
        what = f"As an aid to the eye, {what[0].lower()}{what[1:]}"
    elif chosen.leading is not chosen and chosen.kind == "sum":
        what = f"By {chosen.leading.name}, which counts most: {what[0].lower()}{what[1:]}"
    done = ", ".join(part for part in moved if part)
    return Match(
        "likeness" if chosen is None else chosen.kind,
        f"{what}; {done}." if done else f"{what}.",
        moved[0],
        moved[1],
        _sorted(row for step in agreeing for row in step.query_notes),
        _sorted(row for step in agreeing for row in step.candidate_notes),
        account=None if chosen is None else account,
    )


def _counted(account: Account, chosen: Matcher) -> str:
    """What the account holds, in numbers."""
    leading, deeds = chosen.leading, Counter(step.deed for step in account.steps)
    if leading.kind == "alignment":
        counts = [f"{deeds[deed]} {words}" for deed, words in _DEEDS.items() if deeds[deed]]
        return f"{leading.things.capitalize()} side by side: {', '.join(counts) or 'none'}"
    shared = deeds["shared"]
    if leading.kind == "places":
        return f"{shared} {'note coincides' if shared == 1 else 'notes coincide'}"
    return f"{shared} {'run' if shared == 1 else 'runs'} in common"


def _transposition(query: Melody, candidate: Melody, both: Sequence[tuple[int, int]]) -> str:
    """The transposition that more than half of the pairs have, in words."""
    asked, found = query.notes["pitch_midi"], candidate.notes["pitch_midi"]
    most = _most(int(found[j]) - int(asked[i]) for i, j in both)
    return "" if most is None else transposition_words(float(most))


def _tempo(query: Melody, candidate: Melody, both: Sequence[tuple[int, int]]) -> str:
    """How much slower more than half of the times from one pair to the next are, in words."""
    asked, found = query.notes["onset_ticks"], candidate.notes["onset_ticks"]
    steps = [(int(asked[k] - asked[i]), int(found[m] - found[j])) for (i, j), (k, m) in pairwise(both)]
    most = _most(Fraction(there, here) for here, there in steps if here > 0 and there > 0)
    if most is not None:
        return tempo_words(float(most))
    return "in another rhythm" if len(both) > 1 else ""


def _most(values: Iterable[int | Fraction]) -> int | Fraction | None:
    """The value that more than half of them are."""
    counted = Counter(values)
    value, times = max(counted.items(), key=lambda item: item[1], default=(None, 0))
    return value if 2 * times > counted.total() else None


def _sorted(rows: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(rows)))

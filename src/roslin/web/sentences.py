"""Results in a sentence that a musician would say: "The same tune, a fourth higher, from bar 3; 2 notes differ."

It is made of what an explanation knows, so it says no more than that: transposition and length of the notes where most
pairs of notes agree on one, and how many notes have no partner. What the matcher itself counts is for researchers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from roslin.display.words import N_, _, ngettext, number
from roslin.melody import TICKS_PER_QUARTER, Melody, bar_number
from roslin.run.meaning import expected_words, meaning_of

_HEADS = {
    "same tune": N_("The same tune"),
    "probably": N_("Probably the same tune"),
    "perhaps": N_("Perhaps the same tune"),
}
_SAME_NOTES = N_("The same notes")
_NOT_SURE = N_("Similar")
_INTERVALS = (
    N_("a semitone"), N_("a whole tone"), N_("a minor third"), N_("a major third"), N_("a fourth"), N_("a tritone"),
    N_("a fifth"), N_("a minor sixth"), N_("a major sixth"), N_("a minor seventh"), N_("a major seventh"),
)  # fmt: skip
_OCTAVE = 12
_SAME = 1e-6
_SIDE_BY_SIDE = ("alignment", "places", "likeness", "sum")  # kinds that say of each note whether it is the same


class Matched(Protocol):
    """What belongs together in two melodies, as an explanation or an answer has it."""

    @property
    def kind(self) -> str: ...  # noqa: D102 - as in Explanation, here and below

    @property
    def transposition(self) -> float | None: ...  # noqa: D102

    @property
    def tempo(self) -> float | None: ...  # noqa: D102

    @property
    def place(self) -> float | None: ...  # noqa: D102

    @property
    def query_notes(self) -> Sequence[int]: ...  # noqa: D102

    @property
    def candidate_notes(self) -> Sequence[int]: ...  # noqa: D102


def result_sentence(
    match: Matched | None,
    query: Melody,
    candidate: Melody,
    expected: float | None,
    compare: str = "",
    same: int = 0,
) -> str:
    """How a melody resembles the query; `expected` is how many would by chance, `compare` what of them was compared.

    `same` is the number of notes on which they agree, if those are all that one of them has.
    """
    if match is None:
        return _("The time limit was reached before the notes were compared.")
    if not len(match.candidate_notes):
        return _("No note of it belongs to a note of the query.")
    head = _(_SAME_NOTES) if same else _(_HEADS.get("" if expected is None else meaning_of(expected), _NOT_SURE))
    said = [head, *_changes(match, candidate, compare)]
    return f"{', '.join(said)}; {_agreement(match, query, candidate, compare)}."


def chance_words(expected: float) -> str:
    """What a number of chance matches says, in plain words.

    >>> chance_words(0.003), chance_words(1e-9)
    ('0.003 such matches expected by chance', 'fewer than 0.0001 such matches expected by chance')
    """
    told = expected_words(expected)
    shown = expected_number(expected)
    few = _("fewer than {number} such matches expected by chance")
    return (few if told.startswith("<") else _("{number} such matches expected by chance")).format(number=shown)


def expected_number(expected: float) -> str:
    """The number itself, as its reader writes numbers.

    >>> expected_number(0.00042), expected_number(1234.5)
    ('0.00042', '1,200')
    """
    told = expected_words(expected).removeprefix("< ")
    return number(float(told), len(told.partition(".")[2]))


def interval_words(semitones: int) -> str:
    """How far it is from one pitch to another.

    >>> interval_words(5), interval_words(12), interval_words(15), interval_words(24)
    ('a fourth', 'an octave', 'an octave and a minor third', '2 octaves')
    """
    octaves, rest = divmod(semitones, _OCTAVE)
    whole = ngettext("an octave", "{count} octaves", octaves).format(count=octaves)
    if not octaves:
        return _(_INTERVALS[rest - 1])
    return _("{octaves} and {interval}").format(octaves=whole, interval=_(_INTERVALS[rest - 1])) if rest else whole


def _changes(match: Matched, candidate: Melody, compare: str) -> Iterator[str]:
    """What was done to the query: transposed, stretched, moved to a later bar."""
    up = match.transposition
    if up is not None and abs(up - round(up)) < _SAME and round(up) and compare != "rhythm":
        words = _("{interval} higher") if up > 0 else _("{interval} lower")
        yield words.format(interval=interval_words(abs(round(up))))
    if compare not in ("melody", "contour"):
        yield from _lengths(match)
    if match.place is not None:
        yield from _place(match.place, candidate)


def _lengths(match: Matched) -> Iterator[str]:
    if match.tempo is None:
        if len(match.candidate_notes) > 1:
            yield _("in another rhythm")
    elif abs(match.tempo - 2) < _SAME:
        yield _("in notes twice as long")
    elif abs(match.tempo - 0.5) < _SAME:
        yield _("in notes half as long")
    elif abs(match.tempo - 1) > _SAME:
        yield _("in notes {factor} times as long").format(factor=f"{match.tempo:.3g}")


def _place(place: float, candidate: Melody) -> Iterator[str]:
    bar = bar_number(place, candidate)
    first = int(candidate.notes["onset_ticks"][0]) / TICKS_PER_QUARTER
    if place <= first + _SAME:
        return
    if bar is not None:
        yield _("from bar {number}").format(number=bar)
    else:
        yield _("from its middle")


def _agreement(match: Matched, query: Melody, candidate: Melody, compare: str) -> str:
    """How many notes agree. Where one melody ends, the other may go on: only what both have counts."""
    asked = ~query.notes["is_grace"]
    has_partner = int(asked[list(match.query_notes)].sum())
    if match.kind not in _SIDE_BY_SIDE:
        return _("{count} of {total} notes have a partner in it").format(count=has_partner, total=int(asked.sum()))
    before, between, after = _without_partner(asked, match.query_notes)
    its_before, its_between, its_after = _without_partner(~candidate.notes["is_grace"], match.candidate_notes)
    # A changed note is one without a partner on both sides, so it is counted once.
    differ = max(between, its_between) + min(before, its_before) + min(after, its_after)
    if differ and compare == "rhythm":
        return ngettext("one note value differs", "{count} note values differ", differ).format(count=differ)
    if differ:
        return ngettext("one note differs", "{count} notes differ", differ).format(count=differ)
    if not before and not after:
        return _("every note value agrees") if compare == "rhythm" else _("every note agrees")
    if its_before or its_after:
        return _("{count} of {total} notes have a partner in it").format(count=has_partner, total=int(asked.sum()))
    if compare == "rhythm":
        words = ngettext(
            "one note value of the incipit agrees", "all {count} note values of the incipit agree", has_partner
        )
    else:
        words = ngettext("one note of the incipit agrees", "all {count} notes of the incipit agree", has_partner)
    return words.format(count=has_partner)


def _without_partner(is_note: npt.NDArray[np.bool_], rows: Sequence[int]) -> tuple[int, int, int]:
    """How many notes have no partner: before the first one that has, between these, and after the last."""
    first, last = min(rows, default=0), max(rows, default=-1)
    between = int(is_note[first : last + 1].sum()) - int(is_note[list(rows)].sum())
    return int(is_note[:first].sum()), between, int(is_note[last + 1 :].sum())

"""The number of chance matches in words.

E is the number of melodies expected to be as close to the query if all of them were unrelated
(`roslin.search.chance`). The limits were chosen on results judged by eye and counted on others
(dev/measurements/labels-by-eye.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from roslin.display.words import N_, _, ngettext

CLOSE = 0.005  # with one query in two hundred, something that means nothing comes as near
PERHAPS = 0.1  # one in three is a relative
BY_CHANCE = 1.0  # from here on a list holds more chance than sense
MEANINGS = ((0.0005, N_("same tune")), (CLOSE, N_("probably")), (PERHAPS, N_("perhaps")), (BY_CHANCE, N_("unlikely")))
_NO_MORE = N_("no more alike than chance")
SAME_NOTES = N_("same notes")  # a fact, whatever chance gives
FEW_NOTES = 10  # a query with fewer notes seldom identifies a tune
CHANCE_LINE = N_("Results below this line are no better than chance.")
_HEADLINES = (N_("Found"), N_("Possible matches"), N_("Nothing better than chance; the closest are shown"))


def meaning_of(expected: float) -> str:
    """The word for a number of chance matches.

    >>> [meaning_of(e) for e in (0.0001, 0.003, 0.05, 0.5, 3)]
    ['same tune', 'probably', 'perhaps', 'unlikely', 'no more alike than chance']
    """
    return next((word for most, word in MEANINGS if expected <= most), _NO_MORE)


def expected_words(expected: float) -> str:
    """The number as people read it: two digits that matter, and no powers of ten.

    >>> [expected_words(e) for e in (3e-12, 0.00042, 0.31, 1.7, 1234.5)]
    ['< 0.0001', '0.00042', '0.31', '1.7', '1200']
    """
    if expected < 0.0001:
        return "< 0.0001"
    return f"{float(f'{expected:.2g}'):.6f}".rstrip("0").rstrip(".")


def by_chance(expected: float) -> str:
    """The number of chance matches in plain words.

    >>> by_chance(0.003), by_chance(1e-9)
    ('0.003 such matches expected by chance', 'fewer than 0.0001 such matches expected by chance')
    """
    number = expected_words(expected).replace("<", "fewer than")
    return f"{number} such matches expected by chance"


def coinciding_words(ranks: Sequence[int]) -> str:
    """A remark on the results with these ranks, which were found by the notes that coincide; "" if there are none.

    >>> coinciding_words([1]), coinciding_words([])
    ('Result 1 was found by the notes that coincide in time: it may be ornamented, reduced or have another voice.', '')
    """
    if not ranks:
        return ""
    *first, last = map(str, ranks)
    named = _("{first} and {second}").format(first=", ".join(first), second=last) if first else last
    return ngettext(
        "Result {ranks} was found by the notes that coincide in time: "
        "it may be ornamented, reduced or have another voice.",
        "Results {ranks} were found by the notes that coincide in time: "
        "they may be ornamented, reduced or have another voice.",
        len(ranks),
    ).format(ranks=named)


def headline_of(surest: float, *, has_same: bool = False) -> str:
    """The headline of a list, from its most certain result and whether one agrees with the query on all notes.

    >>> headline_of(0.3), headline_of(40, has_same=True)
    ('Possible matches', 'Found')
    """
    return _HEADLINES[0 if has_same or surest <= CLOSE else 1 if surest <= BY_CHANCE else 2]

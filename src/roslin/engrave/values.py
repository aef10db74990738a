"""Note values: which lengths in ticks can be written as plain or dotted notes, alone, tied, or in a tuplet."""

from __future__ import annotations

from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.pae.signatures import WHOLE_NOTE_TICKS

_NAMES = ("long", "breve", "1", "2", "4", "8", "16", "32", "64", "128", "256", "512")
_TICKS = [4 * WHOLE_NOTE_TICKS >> power for power in range(len(_NAMES))]
FLAGGED = frozenset(_NAMES[5:])
_VALUES = {
    2 * ticks - (ticks >> dots): (name, dots)
    for dots in (2, 1, 0)
    for name, ticks in zip(_NAMES, _TICKS, strict=True)
    if ticks % (1 << dots) == 0
}
VALUE_TICKS = {value: ticks for ticks, value in _VALUES.items()}
_DESCENDING = sorted(_VALUES, reverse=True)
TUPLETS = (3, 5, 7, 9, 11, 13, 15)
_MOST_TIED = 12  # a longer chain of ties is no notation: the music was never in bars


def note_values(ticks: int) -> list[tuple[str, int]] | None:
    """Note values that add up to a length, longest first, or None."""
    if ticks in _VALUES:
        return [_VALUES[ticks]]
    values: list[tuple[str, int]] = []
    for single in _DESCENDING:
        while single <= ticks and len(values) <= _MOST_TIED:
            values.append(_VALUES[single])
            ticks -= single
    return values if values and not ticks and len(values) <= _MOST_TIED else None


def grace_value(ticks: int) -> str:
    """The longest plain value that is not longer than a grace note; an eighth for one without a length."""
    return next((name for name, length in zip(_NAMES, _TICKS, strict=True) if length <= ticks), "8")


def is_writable(ticks: int, count: int, plain: int) -> bool:
    """Whether a length can be written in a tuplet of `count` in the time of `plain`."""
    return ticks * count % plain == 0 and note_values(ticks * count // plain) is not None


def beat_ticks(metre: str) -> int:
    """How long a beam group is: a quarter, three eighths in 6/8 and its kin, the bar in 3/8."""
    upper, _, lower = metre.partition("|")[0].partition("/")
    if not (upper.isdigit() and lower.isdigit()):
        return TICKS_PER_QUARTER
    unit = WHOLE_NOTE_TICKS // int(lower)
    return 3 * unit if int(upper) % 3 == 0 and int(lower) >= 8 else max(unit, TICKS_PER_QUARTER)

"""Filters by editing distance from a query: of the gross contour, of the rhythm."""

from __future__ import annotations

import math

from roslin.collection.chain import EDIT_DISTANCE, Cost, Filter, call_text, costs_as_text
from roslin.display.words import _
from roslin.errors import FilterError
from roslin.melody import Melody
from roslin.represent.edits import EditCosts
from roslin.represent.strings import contour_string, rhythm_string

_ROUNDING = 1e-9  # sums of costs such as 0.1 are not exact


def contour_distance(query: str | Melody, at_most: float, costs: EditCosts | None = None) -> Filter:
    """Editing distance between the gross contour of the query (letters U, D, R, or a melody) and each melody's.

    `costs` says what an insertion, a deletion and a replacement cost (represent/edits.py); what each melody costs is in
    `Selection.candidates`.

    >>> print(contour_distance("UUDR", 1))
    Gross contour at an editing distance of at most 1 from UUDR (insertion 1, deletion 1, replacement 1).
    """
    letters = contour_string(query) if isinstance(query, Melody) else query.strip().removeprefix("*").upper()
    return _edit_distance("contour", _("Gross contour"), letters, "UDR", at_most, costs or EditCosts())


def rhythm_distance(query: str | Melody, at_most: float, costs: EditCosts | None = None) -> Filter:
    """Editing distance between the rhythm string of the query (letters L, S, =, or a melody) and each melody's."""
    letters = rhythm_string(query) if isinstance(query, Melody) else query.strip().upper()
    return _edit_distance("rhythm", _("Rhythm"), letters, "LS=", at_most, costs or EditCosts())


def _edit_distance(column: str, subject: str, letters: str, known: str, at_most: float, costs: EditCosts) -> Filter:
    for position, letter in enumerate(letters, start=1):
        if letter not in known:
            expected = ", ".join(known)
            raise FilterError(f"{column}_distance: column {position}: expected one of {expected}; found {letter!r}")
    if isinstance(at_most, (bool, str)) or not 0 <= at_most < math.inf:
        raise FilterError(f"{column}_distance: the distance must be a finite number, at least 0; got {at_most!r}")
    # A candidate that is longer by n letters costs at least n insertions; that is quicker to see than the distance.
    shortest = len(letters) - _affordable(at_most, costs.deletion)
    longest = len(letters) + _affordable(at_most, costs.insertion)
    condition = f"length(strings.{column}) BETWEEN ? AND ? AND {EDIT_DISTANCE}(?, strings.{column}, ?) <= ?"
    parameters = (shortest, longest, letters, costs_as_text(costs), at_most + _ROUNDING)
    sentence = _("{subject} at an editing distance of at most {distance} from {letters} ({costs}).").format(
        subject=subject, distance=f"{at_most:g}", letters=letters or _("nothing"), costs=costs
    )
    name = call_text(f"{column}_distance", letters, at_most, costs=(costs, EditCosts()))
    cost = Cost(f"{column} cost", f"{EDIT_DISTANCE}(?, strings.{column}, ?)", (letters, costs_as_text(costs)))
    return Filter(name, "strings", condition, parameters, sentence, cost)


def _affordable(at_most: float, cost: float) -> int:
    """How many operations of one kind a distance can pay for."""
    return 2**31 if cost * 2**31 <= at_most else int((at_most + _ROUNDING) / cost)

"""`twv_covered`: our variant of `twv`, with two choices of our own.

    tempos    one, that of the query: where the same music is mostly written in the same note values, more tempos add
              more wrong matches than right ones
    missing   a segment must be covered: each unit of its weight that finds no partner costs 2. By the paper's
              definition the lighter point set is matched completely, so that a document of one note is near to
              everything

Everything else is as in `twv.py`. docs/measurements/twv.md has what other choices find.
"""

from __future__ import annotations

from dataclasses import dataclass

from roslin.display.words import N_
from roslin.matchers.base import register
from roslin.matchers.transport.twv import TWV
from roslin.values.parameters import real, reals


@register
@dataclass(frozen=True, repr=False)
class TWVCovered(TWV):
    """Segments that must be covered, at one tempo."""

    name = "twv_covered"
    summary = N_("Our variant of twv: one tempo, and a price for what finds no partner in a short melody.")
    engine = "segments"
    reference = "Roslin, after Typke, Wiering & Veltkamp 2007"

    tempos: tuple[float, ...] = reals((1.0,), above=0)
    missing: float | None = real(2.0, least=0, optional=True)

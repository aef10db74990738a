"""What can be asked of a reader besides the music: one part, one track, repeats played out.

A format names those that it knows in `Format.options`; any other is refused, because it would change nothing unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from roslin.notation.record import Voices

if TYPE_CHECKING:
    from roslin.notation.midi.melodies import Grid


class Options(TypedDict, total=False):
    """Options of `load` and `records`. None and False ask for nothing.

    part             the staves of one part: its name, or its number from 1
    voice            one voice of each staff, from 0
    voices           "apart": a melody for each staff of a score, track or channel of a MIDI file;
                     "together": one of all. Other formats have one melody anyway, and nothing to change
    written_pitch    transposing instruments as written, not as they sound
    track, channel   those notes of a MIDI file only, both from 1
    quantise         the grid that played notes are moved to, such as "1/16" or "1/16+1/8t"
    expand_repeats   repeats and endings played out
    """

    part: str | int | None
    voice: int | None
    voices: Voices | None
    written_pitch: bool
    track: int | None
    channel: int | None
    quantise: Grid | None
    expand_repeats: bool

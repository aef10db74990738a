"""Standard MIDI files, types 0, 1 and 2, to melodies and back.

A MIDI file is a performance: it knows when a key goes down and up, in its own ticks (`division` per quarter note).
Onset and end of each note are converted to 40320 ticks per quarter, exactly where the file's ticks allow it and else
rounded half up, each separately, so that no error adds up. Tempo changes nothing. Percussion (channel 10) is left out.

    type 0     a melody for each channel
    type 1     a melody for each track that has notes; the channels of a track are its voices
    type 2     each track is a piece with its own signatures

Signatures, words and names come from the track itself or else from the first track that has any. Places in problems are
bytes of the file, counted from 1, given as columns. `limits` has how much is read at most;
docs/concepts/reading/scores.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from roslin.errors import NotationError
from roslin.notation.midi import limits
from roslin.notation.midi.melodies import Grid, grids, records
from roslin.notation.midi.tracks import read_file
from roslin.notation.midi.writer import write_midi
from roslin.notation.record import Record, Voices, refusal

__all__ = ["limits", "matches", "read", "read_midi", "write_midi"]


def matches(head: bytes) -> bool:
    """Whether a file starts like a MIDI file, bare or in a RIFF envelope."""
    return head.startswith(b"MThd") or (head.startswith(b"RIFF") and head[8:12] == b"RMID")


def read(stream: BinaryIO, **wanted: Any) -> Iterator[Record]:
    """A record for each melody of a file; see `read_midi` for the options."""
    yield from read_midi(stream.read(limits.MAX_BYTES + 1), **wanted)


def read_midi(
    data: bytes,
    *,
    strict: bool = False,
    track: int | None = None,
    channel: int | None = None,
    voices: Voices = "apart",
    quantise: Grid | None = None,
) -> list[Record]:
    """The melodies of a MIDI file: all of them, or those of one track and one channel, both counted from 1.

    With `voices` "together" they are one melody. The tracks of type 2 are pieces of their own, and stay apart.

    `quantise` moves onsets and ends to a grid: a note value ("1/16", "1/8t" for a triplet eighth), several of them
    ("1/16+1/8t": for each quarter the one that fits its onsets best), or fractions of a quarter note. The mean and the
    largest distance moved are in `Melody.extra["quantisation_error"]`.

    >>> from roslin import Melody
    >>> read_midi(write_midi(Melody.from_notes([0, 1, 2], [1, 1, 2], [60, 62, 64])), quantise="1/16")[0].melody
    Melody(None, 3 notes)
    """
    steps = grids(quantise)
    if channel is not None and not 1 <= channel <= 16:
        raise refusal("no such channel", "a channel from 1 to 16", str(channel))
    try:
        return records(read_file(data), strict, track, channel, voices, steps)
    except NotationError as error:
        return [Record(None, (error.problem,))]

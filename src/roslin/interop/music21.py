"""Streams of music21 as melodies.

    from music21 import corpus
    from roslin.interop.music21 import from_music21

    for melody in from_music21(corpus.parse("bwv66.6")):
        print(melody)

A stream is written as MusicXML by music21 and read as such, so that a melody of a stream is that of its file.
"""

from __future__ import annotations

from typing import Any, Unpack

from roslin.errors import ArgumentError
from roslin.melody import Melody
from roslin.notation import Options, load


def from_music21(stream: Any, *, strict: bool = False, **options: Unpack[Options]) -> list[Melody]:
    """The melodies of a score, a part, a measure, any other stream, or a single note; of an opus, those of all scores.

    The options are those of `roslin.load` for MusicXML. Title and composer are those of the metadata of the stream.
    """
    try:
        from music21.exceptions21 import Music21Exception
        from music21.musicxml.m21ToXml import GeneralObjectExporter
        from music21.note import NotRest
        from music21.stream import Opus, Stream
    except ImportError:
        raise ArgumentError("reading streams needs music21, which is not installed: pip install music21") from None
    if isinstance(stream, Opus):
        return [melody for score in stream.scores for melody in from_music21(score, strict=strict, **options)]
    if not isinstance(stream, (Stream, NotRest)):
        raise ArgumentError(f"a stream of music21, a note or a chord is expected; got {type(stream).__name__}")
    try:
        data = GeneralObjectExporter(stream).parse()
    except Music21Exception as error:
        raise ArgumentError(f"the stream cannot be written as MusicXML: {error}") from error
    about = stream.metadata if isinstance(stream, Stream) else None
    known = {"title": about and about.bestTitle, "composer": about and about.composer}
    return [melody.with_metadata(**known) for melody in load(data, "musicxml", strict=strict, **options)]

"""The music string of the Plaine & Easie Code, versions 1 and 2, read in one pass.

The reader looks at one character, finds the function that understands it in `_READERS`, and lets it consume what
belongs to it. Every function moves forward, so any input ends; repetitions are bounded by `Repeats`. What has been
read so far is in one `Music`, which every function is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from roslin.errors import NotationError, Problem
from roslin.melody import MAX_TICKS
from roslin.notation.pae import bars, changes, dialect, graces, groups, notes, rests, signs, ties
from roslin.notation.pae.music import Music
from roslin.notation.record import Repeats

MAX_CHARACTERS = 1_000_000


def read_music(
    text: str,
    start: int,
    alterations: Mapping[str, int],
    measure: int,
    repeats: Repeats,
    *,
    strict: bool,
    version: int | None = None,
) -> Music:
    """Read `text[start:]` to its end, under a key that alters these letters and a bar of so many ticks.

    Notes that are repeated are counted in `repeats`, which refuses too many.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotationError(Problem("too long for one incipit", f"at most {MAX_CHARACTERS} signs", str(len(text)), 1))
    music = Music(text, start, alterations, measure, repeats, strict=strict, version=version)
    readers, length = _READERS, len(text)
    while music.position < length:
        readers.get(text[music.position], dialect.unknown_sign)(music)
    _end(music)
    music.check_size()
    if music.time > MAX_TICKS:
        raise NotationError(Problem("longer than any music", column=length))
    return music


def _end(music: Music) -> None:
    """Tell what is still open. A tie may be: that is how a note cut off by the end of the incipit is written."""
    end = "the end"
    music.drop_stale_ties()
    if music.tuplet is not None:
        music.problem("tuplet without an end", music.tuplet.column, ")", end)
        groups.end_tuplet(music)
    if music.beam_columns:
        music.problem("beam without an end", music.beam_columns[-1], "}", end)
    if music.figure is not None:
        music.problem("repeated figure without an end", music.figure.column, "! and f", end)
    if music.grace:
        music.problem("grace note without a note", music.grace_column, "a note after it", end)
    if music.chord_column or (music.joins_chord and not music.chords_have_end):
        music.problem("chord without an end", music.chord_column or len(music.text), "another note", end)
    music.drop_accidental()


def _validity_note(music: Music) -> None:
    music.position = music.match(signs.VALIDITY_NOTE).end()


_READERS: dict[str, Callable[[Music], None]] = {
    **dict.fromkeys("ABCDEFG", notes.letter),
    **dict.fromkeys("0123456789", notes.length),
    **dict.fromkeys("',", notes.octave_marks),
    **dict.fromkeys("xbn", notes.accidental),
    **dict.fromkeys(" \t\r\n", Music.skip),
    **dict.fromkeys("tpu", notes.ornament),
    **dict.fromkeys("/:", bars.bar_line),
    "-": rests.rest,
    "=": rests.measure_rest,
    "+": ties.tie,
    "_": ties.underscore,
    "^": groups.begin_chord,
    ">": groups.end_chord,
    "{": groups.begin_beam,
    "}": groups.end_beam,
    "(": groups.open_parenthesis,
    ";": groups.tuplet_number,
    ")": groups.close_parenthesis,
    "g": graces.acciaccatura,
    "q": graces.appoggiatura,
    "y": graces.grace_group_or_slur,
    "r": graces.end_grace_group,
    "!": bars.figure,
    "i": bars.repeat_bar,
    "%": changes.clef_change,
    "$": changes.key_change,
    "@": changes.time_change,
    "~": _validity_note,
}

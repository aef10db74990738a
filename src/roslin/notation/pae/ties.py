"""Ties: + of version 1, and _ of version 2, which old catalogues write for any slur.

A tie is open until the next note of its pitch; what becomes of open ties is in `music`.
"""

from __future__ import annotations

from roslin.notation.pae import notes, signs
from roslin.notation.pae.music import Music
from roslin.notation.pae.written import WrittenNote


def tie(music: Music) -> None:
    """+: the note or chord before it goes on in the next."""
    column = music.position + 1
    follows = music.event_end == music.position and bool(music.event)
    music.position += 1
    if not follows:
        music.problem("tie without a note", column, "a note before the tie", music.found_at(music.position))
        return
    music.event_end = music.position
    only_last = music.text.startswith("^", music.position) and not music.chords_have_end
    _open_ties(music, column, music.event[-1:] if only_last else music.event)


def _open_ties(music: Music, column: int, notes: list[WrittenNote]) -> None:
    if notes[0].is_grace:
        music.problem("tie after a grace note, read as a slur", column, "a note of full size before the tie")
        return
    music.tie_column = column
    for note in notes:
        music.ties[note.letter, note.octave] = note


def underscore(music: Music) -> None:
    """Version 2: a tie and the note that it leads to, in one sign. In old catalogues: a tie, like +."""
    column = music.position + 1
    music.position += 1
    if not music.event:
        music.problem("tie without a note", column, "a note before the tie", music.found_at(music.position))
        return
    chord = music.event
    if music.ties_are_old or chord[0].is_grace:
        following = signs.NEXT_NOTE.match(music.text, music.position)
        is_tie = bool(following and following[1] == chord[0].letter and not chord[0].is_grace)
        music.problem("tie or slur written with _", column, "+ for a tie", "'_'", "a tie" if is_tie else "a slur")
        if is_tie:
            _open_ties(music, column, chord)
        return
    _open_ties(music, column, chord)
    music.repeat(len(chord))
    joins, music.joins_chord = music.joins_chord, False
    for note in chord:
        notes.add(music, note.letter, note.octave, note.alter, column)
        music.joins_chord = True
    music.joins_chord = joins

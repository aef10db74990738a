"""Rests: one that lasts as long as a note, and whole bars of rest."""

from __future__ import annotations

from roslin.notation.pae import signs
from roslin.notation.pae.music import Music

MAX_MEASURES_OF_REST = 9_999


def rest(music: Music) -> None:
    """-: a rest of the length in force; in old catalogues, before a number and a bar line, bars of rest."""
    old = signs.OLD_MEASURE_REST.match(music.text, music.position)
    if old:
        meant = "=" + old[1]
        music.problem("bars of rest written with -", music.position + 1, meant, repr(old[0]), meant)
        music.position = old.end()
        _rest_measures(music, old[1], old.start() + 1)
        return
    music.drop_accidental()
    if music.grace:
        music.problem("rest among grace notes", music.position + 1, "a note after the grace sign", "'-'")
        if music.grace_notes_left:
            music.grace, music.grace_notes_left = "", 0
    music.position += 1
    if not music.grace:
        if music.ties:
            music.lose_ties()
        music.time += music.next_length()
    music.event = []
    music.event_end = music.position


def measure_rest(music: Music) -> None:
    """= and a number: bars of rest."""
    match = music.match(signs.MEASURE_REST)
    music.position = match.end()
    _rest_measures(music, match[1], match.start() + 1)


def _rest_measures(music: Music, digits: str, column: int) -> None:
    if len(digits) > 4:
        music.problem("too many bars of rest", column, f"at most {MAX_MEASURES_OF_REST}", digits[:20])
        digits = "1"
    if music.ties:
        music.lose_ties()
    music.time += music.measure * int(digits or 1)
    music.measures_of_rest = int(digits or 1)
    music.event = []

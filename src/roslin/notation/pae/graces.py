"""Grace notes: g for one without a length, q for one with a length, qq...r or y...r for several."""

from __future__ import annotations

from roslin.notation.pae import signs
from roslin.notation.pae.music import Music


def acciaccatura(music: Music) -> None:
    """g: the next note is a grace note without a length."""
    music.grace, music.grace_notes_left = "g", 1
    music.position += 1
    music.grace_column = music.position


def appoggiatura(music: Music) -> None:
    """q: one grace note, with its length; qq: all notes up to r."""
    music.position += 1
    music.grace_column = music.position
    doubled = music.text.startswith("q", music.position)
    if doubled:
        music.position += 1
    closed = signs.GRACE_GROUP_END.match(music.text, music.position) is not None
    if doubled and not closed:
        music.problem("grace group without an end", music.grace_column, "r after the grace notes", "no r")
    if closed and not doubled:
        music.problem("grace group begun with one q", music.grace_column, "qq", "'q'", "qq")
    music.grace = "q"
    music.grace_notes_left = 0 if closed else 2 if doubled else 1


def grace_group_or_slur(music: Music) -> None:
    """y: grace notes up to r; in old catalogues, a slur up to z."""
    music.position += 1
    if signs.SLUR_END.match(music.text, music.position):
        music.problem("slur written y...z", music.position, "no slur: the code has none", "'y'", "a slur")
    elif signs.GRACE_GROUP_END.match(music.text, music.position):
        music.grace, music.grace_notes_left, music.grace_column = "q", 0, music.position
    else:
        music.problem("grace group without an end", music.position, "r after the grace notes", "no r")


def end_grace_group(music: Music) -> None:
    """r: the grace notes end."""
    music.position += 1
    if music.grace:
        music.grace, music.grace_notes_left = "", 0
    else:
        music.problem("end of a grace group that was not begun", music.position, "qq or y before r", "'r'")


def count_grace_note(music: Music) -> None:
    """One grace note has been read; after the last of a known number, notes are of full size again."""
    if music.grace_notes_left:
        music.grace_notes_left -= 1
        if not music.grace_notes_left:
            music.grace = ""

"""Bar lines, and what is repeated: the bar before (i), or a figure between two ! (f for each time)."""

from __future__ import annotations

import re

from roslin.notation.pae import groups, signs, written
from roslin.notation.pae.music import Music, Span


def bar_line(music: Music) -> None:
    """A bar line: accidentals hold up to it, and nothing may go on across it. A colon alone is none."""
    match = signs.BAR_LINE.match(music.text, music.position)
    if match is None:  # a colon alone
        music.problem("repeat sign without a bar line", music.position + 1, "//: or ://", "':'", "nothing")
        music.position += 1
        return
    _close_open_signs(music, match)
    music.drop_accidental()
    music.position = match.end()
    music.bar_alterations.clear()
    here = Span(music.time, len(music.written), match.start() + 1)
    if music.measures_of_rest > 1:  # of several bars of rest, the last one is the bar that "i" repeats
        music.bar_start = Span(here.time - music.measure, here.row, here.column)
    if here.time > music.bar_start.time:
        music.last_bar = (music.bar_start, here)
    music.bar_start, music.measures_of_rest = here, 0
    if not music.barlines or music.barlines[-1] != music.time:
        music.barlines.append(music.time)


def _close_open_signs(music: Music, line: re.Match[str]) -> None:
    """Tell, and end, what should have ended before the bar line."""
    found = repr(line[0])
    if music.tuplet is not None:
        music.problem("tuplet without an end", music.tuplet.column, ") before the bar line", found)
        groups.end_tuplet(music)
    if music.grace:
        music.problem("grace note without a note", music.grace_column, "a note before the bar line", found)
        music.grace = ""
    if music.chord_column:
        music.problem("chord without an end", music.chord_column, "> before the bar line", found)
        music.chord_column, music.joins_chord = 0, False
    if music.figure is not None and music.figure.row < len(music.written):
        music.problem("bar line in a repeated figure", line.start() + 1, "! before the bar line", found)


def repeat_bar(music: Music) -> None:
    """i: the bar before once more."""
    column = music.position + 1
    music.position += 1
    if music.last_bar is None or music.bar_start.time != music.time or len(music.written) != music.bar_start.row:
        music.problem("repeated bar", column, "a whole bar and a bar line before i", music.found_at(music.position))
        if music.last_bar is None:
            return
    elif not signs.BAR_LINE.match(music.text, music.position) and music.position < len(music.text):
        music.problem("repeated bar", column, "a bar line after i", music.found_at(music.position))
    first, last = music.last_bar
    _repeat(music, first, last)


def figure(music: Music) -> None:
    """!: the first begins a figure; the second ends it, and as many f as follow repeat it."""
    music.position += 1
    if music.figure is None:
        music.figure = Span(music.time, len(music.written), music.position)
        return
    first, music.figure = music.figure, None
    last = Span(music.time, len(music.written), music.position)
    times = signs.REPEATS.match(music.text, music.position)
    if times is None:
        music.problem("repeated figure", music.position, "f after the second !", music.found_at(music.position))
        return
    for _ in times[0]:
        _repeat(music, first, last)
    music.position = times.end()


def _repeat(music: Music, first: Span, last: Span) -> None:
    originals = music.written[first.row : last.row]
    music.repeat(len(originals))
    copies = written.repeat(originals, music.time - first.time)
    leading_out = {name: copies[originals.index(note)] for name, note in music.ties.items() if note in originals}
    for note in copies:
        if note.onset == music.time and not note.is_grace and note.prolongs is None:
            # A tie before the repetition leads into it.
            note.prolongs = music.tied_note(note.letter, note.octave, note.alter)
    music.written += copies
    music.ties.update(leading_out)
    music.time += last.time - first.time
    music.event = []

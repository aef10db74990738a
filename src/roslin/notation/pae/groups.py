"""Notes that belong together: chords, beams and tuplets. Parentheses may also be a fermata, or an old metre."""

from __future__ import annotations

from roslin.notation.pae import changes, signs, written
from roslin.notation.pae.music import Music, Span
from roslin.notation.pae.signs import QUARTER_TICKS


def begin_chord(music: Music) -> None:
    """^: version 2 begins a chord with it; version 1 joins the next note to the one before."""
    column = music.position + 1
    follows = music.event_end == music.position and bool(music.event)
    music.position += 1
    if music.chords_have_end:
        if music.chord_column:
            music.problem("chord inside a chord", column, "> before the next chord", "'^'")
        music.chord_column, music.joins_chord = column, False
    elif follows:
        music.joins_chord = True
    else:
        music.problem("chord without a first note", column, "a note before ^", "'^'")


def end_chord(music: Music) -> None:
    """>: the chord ends."""
    music.position += 1
    if not music.chord_column:
        music.problem("end of a chord that was not begun", music.position, "^ before >", "'>'")
    music.chord_column, music.joins_chord = 0, False
    music.event_end = music.position


def begin_beam(music: Music) -> None:
    """{: a beam begins."""
    music.position += 1
    music.beam_columns.append(music.position)


def end_beam(music: Music) -> None:
    """}: a beam ends."""
    music.position += 1
    if music.beam_columns:
        music.beam_columns.pop()
    else:
        music.problem("end of a beam that was not begun", music.position, "{ before }", "'}'")


def open_parenthesis(music: Music) -> None:
    """(: a tuplet begins, or a fermata, or an old metre stands in it."""
    start = music.position
    time_change = signs.OLD_TIME_CHANGE.match(music.text, start)
    if time_change:
        meant = "@" + time_change[1]
        music.problem("time signature in parentheses", start + 1, meant, repr(time_change[0]), meant)
        changes.new_metre(music, time_change)
        return
    music.position += 1
    if signs.FERMATA.match(music.text, start):
        music.fermata = True
        return
    if music.tuplet is not None:
        music.problem("tuplet inside a tuplet", start + 1, ") before the next (", "'('")
        end_tuplet(music)
    if music.length_end != start and not signs.VALUE_INSIDE.match(music.text, start):
        music.problem("tuplet without a value", start + 1, "a note value before or after the parenthesis", "none")
    music.tuplet = Span(music.time, len(music.written), start + 1)
    music.tuplet_total = music.lengths[-1] if music.length_end == start else 0
    music.tuplet_count = 0


def tuplet_number(music: Music) -> None:
    """; and how many notes the tuplet has."""
    match = music.match(signs.TUPLET_COUNT)
    if music.tuplet is None or not match[1] or not int(match[1]):
        music.problem("number of notes in a tuplet", music.position + 1, "(...;3)", repr(match[0]))
    else:
        music.tuplet_count = int(match[1])
    music.position = match.end()


def close_parenthesis(music: Music) -> None:
    """): the tuplet or the fermata ends."""
    music.position += 1
    if music.fermata:
        music.fermata = False
    elif music.tuplet is not None:
        end_tuplet(music)
    else:
        music.problem("end of a tuplet that was not begun", music.position, "( before )", "')'")
    if music.event:
        music.event_end = music.position


def end_tuplet(music: Music) -> None:
    """Scale the rows of the group so that they fill the total before the parenthesis."""
    group, music.tuplet = music.tuplet, None
    assert group is not None
    length = music.time - group.time
    if length <= 0:
        return
    count = music.tuplet_count or 3
    total = music.tuplet_total
    heads = len({note.onset for note in music.written[group.row :] if not note.is_grace})
    if total and not length <= 2 * total <= 4 * length and heads != music.tuplet_count:
        # "6(6ABCDEF)": the value before the group repeats the value of its notes
        music.problem(
            "the notes of the group do not fit the value before it",
            group.column,
            "a total between half and twice what the notes last",
            f"{total / QUARTER_TICKS:g} quarters for {length / QUARTER_TICKS:g}",
        )
        total = 0
    total = total or round(length * signs.usual_time(count) / count)
    written.scale(music.written[group.row :], group.time, length, total)
    music.time = group.time + total

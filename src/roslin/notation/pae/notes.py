"""Notes, and the signs that stand before and after one: octave, length, accidental, ornament.

An accidental holds for its octave until the bar line, and through a tie across it. A length or an octave holds until
the next one; several lengths together are a pattern that repeats over the notes.
"""

from __future__ import annotations

from roslin.notation.pae import graces, signs
from roslin.notation.pae.music import Music
from roslin.notation.pae.written import WrittenNote

MAX_CHORD_NOTES = 100  # the code has names for 77 pitches


def letter(music: Music) -> None:
    """A note name."""
    note(music, music.text[music.position])


def note(music: Music, letter: str) -> None:
    """A note of this name, here, with the alteration that holds for it."""
    music.position += 1
    octave = music.octave
    alter = music.accidental
    if alter is not None:
        music.accidental = None
        music.bar_alterations[letter, octave] = alter
    elif music.ties and not music.grace and (letter, octave) in music.ties:
        alter = music.ties[letter, octave].alter
    else:
        alter = music.bar_alterations.get((letter, octave)) if music.bar_alterations else None
        if alter is None:
            alter = music.alterations.get(letter, 0)
    add(music, letter, octave, alter, music.position)


def add(music: Music, letter: str, octave: int, alter: int, column: int) -> None:
    """Add a note: to the chord before it, as a grace note, or as the next event in time."""
    midi, base40 = signs.pitch_numbers(letter, octave, alter)
    if not 0 <= midi <= 127:
        music.problem("pitch out of range, left out", column, "a pitch from 0 to 127 in MIDI numbers", str(midi))
        music.joins_chord = music.joins_chord and music.chords_have_end
        return
    if music.joins_chord and music.event:
        if len(music.event) >= MAX_CHORD_NOTES:
            music.problem("chord too large, note left out", column, f"at most {MAX_CHORD_NOTES} notes", "more")
            return
        first = music.event[0]
        onset, duration, is_grace = first.onset, first.duration, first.is_grace
        music.in_order = False
        music.joins_chord = music.chords_have_end
    else:
        if music.ties:
            music.drop_stale_ties()
        music.event = []
        onset, is_grace = music.time, bool(music.grace)
        if is_grace:
            duration = 0 if music.grace == "g" else music.lengths[music.length_index]
            music.in_order = False
            graces.count_grace_note(music)
        else:
            duration = music.next_length()
            music.time = onset + duration
        music.joins_chord = bool(music.chord_column)  # inside ^...> every further note joins the first
    prolongs = music.tied_note(letter, octave, alter) if music.ties and not is_grace else None
    note = WrittenNote(onset, duration, letter, octave, alter, midi, base40, is_grace, column, prolongs)
    music.written.append(note)
    music.event.append(note)
    music.event_end = music.position


def octave_marks(music: Music) -> None:
    """Apostrophes or commas: the octave from here on."""
    match = music.match(signs.OCTAVE_MARKS)
    marks = match[0]
    set_octave(music, 3 + len(marks) if marks[0] == "'" else 4 - len(marks), match.end())


def set_octave(music: Music, octave: int, end: int) -> None:
    """From here on notes are in this octave; its marks reach to `end`."""
    if not signs.LOWEST_WRITTEN <= octave <= signs.HIGHEST_WRITTEN:
        music.problem("too many octave marks", music.position + 1, "at most four ' or three ,", f"octave {octave}")
        octave = max(signs.LOWEST_OCTAVE, min(octave, signs.HIGHEST_OCTAVE))
    music.octave = octave
    if music.length_end == music.position:
        music.length_end = end
    music.position = end


def length(music: Music) -> None:
    """Digits and dots: the length from here on, or a pattern of lengths."""
    match = music.match(signs.LENGTHS)
    if match[0].count(".") > signs.MAX_DOTS and "." * (signs.MAX_DOTS + 1) in match[0]:
        most = f"at most {signs.MAX_DOTS}"
        music.problem("too many dots", music.position + 1, most, repr(match[0][:20]), f"{signs.MAX_DOTS} dots")
    music.lengths = signs.length_pattern(match[0])
    music.length_index = 0
    music.position = music.length_end = match.end()


def accidental(music: Music) -> None:
    """x, b or n: the next note's alteration."""
    match = music.match(signs.ACCIDENTAL)
    if music.accidental is not None:
        music.problem("more than one accidental", match.start() + 1, "a note after the first", repr(match[0]))
    music.accidental = signs.ACCIDENTALS[match[0]]
    music.accidental_column = match.start() + 1
    music.position = match.end()


def ornament(music: Music) -> None:
    """Trill, fermata, ligature: they change neither pitch nor time. Version 2 has "2p^CE>" for a chord."""
    before_chord = music.text.startswith("p^", music.position)
    if music.event_end != music.position and not before_chord:
        found = music.found_at(music.position)
        music.problem("sign that follows a note", music.position + 1, "a note before it", found, "an ornament")
    else:
        music.event_end += 1
    music.position += 1

"""The music string of the Plaine & Easie Code, versions 1 and 2, read in one pass.

The reader looks at one character, finds the method that understands it in `_READERS`, and lets it consume what
belongs to it. Every method moves forward, so any input ends; repetitions are bounded by `MAX_NOTES`.

Notes are collected as written (written.py): a tied note is one of its own, so that tuplets can scale and repetitions
can copy it; ties are merged at the end. Time is an integer number of ticks throughout, also in a tuplet of eleven.

What versions 1 and 2 do not define but old catalogues contain (`"` for two octave marks, `_` for a tie, `y...z` for
a slur, `-24/` for bars of rest, capital X for a sharp, ...) is a problem in strict reading. Otherwise it is read as
those catalogues meant it, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from roslin.errors import NotationError, Problem, shortened
from roslin.melody import MAX_TICKS, NoteTable, SignatureChange
from roslin.notation.pae import signs, written
from roslin.notation.pae.signatures import read_clef, read_key_signature, read_time_signature
from roslin.notation.pae.signs import QUARTER_TICKS
from roslin.notation.pae.written import WrittenNote
from roslin.notation.record import MAX_PROBLEMS

__all__ = ["MAX_NOTES", "MusicReader"]

# More than this in one incipit is a runaway repetition, not music.
MAX_NOTES = 200_000
MAX_CHARACTERS = 1_000_000
MAX_MEASURES_OF_REST = 9_999
MAX_CHORD_NOTES = 100  # the code has names for 77 pitches

_NOTE_OR_SIGN = "a note, a rest, a bar line or a sign of the Plaine & Easie Code"


class MusicReader:
    """Reads one music string. Make one, call `read`, take `notes`, `barlines` and `changes` from it."""

    def __init__(
        self,
        text: str,
        start: int,
        alterations: Mapping[str, int],
        measure: int,
        *,
        strict: bool,
        version: int | None = None,
    ):
        self.text = text
        self.position = start
        self.alterations = alterations
        self.measure = measure
        self.strict = strict
        # Only version 2 closes a chord with ">"; then "^" opens one instead of joining two notes.
        self.chords_have_end = ">" in text if version is None else version == 2
        self.ties_are_old = version != 2 and "_" in text and signs.OLD_TIES.search(text) is not None

        self.problems: list[Problem] = []
        self.unreadable = 0  # signs that were left out
        self.doubtful_notes = 0  # lower-case letters that were taken for notes
        self.barlines: list[int] = []
        self.changes: list[SignatureChange] = []

        self.written: list[WrittenNote] = []
        self.time = 0
        self.octave = 4
        self.lengths: tuple[int, ...] = (QUARTER_TICKS,)
        self.length_index = 0
        self.length_end = -1
        self.accidental: int | None = None
        self.accidental_column = 0
        self.bar_alterations: dict[tuple[str, int], int] = {}
        self.ties: dict[tuple[str, int], WrittenNote] = {}
        self.tie_column = 0
        self.event: list[WrittenNote] = []  # the last note or chord; empty after a rest
        self.event_end = -1
        self.in_order = True
        self.joins_chord = False
        self.chord_column = 0
        self.grace = ""
        self.grace_column = 0
        self.grace_notes_left = 0
        self.beam_columns: list[int] = []
        self.tuplet: _Span | None = None
        self.tuplet_total = 0
        self.tuplet_count = 0
        self.fermata = False
        self.figure: _Span | None = None
        self.bar_start = _Span(0, 0, 0)
        self.last_bar: tuple[_Span, _Span] | None = None
        self.measures_of_rest = 0

    def read(self) -> None:
        """Read to the end of the text."""
        text, readers, length = self.text, _READERS, len(self.text)
        if length > MAX_CHARACTERS:
            raise NotationError(Problem("too long for one incipit", f"at most {MAX_CHARACTERS} signs", str(length), 1))
        while self.position < length:
            reader = readers.get(text[self.position])
            if reader is None:
                self._unknown()
            else:
                reader(self)
        self._end()
        self._check_size(0)
        if self.time > MAX_TICKS:
            raise NotationError(Problem("longer than any music", column=length))

    def notes(self, first_column: int = 0) -> NoteTable:
        """The note table, ties merged; columns count from `first_column`."""
        return written.table(self.written, first_column, self.in_order)

    # -- problems -----------------------------------------------------------------------------------------------------

    def _problem(self, reason: str, column: int, expected: str = "", found: str = "", taken: str = "") -> None:
        if len(self.problems) >= MAX_PROBLEMS:
            return
        problem = Problem(reason, expected, found, column, taken=taken)
        if self.strict:
            raise NotationError(problem)
        self.problems.append(problem)

    def _check_size(self, more: int) -> None:
        if len(self.written) + more > MAX_NOTES:
            raise NotationError(Problem(f"more than {MAX_NOTES} notes", column=self.position))

    def _found(self, position: int) -> str:
        return repr(self.text[position]) if position < len(self.text) else "the end"

    def _unknown(self) -> None:
        start = self.position
        dialect = _DIALECT.get(self.text[start])
        if dialect is not None:
            meaning, taken, reader = dialect
            taken = taken or f"the note {self.text[start].upper()}"
            self._problem(meaning, start + 1, _NOTE_OR_SIGN, self._found(start), taken)
            reader(self)
            return
        entity = signs.ENTITY.match(self.text, start) if self.text[start] == "&" else None
        self.position = entity.end() if entity else start + 1
        self.unreadable += 1
        found = repr(entity[0]) if entity else self._found(start)
        self._problem("unreadable sign, left out", start + 1, _NOTE_OR_SIGN, found, "nothing")

    # -- notes and rests ----------------------------------------------------------------------------------------------

    def _letter(self) -> None:
        self._note(self.text[self.position])

    def _note(self, letter: str) -> None:
        self.position += 1
        octave = self.octave
        alter = self.accidental
        if alter is not None:
            self.accidental = None
            self.bar_alterations[letter, octave] = alter
        elif self.ties and not self.grace and (letter, octave) in self.ties:
            alter = self.ties[letter, octave].alter
        else:
            alter = self.bar_alterations.get((letter, octave)) if self.bar_alterations else None
            if alter is None:
                alter = self.alterations.get(letter, 0)
        self._add(letter, octave, alter, self.position)

    def _add(self, letter: str, octave: int, alter: int, column: int) -> None:
        """Add a note: to the chord before it, as a grace note, or as the next event in time."""
        midi, base40 = signs.pitch_numbers(letter, octave, alter)
        if not 0 <= midi <= 127:
            self._problem("pitch out of range, left out", column, "a pitch from 0 to 127 in MIDI numbers", str(midi))
            self.joins_chord = self.joins_chord and self.chords_have_end
            return
        if self.joins_chord and self.event:
            if len(self.event) >= MAX_CHORD_NOTES:
                self._problem("chord too large, note left out", column, f"at most {MAX_CHORD_NOTES} notes", "more")
                return
            first = self.event[0]
            onset, duration, is_grace = first.onset, first.duration, first.is_grace
            self.in_order = False
            self.joins_chord = self.chords_have_end
        else:
            if self.ties:
                self._drop_stale_ties()
            self.event = []
            onset, is_grace = self.time, bool(self.grace)
            if is_grace:
                duration = 0 if self.grace == "g" else self.lengths[self.length_index]
                self.in_order = False
                self._count_grace_note()
            else:
                duration = self._next_length()
                self.time = onset + duration
            self.joins_chord = bool(self.chord_column)  # inside ^...> every further note joins the first
        prolongs = self._tied_note(letter, octave, alter) if self.ties and not is_grace else None
        note = WrittenNote(onset, duration, letter, octave, alter, midi, base40, is_grace, column, prolongs)
        self.written.append(note)
        self.event.append(note)
        self.event_end = self.position

    def _next_length(self) -> int:
        lengths, index = self.lengths, self.length_index
        if len(lengths) == 1:
            return lengths[0]
        self.length_index = (index + 1) % len(lengths)
        return lengths[index]

    def _tied_note(self, letter: str, octave: int, alter: int) -> WrittenNote | None:
        earlier = self.ties.get((letter, octave))
        if earlier is None or earlier.alter != alter:
            return None
        del self.ties[letter, octave]
        self.tie_column = 0
        return earlier

    def _drop_stale_ties(self) -> None:
        """A tie that met no note of its pitch in the event that just ended leads nowhere."""
        ended = self.event and not self.grace and not self.event[0].is_grace
        if ended and any(note not in self.event for note in self.ties.values()):
            self._lost_tie()

    def _lost_tie(self) -> None:
        if self.tie_column:
            self._problem("tie to another pitch, read as a slur", self.tie_column, "the same note after the tie")
        self.ties.clear()
        self.tie_column = 0

    def _drop_accidental(self) -> None:
        if self.accidental is not None:
            self.accidental = None
            self._problem("accidental without a note", self.accidental_column, "a note", self._found(self.position))

    def _rest(self) -> None:
        old = signs.OLD_MEASURE_REST.match(self.text, self.position)
        if old:
            meant = "=" + old[1]
            self._problem("bars of rest written with -", self.position + 1, meant, repr(old[0]), meant)
            self.position = old.end()
            self._rest_measures(old[1], old.start() + 1)
            return
        self._drop_accidental()
        if self.grace:
            self._problem("rest among grace notes", self.position + 1, "a note after the grace sign", "'-'")
            if self.grace_notes_left:
                self.grace, self.grace_notes_left = "", 0
        self.position += 1
        if not self.grace:
            if self.ties:
                self._lost_tie()
            self.time += self._next_length()
        self.event = []
        self.event_end = self.position

    def _measure_rest(self) -> None:
        match = _match(signs.MEASURE_REST, self)
        self.position = match.end()
        self._rest_measures(match[1], match.start() + 1)

    def _rest_measures(self, digits: str, column: int) -> None:
        if len(digits) > 4:
            self._problem("too many bars of rest", column, f"at most {MAX_MEASURES_OF_REST}", digits[:20])
            digits = "1"
        if self.ties:
            self._lost_tie()
        self.time += self.measure * int(digits or 1)
        self.measures_of_rest = int(digits or 1)
        self.event = []

    # -- what stands before a note ------------------------------------------------------------------------------------

    def _octave_marks(self) -> None:
        match = _match(signs.OCTAVE_MARKS, self)
        marks = match[0]
        self._set_octave(3 + len(marks) if marks[0] == "'" else 4 - len(marks), match.end())

    def _set_octave(self, octave: int, end: int) -> None:
        if not signs.LOWEST_WRITTEN <= octave <= signs.HIGHEST_WRITTEN:
            self._problem("too many octave marks", self.position + 1, "at most four ' or three ,", f"octave {octave}")
            octave = max(signs.LOWEST_OCTAVE, min(octave, signs.HIGHEST_OCTAVE))
        self.octave = octave
        if self.length_end == self.position:
            self.length_end = end
        self.position = end

    def _length(self) -> None:
        match = _match(signs.LENGTHS, self)
        if match[0].count(".") > signs.MAX_DOTS and "." * (signs.MAX_DOTS + 1) in match[0]:
            most = f"at most {signs.MAX_DOTS}"
            self._problem("too many dots", self.position + 1, most, repr(match[0][:20]), f"{signs.MAX_DOTS} dots")
        self.lengths = signs.length_pattern(match[0])
        self.length_index = 0
        self.position = self.length_end = match.end()

    def _accidental_sign(self) -> None:
        match = _match(signs.ACCIDENTAL, self)
        if self.accidental is not None:
            self._problem("more than one accidental", match.start() + 1, "a note after the first", repr(match[0]))
        self.accidental = signs.ACCIDENTALS[match[0]]
        self.accidental_column = match.start() + 1
        self.position = match.end()

    # -- what stands after a note -------------------------------------------------------------------------------------

    def _after_note(self) -> None:
        """Trill, fermata, ligature: they change neither pitch nor time. Version 2 has "2p^CE>" for a chord."""
        before_chord = self.text.startswith("p^", self.position)
        if self.event_end != self.position and not before_chord:
            found = self._found(self.position)
            self._problem("sign that follows a note", self.position + 1, "a note before it", found, "an ornament")
        else:
            self.event_end += 1
        self.position += 1

    def _tie(self) -> None:
        column = self.position + 1
        follows = self.event_end == self.position and bool(self.event)
        self.position += 1
        if not follows:
            self._problem("tie without a note", column, "a note before the tie", self._found(self.position))
            return
        self.event_end = self.position
        only_last = self.text.startswith("^", self.position) and not self.chords_have_end
        self._open_ties(column, self.event[-1:] if only_last else self.event)

    def _open_ties(self, column: int, notes: list[WrittenNote]) -> None:
        if notes[0].is_grace:
            self._problem("tie after a grace note, read as a slur", column, "a note of full size before the tie")
            return
        self.tie_column = column
        for note in notes:
            self.ties[note.letter, note.octave] = note

    def _underscore(self) -> None:
        """Version 2: a tie and the note that it leads to, in one sign. In old catalogues: a tie, like +."""
        column = self.position + 1
        self.position += 1
        if not self.event:
            self._problem("tie without a note", column, "a note before the tie", self._found(self.position))
            return
        chord = self.event
        if self.ties_are_old or chord[0].is_grace:
            following = signs.NEXT_NOTE.match(self.text, self.position)
            is_tie = bool(following and following[1] == chord[0].letter and not chord[0].is_grace)
            self._problem("tie or slur written with _", column, "+ for a tie", "'_'", "a tie" if is_tie else "a slur")
            if is_tie:
                self._open_ties(column, chord)
            return
        self._open_ties(column, chord)
        self._check_size(len(chord))
        joins, self.joins_chord = self.joins_chord, False
        for note in chord:
            self._add(note.letter, note.octave, note.alter, column)
            self.joins_chord = True
        self.joins_chord = joins

    def _chord(self) -> None:
        column = self.position + 1
        follows = self.event_end == self.position and bool(self.event)
        self.position += 1
        if self.chords_have_end:
            if self.chord_column:
                self._problem("chord inside a chord", column, "> before the next chord", "'^'")
            self.chord_column, self.joins_chord = column, False
        elif follows:
            self.joins_chord = True
        else:
            self._problem("chord without a first note", column, "a note before ^", "'^'")

    def _chord_end(self) -> None:
        self.position += 1
        if not self.chord_column:
            self._problem("end of a chord that was not begun", self.position, "^ before >", "'>'")
        self.chord_column, self.joins_chord = 0, False
        self.event_end = self.position

    # -- groups -------------------------------------------------------------------------------------------------------

    def _beam(self) -> None:
        self.position += 1
        self.beam_columns.append(self.position)

    def _beam_end(self) -> None:
        self.position += 1
        if self.beam_columns:
            self.beam_columns.pop()
        else:
            self._problem("end of a beam that was not begun", self.position, "{ before }", "'}'")

    def _parenthesis(self) -> None:
        start = self.position
        time_change = signs.OLD_TIME_CHANGE.match(self.text, start)
        if time_change:
            meant = "@" + time_change[1]
            self._problem("time signature in parentheses", start + 1, meant, repr(time_change[0]), meant)
            self._new_metre(time_change)
            return
        self.position += 1
        if signs.FERMATA.match(self.text, start):
            self.fermata = True
            return
        if self.tuplet is not None:
            self._problem("tuplet inside a tuplet", start + 1, ") before the next (", "'('")
            self._end_tuplet()
        if self.length_end != start and not signs.VALUE_INSIDE.match(self.text, start):
            self._problem("tuplet without a value", start + 1, "a note value before or after the parenthesis", "none")
        self.tuplet = _Span(self.time, len(self.written), start + 1)
        self.tuplet_total = self.lengths[-1] if self.length_end == start else 0
        self.tuplet_count = 0

    def _tuplet_number(self) -> None:
        match = _match(signs.TUPLET_COUNT, self)
        if self.tuplet is None or not match[1] or not int(match[1]):
            self._problem("number of notes in a tuplet", self.position + 1, "(...;3)", repr(match[0]))
        else:
            self.tuplet_count = int(match[1])
        self.position = match.end()

    def _parenthesis_end(self) -> None:
        self.position += 1
        if self.fermata:
            self.fermata = False
        elif self.tuplet is not None:
            self._end_tuplet()
        else:
            self._problem("end of a tuplet that was not begun", self.position, "( before )", "')'")
        if self.event:
            self.event_end = self.position

    def _end_tuplet(self) -> None:
        """Scale the rows of the group so that they fill the total before the parenthesis."""
        group, self.tuplet = self.tuplet, None
        assert group is not None
        length = self.time - group.time
        if length <= 0:
            return
        count = self.tuplet_count or 3
        total = self.tuplet_total
        heads = len({note.onset for note in self.written[group.row :] if not note.is_grace})
        if total and not length <= 2 * total <= 4 * length and heads != self.tuplet_count:
            # "6(6ABCDEF)": the value before the group repeats the value of its notes
            self._problem(
                "the notes of the group do not fit the value before it",
                group.column,
                "a total between half and twice what the notes last",
                f"{total / QUARTER_TICKS:g} quarters for {length / QUARTER_TICKS:g}",
            )
            total = 0
        total = total or round(length * signs.usual_time(count) / count)
        written.scale(self.written[group.row :], group.time, length, total)
        self.time = group.time + total

    # -- grace notes --------------------------------------------------------------------------------------------------

    def _acciaccatura(self) -> None:
        self.grace, self.grace_notes_left = "g", 1
        self.position += 1
        self.grace_column = self.position

    def _appoggiatura(self) -> None:
        self.position += 1
        self.grace_column = self.position
        doubled = self.text.startswith("q", self.position)
        if doubled:
            self.position += 1
        closed = signs.GRACE_GROUP_END.match(self.text, self.position) is not None
        if doubled and not closed:
            self._problem("grace group without an end", self.grace_column, "r after the grace notes", "no r")
        if closed and not doubled:
            self._problem("grace group begun with one q", self.grace_column, "qq", "'q'", "qq")
        self.grace = "q"
        self.grace_notes_left = 0 if closed else 2 if doubled else 1

    def _count_grace_note(self) -> None:
        if self.grace_notes_left:
            self.grace_notes_left -= 1
            if not self.grace_notes_left:
                self.grace = ""

    def _grace_group_or_slur(self) -> None:
        self.position += 1
        if signs.SLUR_END.match(self.text, self.position):
            self._problem("slur written y...z", self.position, "no slur: the code has none", "'y'", "a slur")
        elif signs.GRACE_GROUP_END.match(self.text, self.position):
            self.grace, self.grace_notes_left, self.grace_column = "q", 0, self.position
        else:
            self._problem("grace group without an end", self.position, "r after the grace notes", "no r")

    def _grace_group_end(self) -> None:
        self.position += 1
        if self.grace:
            self.grace, self.grace_notes_left = "", 0
        else:
            self._problem("end of a grace group that was not begun", self.position, "qq or y before r", "'r'")

    # -- bars and repetitions -----------------------------------------------------------------------------------------

    def _bar_line(self) -> None:
        match = signs.BAR_LINE.match(self.text, self.position)
        if match is None:  # a colon alone
            self._problem("repeat sign without a bar line", self.position + 1, "//: or ://", "':'", "nothing")
            self.position += 1
            return
        if self.tuplet is not None:
            self._problem("tuplet without an end", self.tuplet.column, ") before the bar line", repr(match[0]))
            self._end_tuplet()
        if self.grace:
            self._problem("grace note without a note", self.grace_column, "a note before the bar line", repr(match[0]))
            self.grace = ""
        if self.chord_column:
            self._problem("chord without an end", self.chord_column, "> before the bar line", repr(match[0]))
            self.chord_column, self.joins_chord = 0, False
        if self.figure is not None and self.figure.row < len(self.written):
            self._problem("bar line in a repeated figure", match.start() + 1, "! before the bar line", repr(match[0]))
        self._drop_accidental()
        self.position = match.end()
        self.bar_alterations.clear()
        here = _Span(self.time, len(self.written), match.start() + 1)
        if self.measures_of_rest > 1:  # of several bars of rest, the last one is the bar that "i" repeats
            self.bar_start = _Span(here.time - self.measure, here.row, here.column)
        if here.time > self.bar_start.time:
            self.last_bar = (self.bar_start, here)
        self.bar_start, self.measures_of_rest = here, 0
        if not self.barlines or self.barlines[-1] != self.time:
            self.barlines.append(self.time)

    def _repeat_bar(self) -> None:
        column = self.position + 1
        self.position += 1
        if self.last_bar is None or self.bar_start.time != self.time or len(self.written) != self.bar_start.row:
            self._problem("repeated bar", column, "a whole bar and a bar line before i", self._found(self.position))
            if self.last_bar is None:
                return
        elif not signs.BAR_LINE.match(self.text, self.position) and self.position < len(self.text):
            self._problem("repeated bar", column, "a bar line after i", self._found(self.position))
        first, last = self.last_bar
        self._repeat(first, last)

    def _figure(self) -> None:
        self.position += 1
        if self.figure is None:
            self.figure = _Span(self.time, len(self.written), self.position)
            return
        first, self.figure = self.figure, None
        last = _Span(self.time, len(self.written), self.position)
        times = signs.REPEATS.match(self.text, self.position)
        if times is None:
            self._problem("repeated figure", self.position, "f after the second !", self._found(self.position))
            return
        for _ in times[0]:
            self._repeat(first, last)
        self.position = times.end()

    def _repeat(self, first: _Span, last: _Span) -> None:
        originals = self.written[first.row : last.row]
        self._check_size(len(originals))
        copies = written.repeat(originals, self.time - first.time)
        leading_out = {name: copies[originals.index(note)] for name, note in self.ties.items() if note in originals}
        for note in copies:
            if note.onset == self.time and not note.is_grace and note.prolongs is None:
                # A tie before the repetition leads into it.
                note.prolongs = self._tied_note(note.letter, note.octave, note.alter)
        self.written += copies
        self.ties.update(leading_out)
        self.time += last.time - first.time
        self.event = []

    # -- changes and the rest -----------------------------------------------------------------------------------------

    def _clef_change(self) -> None:
        match = _match(signs.CLEF_CHANGE, self)
        clef, problem = read_clef(match[1] or "")
        self._change(match, problem, SignatureChange(self.time, clef=clef))

    def _key_change(self) -> None:
        match = _match(signs.KEY_CHANGE, self)
        in_order = _match(signs.KEY_IN_ORDER, self)
        following = self.text[match.end() : match.end() + 1]
        notes_may_follow = following in ("", "/") and in_order.end() < match.end()
        if following not in ("", " ", "@", "%", "$", "/") or notes_may_follow:
            # Without the space that ends it, only letters in the usual order belong to the signature.
            expected = f"{in_order[0]!r} and a space"
            found = shortened(match[0])
            self._problem("no space after a key signature", match.start() + 1, expected, found, in_order[0])
            match = in_order
        key = read_key_signature(match[1])
        self.alterations = key.alterations
        self._change(match, key.problem, SignatureChange(self.time, key_signature=key.text))

    def _time_change(self) -> None:
        self._new_metre(_match(signs.TIME_CHANGE, self))

    def _new_metre(self, match: re.Match[str]) -> None:
        time = read_time_signature(match[1] or "")
        if match[1]:
            self.measure = time.measure_ticks
        self._change(match, time.problem, SignatureChange(self.time, metre=time.text))

    def _change(self, match: re.Match[str], problem: Problem | None, change: SignatureChange) -> None:
        if problem is not None:
            self._problem(problem.reason, match.start() + 1, problem.expected, problem.found, problem.taken)
        if problem is None or change.clef or change.key_signature or change.metre:
            self.changes.append(change)
        self.position = match.end()

    def _space(self) -> None:
        self.position += 1

    def _validity_note(self) -> None:
        match = _match(signs.VALIDITY_NOTE, self)
        self.position = match.end()

    # -- signs of old catalogues --------------------------------------------------------------------------------------

    def _double_quote(self) -> None:
        marks = 0
        end = self.position
        while self.text.startswith(('"', "'"), end):
            marks += 2 if self.text[end] == '"' else 1
            end += 1
        self._set_octave(3 + marks, end)

    def _other_accidental(self) -> None:
        self.accidental = signs.OLD_ACCIDENTALS[self.text[self.position]]
        self.position += 1
        self.accidental_column = self.position

    def _lower_case_note(self) -> None:
        self.doubtful_notes += 1
        self._note(self.text[self.position].upper())

    def _bracket(self) -> None:
        """A remark in words is left out; music in brackets, supplied by the cataloguer, is read."""
        remark = signs.REMARK.match(self.text, self.position)
        self.position = remark.end() if remark else self.position + 1

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        end = "the end"
        self._drop_stale_ties()
        if self.tuplet is not None:
            self._problem("tuplet without an end", self.tuplet.column, ")", end)
            self._end_tuplet()
        if self.beam_columns:
            self._problem("beam without an end", self.beam_columns[-1], "}", end)
        if self.figure is not None:
            self._problem("repeated figure without an end", self.figure.column, "! and f", end)
        if self.grace:
            self._problem("grace note without a note", self.grace_column, "a note after it", end)
        if self.chord_column or (self.joins_chord and not self.chords_have_end):
            self._problem("chord without an end", self.chord_column or len(self.text), "another note", end)
        self._drop_accidental()
        # A tie at the very end leads out of the incipit: that is how a note cut off by the end of the line is written.


def _match(pattern: re.Pattern[str], reader: MusicReader) -> re.Match[str]:
    """Match a pattern whose first character has been seen already, so that it cannot fail."""
    match = pattern.match(reader.text, reader.position)
    assert match is not None
    return match


class _Span:
    """A place in time and among the written notes, and the column where it stands."""

    __slots__ = ("column", "row", "time")

    def __init__(self, time: int, row: int, column: int):
        self.time, self.row, self.column = time, row, column


_READERS: dict[str, Callable[[MusicReader], None]] = {
    **dict.fromkeys("ABCDEFG", MusicReader._letter),
    **dict.fromkeys("0123456789", MusicReader._length),
    **dict.fromkeys("',", MusicReader._octave_marks),
    **dict.fromkeys("xbn", MusicReader._accidental_sign),
    **dict.fromkeys(" \t\r\n", MusicReader._space),
    **dict.fromkeys("tpu", MusicReader._after_note),
    **dict.fromkeys("/:", MusicReader._bar_line),
    "-": MusicReader._rest,
    "=": MusicReader._measure_rest,
    "+": MusicReader._tie,
    "_": MusicReader._underscore,
    "^": MusicReader._chord,
    ">": MusicReader._chord_end,
    "{": MusicReader._beam,
    "}": MusicReader._beam_end,
    "(": MusicReader._parenthesis,
    ";": MusicReader._tuplet_number,
    ")": MusicReader._parenthesis_end,
    "g": MusicReader._acciaccatura,
    "q": MusicReader._appoggiatura,
    "y": MusicReader._grace_group_or_slur,
    "r": MusicReader._grace_group_end,
    "!": MusicReader._figure,
    "i": MusicReader._repeat_bar,
    "%": MusicReader._clef_change,
    "$": MusicReader._key_change,
    "@": MusicReader._time_change,
    "~": MusicReader._validity_note,
}

# Not in the code, but in catalogues: what it means there, what it is read as (without a word, as a note), and how.
_DIALECT: dict[str, tuple[str, str, Callable[[MusicReader], None]]] = {
    '"': ("octave marks written with a double quote", "two octave marks", MusicReader._double_quote),
    **dict.fromkeys("#♯X×", ("sharp written otherwise than x", "x (sharp)", MusicReader._other_accidental)),
    "N": ("natural written N", "n (natural)", MusicReader._other_accidental),
    "♮": ("natural written ♮", "n (natural)", MusicReader._other_accidental),
    "Y": ("flat written Y", "b (flat)", MusicReader._other_accidental),
    "♭": ("flat written ♭", "b (flat)", MusicReader._other_accidental),
    **dict.fromkeys("acde", ("note name in lower case", "", MusicReader._lower_case_note)),
    "|": ("bar line written |", "/ (bar line)", MusicReader._bar_line),
    "Q": ("grace note written Q", "q (grace note)", MusicReader._appoggiatura),
    "T": ("trill written T", "t (trill)", MusicReader._space),
    "z": ("end of a slur", "the end of a slur", MusicReader._space),
    "[": ("bracket", "nothing", MusicReader._bracket),
    "]": ("bracket", "nothing", MusicReader._space),
    ".": ("dot that follows no length", "nothing", MusicReader._space),
    **dict.fromkeys("?*", ("mark of doubt", "nothing", MusicReader._space)),
}

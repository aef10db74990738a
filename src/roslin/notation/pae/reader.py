"""The music string of the Plaine & Easie Code, versions 1 and 2, read sign by sign.

The reader looks at one character, finds the method for it in `_READERS`, and lets it consume the characters that belong
to it. Every method moves forward, so any input ends; repetitions are bounded by `Repeats`.

Old catalogues have signs that versions 1 and 2 do not define (`_DIALECT`), and use some in another sense (`_` for any
slur, `-24/` for bars of rest). They are a problem in strict reading. Otherwise they are read as those catalogues meant
them, and reported. Signs without any meaning are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from roslin.errors import Problem, shortened
from roslin.melody import MAX_TICKS, TICKS_PER_QUARTER, SignatureChange
from roslin.notation.pae.incipit import read_clef, read_key_signature, read_time_signature
from roslin.notation.pae.music import HIGHEST_WRITTEN, LENGTH_TICKS, LOWEST_WRITTEN, MAX_DOTS, Music
from roslin.notation.record import MAX_NOTES, refusal

MAX_CHARACTERS = 1_000_000

_NEUME = "7."  # version 1's sign for notes without a length; read as quarters
_LOWEST_OCTAVE, _HIGHEST_OCTAVE = -1, 9  # read with a warning
_SHARPS_OF_SIGN = {"x": 1, "xx": 2, "b": -1, "bb": -2, "n": 0}
_OLD_ACCIDENTALS = {"#": 1, "♯": 1, "X": 1, "×": 1, "N": 0, "♮": 0, "Y": -1, "♭": -1}
_NOTE_OR_SIGN = "a note, a rest, a bar line or a sign of the Plaine & Easie Code"

# Patterns that look ahead have a limit: without it a long row of one sign would take time without end.
_OCTAVE_MARKS = re.compile(r"'+|,+")
_LENGTHS = re.compile(r"(?:[0-9]\.*)+")
_ONE_LENGTH = re.compile(r"([0-9])(\.*)")
_ACCIDENTAL = re.compile(r"xx?|bb?|n")
_BAR_LINE = re.compile(r"://:?|//:?|/|\|")
_MEASURE_REST = re.compile(r"=\s?([0-9]*)")
_REPEATS = re.compile(r"f+")
_TUPLET_COUNT = re.compile(r";\s*([0-9]{0,3})")
_CLEF_CHANGE = re.compile(r"%\s?([A-Ga-g][-+*:]?[0-9])?")
_KEY_CHANGE = re.compile(r"\$([xbnA-G\[\]]*)")
_KEY_IN_ORDER = re.compile(r"\$(x(?:F(?:C(?:G(?:D(?:A(?:EB?)?)?)?)?)?)?|b(?:B(?:E(?:A(?:D(?:G(?:CF?)?)?)?)?)?)?|n?)")
_TIME_CHANGE = re.compile(r"@([co](?:/\.?|\./?)?(?:[23](?:/[23])?)?|[0-9]+/[0-9]+(?:\|[0-9]+/[0-9]+)*|[0-9]+)?")
_BEFORE_NOTE = r"['\",0-9.xbnXN#♯\s]{0,40}"
_HEAD = rf"{_BEFORE_NOTE}[A-G][tpu+]{{0,4}}"
# One note, chord or rest, with a grace note before it or not: a fermata, not a tuplet.
_FERMATA = re.compile(rf"\((?:['\",]{{0,8}}[gq]{_HEAD})?(?:{_HEAD}(?:\^{_HEAD}){{0,12}}|{_BEFORE_NOTE}-|=[0-9]*)\s*\)")
_VALUE_INSIDE = re.compile(r"\([{\s'\",]{0,40}[0-9]")
# This one needs no limit: it looks as far as the next group, so all looks together go through the text once.
_GRACE_GROUP_END = re.compile(r"[^qQgy/r]*r")
_VALIDITY_NOTE = re.compile(r"~[?+t]?")

# Signs of old catalogues.
_OLD_MEASURE_REST = re.compile(r"-([0-9]+)\s*(?=/|$)")
_OLD_TIME_CHANGE = re.compile(r"\((\d+/\d+|c/?)\)")
_SLUR_END = re.compile(r"[^ry]{0,400}z")
_NEXT_NOTE = re.compile(r"[^A-G\-=]{0,40}([A-G])")
_ENTITY = re.compile(r"&#?[0-9A-Za-z]{1,8};")
_REMARK = re.compile(r"\[[^\]]{0,200}?[a-z]{3}[^\]]{0,200}\]?")


@lru_cache(maxsize=4096)
def _length_pattern(text: str) -> tuple[int, ...]:
    """Ticks of each length in "8.68". A pattern of several repeats over the notes that follow."""
    if text == _NEUME:
        return (TICKS_PER_QUARTER,)
    lengths = ((LENGTH_TICKS[digit], len(dots)) for digit, dots in _ONE_LENGTH.findall(text))
    return tuple(2 * ticks - (ticks >> min(dots, MAX_DOTS)) for ticks, dots in lengths)


_LONGEST_CACHED = 40  # signs; longer patterns rarely occur twice, and would fill the memory


class MusicReader(Music):
    """Reads `text[start:]`, under a key that alters these letters and a bar of this many ticks."""

    def read(self) -> None:
        readers, length = _READERS, len(self.text)
        if length > MAX_CHARACTERS:
            raise refusal("too long for one incipit", f"at most {MAX_CHARACTERS} signs", str(length), column=1)
        while self.position < length:
            readers.get(self.text[self.position], MusicReader._unknown)(self)
        self._end()
        if len(self.written) > MAX_NOTES:
            raise refusal(f"more than {MAX_NOTES} notes", column=self.position)
        if self.time > MAX_TICKS:
            raise refusal("far too long", column=length)

    def _end(self) -> None:
        """Report signs that are still open. A tie may be: so a note is written that the end of the incipit cuts off."""
        end = "the end"
        self.drop_stale_ties()
        if self.tuplet is not None:
            self.problem("tuplet without an end", self.tuplet.column, ")", end)
            self.end_tuplet()
        if self.beam_columns:
            self.problem("beam without an end", self.beam_columns[-1], "}", end)
        if self.figure is not None:
            self.problem("repeated figure without an end", self.figure.column, "! and f", end)
        if self.grace:
            self.problem("grace note without a note", self.grace_column, "a note after it", end)
        if self.chord_column or (self.joins_chord and not self.chords_have_end):
            self.problem("chord without an end", self.chord_column or len(self.text), "another note", end)
        self.drop_accidental()

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.position)
        assert match is not None
        return match

    def _skip(self) -> None:
        self.position += 1

    # -- notes, and the signs before and after one: octave, length, accidental, ornament ------------------------------

    def _letter(self) -> None:
        self.note(self.text[self.position])

    def _octave_marks(self) -> None:
        match = self._match(_OCTAVE_MARKS)
        marks = match[0]
        self._set_octave(3 + len(marks) if marks[0] == "'" else 4 - len(marks), match.end())

    def _set_octave(self, octave: int, end: int) -> None:
        if not LOWEST_WRITTEN <= octave <= HIGHEST_WRITTEN:
            self.problem("too many octave marks", self.position + 1, "at most four ' or three ,", f"octave {octave}")
            octave = max(_LOWEST_OCTAVE, min(octave, _HIGHEST_OCTAVE))
        self.octave = octave
        if self.length_end == self.position:
            self.length_end = end
        self.position = end

    def _length(self) -> None:
        match = self._match(_LENGTHS)
        text = match[0]
        if text.count(".") > MAX_DOTS and "." * (MAX_DOTS + 1) in text:
            most = f"{MAX_DOTS} dots"
            self.problem("too many dots", self.position + 1, f"at most {MAX_DOTS}", repr(text[:20]), most)
        self.lengths = (_length_pattern if len(text) <= _LONGEST_CACHED else _length_pattern.__wrapped__)(text)
        self.length_index = 0
        self.position = self.length_end = match.end()

    def _accidental(self) -> None:
        match = self._match(_ACCIDENTAL)
        if self.accidental is not None:
            self.problem("more than one accidental", match.start() + 1, "a note after the first", repr(match[0]))
        self.accidental = _SHARPS_OF_SIGN[match[0]]
        self.accidental_column = match.start() + 1
        self.position = match.end()

    def _ornament(self) -> None:
        """Trill, fermata, ligature: they change neither pitch nor time. Version 2 has "2p^CE>" for a chord."""
        before_chord = self.text.startswith("p^", self.position)
        if self.event_end != self.position and not before_chord:
            found = self.found_at(self.position)
            self.problem("sign that follows a note", self.position + 1, "a note before it", found, "an ornament")
        else:
            self.event_end += 1
        self.position += 1

    # -- rests --------------------------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """A rest of the length in force; in old catalogues, before a number and a bar line, bars of rest."""
        old = _OLD_MEASURE_REST.match(self.text, self.position)
        if old:
            meant = "=" + old[1]
            self.problem("bars of rest written with -", self.position + 1, meant, repr(old[0]), meant)
            self.position = old.end()
            self.rest_measures(old[1], old.start() + 1)
            return
        self.drop_accidental()
        if self.grace:
            self.problem("rest among grace notes", self.position + 1, "a note after the grace sign", "'-'")
            if self.grace_notes_left:
                self.grace, self.grace_notes_left = "", 0
        self.position += 1
        if not self.grace:
            self.lose_ties()
            self.time += self.next_length()
        self.event = []
        self.event_end = self.position

    def _measure_rest(self) -> None:
        match = self._match(_MEASURE_REST)
        self.position = match.end()
        self.rest_measures(match[1], match.start() + 1)

    # -- ties ---------------------------------------------------------------------------------------------------------

    def _tie(self) -> None:
        column = self.position + 1
        follows = self.event_end == self.position and bool(self.event)
        self.position += 1
        if not follows:
            self.problem("tie without a note", column, "a note before the tie", self.found_at(self.position))
            return
        self.event_end = self.position
        only_last = self.text.startswith("^", self.position) and not self.chords_have_end
        self.open_ties(column, self.event[-1:] if only_last else self.event)

    def _underscore(self) -> None:
        """Version 2: a tie and the note that it leads to, in one sign. In old catalogues: a tie, like +."""
        column = self.position + 1
        self.position += 1
        if not self.event:
            self.problem("tie without a note", column, "a note before the tie", self.found_at(self.position))
            return
        chord = self.event
        if self.ties_are_old or chord[0].is_grace:
            following = _NEXT_NOTE.match(self.text, self.position)
            is_tie = bool(following and following[1] == chord[0].letter and not chord[0].is_grace)
            self.problem("tie or slur written with _", column, "+ for a tie", "'_'", "a tie" if is_tie else "a slur")
            if is_tie:
                self.open_ties(column, chord)
            return
        self.open_ties(column, chord)
        self.repeats.add(len(chord), column=self.position)
        joins, self.joins_chord = self.joins_chord, False
        for note in chord:
            self.add(note.letter, note.octave, note.alter, column)
            self.joins_chord = True
        self.joins_chord = joins

    # -- chords and beams ---------------------------------------------------------------------------------------------

    def _begin_chord(self) -> None:
        """^: version 2 begins a chord with it; version 1 joins the next note to the one before."""
        column = self.position + 1
        follows = self.event_end == self.position and bool(self.event)
        self.position += 1
        if self.chords_have_end:
            if self.chord_column:
                self.problem("chord inside a chord", column, "> before the next chord", "'^'")
            self.chord_column, self.joins_chord = column, False
        elif follows:
            self.joins_chord = True
        else:
            self.problem("chord without a first note", column, "a note before ^", "'^'")

    def _end_chord(self) -> None:
        self.position += 1
        if not self.chord_column:
            self.problem("end of a chord that was not begun", self.position, "^ before >", "'>'")
        self.chord_column, self.joins_chord = 0, False
        self.event_end = self.position

    def _begin_beam(self) -> None:
        self.position += 1
        self.beam_columns.append(self.position)

    def _end_beam(self) -> None:
        self.position += 1
        if self.beam_columns:
            self.beam_columns.pop()
        else:
            self.problem("end of a beam that was not begun", self.position, "{ before }", "'}'")

    # -- tuplets; parentheses may also be a fermata, or an old metre --------------------------------------------------

    def _open_parenthesis(self) -> None:
        start = self.position
        time_change = _OLD_TIME_CHANGE.match(self.text, start)
        if time_change:
            meant = "@" + time_change[1]
            self.problem("time signature in parentheses", start + 1, meant, repr(time_change[0]), meant)
            self._new_metre(time_change)
            return
        self.position += 1
        if _FERMATA.match(self.text, start):
            self.fermata = True
            return
        if self.tuplet is not None:
            self.problem("tuplet inside a tuplet", start + 1, ") before the next (", "'('")
            self.end_tuplet()
        if self.length_end != start and not _VALUE_INSIDE.match(self.text, start):
            self.problem("tuplet without a value", start + 1, "a note value before or after the parenthesis", "none")
        self.tuplet = self.here(start + 1)
        self.tuplet_total = self.lengths[-1] if self.length_end == start else 0
        self.tuplet_count = 0

    def _tuplet_number(self) -> None:
        match = self._match(_TUPLET_COUNT)
        if self.tuplet is None or not match[1] or not int(match[1]):
            self.problem("number of notes in a tuplet", self.position + 1, "(...;3)", repr(match[0]))
        else:
            self.tuplet_count = int(match[1])
        self.position = match.end()

    def _close_parenthesis(self) -> None:
        self.position += 1
        if self.fermata:
            self.fermata = False
        elif self.tuplet is not None:
            self.end_tuplet()
        else:
            self.problem("end of a tuplet that was not begun", self.position, "( before )", "')'")
        if self.event:
            self.event_end = self.position

    # -- grace notes --------------------------------------------------------------------------------------------------

    def _acciaccatura(self) -> None:
        """g: the next note is a grace note without a length."""
        self.grace, self.grace_notes_left = "g", 1
        self.position += 1
        self.grace_column = self.position

    def _appoggiatura(self) -> None:
        """q: one grace note, with its length; qq: all notes up to r."""
        self.position += 1
        self.grace_column = self.position
        doubled = self.text.startswith("q", self.position)
        if doubled:
            self.position += 1
        closed = _GRACE_GROUP_END.match(self.text, self.position) is not None
        if doubled and not closed:
            self.problem("grace group without an end", self.grace_column, "r after the grace notes", "no r")
        if closed and not doubled:
            self.problem("grace group begun with one q", self.grace_column, "qq", "'q'", "qq")
        self.grace = "q"
        self.grace_notes_left = 0 if closed else 2 if doubled else 1

    def _grace_group_or_slur(self) -> None:
        """y: grace notes up to r; in old catalogues, a slur up to z."""
        self.position += 1
        if _SLUR_END.match(self.text, self.position):
            self.problem("slur written y...z", self.position, "no slur: the code has none", "'y'", "a slur")
        elif _GRACE_GROUP_END.match(self.text, self.position):
            self.grace, self.grace_notes_left, self.grace_column = "q", 0, self.position
        else:
            self.problem("grace group without an end", self.position, "r after the grace notes", "no r")

    def _end_grace_group(self) -> None:
        self.position += 1
        if self.grace:
            self.grace, self.grace_notes_left = "", 0
        else:
            self.problem("end of a grace group that was not begun", self.position, "qq or y before r", "'r'")

    # -- bar lines, and repetitions: the bar before (i), or a figure between two ! (f for each time) ------------------

    def _bar_line(self) -> None:
        """Accidentals hold up to a bar line, and nothing may go on across it. A colon alone is none."""
        match = _BAR_LINE.match(self.text, self.position)
        if match is None:
            self.problem("repeat sign without a bar line", self.position + 1, "//: or ://", "':'", "nothing")
            self.position += 1
            return
        self._close_open_signs(match.start() + 1, repr(match[0]))
        self.drop_accidental()
        self.position = match.end()
        self.bar_alterations.clear()
        here = self.here(match.start() + 1)
        if self.measures_of_rest > 1:  # of several bars of rest, the last one is the bar that "i" repeats
            self.bar_start = here._replace(time=here.time - self.measure)
        if here.time > self.bar_start.time:
            self.last_bar = (self.bar_start, here)
        self.bar_start, self.measures_of_rest = here, 0
        if not self.barlines or self.barlines[-1] != self.time:
            self.barlines.append(self.time)

    def _close_open_signs(self, column: int, found: str) -> None:
        if self.tuplet is not None:
            self.problem("tuplet without an end", self.tuplet.column, ") before the bar line", found)
            self.end_tuplet()
        if self.grace:
            self.problem("grace note without a note", self.grace_column, "a note before the bar line", found)
            self.grace = ""
        if self.chord_column:
            self.problem("chord without an end", self.chord_column, "> before the bar line", found)
            self.chord_column, self.joins_chord = 0, False
        if self.figure is not None and self.figure.row < len(self.written):
            self.problem("bar line in a repeated figure", column, "! before the bar line", found)

    def _repeat_bar(self) -> None:
        column = self.position + 1
        self.position += 1
        if self.last_bar is None or self.bar_start.time != self.time or len(self.written) != self.bar_start.row:
            self.problem("repeated bar", column, "a whole bar and a bar line before i", self.found_at(self.position))
            if self.last_bar is None:
                return
        elif not _BAR_LINE.match(self.text, self.position) and self.position < len(self.text):
            self.problem("repeated bar", column, "a bar line after i", self.found_at(self.position))
        self.repeat(*self.last_bar)

    def _figure(self) -> None:
        """!: the first begins a figure. The second ends it, and as many f as follow repeat it."""
        self.position += 1
        if self.figure is None:
            self.figure = self.here(self.position)
            return
        first, self.figure = self.figure, None
        last = self.here(self.position)
        times = _REPEATS.match(self.text, self.position)
        if times is None:
            self.problem("repeated figure", self.position, "f after the second !", self.found_at(self.position))
            return
        for _ in times[0]:
            self.repeat(first, last)
        self.position = times.end()

    # -- changes of clef, key and metre -------------------------------------------------------------------------------

    def _clef_change(self) -> None:
        match = self._match(_CLEF_CHANGE)
        clef, problem = read_clef(match[1] or "")
        self._change(match, problem, SignatureChange(self.time, clef=clef))

    def _key_change(self) -> None:
        """$ and a key signature, which a space ends."""
        match = self._match(_KEY_CHANGE)
        in_order = self._match(_KEY_IN_ORDER)
        following = self.text[match.end() : match.end() + 1]
        notes_may_follow = following in ("", "/") and in_order.end() < match.end()
        if following not in ("", " ", "@", "%", "$", "/") or notes_may_follow:
            # Without the space that ends it, only letters in the usual order belong to the signature.
            expected = f"{in_order[0]!r} and a space"
            found = shortened(match[0])
            self.problem("no space after a key signature", match.start() + 1, expected, found, in_order[0])
            match = in_order
        key = read_key_signature(match[1])
        self.alterations = key.alterations
        self._change(match, key.problem, SignatureChange(self.time, key_signature=key.text))

    def _time_change(self) -> None:
        self._new_metre(self._match(_TIME_CHANGE))

    def _new_metre(self, match: re.Match[str]) -> None:
        time = read_time_signature(match[1] or "")
        if match[1]:
            self.measure = time.measure_ticks
        self._change(match, time.problem, SignatureChange(self.time, metre=time.text))

    def _change(self, match: re.Match[str], problem: Problem | None, change: SignatureChange) -> None:
        if problem is not None:
            self.problem(problem.reason, match.start() + 1, problem.expected, problem.found, problem.taken)
        if problem is None or change.clef or change.key_signature or change.metre:
            self.changes.append(change)
        self.position = match.end()

    # -- other signs --------------------------------------------------------------------------------------------------

    def _validity_note(self) -> None:
        self.position = self._match(_VALIDITY_NOTE).end()

    def _unknown(self) -> None:
        """A sign that the code does not have: read as old catalogues mean it, or left out."""
        start = self.position
        dialect = _DIALECT.get(self.text[start])
        if dialect is not None:
            meaning, taken, reader = dialect
            taken = taken or f"the note {self.text[start].upper()}"
            self.problem(meaning, start + 1, _NOTE_OR_SIGN, self.found_at(start), taken)
            reader(self)
            return
        entity = _ENTITY.match(self.text, start) if self.text[start] == "&" else None
        self.position = entity.end() if entity else start + 1
        self.unreadable += 1
        found = repr(entity[0]) if entity else self.found_at(start)
        self.problem("unreadable sign, left out", start + 1, _NOTE_OR_SIGN, found, "nothing")

    def _double_quote(self) -> None:
        marks = 0
        end = self.position
        while self.text.startswith(('"', "'"), end):
            marks += 2 if self.text[end] == '"' else 1
            end += 1
        self._set_octave(3 + marks, end)

    def _other_accidental(self) -> None:
        self.accidental = _OLD_ACCIDENTALS[self.text[self.position]]
        self.position += 1
        self.accidental_column = self.position

    def _lower_case_note(self) -> None:
        self.doubtful_notes += 1
        self.note(self.text[self.position].upper())

    def _bracket(self) -> None:
        """A remark in words is left out; music in brackets, supplied by the cataloguer, is read."""
        remark = _REMARK.match(self.text, self.position)
        self.position = remark.end() if remark else self.position + 1


_READERS: dict[str, Callable[[MusicReader], None]] = {
    **dict.fromkeys("ABCDEFG", MusicReader._letter),
    **dict.fromkeys("0123456789", MusicReader._length),
    **dict.fromkeys("',", MusicReader._octave_marks),
    **dict.fromkeys("xbn", MusicReader._accidental),
    **dict.fromkeys(" \t\r\n", MusicReader._skip),
    **dict.fromkeys("tpu", MusicReader._ornament),
    **dict.fromkeys("/:", MusicReader._bar_line),
    "-": MusicReader._rest,
    "=": MusicReader._measure_rest,
    "+": MusicReader._tie,
    "_": MusicReader._underscore,
    "^": MusicReader._begin_chord,
    ">": MusicReader._end_chord,
    "{": MusicReader._begin_beam,
    "}": MusicReader._end_beam,
    "(": MusicReader._open_parenthesis,
    ";": MusicReader._tuplet_number,
    ")": MusicReader._close_parenthesis,
    "g": MusicReader._acciaccatura,
    "q": MusicReader._appoggiatura,
    "y": MusicReader._grace_group_or_slur,
    "r": MusicReader._end_grace_group,
    "!": MusicReader._figure,
    "i": MusicReader._repeat_bar,
    "%": MusicReader._clef_change,
    "$": MusicReader._key_change,
    "@": MusicReader._time_change,
    "~": MusicReader._validity_note,
}

# Signs of old catalogues: the problem, how the sign is read ("" for a note of its name), and its reader.
_DIALECT: dict[str, tuple[str, str, Callable[[MusicReader], None]]] = {
    '"': ("octave marks written with a double quote", "two octave marks", MusicReader._double_quote),
    **dict.fromkeys("#♯X×", ("sharp not written as x", "x (sharp)", MusicReader._other_accidental)),
    **{sign: (f"natural written {sign}", "n (natural)", MusicReader._other_accidental) for sign in "N♮"},
    **{sign: (f"flat written {sign}", "b (flat)", MusicReader._other_accidental) for sign in "Y♭"},
    **dict.fromkeys("acde", ("note name in lower case", "", MusicReader._lower_case_note)),
    "|": ("bar line written |", "/ (bar line)", MusicReader._bar_line),
    "Q": ("grace note written Q", "q (grace note)", MusicReader._appoggiatura),
    "T": ("trill written T", "t (trill)", MusicReader._skip),
    "z": ("end of a slur", "the end of a slur", MusicReader._skip),
    "[": ("bracket", "nothing", MusicReader._bracket),
    "]": ("bracket", "nothing", MusicReader._skip),
    ".": ("dot that follows no length", "nothing", MusicReader._skip),
    **dict.fromkeys("?*", ("mark of doubt", "nothing", MusicReader._skip)),
}

"""The music of a tune, read sign by sign. What the signs mean in time and pitch is in `voice`.

The reader looks at one character, finds the method that understands it in `_READERS`, and lets it consume what belongs
to it. Every method moves forward, so any input ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from roslin.melody.pitches import LETTERS
from roslin.notation.abc.fields import ALTERATIONS, WHOLE_TICKS
from roslin.notation.abc.tunebook import MAX_VOICES, LineReader
from roslin.notation.abc.voice import AbcNote, Mark, Voice
from roslin.notation.record import MAX_NOTES, refusal

MAX_MEASURES_OF_REST = 9_999
MAX_VOICE_BARLINES = 100_000  # of one voice; more is a runaway number of bars of rest
MAX_ENDING = 20
_MAX_GRACE_SIGNS = 1000
_MAX_NOTE_TICKS = 2**41  # so that no sum comes near the end of time

_NOTE = re.compile(r"(\^{1,2}|_{1,2}|=)?([A-Ga-g])([,']*)(\d*)(/*)(\d*)")
_LENGTH = re.compile(r"(\d*)(/*)(\d*)")
_REST = re.compile(r"[zx](\d*)(/*)(\d*)")
_BARS_OF_REST = re.compile(r"[ZX](\d*)")
_BROKEN = re.compile(r"[ \t`()\-]*(<{1,3}|>{1,3})")
_TUPLET = re.compile(r"\((\d+)(?::(\d*)(?::(\d*))?)?")
_BAR = re.compile(r"\.?(\[\|[:|\]]*|[:|]+\]?(?:[:|]+)?)(\d[\d,\-]*)?")
_ENDING = re.compile(r"\[(\d[\d,\-.]*)")
_INLINE = re.compile(r"\[([A-Za-z]):([^\[\]]*)\]")
_DECORATION = re.compile(r"!([^!\s\"|\[\]]{1,40})!|\+([^+\s\"|\[\]]{1,40})\+")
_NOTES = re.compile(r"(?:[\^_=]{0,2}[A-Ga-g][,']*\d*/*\d*)+")
_OLD_CHORD = re.compile(r"(?:[\^_=]{0,2}[A-Ga-g][,']*\d*/*\d*){2,}")
# A note or rest in a chord (groups as in _NOTE, then a tie), what is skipped, and what cannot be read.
_CHORD_SIGN = re.compile(r"(\^{1,2}|_{1,2}|=)?([A-Ga-gzx])([,']*)(\d*)(/*)(\d*)(-)?|\"[^\"]*\"|![^!]*!|[ \t()`\-y]|(.)")
_IN_GRACE = "/<>"  # also between grace notes: a crushed note, and rhythm that takes no time
_CHORD = re.compile(r"\[([^\[\]|]*)\]")

_FACTORS = {1: ((3, 2), (1, 2)), 2: ((7, 4), (1, 4)), 3: ((15, 8), (1, 8))}
_IN_TIME_OF = {2: 3, 3: 2, 4: 3, 6: 2, 8: 3}
_MUSIC_SIGN = "a note, a rest, a bar line or a sign of ABC"


class TuneReader(LineReader):
    """Reads one tune. Make one, call `read`, take `voices`, `info` and `problems` from it."""

    def music(self, text: str) -> None:
        readers, length = _READERS, len(text)
        self.broken_at = -1
        while self.position < length:
            readers.get(text[self.position], TuneReader._unknown)(self)

    def _match(self, pattern: re.Pattern[str], at: int | None = None) -> re.Match[str]:
        found = pattern.match(self.text, self.position if at is None else at)
        assert found is not None
        return found

    def _here(self) -> str:
        return self.text[self.position : self.position + 40]

    def _skip(self) -> None:
        self.position += 1

    def _unknown(self) -> None:
        sign = self.text[self.position]
        if sign not in self.decorations:
            self.unread("unreadable sign", self.position, _MUSIC_SIGN, repr(sign), "nothing")
        self.position += 1

    def _unknown_inside(self, what: str, sign: str, position: int) -> None:
        if sign not in self.decorations:
            self.unread(f"unreadable sign in {what}", position, "notes", repr(sign), "nothing")

    def _ticks(self, length: tuple[str, ...] | re.Match[str], first: int, unit: int) -> int:
        """A length such as 3/2 in ticks, from the three groups of a pattern."""
        above, slashes, below = (length[first], length[first + 1], length[first + 2])
        if not (above or slashes):
            return unit
        numerator = int(above[:7] or 1)
        denominator = int(below[:7]) if slashes and below else 1 << min(len(slashes), 16)
        if below and len(slashes) > 1:
            denominator <<= min(len(slashes) - 1, 16)
        if numerator and denominator and numerator <= 9999 and denominator <= 9999:
            ticks = max(1, (unit * numerator * 2 + denominator) // (2 * denominator))
            if ticks <= _MAX_NOTE_TICKS:
                return ticks
        self.problem("length out of range", self.position, "at most 9999", f"{above}{slashes}{below}")
        return unit

    def _broken(self, written: int, end: int) -> int:
        """The length of a note between the marks of broken rhythm before and after it."""
        voice = self.voice
        above, below = voice.next_factor
        voice.next_factor = (1, 1)
        found = _BROKEN.match(self.text, end) if end < len(self.text) else None
        if found:
            self.broken_at = found.start(1)
            longer, shorter = _FACTORS[len(found[1])]
            mine, following = (longer, shorter) if found[1][0] == ">" else (shorter, longer)
            voice.next_factor = following
            above, below = above * mine[0], below * mine[1]
        return written if above == below else max(1, written * above // below)

    def _broken_mark(self) -> None:
        start = self.position
        while self.position < len(self.text) and self.text[self.position] in "<>":
            self.position += 1
        if start != self.broken_at:
            self.unread("broken rhythm without a note before it", start, "a note before < or >", self.text[start])

    def _pitched(self, found: re.Match[str], base: int) -> tuple[AbcNote, tuple[int, int], int] | None:
        """(note without its time, letter and octave, alteration); `base`: where the matched text starts in the line."""
        sign, letter, marks = found[1], found[2], found[3]
        octave = (5 if letter.islower() else 4) + (marks.count("'") - marks.count(",") if marks else 0)
        step = LETTERS.index(letter.upper())
        midi, base40, alteration = self.voice.pitch(step, octave, ALTERATIONS[sign] if sign else None)
        if not 0 <= midi <= 127:
            self.problem("pitch out of range", base + found.start(2), "a note that a piano could play", found[0])
            return None
        self.notes_read += 1
        if self.notes_read > MAX_NOTES:
            raise refusal("too many notes", f"at most {MAX_NOTES}", "", line=self.line, column=self.position + 1)
        column = self.offset + base + found.start(2) + 1
        return AbcNote(0, 0, midi, base40, False, column), (step, octave), alteration

    def _note(self) -> None:
        found = _NOTE.match(self.text, self.position)
        if found is None:
            self.unread("accidental without a note", self.position, "a letter from A to g", self._here())
            self.position += 1
            return
        written = self._broken(self._ticks(found, 4, self.voice.unit), found.end())
        pitched = self._pitched(found, 0)
        if pitched is None:
            self.voice.rest(written)
        else:
            note, place, alteration = pitched
            if self.voice.tied and place not in self.voice.tied:
                self.problem("tie to another note", self.position, "the note before - again", found[0])
            note.duration = written
            self.voice.sound([note], {place: alteration}, written)
        self.position = found.end()

    def _chord(self, inside: str, start: int, end: int) -> None:
        """A chord with the notes of `inside`, from `start` in the line. Its length is at `end`."""
        length = self._match(_LENGTH, end)
        unit = self._ticks(length, 1, self.voice.unit)
        notes: list[AbcNote] = []
        steps: dict[tuple[int, int], int] = {}
        tied: dict[tuple[int, int], int] = {}
        first = 0
        factor = 0
        for found in _CHORD_SIGN.finditer(inside):
            if found[2]:
                ticks = self._ticks(found, 4, unit)
                if not factor:
                    first = self._broken(ticks, length.end())
                    factor = ticks
                pitched = self._pitched(found, start) if found[2] not in "zx" else None
                if pitched:
                    note, place, alteration = pitched
                    note.duration = max(1, ticks * first // factor)
                    note.ties = found[7] is not None
                    notes.append(note)
                    steps[place] = alteration
                    if note.ties:
                        tied[place] = alteration
            elif found[8]:
                self._unknown_inside("a chord", found[8], start + found.start())
        if notes:
            self.voice.sound(notes, steps, first)
            self.voice.tied = tied
        elif factor:
            self.voice.rest(first)
        else:
            self.problem("empty chord", start, "notes between [ and ]")
        self.position = length.end()

    def _bracket(self) -> None:
        text, at = self.text, self.position
        if text.startswith("[|", at):
            self._bar()
        elif found := _INLINE.match(text, at):
            self.position = found.end()
            self.field(found[1], found[2], found.start(2))
        elif found := _ENDING.match(text, at):
            self._ending(found[1])
            self.position = found.end()
        elif found := _CHORD.match(text, at):
            self._chord(found[1], at + 1, found.end())
        else:
            self.unread("chord without an end", at, "]", self._here())
            self.position += 1

    def _grace(self) -> None:
        text, start = self.text, self.position
        end = text.find("}", start, start + _MAX_GRACE_SIGNS)
        if end < 0:
            self.unread("grace notes without an end", start, "}", self._here())
            self.position += 1
            return
        crushed = text.startswith("/", start + 1)
        voice = self.voice
        for found in _CHORD_SIGN.finditer(text, start + 1, end):
            self.position = found.start()
            if found[8] and found[8] not in _IN_GRACE:
                self._unknown_inside("grace notes", found[8], found.start())
            elif found[2] and found[2] not in "zx" and (pitched := self._pitched(found, 0)):
                note = pitched[0]
                note.onset, note.is_grace = voice.time, True
                note.duration = 0 if crushed else self._ticks(found, 4, voice.unit)
                voice.notes.append(note)
        self.position = end + 1

    def _rest(self) -> None:
        found = self._match(_REST)
        self.voice.rest(self._broken(self._ticks(found, 1, self.voice.unit), found.end()))
        self.position = found.end()

    def _bars_of_rest(self) -> None:
        found = self._match(_BARS_OF_REST)
        count = int(found[1][:6] or "1")
        if not 0 < count <= MAX_MEASURES_OF_REST:
            taken = "one bar of rest"
            self.problem("bars of rest out of range", self.position, f"1 to {MAX_MEASURES_OF_REST}", found[0], taken)
            count = 1
        if len(self.voice.barlines) + count > MAX_VOICE_BARLINES:
            expected = f"at most {MAX_VOICE_BARLINES}"
            raise refusal("too many bars", expected, "more", line=self.line, column=self.position + 1)
        measure = self.voice.metre.measure_ticks or WHOLE_TICKS
        if self.voice.time == self.voice.bar_start:
            for _ in range(count - 1):
                self.voice.rest(measure)
                self.voice.bar()
            count = 1
        self.voice.rest(measure * count)
        self.position = found.end()

    def _open_round(self) -> None:
        found = _TUPLET.match(self.text, self.position)
        if found is None:
            self.position += 1  # a slur
            return
        notes, other, count = (int(group[:4]) if group else 0 for group in found.groups())
        usual = _IN_TIME_OF.get(notes) or (3 if self.voice.metre.compound else 2)
        other = other or (usual if notes < 10 else 1 << (notes.bit_length() - 1))
        if 1 < notes <= 99 and other <= 99 and count <= 999:
            self.voice.start_tuplet(notes, other, count or notes)
        elif notes != 1:
            self.problem("unreadable tuplet", self.position, "(p, (p:q or (p:q:r, from 2 to 99", found[0])
        self.position = found.end()

    def _tie(self) -> None:
        if not self.voice.tie():
            self.problem("tie without a note before it", self.position, "a note before -", "-")
        self.position += 1

    def _quoted(self) -> None:
        end = self.text.find('"', self.position + 1)
        if end < 0:
            self.problem("text without an end", self.position, 'a second "', self._here())
        self.position = end + 1 if end >= 0 else self.position + 1

    def _decoration(self) -> None:
        """!trill! or +trill+. A lone ! is an old line break, +CEG+ an old chord."""
        found = _DECORATION.match(self.text, self.position)
        if found is None:
            if self.text[self.position] == "+":
                self._unknown()
            else:
                self.position += 1
            return
        name, old = found.groups()
        if name and name.strip("f") and _NOTES.fullmatch(name):  # "!f!" and "!ff!" are loud
            self.problem("notes between ! and !", self.position, "a sign such as !trill!", found[0], "notes")
            self.position += 1
            return
        if old and old.strip("f") and _OLD_CHORD.fullmatch(old):
            self.problem("chord between plus signs", self.position, "[...]", found[0], "a chord")
            self._chord(old, found.start(2), found.end())
        else:
            self.position = found.end()

    def _dot(self) -> None:
        if self.text.startswith(".|", self.position):
            self._bar()
        else:
            self.position += 1

    def _spacer(self) -> None:
        self.position += 1
        while self.position < len(self.text) and self.text[self.position].isdigit():
            self.position += 1

    # -- bars ---------------------------------------------------------------------------------------------------------

    def _bar(self) -> None:
        found = self._match(_BAR)
        bar = found[1]
        if bar == ":":
            self.unread("colon without a bar line", self.position, "|: or :|", ":", "nothing")
            self.position += 1
            return
        if self.base is not None:
            self.voice, self.base = self.base, None
        voice = self.voice
        voice.bar()
        if bar.startswith(":"):
            voice.marks.append(Mark(voice.time, "end"))
        elif "||" in bar or "]" in bar or "[" in bar:
            voice.marks.append(Mark(voice.time, "double"))
        if bar.endswith(":"):
            voice.marks.append(Mark(voice.time, "start"))
        if found[2]:
            self._ending(found[2])
        self.position = found.end()

    def _ending(self, text: str) -> None:
        numbers: set[int] = set()
        for first, last in re.findall(r"(\d{1,2})(?:-(\d{1,2}))?", text):
            numbers.update(range(int(first), min(int(last or first), MAX_ENDING) + 1))
        numbers = {number for number in numbers if 0 < number <= MAX_ENDING}
        if numbers:
            self.voice.marks.append(Mark(self.voice.time, "ending", tuple(sorted(numbers))))
        else:
            self.problem("unreadable ending", self.position, f"numbers from 1 to {MAX_ENDING}", text)

    def _overlay(self) -> None:
        base = self.base or self.voice
        number = int(self.voice.name.rpartition("&")[2]) + 1 if self.base else 1
        name = f"{base.name}&{number}"
        if name not in self.voices:
            if len(self.voices) >= MAX_VOICES:
                raise refusal("too many voices", f"at most {MAX_VOICES}", "&", line=self.line, column=self.position + 1)
            self.voices[name] = Voice(name)
        self.base, self.voice = base, self.voices[name]
        self.voice.follow(base)
        self.position += 1


_READERS: dict[str, Callable[[TuneReader], None]] = {
    **dict.fromkeys("ABCDEFGabcdefg^_=", TuneReader._note),
    **dict.fromkeys("zx", TuneReader._rest),
    **dict.fromkeys("ZX", TuneReader._bars_of_rest),
    **dict.fromkeys("|:", TuneReader._bar),
    **dict.fromkeys(" \t`)\\$*#;?@", TuneReader._skip),
    **dict.fromkeys("<>", TuneReader._broken_mark),
    **dict.fromkeys("!+", TuneReader._decoration),
    "[": TuneReader._bracket,
    "{": TuneReader._grace,
    "(": TuneReader._open_round,
    "-": TuneReader._tie,
    '"': TuneReader._quoted,
    ".": TuneReader._dot,
    "y": TuneReader._spacer,
    "&": TuneReader._overlay,
}

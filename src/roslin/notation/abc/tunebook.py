"""A file of ABC cut into tunes, and the lines of one tune: header fields, fields between lines of music, instructions.

A tune starts at `X:` and ends at an empty line, at the next `X:` or at the end of the file; free text may come between
tunes. A file without any `X:` is one tune. Fields of the file header (before the first tune, up to an empty line) that
matter to every tune are put before its own lines, so that a tune is complete in itself.

Problems carry the line in the file and the column in that line.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress

from roslin.errors import Problem
from roslin.melody import MAX_TICKS
from roslin.notation.abc.fields import read_key, read_metre, read_part, read_text, read_unit, read_words
from roslin.notation.abc.voice import Voice
from roslin.notation.record import note_problem, refusal
from roslin.notation.sources import text_of
from roslin.notation.typed import plain

_CHARSET = re.compile(
    rb"^(?:%%|I:\s*)abc-charset[ \t]+((?:iso-8859|windows|cp|koi8|us|utf)-?\w{1,8})", re.MULTILINE | re.IGNORECASE
)
_INHERITED = re.compile(r"(?:[CILMORSUm]:|%%propagate-accidentals|%%abc-charset)")
_LINE_END = re.compile(r"\r\n|\n|\r")
_CHARSET_BYTES = 65536
_MAX_HEADER_LINES, _MAX_HEADER_SIGNS = 50, 10_000  # every tune carries them


Tune = list[tuple[int, str]]  # the lines of one tune, each with its number in the file


def decode(data: bytes) -> str:
    """UTF-8 where it is valid (with or without a mark), else the charset that the file names, or Latin-1."""
    named = _CHARSET.search(data, 0, _CHARSET_BYTES)
    for name in ("utf-8-sig", named[1].decode("ascii", "replace")) if named else ():
        with suppress(LookupError, UnicodeError):
            return data.decode(name)
    return text_of(data)


def tunes(text: str) -> Iterator[Tune]:
    """The tunes of a file, in order."""
    lines = list(enumerate(_LINE_END.split(text), 1))
    starts = [index for index, (_, line) in enumerate(lines) if line.startswith("X:")]
    if not starts:
        if whole := [(number, line) for number, line in lines if line.strip()]:
            yield whole
        return
    inherited = _file_header(lines[: starts[0]])
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        stop = next((index for index in range(start, end) if not lines[index][1].strip()), end)
        yield inherited + lines[start:stop]


def _file_header(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    header: list[tuple[int, str]] = []
    signs = 0
    for number, line in lines:
        if not line.strip():
            break
        if _INHERITED.match(line) and signs + len(line) <= _MAX_HEADER_SIGNS:
            header.append((number, line))
            signs += len(line)
    return header[:_MAX_HEADER_LINES]


MAX_TUNE_CHARACTERS = 2_000_000
MAX_VOICES = 999
_MAX_TEXT_SIGNS = 10_000  # of a text of several lines
_MAX_FIELD_SIGNS = 1000  # of a field with a meaning: enough in practice, and patterns stay fast

_FIELD = re.compile(r"([A-Za-z+]):(.*)")
_BODY_FIELD = re.compile(r"([A-Za-z+]):(?![|:])(.*)")  # "e:|" is music
_BLOCK = re.compile(r"%%\s*begin(\w+)")
_QUOTED = re.compile(r"(\"[^\"]*\")")
_COMMENT = re.compile(r"(?<!\\)%.*")


class LineReader(ABC):
    """The lines of a tune and its fields. A line of music goes to `music`, which `music.TuneReader` fills in."""

    def __init__(self, tune: Tune, *, strict: bool):
        self.tune = tune
        self.strict = strict
        self.info: dict[str, list[str]] = {}
        self.problems: list[Problem] = []
        self.unreadable = 0
        self.words = ""
        self.voices: dict[str, Voice] = {}
        self.voice = self.header = Voice("")  # the state in which every voice begins
        self.decorations = set("~.HJLMOPRSTuv")
        self.text = self.last_field = ""
        self.line = self.position = self.notes_read = 0
        self.offset = 0  # where the line starts in the tune's text
        self.broken_at = -1
        self.base: Voice | None = None  # the voice below which an overlay is being read
        self.in_body = False

    def read(self) -> None:
        size = sum(len(text) + 1 for _, text in self.tune)
        self.line = self.tune[0][0]
        if size > MAX_TUNE_CHARACTERS:
            raise refusal("too long for one tune", f"at most {MAX_TUNE_CHARACTERS} signs", str(size), self.line, 1)
        has_key = any(text.startswith("K:") for _, text in self.tune)
        block = ""
        for number, text in self.tune:
            self.line = number
            self.text, self.position = text, 0
            if block:
                block = "" if re.match(rf"%%\s*end{block}", text) else block
            elif found := _BLOCK.match(text):
                block = re.escape(found[1])
            else:
                self._line(text, has_key)
            self.offset += len(text) + 1
        if not self.in_body:
            self.begin_body()
        if any(voice.time >= MAX_TICKS for voice in self.voices.values()):
            raise refusal("far too long", line=self.line, column=1)

    @abstractmethod
    def music(self, text: str) -> None:
        """Read a line of music."""

    def problem(self, reason: str, position: int, expected: str = "", found: str = "", taken: str = "") -> None:
        problem = Problem(reason, expected, found[:40], position + 1, self.line, taken=taken)
        note_problem(self.problems, problem, strict=self.strict)

    def unread(self, reason: str, position: int, expected: str, found: str, taken: str = "") -> None:
        """A problem with a sign that cannot be read."""
        self.unreadable += 1
        self.problem(reason, position, expected, found, taken)

    # -- lines --------------------------------------------------------------------------------------------------------

    def _line(self, text: str, has_key: bool) -> None:
        if text.startswith("%"):
            if text.startswith("%%"):
                self._instruction(text[2:])
            return
        if "%" in text:
            text = self.text = _COMMENT.sub("", text)
        if not text.strip():
            return
        found = (_BODY_FIELD if self.in_body else _FIELD).match(text)
        if found:
            self.field(found[1], found[2], found.start(2))
        elif self.in_body:
            self._music(text)
        elif has_key:
            self.problem("unreadable line in the header", 0, "a field such as T: or K:", text, "nothing")
        else:
            expected = "K: as the last line of the header"
            self.problem("no key field before the music", 0, expected, repr(text[:20]), "ABC in C major")
            self.begin_body()
            self._music(text)

    def _music(self, text: str) -> None:
        """Read a line of music with the signs of a keyboard; text in quotation marks is kept."""
        if not text.isascii():
            parts = _QUOTED.split(text)
            start = 0
            for place, part in enumerate(parts):
                if place % 2 == 0:
                    parts[place], found = plain(part)
                    for each in found:
                        self.problem(each.reason, start + each.column - 1, each.expected, each.found, each.taken)
                start += len(part)
            text = self.text = "".join(parts)
        self.music(text)

    def _instruction(self, text: str) -> None:
        name, _, value = text.strip().partition(" ")
        if name == "propagate-accidentals":
            if value.strip() in ("not", "octave", "pitch"):
                for voice in (self.header, self.voice, *self.voices.values()):
                    voice.propagation = value.strip()
            else:
                self.problem("unreadable propagate-accidentals", 0, "not, octave or pitch", value)

    def field(self, name: str, value: str, position: int) -> None:
        """A field on a separate line or in brackets; `position` is where its value starts in the line."""
        if name == "+":
            if self.last_field in self.info and len(self.info[self.last_field][-1]) < _MAX_TEXT_SIGNS:
                self.info[self.last_field][-1] += " " + read_text(value)
            return
        self.last_field = name
        if name in "KMLVI":
            value = value[:_MAX_FIELD_SIGNS]
        if name == "K":
            self._key(value, position)
            if not self.in_body:
                self.begin_body()
        elif name == "M":
            self._metre(value, position)
        elif name == "L":
            self._unit(value, position)
        elif name == "V":
            self._voice(value, position)
        elif name == "I":
            self._instruction(value)
        elif name == "U":
            self.decorations.update(value.strip()[:1])
        elif name == "w":
            self.words = self.words or read_words(value)
        elif not self.in_body:
            self.info.setdefault(name, []).append(read_text(value))

    def begin_body(self) -> None:
        self.in_body = True
        self.header.unit = self.header.unit or self.header.metre.unit_ticks
        self.voices = self.voices or {"": Voice("")}
        for voice in self.voices.values():
            voice.begin(self.header)
        self.voice = next(iter(self.voices.values()))

    # -- fields -------------------------------------------------------------------------------------------------------

    def _key(self, value: str, position: int) -> None:
        key = read_key(value, self.voice.key)
        if key.unread:
            taken = key.name or "no key"
            self.problem("unreadable key", position, "a key such as G, Amix or D minor", value.strip(), taken)
        self.voice.set_part(key.part)
        self.voice.bar_alterations.clear()
        self.voice.change(clef=key.part.clef, key=key)

    def _metre(self, value: str, position: int) -> None:
        metre = read_metre(value)
        if metre.unread:
            taken = metre.text or "no metre"
            self.problem("unreadable metre", position, "a metre such as 6/8, C, C| or none", value.strip(), taken)
        self.voice.change(metre=metre)

    def _unit(self, value: str, position: int) -> None:
        unit = read_unit(value)
        if unit is None:
            self.problem("unreadable unit note length", position, "a length such as 1/8", value.strip())
        else:
            self.voice.unit = unit

    def _voice(self, value: str, position: int) -> None:
        name, part = read_part(value)
        if part.unread:
            self.problem("unreadable modifier of a voice", position, "such as clef=bass or octave=-1", part.unread)
        if not name:
            self.problem("voice without a name", position, "V: and a name")
            return
        self.base = None
        if name not in self.voices:
            if len(self.voices) >= MAX_VOICES:
                raise refusal("too many voices", f"at most {MAX_VOICES}", name, line=self.line, column=position + 1)
            unnamed = self.voices.get("")
            if unnamed is not None and not unnamed.time and not unnamed.notes:
                del self.voices[""]
            self.voices[name] = Voice(name)
            if self.in_body:
                self.voices[name].begin(self.header)
        if self.in_body:
            self.voice = self.voices[name]
        self.voices[name].set_part(part)

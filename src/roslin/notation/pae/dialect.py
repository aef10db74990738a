"""Signs that versions 1 and 2 do not define but old catalogues contain.

`"` for two octave marks, capital X for a sharp, a note name in lower case, and so on: they are a problem in strict
reading. Otherwise they are read as those catalogues meant them, and reported. Signs of the code that old catalogues use
in another sense (`_` for any slur, `-24/` for bars of rest) are told apart where they are read. What has no meaning
anywhere is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from roslin.notation.pae import bars, graces, notes, signs
from roslin.notation.pae.music import Music

_NOTE_OR_SIGN = "a note, a rest, a bar line or a sign of the Plaine & Easie Code"


def unknown_sign(music: Music) -> None:
    """A sign that the code does not have: read as old catalogues mean it, or left out."""
    start = music.position
    dialect = _DIALECT.get(music.text[start])
    if dialect is not None:
        meaning, taken, reader = dialect
        taken = taken or f"the note {music.text[start].upper()}"
        music.problem(meaning, start + 1, _NOTE_OR_SIGN, music.found_at(start), taken)
        reader(music)
        return
    entity = signs.ENTITY.match(music.text, start) if music.text[start] == "&" else None
    music.position = entity.end() if entity else start + 1
    music.unreadable += 1
    found = repr(entity[0]) if entity else music.found_at(start)
    music.problem("unreadable sign, left out", start + 1, _NOTE_OR_SIGN, found, "nothing")


def _double_quote(music: Music) -> None:
    marks = 0
    end = music.position
    while music.text.startswith(('"', "'"), end):
        marks += 2 if music.text[end] == '"' else 1
        end += 1
    notes.set_octave(music, 3 + marks, end)


def _other_accidental(music: Music) -> None:
    music.accidental = signs.OLD_ACCIDENTALS[music.text[music.position]]
    music.position += 1
    music.accidental_column = music.position


def _lower_case_note(music: Music) -> None:
    music.doubtful_notes += 1
    notes.note(music, music.text[music.position].upper())


def _bracket(music: Music) -> None:
    """A remark in words is left out; music in brackets, supplied by the cataloguer, is read."""
    remark = signs.REMARK.match(music.text, music.position)
    music.position = remark.end() if remark else music.position + 1


# Not in the code, but in catalogues: what it means there, what it is read as (without a word, as a note), and how.
_DIALECT: dict[str, tuple[str, str, Callable[[Music], None]]] = {
    '"': ("octave marks written with a double quote", "two octave marks", _double_quote),
    **dict.fromkeys("#♯X×", ("sharp written otherwise than x", "x (sharp)", _other_accidental)),
    "N": ("natural written N", "n (natural)", _other_accidental),
    "♮": ("natural written ♮", "n (natural)", _other_accidental),
    "Y": ("flat written Y", "b (flat)", _other_accidental),
    "♭": ("flat written ♭", "b (flat)", _other_accidental),
    **dict.fromkeys("acde", ("note name in lower case", "", _lower_case_note)),
    "|": ("bar line written |", "/ (bar line)", bars.bar_line),
    "Q": ("grace note written Q", "q (grace note)", graces.appoggiatura),
    "T": ("trill written T", "t (trill)", Music.skip),
    "z": ("end of a slur", "the end of a slur", Music.skip),
    "[": ("bracket", "nothing", _bracket),
    "]": ("bracket", "nothing", Music.skip),
    ".": ("dot that follows no length", "nothing", Music.skip),
    **dict.fromkeys("?*", ("mark of doubt", "nothing", Music.skip)),
}

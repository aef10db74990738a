"""Text as people type or paste it: its notation without a header, and signs that are not on a keyboard.

Plaine & Easie and ABC share most of their signs. A text is Plaine & Easie if a length or an octave mark is in front of
the first note, and ABC if it has bar lines written | or a number behind a note with a space or the end after it. Any
other text that can be read as Plaine & Easie is.

Numbers behind letters can be lengths of ABC, octaves of note names, or lengths of Plaine & Easie for the notes after
them: `other_notation` has the second possibility.

Word processors and web pages put curly quotes, dashes and odd spaces in the place of the signs on a keyboard. `plain`
puts the keyboard's sign back, one for one, so that columns stay those of the text as it was pasted.
"""

from __future__ import annotations

import re
from itertools import islice

from roslin.errors import Problem
from roslin.notation.record import MAX_PROBLEMS

_STARTS_PLAINE_AND_EASIE = re.compile(
    r"\s*(?:['\",]*[0-9]|[',]+[A-Ga-g]|\"[A-Ga-g](?![^\"\s]{0,8}\")|!(?![a-z.()<>+]+!)|[%@$\[{<=\-])"
)
_ONLY_PLAINE_AND_EASIE = re.compile(r"(?![0-9\s,;|\-]+$)\s*(?:%[A-Ga-g][-+*:]?[1-5]|['\",]*[0-9]|[',]+[A-G])")
_FIELD = re.compile(r"^\s*[A-Za-z]:", re.MULTILINE)
_CHORD_SYMBOL = r"\"[A-G][#b]?(?:maj|min|dim|aug|sus|m|[0-9+]|/[A-G][#b]?)*\""
_TEXT = re.compile(rf"{_CHORD_SYMBOL}|![^!\s]*!")
_SIGNS_OF_ABC = re.compile(r"[A-Ga-gzx0-9/|:\[\](){}'\",^_=~.\-<>\s]+")
_LENGTHS_BEHIND = re.compile(r"(?:[\^_=]?[A-Ga-gz][,']*[0-9/]+\s*)+")
_LETTERS_AND_NUMBERS = re.compile(r"\s*(?:[A-Ga-g](?:[0-9]+)?\s*)+")
_NUMBER_BEHIND = re.compile(r"[0-9](?:\s|$)")
_NUMBER = re.compile(r"[0-9]+")
_LENGTHS = (1, 2, 3, 4, 6, 7, 8, 12, 14, 16)  # that one note can have
_LEAST_NOTES = 3  # fewer are as likely a word or a key


def is_plaine_and_easie(text: str) -> bool:
    """Whether a text can be nothing else: it starts with a clef, a length or an octave mark, and has no field of ABC.

    >>> [is_plaine_and_easie(text) for text in ("%G-2 CDE", "'4CDE", "CDE", "%abc")]
    [True, True, False, False]
    """
    return _ONLY_PLAINE_AND_EASIE.match(text) is not None and _FIELD.search(text) is None


def is_bare_abc(text: str) -> bool:
    """Whether a text is the music of an ABC tune without any field.

    >>> [is_bare_abc(text) for text in ("GABc dedB", "C C G2", "|:CDE|", "'4CDE", "CDE", "gAB")]
    [True, True, True, False, False, False]
    """
    if _STARTS_PLAINE_AND_EASIE.match(text):
        return False
    music = _TEXT.sub("", text)
    if not _SIGNS_OF_ABC.fullmatch(music) or len(re.findall("[A-Ga-g]", music)) < _LEAST_NOTES:
        return False
    if "|" in music:
        return True
    if '"' in text:  # as likely the octave marks of old catalogues
        return False
    if _LENGTHS_BEHIND.fullmatch(music.strip()):
        return True
    if _LETTERS_AND_NUMBERS.fullmatch(music) and _NUMBER_BEHIND.search(music):
        return True
    from roslin.notation import abc, pae  # few texts come as far

    [tune] = abc.read_tunes(f"K:C\n{text}")
    return not tune.problems and any(record.problems for record in pae.read_text(text, strict=False))


def other_notation(text: str, notation: str | None) -> str | None:
    """The notation in which a text could also be meant, if it has nothing but letters and numbers behind them.

    >>> other_notation("c4 e g c4", "names"), other_notation("g2 a2 b2 c3", "abc"), other_notation("C4DEF", "pae")
    ('abc', 'names', 'abc')
    """
    if not _LETTERS_AND_NUMBERS.fullmatch(text) or not _NUMBER.search(text):
        return None
    if notation == "abc":
        from roslin.notation.names import could_have_octaves

        return "names" if could_have_octaves(text) else None
    return "abc" if all(int(number) in _LENGTHS for number in _NUMBER.findall(text)) else None


# Signs that are not on a keyboard

_MEANT = {
    "'": "‘’‛′´`ʹʻʼ＇",
    '"': "“”‟″＂",
    ",": "‚，",
    "-": "‐‑‒–—―−",
    " ": "\u00a0\u00ad\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u202f\u205f"
    "\u2060\u3000\ufeff",
}
_KEYBOARD = {ord(other): sign for sign, others in _MEANT.items() for other in others}
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`"}


def plain(text: str) -> tuple[str, tuple[Problem, ...]]:
    r"""The text with the signs of a keyboard, and a problem for each sign that was another (at most `MAX_PROBLEMS`).

    >>> plain("\N{RIGHT SINGLE QUOTATION MARK}4C\N{EN DASH}D")[0]
    "'4C-D"
    """
    written = text if text.isascii() and "`" not in text else text.translate(_KEYBOARD)
    if written == text:
        return text, ()
    changed = (
        Problem("typographic sign", repr(meant), _shown(found), column, taken=_shown(meant))
        for column, (found, meant) in enumerate(zip(text, written, strict=True), start=1)
        if found != meant
    )
    return written, tuple(islice(changed, MAX_PROBLEMS))


def without_quotes(line: str) -> tuple[str, tuple[Problem, ...]]:
    """A line without the quotation marks around it: blanks in their place. An apostrophe is an octave mark, and stays.

    >>> without_quotes('"4CDE"')[0]
    ' 4CDE '
    """
    first, last = len(line) - len(line.lstrip()), len(line.rstrip()) - 1
    if last <= first or _QUOTES.get(line[first]) != line[last]:
        return line, ()
    found = f"{line[first]}...{line[last]}"
    problem = Problem("quotation marks around the music", "music alone", found, first + 1, taken="nothing")
    return f"{line[:first]} {line[first + 1 : last]} {line[last + 1 :]}", (problem,)


def _shown(sign: str) -> str:
    return "a space" if sign == " " else repr(sign) if sign.isprintable() else f"U+{ord(sign):04X}"

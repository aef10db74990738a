"""Signs that word processors and web pages put in the place of those on a keyboard: curly quotes, dashes, odd spaces.

`plain` puts the keyboard's sign back, one for one, so that columns stay those of the text as it was pasted.
"""

from __future__ import annotations

from itertools import islice

from roslin.errors import Problem
from roslin.notation.record import MAX_PROBLEMS

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

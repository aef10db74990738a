"""Melodies on a page: the drawing with matched notes marked, and buttons that play all of it or from the match on."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from roslin.melody import Melody
from roslin.playback import note_list
from roslin.report.player import drawing

__all__ = ["figure", "marked", "playing"]

_NOTE = re.compile(r'data-note="(\d+)" class="')


def playing(melody: Melody) -> list[list[float]]:
    """Rows of [row, start, duration, pitch] as the player takes them, times in seconds."""
    return [[note["row"], note["start"], note["duration"], note["pitch"]] for note in note_list(melody)]


def marked(svg: str, rows: Sequence[int]) -> str:
    """The drawing with the class `matched` on these notes."""
    wanted = {str(row) for row in rows}

    def mark(found: re.Match[str]) -> str:
        return f"{found[0]}matched " if found[1] in wanted else found[0]

    return _NOTE.sub(mark, svg) if wanted else svg


def figure(melody: Melody, name: str, prefix: str, matched: Sequence[int] = ()) -> Markup:
    """A figure with its buttons. `prefix` must be another for each figure of a page."""
    picture = drawing(melody, f"Notation of {name}")
    rows = playing(melody)
    caption = (
        "" if picture.drawn else Markup("<figcaption>Shown as a piano roll: {}.</figcaption>").format(picture.reason)
    )
    start = next((row[1] for row in rows if row[0] in set(matched)), 0.0)
    buttons = Markup()
    if rows:
        buttons += _button("Play", f"Play {name}", 0.0)
    if start:
        buttons += _button("From the match", f"Play {name} from the match", start)
    return Markup('<figure class="melody" data-notes="{}">{}{}<div class="buttons">{}</div></figure>').format(
        json.dumps(rows, separators=(",", ":")),
        Markup('<div class="drawing">{}</div>').format(Markup(marked(picture.in_page(prefix), matched))),  # noqa: S704
        caption,
        buttons,
    )


def _button(word: str, label: str, start: float) -> Markup:
    return Markup(
        '<button type="button" class="play" aria-pressed="false" aria-label="{}" data-from="{}" hidden>'
        '<span class="sign" aria-hidden="true">▶</span> <span class="word">{}</span></button>'
    ).format(escape(label), repr(start), word)

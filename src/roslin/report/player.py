"""A melody on a page: its notation (or a piano roll where that fails) with a button that plays it.

A page needs `PLAYER_STYLE` once in its style sheet, `melody_figure` for each melody, and `player_script()` once at its
end: our own small synthesiser, inline, that asks nobody for anything. Without scripts the button stays hidden.
Each figure takes a prefix for the ids in its drawing, because no two elements of a page may have the same.
"""

from __future__ import annotations

import json
from functools import lru_cache
from html import escape
from importlib.resources import files

from roslin.engrave import Engraving, engrave
from roslin.melody import Melody
from roslin.playback import note_list
from roslin.report.pianoroll import pianoroll_svg

__all__ = ["PLAYER_STYLE", "drawing", "melody_figure", "player_script"]

PLAYER_STYLE = """
.melody { margin: .4rem 0; }
.melody svg { display: block; max-width: 100%; height: auto; }
.query .melody { margin-bottom: 0; }
.melody figcaption { font-size: .85rem; color: var(--soft); }
.melody .play { font: inherit; font-size: .85rem; color: inherit; background: none; border: 1px solid var(--soft);
  border-radius: 1rem; padding: .1rem .8rem; margin: .2rem 0; cursor: pointer; min-width: 5.5rem; }
.melody .play[hidden] { display: none; }
.melody .play:hover { border-color: var(--accent); color: var(--accent); }
.melody .play:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.melody .play[aria-pressed="true"] { background: var(--accent); border-color: var(--accent); color: var(--card); }
.roll .note, .roll .grace { fill: var(--note); }
.roll .grace { opacity: .55; }
.roll .bar-line { stroke: var(--line); stroke-width: 1; }
.melody svg .sounding { color: var(--accent); fill: var(--accent); stroke: var(--accent); }
@media print { .melody .play { display: none; } }
"""


def drawing(melody: Melody, title: str = "") -> Engraving:
    """The melody engraved; where that fails, a piano roll in its place, with `drawn` False and the reason."""
    engraved = engrave(melody, title)
    if engraved.drawn:
        return engraved
    roll = pianoroll_svg(melody, f"Piano roll: {title or melody.title or melody.id or 'a melody'}")
    return Engraving(roll, drawn=False, reason=engraved.reason)


def melody_figure(melody: Melody, name: str, prefix: str) -> str:
    """A figure with the drawing and its button. `prefix` must be another for each figure of a page."""
    picture = drawing(melody, f"Notation of {name}")
    rows = [[note["row"], note["start"], note["duration"], note["pitch"]] for note in note_list(melody)]
    caption = "" if picture.drawn else f"<figcaption>Shown as a piano roll: {escape(picture.reason)}.</figcaption>\n"
    button = (
        f'<button type="button" class="play" aria-pressed="false" aria-label="Play {escape(name)}" hidden>'
        '<span class="sign" aria-hidden="true">▶</span> <span class="word">Play</span></button>\n'
    )
    return (
        f'<figure class="melody" data-notes="{json.dumps(rows, separators=(",", ":"))}">\n{picture.in_page(prefix)}\n'
        f"{caption}{button if rows else ''}</figure>"
    )


@lru_cache(maxsize=1)
def player_script() -> str:
    """The script element that makes the buttons work."""
    return f"<script>\n{files('roslin.report').joinpath('player.js').read_text('utf-8')}</script>"

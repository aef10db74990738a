"""How a melody is written, heard and drawn.

Rooms below this one do it, and they know melodies, not the other way round. Yet people ask the melody, so it looks
those rooms up by name when it is asked: this table is the one place where a room names rooms below it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

WRITERS = {
    "pae": "roslin.notation.pae:write",
    "midi": "roslin.playback:midi_bytes",
    "svg": "roslin.report.player:drawing",
}


def writer(form: str) -> Callable[..., Any]:
    """The function that makes a form of a melody, by its name in `WRITERS`."""
    module, _, name = WRITERS[form].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found

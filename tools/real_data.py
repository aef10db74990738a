"""Where the real data lies: the folder named by ROSLIN_DATA, by default ../shared/data beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from roslin.melody import NOTE_DTYPE, TICKS_PER_QUARTER
from roslin.represent.packed import Packed

DATA = Path(os.environ.get("ROSLIN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
INCIPITS = DATA / "rism" / "incipits.jsonl.gz"
DUMPS = sorted((DATA / "rism").glob("*.xml.gz"))
FRAGMENTS = DATA / "scale" / "fragments_500k.npz"
# The fragments' own ticks in a quarter.
_TICKS = 48


def packed_fragments(path: Path) -> Packed:
    """The fragments as a collection would hand them out."""
    with np.load(path) as data:
        offsets = data["offsets"].astype(np.int64)
        notes = np.zeros(offsets[-1], dtype=NOTE_DTYPE)
        notes["onset_ticks"] = data["onset_ticks"] * (TICKS_PER_QUARTER // _TICKS)
        notes["duration_ticks"] = data["duration_ticks"] * (TICKS_PER_QUARTER // _TICKS)
        notes["pitch_midi"] = data["pitch_midi"]
    melody = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    notes = notes[np.lexsort((notes["onset_ticks"], melody))]
    notes.flags.writeable = False
    return Packed(notes, offsets, np.empty(0, np.int64), np.zeros(len(offsets), np.int64))

"""Where the real data lies: the folder named by ROSLIN_DATA, by default ../shared/data beside the project."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np

from roslin.melody import NOTE_DTYPE, TICKS_PER_QUARTER, base40_from_midi
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


def write_fragments(path: Path, count: int, target: Path) -> None:
    """Write the first fragments as JSON Lines with rows of notes, each from its earliest note on."""
    data = np.load(path)
    offsets, ids = data["offsets"][: count + 1].tolist(), bytes(data["ids"]).decode().split("\n")
    scale = TICKS_PER_QUARTER // int(data["ticks_per_quarter"])
    columns = [data[name][: offsets[-1]].astype(np.int64) for name in ("onset_ticks", "duration_ticks", "pitch_midi")]
    columns = [columns[0] * scale, columns[1] * scale, columns[2], base40_from_midi(columns[2]).astype(np.int64)]
    zeros = np.zeros_like(columns[0])
    rows = np.column_stack([*columns, zeros, zeros])
    with gzip.open(target, "wt", compresslevel=1, encoding="utf-8") as file:
        for number in range(count):
            notes = rows[offsets[number] : offsets[number + 1]]
            notes[:, 0] -= notes[:, 0].min()
            file.write(json.dumps({"id": ids[number], "notes": notes.tolist()}) + "\n")

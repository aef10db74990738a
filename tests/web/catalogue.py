"""A small catalogue with copies, spellings and hostile words, for tests of lists."""

from __future__ import annotations

import json
from pathlib import Path

from roslin import Collection

FRERE = "'4CDEC/CDEC/EF2G/"
_IN_G = "'4GAB''C'/GABG/B''C2D/"  # another tune: it goes up to the C
_VARIANT = "'4CDEC/CDEC/EFGG/8GAGF4EC/"
HOSTILE = '=cmd|"/C calc"!A0 <script>alert(1)</script>'

_ROWS = [
    # id, music, composer, key, library, shelfmark, date, scoring
    ("100-1.1.1", FRERE, "Grétry, André", "C", "F-Pn", "D. 1", "1780", "S, org"),
    ("101-1.1.1", FRERE, "GRETRY, Andre", "C major", "D-Dl", "Mus. 1-F-1", "[178-?]", "S, org"),
    ("102-1.1.1", "'4GAB G/GABG/B''C2D/".replace(" ", ""), "Anonymus", "G", "CZ-Bu", "A 1", "ca. 1805", "V, pf"),
    ("103-1.1.1", _VARIANT, "Bach, Johann", "C-Dur", "D-Dl", "Mus. 2", "18.sc", "V, pf"),
    ("104-1.1.1", _VARIANT, HOSTILE, "c", "D-B", HOSTILE, "n.d.", "V, pf"),
    ("105-1.1.1", _IN_G, "Bach, Johann Sebastian", "g", "D-B", "P 1", "1723", "cemb"),
]


def catalogue(folder: Path) -> Path:
    """The collection, made in a folder."""
    rows = [
        {
            "id": id, "pae": music, "clef": "G-2", "timesig": "4/4", "composer": composer, "title": f"Tune {id[:3]}",
            "key": key, "siglum": library, "shelfmark": shelfmark, "date": date, "scoring": scoring,
        }
        for id, music, composer, key, library, shelfmark, date, scoring in _ROWS
    ]  # fmt: skip
    (folder / "catalogue.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    Collection.build(folder / "catalogue.jsonl", folder / "catalogue.roslin").close()
    return folder / "catalogue.roslin"

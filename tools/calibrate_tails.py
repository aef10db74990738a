"""Write the tails of chance that small collections use: those of a large one, in every mode of `roslin`.

    python tools/calibrate_tails.py rism.roslin

The collection is that of the RISM sample. The file is src/roslin/search/tails.json; run this again when the numbers of
the measure have changed (`tools/fit_roslin.py`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from itertools import product
from pathlib import Path

from roslin import Collection
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES
from roslin.search import chance


def main() -> int:
    """Calibrate and write."""
    with Collection(sys.argv[1]) as collection:
        tails = {}
        for parts in product(COMPARED, PLACES, KEYS):
            mode = "/".join(parts)
            found = chance.calibrated(collection.packed(), mode)
            tails[mode] = {
                length: {name: round(value, 4) for name, value in asdict(tail).items()}
                for length, tail in found.items()
            }
            print(mode, {length: list(tail.values()) for length, tail in tails[mode].items()}, flush=True)
        about = {"made_by": "tools/calibrate_tails.py", "melodies": len(collection)}
    target = Path(chance.__file__).with_name("tails.json")
    target.write_text(json.dumps(about | {"tails": tails}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

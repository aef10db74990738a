"""Write every incipit of a file in Plaine & Easie, read it again, and compare (the tests do this for a sample).

python tools/round_trip.py ../shared/data/rism/incipits.jsonl.gz
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from real_data import INCIPITS
from roslin.errors import NotationError
from roslin.melody import NOTE_DTYPE, Melody
from roslin.notation import pae, records

_COLUMNS = [name for name in NOTE_DTYPE.names or () if name != "source_column"]


def main() -> int:
    """Print the counts and each failure; exit code 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("incipits", type=Path, nargs="?", default=INCIPITS)
    arguments = parser.parse_args()
    same = different = refused = 0
    for record in records(arguments.incipits, strict=False):
        if record.melody is None:
            refused += 1
            continue
        if _reads_back(record.melody):
            same += 1
        else:
            different += 1
            sys.stdout.write(f"{record.melody.id}: {record.melody.music}\n")
    sys.stdout.write(f"{same} read back the same, {different} do not; {refused} were not read in the first place\n")
    return int(different > 0)


def _reads_back(melody: Melody) -> bool:
    try:
        again = pae.read(pae.write(melody), strict=True)
    except NotationError as error:
        sys.stdout.write(f"{error}\n")
        return False
    return (
        again.notes[_COLUMNS].tolist() == melody.notes[_COLUMNS].tolist()
        and again.barlines_ticks.tolist() == melody.barlines_ticks.tolist()
        and again.changes == melody.changes
        and (again.key_signature, again.metre) == (melody.key_signature, melody.metre)
    )


if __name__ == "__main__":
    sys.exit(main())

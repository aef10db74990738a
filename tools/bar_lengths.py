"""Measure readings of Plaine & Easie on the bars of real incipits: a right reading fills the bars.

    .venv/bin/python tools/bar_lengths.py

Prints the figures that docs/concepts/reading/pae.md quotes: how many bars between two bar lines last a whole number of
measures, how long bars under a lone number are, and what becomes of incipits with "_" when it is read as in version 2.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from real_data import INCIPITS
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation import pae
from roslin.notation.pae.signatures import read_time_signature


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("incipits", type=Path, nargs="?", default=INCIPITS)
    with gzip.open(parser.parse_args().incipits, "rt", encoding="utf-8") as lines:
        incipits = [pae.incipit_from_mapping(json.loads(line)) for line in lines]
    regular = [i for i in incipits if re.fullmatch(r"\d+/\d+|c/?", i.time_signature) and "@" not in i.music]
    sys.stdout.write(f"all with a plain time signature: {_filled(regular)}\n")
    tied = [incipit for incipit in regular if "_" in incipit.music]
    sys.stdout.write(f'{len(tied)} incipits with "_": {_filled(tied)}\n')
    sys.stdout.write(f"the same read as version 2:  {_filled([replace(i, version=2) for i in tied])}\n")
    for sign in ("3", "2", "c3", "c3/2"):
        lengths = Counter(
            length / TICKS_PER_QUARTER for i in incipits if i.time_signature == sign for length in _bars(i)
        )
        shown = ", ".join(f"{quarters:g} quarters: {count}" for quarters, count in lengths.most_common(3))
        sys.stdout.write(f"under {sign!r}, {lengths.total()} bars; {shown}\n")


def _filled(incipits: Iterable[pae.Incipit]) -> str:
    filled = total = 0
    for incipit in incipits:
        measure = read_time_signature(incipit.time_signature).measure_ticks
        lengths = list(_bars(incipit))
        total += len(lengths)
        filled += sum(length % measure == 0 for length in lengths)
    return f"{filled} of {total} bars are full"


def _bars(incipit: pae.Incipit) -> Iterator[int]:
    melody = pae.read_incipit(incipit, strict=False).melody
    return iter(()) if melody is None else iter(np.diff(melody.barlines_ticks).tolist())


if __name__ == "__main__":
    main()

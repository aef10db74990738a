"""Reading ABC: Roslin against music21, on the same tunes of music21's corpus in the same run.

    python benchmarks/abc_reading.py
    python benchmarks/abc_reading.py --count 500

Both get the text of one tune at a time and have to produce its notes in memory: music21 a score, Roslin a melody.
Tunes that music21 cannot read are left out of both. The target is 20x.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from roslin.notation import abc
from roslin.notation.abc.tunebook import decode, tunes

TARGET = 20.0
ROUNDS = 3
SEED = 3


def main() -> int:
    """Print both times and their ratio; exit code 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many tunes")
    arguments = parser.parse_args()
    music21 = import_module("music21")
    their_files: Any = import_module("music21.abcFormat").ABCFile
    their_scores: Any = import_module("music21.abcFormat.translate").abcToStreamScore

    def score(text: str) -> Any:
        return their_scores(their_files().readstr(text))

    sample = _sample(Path(str(music21.__file__)).parent / "corpus", arguments.count, score)
    theirs = _microseconds(lambda: [score(text) for text in sample], len(sample))
    ours = _microseconds(lambda: [list(abc.read_tunes(text, strict=False)) for text in sample], len(sample))
    sys.stdout.write(
        f"{len(sample)} tunes, median of {ROUNDS} rounds\n"
        f"music21 {music21.__version__}: {theirs:10.1f} us a tune\n"
        f"roslin: {ours:18.1f} us a tune\n"
        f"ratio: {theirs / ours:19.1f}  (target: at least {TARGET:g})\n"
    )
    return int(theirs / ours < TARGET)


def _sample(folder: Path, count: int, score: Callable[[str], Any]) -> list[str]:
    """Tunes that music21 reads; reading them once also fills its caches before the clock runs."""
    texts = [tune.text for path in sorted(folder.rglob("*.abc")) for tune in tunes(decode(path.read_bytes()))]
    chosen = []
    for text in random.Random(SEED).sample(texts, count):
        try:
            score(text)
        except Exception:  # whatever music21 raises on a tune, it has not read it
            continue
        chosen.append(text)
    return chosen


def _microseconds(run: Callable[[], object], count: int) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times) / count * 1e6


if __name__ == "__main__":
    sys.exit(main())

"""The Earth Mover's Distance of random point sets, against scipy's HiGHS (the tests do this for 2,000 pairs).

python tools/check_emd.py [PAIRS]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.transport.oracle import highs, random_pair

from roslin.transport.emd import emd

ALLOWED = 1e-9


def main() -> int:
    """Print the largest error; exit code 1 when it is above 1e-9."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int, nargs="?", default=10_000)
    pairs = parser.parse_args().pairs
    rng = np.random.default_rng(1998)
    largest = 0.0
    for number in range(pairs):
        a, b = random_pair(rng, 20)
        name = ("euclidean", "cityblock")[number % 2]
        largest = max(largest, abs(emd(*a, *b, name) - highs(a, b, name)))
    sys.stdout.write(f"{pairs} pairs, largest difference {largest:.1e}; allowed {ALLOWED:g}\n")
    return int(not largest <= ALLOWED)


if __name__ == "__main__":
    sys.exit(main())

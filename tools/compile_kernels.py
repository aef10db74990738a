"""Compile the kernels of all matchers before the tests: what is compiled is kept, so their processes need not.

    .venv/bin/python tools/compile_kernels.py

Processes that run tests side by side would each compile the same kernels, which takes minutes. Here two share the
work: those of the transport distances take as long as all others together.
"""

from __future__ import annotations

import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

from roslin import Collection
from roslin.matchers import MATCHERS
from roslin.starter import tunes_path

_QUERY = "roslin-castle"
_TRANSPORT = ("emd", "twv", "twv_covered")


def compile_for(names: tuple[str, ...]) -> None:
    """Search with each matcher, and have its best hit explained: that calls every kernel which it has."""
    with tempfile.TemporaryDirectory() as folder:
        tunes = Collection.build(tunes_path(), Path(folder) / "tunes.roslin")
        query = tunes[_QUERY]
        for name in names:
            best = tunes.search(query, matcher=name, k=3)[0].id
            tunes.explain(query, best, matcher=name)
        tunes.close()


def main() -> int:
    """Compile everything in two processes."""
    others = tuple(name for name in MATCHERS if name not in _TRANSPORT)
    with get_context("spawn").Pool(2) as pool:
        pool.map(compile_for, [_TRANSPORT, others], chunksize=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

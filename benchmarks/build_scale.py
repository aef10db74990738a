"""Building a collection of half a million melodies: memory must stay bounded, whatever the size.

    .venv/bin/python benchmarks/build_scale.py

Writes the first tenth of the fragments, and all of them, to a JSON Lines file, and runs `roslin collection build` on
each. Prints time, peak memory of that command and size on disk. The target is a peak under 1 GB for all 500,000; the
peer is the tenth: memory should hardly grow. On a terminal the command shows its progress bar.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import FRAGMENTS
from roslin.melody import TICKS_PER_QUARTER, base40_from_midi

TARGET_BYTES = 1_000_000_000
COUNTS = (50_000, 500_000)


def main() -> int:
    """Print the figures; exit code 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fragments", type=Path, nargs="?", default=FRAGMENTS)
    parser.add_argument("--keep", type=Path, help="keep the large collection here (NAME.roslin)")
    arguments = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            source = Path(folder) / f"fragments_{count}.jsonl.gz"
            write_fragments(arguments.fragments, count, source)
            target = arguments.keep if arguments.keep and count == COUNTS[-1] else Path(folder) / f"{count}.roslin"
            seconds, peak = _build(source, target)
            peaks.append(peak)
            disk = sum(file.stat().st_size for file in target.iterdir())
            figures = f"{seconds:6.1f} s, peak memory {peak / 1e6:5.0f} MB, {disk / 1e6:4.0f} MB on disk"
            sys.stdout.write(f"{count:7d} melodies: {figures}\n")
    sys.stdout.write(f"{COUNTS[1] // COUNTS[0]} times the melodies take {peaks[1] / peaks[0]:.2f} times the memory\n")
    return int(peaks[1] >= TARGET_BYTES)


def _build(source: Path, target: Path) -> tuple[float, int]:
    """Seconds and peak memory in bytes of the command; the peak is what the kernel says of that process alone."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "roslin", "collection", "build", str(source), str(target)]
    peak = 0
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            with suppress(OSError, IndexError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak = max(peak, int(status.split("VmHWM:")[1].split()[0]) * 1024)
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"the build failed with status {process.returncode}")
    return time.perf_counter() - began, peak


def write_fragments(path: Path, count: int, target: Path) -> None:
    """The fragments as JSON Lines with rows of notes, each from its earliest note on (99 do not have it first)."""
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


if __name__ == "__main__":
    sys.exit(main())

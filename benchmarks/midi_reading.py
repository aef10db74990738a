"""Reading MIDI: Roslin against mido and symusic, on the same files in the same run.

    python benchmarks/midi_reading.py [FOLDER] [--mutated 2000]

The files are the starter tunes, written by Roslin, one of 10,000 notes, and every .mid file below FOLDER. First the
time to get notes with onset, length and pitch from bytes in memory (mido gives messages, which the script pairs; Roslin
gives melodies with bars and spelling). Then mutated files, each library in a process of its own with 2 GB and 5 seconds
a file: how many give notes, a refusal, a crash, a hang or a lack of memory, and how many notes come back; with them
five hostile files (lengths far beyond the file, 65,535 tracks that are not there, 1 MB of FF, 16 MB of empty texts).
The target is to crash and hang nowhere, and to read valid files faster than mido.
"""

from __future__ import annotations

import argparse
import io
import pickle
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roslin import Melody, load
from roslin.notation.midi import read_midi, write_midi
from roslin.starter import tunes_path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.fuzzing import MIDI_PIECES, mutated

ROUNDS = 5
MEMORY_BYTES = 2 * 2**30
SECONDS = 5


def with_roslin(data: bytes) -> int:
    """The number of notes."""
    melodies = [record.melody for record in read_midi(data, strict=False)]
    if not any(melodies):
        raise ValueError("refused")
    return sum(len(melody) for melody in melodies if melody is not None)


def with_mido(data: bytes) -> int:
    """The number of notes, paired first in, first out."""
    import mido

    notes = []
    for track in mido.MidiFile(file=io.BytesIO(data)).tracks:
        time = 0
        waiting: dict[tuple[int, int], list[int]] = {}
        for message in track:
            time += message.time
            if message.type == "note_on" and message.velocity:
                waiting.setdefault((message.channel, message.note), []).append(time)
            elif message.type in ("note_on", "note_off") and waiting.get((message.channel, message.note)):
                notes.append((waiting[message.channel, message.note].pop(0), time, message.note))
    return len(notes)


def with_symusic(data: bytes) -> int:
    """The number of notes."""
    import symusic

    score: Any = symusic.Score.from_midi(data)
    return sum(len(track.notes.numpy()["time"]) for track in score.tracks)


LIBRARIES: dict[str, Callable[[bytes], int]] = {"roslin": with_roslin, "mido": with_mido, "symusic": with_symusic}


def main() -> int:
    """Print both tables; exit code 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--mutated", type=int, default=2000)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return _work(*arguments.worker)
    melodies = load(tunes_path())
    times = range(10_000)
    files = [write_midi(melody) for melody in melodies]
    files.append(write_midi(Melody.from_notes(times, [1] * len(times), [40 + time % 48 for time in times])))
    files += [path.read_bytes() for path in sorted(arguments.folder.rglob("*.mid"))] if arguments.folder else []
    seconds = _speed(files)
    outcomes = _robustness(files, arguments.mutated)
    good = not outcomes["roslin"].keys() & {"crash", "hang", "memory"} and seconds["roslin"] < seconds["mido"]
    return int(not good)


def _speed(files: list[bytes]) -> dict[str, float]:
    readable = [data for data in files if all(_outcome(read, data)[0] == "notes" for read in LIBRARIES.values())]
    sys.stdout.write(f"{len(readable)} of {len(files)} files that all three read\n")
    medians = {}
    for name, read in LIBRARIES.items():
        rounds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            notes = sum(read(data) for data in readable)
            rounds.append(time.perf_counter() - began)
        medians[name] = statistics.median(rounds)
        ratio = medians[name] / medians["roslin"]
        sys.stdout.write(
            f"{name:8s} {1e6 * medians[name] / notes:6.2f} us a note, {ratio:5.2f}x Roslin, {notes} notes\n"
        )
    return medians


def _robustness(files: list[bytes], count: int) -> dict[str, Counter[str]]:
    source = random.Random(2005)
    small = [data for data in files if len(data) < 20_000]
    damaged = [mutated(source, source.choice(small), MIDI_PIECES) for _ in range(count)]
    header = b"MThd\0\0\0\6\0\0\0\1\1\340"
    damaged += [
        header + b"MTrk\377\377\377\377" + b"\0\220\74\100",
        header + b"MTrk\0\17\377\377\0\377\1\377\377\377\177",
        header + b"MTrk\0\17\377\377" + b"\377" * 2**20,
        header[:10] + b"\377\377\1\340" + b"MTrk\0\0\0\4\0\377\57\0",
        header + b"MTrk\0\377\377\0" + b"\0\377\1\0" * (2**22 - 16),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated"
        path.write_bytes(pickle.dumps(damaged))
        outcomes = {}
        for name in LIBRARIES:
            outcomes[name], notes = _run(name, path, len(damaged))
            sys.stdout.write(f"{name:8s} {dict(outcomes[name].most_common())}, {notes} notes\n")
    return outcomes


def _run(name: str, path: Path, count: int) -> tuple[Counter[str], int]:
    """Outcomes of a worker, started again after each file that ends it."""
    outcomes: Counter[str] = Counter()
    notes = done = 0
    while done < count:
        command = [sys.executable, __file__, "--worker", name, str(path), str(done)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line.split() for line in ended.stdout.splitlines()]
        outcomes.update(outcome for outcome, _ in lines)
        notes += sum(int(number) for _, number in lines)
        done += len(lines)
        if done < count:
            outcomes["hang" if ended.returncode == -signal.SIGALRM else "crash"] += 1
            done += 1
    return outcomes, notes


def _work(name: str, path: str, first: str) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for data in pickle.loads(Path(path).read_bytes())[int(first) :]:
        signal.alarm(SECONDS)
        outcome, notes = _outcome(LIBRARIES[name], data)
        sys.stdout.write(f"{outcome} {notes}\n")
        sys.stdout.flush()
    return 0


def _outcome(read: Callable[[bytes], int], data: bytes) -> tuple[str, int]:
    try:
        return "notes", read(data)
    except MemoryError:
        return "memory", 0
    except Exception:
        return "refused", 0


if __name__ == "__main__":
    sys.exit(main())

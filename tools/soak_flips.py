"""One bit turned in one file of a collection, again and again: it must be refused, or change nothing.

    .venv/bin/python tools/soak.py --folder /tmp/soak --flips 200

Flip NUMBER turns a random bit of file NUMBER modulo the number of files, at a random place; the random state is that of
the number, so each can be repeated alone. Then, in a child process: `check` must name the file; opening and searching
must refuse with a `DamagedError` that names it, or give the answers of the whole collection.

    refused     opening or searching says that the file is damaged
    same        the same answers (the file is made again, or nobody needs it)
    unseen      `check` does not name the file
    changed     other answers, and nobody says a word
    error       an error that does not name the file
    crash       a signal ended the process, or it never came to an end
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from roslin import Collection
from roslin.collection import filters
from roslin.collection.store import check
from roslin.errors import DamagedError
from roslin.melody import Melody
from soak_kills import Ended, in_child

BAD = ("unseen", "changed", "error", "crash")
Report = Callable[[str, int, str, str], None]

_SEED = 19
_MELODIES, _NOTES = 1100, 9  # enough for a collection to have calibrated tails of its own
_QUERIES = ("m7", "m500")
_MATCHERS = ("roslin", "emd", "twv", "dp")


def soak(folder: Path, first: int, count: int, report: Report) -> None:
    """Flips `first` to `first + count`; each is reported: what kind of file, its number, the outcome, details."""
    folder.mkdir(parents=True, exist_ok=True)
    whole, target = folder / "whole.roslin", folder / "flipped.roslin"
    _make(whole)
    names = sorted(path.name for path in whole.iterdir() if path.stat().st_size)
    expected = _answers(whole)
    _copied(whole, target, names)
    for number in range(first, first + count):
        random = np.random.default_rng((_SEED, number))
        name = names[number % len(names)]
        place, bit = _flip(target / name, random)
        ended = in_child(partial(_looked_at, target, name))
        outcome, detail = _outcome(name, ended, expected)
        report(f"flip {name.partition('-')[0]}", number, outcome, f"{name}, byte {place}, bit {bit}: {detail}")
        _copied(whole, target, names)


def _make(whole: Path) -> None:
    """A collection with every kind of file: one record is refused, and every index has been made."""
    shutil.rmtree(whole, ignore_errors=True)
    bad = whole.parent / "bad.pae"
    bad.write_text("Sol majeur", "utf-8")
    Collection.build([*_melodies(), bad], whole).close()
    _answers(whole)


def _melodies() -> Iterator[Melody]:
    random = np.random.default_rng(_SEED)
    for number in range(_MELODIES):
        pitches = 60 + np.cumsum(random.integers(-4, 5, _NOTES))
        lengths = random.choice([0.5, 1.0, 2.0], _NOTES)
        yield Melody.from_notes(
            np.cumsum(lengths) - lengths[0], lengths, pitches, id=f"m{number}", title=f"Tune {number}",
            barlines=[4.0], source="walks",
        )  # fmt: skip


def _copied(whole: Path, target: Path, names: list[str]) -> None:
    target.mkdir(exist_ok=True)
    for path in target.iterdir():
        path.unlink()
    for name in names:
        shutil.copyfile(whole / name, target / name)


def _flip(path: Path, random: np.random.Generator) -> tuple[int, int]:
    place, bit = int(random.integers(path.stat().st_size)), int(random.integers(8))
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))
    return place, bit


def _answers(path: Path) -> list[str]:
    """What people ask of a collection, and what it says."""
    with Collection(path) as collection:
        said = [str(melody.title) for melody in collection[:3]]
        said += [str(collection.filter(filters.pitch_range(5, 9)).ids[:20])]
        for query in _QUERIES:
            said += [collection.search(collection[query], matcher, 5).to_csv() for matcher in _MATCHERS]
        return said


def _looked_at(target: Path, name: str) -> dict[str, Any]:
    faults = check(target)
    found: dict[str, Any] = {"seen": any(name in fault for fault in faults), "faults": faults, "refusal": ""}
    try:
        found["answers"] = _answers(target)
    except DamagedError as error:
        found["refusal"] = str(error)
    return found


def _outcome(name: str, ended: Ended, expected: list[str]) -> tuple[str, str]:
    if ended.signal:
        return "crash", ended.signal
    if ended.error:
        return "error", ended.error
    found = ended.value
    if not found["seen"]:
        return "unseen", "; ".join(found["faults"])
    if found["refusal"]:
        return ("refused" if name in found["refusal"] else "error"), found["refusal"]
    return ("same", "") if found["answers"] == expected else ("changed", "other answers")

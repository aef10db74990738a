"""How often each matcher finds a tune that was changed as musicians change tunes.

    .venv/bin/python tools/musical_changes.py build/roslin build/changes [MATCHER ...] [--tunes 10]

TUNES songs of the Essen collection, a fixed sample of the share `report` (no part of fitting or choosing `roslin`; made
by tools/roslin_data.py), are changed in 23 ways (`WAYS`): ornamented, reduced, in another metre, with a second voice
and so on. Each changed tune is searched for among all songs; it is found if the song, or one with the same intervals,
is first, or among the first ten. `roslin` lists by its evidence, every other matcher by its distance; equal distances
count as if the wanted song came last among them.

A line for each matcher and way goes to FOLDER/lines.tsv as soon as it is known, and is not asked again. Slow matchers
can be asked with fewer tunes (`--tunes`). At the end the tables are printed in Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from report_roslin import SYSTEMS, Edit, in_minor, in_quarters, longer, melody_of, notes_of, ranks, wrong
from roslin import Collection, Melody, matcher
from roslin.matchers import Roslin
from roslin.matchers.base import Matcher
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.packed import Packed, pack
from roslin.types import Numbers
from roslin_data import Material, cut, material

TUNES, LEAST, SEED, FIRST = 40, 24, 27, 10
CLOSE = 0.05  # in top-10, of the best matcher
_MOST = 0.99  # of the usual length: notes at least as long are most of a tune
MORE = ("p3(tempos=(0.5, 1.0, 2.0))", "p1", "diffed", "rawed", "ngrukkon", "ngrsumco")

Notes = list[tuple[int, float]]  # pitch, and quarters to the next note
Way = Callable[["Tune"], Melody | None]


class Tune(NamedTuple):
    """A song, its line, and the generator of its changes."""

    melody: Melody
    notes: Notes
    rng: np.random.Generator

    @property
    def usual(self) -> float:
        """Quarters that a note of the tune lasts, at the median."""
        return float(np.median([time for _, time in self.notes]))

    @property
    def beat(self) -> float:
        """Quarters in a beat: a dotted note in 6/8 and the like."""
        above, below = self._metre
        return 4 / below * (3 if above % 3 == 0 and below >= 8 else 1)

    @property
    def bar(self) -> float:
        """Quarters in a bar."""
        above, below = self._metre
        return 4 * above / below

    @property
    def _metre(self) -> tuple[int, int]:
        above, below = (self.melody.metre or "4/4").split("/")
        return int(above), int(below)

    @property
    def onsets(self) -> npt.NDArray[np.float64]:
        """Quarters after the first bar line, and the end; what comes before that line is an upbeat."""
        bars = self.melody.barlines_ticks / TICKS_PER_QUARTER
        upbeat = float(bars[0]) % self.bar if len(bars) else 0.0
        return np.cumsum([-upbeat, *(time for _, time in self.notes)])

    def step(self, pitch: int, up: int, steps: int = 1) -> int:
        """The pitch so many steps of the tune's scale above (`up` is 1) or below (-1)."""
        scale = {each % 12 for each, _ in self.notes}
        for _ in range(steps):
            pitch += up if (pitch + up) % 12 in scale else 2 * up
        return pitch


def _made(notes: Iterable[tuple[int, float]]) -> Melody:
    pitches, times = zip(*notes, strict=True)
    return melody_of(pitches, times)


def _unless_same(tune: Tune, notes: Notes) -> Melody | None:
    return None if notes == tune.notes else _made(notes)


# -- the changes ------------------------------------------------------------------------------------------------------


def _ornamented(tune: Tune, of: Callable[[Tune, int], list[int]], above: float = 1.0) -> Melody | None:
    """A figure takes the time of each note that is longer than usual; with `above` a little less than 1, of most."""
    made: Notes = []
    for pitch, time in tune.notes:
        figure = of(tune, pitch) if time > above * tune.usual else [pitch]
        made += [(each, time / len(figure)) for each in figure]
    return _unless_same(tune, made)


def _turn(tune: Tune, pitch: int) -> list[int]:
    return [tune.step(pitch, 1), pitch, tune.step(pitch, -1), pitch]


def _neighbour(tune: Tune, pitch: int) -> list[int]:
    return [pitch, pitch, tune.step(pitch, 1), pitch]


def _trill(tune: Tune, pitch: int) -> list[int]:
    return [pitch, tune.step(pitch, 1)] * 2


def _twice(_: Tune, pitch: int) -> list[int]:
    return [pitch, pitch]


def _passing(tune: Tune) -> Melody | None:
    """Leaps are filled with the notes of the scale, in the second half of the note before."""
    made: Notes = []
    for (pitch, time), (after, _) in pairwise([*tune.notes, (tune.notes[-1][0], 0.0)]):
        up, between = (1 if after > pitch else -1), [pitch]
        while abs(after - between[-1]) > 2 and len(between) < 8:
            between.append(tune.step(between[-1], up))
        filled = [each for each in between[1:] if each != after]
        share = time / 2 if filled else time
        made += [(pitch, share), *((each, time / 2 / len(filled)) for each in filled)]
    return _unless_same(tune, made)


def _reduced(tune: Tune) -> Melody | None:
    """Only notes that sound when a beat begins are left, each until the next of them."""
    beats = np.floor(tune.onsets / tune.beat - 1e-6)
    sounding = beats[1:] > beats[:-1]
    return _left(tune, [0, *(np.flatnonzero(sounding[1:]) + 1).tolist()])


def _left(tune: Tune, kept: Sequence[int]) -> Melody | None:
    times = np.diff(tune.onsets[[*kept, len(tune.notes)]]).tolist()
    return _unless_same(tune, [(tune.notes[at][0], time) for at, time in zip(kept, times, strict=True)])


def _merged(tune: Tune) -> Melody | None:
    return _left(tune, [at for at, (pitch, _) in enumerate(tune.notes) if not at or tune.notes[at - 1][0] != pitch])


def _sparse(tune: Tune) -> Melody | None:
    count = len(tune.notes)
    return _left(tune, sorted(tune.rng.choice(count, round(0.6 * count), replace=False).tolist()))


def _two_voices(tune: Tune, apart: float, other: Callable[[int], int]) -> Melody:
    """A second voice, a note every so many quarters, made from the note that the tune has there."""
    onsets = tune.onsets
    times = np.arange(np.ceil(onsets[0] / apart) * apart, onsets[-1] - 1e-6, apart)
    under = [tune.notes[int(np.searchsorted(onsets, time + 1e-6)) - 1][0] for time in times]
    both = [*zip(onsets[:-1], np.diff(onsets), [pitch for pitch, _ in tune.notes], strict=True)]
    both += [(time, apart, other(pitch)) for time, pitch in zip(times, under, strict=True)]
    starts, lengths, pitches = zip(*sorted(both), strict=True)
    return Melody.from_notes([float(each - starts[0]) for each in starts], list(map(float, lengths)), list(pitches))


def _descant(tune: Tune) -> Melody:
    return _two_voices(tune, tune.beat, lambda pitch: tune.step(pitch, 1, int(tune.rng.choice([2, 4, 5, 7]))))


def _bass(tune: Tune) -> Melody:
    return _two_voices(tune, tune.bar, lambda pitch: tune.step(pitch, -1, int(tune.rng.choice([7, 9, 11, 14]))))


def _middle(tune: Tune, count: int) -> Melody:
    first = (len(tune.notes) - count) // 2
    return cut(tune.melody, first, first + count)


def _other_metre(tune: Tune) -> Melody:
    """Two beats become three, the first of them held; three become two, the second and third in half their time."""
    is_triple = round(tune.bar / tune.beat) % 3 == 0
    old = np.array([0, 1, 2, 3] if is_triple else [0, 1, 2]) * tune.beat
    new = np.array([0, 1, 1.5, 2] if is_triple else [0, 2, 3]) * tune.beat
    onsets = tune.onsets
    units = np.floor(onsets / old[-1])
    moved = units * new[-1] + np.interp(onsets - units * old[-1], old, new)
    return _made(zip([pitch for pitch, _ in tune.notes], np.diff(moved).tolist(), strict=True))


def _octaves(tune: Tune) -> Melody:
    """A third of the notes an octave higher or lower."""
    moved = tune.rng.choice([0, 0, 0, 0, -12, 12], len(tune.notes))
    return _made([(pitch + int(by), time) for (pitch, time), by in zip(tune.notes, moved, strict=True)])


def _typed(tune: Tune, edit: Edit, count: int | None = None) -> Melody | None:
    """As in the table of what people type; with a `count` only so many notes."""
    return edit(cut(tune.melody, 0, count or len(tune.notes)).with_metadata(key=tune.melody.key), tune.rng)


def _swapped(tune: Tune) -> Melody:
    half = len(tune.notes) // 2
    return _made(tune.notes[half:] + tune.notes[:half])


WAYS: dict[str, Way] = {
    "turns on long notes": partial(_ornamented, of=_turn),
    "neighbour notes on most notes": partial(_ornamented, of=_neighbour, above=_MOST),
    "trills on long notes": partial(_ornamented, of=_trill),
    "leaps filled with passing notes": _passing,
    "reduced to beats": _reduced,
    "60% of the notes left": _sparse,
    "repeated notes merged": _merged,
    "most notes split": partial(_ornamented, of=_twice, above=_MOST),
    "a descant above": _descant,
    "a bass below": _bass,
    "6 notes from the middle": partial(_middle, count=6),
    "8 notes from the middle": partial(_middle, count=8),
    "12 notes from the middle": partial(_middle, count=12),
    "in minor": partial(_typed, edit=in_minor),
    "in another metre": _other_metre,
    "augmented": partial(_typed, edit=longer(2)),
    "diminished": partial(_typed, edit=longer(0.5)),
    "in equal values": partial(_typed, edit=in_quarters),
    "a third in other octaves": _octaves,
    "first 12, one wrong": partial(_typed, edit=wrong(1), count=12),
    "first 12, two wrong": partial(_typed, edit=wrong(2), count=12),
    "first 12, three wrong": partial(_typed, edit=wrong(3), count=12),
    "halves swapped": _swapped,
}


# -- asking -----------------------------------------------------------------------------------------------------------


def changed(
    songs: Material, share: str, count: int = TUNES, seed: int = SEED
) -> dict[str, list[tuple[Melody, Numbers]]]:
    """For each way the changed tunes, with the numbers of the songs that count as found."""
    same = alike(songs)
    fit = [
        number
        for number, melody in enumerate(songs.melodies)
        if songs.share[number] == share and melody.metre and len(songs.line(number)) >= LEAST
    ]
    drawn = np.random.default_rng(seed).permutation(fit)[:count].tolist()
    made: dict[str, list[tuple[Melody, Numbers]]] = {name: [] for name in WAYS}
    for number in drawn:
        pitches, times = notes_of(cut(songs.melodies[number], 0, len(songs.line(number))))
        for place, (name, way) in enumerate(WAYS.items()):
            tune = Tune(
                songs.melodies[number], list(zip(pitches, times, strict=True)), np.random.default_rng([number, place])
            )
            query = way(tune)
            if query is not None:
                made[name].append((query, np.array(same[number])))
    return made


def alike(of: Material) -> list[list[int]]:
    """For each melody the numbers of those with the same intervals, itself among them."""
    intervals = [
        np.diff(of.line(number)["pitch_midi"].astype(np.int64)).tobytes() for number in range(len(of.melodies))
    ]
    groups: dict[bytes, list[int]] = {}
    for number, each in enumerate(intervals):
        groups.setdefault(each, []).append(number)
    return [groups[each] for each in intervals]


def rank(chosen: Matcher, query: Melody, wanted: Numbers, packed: Packed, collection: Collection) -> int:
    """The rank of the best of the wanted songs; more than `FIRST` if it is not among the first."""
    if isinstance(chosen, Roslin):
        ids = [int(id) for id in collection.search(query, chosen, k=FIRST).ids]
        return next((place for place, number in enumerate(ids, 1) if number in wanted), FIRST + 1)
    return int(ranks(chosen.distances(query, packed), np.isin(np.arange(len(packed)), wanted))[0])


def main() -> int:
    """Append what is not known yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path, help="the folder of tools/fit_roslin.py")
    parser.add_argument("folder", type=Path)
    parser.add_argument("matchers", nargs="*", default=(*SYSTEMS, *MORE))
    parser.add_argument("--tunes", type=int, default=TUNES, help="only so many of the tunes")
    parser.add_argument("--seed", type=int, default=SEED, help="other tunes, for another folder")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    lines = options.folder / "lines.tsv"
    known = _known(lines)
    (songs,) = (each for each in material(options.material / "material.pickle") if each.name == "essen")
    numbered = [melody.with_metadata(id=str(number)) for number, melody in enumerate(songs.melodies)]
    path, packed = options.folder / "essen.roslin", pack(numbered)
    queries = changed(songs, "report", options.tunes, options.seed)
    with Collection(path) if path.exists() else Collection.build(numbered, path) as collection:
        for name in options.matchers:
            chosen = matcher(name)
            for way, asked in queries.items():
                found = list(known.get((name, way), ()))
                if len(found) >= len(asked):
                    continue
                found += [rank(chosen, *each, packed, collection) for each in asked[len(found) :]]
                with lines.open("a") as file:
                    file.write(f"{name}\t{way}\t{' '.join(map(str, found))}\n")
                first, ten = _shares(found)
                print(f"{name:32.32s} {way:32s} {first:.3f} {ten:.3f} ({len(found)} tunes)", flush=True)
    _print_tables(_known(lines))
    return 0


def _known(lines: Path) -> dict[tuple[str, str], list[int]]:
    """The ranks by matcher and way; of several lines the last counts."""
    rows = (line.split("\t") for line in lines.read_text().splitlines()) if lines.exists() else ()
    return {(name, way): [int(each) for each in found.split()] for name, way, found in rows}


def _shares(found: Sequence[int]) -> tuple[float, float]:
    """The share of tunes found first, and among the first ten."""
    return float(np.mean(np.array(found) == 1)), float(np.mean(np.array(found) <= FIRST))


def _print_tables(known: dict[tuple[str, str], list[int]]) -> None:
    """Both tables in Markdown: `roslin` beside the best of the others, and the first ten of all.

    Beside `roslin` are matchers that were asked with all tunes.
    """
    names = list(dict.fromkeys(name for name, _ in known))
    print("\n| the tune | tunes | `roslin` | best other matcher | |\n|---|---|---|---|---|")
    for way in WAYS:
        ours = known["roslin", way]
        equal = [name for name in names[1:] if len(known.get((name, way), ())) == len(ours)]
        best_ten, best_first, best = max((*_shares(known[name, way])[::-1], name) for name in equal)
        first, ten = _shares(ours)
        note = f"{best_ten - ten:.2f} behind" if best_ten - ten > CLOSE + 1e-9 else ""
        print(f"| {way} | {len(ours)} | {first:.2f}, {ten:.2f} | {best_first:.2f}, {best_ten:.2f} `{best}` | {note} |")
    print("\n| the tune | " + " | ".join(f"`{name}`" for name in names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for way in WAYS:
        cells = [f"{_shares(known[name, way])[1]:.2f}" if (name, way) in known else "" for name in names]
        print(f"| {way} | " + " | ".join(cells) + " |")
    print(
        "| *tunes* | " + " | ".join(str(max(len(known.get((name, way), ())) for way in WAYS)) for name in names) + " |"
    )


if __name__ == "__main__":
    sys.exit(main())

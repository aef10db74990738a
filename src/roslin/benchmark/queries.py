"""Forms of a melody that people ask for: a piece of it, typed with mistakes, or sung.

Singers are as inaccurate as real ones: ten trained hummers and 1,902 trials of singing back a melody after one hearing
were counted (`singing_model.json`, beside the project; each field names its number there). The public is divided into
three equal parts by ability, whose notes are off by 26, 49 and 68 cents.

All is computed from a random generator that is passed in: the same state gives the same melody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.represent.line import melodic_line
from roslin.types import Floats

Edit = Callable[[Melody, np.random.Generator], Melody | None]


def cut(melody: Melody, first: int, last: int) -> Melody:
    """Some notes of the line of a melody, from the first of them on."""
    notes = melodic_line(melody)[first:last].copy()
    notes["onset_ticks"] -= notes["onset_ticks"][0]
    return Melody(notes, key=melody.key)


# -- typed ------------------------------------------------------------------------------------------------------------


def melody_of(pitches: Sequence[int], quarters: Sequence[float]) -> Melody:
    """Notes without rests, each as long as given."""
    onsets = np.concatenate([[0.0], np.cumsum(quarters)[:-1]])
    return Melody.from_notes(onsets.tolist(), list(quarters), [int(pitch) for pitch in pitches])


def notes_of(melody: Melody) -> tuple[list[int], list[float]]:
    """The pitches of a line, and the quarters from each note to the next."""
    notes = melody.notes
    times = np.append(np.diff(notes["onset_ticks"]), notes["duration_ticks"][-1]) / TICKS_PER_QUARTER
    return notes["pitch_midi"].astype(int).tolist(), times.tolist()


def exactly(melody: Melody, _: np.random.Generator) -> Melody:
    """As it is."""
    return melody


def longer(by: float) -> Edit:
    """All notes this many times as long."""

    def edit(melody: Melody, _: np.random.Generator) -> Melody:
        pitches, times = notes_of(melody)
        return melody_of(pitches, [each * by for each in times])

    return edit


def in_quarters(melody: Melody, _: np.random.Generator) -> Melody:
    """All notes equally long."""
    pitches, _times = notes_of(melody)
    return melody_of(pitches, [1.0] * len(pitches))


def wrong(number: int) -> Edit:
    """This many notes, neither the first nor the last, one or two semitones off."""

    def edit(melody: Melody, rng: np.random.Generator) -> Melody:
        pitches, times = notes_of(melody)
        for at in rng.choice(np.arange(1, len(pitches) - 1), number, replace=False):
            pitches[at] += int(rng.choice([-2, -1, 1, 2]))
        return melody_of(pitches, times)

    return edit


def _missing(melody: Melody, rng: np.random.Generator) -> Melody:
    pitches, times = notes_of(melody)
    at = int(rng.integers(1, len(pitches) - 1))
    times[at - 1] += times[at]
    return melody_of(pitches[:at] + pitches[at + 1 :], times[:at] + times[at + 1 :])


def _ornamented(melody: Melody, rng: np.random.Generator) -> Melody:
    """Three notes go up a step and back, in their own time."""
    pitches, times = notes_of(melody)
    made: list[tuple[int, float]] = []
    turned = set(rng.choice(len(pitches), 3, replace=False).tolist())
    for at, (pitch, each) in enumerate(zip(pitches, times, strict=True)):
        made += [(pitch, each / 2), (pitch + 2, each / 4), (pitch, each / 4)] if at in turned else [(pitch, each)]
    return melody_of([pitch for pitch, _ in made], [each for _, each in made])


_TONICS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
_LOWERED = (4, 9, 11)  # semitones above the tonic: third, sixth and seventh


def in_minor(melody: Melody, _: np.random.Generator) -> Melody | None:
    """A melody in major with its third, sixth and seventh lowered. None for any other melody."""
    key = melody.key or ""
    if not key or key[0] not in _TONICS or "minor" in key:
        return None
    signs = key[1:].replace(" sharp", "#").replace(" flat", "b").partition(" ")[0]
    tonic = _TONICS[key[0]] + signs.count("x") + signs.count("#") - signs.count("b")
    pitches, times = notes_of(melody)
    lowered = [pitch - 1 if (pitch - tonic) % 12 in _LOWERED else pitch for pitch in pitches]
    return melody_of(lowered, times) if lowered != pitches else None


TYPED: dict[str, Edit] = {
    "exactly": exactly,
    "in quarters": in_quarters,
    "in doubled values": longer(2),
    "1.5 times as long": longer(1.5),
    "with a wrong note": wrong(1),
    "with two wrong notes": wrong(2),
    "with a note missing": _missing,
    "ornamented": _ornamented,
    "in minor": in_minor,
}


# -- sung -------------------------------------------------------------------------------------------------------------

_BROAD = 0.6  # octaves: standard deviation of the few onsets that are far off (ioi_log2: q05, q95)
_NEIGHBOUR = (0.08, 0.2)  # seconds of an inserted note of another pitch (ins_short_near: less than 0.2)
_SAME_PITCH = 2 / 3  # of inserted notes, those that repeat a neighbour (ins_same_pitch over inserted, MIR-ST500)
_SILENCE = 0.5  # seconds before the first note


@dataclass(frozen=True, slots=True)
class Singer:
    """A person who sings, whistles or taps. Cents and seconds; deviations are standard deviations."""

    lowest: float = 48.0  # MIDI; the lowest note of a melody is placed between these
    highest: float = 60.0
    pace: tuple[float, float] = (0.35, 0.65)  # seconds of most notes: people take a tempo with two or three a second
    quickest: float = 0.12  # seconds of the shortest note; they go slower if a melody has quicker ones
    staccato: float = 0.0  # share of each note that is silent
    note_error: float = 20.0  # each note by itself
    slip: float = 0.0  # scale of Laplace of each note: half of the semitones slip at 72 (cents.note_mad by ability)
    drift: float = 0.0  # of the key, with each note, always in one direction
    wander: float = 0.0  # of the key, with each note, at random
    key_change: float = 0.0  # with each note: the rest is sung a semitone higher or lower (key_changes_per_note)
    tempo_wander: float = 0.02  # of the tempo, with each note, as a share
    onset_error: float = 0.012  # each onset by itself
    uneven: float = 0.0  # octaves; scale of Laplace of each distance of onsets (ioi_log2.mad)
    far_off: float = 0.0  # share of these distances that are off by much more (ioi_log2.outside_half)
    inserted: float = 0.0  # notes too many, for each note (inserted)
    deleted: float = 0.0  # notes left out (deleted)


# Ability changes how true notes are (cents.note_mad: 26, 49, 68). All else is that of hummers who know the melody: the
# public was asked for a melody heard once, and forgot many of its notes.
_HUMMED = Singer(
    note_error=0, tempo_wander=0, onset_error=0, key_change=0.004, inserted=0.03, deleted=0.04, uneven=0.11,
    far_off=0.05,
)  # fmt: skip
ABILITIES = {
    "high": replace(_HUMMED, slip=26),
    "middle": replace(_HUMMED, slip=49),
    "low": replace(_HUMMED, slip=68),
}


class Sung(NamedTuple):
    """What was sung: seconds, and pitches as MIDI numbers with fractions."""

    onsets: Floats
    offsets: Floats
    pitches: Floats


def sing(
    singer: Singer, quarters: Floats, pitches: Floats, rng: np.random.Generator, sounding: Floats | None = None
) -> Sung:
    """Notes that follow each other at these distances, as this singer would perform them.

    `sounding`: the quarters for which each note sounds, if rests are between them.
    """
    share = np.ones(len(quarters)) if sounding is None else np.minimum(sounding / quarters, 1)
    beat = max(rng.uniform(*singer.pace) / np.median(quarters), singer.quickest / quarters.min())
    if singer.deleted or singer.inserted:
        quarters, pitches, share = _misremembered(singer, quarters, pitches, share, beat, rng)
    count = len(quarters)
    lengths = quarters * beat * np.exp(np.cumsum(rng.normal(0, singer.tempo_wander, count)))
    if singer.uneven:
        is_far_off = rng.random(count) < singer.far_off
        lengths *= 2 ** np.where(is_far_off, rng.normal(0, _BROAD, count), rng.laplace(0, singer.uneven, count))
    onsets = _SILENCE + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    onsets[1:] += np.clip(rng.normal(0, singer.onset_error, count - 1), -lengths[1:] / 4, lengths[:-1] / 4)
    between = np.append(np.diff(onsets), lengths[-1])
    offsets = onsets + between * share * (1 - singer.staccato)
    key = rng.uniform(singer.lowest, singer.highest) - pitches.min()
    moved = rng.choice([-1, 1]) * singer.drift * np.arange(count) + np.cumsum(rng.normal(0, singer.wander, count))
    if singer.key_change:
        moved += 100 * np.cumsum(rng.choice([-1, 1], count) * (rng.random(count) < singer.key_change))
    errors = rng.normal(0, singer.note_error, count)
    if singer.slip:
        errors += rng.laplace(0, singer.slip, count)
    for again in np.flatnonzero(np.diff(pitches) == 0) + 1:
        errors[again] = errors[again - 1]  # a repeated note stays where it was
    return Sung(onsets, offsets, pitches + key + (moved + errors) / 100)


def _misremembered(
    singer: Singer, quarters: Floats, pitches: Floats, share: Floats, beat: float, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """With notes left out, whose time goes to the note before, and notes inserted, which take time of their neighbour.

    An inserted note takes half of the time where a note is split, and a moment where it has another pitch.
    """
    sung: list[list[float]] = []
    for length, pitch, sounds in zip(quarters, pitches, share, strict=True):
        if sung and rng.random() < singer.deleted:
            sung[-1][0] += length
            continue
        if rng.random() < singer.inserted:
            is_split = rng.random() < _SAME_PITCH
            taken = length / 2 if is_split else min(rng.uniform(*_NEIGHBOUR) / beat, length / 2)
            sung.append([taken, pitch if is_split else pitch + rng.choice([-2, -1, 1, 2]), 1.0])
            length -= taken
        sung.append([length, pitch, sounds])
    found = np.array(sung).T
    return found[0], found[1], found[2]


def sung_by(singer: Singer) -> Edit:
    """The melody as this singer performs it, each note written as the closest semitone."""

    def edit(melody: Melody, rng: np.random.Generator) -> Melody | None:
        pitches, times = notes_of(melody)
        if min(times) <= 0:
            return None
        sung = sing(singer, np.array(times), np.array(pitches, float), rng)
        lengths = sung.offsets - sung.onsets
        return Melody.from_seconds(sung.onsets.tolist(), lengths.tolist(), np.round(sung.pitches).astype(int).tolist())

    return edit


SUNG: dict[str, Edit] = {f"by {ability} ability": sung_by(singer) for ability, singer in ABILITIES.items()}

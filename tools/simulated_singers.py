"""People who sing, whistle or tap a melody, simulated: what they do to time and pitch, and the sound of it.

How far singers are off is what was counted of real people: ten trained hummers and 1,902 trials of singing back a
melody after one hearing (`singing_model.json`, beside the project). Its three parts of the public by ability are three
singers here, whose notes are off by 26, 49 and 68 cents. Each field names where its numbers are from. What the model
leaves open is assumed: a vibrato has five to six cycles a second, pitch glides between notes in about a tenth of a
second, and the sound is that of a voice in a room.

Each is a field, so that a measurement can ask about one at a time.

All is computed from a random generator that is passed in: the same state gives the same sound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

RATE = 48_000
_CONTROL = 10  # pitch and loudness are computed at every so many samples: 4,800 times a second
_SILENCE = 0.5  # seconds before and after, in which the room is heard
_SYLLABLE = 0.05  # seconds that a consonant closes the mouth
_CLOSED = 0.05  # what is left of the loudness meanwhile: 26 dB less
_ATTACK = 0.03  # seconds until a note is at full loudness
_TREMOLO = 0.15  # loudness follows the vibrato by so much
_VIBRATO_DELAY = 0.12  # seconds; a vibrato sets in when a note has settled
_SCOOPS = (0.08, 0.11)  # seconds that a scoop lasts: what trackers hear as short notes (third round, the note finder)
_BROAD = 0.6  # octaves: standard deviation of the few onsets that are far off (ioi_log2: q05, q95)
_NEIGHBOUR = (0.08, 0.2)  # seconds of an inserted note of another pitch (ins_short_near: less than 0.2)
_SAME_PITCH = 2 / 3  # of inserted notes, those that repeat a neighbour (ins_same_pitch over inserted, MIR-ST500)


@dataclass(frozen=True, slots=True)
class Performer:
    """Somebody who sings, whistles or taps. Cents and seconds; deviations are standard deviations."""

    lowest: float = 48.0  # MIDI; where the lowest note of a melody may come to lie
    highest: float = 60.0
    harmonics: int = 12
    rolloff: float = 9.0  # decibels that the harmonics lose with each octave
    pace: tuple[float, float] = (0.35, 0.65)  # seconds of most notes: people take a tempo with two or three a second
    quickest: float = 0.12  # seconds of the shortest note; they go slower if a melody has quicker ones
    note_error: float = 20.0  # each note by itself
    drift: float = 0.0  # of the key, with each note, always in one direction
    wander: float = 0.0  # of the key, with each note, at random
    tempo_wander: float = 0.02  # of the tempo, with each note, as a share
    onset_error: float = 0.012  # each onset by itself
    vibrato: float = 0.0  # either way
    vibrato_rate: float = 5.5
    slide: float = 0.08  # seconds from one pitch to the next
    scoop: float = 0.0  # a note after a silence begins so much too low
    syllables: float = 0.5  # share of notes that begin with a consonant; repeated ones always do
    noise: float = 25.0  # decibels between the voice and the breath and room
    staccato: float = 0.0  # share of each note that is silent
    slip: float = (
        0.0  # cents; scale of Laplace of each note: half of the semitones slip at 72 (cents.note_mad by ability)
    )
    key_change: float = 0.0  # with each note: the rest is sung a semitone higher or lower (key_changes_per_note)
    inserted: float = 0.0  # notes too many, for each note (inserted)
    deleted: float = 0.0  # notes left out (deleted)
    uneven: float = 0.0  # octaves; scale of Laplace of each distance of onsets (ioi_log2.mad)
    far_off: float = 0.0  # share of these distances that are off by much more (ioi_log2.outside_half)
    scooped: float = 0.0  # share of all notes that begin with a scoop, also where no silence is before them


# A third of the public each. Ability changes how true notes are (cents.note_mad: 26, 49, 68); what else happens is that
# of hummers who know the melody: the public was asked for a melody heard once, and forgot many of its notes.
_HUMMED = Performer(
    note_error=0, vibrato=40, noise=20, tempo_wander=0, onset_error=0, scoop=150, scooped=0.25,
    key_change=0.004, inserted=0.03, deleted=0.04, uneven=0.11, far_off=0.05,
)  # fmt: skip
ABILITIES: dict[str, Performer] = {
    "high": replace(_HUMMED, slip=26),
    "middle": replace(_HUMMED, slip=49),
    "low": replace(_HUMMED, slip=68),
}
SINGER = ABILITIES["middle"]
WHISTLER = Performer(
    lowest=81,
    highest=86,
    harmonics=2,
    rolloff=30,
    note_error=20,
    wander=5,
    tempo_wander=0.04,
    onset_error=0.02,
    slide=0.06,
    noise=20,
)
TAPPER = Performer(tempo_wander=0.03, onset_error=0.015)


@dataclass(frozen=True, slots=True)
class Performance:
    """What was done: seconds, and pitches as MIDI numbers with fractions; seconds of scoops, 0 where there is none."""

    onsets: Numbers
    offsets: Numbers
    pitches: Numbers
    scoops: Numbers


def perform(
    performer: Performer, quarters: Numbers, pitches: Numbers, rng: np.random.Generator, sounding: Numbers | None = None
) -> Performance:
    """Notes that follow each other at these distances, as this performer would; `sounding`: quarters that each sounds,
    where rests are between them."""
    share = np.ones(len(quarters)) if sounding is None else np.minimum(sounding / quarters, 1)
    beat = max(rng.uniform(*performer.pace) / np.median(quarters), performer.quickest / quarters.min())
    if performer.deleted or performer.inserted:
        quarters, pitches, share = _misremembered(performer, quarters, pitches, share, beat, rng)
    count = len(quarters)
    lengths = quarters * beat * np.exp(np.cumsum(rng.normal(0, performer.tempo_wander, count)))
    if performer.uneven:
        off = np.where(
            rng.random(count) < performer.far_off,
            rng.normal(0, _BROAD, count),
            rng.laplace(0, performer.uneven, count),
        )
        lengths *= 2**off
    onsets = _SILENCE + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    onsets[1:] += np.clip(rng.normal(0, performer.onset_error, count - 1), -lengths[1:] / 4, lengths[:-1] / 4)
    between = np.append(np.diff(onsets), lengths[-1])
    offsets = onsets + between * share * (1 - performer.staccato)
    key = rng.uniform(performer.lowest, performer.highest) - pitches.min()
    moved = rng.choice([-1, 1]) * performer.drift * np.arange(count) + np.cumsum(rng.normal(0, performer.wander, count))
    if performer.key_change:
        moved += 100 * np.cumsum(rng.choice([-1, 1], count) * (rng.random(count) < performer.key_change))
    errors = rng.normal(0, performer.note_error, count)
    if performer.slip:
        errors += rng.laplace(0, performer.slip, count)
    for again in np.flatnonzero(np.diff(pitches) == 0) + 1:
        errors[again] = errors[again - 1]  # whoever sings a note again sings it where it was
    scoops = np.zeros(count)
    if performer.scooped:
        scoops = np.where(rng.random(count) < performer.scooped, rng.uniform(*_SCOOPS, count), 0)
    return Performance(onsets, offsets, pitches + key + (moved + errors) / 100, scoops)


def _misremembered(
    performer: Performer, quarters: Numbers, pitches: Numbers, share: Numbers, beat: float, rng: np.random.Generator
) -> tuple[Numbers, Numbers, Numbers]:
    """With notes left out, whose time goes to the note before, and notes too many, which take time of their neighbour:
    half of it where a note is split, a moment where another pitch comes before it."""
    sung: list[list[float]] = []
    for length, pitch, sounds in zip(quarters, pitches, share, strict=True):
        if sung and rng.random() < performer.deleted:
            sung[-1][0] += length
            continue
        if rng.random() < performer.inserted:
            is_split = rng.random() < _SAME_PITCH
            taken = length / 2 if is_split else min(rng.uniform(*_NEIGHBOUR) / beat, length / 2)
            sung.append([taken, pitch if is_split else pitch + rng.choice([-2, -1, 1, 2]), 1.0])
            length -= taken
        sung.append([length, pitch, sounds])
    found = np.array(sung).T
    return found[0], found[1], found[2]


def sound(performer: Performer, done: Performance, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """The sound at `RATE` samples a second, with silence around it."""
    times = np.arange(0, done.offsets[-1] + _SILENCE, _CONTROL / RATE)
    note = np.clip(np.searchsorted(done.onsets, times, side="right") - 1, 0, None)
    vibrato = _vibrato(performer, done, times, note, rng)
    pitch = _glided(performer, done, times, note) + performer.vibrato / 100 * vibrato
    loud = _loudness(performer, done, times, rng) * (1 + _TREMOLO * vibrato * (performer.vibrato > 0))
    samples = np.arange(len(times) * _CONTROL) / _CONTROL
    hertz = 440 * 2 ** ((np.interp(samples, np.arange(len(times)), pitch) - 69) / 12)
    phase = 2 * np.pi * np.cumsum(hertz) / RATE
    parts = np.arange(1, performer.harmonics + 1)
    weights = 10 ** (-performer.rolloff * np.log2(parts) / 20)
    starts = rng.uniform(0, 2 * np.pi, len(parts))
    voice = np.zeros(len(phase))
    for part, weight, start in zip(parts, weights, starts, strict=True):
        voice += np.where(hertz * part < RATE / 2, weight, 0) * np.sin(part * phase + start)
    voice *= np.interp(samples, np.arange(len(times)), loud)
    power = np.mean(voice[np.interp(samples, np.arange(len(times)), loud) > 0.5] ** 2)
    noise = rng.normal(0, np.sqrt(power / 10 ** (performer.noise / 10)), len(voice))
    mixed = voice + noise
    loudest: float = np.abs(mixed).max()
    return np.asarray(0.5 * mixed / loudest, dtype=np.float32)


def _glided(performer: Performer, done: Performance, times: Numbers, note: npt.NDArray[np.intp]) -> Numbers:
    """The pitch at each time: level, with a glide around each onset, half of it before."""
    pitch = done.pitches[note]
    for k in range(len(done.onsets)):
        is_new = k == 0 or done.onsets[k] - done.offsets[k - 1] > performer.slide
        came = done.pitches[k] - performer.scoop / 100 if is_new else done.pitches[k - 1]
        length = min(performer.slide, (done.offsets[k] - done.onsets[k]) / 2)
        begin = done.onsets[k] - (0 if is_new else length / 2)
        if done.scoops[k] and not is_new:  # first too low, then as meant
            low = done.pitches[k] - performer.scoop / 100
            until = min(done.onsets[k] + done.scoops[k], done.offsets[k])
            pitch[(times >= done.onsets[k]) & (times < until)] = low
            length = min(length / 2, 0.03)  # of the scoop, what the voice takes to rise
            came, begin = low, until - length
        share = (times - begin) / max(length, 1e-9)
        here = (share >= 0) & (share < 1)
        ease = 0.5 - 0.5 * np.cos(np.pi * share[here])
        pitch[here] = came + (done.pitches[k] - came) * ease
    return pitch


def _vibrato(
    performer: Performer, done: Performance, times: Numbers, note: npt.NDArray[np.intp], rng: np.random.Generator
) -> Numbers:
    """Between -1 and 1; it grows after each onset."""
    since = np.clip(times - done.onsets[note] - _VIBRATO_DELAY, 0, None)
    turn = 2 * np.pi * performer.vibrato_rate * times + rng.uniform(0, 2 * np.pi)
    return np.sin(turn) * np.clip(since / _VIBRATO_DELAY, 0, 1)


def _loudness(performer: Performer, done: Performance, times: Numbers, rng: np.random.Generator) -> Numbers:
    """Between 0 and 1: attacks, releases, and consonants before some notes."""
    loud = np.zeros(len(times))
    for k, (onset, offset) in enumerate(zip(done.onsets, done.offsets, strict=True)):
        is_again = k > 0 and abs(done.pitches[k] - done.pitches[k - 1]) < 0.7
        is_syllable = k == 0 or is_again or rng.random() < performer.syllables
        strength = rng.uniform(0.7, 1.0)
        rise = np.clip((times - onset) / _ATTACK, 0, 1) if is_syllable else (times >= onset).astype(float)
        fall = (
            np.clip((offset - times) / _ATTACK, 0, 1) if offset == done.offsets[-1] else (times < offset).astype(float)
        )
        loud = np.maximum(loud, strength * rise * fall)
        if is_syllable and k:
            closed = (times > onset - _SYLLABLE) & (times < onset)
            loud[closed] = np.minimum(loud[closed], _CLOSED)
    width = int(0.012 * RATE / _CONTROL)
    return np.convolve(loud, np.full(width, 1 / width), mode="same")

"""The sound of people who sing or whistle a melody, simulated.

How inaccurate they are is that of `roslin.benchmark.queries`. What its counts leave open is assumed: a vibrato has five
to six cycles a second, pitch glides between notes in about a tenth of a second, and the sound is that of a voice in a
room. Each is a field, so that a measurement can ask about one at a time.

All is computed from a random generator that is passed in: the same state gives the same sound.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from roslin.benchmark import queries
from roslin.benchmark.queries import Singer, Sung, sing

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


@dataclass(frozen=True, slots=True)
class Performer(Singer):
    """A singer with a voice, or a whistler."""

    harmonics: int = 12
    rolloff: float = 9.0  # decibels that the harmonics lose with each octave
    vibrato: float = 0.0  # either way
    vibrato_rate: float = 5.5
    slide: float = 0.08  # seconds from one pitch to the next
    scoop: float = 0.0  # a note after a silence begins so much too low
    scooped: float = 0.0  # share of all notes that begin with a scoop, also where no silence is before them
    syllables: float = 0.5  # share of notes that begin with a consonant; repeated ones always do
    noise: float = 25.0  # decibels between the voice and the breath and room


ABILITIES = {
    ability: Performer(**asdict(singer), vibrato=40, noise=20, scoop=150, scooped=0.25)
    for ability, singer in queries.ABILITIES.items()
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
    """As the singer does it (`sing`), with scoops."""
    sung: Sung = sing(performer, quarters, pitches, rng, sounding)
    scoops = np.zeros(len(sung.pitches))
    if performer.scooped:
        scoops = np.where(rng.random(len(scoops)) < performer.scooped, rng.uniform(*_SCOOPS, len(scoops)), 0)
    return Performance(*sung, scoops)


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

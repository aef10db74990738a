"""The sound of people who sing or whistle a melody, simulated, and what the page hears in it.

How inaccurate they are is that of `roslin.benchmark.queries`. What its counts leave open is assumed: a vibrato has five
to six cycles a second, pitch glides between notes in about a tenth of a second, and the sound is that of a voice in a
room. Each is a field, so that a measurement can ask about one at a time.

All is computed from a random generator that is passed in: the same state gives the same sound.

The scripts that hear are those that are served: a browser imports them and is handed the samples. Heard notes are
aligned with those of the melody by edit distance, in the transposition that fits best: people sing in any key.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from playwright.sync_api import Page, Route, sync_playwright

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


# -- what the page hears ----------------------------------------------------------------------------------------------


_STATIC = Path(__file__).resolve().parents[1] / "src" / "roslin" / "web" / "static"
_ADDRESS = "http://roslin.localhost"
_FULL_SCALE = 32_767  # of 16 bits, as a microphone has

_SAMPLES = (
    "Float32Array.from(new Int16Array(Uint8Array.from(atob(text), sign => sign.charCodeAt(0)).buffer), x => x / 32767)"
)


@contextmanager
def listening_page(chromium: str) -> Iterator[Page]:
    """A page of a browser that can import the scripts, without a server."""

    def answer(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if (_STATIC / name).is_file():
            route.fulfill(path=_STATIC / name, content_type="text/javascript")
        else:
            route.fulfill(body="<!DOCTYPE html><title>Listening</title>", content_type="text/html")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        page = browser.new_page()
        page.route("**/*", answer)
        page.goto(_ADDRESS)
        yield page
        browser.close()


def hear(page: Page, samples: npt.NDArray[np.float32]) -> list[dict[str, Any]]:
    """The notes in a sound: onset and offset in seconds, the pitch as heard, and the semitone."""
    text = base64.b64encode((samples * _FULL_SCALE).astype("<i2").tobytes()).decode()
    script = f"""async ([text, rate]) => {{
      const {{ trackPitch }} = await import("/static/pitch.js"), {{ segment }} = await import("/static/segments.js");
      return segment(trackPitch({_SAMPLES}, rate));
    }}"""
    heard: list[dict[str, Any]] = page.evaluate(script, [text, RATE])
    return heard


def values_tapped(page: Page, times: Sequence[float]) -> list[float]:
    """Taps as note values in quarters."""
    values: list[float] = page.evaluate('async times => (await import("/static/rhythm.js")).tapped(times)', list(times))
    return values


def values_sung(page: Page, onsets: Sequence[float], offsets: Sequence[float]) -> list[tuple[float, float]]:
    """Notes in seconds as note values: quarters of each, and of the rest after it."""
    script = """async ([onsets, offsets]) => {
      const notes = onsets.map((onset, k) => ({ onset, offset: offsets[k] }));
      const found = (await import("/static/rhythm.js")).quantise(notes);
      return found.map(({ quarters, rest }) => [quarters, rest]);
    }"""
    rows: list[list[float]] = page.evaluate(script, [list(onsets), list(offsets)])
    return [(quarters, rest) for quarters, rest in rows]


@dataclass(frozen=True, slots=True)
class Counted:
    """Notes of a melody that were heard right, with another pitch, or not at all; and notes that are not in it."""

    right: int = 0
    wrong: int = 0
    missing: int = 0
    extra: int = 0

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            self.right + other.right, self.wrong + other.wrong, self.missing + other.missing, self.extra + other.extra
        )

    @property
    def notes(self) -> int:
        """Of the melody."""
        return self.right + self.wrong + self.missing

    @property
    def share(self) -> float:
        """Of the notes of the melody, those that are right."""
        return self.right / self.notes

    @property
    def errors(self) -> int:
        """What would have to be corrected by hand."""
        return self.wrong + self.missing + self.extra


def count(truth: Sequence[int], heard: Sequence[int]) -> Counted:
    """The best alignment over all transpositions.

    >>> count([60, 62, 64], [65, 67, 67, 69])
    Counted(right=3, wrong=0, missing=0, extra=1)
    """
    shifts = {there - here for here in truth for there in heard} or {0}
    counts = (_aligned([pitch + shift for pitch in truth], heard) for shift in sorted(shifts))
    return min(counts, key=lambda counted: counted.errors)


def _aligned(truth: Sequence[int], heard: Sequence[int]) -> Counted:
    @cache
    def best(i: int, j: int) -> Counted:
        if not i:
            return Counted(extra=j)
        if not j:
            return Counted(missing=i)
        is_same = truth[i - 1] == heard[j - 1]
        ways = (
            best(i - 1, j - 1) + (Counted(right=1) if is_same else Counted(wrong=1)),
            best(i - 1, j) + Counted(missing=1),
            best(i, j - 1) + Counted(extra=1),
        )
        return min(ways, key=lambda counted: counted.errors)

    return best(len(truth), len(heard))

"""What the page hears in a sound, and how much of it is right.

The scripts that are measured are those that are served: a browser imports them and is handed the samples. Heard notes
are aligned with those of the melody by edit distance, in the transposition that fits best: people sing in any key.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from playwright.sync_api import Page, Route, sync_playwright

from simulated_singers import RATE

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

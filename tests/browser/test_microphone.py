"""The microphone, as Chromium pretends to have one: it hears a file of sound that is made here."""

from __future__ import annotations

import json
import sys
import wave
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Page, expect, sync_playwright
from tests.browser.conftest import FLAGS, PATIENCE, wait_until
from tests.browser.pages import complaints, drawn_notes, keep
from tests.web.running import Server

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from simulated_singers import RATE, WHISTLER, Performer, count, perform, sound

FRERE = [60, 62, 64, 60, 60, 62, 64, 60, 64, 65, 67]
FRERE_QUARTERS = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]
PHONE = (390, 844)


def write_wave(path: Path, samples: npt.NDArray[np.float32]) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((samples * 32_767).astype("<i2").tobytes())


Listen = Callable[[npt.NDArray[np.float32], tuple[int, int]], Page]


@pytest.fixture
def listen(chromium: str, server: Server, tmp_path: Path) -> Iterator[Listen]:
    """Opens the page in a browser whose microphone hears these samples, once."""
    expect.set_options(timeout=PATIENCE)
    failed: list[str] = []
    with ExitStack() as opened:
        playwright = opened.enter_context(sync_playwright())

        def start(samples: npt.NDArray[np.float32], size: tuple[int, int]) -> Page:
            write_wave(tmp_path / "sound.wav", samples)
            flags = [
                *FLAGS,
                "--use-fake-device-for-media-stream",
                "--use-fake-ui-for-media-stream",
                f"--use-file-for-fake-audio-capture={tmp_path / 'sound.wav'}%noloop",
            ]
            browser = playwright.chromium.launch(executable_path=chromium, args=flags, timeout=PATIENCE)
            opened.callback(browser.close)
            page = browser.new_page(base_url=server.address, viewport={"width": size[0], "height": size[1]})
            page.set_default_timeout(PATIENCE)
            page.on("pageerror", lambda error: failed.append(str(error)))
            page.goto("/")
            return page

        yield start
    assert not failed


# How often the notes were drawn since the last one began or became longer.
COUNT_STILL = """() => {
  const heard = document.querySelector("#heard"), names = document.querySelector("#heard-names");
  let before = "";
  window.still = 0;
  new MutationObserver(() => {
    const last = [...heard.querySelectorAll(".note")].at(-1);
    const now = `${names.textContent} ${last?.getBoundingClientRect().width.toFixed()}`;
    window.still = now === before ? window.still + 1 : 0;
    before = now;
  }).observe(heard, { childList: true });
}"""
IN_TUNE = Performer(note_error=10, tempo_wander=0.04, onset_error=0.02, vibrato=60, scoop=80, noise=20)


def sung(performer: Performer) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(8)
    done = perform(performer, np.array(FRERE_QUARTERS, float), np.array(FRERE, float), rng)
    return sound(performer, done, rng)


@pytest.mark.parametrize(
    ("performer", "size"),
    [(IN_TUNE, (1200, 900)), (WHISTLER, PHONE)],
    ids=["sung at a desk", "whistled on a phone"],
)
def test_a_melody_through_the_microphone(listen: Listen, performer: Performer, size: tuple[int, int]) -> None:
    samples = sung(performer)
    page = listen(samples, size)
    expect(page.get_by_text("nothing is recorded or sent")).to_be_visible()
    page.evaluate(COUNT_STILL)
    page.get_by_role("button", name="Sing or whistle").click()
    expect(page.locator("#heard .note").nth(4)).to_be_visible()
    if size != PHONE:
        keep(page, "web-singing.png")
    assert complaints(page) == []
    # A busy computer may drop a moment of sound, as a microphone would not, and a note with it.
    names = "document.querySelector('#heard-names').textContent.split(' ')"
    wait_until(page, f"still >= 12 && {names}.length >= {len(FRERE) - 2}")
    page.get_by_role("button", name="Done singing").click()
    expect(page.locator("#sing-message")).to_contain_text("notes were heard")
    expect(drawn_notes(page).nth(len(FRERE) - 3)).to_be_visible()
    heard = [row[3] for row in json.loads(page.locator("#preview").get_attribute("data-notes") or "")]
    counted = count(FRERE, heard)
    assert counted.errors <= 2, counted
    expect(page.get_by_role("button", name="Find")).to_be_focused()
    expect(page.locator("#preview")).to_be_in_viewport()
    if size == PHONE:
        keep(page, "web-sung.png")
    page.keyboard.press("Enter")
    expect(page.locator(".cards h3 a").first).to_have_text("Frère Jacques")


def test_silence_is_no_melody(listen: Listen) -> None:
    noise = np.random.default_rng(2).normal(0, 0.01, 6 * RATE).astype(np.float32)
    page = listen(noise, (1200, 900))
    page.get_by_role("button", name="Sing or whistle").click()
    expect(page.locator("#listening")).to_be_visible()
    page.wait_for_timeout(1500)
    page.get_by_role("button", name="Done singing").click()
    expect(page.locator("#sing-message")).to_contain_text("No notes were heard")
    expect(page.locator("#q")).to_have_value("")
    page.get_by_role("button", name="Sing or whistle").click()
    expect(page.locator("#listening")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#listening")).to_be_hidden()
    expect(page.get_by_role("button", name="Sing or whistle")).to_be_focused()

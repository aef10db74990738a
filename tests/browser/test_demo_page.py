"""The demo's page in a real browser: it is drawn, it plays, it asks nobody for anything, and it fits a phone."""

from __future__ import annotations

import json
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from roslin import Collection, run_campaign
from roslin.cli.search import write_page
from roslin.report.campaign import campaign_page
from roslin.starter import demo_query, truth_path, tunes_path

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=2000",
]
# Added to a copy of the page: what the browser measured, as text that can be read back.
LOOK = """<script>
addEventListener("load", () => {
  const drawings = [...document.querySelectorAll("svg.notation, svg.narrow, svg.roll")];
  const boxes = drawings.map(svg => svg.getBoundingClientRect());
  const heads = [...document.querySelectorAll(".notation .note use")];
  const fills = new Set(heads.map(head => getComputedStyle(head).fill));
  const named = [...document.querySelectorAll("[id]")].map(element => element.id);
  document.title = JSON.stringify({
    drawn: boxes.filter(box => box.width > 20 && box.height > 20).length,
    wide: document.documentElement.scrollWidth > innerWidth,
    requests: performance.getEntriesByType("resource").length,
    colours: fills.size, black: fills.has("rgb(0, 0, 0)"),
    twice: named.length - new Set(named).size,
    missing: heads.filter(head => !document.querySelector(head.getAttribute("href"))).length,
    buttons: [...document.querySelectorAll("button")].filter(
      button => button.offsetWidth > 0 && button.tabIndex === 0 && button.getAttribute("aria-label")).length,
  });
});
</script></body>"""

# Before the player: a sound card that notes what it is given, with a clock that the test sets.
SOUND_CARD = """<script>
const heard = [];
class AudioContext {
  static now = 0;
  get currentTime() { return AudioContext.now; }
  resume() { return Promise.resolve(); }
  createPeriodicWave() { return {}; }
  createGain() {
    const level = { value: 1, setValueAtTime() {}, linearRampToValueAtTime() {}, exponentialRampToValueAtTime() {} };
    return { gain: level, connect: to => to, disconnect() {} };
  }
  createOscillator() {
    const tone = { frequency: {}, setPeriodicWave() {}, connect: to => to, stop() {} };
    tone.start = at => heard.push([Math.round(at * 1000), Math.round(tone.frequency.value)]);
    return tone;
  }
}
window.AudioContext = AudioContext;
</script><script>"""
PLAY = """<script>
addEventListener("load", async () => {
  const wait = milliseconds => new Promise(done => setTimeout(done, milliseconds));
  const [first, second] = document.querySelectorAll("button.play");
  const lit = () => [...document.querySelectorAll(".notation .sounding")].map(note => note.id);
  const seen = {};
  first.focus();
  first.click();
  await wait(120);
  seen.label = first.textContent.trim().split(/\\s+/).join(" ");
  AudioContext.now = 0.3;
  await wait(120);
  seen.start = lit();
  seen.colour = getComputedStyle(document.querySelector(".sounding .notehead use")).fill
    !== getComputedStyle(first.closest("figure").querySelector(".note:not(.sounding) .notehead use")).fill;
  AudioContext.now = 1.5;
  await wait(120);
  seen.later = lit();
  seen.heard = heard.slice(0, 2);
  second.click();
  await wait(120);
  seen.other = [first.getAttribute("aria-pressed"), second.getAttribute("aria-pressed"), lit().length];
  dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  seen.escaped = [second.getAttribute("aria-pressed"), lit().length];
  second.click();
  await wait(120);
  AudioContext.now = 1000;
  await wait(120);
  seen.end = second.getAttribute("aria-pressed");
  document.title = JSON.stringify(seen);
});
</script></body>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROSLIN_CACHE", str(folder / "cache"))
        with Collection.build(tunes_path(), folder / "starter.roslin") as collection:
            query = demo_query()
            write_page(collection, query, collection.search(query, k=10), folder / "results.html")
    return (folder / "results.html").read_text("utf-8")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    with Collection.build(tunes_path(), folder / "starter.roslin") as collection:
        systems = ["dp", "twv", "dp(place='inside')"]
        return campaign_page(run_campaign(collection, truth_path(), systems, folder / "campaign"), collection)


def title_of(chromium: str, page: str, folder: Path, size: str = "1200,900") -> Any:
    """What the page wrote into its title, as seen by a browser window of this size."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    address = (folder / "page.html").as_uri()
    command = [chromium, *FLAGS, f"--user-data-dir={folder}", f"--window-size={size}", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(unescape(done.stdout.split("<title>")[1].split("</title>")[0]))


@pytest.mark.parametrize("size", ["1200,900", "500,800"])
def test_it_is_drawn(chromium: str, page: str, tmp_path: Path, size: str) -> None:
    assert title_of(chromium, page.replace("</body>", LOOK), tmp_path, size) == {
        "drawn": 11,
        "wide": False,
        "requests": 0,
        "colours": 1,
        "black": False,
        "twice": 0,
        "missing": 0,
        "buttons": 11,
    }


@pytest.mark.parametrize("size", ["1200,900", "500,800"])
def test_the_report_of_a_campaign_is_drawn(chromium: str, report: str, tmp_path: Path, size: str) -> None:
    seen = title_of(chromium, report.replace("</body>", LOOK), tmp_path, size)
    assert seen["drawn"] == report.count('class="notation"') + report.count('class="roll"') > 10
    expected = {"wide": False, "requests": 0, "colours": 1, "black": False, "twice": 0, "missing": 0}
    assert {name: seen[name] for name in expected} == expected


def test_it_plays_and_lights_up(chromium: str, page: str, tmp_path: Path) -> None:
    prepared = page.replace("<script>", SOUND_CARD, 1).replace("</body>", PLAY)
    assert title_of(chromium, prepared, tmp_path) == {
        "label": "■ Stop",
        "start": ["query-note-0"],
        "colour": True,
        "later": ["query-note-1"],
        "heard": [[80, 392], [1280, 523]],
        "other": ["false", "true", 0],
        "escaped": ["false", 0],
        "end": "false",
    }

"""The demo's page in a real browser: it is drawn, it asks nobody for anything, and it fits a phone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from roslin import Collection
from roslin.cli.search import write_page
from roslin.starter import demo_query, tunes_path

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
PROBE = """<script>
addEventListener("load", () => {
  const boxes = [...document.querySelectorAll("svg.roll")].map(svg => svg.getBoundingClientRect());
  const fills = new Set([...document.querySelectorAll(".note")].map(note => getComputedStyle(note).fill));
  document.title = JSON.stringify({
    drawn: boxes.filter(box => box.width > 20 && box.height > 20).length,
    wide: document.documentElement.scrollWidth > innerWidth,
    requests: performance.getEntriesByType("resource").length,
    colours: fills.size, black: fills.has("rgb(0, 0, 0)"),
  });
});
</script></body>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    with Collection.build(tunes_path(), folder / "starter.roslin") as collection:
        query = demo_query()
        write_page(collection, query, collection.search(query, k=10), folder / "results.html")
    probed = (folder / "results.html").read_text("utf-8").replace("</body>", PROBE)
    (folder / "probed.html").write_text(probed, encoding="utf-8")
    return folder / "probed.html"


@pytest.mark.parametrize("size", ["1200,900", "500,800"])
def test_it_is_drawn(chromium: str, page: Path, tmp_path: Path, size: str) -> None:
    command = [chromium, *FLAGS, f"--user-data-dir={tmp_path}", f"--window-size={size}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    title = done.stdout.split("<title>")[1].split("</title>")[0]
    assert title == '{"drawn":11,"wide":false,"requests":0,"colours":1,"black":false}'

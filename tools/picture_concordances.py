"""Take the pictures of docs/howto/concordances.md anew, from the MARCXML of ROSLIN_DATA.

    .venv/bin/python tools/picture_concordances.py build/pictures --chromium /usr/bin/chromium

The folder keeps the collection and its concordances; what is there is not made again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
DATA = Path(os.environ.get("ROSLIN_DATA", ROOT.parent / "shared" / "data"))
SIZE = ViewportSize(width=1200, height=1000)
GROUP = "553013794-1.1.1"  # two names for one Mass, in three libraries


def main() -> None:
    """Build, find, write, serve, and look."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--chromium", default=shutil.which("chromium"))
    asked = arguments.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    collection = asked.folder / "rism.roslin"
    if not collection.exists():
        roslin("collection", "build", *sorted((DATA / "rism").glob("*.xml.gz")), collection)
    roslin("concordances", collection)
    roslin("concordances", "report", collection)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "roslin", "serve", str(collection), "--port", str(port)]
    with subprocess.Popen(command) as server, sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=asked.chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE)
            report = (asked.folder / "rism.concordances" / "report").resolve()
            take(page, f"{report.as_uri()}/groups-0001.html", "concordances-report", "#group-1")
            wait(f"http://127.0.0.1:{port}/healthz")
            take(page, f"http://127.0.0.1:{port}/concordances?library=CZ-Bu", "concordances-list")
            page.fill("input[name=name]", "M. Weiss")
            page.click("button:has-text('Review')")
            take(page, f"http://127.0.0.1:{port}/concordances/groups/{GROUP}", "concordances-group")
            browser.close()
        finally:
            server.terminate()


def roslin(*words: object) -> None:
    """Run a command."""
    subprocess.run([sys.executable, "-m", "roslin", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def wait(address: str) -> None:
    """Until the server answers."""
    for _ in range(120):
        try:
            urlopen(address, timeout=5).close()
            return
        except URLError:
            time.sleep(0.5)
    raise SystemExit(f"{address} does not answer")


def take(page: Page, address: str, name: str, place: str = "body") -> None:
    """One picture, from a place of the page on."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.eval_on_selector(place, "place => place.scrollIntoView()")
    page.screenshot(path=IMAGES / f"{name}.png")
    print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()

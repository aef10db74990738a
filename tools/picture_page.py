"""Picture the search page for the docs, once in each language: results, an explanation, and results on a phone.

    python tools/picture_page.py            docs/images/web-{results,explain,phone}-{en,de,fr,it}.png
    python tools/picture_page.py FOLDER     the same elsewhere

Always the starter collection and the same question, so two runs make the same pictures. They are reduced to 128
colours, which for notes and letters nobody sees.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from roslin import Collection
from roslin.starter import tunes_path
from roslin.web.app import create_app
from roslin.web.language import LANGUAGES
from roslin.web.settings import Settings

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
QUERY = "%G-2@4/4 '4CDEC/CDEC/EF2G/"
DESK: ViewportSize = {"width": 1000, "height": 1150}
PHONE: ViewportSize = {"width": 390, "height": 844}
SHOWN: dict[str, tuple[str, dict[str, str], ViewportSize]] = {
    "results": ("/", {"q": QUERY}, DESK),
    "explain": ("/explain", {"q": QUERY, "candidate": "frere-jacques"}, DESK),
    "phone": ("/", {"q": QUERY}, PHONE),
}
_COLOURS = 128


@contextmanager
def served() -> Iterator[str]:
    """The starter collection at an address of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "starter.roslin"
        Collection.build(tunes_path(), path).close()
        settings = Settings(str(path), title="Starter tunes", warm_up=False, log_requests=False)
        server = uvicorn.Server(uvicorn.Config(create_app(settings), port=0, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        thread.join()


def pictured(page: Page, path: Path) -> None:
    """What the window shows, as a small file."""
    shot = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    shot.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """All pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for language in LANGUAGES:
            for name, (path, asked, size) in SHOWN.items():
                page = browser.new_page(viewport=size, color_scheme="light", reduced_motion="reduce")
                page.goto(f"{address}{path}?{urlencode({**asked, 'lang': language})}", timeout=120_000)
                if path == "/":
                    page.evaluate("document.getElementById('results').scrollIntoView()")
                page.wait_for_timeout(300)
                pictured(page, folder / f"web-{name}-{language}.png")
                page.close()
        browser.close()


if __name__ == "__main__":
    main()

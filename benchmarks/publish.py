"""A published collection in Chromium, from a server of plain files: sizes, seconds, and the same lists as the server.

    python benchmarks/publish.py COLLECTION FOLDER --queries 500 [--slower 4] [--width 390]

FOLDER is what `roslin publish COLLECTION FOLDER` has written. The processor of the browser is throttled. The first
answer is that of a search whose address is opened in a fresh browser: page, kernels and notes are loaded for it. The
queries are parts of melodies of the collection, some with a changed note, as typed music; their first ten results, the
distances and E are compared with those of `Collection.search`.
"""

from __future__ import annotations

import argparse
import functools
import random
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from roslin import Collection, Melody
from roslin.errors import NotationError
from roslin.notation.pae import write
from roslin.represent.line import melodic_line

SEED = 17
CARDS = """() => [...document.querySelectorAll("li.card")].map(card =>
    [card.dataset.id, Number(card.dataset.distance), Number(card.dataset.expected)])"""


class Files(SimpleHTTPRequestHandler):
    """Sends files, and counts their bytes."""

    sent = 0

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def copyfile(self, source: Any, outputfile: Any) -> None:
        content = source.read()
        Files.sent += len(content)
        with suppress(ConnectionError):  # the page was closed
            outputfile.write(content)


def queries(collection: Collection, count: int) -> list[str]:
    """Typed music: 6 to 24 notes of a melody, one in three with a note a step higher."""
    chance, found = random.Random(SEED), list[str]()
    while len(found) < count:
        melody = collection[chance.randrange(len(collection))]
        size, length = len(melodic_line(melody)), chance.choice((6, 8, 10, 14, 18, 24))
        if size < 6:
            continue
        first = chance.randrange(max(size - length, 0) + 1)
        part = (
            _changed(melody[first : first + length], chance)
            if chance.random() < 1 / 3
            else melody[first : first + length]
        )
        try:
            found.append(write(replace(part, clef=None, key_signature=None, metre=None)))
        except NotationError:
            continue
    return found


def _changed(melody: Melody, chance: random.Random) -> Melody:
    notes = melody.notes.copy()
    row = chance.randrange(len(notes))
    notes["pitch_midi"][row] += 2
    notes["pitch_base40"][row] += 6
    return replace(melody, notes=notes, music=None, notation=None)


def opened(browser: Browser, width: int, slower: float) -> Page:
    """A page in a fresh browser on a slow computer."""
    page = browser.new_context(viewport={"width": width, "height": 900}, locale="en-GB").new_page()
    page.set_default_timeout(120_000)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    return page


def first_answer(browser: Browser, address: str, query: str, width: int, slower: float) -> tuple[float, int]:
    """Seconds and bytes from an address to its results, in a browser that has seen nothing yet."""
    page = opened(browser, width, slower)
    Files.sent, began = 0, time.perf_counter()
    page.goto(f"{address}?q={quote(query)}", wait_until="commit")
    page.wait_for_selector("li.card")
    seconds, sent = time.perf_counter() - began, Files.sent
    page.context.close()
    return seconds, sent


def compare(page: Page, collection: Collection, asked: list[str]) -> tuple[list[float], list[str]]:
    """Seconds of each search in the page, and the queries whose list is another."""
    seconds, others = [], []
    for query in asked:
        page.fill("#q", query)
        page.evaluate("() => { document.getElementById('results').replaceChildren(); }")
        began = time.perf_counter()
        page.evaluate("() => document.getElementById('search').requestSubmit()")
        page.wait_for_selector("li.card, #results .refusal")
        seconds.append(time.perf_counter() - began)
        found, wanted = (
            page.evaluate(CARDS),
            [(hit.id, hit.distance, hit.expected or 0.0) for hit in collection.search(query)],
        )
        is_same = (
            bool(found)
            and [each[0] for each in found] == [each[0] for each in wanted]
            and np.allclose([each[1:] for each in found], [each[1:] for each in wanted], rtol=1e-9, atol=1e-12)
        )
        if not is_same:
            others.append(query)
            print("other:", query, found[:3], wanted[:3])
    return seconds, others


def main() -> None:
    """Print sizes and seconds, and how many lists are the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--slower", type=float, default=4)
    parser.add_argument("--width", type=int, default=390)
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(given.folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address, collection = f"http://127.0.0.1:{server.server_port}/", Collection(given.collection)
    asked = queries(collection, given.queries)
    size = sum(path.stat().st_size for path in given.folder.rglob("*") if path.is_file())
    print(f"{len(collection)} melodies; {size / 1e6:.1f} MB; {given.width} px, {given.slower:g} times slower")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        firsts = [first_answer(browser, address, query, given.width, given.slower) for query in asked[:5]]
        print("first answer: median", f"{np.median([each[0] for each in firsts]):.2f} s, {firsts[0][1] / 1e6:.2f} MB")
        page = opened(browser, given.width, given.slower)
        page.goto(address)
        seconds, others = compare(page, collection, asked)
        print(
            f"search: median {np.median(seconds):.2f} s, 95% {np.quantile(seconds, 0.95):.2f}, most {max(seconds):.2f}"
        )
        print(f"the same list, distances and E: {len(asked) - len(others)} of {len(asked)}")
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()

"""How much work a ranking is on the page of a trial: decisions, acts and seconds of a bot with the timings of people.

    .venv/bin/python benchmarks/ranking_effort.py                          50 candidates, 20 that resemble
    .venv/bin/python benchmarks/ranking_effort.py --candidates 20 --resembling 8
    .venv/bin/python benchmarks/ranking_effort.py --write docs/measurements/ranking-effort.md

The bot has an order in mind and works on the real page, in a browser, against a real server: it sorts all candidates,
then orders those that resemble the query in each way that the page offers. Every way must end with the order in mind.
Acts are counted as they are made, and timed by the keystroke-level model (Card, Moran and Newell, "The keystroke-level
model for user performance time with interactive systems", Communications of the ACM 23(7), 1980, pp. 396-410):

    K  0.20 s  a key, average skilled typist (their Figure 1); Shift counts as a key
    P  1.10 s  point at something with the mouse
    H  0.40 s  move the hand between keyboard and mouse
    M  1.35 s  make up one's mind, once for each verdict and for each comparison of two melodies
    B  0.10 s  press or release a mouse button (Kieras, "Using the keystroke-level model to estimate execution times",
               University of Michigan, 2001)

Pressing the same button again at the same place needs no P. What scrolls during a drag scrolls as fast as the page does
it. The model says nothing about music: seconds to listen and to look are assumptions, counted apart.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Locator, Page, sync_playwright
from tests.browser.conftest import FLAGS, wait_until
from tests.browser.experts import Served, served
from tests.experiment.studies import study_text

from roslin import load
from roslin.experiment.folder import create_study
from roslin.starter import tunes_path

SEED = 16
SECONDS = {"K": 0.20, "P": 1.10, "H": 0.40, "M": 1.35, "B": 0.10}
LISTEN_SECONDS = 6.0  # to a candidate when it is sorted
LOOK_SECONDS = 3.0  # at two melodies, to say which is more similar
SCROLL_PIXELS = 14 * 60  # a second, as trial-dragging.js does it on a usual screen
WINDOW = {"width": 1280, "height": 800}


@dataclass
class Effort:
    """What the bot did: operators, looks, and seconds in which the page scrolled."""

    counted: Counter[str] = field(default_factory=Counter)
    acts: int = 0
    looks: int = 0
    scrolled: float = 0.0

    @property
    def handled(self) -> float:
        """Seconds by the model."""
        return sum(SECONDS[name] * count for name, count in self.counted.items()) + self.scrolled


class Hand:
    """Keys and mouse, counted."""

    def __init__(self, page: Page):
        self.page, self.effort = page, Effort()
        self._is_on_mouse, self._point = False, (-1.0, -1.0)

    def think(self) -> None:
        """Make up one's mind."""
        self.effort.counted["M"] += 1

    def look(self, times: int = 1) -> None:
        """Compare two melodies, so many times, and make up one's mind."""
        self.effort.looks += times
        self.effort.counted["M"] += times

    def key(self, name: str) -> None:
        """Press a key."""
        self._take(is_mouse=False)
        self.effort.counted["K"] += name.count("+") + 1
        self.effort.acts += 1
        self.page.keyboard.press(name)

    def click(self, target: Locator) -> None:
        """Click on something."""
        self._take(is_mouse=True)
        target.scroll_into_view_if_needed()
        self._move(target)
        self.effort.counted["B"] += 2
        self.effort.acts += 1
        self.page.mouse.click(*self._point)

    def drag(self, handle: Locator, row: Locator, share: float) -> None:
        """Take a handle to a row of the list, over its upper or its lower half."""
        self._take(is_mouse=True)
        self._move(handle)
        self.effort.counted["B"] += 2
        self.effort.counted["P"] += 1
        self.effort.acts += 1
        self.page.mouse.down()
        before = self._scrolled()
        bottom = WINDOW["height"] - 20
        top = float(self.page.evaluate("document.getElementById('above').getBoundingClientRect().bottom")) + 20
        for _ in range(2000):
            box = row.bounding_box()
            assert box is not None
            y = box["y"] + box["height"] * share
            if top < y < bottom:
                self.page.mouse.move(box["x"] + box["width"] / 2, y)
                if abs(self._y_of(row, share) - y) < 1:
                    break
            else:
                self.page.mouse.move(box["x"] + box["width"] / 2, bottom if y >= bottom else top)
            self.page.wait_for_timeout(16)
        self.page.mouse.up()
        self.effort.scrolled += abs(self._scrolled() - before) / SCROLL_PIXELS
        self._point = (-1.0, -1.0)

    def _y_of(self, row: Locator, share: float) -> float:
        box = row.bounding_box()
        assert box is not None
        return box["y"] + box["height"] * share

    def _scrolled(self) -> float:
        return float(self.page.evaluate("scrollY"))

    def _take(self, *, is_mouse: bool) -> None:
        if is_mouse != self._is_on_mouse:
            self.effort.counted["H"] += 1
        self._is_on_mouse = is_mouse

    def _move(self, target: Locator) -> None:
        """Point at something, unless the mouse is there already."""
        box = target.bounding_box()
        assert box is not None
        x, y = self._point
        if box["x"] <= x <= box["x"] + box["width"] and box["y"] <= y <= box["y"] + box["height"]:
            return
        self.effort.counted["P"] += 1
        self._point = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(*self._point)


# -- stages ---------------------------------------------------------------------------------------------------------


def sort_by_keys(hand: Hand, wanted: set[int], count: int) -> None:
    """Every candidate with one key."""
    for k in range(count):
        hand.think()
        hand.key("1" if k in wanted else "3")


def sort_by_mouse(hand: Hand, wanted: set[int], count: int) -> None:
    """Every candidate with one click."""
    for k in range(count):
        verdict = "resembles" if k in wanted else "no"
        hand.think()
        hand.click(hand.page.locator(f'.candidate[data-candidate="{k}"] [data-verdict-button="{verdict}"]'))


def insert(hand: Hand, order: list[int], act: Callable[[str], None]) -> None:
    """Answer questions; `act` says more or less."""
    while (mood := hand.page.locator("#placing").get_attribute("data-mood")) != "done":
        if mood == "first":
            act("more")
            continue
        hand.look()
        act("more" if order.index(_number(hand, "new")) < order.index(_number(hand, "pivot")) else "less")


def insert_by_keys(hand: Hand, order: list[int]) -> None:
    """1 and 2."""
    insert(hand, order, lambda answer: hand.key("1" if answer == "more" else "2"))


def insert_by_mouse(hand: Hand, order: list[int]) -> None:
    """The buttons of the question."""
    panel = hand.page.locator("#placing")
    insert(hand, order, lambda answer: hand.click(panel.locator(f'button[data-do="{answer}"]:visible')))


def move_up_by_keys(hand: Hand, order: list[int]) -> None:
    """Put each new one last, go there, and move it up past everything that is less similar."""
    for k, passed in _arrivals(hand, order):
        hand.key("1" if k is None else "e")
        if not passed:
            continue
        hand.key("End")
        for _ in range(passed):
            hand.key("Shift+ArrowUp")
        hand.key("Escape")


def move_up_by_buttons(hand: Hand, order: list[int]) -> None:
    """The same with the mouse: the buttons move along with their row."""
    for k, passed in _arrivals(hand, order):
        hand.click(_panel_button(hand, "more" if k is None else "last"))
        if not passed:
            continue
        row = hand.page.locator(f'#list [data-candidate="{k}"]')
        hand.click(row.locator(".number"))
        for _ in range(passed):
            hand.click(row.locator('[data-do="up"]'))


def type_the_number(hand: Hand, order: list[int]) -> None:
    """Put each new one last, then type the number that it should have."""
    for place, (k, passed) in enumerate(_arrivals(hand, order, scans=True), start=1):
        hand.key("1" if k is None else "e")
        if not passed:
            continue
        hand.key("End")
        hand.key("g")
        for digit in str(place - passed):
            hand.key(digit)
        hand.key("Enter")
        hand.key("Escape")


def drag_each(hand: Hand, order: list[int]) -> None:
    """Drag each new one from the question to its place in the list."""
    for k, passed in _arrivals(hand, order, scans=True):
        rows = hand.page.locator("#list li")
        count = rows.count()
        if k is None:
            hand.click(_panel_button(hand, "more"))
        elif passed:
            hand.drag(hand.page.locator('[data-part="new"] .handle'), rows.nth(count - passed), 0.25)
        else:
            hand.drag(hand.page.locator('[data-part="new"] .handle'), rows.nth(count - 1), 0.75)


def _arrivals(hand: Hand, order: list[int], *, scans: bool = False):  # type: ignore[no-untyped-def]
    """Each new candidate (None: the first) and how many of the list it belongs before.

    `scans`: whoever names a place at once has found it by eye, by halving the list as well as the questions do.
    """
    listed: list[int] = []
    while hand.page.locator("#placing").get_attribute("data-mood") != "done":
        k = _number(hand, "new")
        passed = sum(order.index(other) > order.index(k) for other in listed)
        hand.look(_halvings(len(listed), passed) if scans else min(passed + 1, len(listed)))
        yield (k if listed else None), passed
        listed.append(k)


def _halvings(count: int, passed: int) -> int:
    """How many looks find the place before the last `passed` of a list, halving it each time."""
    low, high, looks = 0, count, 0
    while low < high:
        middle, looks = (low + high) // 2, looks + 1
        low, high = (low, middle) if count - passed <= middle else (middle + 1, high)
    return looks


def _number(hand: Hand, part: str) -> int:
    return int(hand.page.locator(f'[data-part="{part}"]').get_attribute("data-candidate") or "")


def _panel_button(hand: Hand, name: str) -> Locator:
    return hand.page.locator(f'#placing button[data-do="{name}"]:visible')


WAYS: dict[str, tuple[Callable[..., None], Callable[[Hand, list[int]], None]]] = {
    "insertion, keys": (sort_by_keys, insert_by_keys),
    "insertion, mouse": (sort_by_mouse, insert_by_mouse),
    "typing the number": (sort_by_keys, type_the_number),
    "moving up, keys": (sort_by_keys, move_up_by_keys),
    "moving up, buttons": (sort_by_mouse, move_up_by_buttons),
    "drag and drop": (sort_by_mouse, drag_each),
}


# -- the run ----------------------------------------------------------------------------------------------------------


def measured(study: Served, page: Page, way: str, resembling: int) -> tuple[Effort, Effort, int]:
    """Effort of sorting and of ordering, and how many decisions the server has."""
    name = study.invited()
    page.context.clear_cookies()
    page.goto(study.link(name))
    wait_until(page, "document.documentElement.classList.contains('ready')")
    count = page.locator(".candidate").count()
    chance = random.Random(SEED)
    order = chance.sample(range(count), resembling)
    sort, place = WAYS[way]
    hand = Hand(page)
    sort(hand, set(order), count)
    hand.key("Enter") if "mouse" not in sort.__name__ else hand.click(page.locator(".all-sorted button"))
    sorting, hand.effort = hand.effort, Effort()
    place(hand, order)
    wait_until(page, "document.getElementById('kept').dataset.mood === 'kept'")
    state = study.state(name)
    found = [state.shown.index(document) for group in state.groups for document in group]
    assert found == order, f"{way}: {found} is not the order in mind, {order}"
    decisions = sum(event.kind in ("sorted", "placed") for event in study.events(name))
    return sorting, hand.effort, decisions


def main() -> int:
    """Measure every way, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--candidates", type=int, default=50)
    options.add_argument("--resembling", type=int, default=20)
    options.add_argument("--write", type=Path, help="put the table into this page")
    options.add_argument("--chromium", default="/usr/bin/chromium")
    asked = options.parse_args()
    query, *candidates = [melody.id or "" for melody in load(tunes_path())][: asked.candidates + 1]
    rows = []
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        folder = Path(made)
        text = study_text({query: candidates}, {"queries_per_expert": 1, "quota": 100})
        (folder / "study.toml").write_text(text, encoding="utf-8")
        with served(create_study(folder / "study.toml").folder, folder) as study:
            browser = playwright.chromium.launch(executable_path=asked.chromium, args=FLAGS)
            page = browser.new_page(viewport=WINDOW)  # type: ignore[arg-type]
            for way in WAYS:
                sorting, ordering, decisions = measured(study, page, way, asked.resembling)
                rows.append((way, sorting, ordering, decisions))
                print(_row(*rows[-1], asked.candidates), flush=True)
            browser.close()
    table = "\n".join([_HEAD, *(_row(*row, asked.candidates) for row in rows)])
    if asked.write:
        text = asked.write.read_text("utf-8")
        start, end = text.index("| way |"), text.index("\n\n", text.index("| way |"))
        asked.write.write_text(text[:start] + table + text[end:], encoding="utf-8")
    return 0


_HEAD = (
    "| way | decisions kept | acts, sorting | acts, ordering | handling, s | looks | with listening and looking, min |"
    "\n"
    "|---|---|---|---|---|---|---|"
)


def _row(way: str, sorting: Effort, ordering: Effort, decisions: int, candidates: int) -> str:
    handling = sorting.handled + ordering.handled
    total = handling + LISTEN_SECONDS * candidates + LOOK_SECONDS * ordering.looks
    return (
        f"| {way} | {decisions} | {sorting.acts} | {ordering.acts} | {handling:.0f} | {ordering.looks} "
        f"| {total / 60:.1f} |"
    )


if __name__ == "__main__":
    sys.exit(main())

"""The ranking study in a real browser: whole trials by mouse, by keys, on a phone; and nothing that is said is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Page,
    ViewportSize,
    expect,
)
from tests.browser.conftest import wait_for, wait_until
from tests.browser.experts import Served, kept, ready, said, served
from tests.browser.pages import keep, serious_complaints
from tests.experiment.studies import small_study, starter_study

PHONE: ViewportSize = {"width": 360, "height": 740}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def ties(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two queries, some twelve candidates each, where ties are allowed."""
    place = tmp_path_factory.mktemp("ties")
    with served(starter_study(place, queries=2, others=8, ties=True, differences=True), place) as study:
        yield study


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Queries with six candidates each, of which an expert gets two, and no ties."""
    place = tmp_path_factory.mktemp("plain")
    with served(small_study(place, queries_per_expert=2), place) as study:
        yield study


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("pairs")
    with served(small_study(place, kind="pairs", comparisons=6, queries_per_expert=2), place) as study:
        yield study


@pytest.fixture(scope="module")
def triplets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("triplets")
    with served(small_study(place, kind="triplets", comparisons=6, queries_per_expert=2), place) as study:
        yield study


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Browsers of experts, each with cookies and a store of its own. No script may fail on any of their pages."""
    opened: list[BrowserContext] = []
    failed: list[str] = []

    def open_one(**options: object) -> BrowserContext:
        context = browser.new_context(**{"viewport": DESKTOP, **options})  # type: ignore[arg-type]
        context.on("weberror", lambda error: failed.append(str(error.error)))
        opened.append(context)
        return context

    yield open_one
    for context in opened:
        context.close()
    assert not failed


def sort(page: Page, number: int, verdict: str) -> None:
    """Press a verdict of a candidate, counted from 1."""
    page.bring_to_front()
    page.locator(f'.candidate[data-candidate="{number - 1}"] [data-verdict-button="{verdict}"]').click()


def place_all(page: Page, order: list[int]) -> None:
    """Answer the questions about each candidate as somebody who has this order in mind; those of one place are tied."""
    while page.locator("#placing").get_attribute("data-mood") != "done":
        number = int(page.locator('[data-part="new"]').get_attribute("data-candidate") or "") + 1
        if page.locator("#placing").get_attribute("data-mood") == "first":
            page.locator(".begin button").click()
            continue
        pivot = int(page.locator('[data-part="pivot"]').get_attribute("data-candidate") or "") + 1
        page.locator(f'.answers [data-do="{"more" if order.index(number) < order.index(pivot) else "less"}"]').click()


# -- whole trials ---------------------------------------------------------------------------------------------------


def test_from_the_link_to_the_receipt_by_mouse(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.store.invite()[0].name
    page = visit().new_page()

    def check(picture: str = "") -> None:
        assert not serious_complaints(page)
        if picture:
            keep(page, picture)

    page.goto(plain.link(name))
    check("experiment-consent.png")
    page.locator("#agree").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="About you")).to_be_visible()
    for field in page.locator('main input[inputmode="decimal"]').all():
        field.fill("12")
    check("experiment-questions.png")
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(f"{plain.server.address}/instructions")
    check("experiment-instructions.png")
    page.locator("main form button").click()

    ready(page)
    expect(page).to_have_title("Practice · Melodies")
    expect(page.locator("[data-guide=sorting]")).to_be_visible()
    practice = plain.folder.plan.practice
    assert practice is not None
    expected = [practice.expected[document] for document in plain.state(name, 0).shown]
    for number, verdict in enumerate(expected[:-1], start=1):
        sort(page, number, verdict)
    wrong = "no" if expected[-1] == "resembles" else "perhaps"
    sort(page, len(expected), wrong)
    page.get_by_role("button", name="Continue to ordering").click()
    if expected.count("resembles") - (wrong == "no") > 0:
        page.get_by_role("button", name="Begin the list").click()
    while page.locator("#placing").get_attribute("data-mood") == "ask":
        page.get_by_role("button", name="Less similar").click()
    page.get_by_role("button", name="Continue to the end").click()
    page.get_by_role("button", name="Finish the practice").click()
    expect(page.locator("#feedback")).to_contain_text(f"Your answer is the most common one for {len(expected) - 1} of")
    first = page.locator("#feedback li").first
    expect(first).to_have_attribute("data-right", "false")
    expect(first).to_contain_text("Most common answer:")
    check("experiment-practice.png")
    page.keyboard.press("u")  # the practice can be changed even now
    expect(page.locator("#feedback")).to_be_hidden()
    page.keyboard.press("2")
    page.locator('#steps [data-step="review"]').click()
    page.get_by_role("button", name="Finish the practice").click()
    page.get_by_role("button", name="Continue to the first melody").click()

    for trial in (1, 2):
        expect(page.locator(".where")).to_have_text(f"Melody {trial} of 2")
        ready(page)
        for number in range(1, 7):
            sort(page, number, "resembles" if number in (2, 5, 6) else "no")
        page.get_by_role("button", name="Continue to ordering").click()
        place_all(page, [6, 2, 5])
        page.get_by_role("button", name="Continue to the end").click()
        expect(page.locator(".reviewed-row .number")).to_have_text(["Candidate 6", "Candidate 2", "Candidate 5"])
        kept(page)
        with page.expect_navigation():
            page.get_by_role("button", name="Finish this melody").click()
        assert plain.numbers(name, trial)["groups"] == [[6], [2], [5]]
        assert plain.state(name, trial).is_finished
    expect(page).to_have_url(f"{plain.server.address}/thanks")
    receipt = next(event.payload["receipt"] for event in plain.store.events(name) if event.kind == "completed")
    expect(page.locator("main")).to_contain_text(receipt)
    check("experiment-thanks.png")


def test_a_trial_by_keyboard_alone(ties: Served, visit: Callable[..., BrowserContext]) -> None:
    name = ties.invited()
    page = ties.enter(visit(), name)
    press = page.keyboard.press
    count = page.locator(".candidate").count()
    expect(page.locator(".candidate").first).to_be_focused()
    press("1")
    expect(page.locator(".candidate").nth(1)).to_be_focused()
    press("3")
    said(page, "Candidate 2 does not resemble the query.")
    press("u")
    expect(page.locator(".candidate").nth(1)).to_be_focused()
    press("r")
    press("p")
    press("ArrowUp")
    press("ArrowUp")
    expect(page.locator(".candidate").nth(1)).to_be_focused()
    press("m")
    expect(page.locator(".candidate").nth(3)).to_be_focused()
    press("Space")
    wait_until(page, "roslinPlayer.state() === 'running'")
    expect(page.locator(".candidate").nth(3).locator(".play")).to_have_attribute("aria-pressed", "true")
    press("Escape")
    for _ in range(3):
        press("1")
    for _ in range(count - 6):
        press("n")
    said(page, "All candidates are sorted.")
    kept(page)
    keep_numbers = ties.numbers(name)["verdicts"]
    assert Counter(keep_numbers.values()) == {"resembles": 5, "perhaps": 1, "no": count - 6}
    assert keep_numbers[3] == "perhaps"

    press("Enter")  # the button that goes on has the focus
    expect(page.locator("#placing")).to_be_focused()
    press("1")
    said(page, "Candidate 1 begins the list.")
    press("1")
    said(page, "Candidate 2 is now number 1 of 2, above candidate 1.")
    press("2")  # 4, less similar than 1
    said(page, "Candidate 4 is now number 3 of 3, below candidate 1.")
    press("0")  # 5, the same as the middle one
    said(page, "Candidate 5 is now number 2 of 4, tied with candidate 1.")
    press("e")  # 6 to the end
    said(page, "Candidate 6 is now number 5 of 5, below candidate 4.")
    expect(page.locator("#placing-heading")).to_have_text("Perhaps: where does candidate 3 belong?")
    press("x")
    said(page, "Candidate 3 is left out.")
    kept(page)
    assert ties.numbers(name)["groups"] == [[2], [1, 5], [4], [6]]

    press("End")
    expect(page.locator("#list li").last).to_be_focused()
    press("Shift+ArrowUp")
    said(page, "Candidate 6 is now number 4 of 5")
    press("Shift+Home")
    said(page, "Candidate 6 is now number 1 of 5, above candidate 2.")
    press("g")
    page.keyboard.type("3")
    with page.expect_response("**/api/trials/1"):
        page.evaluate("dispatchEvent(new Event('visibilitychange'))")  # news from the server come while somebody types
    expect(page.locator("#list .position:focus")).to_have_value("3")
    press("Enter")
    said(page, "Candidate 6 is now number 2 of 5, below candidate 2.")  # number 3 is in the middle of a tie
    press("Escape")
    press("Home")
    press("ArrowDown")
    press("t")
    kept(page)
    tied = ties.numbers(name)["groups"]
    assert [len(group) for group in tied].count(2) >= 1
    press("Control+z")
    said(page, "is undone.")
    kept(page)
    before = ties.numbers(name)["groups"]
    assert before != tied
    press("d")
    expect(page.locator("#differences")).to_be_visible()
    press("Escape")
    expect(page.locator("#differences")).to_be_hidden()
    press("?")
    expect(page.locator("#help")).to_be_visible()
    press("Escape")
    page.locator("#placing").focus()
    press("Enter")
    expect(page.locator("#review-heading")).to_be_focused()
    press("Tab")  # finishing is no accident: Enter alone does not
    press("Enter")
    expect(page.locator(".where")).to_have_text("Melody 2 of 2")
    assert ties.numbers(name)["groups"] == before
    assert {event.device for event in ties.events(name) if event.device} == {"desktop keyboard"}


def test_on_a_phone_by_touch(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    page = plain.enter(visit(viewport=PHONE, has_touch=True, is_mobile=True), name)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    for number in range(1, 7):
        verdict = "no" if number == 4 else "resembles"
        page.locator(f'.candidate[data-candidate="{number - 1}"] [data-verdict-button="{verdict}"]').tap()
        if number == 3:
            keep(page, "experiment-phone.png")
    page.locator(".all-sorted button").tap()
    expect(page.get_by_role("button", name="The same")).to_be_hidden()  # this study has no ties
    page.locator(".begin button").tap()
    expect(page.locator("#list li")).to_have_count(1)
    while page.locator("#placing").get_attribute("data-mood") != "done":
        answer_by_touch(page, "less")
    kept(page)
    assert plain.numbers(name)["groups"] == [[1], [2], [3], [5], [6]]
    small = """[...document.querySelectorAll("main button, main input, header button")].filter(one => one.offsetParent)
      .map(one => one.getBoundingClientRect()).filter(box => box.height < 44 || box.width < 44).length"""
    assert page.evaluate(small) == 0
    page.locator("#query-toggle").tap()
    expect(page.locator("#query-body")).to_be_hidden()
    row = page.locator("#list li").nth(3)
    row.locator(".number").tap()
    row.get_by_role("button", name="First").tap()
    expect(page.locator("#list .number").first).to_have_text("Candidate 5")
    kept(page)
    assert plain.numbers(name)["groups"] == [[5], [1], [2], [3], [6]]
    finger(page, page.locator("#list li").first.locator(".handle"), page.locator("#list li").nth(2))
    expect(page.locator("#list .number").first).not_to_have_text("Candidate 5")
    kept(page)
    assert plain.numbers(name)["groups"][0] != [5]
    assert "phone touch" in {event.device for event in plain.events(name)}
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def answer_by_touch(page: Page, answer: str) -> None:
    """Tap an answer, and wait until the page has it. A second tap on the same place at once would decide nothing."""
    asked = "document.getElementById('placing').dataset.mood + document.getElementById('placing').textContent"
    before = page.evaluate(asked)
    page.locator("#placing-heading").tap()
    page.locator(f'#placing [data-do="{answer}"]').tap()
    wait_for(page, lambda: page.evaluate(asked) != before)


def finger(page: Page, start, end) -> None:  # type: ignore[no-untyped-def]
    """Drag with a finger from the middle of one element to below the middle of another."""
    touch = page.context.new_cdp_session(page)
    end.scroll_into_view_if_needed()
    a, b = start.bounding_box(), end.bounding_box()
    x, y = a["x"] + a["width"] / 2, a["y"] + a["height"] / 2
    last = b["y"] + b["height"] * 0.8
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 6):
        point = {"x": x, "y": y + (last - y) * step / 5}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_drag_and_drop_with_the_mouse(ties: Served, visit: Callable[..., BrowserContext]) -> None:
    name = ties.invited()
    page = ties.enter(visit(), name)
    for number in range(1, page.locator(".candidate").count() + 1):
        sort(page, number, "resembles" if number <= 4 else "no")
    page.get_by_role("button", name="Continue to ordering").click()
    page.get_by_role("button", name="Begin the list").click()
    drag(page, page.locator('[data-part="new"] .handle'), page.locator("#list li").first, 0.2)
    kept(page)
    assert ties.numbers(name)["groups"] == [[2], [1]]
    drag(page, page.locator('[data-part="new"] .handle'), page.locator("#list li").last, 0.8)
    page.get_by_role("button", name="Put it first").click()
    kept(page)
    assert ties.numbers(name)["groups"] == [[4], [2], [1], [3]]
    drag(page, page.locator("#list li").first.locator(".handle"), page.locator("#list li").nth(2), 0.8)
    kept(page)
    assert ties.numbers(name)["groups"] == [[2], [1], [4], [3]]
    page.mouse.move(10, 400)
    drag(page, page.locator("#list li").first.locator(".handle"), page.locator("#sorting-heading"), 0)  # nowhere
    kept(page)
    assert ties.numbers(name)["groups"] == [[2], [1], [4], [3]]


def drag(page: Page, start, end, share: float) -> None:  # type: ignore[no-untyped-def]
    a = start.bounding_box()
    b = end.bounding_box() or {"x": 5, "y": 300, "width": 0, "height": 0}
    page.mouse.move(a["x"] + a["width"] / 2, a["y"] + a["height"] / 2)
    page.mouse.down()
    page.mouse.move(b["x"] + b["width"] / 2, b["y"] + b["height"] * share, steps=4)
    page.mouse.up()


def test_pairs(pairs: Served, visit: Callable[..., BrowserContext]) -> None:
    name = pairs.invited()
    page = pairs.enter(visit(), name)
    shown = page.locator("#compared .option")
    expect(shown).to_have_count(2)
    first = shown.first.get_attribute("data-candidate")
    page.keyboard.press("1")
    expect(page.locator("#progress-comparing")).to_have_text("1 of 6")
    kept(page)
    expect(shown).to_have_count(2)
    page.keyboard.press("u")
    expect(page.locator("#progress-comparing")).to_have_text("0 of 6")
    assert shown.first.get_attribute("data-candidate") == first
    keep(page, "experiment-pairs.png")
    page.keyboard.press("0")
    for made in range(1, 6):
        expect(page.locator("#progress-comparing")).to_have_text(f"{made} of 6")
        expect(shown).to_have_count(2)
        shown.nth(made % 2).get_by_role("button", name="is most similar").click()
    expect(page.locator("#compare-done")).to_be_visible()
    kept(page)
    choices = pairs.state(name).choices
    assert len(choices) == 6
    assert choices[0].best is None
    assert all(choice.best in choice.documents for choice in choices[1:])
    page.get_by_role("button", name="Finish this melody").click()
    expect(page.locator(".where")).to_have_text("Melody 2 of 2")


def test_practice_of_triplets(triplets: Served, visit: Callable[..., BrowserContext]) -> None:
    name = triplets.invited(until="practice")
    page = triplets.enter(visit(), name)
    while page.locator("#compare-done").is_hidden():
        expect(page.locator("#compared .option")).to_have_count(3)
        page.keyboard.press("3")
        kept(page)
    choices = triplets.state(name, 0).choices
    assert all(choice.best == choice.documents[2] for choice in choices)
    page.get_by_role("button", name="Finish the practice").click()
    expect(page.locator("#feedback")).to_contain_text(f"of {len(choices)}.")
    expect(page.locator("#feedback li").first).to_contain_text("Your answer: candidate")
    expect(page.locator("#feedback li").first.locator("svg.notation")).to_have_count(3)
    page.get_by_role("button", name="Continue to the first melody").click()
    expect(page.locator(".where")).to_have_text("Melody 1 of 2")


# -- nothing is said by accident --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_double_click_sorts_one_candidate_and_moves_nothing(
    ties: Served, visit: Callable[..., BrowserContext], size: ViewportSize
) -> None:
    name = ties.invited()
    page = ties.enter(visit(viewport=size), name)
    places = "[scrollY, ...[...document.querySelectorAll('.candidate')].map(one => one.getBoundingClientRect().top)]"
    for number in range(1, page.locator(".candidate").count() + 1):
        button = page.locator(f'.candidate[data-candidate="{number - 1}"] [data-verdict-button="perhaps"]')
        button.scroll_into_view_if_needed()
        before = page.evaluate(places)
        button.dblclick()
        assert page.evaluate(places) == before
        kept(page)
        assert ties.numbers(name)["verdicts"] == dict.fromkeys(range(1, number + 1), "perhaps")
    page.locator(".all-sorted button").click()
    page.locator("#placing .begin button").dblclick()
    expect(page.locator("#list li")).to_have_count(1)
    page.locator('#placing [data-do="last"]').dblclick()
    expect(page.locator("#list li")).to_have_count(2)
    kept(page)
    assert ties.numbers(name)["groups"] == [[1], [2]]


def test_a_double_click_makes_one_comparison(pairs: Served, visit: Callable[..., BrowserContext]) -> None:
    name = pairs.invited()
    page = pairs.enter(visit(), name)
    page.locator("#no-difference").dblclick()
    expect(page.locator("#progress-comparing")).to_have_text("1 of 6")
    page.locator("#compared [data-choose]").first.dblclick()
    expect(page.locator("#progress-comparing")).to_have_text("2 of 6")
    kept(page)
    assert len(pairs.state(name).choices) == 2


def test_a_key_that_is_held_down_decides_once(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    page = plain.enter(visit(), name)

    def hold(*keys: str) -> None:
        for key in keys:
            page.keyboard.down(key)
        for _ in range(5):
            page.keyboard.down(keys[-1])  # what a browser sends while a key is held
        for key in keys:
            page.keyboard.up(key)

    for number, key in enumerate("1r1", start=1):
        hold(key)
        expect(page.locator("#progress-sorting")).to_have_text(f"{number} of 6")
    hold("u")
    expect(page.locator("#progress-sorting")).to_have_text("2 of 6")
    hold("Control", "z")
    expect(page.locator("#progress-sorting")).to_have_text("1 of 6")
    page.keyboard.type("11333")
    page.get_by_role("button", name="Continue to ordering").click()
    for placed in (1, 2, 3):
        hold("b" if placed > 1 else "1")
        expect(page.locator("#list li")).to_have_count(placed)
    kept(page)


# -- what is shown and told -------------------------------------------------------------------------------------------


def test_plays_of_the_query_and_of_candidates_are_events_with_durations(
    plain: Served, visit: Callable[..., BrowserContext]
) -> None:
    name = plain.invited()
    page = plain.enter(visit(), name)
    for key, playing in (("q", "#query"), (" ", '.candidate[data-candidate="0"]')):
        page.keyboard.press(key)
        wait_until(page, f"document.querySelector('{playing} .sounding') !== null")
    page.keyboard.press("3")  # the sound goes on over a decision
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    wait_until(page, "document.querySelector('#query .sounding') !== null")
    page.goto("about:blank")  # leaving ends it, too
    page.goto(plain.link(name))
    ready(page)
    kept(page)
    plays = [event.payload for event in plain.events(name) if event.kind == "heard"]
    assert [play["document"] for play in plays] == [None, plain.state(name).shown[0], None]
    assert all(play["duration_ms"] > 0 for play in plays)


def test_differences_are_shown_only_where_the_study_allows_it_and_each_use_is_an_event(
    plain: Served, ties: Served, visit: Callable[..., BrowserContext]
) -> None:
    without = plain.enter(visit(), plain.invited())
    assert without.get_by_text("ifferences").count() == 0
    assert without.locator(".difference, #differences").count() == 0
    without.keyboard.press("d")
    expect(without.locator("dialog[open]")).to_have_count(0)

    name = ties.invited()
    page = ties.enter(visit(), name)
    page.locator(".candidate .difference").nth(1).click()
    expect(page.locator("#differences .told")).to_contain_text("partner")
    page.locator("#differences select").first.select_option("2")
    expect(page.locator('#differences [data-side="first"] .play')).to_have_attribute(
        "aria-label", "Listen to candidate 3"
    )
    page.locator("#differences [data-close]").click()
    kept(page)
    shown = ties.state(name).shown
    assert [event.payload["documents"] for event in ties.events(name) if event.kind == "compared"] == [
        [None, shown[1]],
        [shown[2], shown[1]],
    ]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_practice_begins_with_its_explanation_in_sight(
    plain: Served, visit: Callable[..., BrowserContext], size: ViewportSize
) -> None:
    page = plain.enter(visit(viewport=size), plain.invited(until="practice"))
    guide, above = page.locator("[data-guide=sorting]").bounding_box(), page.locator("#above").bounding_box()
    assert guide is not None
    assert above is not None
    assert guide["y"] >= above["y"] + above["height"]


def test_the_step_and_the_panel_count_the_same_candidates(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    page = plain.enter(visit(), plain.invited())
    page.keyboard.type("112233")
    page.get_by_role("button", name="Continue to ordering").click()
    for done, told in enumerate(["2 to place, 2 “perhaps”", "one to place, 2 “perhaps”", "2 “perhaps”"]):
        expect(page.locator("#progress-ordering")).to_have_text(f"{done} of 2")
        expect(page.locator('[data-part="left"]')).to_have_text(told)
        page.keyboard.press("b" if done else "1")
    expect(page.locator("#progress-ordering")).to_have_text("3 of 3")  # a “perhaps” that has a place counts


def test_the_help_of_a_phone_explains_the_stages_and_folds_the_keys(
    plain: Served, visit: Callable[..., BrowserContext]
) -> None:
    for is_phone in (False, True):
        context = visit(viewport=PHONE, has_touch=True, is_mobile=True) if is_phone else visit()
        page = plain.enter(context, plain.invited())
        page.locator("#help-open").click()
        expect(page.locator("#help")).to_contain_text("Put the candidates that resemble the query in order")
        expect(page.locator("#help kbd").first).to_be_visible(visible=not is_phone)


# -- nothing is lost ------------------------------------------------------------------------------------------------


def test_a_page_that_was_written_before_a_decision_arrived(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    """The page before it sent the decision while this one was on its way."""
    page = plain.enter(visit(), plain.invited())
    sort(page, 1, "resembles")
    kept(page)
    written_before = page.request.get(page.url)
    sort(page, 2, "resembles")
    kept(page)
    page.evaluate("sessionStorage.setItem('roslin.confirmed', Date.now() + 60000)")
    page.route(page.url, lambda route: route.fulfill(response=written_before))
    page.reload()
    ready(page)
    expect(page.locator("#progress-sorting")).to_have_text("2 of 6")


def test_resume_elsewhere_and_after_two_days(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    page = plain.enter(visit(), name)
    for number in (1, 2, 3):
        sort(page, number, "resembles")
    kept(page)
    page.close()
    page = plain.enter(visit(viewport=PHONE), name)  # another device
    expect(page.locator("#progress-sorting")).to_have_text("3 of 6")
    expect(page.locator(".candidate.current")).to_have_attribute("data-candidate", "3")
    for number in (4, 5, 6):
        sort(page, number, "no")
    page.get_by_role("button", name="Continue to ordering").click()
    page.get_by_role("button", name="Begin the list").click()
    kept(page)
    page.context.close()

    plain.days_pass(name, 2)
    page = visit().new_page()
    page.goto(plain.link(name))
    expect(page).to_have_url(f"{plain.server.address}/instructions")  # they are read again
    page.locator("main form button").click()
    ready(page)
    expect(page.locator("#ordering")).to_be_visible()
    expect(page.locator("#list .number")).to_have_text(["Candidate 1"])
    expect(page.locator("#placing-heading")).to_have_text("Where does candidate 2 belong?")
    page.keyboard.press("1")
    page.reload()
    ready(page)
    expect(page.locator("#list .number")).to_have_text(["Candidate 2", "Candidate 1"])


def test_a_reload_keeps_the_answers_about_a_place(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    page = plain.enter(visit(), name)
    for number in range(1, 7):
        sort(page, number, "resembles")
    page.get_by_role("button", name="Continue to ordering").click()
    for key in ("1", "2", "2"):
        page.keyboard.press(key)
    expect(page.locator("#list li")).to_have_count(3)
    expect(page.locator('[data-part="pivot"] .number')).to_have_text("Candidate 2")
    page.keyboard.press("1")
    expect(page.locator('[data-part="pivot"] .number')).to_have_text("Candidate 1")
    page.reload()
    ready(page)
    expect(page.locator('[data-part="pivot"] .number')).to_have_text("Candidate 1")
    page.keyboard.press("u")  # takes back the answer, not the last decision
    expect(page.locator('[data-part="pivot"] .number')).to_have_text("Candidate 2")
    expect(page.locator("#list li")).to_have_count(3)


def test_two_tabs_lose_nothing(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    context = visit()
    one, two = plain.enter(context, name), plain.enter(context, name)
    elsewhere = plain.enter(visit(), name)  # not even the store of the browser is common
    sort(one, 1, "resembles")
    sort(two, 2, "resembles")
    sort(elsewhere, 3, "resembles")
    sort(one, 4, "no")
    sort(two, 5, "perhaps")
    sort(elsewhere, 6, "no")
    for page in (one, two, elsewhere):
        kept(page)
    wanted = {1: "resembles", 2: "resembles", 3: "resembles", 4: "no", 5: "perhaps", 6: "no"}
    assert plain.numbers(name)["verdicts"] == wanted
    assert Counter(event.kind for event in plain.events(name))["sorted"] == 6
    sort(one, 4, "perhaps")
    sort(two, 6, "perhaps")
    sort(elsewhere, 1, "perhaps")
    for page in (one, two, elsewhere):
        expect(page.locator("#progress-sorting")).to_have_text("6 of 6")


def test_offline_for_a_moment(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    context = visit()
    page = plain.enter(context, name)
    sort(page, 1, "resembles")
    kept(page)
    context.set_offline(True)
    sort(page, 2, "resembles")
    said(page, "Not connected")
    for number in (3, 4):
        sort(page, number, "resembles")
    expect(page.locator("#kept")).to_have_text("Not connected: 3 decisions wait in this browser.")
    keep(page, "experiment-offline.png")
    page.keyboard.press("u")
    expect(page.locator("#progress-sorting")).to_have_text("3 of 6")
    sort(page, 5, "no")
    sort(page, 6, "no")
    sort(page, 4, "perhaps")
    page.locator('[data-step="ordering"]').first.click()
    page.keyboard.press("1")
    page.keyboard.press("1")
    expect(page.locator("#list .number")).to_have_text(["Candidate 2", "Candidate 1"])
    page.locator('[data-step="review"]').click()
    page.locator("#review [data-jump]").first.click()  # 3 has no place
    page.keyboard.press("e")
    page.locator('[data-step="review"]').click()
    page.get_by_role("button", name="Finish this melody").click()
    expect(page.locator("#trouble")).to_contain_text("only when everything has reached the server")
    assert len(plain.state(name).verdicts) == 1

    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.close(run_before_unload=True)  # leaving now is warned of
    wait_for(page, lambda: asked)
    expect(page.locator("#review")).to_be_visible()
    assert asked == ["beforeunload"]

    context.set_offline(False)
    kept(page)
    state = plain.numbers(name)
    assert state["groups"] == [[2], [1], [3]]
    assert state["verdicts"][4] == "perhaps"
    told = plain.events(name)
    assert len({event.key for event in told}) == len(told)
    assert [event.sequence for event in told] == list(range(told[0].sequence, told[0].sequence + len(told)))
    page.get_by_role("button", name="Finish this melody").click()
    expect(page.locator(".where")).to_have_text("Melody 2 of 2")


def test_an_answer_that_gets_lost_is_asked_for_again(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    """The server keeps a decision, the connection breaks before it can say so: sent again, it is kept once."""
    name = plain.invited()
    page = plain.enter(visit(), name)
    lost: list[int] = []

    def lose(route) -> None:  # type: ignore[no-untyped-def]
        if len(lost) < 2:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/decisions", lose)
    sort(page, 1, "resembles")
    expect(page.locator("#kept")).to_have_attribute("data-mood", "offline")
    kept(page)
    assert lost == [200, 200]
    assert Counter(event.kind for event in plain.events(name))["sorted"] == 1
    page.unroute("**/decisions")
    page.route("**/decisions", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, json={}))
    sort(page, 2, "no")
    expect(page.locator("#kept")).to_have_text("Not connected: one decision waits in this browser.")
    page.unroute("**/decisions")
    page.route("**/decisions", lambda route: route.fulfill(status=409, body="not our server"))  # a proxy, say
    sort(page, 3, "no")
    expect(page.locator("#kept")).to_have_text("Not connected: 2 decisions wait in this browser.")
    page.reload()  # the page is new, the decision is still there
    ready(page)
    expect(page.locator("#progress-sorting")).to_have_text("3 of 6")
    page.unroute("**/decisions")
    kept(page)
    assert plain.numbers(name)["verdicts"] == {1: "resembles", 2: "no", 3: "no"}


def test_a_session_that_is_over(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    context = visit()
    page = plain.enter(context, name)
    context.clear_cookies()
    sort(page, 1, "resembles")
    expect(page.locator("#kept")).to_contain_text("open your personal link again. One decision waits in this browser.")
    with page.expect_response("**/api/trials/1"):  # it asks what has become of its decision
        other = plain.enter(context, name)  # the link, in another tab
        kept(other)
    expect(other.locator("#progress-sorting")).to_have_text("1 of 6")
    expect(page.locator("#progress-sorting")).to_have_text("1 of 6")
    page.bring_to_front()
    page.keyboard.press("u")  # the new session has another token, which the page asks for
    kept(page)
    assert plain.numbers(name)["verdicts"] == {}


def test_a_melody_finished_in_another_window(plain: Served, visit: Callable[..., BrowserContext]) -> None:
    name = plain.invited()
    context = visit()
    one, two = plain.enter(context, name), plain.enter(context, name)
    for number in range(1, 7):
        sort(one, number, "no")
    kept(one)
    one.get_by_role("button", name="Continue to ordering").click()
    expect(one.locator("#placing-heading")).to_have_text("Nothing to put in order")
    one.get_by_role("button", name="Continue to the end").click()
    one.get_by_role("button", name="Finish this melody").click()
    expect(one.locator(".where")).to_have_text("Melody 2 of 2")
    sort(two, 1, "perhaps")
    expect(two.locator("#trouble")).to_contain_text("did not accept")
    expect(two.locator("#finished")).to_be_visible()
    two.locator("#finished a").click()
    expect(two.locator(".where")).to_have_text("Melody 2 of 2")
    assert set(plain.state(name).verdicts.values()) == {"no"}


def test_files_have_names_that_say_nothing(plain: Served, visit: Callable[..., BrowserContext], tmp_path: Path) -> None:
    """No title, composer or id is anywhere in the page."""
    name = plain.invited()
    page = plain.enter(visit(), name)
    source = page.content().lower()
    task = plain.folder.plan.task(plain.state(name).query)
    for item in (task.query, *task.candidates):
        melody = plain.folder.melody(item.id)
        assert item.id not in source
        assert not melody.title or melody.title.lower() not in source
        assert not melody.composer or melody.composer.lower() not in source

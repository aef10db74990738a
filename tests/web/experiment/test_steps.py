"""The way of an expert through a study, page by page, in two languages, and with a clock that moves."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.experiment.studies import SMALL, small_study, study_text
from tests.web.experiment.browsers import Alone, Browser, Invited, settings_for, sorted_as

from roslin.experiment import clock as study_clock
from roslin.experiment.backup import write_backup
from roslin.experiment.folder import create_study
from roslin.experiment.results import study_tables
from roslin.web.experiment.app import create_app
from roslin.web.experiment.study import OpenStudy


@pytest.mark.long
def test_a_whole_study(expert: Browser) -> None:
    page = expert.judge_everything()
    assert page.url.path == "/thanks"
    receipt = re.search(r"<strong>([A-Z2-9]{10})</strong>", page.text)
    assert receipt
    assert receipt[1] in expert.get("/thanks").text, "the same one again"
    assert expert.follow().url.path == "/thanks"
    kinds = [event.kind for event in expert.study.store.events(expert.name)]
    assert kinds[:4] == ["consented", "answered", "read", "began"]
    assert kinds.count("finished") == 3
    assert kinds[-1] == "completed"


def test_every_page_leads_to_where_one_stands(expert: Browser) -> None:
    expert.until("questions")
    for path in ("/consent", "/instructions", "/practice", "/trial", "/thanks", "/continue"):
        assert expert.get(path).url.path == "/questions", path


def test_consent_must_be_ticked(expert: Browser) -> None:
    page = expert.follow()
    assert 'type="checkbox" id="agree"' in page.text
    refused = expert.submit("/consent", page)
    assert refused.status_code == 422
    assert 'aria-invalid="true" aria-describedby="agree-problem"' in refused.text
    assert expert.study.store.events(expert.name) == []
    assert expert.submit("/consent", refused, agree="yes").url.path == "/questions"


def test_answers_are_checked_beside_their_questions(expert: Browser) -> None:
    page = expert.until("questions")
    for given, problem in [
        ("", "Please answer this question."),
        ("many", "Please enter a number."),
        ("inf", "Please enter a number."),
        ("-1", "Please enter a number of at least 0."),
        ("101", "Please enter a number of at most 100."),
    ]:
        refused = expert.submit("/questions", page, **{"q-experience_years": given, "q-instruments": "violin <b>"})
        assert refused.status_code == 422
        assert f'id="q1-problem">{problem}<' in refused.text
        assert 'aria-invalid="true" aria-describedby="q1-problem"' in refused.text
        assert "violin &lt;b&gt;" in refused.text, "what was answered already is still there"
    answers = {"q-experience_years": "2,5", "q-instruments": "violin", "q-remarks": "  "}
    assert expert.submit("/questions", page, **answers).url.path == "/instructions"
    kept = expert.study.store.events(expert.name)[-1].payload
    assert kept == {"answers": {"experience_years": 2.5, "instruments": "violin"}}


_CHOICES = """
[[questions]]
name = "training"
kind = "choice"
label = { en = "Training", de = "Ausbildung" }
required = true
choices = { some = { en = "Some", de = "Etwas" }, none = { en = "None", de = "Keine" } }
[[questions]]
name = "reads"
kind = "choices"
label = { en = "Reads", de = "Liest" }
choices = { g = { en = "treble clef", de = "Violinschlüssel" }, f = { en = "bass clef", de = "Bassschlüssel" } }
[[questions]]
name = "more"
kind = "text"
label = { en = "More", de = "Mehr" }
"""


def test_questions_to_choose_from(alone: Alone) -> None:
    expert = alone(extra=_CHOICES)
    page = expert.until("questions")
    assert page.text.count('type="radio"') == 2
    assert page.text.index('value="some"') < page.text.index('value="none"'), "in the order of the study"
    assert page.text.count('type="checkbox"') == 2
    wrong = expert.submit("/questions", page, **{"q-training": "another", "q-more": "x" * 2001})
    assert wrong.status_code == 422
    assert "2 answers need your attention." in wrong.text
    assert "Please choose from the list." in wrong.text
    assert "Please enter at most 2000 characters." in wrong.text
    done = expert.submit("/questions", page, **{"q-training": "some", "q-reads": ["f", "g", "f"]})
    assert done.url.path == "/instructions"
    kept = expert.study.store.events(expert.name)[-1].payload
    assert kept == {"answers": {"training": "some", "reads": ["f", "g"]}}


def test_the_practice_ends_when_everything_in_it_is_judged(expert: Browser) -> None:
    page = expert.until("practice")
    assert expert.submit("/practice", page, csrf=expert.state(0)["csrf"]).url.path == "/practice"
    expert.judge(0)
    feedback = expert.finish(0).json()["feedback"]
    assert {each["document"] for each in feedback} == set(range(expert.state(0)["count"]))
    assert all(each["is_right"] == (each["said"] == each["expected"]) for each in feedback)
    assert {each["expected"] for each in feedback} >= {"resembles", "no"}
    assert expert.submit("/practice", page, csrf=expert.csrf).url.path == "/trial"


def test_forms_that_arrive_twice_count_once(expert: Browser) -> None:
    consent = expert.follow()
    for _ in range(2):
        questions = expert.submit("/consent", consent, agree="yes")
    answers = {"q-experience_years": "3"}
    for _ in range(2):
        instructions = expert.submit("/questions", questions, **answers)
    for _ in range(2):
        expert.submit("/instructions", instructions)
    expert.judge(0)
    for _ in range(2):
        expert.client.post("/practice", data={"csrf": expert.csrf})
    kinds = [event.kind for event in expert.study.store.events(expert.name)]
    for kind in ("consented", "answered", "read", "practised"):
        assert kinds.count(kind) == 1, kind


class Clock:
    """The clock of the study, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self._now = study_clock.now_ms()
        monkeypatch.setattr(study_clock, "now_ms", lambda: self._now)

    def later(self, **time: float) -> None:
        self._now += int(timedelta(**time).total_seconds() * 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_after_two_days_the_instructions_come_first(expert: Browser, clock: Clock) -> None:
    first = expert.until("instructions")
    expert.until("trial")
    expert.send(1, sorted_as(0, "no"))
    clock.later(hours=23)
    assert expert.follow().url.path == "/trial"
    clock.later(hours=48)
    page = expert.follow()
    assert page.url.path == "/instructions"
    assert "Welcome back" in page.text
    assert "where you stopped" in page.text
    assert expert.submit("/instructions", first).url.path == "/instructions", "an old form is not read again"
    assert expert.submit("/instructions", page).url.path == "/trial"
    assert expert.state(1)["verdicts"] == {"0": "no"}, "nothing is lost"


@pytest.mark.long
def test_who_restarts_begins_the_open_trial_again_in_the_same_order(alone: Alone, clock: Clock) -> None:
    expert = alone(resume="restart", pause_hours=1.0)
    expert.until("trial")
    expert.judge(1)
    expert.finish(1)
    expert.get("/continue")
    expert.send(2, sorted_as(0, "no"))
    shown = expert.study.state(expert.name, 2).shown
    clock.later(hours=2)
    late = expert.send(2, sorted_as(1, "no"))
    assert late.status_code == 200, "a page that was open all the time is kept"
    page = expert.follow()
    assert "begins again from the start" in page.text
    assert expert.submit("/instructions", page).url.path == "/trial"
    assert expert.state(2)["verdicts"] == {}
    assert expert.study.state(expert.name, 2).shown == shown
    assert expert.state(1)["is_finished"], "what is finished stays"


def test_a_break_and_another_device(expert: Browser, served: TestClient, invited: Invited) -> None:
    expert.until("trial")
    expert.send(1, sorted_as(2, "perhaps"))
    phone = Browser(TestClient(served.app), expert.study, expert.name)
    assert phone.follow().url.path == "/trial"
    assert phone.state(1)["verdicts"] == {"2": "perhaps"}
    phone.send(1, {"key": "from-the-phone", **sorted_as(3, "no")})
    assert expert.state(1)["verdicts"] == {"2": "perhaps", "3": "no"}, "both stay signed in"


def test_withdrawing_asks_and_then_deletes(expert: Browser, tmp_path: Path) -> None:
    store = expert.study.store
    expert.until("trial")
    expert.send(1, sorted_as(0, "no"))
    asked = expert.get("/withdraw")
    refused = expert.submit("/withdraw", asked)
    assert refused.status_code == 422
    assert "Nothing has been deleted" in refused.text
    assert store.events(expert.name)
    write_backup(store, tmp_path / "study-1.db")
    gone = expert.submit("/withdraw", asked, sure="yes")
    assert "have been deleted" in gone.text
    assert "<code>study-1.db</code>" in gone.text
    assert str(tmp_path) not in gone.text
    assert expert.name not in [each.name for each in store.experts()]
    assert store.events(expert.name) == []
    assert expert.client.cookies.get("roslin_expert") is None
    assert expert.get("/trial").status_code == 401
    assert expert.follow().status_code == 404, "the link is nobody's now"


@pytest.mark.long
def test_a_paused_study_waits_and_open_trials_can_be_finished(alone: Alone) -> None:
    expert = alone()
    store = expert.study.store
    store.set_status("paused")
    page = expert.follow()
    assert page.url.path == "/wait"
    assert "paused" in page.text
    store.set_status("open")
    expert.until("trial")
    store.set_status("paused")
    assert expert.get("/continue").url.path == "/trial"
    expert.judge(1)
    expert.finish(1)
    assert expert.get("/continue").url.path == "/wait"
    store.set_status("closed")
    page = expert.get("/continue")
    assert page.url.path == "/thanks", "who has judged something gets a receipt"
    assert "If the study opens again, your personal link brings you back" in page.text
    receipt = re.search(r"<strong>([A-Z2-9]{10})</strong>", page.text)
    assert receipt
    assert _person(expert)["is_complete"] == "no", "whom closing has sent home has not judged everything"
    store.set_status("open")
    assert expert.follow().url.path == "/trial", "they go on when it opens again"
    assert expert.judge_everything(2).url.path == "/thanks"
    assert receipt[1] in expert.get("/thanks").text, "the receipt stays the same"
    assert _person(expert)["is_complete"] == "yes"


def _person(expert: Browser) -> dict[str, Any]:
    histories = [each for each in expert.study.store.histories() if each[0].name == expert.name]
    [row] = study_tables(expert.study.plan, histories)["experts"].rows
    return dict(row)


def test_a_closed_study_says_so(alone: Alone) -> None:
    expert = alone()
    expert.study.store.set_status("closed")
    page = expert.follow()
    assert page.url.path == "/wait"
    assert "closed" in page.text


@pytest.mark.long
def test_when_enough_is_known_nobody_is_asked(alone: Alone) -> None:
    first = alone(quota=1)
    second = Browser(TestClient(first.client.app), first.study, first.study.store.invite()[0].name)
    assert first.judge_everything().url.path == "/thanks"
    page = second.follow()
    for path, fields in [("/consent", {"agree": "yes"}), ("/questions", {"q-experience_years": "1"})]:
        page = second.submit(path, page, **fields)
    page = second.submit("/instructions", page)
    second.judge(0)
    page = second.client.post("/practice", data={"csrf": second.csrf})
    assert page.url.path == "/wait"
    assert "Enough participants" in page.text
    assert re.search(r"<strong>[A-Z2-9]{10}</strong>", page.text), "who came in vain gets a receipt"
    assert second.get("/thanks").url.path == "/wait"
    assert _person(second)["is_complete"] == "no"


@pytest.mark.long
def test_nobody_is_told_that_enough_is_known_while_places_are_only_held(alone: Alone) -> None:
    first = alone(quota=1)
    others = [_another(first) for _ in range(3)]
    for browser in (first, *others[:2]):
        browser.at_trial()
    others[2].at_trial()
    assert others[2].follow().url.path == "/trial", "nobody has decided anything, so nobody holds a place"
    late = _another(first)
    for browser in (first, *others[:2]):
        browser.send(1, sorted_as(0, "no"))
    late.at_trial()
    page = late.follow()
    assert page.url.path == "/wait"
    assert "No place is free at the moment" in page.text
    assert "Enough participants" not in page.text
    assert re.search(r"<strong>[A-Z2-9]{10}</strong>", page.text)
    first.study.store.withdraw(others[0].name)
    assert late.get("/continue").url.path == "/trial", "a place that was given up is theirs"


@pytest.mark.long
def test_a_higher_quota_lets_who_was_done_go_on_if_they_like(tmp_path: Path) -> None:
    def opened(quota: int) -> Browser:
        with small_study(tmp_path, quota=quota) as folder:
            app = create_app(settings_for(folder.path))
        study: OpenStudy = app.state.study
        name = (study.store.experts() or study.store.invite())[0].name
        return Browser(TestClient(app), study, name)

    expert = opened(1)
    _rival(expert)
    assert expert.judge_everything().url.path == "/thanks"
    assert "more melodies to judge" not in expert.get("/thanks").text
    expert.study.close()
    expert = opened(2)
    page = expert.follow()
    assert page.url.path == "/thanks"
    assert "There are now more melodies to judge." in page.text
    assert _person(expert)["is_complete"] == "yes"
    assert expert.submit("/thanks", page).url.path == "/trial"
    assert _person(expert)["is_complete"] == "no"
    expert.study.close()


@pytest.mark.long
def test_a_text_that_has_changed_is_agreed_to_again(tmp_path: Path) -> None:
    def opened(text: str) -> Browser:
        (tmp_path / "consent.md").write_text(text)
        queries, rules = SMALL, {"queries_per_expert": 3}
        toml = study_text(queries, rules).replace("seed = 7", 'seed = 7\nconsent = "consent.md"')
        (tmp_path / "study.toml").write_text(toml)
        with create_study(tmp_path / "study.toml").folder as folder:
            app = create_app(settings_for(folder.path))
        study: OpenStudy = app.state.study
        name = (study.store.experts() or study.store.invite())[0].name
        return Browser(TestClient(app), study, name)

    expert = opened("# First")
    old = expert.follow()
    assert "has changed since you agreed" not in old.text
    expert.until("trial")
    expert.send(1, sorted_as(0, "no"))
    expert.study.close()
    expert = opened("# Second")
    page = expert.follow()
    assert page.url.path == "/consent"
    assert "has changed since you agreed" in page.text
    assert expert.get("/trial").url.path == "/consent", "before they go on"
    late = expert.submit("/consent", page, agree="yes", shown="0" * 64)
    assert late.url.path == "/consent", "nobody agrees to a text by a page of another"
    assert expert.submit("/consent", page, agree="yes").url.path == "/trial"
    assert expert.state(1)["verdicts"] == {"0": "no"}, "nothing is lost"
    agreed = [event.payload for event in expert.study.store.events(expert.name) if event.kind == "consented"]
    assert [each["version"] for each in agreed] == [1, 2]
    assert len({each["sha256"] for each in agreed}) == 2
    expert.study.close()


def _another(expert: Browser) -> Browser:
    return Browser(TestClient(expert.client.app), expert.study, expert.study.store.invite()[0].name)


def _rival(expert: Browser) -> None:
    """Somebody else has judged one of the three queries."""
    rival = _another(expert)
    rival.at_trial()
    rival.judge(1)
    assert rival.finish(1).status_code == 200


@pytest.mark.long
def test_the_open_invitation(alone: Alone) -> None:
    owner = alone(keeps_participant=True)
    study = owner.study
    address = study.open_invitation("http://testserver")
    assert study.open_invitation("http://testserver") == address
    browser = TestClient(owner.client.app)
    page = browser.get(f"{address}?PROLIFIC_PID=5f0%3Cb%3E")
    assert "5f0&lt;b&gt;" in page.text, "they are told what is kept"
    before = len(study.store.experts())
    fields = dict(re.findall(r'name="(ticket|participant)" value="([^"]*)"', page.text))
    fields["participant"] = "5f0<b>"
    for _ in range(2):
        joined = browser.post(address, data=fields)
    assert joined.url.path == "/link"
    made = study.store.experts()[before:]
    assert [(each.source, each.participant) for each in made] == [("open", "5f0<b>")]
    assert study.link(made[0], "http://testserver") in joined.text
    forged = browser.post(address, data={"ticket": "0123-" + "x" * 22})
    assert str(forged.url) == address, "once more from the start"
    study.end_invitation()
    assert browser.get(address).status_code == 404
    assert browser.post(address, data=fields).status_code == 404


@pytest.mark.long
def test_the_same_participant_joins_once(alone: Alone) -> None:
    owner = alone(keeps_participant=True)
    study = owner.study
    address = study.open_invitation("http://testserver")
    first, again = TestClient(owner.client.app), TestClient(owner.client.app)
    assert _joined(first, address, participant="5f0").url.path == "/link"
    before = len(study.store.experts())
    refused = _joined(again, address, participant="5f0")
    assert refused.status_code == 409
    assert "Participant number 5f0 is already taking part in this study" in refused.text
    assert "<form" not in refused.text.partition("<main")[2].partition("</main>")[0]
    assert "/e/" not in refused.text, "whoever knows a number gets nobody's link"
    assert again.get("/continue").status_code == 401
    assert len(study.store.experts()) == before
    assert _joined(again, address, participant="6a1").url.path == "/link"
    assert _joined(TestClient(owner.client.app), address).url.path == "/link", "without a number nobody is known"


@pytest.mark.long
def test_one_address_joins_only_so_often(alone: Alone) -> None:
    owner = alone({"joins": 3})
    study = owner.study
    address = study.open_invitation("http://testserver")
    browser = TestClient(owner.client.app)
    assert [_joined(browser, address).url.path for _ in range(3)] == ["/link"] * 3
    refused = _joined(browser, address)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 601
    assert re.search(r"Please try again in \d+ minutes", refused.text)
    assert len(study.store.experts()) == 4
    elsewhere = TestClient(owner.client.app, client=("192.0.2.7", 4711))
    assert _joined(elsewhere, address).url.path == "/link"
    assert owner.follow().url.path == "/consent", "personal links have no such limit"


def _joined(browser: TestClient, address: str, participant: str = "") -> Any:
    page = browser.get(address, params={"PROLIFIC_PID": participant} if participant else None)
    ticket = re.search(r'name="ticket" value="([^"]*)"', page.text)
    assert ticket
    return browser.post(address, data={"ticket": ticket[1], "participant": participant})


@pytest.mark.long
def test_the_way_back_to_the_platform(alone: Alone) -> None:
    rules = {
        "completion_address": "https://panel.example/complete?cc=C1&pid={participant}&code={receipt}",
        "screen_out_address": "https://panel.example/complete?cc=S1",
    }
    done = alone(quota=1, keeps_participant=True, **rules)
    study = done.study
    participant = "5f0 & more"
    done.name = study.store.invite(participant=participant)[0].name
    page = done.judge_everything()
    receipt = study.position(done.name).receipt
    assert f'href="https://panel.example/complete?cc=C1&amp;pid=5f0%20%26%20more&amp;code={receipt}"' in page.text
    late = _another(done)
    late.at_trial()
    page = late.follow()
    assert page.url.path == "/wait"
    assert 'href="https://panel.example/complete?cc=S1"' in page.text


def test_a_participant_is_not_kept_unless_the_plan_says_so(invited: Invited, study: OpenStudy) -> None:
    address = study.open_invitation("http://testserver")
    browser = invited().client
    page = browser.get(f"{address}?participant=abc")
    assert 'name="participant"' not in page.text
    ticket = re.search(r'name="ticket" value="([^"]*)"', page.text)
    assert ticket
    browser.post(address, data={"ticket": ticket[1], "participant": "abc"})
    assert study.store.experts()[-1].participant == ""


def test_nobody_joins_a_study_that_is_not_open(alone: Alone) -> None:
    owner = alone()
    study = owner.study
    address = study.open_invitation("http://testserver")
    browser = TestClient(owner.client.app)
    page = browser.get(address)
    study.store.set_status("paused")
    ticket = re.search(r'name="ticket" value="([^"]*)"', page.text)
    assert ticket
    assert browser.post(address, data={"ticket": ticket[1]}).url.path == "/wait"
    assert len(study.store.experts()) == 1

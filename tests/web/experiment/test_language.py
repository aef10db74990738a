"""Words in two languages: which one is read, and that nothing is left without a translation."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from tests.web.experiment.browsers import Browser, Invited

from roslin.web.experiment.study import OpenStudy
from roslin.web.language import Catalogues


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        ("", "", "en"),
        ("", "de", "de"),
        ("", "de-AT,en;q=0.8", "de"),
        ("", "fr,de;q=0.5,en;q=0.2", "de"),
        ("", "fr;q=0.9,en;q=0.2,de;q=0.5", "de"),
        ("", "fr", "en"),
        ("", "de;q=0,en", "en"),
        ("", "de;q=nonsense,*", "en"),
        ("", "x" * 10_000, "en"),
        ("de", "en", "de"),
        ("fr", "de", "de"),
    ],
)
def test_which_language_is_read(study: OpenStudy, chosen: str, accepted: str, language: str) -> None:
    assert Catalogues(study.plan.languages).best(chosen, accepted) == language


def test_a_language_without_a_catalogue_is_read_in_english(study: OpenStudy) -> None:
    catalogues = Catalogues(("pl", "pt-BR", "xx", "de"))
    assert [name for _, name in catalogues.named] == ["Polski", "Português (brasil)", "xx", "Deutsch"]
    assert catalogues["pl"].gettext("Continue") == "Continue"
    assert catalogues["de"].ngettext("One is left.", "{count} are left.", 2) == "{count} bleiben noch."
    assert catalogues.best("", "pt-BR") == "pt-BR"


def test_a_browser_that_asks_for_german_gets_it(expert: Browser) -> None:
    page = expert.client.get(expert.link, headers={"Accept-Language": "de-CH, en;q=0.5"})
    assert '<html lang="de"' in page.text
    assert "Ich habe dies gelesen" in page.text
    refused = expert.client.get("/e/x", headers={"Accept-Language": "de"})
    assert "Diese Seite gibt es nicht" in refused.text


def test_who_chooses_a_language_keeps_it_on_any_device(expert: Browser, served: TestClient) -> None:
    page = expert.follow()
    assert 'value="en" lang="en" aria-current="true"' in page.text
    german = expert.submit("/language", page, language="de")
    assert german.url.path == "/consent"
    assert '<html lang="de"' in german.text
    assert expert.study.store.expert(expert.name).language == "de"
    assert set(expert.client.cookies) == {"roslin_expert"}, "one cookie, as the consent says"
    assert expert.submit("/consent", page, agree="yes").url.path == "/questions", "another tab goes on"
    phone = Browser(TestClient(served.app), expert.study, expert.name)
    assert '<html lang="de"' in phone.follow().text


def test_strangers_choose_in_the_address(invited: Invited, study: OpenStudy) -> None:
    client = invited().client
    address = study.open_invitation("http://testserver")
    page = client.get(f"{address}?PROLIFIC_PID=a%26b&other=1")
    back = re.search(r'name="back" value="([^"]*)"', page.text)
    assert back
    german = client.post("/language", data={"language": "de", "back": unescape(back[1])})
    assert str(german.url) == f"{address}?PROLIFIC_PID=a%26b&language=de"
    assert '<html lang="de"' in german.text
    assert not client.cookies
    fields = dict(re.findall(r'name="(ticket|language)" value="([^"]*)"', german.text))
    joined = client.post(address, data=fields)
    assert '<html lang="de"' in joined.text
    assert study.store.experts()[-1].language == "de"
    again = client.get(address)
    assert "Take part as another person" in again.text or "Als andere Person" in again.text


def test_only_languages_of_the_study_and_pages_of_ours(expert: Browser) -> None:
    expert.follow()
    for back in ("//evil.example", "https://evil.example", "/e/x", "/join/x", "", "/api/trials/1"):
        answer = expert.client.post("/language", data={"language": "fr", "back": back}, follow_redirects=False)
        assert answer.headers["location"] == "/", back
        assert "set-cookie" not in answer.headers


def test_scripts_get_their_words(invited: Invited, study: OpenStudy) -> None:
    expert = invited()
    study.store.set_language(expert.name, "de")
    page = expert.until("trial")
    words = re.search(r'<script type="application/json" id="words">(.*?)</script>', page.text)
    assert words
    assert "\\u003c" in words[1] or "<" not in words[1]
    german = study.catalogues["de"].for_scripts(lambda name: name.startswith("trial"))
    assert german["candidate {number}"] == "Kandidat {number}"
    assert "Ich habe dies gelesen" not in str(german), "only what scripts say"
    assert study.catalogues["en"].for_scripts(lambda name: True) == {}

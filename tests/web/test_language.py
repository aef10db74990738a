"""The page in several languages: who reads which one, and how that is remembered."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from roslin.display.templates import environment
from roslin.display.words import Words, _, in_words, ngettext, number, words
from roslin.web.language import Catalogues


class Loud(Words):
    """Says everything in capitals."""

    language = "loud"

    def gettext(self, message: str) -> str:
        return message.upper()


def test_words_are_english_until_others_are_in_use() -> None:
    assert (_("Play"), ngettext("one", "many", 0), number(1234.56, 1)) == ("Play", "many", "1,234.6")
    with in_words(Loud()) as loud:
        assert words() is loud
        assert environment().from_string('{{ _("Play") }}').render() == "PLAY"
    assert _("Play") == "Play"


def test_numbers_as_their_readers_write_them() -> None:
    catalogues = Catalogues(("en", "de"))
    assert [catalogues[code].number(12345.678, 2) for code in ("en", "de")] == ["12,345.68", "12.345,68"]
    assert [catalogues[code].number(12345) for code in ("en", "de")] == ["12,345", "12.345"]


@pytest.mark.parametrize("path", ["/", "/about", "/identify", "/melodies/roslin-castle", "/melodies/none"])
def test_every_page_says_its_language_and_on_what_it_depended(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert '<html lang="en">' in answer.text
    assert answer.headers["content-language"] == "en"
    assert {"Accept-Language", "Cookie"} <= set(answer.headers["vary"].replace(" ", "").split(","))


def test_programs_are_answered_in_english_and_the_same_for_everybody(client: TestClient) -> None:
    answer = client.get("/api/matchers", params={"lang": "de"}, headers={"Accept-Language": "de"})
    assert "content-language" not in answer.headers
    assert "set-cookie" not in answer.headers
    assert "Cookie" not in answer.headers.get("vary", "")

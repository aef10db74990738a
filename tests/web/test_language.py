"""The page in several languages: who reads which one, and how that is remembered."""

from __future__ import annotations

import html
import re

import pytest
from fastapi.testclient import TestClient

from roslin.display.templates import environment
from roslin.display.words import Words, _, in_words, ngettext, number, words
from roslin.melody.intervals import an_interval
from roslin.web.app import create_app
from roslin.web.language import Catalogues
from roslin.web.settings import Settings


class Loud(Words):
    """Says everything in capitals."""

    language = "loud"

    def gettext(self, message: str) -> str:
        return message.upper()


def test_words_are_english_until_others_are_in_use() -> None:
    assert (_("Listen"), ngettext("one", "many", 0), number(1234.56, 1)) == ("Listen", "many", "1,234.6")
    with in_words(Loud()) as loud:
        assert words() is loud
        assert environment().from_string('{{ _("Listen") }}').render() == "LISTEN"
    assert _("Listen") == "Listen"


def test_numbers_as_their_readers_write_them() -> None:
    catalogues = Catalogues(("en", "de"))
    assert [catalogues[code].number(12345.678, 2) for code in ("en", "de")] == ["12,345.68", "12.345,68"]
    assert [catalogues[code].number(12345) for code in ("en", "de")] == ["12,345", "12.345"]


@pytest.mark.parametrize("path", ["/", "/about", "/identify", "/melodies/roslin-castle", "/melodies/none"])
def test_every_page_says_its_language_and_on_what_it_depended(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert '<html lang="en"' in answer.text
    assert answer.headers["content-language"] == "en"
    assert {"Accept-Language", "Cookie"} <= set(answer.headers["vary"].replace(" ", "").split(","))


def test_programs_are_answered_in_english_and_the_same_for_everybody(client: TestClient) -> None:
    answer = client.get("/api/matchers", params={"lang": "de"}, headers={"Accept-Language": "de"})
    assert "content-language" not in answer.headers
    assert "set-cookie" not in answer.headers
    assert "Cookie" not in answer.headers.get("vary", "")


def test_the_language_of_the_browser(client: TestClient) -> None:
    page = client.get("/", headers={"Accept-Language": "de-CH, en;q=0.5"})
    assert '<html lang="de"' in page.text
    assert "Melodien finden, die Ihrer ähneln" in page.text
    assert page.headers["content-language"] == "de"
    assert '<html lang="en"' in client.get("/", headers={"Accept-Language": "pl"}).text


@pytest.mark.long
def test_the_language_of_an_address_is_remembered(settings: Settings) -> None:
    with TestClient(create_app(settings)) as visitor:
        page = visitor.get("/", params={"q": "'4CDEC", "lang": "de"})
        assert '<html lang="de"' in page.text
        assert 'hreflang="en" lang="en" rel="alternate">' in page.text
        assert 'hreflang="de" lang="de" rel="alternate" aria-current="true">' in page.text
        assert 'href="/?q=%274CDEC&amp;lang=en"' in page.text
        cookie = page.headers["set-cookie"]
        assert cookie.startswith("roslin_language=de; Path=/; Max-Age=")
        assert cookie.endswith("SameSite=Lax; HttpOnly")
        again = visitor.get("/about", headers={"Accept-Language": "en"})
        assert '<html lang="de"' in again.text
        assert "set-cookie" not in again.headers
        other = visitor.get("/about", params={"lang": "xx"})
        assert '<html lang="de"' in other.text, "a language that nobody speaks here changes nothing"


@pytest.mark.long
def test_answers_are_kept_by_language(client: TestClient) -> None:
    asked = {"q": "%G-2@4/4 '4CDEC/CDEC/EF2G/"}
    german = client.get("/results", params=asked, headers={"Accept-Language": "de"}).text
    english = client.get("/results", params=asked, headers={"Accept-Language": "en"}).text
    assert "jede Note stimmt überein" in german
    assert "every note agrees" in english
    assert "<li>Takt 1: C 4 Viertel, D 4 Viertel, E 4 Viertel, C 4 Viertel</li>" in german
    assert client.get("/api/search", params=asked, headers={"Accept-Language": "de"}).json()["remarks"] == [
        "All notes of the query but the last are equally long, so the rhythm was ignored."
    ]


_ENGLISH = re.compile(
    r"\b(transposed|starting|side by side|agree|changed|left out|counts most|distance|cost|weight|runs?|"
    r"found|segments?|within|between|semitones?|an? (octave|minor|major|perfect)|up|down|repeated|insertion|from)\b"
)


def said_in(page: str) -> str:
    """What a page says, without its tags, code, scripts and what the collection holds; a drawing says its texts."""
    bare = re.sub(r"<(script|style|code|select|form|footer|header)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", bare[bare.index("<main") :])


@pytest.mark.parametrize("name", ["roslin", "emd", "twv", "us", "p2", "gam", "fm", "shapetime", "time", "dp"])
def test_an_explanation_is_in_the_language_of_its_reader(client: TestClient, name: str) -> None:
    asked = {"q": "%F-4@4/4$bB ,4AG8GAGF/4E2G-/", "candidate": "frere-jacques", "matcher": name}
    page = client.get("/explain", params=asked, headers={"Accept-Language": "de"})
    assert page.status_code == 200
    said = said_in(page.text)
    assert sorted(set(_ENGLISH.findall(said))) == []
    assert "Abstand" in said
    english = client.get("/api/explain", params=asked, headers={"Accept-Language": "de"}).json()
    assert not re.search("Noten|Suchmelodie|Takt|Abschnitt|Folge", str(english))


def test_filters_are_told_in_the_language_of_their_reader(client: TestClient) -> None:
    asked = {
        "q": "%G-2@4/4 '4CDEC/CDEC/EF2G/",
        "pitch_range": "perfect fifth..minor tenth",
        "max_interval": "..octave",
        "intervals": "second up, second up",
        "contour_cost": "12",
        "rhythm_cost": "12",
    }
    said = html.unescape(client.get("/results", params=asked, headers={"Accept-Language": "de"}).text)
    assert "Tonumfang: eine reine Quinte bis eine kleine Dezime (7 bis 15 Halbtöne)." in said
    assert "Größtes Intervall: höchstens eine Oktave (12 Halbtöne)." in said
    assert 'Enthält "Sekunde aufwärts, Sekunde aufwärts".' in said
    assert "Grobe Kontur in einem Editierabstand von höchstens 12 zu UUDRUUDUUU" in said
    assert "(Einfügung 1, Streichung 1, Ersetzung 1)." in said
    sentences = [
        step["sentence"]
        for step in client.get("/api/search", params=asked, headers={"Accept-Language": "de"}).json()["filters"]
    ]
    assert sentences[:2] == [
        "Pitch range between a perfect fifth and a minor tenth (7 to 15 semitones).",
        "Largest interval at most an octave (12 semitones).",
    ]


def test_intervals_are_called_as_musicians_call_them() -> None:
    catalogues = Catalogues(("de", "fr", "it"))
    named = {
        "de": ["eine Prime", "eine reine Quarte", "eine Oktave", "eine kleine Dezime", "eine große 23."],
        "fr": ["un unisson", "une quarte juste", "une octave", "une dixième mineure", "une 23e majeure"],
        "it": ["un unisono", "una quarta giusta", "un’ottava", "una decima minore", "una 23ª maggiore"],
    }
    for language, names in named.items():
        with in_words(catalogues[language]):
            assert [an_interval(size) for size in (0, 5, 12, 15, 38)] == names


def test_a_refusal_is_framed_in_the_language_of_its_reader(client: TestClient) -> None:
    page = client.get("/melodies/nobody", headers={"Accept-Language": "de"})
    assert page.status_code == 404
    assert "Das hat nicht geklappt" in page.text
    part = client.get("/results", params={"id": "nobody"}, headers={"Accept-Language": "de"})
    assert "Das hat nicht geklappt" in part.text


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "query", "said"),
    [
        (
            "en",
            "sol sol la sol do si",
            "read 'sol sol la sol do si' as syllables: G4 G4 A4 G4 C5 B4 at line 1, column 1",
        ),
        (
            "de",
            "sol sol la sol do si",
            "'sol sol la sol do si' gelesen als Silben: G4 G4 A4 G4 C5 B4 (Zeile 1, Spalte 1)",
        ),
        ("fr", "'4CDXE?'4GAFG", "'X' : lu comme x (dièse) (colonne 5)"),
        ("it", "'4CDXE?'4GAFG", "'?': ignorato (colonna 7)"),
        ("de", "'4CDeF'4GAFG", "'e' gelesen als die Note E (Spalte 5)"),
        ("fr", "'4CD/\nEFGA/", "2 lignes : lu comme une mélodie"),
    ],
)
def test_remarks_on_what_is_typed_are_in_the_language_of_the_page(
    client: TestClient, language: str, query: str, said: str
) -> None:
    assert said in client.get("/api/read", params={"q": query, "lang": language}).json()["deviations"]
    shown = client.get("/results", params={"q": query, "lang": language}).text
    assert said in html.unescape(shown)


def test_remarks_on_a_file_are_in_the_language_of_the_page(client: TestClient) -> None:
    answer = client.post("/api/read?lang=de", files={"file": ("tune.abc", b"X:1\nK:G\nGABc dedB :dedB dedB")})
    assert answer.json()["choices"][0]["deviations"] == [": wurde weggelassen (Zeile 3, Spalte 11)"]


def test_refusals_of_readers_are_in_the_language_of_the_page(client: TestClient) -> None:
    error = client.get("/api/read", params={"q": "???", "notation": "pae", "lang": "it"}).json()["error"]
    assert error["problem"]["reason"] == "nessuna nota"
    assert error["message"] == "Colonna 1: nessuna nota; atteso: almeno una nota; trovato: '?'"
    page = client.get("/results", params={"q": "???", "notation": "pae", "lang": "it"})
    assert error["message"] in html.unescape(page.text)
    english = client.get("/api/read", params={"q": "???", "notation": "pae"}).json()["error"]
    assert english["message"].startswith("column 1: no notes; expected at least one note")


@pytest.mark.long
def test_readings_are_named_in_the_language_of_the_page(client: TestClient) -> None:
    page = html.unescape(client.get("/results", params={"q": "c4 e g c4", "lang": "de"}).text)
    assert "Die Suchmelodie wurde als ABC mit Notenwerten gelesen. Möglich ist auch" in page

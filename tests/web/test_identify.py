"""Who a source is by, on the page and as JSON: pasted, sent as a file, or already in the collection."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from roslin import Collection, Melody
from roslin.web.app import create_app
from roslin.web.settings import Settings

JOY = "%G-2@4/4$xFC '4xFFGA/AGFE/DDEF/4.F8E2E/"
NONSENSE = "'4C,xG''F,,A'D,,bB''C,xF"


def record(number: str, *incipits: str, composer: str = "Anonymus") -> str:
    fields = "".join(
        f'<datafield tag="031"><subfield code="a">1</subfield><subfield code="b">{place}</subfield>'
        f'<subfield code="g">G-2</subfield><subfield code="o">4/4</subfield><subfield code="n">xFC</subfield>'
        f'<subfield code="p">{music}</subfield></datafield>'
        for place, music in enumerate(incipits, start=1)
    )
    about = f'<datafield tag="100"><subfield code="a">{composer}</subfield></datafield>'
    return f'<record><controlfield tag="001">{number}</controlfield>{about}{fields}</record>'


MUSIC = JOY.partition(" ")[2]
MARC = f"<collection>{record('77', MUSIC, NONSENSE)}{record('78', NONSENSE)}</collection>"


def test_the_answer_is_that_of_the_collection(client: TestClient, starter: Path) -> None:
    with Collection(starter) as collection:
        known = collection.identify(JOY).to_dict()
    answer = client.get("/api/identify", params={"q": JOY}).json()
    for each in known["attributions"]:
        for source in each["sources"]:
            source["link"] = f"https://example.org/{source['id']}"
    assert answer == {**known, "record": None, "records": [""], "deviations": []}
    assert answer["attributions"][0]["name"] == "Ludwig van Beethoven"


def test_a_file_and_one_of_its_records(client: TestClient) -> None:
    first = client.post("/api/identify", files={"file": ("two.xml", MARC)}).json()
    assert (first["record"], first["records"], first["incipits_tried"]) == ("77", ["77", "78"], [1, 2])
    assert first["attributions"][0]["name"] == "Ludwig van Beethoven"
    assert first["attributions"][0]["incipits"] == [1]
    second = client.post("/api/identify", files={"file": ("two.xml", MARC)}, data={"record": "78"}).json()
    assert (second["record"], second["incipits_tried"]) == ("78", [1])
    assert not second["is_close"]
    none = client.post("/api/identify", files={"file": ("two.xml", MARC)}, data={"record": "79"})
    assert none.status_code == 422
    assert "unknown record of the source '79'" in none.json()["error"]["message"]


def test_a_melody_of_the_collection_is_not_its_own_source(client: TestClient) -> None:
    answer = client.get("/api/identify", params={"id": "ode-to-joy"}).json()
    assert answer["record"] == "ode-to-joy"
    assert answer["claimed"] == "Ludwig van Beethoven"
    assert "ode-to-joy" not in [source["id"] for each in answer["attributions"] for source in each["sources"]]
    assert client.get("/api/identify", params={"id": "nobody"}).status_code == 404


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"q": "?!"}, "no notes"),
        ({}, "no notes"),
        ({"q": "/etc/passwd"}, ""),
        ({"q": "x" * 8001}, "at most 8000"),
    ],
)
def test_refusals(client: TestClient, asked: dict[str, str], message: str) -> None:
    answer = client.get("/api/identify", params=asked)
    assert answer.status_code == 422
    assert message in answer.json()["error"]["message"]


@pytest.mark.long
def test_the_page_is_whole_without_scripts(client: TestClient) -> None:
    empty = client.get("/identify").text
    assert '<form action="/identify" method="post" enctype="multipart/form-data"' in empty
    assert 'href="/identify">Identify</a>' in client.get("/").text
    page = client.post("/identify", data={"q": JOY}, files={"file": ("", b"")}).text
    assert "Ludwig van Beethoven in " in page
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="notation"') >= 2
    assert "matched" in page
    assert '<a href="/melodies/ode-to-joy">ode-to-joy</a>' in page
    assert 'href="https://example.org/ode-to-joy"' in page
    why = unescape(re.findall(r'href="(/explain[^"]*)"', page)[0])
    assert client.get(why).status_code == 200
    assert _without_languages(client.get("/identify", params={"q": JOY}).text) == _without_languages(page)
    assert 'href="/identify?id=ode-to-joy"' in client.get("/melodies/ode-to-joy").text


def _without_languages(page: str) -> str:
    """A page without its links to other languages, which have no question in them where a form was sent."""
    return re.sub(r'<a [^>]* hreflang="[^>]*>', "", page)


@pytest.mark.long
def test_a_record_is_pasted_or_sent(client: TestClient) -> None:
    pasted = client.post("/identify", data={"q": MARC, "record": "77"}).text
    assert "The file has 2 records: 77, 78. This is the answer for 77." in pasted
    assert "1 of 2 incipits were found there." in pasted
    sent = client.post("/identify", data={"q": "what is sent counts", "record": "77"}, files={"file": ("a.xml", MARC)})
    assert "This is the answer for 77." in sent.text
    nothing = client.post("/identify", data={"record": "78"}, files={"file": ("a.xml", MARC)}).text
    assert ">Nothing close was found</h2>" in nothing


FAULTY = f"""<collection xmlns="http://www.loc.gov/MARC21/slim">
<record><controlfield tag="001">2001</controlfield>
<datafield tag="031"><subfield code="a">1</subfield><subfield code="g">G2</subfield><subfield code="p">{MUSIC}</subfield></datafield>
<datafield tag="031"><subfield code="a">2</subfield><subfield code="g">G-2</subfield><subfield code="p">Siehe &lt;oben></subfield></datafield>
<datafield tag="031"><subfield code="a">3</subfield><subfield code="g">G-2</subfield></datafield>
</record></collection>"""  # noqa: E501


def problems(page: str) -> list[list[str]]:
    table = re.search(r'aria-labelledby="problems-heading"><table>(.*?)</table>', page, re.DOTALL)
    rows = re.findall(r"<tr>(<td.*?)</tr>", table[1]) if table else []
    return [[unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]


def test_the_encoding_of_a_record_is_checked_too(client: TestClient) -> None:
    expected = [
        ["warning", "3", "", "2001-1.1.1", "unreadable clef: read 'G2' as G-2"],
        ["error", "4", "1", "2001-2.1.1", "not music; expected more notes than unreadable signs; found 'S'"],
        ["note", "5", "", "2001-3.1.1", "no music in field 031; expected subfield $p"],
    ]
    for page in (
        client.post("/identify", data={"q": FAULTY}),
        client.post("/identify", files={"file": ("a.xml", FAULTY)}),
        client.get("/identify", params={"q": FAULTY}),
    ):
        assert problems(page.text) == expected
        assert "3 problems to check before you publish." in page.text
        assert "Ludwig van Beethoven in " in page.text
        assert "Roslin read as much as it could" not in page.text  # once is enough
    german = problems(client.post("/identify", data={"q": FAULTY}, headers={"Accept-Language": "de"}).text)
    assert [row[0] for row in german] == ["Warnung", "Fehler", "Anmerkung"]
    cut = client.post("/identify", data={"q": FAULTY[: FAULTY.index("<datafield", 300)]})
    assert [row[0] for row in problems(cut.text)][-1] == "error"
    only = FAULTY.replace(MUSIC, "Da capo")
    refused = client.post("/identify", data={"q": only})
    assert refused.status_code == 422
    assert [row[0] for row in problems(refused.text)] == ["error", "error", "note"]


def test_lines_of_music_are_no_records(client: TestClient) -> None:
    page = client.post("/identify", data={"q": f"%G2 {JOY}"}).text
    assert problems(page) == []
    assert "Roslin read as much as it could" in page


@pytest.mark.parametrize("field", ["q", "record"])
def test_the_page_takes_the_numbers_that_the_command_takes(client: TestClient, field: str) -> None:
    page = client.post("/identify", data={field: " ode-to-joy "})
    assert page.status_code == 200
    assert "The record itself names Ludwig van Beethoven" in page.text
    unknown = client.post("/identify", data={field: "99999999"})
    assert unknown.status_code == 404
    assert "No record with the number 99999999 is in the collection" in unknown.text
    assert "or the number of a record in this collection" in unknown.text


def test_what_is_refused_stays_in_the_form(client: TestClient) -> None:
    page = client.post("/identify", data={"q": "?!<script>"})
    assert page.status_code == 422
    assert "That did not work" in page.text
    assert "?!&lt;script&gt;</textarea>" in page.text
    assert client.post("/identify", data={"q": "  "}).status_code == 200


def test_what_a_catalogue_says_injects_nothing(client: TestClient) -> None:
    hostile = "&lt;script&gt;alert(1)&lt;/script&gt;"
    page = client.post("/identify", data={"q": record("&lt;b&gt;9", MUSIC, composer=hostile)}).text
    assert "<script>alert" not in page
    assert "<b>9" not in page


def test_a_link_has_the_whole_number_of_the_record() -> None:
    settings = Settings("x.roslin", link="https://example.org/{record}")
    for id, extra, record in (
        ("840010000-1.1.1", {}, "840010000"),
        ("MS-7-1.1.1~2", {}, "MS-7"),
        ("MS-7-2-3.1.1", {"record": "MS-7"}, "MS-7"),
        ("UNAM-A0563-00-12-acomp", {}, "UNAM-A0563-00-12-acomp"),
    ):
        assert settings.link_to(Melody.from_notes([0], [1], [60], id, extra=extra)) == f"https://example.org/{record}"


def limited(starter: Path, **limits: Any) -> TestClient:
    return TestClient(create_app(replace(Settings(str(starter), log_requests=False), **limits)))


@pytest.mark.long
def test_limits(starter: Path) -> None:
    with limited(starter, upload_melodies=1, body_bytes=4000, query_notes=10, is_open=True) as client:
        many = client.post("/api/identify", files={"file": ("two.xml", MARC)})
        assert many.status_code == 422
        assert "a source may have at most 1 incipits here; got 2" in many.json()["error"]["message"]
        assert client.post("/api/identify", files={"file": ("a.xml", "x" * 5000)}).status_code == 413
        assert client.post("/identify", data={"q": "x" * 5000}).status_code == 413
        cut = client.get("/api/identify", params={"q": JOY}).json()
        assert cut["deviations"] == ["only the first 10 notes are taken"]
        assert cut["searched"] == 243
    with limited(starter, search_seconds=1e-9) as client:
        late = client.get("/api/identify", params={"q": JOY})
        assert (late.status_code, late.json()["error"]["code"]) == (503, "time_limit")
        assert client.post("/identify", data={"q": JOY}).status_code == 503


def test_a_number_that_is_too_long(client: TestClient) -> None:
    answer = client.post("/api/identify", files={"file": ("two.xml", MARC)}, data={"record": "7" * 501})
    assert answer.status_code == 422
    assert "at most 500 characters" in answer.json()["error"]["message"]

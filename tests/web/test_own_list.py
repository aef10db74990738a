"""A list of one's own, without a browser: the page of an address, and files to take along."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.web.catalogue import FRERE, HOSTILE

from roslin import load
from roslin.web.settings import Settings

IDS = ["105-1.1.1", "100-1.1.1", "104-1.1.1"]


@pytest.fixture(scope="module")
def settings(catalogue_settings: Settings) -> Settings:
    return catalogue_settings


def taken(client: TestClient, format: str, **more: Any) -> Any:
    answer = client.get("/api/list", params={"id": IDS, "format": format, **more})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    return answer


def test_an_address_holds_a_list(client: TestClient) -> None:
    page = client.get("/list", params={"id": [*IDS, "999-1.1.1", IDS[0]]}).text
    assert [page.index(f'data-listed="{id}"') for id in IDS] == sorted(page.index(f'data-listed="{id}"') for id in IDS)
    assert page.count("data-listed=") == 3
    assert page.count('class="notation"') == 3
    assert "One melody of the list is not in the collection any more:" in page
    assert "Bach, Johann Sebastian: Tune 105. D-B, P 1. 1723. 105, incipit 1.1.1. https://example.org/105" in page
    assert "Roslin 0." in page
    assert "<script>alert" not in page
    assert client.get("/list").status_code == 200
    assert client.get("/list", params={"id": ["a"] * 201}).status_code == 422


def test_files_to_take_along(client: TestClient) -> None:
    rows = list(csv.DictReader(io.StringIO(taken(client, "csv").text)))
    assert [row["id"] for row in rows] == IDS
    assert rows[0]["shelfmark"] == "P 1"
    assert rows[2]["composer"] == rows[2]["shelfmark"] == f"'{HOSTILE}"
    known = taken(client, "json").json()
    assert [each["id"] for each in known] == IDS
    assert known[0]["date"] == "1723"
    bib = taken(client, "bibtex").text
    assert bib.count("@misc{") == 3
    assert "@misc{105-1.1.1," in bib
    text = taken(client, "text").text
    assert "2. Grétry, André: Tune 100. F-Pn, D. 1. 1780. 100, incipit 1.1.1. https://example.org/100\n" in text


def test_music_to_take_along_is_the_music(client: TestClient) -> None:
    lines = taken(client, "pae").text.splitlines()
    pitches = [load(line)[0].notes["pitch_midi"].tolist() for line in lines]
    assert pitches[1] == load(FRERE)[0].notes["pitch_midi"].tolist()
    assert len(pitches) == 3
    with zipfile.ZipFile(io.BytesIO(taken(client, "mei").content)) as archive:
        names = archive.namelist()
        assert names == [f"{place:03d}-{id}.mei" for place, id in enumerate(IDS, start=1)]
        melody = load(archive.read(names[1]))[0]
    assert melody.notes["pitch_midi"].tolist() == pitches[1]


def test_notes_are_written_into_files(client: TestClient) -> None:
    form = {"id": IDS[:2], "note": ["=1+1", "compare\nwith Dresden"]}
    rows = list(csv.DictReader(io.StringIO(client.post("/api/list", data={**form, "format": "csv"}).text)))
    assert [row["note"] for row in rows] == ["'=1+1", "compare\nwith Dresden"]
    text = client.post("/api/list", data={**form, "format": "text"}).text
    assert "   compare\n   with Dresden\n" in text
    known = json.loads(client.post("/api/list", data=form).text)
    assert [each["note"] for each in known] == form["note"]


@pytest.mark.parametrize("path", ["/api/list", "/api/list?id=a&format=exe"])
def test_what_is_no_list_is_refused(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 422


def test_the_whole_list_of_a_search_is_taken_along(client: TestClient) -> None:
    asked: dict[str, Any] = {"q": FRERE, "k": 2, "whole": True}
    assert len(client.get("/api/search", params=asked).json()["results"]) == 6
    rows = list(csv.DictReader(io.StringIO(client.get("/api/search", params={**asked, "format": "csv"}).text)))
    assert [int(row["rank"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    narrowed = {**asked, "format": "trec", "only": "library=D-Dl"}
    assert [line.split()[2] for line in client.get("/api/search", params=narrowed).text.splitlines()] == [
        "101-1.1.1", "103-1.1.1",
    ]  # fmt: skip
    page = client.get("/", params={"q": FRERE}).text
    assert "Download the 5 melodies above the line:" in page
    assert page.count("whole=True") == 4

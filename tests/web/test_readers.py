"""What strangers send is read in a process of its own: a bad file costs one request, and the server goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings, strategies
from tests.waiting import until

from roslin import Melody, load
from roslin.errors import BusyError, FormatError, NotationError
from roslin.notation.jsonl import write_jsonl
from roslin.notation.query import read_query
from roslin.values.plugins import VARIABLE
from roslin.web.app import create_app
from roslin.web.readers import FUNCTIONS, READERS, Desk, melody_from_values, values_of_melody
from roslin.web.settings import Settings

FRERE = "%G-2@4/4 '4CDEC/CDEC/EF2G/"
HOSTILE = Path(__file__).with_name("hostile_format.py")


@pytest.fixture
def harmful(starter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """Settings of a server whose readers know a format of files that do harm."""
    monkeypatch.setenv(VARIABLE, str(HOSTILE))
    monkeypatch.setenv("ROSLIN_HOSTILE", str(tmp_path))  # a file for each reader that reads for ever
    READERS.close()  # those that start now know it
    yield Settings(str(starter), log_requests=False, reading_seconds=600.0)
    READERS.close()


@pytest.fixture
def hostile(harmful: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(harmful)) as client:
        yield client


def sent(client: TestClient, asked: str) -> Any:
    return client.post("/api/read", files={"file": ("tune.hostile", f"hostile {asked}".encode())})


@pytest.mark.long
@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("memory", "reading it takes more memory than is allowed here"),
        ("crash", "it cannot be read: its reader failed"),
        ("mistake", "it cannot be read: its reader failed"),
    ],
)
def test_a_bad_file_costs_one_request(hostile: TestClient, asked: str, sentence: str) -> None:
    refused = sent(hostile, asked)
    assert (refused.status_code, refused.json()["error"]) == (
        422,
        {"code": "refused", "message": sentence, "problem": None},
    )
    page = hostile.post("/identify", files={"file": ("tune.hostile", f"hostile {asked}".encode())})
    assert page.status_code == 422
    assert sentence[1:] in page.text
    answer = sent(hostile, "nothing").json()
    assert [(choice["label"], choice["notes"]) for choice in answer["choices"]] == [("caf?", 3)]


@pytest.mark.long
def test_a_file_that_takes_for_ever_costs_one_request(hostile: TestClient, harmful: Settings) -> None:
    impatient = TestClient(create_app(replace(harmful, reading_seconds=0.5)))
    sentence = "reading it takes longer than 0.5 seconds, the most allowed here"
    refused = sent(impatient, "for-ever")
    assert (refused.status_code, refused.json()["error"]["message"]) == (422, sentence)
    page = impatient.post("/identify", files={"file": ("tune.hostile", b"hostile for-ever")})
    assert page.status_code == 422
    assert sentence[1:] in page.text
    assert sent(hostile, "nothing").json()["choices"][0]["notes"] == 3


@pytest.mark.long
def test_others_are_answered_while_a_file_is_read(hostile: TestClient, tmp_path: Path) -> None:
    hostile.get("/api/read", params={"q": FRERE})
    answers = list[Any]()
    threads = [threading.Thread(target=lambda: answers.append(sent(hostile, "for-ever"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    assert hostile.get("/healthz").status_code == 200
    assert hostile.get("/api/read", params={"q": FRERE, "format": "midi"}).status_code == 200
    assert answers == []  # all of that while both files were being read
    (tmp_path / "enough").touch()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [200, 200]


def test_who_waits_too_long_for_a_reader_is_sent_away() -> None:
    desk = Desk()
    for _ in desk._all:
        desk._free.get()
    with pytest.raises(BusyError, match="the server is busy reading other files"):
        desk.ask("query", {}, 0.01)
    desk.close()


def test_what_nobody_foresaw_is_logged_with_its_place(hostile: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    sent(hostile, "mistake")
    (record,) = [record for record in caplog.records if record.name == "roslin.web"]
    assert "a reader failed: file: KeyError in" in record.message
    assert "hostile_format.py, line" in record.message


def test_text_has_the_limits_too(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, reading_seconds=1e-4))) as client:
        for path in ("/api/read", "/api/search", "/api/identify"):
            # On a busy computer a reader may be ready before anybody looks at the clock: then it is asked again.
            answers = (client.get(path, params={"q": "'4" + "CDEF/" * 90 + "G" * number}) for number in range(1, 30))
            refused = next(answer for answer in answers if answer.status_code != 200)
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "refused")
            assert "takes longer than 0.0001 seconds" in refused.json()["error"]["message"]


@pytest.mark.long
def test_refusals_keep_their_places() -> None:
    limits = Settings("x", query_notes=5)
    readers = READERS
    with pytest.raises(NotationError) as refused:
        readers.readings("'4CDE?F", "pae", True, limits)
    with pytest.raises(NotationError) as here:
        read_query("'4CDE?F", "pae", strict=True)
    assert refused.value.problem == here.value.problem
    assert refused.value.problem.column == 6
    with pytest.raises(FormatError, match="the query has 6 notes; expected at most 5"):
        readers.readings("'4CDEFGA", None, False, limits)
    (cut,) = readers.source(b"'4CDEFGA", limits)
    assert cut.deviations == ["only the first 5 notes are taken"]
    (melody,) = readers.source(b"'4CD?E", limits)
    assert melody.problems == load("'4CD?E")[0].problems


def test_melodies_cross_whole() -> None:
    for text in ("%G-2@3/4$bB '4CDE/2.F?/%C-3@4/4 4C", "X:1\nT:A tune\nC:Anon\nK:D\n{g}DEF [CE]|", "'4CDE"):
        melody = load(text)[0]
        back = melody_from_values(values_of_melody(melody))
        assert back == melody
        assert back.problems == melody.problems
    empty = Melody.from_notes([], [], [])
    assert melody_from_values(values_of_melody(empty)) == empty


@given(strategies.text(strategies.characters(exclude_categories=())))
@settings(max_examples=50)
def test_whatever_is_typed_has_an_answer_that_can_be_sent(text: str) -> None:
    answer = FUNCTIONS["query"]({"text": text, "notation": None, "strict": False, "notes": 500, "seconds": 10.0})
    assert str(answer).encode()


@pytest.mark.parametrize("field", ["title", "id", "composer", "extra"])
def test_half_a_surrogate_pair(client: TestClient, field: str) -> None:
    line = write_jsonl(load(FRERE)[0])[:-1] + f', "{field}": "caf\\udce9"' + "}"
    for name in ("tune.jsonl", "tune"):
        assert client.post("/api/read", files={"file": (name, line.encode())}).status_code in (200, 422)
    assert client.get("/api/read", params={"q": line, "notation": "jsonl"}).status_code in (200, 422)
    assert client.get("/api/search", params={"q": line, "notation": "jsonl"}).status_code in (200, 422)
    assert client.get("/", params={"q": line, "notation": "jsonl"}).status_code in (200, 422)
    assert client.post("/identify", files={"file": ("tune.jsonl", line.encode())}).status_code in (200, 422)


@pytest.mark.long
@pytest.mark.parametrize("digits", [4301, 7000])
def test_long_numbers(client: TestClient, digits: int) -> None:
    """Python refuses to read a number of more than 4,300 digits: nobody may be answered with that refusal."""
    nines = "9" * digits
    kern = f"**kern\n*clefG2\n{nines}c\n*-\n"
    for name, text in (("t.krn", kern), ("t.pae", f"'{nines}C"), ("t.abc", f"X:1\nK:C\nC{nines}D/{nines}")):
        assert client.post("/api/read", files={"file": (name, text)}).status_code in (200, 422), name
    for parameter in ("k", "page", "note_count", "pitch_range", "contour_cost", "max_interval", "intervals", "words"):
        answer = client.get("/api/search", params={"q": FRERE, parameter: nines})
        assert answer.status_code == 422 or parameter == "words", parameter
        assert answer.status_code < 500
    for text in (f"'{nines}C", f"X:1\nK:C\nC{nines}", f"@{nines}/4 '4C"):
        assert client.get("/api/read", params={"q": text}).status_code in (200, 422)

"""The API: answers, limits, headers, and one shape for every refusal."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from roslin import Collection, Melody, load
from roslin.errors import ArgumentError
from roslin.matchers import MATCHERS
from roslin.playback import midi_bytes
from roslin.run import read_run
from roslin.web.app import create_app
from roslin.web.requests import SearchParams, offered, where_to
from roslin.web.settings import Settings, is_loopback

FRERE = "%G-2@4/4 '4CDEC/CDEC/EF2G/"
NONSENSE = "'4C,xG''F,,A'D,,bB''C,xF"


def refused(client: TestClient, path: str, status: int, **parameters: Any) -> dict[str, Any]:
    answer = client.get(path, params=parameters)
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"code", "message", "problem"}
    return error


@pytest.mark.long
@pytest.mark.parametrize("matcher", ["dp", "dp(place='inside')", "emd", "twv"])
def test_a_search_gives_what_the_collection_gives(client: TestClient, starter: Path, matcher: str) -> None:
    answer = client.get("/api/search", params={"q": FRERE, "matcher": matcher, "k": 7}).json()
    with Collection(starter) as collection:
        run = collection.search(load(FRERE)[0], matcher, k=50)
    assert [
        (hit["rank"], hit["id"], hit["distance"], hit["expected"], hit["meaning"]) for hit in answer["results"]
    ] == [(hit.rank, hit.id, hit.distance, pytest.approx(hit.expected), hit.meaning) for hit in run[:7]]
    assert answer["is_close"] == run.is_close
    assert answer["headline"] == run.headline
    assert [(hit["above_chance"], hit["same_notes"]) for hit in answer["results"]] == [
        (hit.is_above_chance, hit.same) for hit in run[:7]
    ]
    assert answer["searched"] == 243
    assert answer["has_more"]
    first = answer["results"][0]
    assert first["link"] == f"https://example.org/{first['id']}"
    assert len(first["match"]["candidate_notes"]) >= 8
    assert first["match"]["query_notes"] == list(range(11))


def test_pages_are_parts_of_one_list(client: TestClient) -> None:
    asked: dict[str, Any] = {"q": FRERE}
    whole = client.get("/api/search", params={**asked, "k": 60}).json()["results"]
    parts = [client.get("/api/search", params={**asked, "k": 20, "page": page}).json() for page in (1, 2, 3)]
    assert [hit for part in parts for hit in part["results"]] == whole


def test_the_last_page_says_so(client: TestClient) -> None:
    last = client.get("/api/search", params={"q": FRERE, "k": 100, "page": 3}).json()
    assert len(last["results"]) == 43
    assert not last["has_more"]


@pytest.mark.long
def test_a_list_is_full_and_shows_what_is_above_chance(client: TestClient) -> None:
    """In pages too; `sure` keeps only the lines above that where chance begins."""
    asked: dict[str, Any] = {"id": "roslin-castle", "k": 2}
    first = client.get("/api/search", params=asked).json()
    assert first["is_close"]
    assert first["headline"] == "Found"
    assert first["has_more"]
    assert "ends_at_chance" not in first
    pages = [client.get("/api/search", params={**asked, "page": page}).json() for page in range(1, 7)]
    listed = [hit for page in pages for hit in page["results"]]
    everything = client.get("/api/search", params={**asked, "k": 100}).json()["results"]
    assert len(everything) == 100
    assert listed == everything[:12]
    assert pages[-1]["has_more"]
    above = [hit for hit in everything if hit["above_chance"]]
    assert above == [hit for hit in everything if hit["expected"] <= 1 or hit["same_notes"]]
    assert above == everything[: len(above)]
    assert 2 < len(above) < 12
    assert {hit["meaning"] for hit in everything[len(above) :]} == {"no more alike than chance"}
    assert everything[0]["meaning"] == "same notes"
    assert client.get("/api/search", params={**asked, "k": 100, "all": True}).json()["results"] == everything
    for whole in ({"k": 100}, {"whole": True}):
        sure = client.get("/api/search", params={**asked, "sure": True, **whole}).json()
        assert [hit["id"] for hit in sure["results"]] == [hit["id"] for hit in above]
        assert not sure["has_more"]
    assert len(client.get("/api/search", params={**asked, "whole": True}).json()["results"]) == 242


def test_a_matcher_without_an_estimate_of_chance_has_no_line(client: TestClient) -> None:
    answer = client.get("/api/search", params={"q": FRERE, "matcher": "dp", "sure": True}).json()
    assert (answer["headline"], answer["agreeing"], len(answer["results"])) == ("", 0, 10)
    assert {(hit["expected"], hit["meaning"], hit["above_chance"]) for hit in answer["results"]} == {(None, "", True)}


def test_nothing_close_and_remarks_are_said(client: TestClient) -> None:
    answer = client.get("/api/search", params={"q": NONSENSE}).json()
    assert not answer["is_close"]
    assert answer["headline"] == "Nothing better than chance; the closest are shown"
    assert len(answer["results"]) == 10
    assert answer["remarks"] == ["All notes of the query are equally long, so the rhythm was ignored."]
    assert client.get("/api/search", params={"q": FRERE, "matcher": "dp"}).json()["remarks"] == []


def test_modes(client: TestClient) -> None:
    asked: dict[str, Any] = {"q": FRERE, "compare": "melody", "place": "whole", "key": "written"}
    answer = client.get("/api/search", params=asked).json()
    assert answer["matcher"] == "roslin(compare='melody', place='whole', key='written')"
    assert (answer["compare"], answer["place"], answer["key"]) == ("melody", "whole", "written")
    assert client.get("/api/search", params={"q": FRERE, "matcher": "dp", "place": "anywhere"}).json()["matcher"] == (
        "dp(place='inside')"
    )
    error = refused(client, "/api/search", 422, q=FRERE, matcher="dp", compare="contour")
    assert error["message"] == "dp cannot compare contours (compare 'contour'); these can: roslin"
    assert refused(client, "/api/search", 422, q=FRERE, place="middle")["code"] == "parameter"
    known = {each["name"]: each["modes"] for each in client.get("/api/matchers").json()}
    assert known["dp"] == {"compare": ["melody"], "place": ["anywhere", "whole"], "key": ["any"]}


def test_more_like_one_leaves_itself_out(client: TestClient) -> None:
    found = client.get("/api/search", params={"id": "frere-jacques"}).json()["results"]
    assert found[0]["id"] == "frere-jacques-2"
    assert "frere-jacques" not in [hit["id"] for hit in found]


@pytest.mark.long
def test_contour_and_rhythm_near_those_of_the_query(client: TestClient) -> None:
    asked: dict[str, Any] = {
        "id": "roslin-castle",
        "matcher": "dp",
        "k": 50,
        "contour_cost": "9",
        "edit_costs": "UD=3, DU=3",
    }
    answer = client.get("/api/search", params=asked).json()
    assert answer["filters"][0]["sentence"].startswith("Gross contour at an editing distance of at most 9 from ")
    assert answer["filters"][0]["sentence"].endswith("(insertion 1, deletion 1, replacement 1, U by D 3, D by U 3).")
    assert 0 < len(answer["results"]) == answer["searched"] - 1  # without the query itself
    assert all(set(result["costs"]) == {"contour cost"} for result in answer["results"])
    assert all(result["costs"]["contour cost"] <= 9 for result in answer["results"])
    both = client.get("/api/search", params={**asked, "rhythm_cost": "5"}).json()
    assert both["searched"] < answer["searched"]
    assert "rhythm cost" in client.get("/", params={**asked, "rhythm_cost": "5"}).text
    for name, value, message in (
        ("contour_cost", "x", "contour_cost must be COST or LETTERS=COST; got 'x'"),
        ("rhythm_cost", "-1", "rhythm_distance: the distance must be a finite number, at least 0; got -1"),
        ("edit_costs", "XY=1", "costs must be those of insertion, deletion, replacement"),
    ):
        refused = client.get("/api/search", params={**asked, name: value})
        assert refused.status_code == 422
        assert message in refused.text


def test_filters_are_told_in_sentences(client: TestClient) -> None:
    asked: dict[str, Any] = {"q": FRERE, "note_count": "..20", "words": "mozart"}
    answer = client.get("/api/search", params=asked).json()
    sentences = [step["sentence"] for step in answer["filters"]]
    assert sentences == ["Number of notes at most 20.", '"mozart" in title, composer, text or source.']
    assert answer["searched"] == answer["filters"][-1]["left"] == len(answer["results"])
    assert all("Mozart" in hit["composer"] for hit in answer["results"])


def test_at_the_start_is_not_anywhere(client: TestClient, starter: Path) -> None:
    """Bars 3 and 4 stand in the middle: anywhere they are found, at the start something else is compared."""
    asked: dict[str, Any] = {"q": "'4EF2G/4EF2G", "matcher": "emd", "title": "Jacques"}
    anywhere = client.get("/api/search", params=asked).json()["results"]
    start = client.get("/api/search", params={**asked, "place": "start"}).json()["results"]
    with Collection(starter) as collection:
        begun = {id: Melody(collection[id].notes[:8]) for id in collection.ids() if id.startswith("frere-jacques")}
    (nearest,) = {hit["distance"] for hit in anywhere if hit["id"] == "frere-jacques"}
    assert nearest == 0
    # Six onsets, and a quarter more for ornaments, are eight.
    expected = {id: MATCHERS["emd"]().distances(load(asked["q"])[0], [melody])[0] for id, melody in begun.items()}
    assert {hit["id"]: hit["distance"] for hit in start} == expected
    assert expected["frere-jacques"] > 0


@pytest.mark.parametrize(
    ("parameters", "status", "code", "words"),
    [
        ({"q": "'4CDE?F", "strict": "true"}, 422, "notation", "column 6: mark of doubt"),
        ({"q": "so lala"}, 422, "notation", "not music"),
        ({"q": ""}, 422, "notation", "no query"),
        ({"q": "4-"}, 422, "notation", "no notes"),
        ({"q": "X:1\nK:C\nCDE\n\nX:2\nK:C\nFGA"}, 422, "notation", "several melodies"),
        ({"q": "CDE", "notation": "kern"}, 422, "parameter", "notation: Input should be"),
        ({"id": "nobody"}, 404, "not_found", "there is no melody 'nobody' in this collection"),
        ({"q": FRERE, "matcher": "magic"}, 422, "refused", "unknown matcher 'magic'; known:"),
        ({"q": FRERE, "matcher": "dp(place=open('x'))"}, 422, "refused", "cannot read the matcher"),
        ({"q": FRERE, "pitch_range": "a..b"}, 422, "refused", "interval"),
        ({"q": FRERE, "k": 0}, 422, "parameter", "k: Input should be greater than or equal to 1"),
        ({"q": FRERE, "k": 101}, 422, "parameter", "k: Input should be less than or equal to 100"),
        ({"q": FRERE, "k": 100, "page": 11}, 422, "refused", "only the first 1000 results are listed; got page 11"),
        ({"q": "C" * 8001}, 422, "parameter", "q: String should have at most 8000 characters"),
        ({"q": "'4" + "C" * 501}, 422, "refused", "the query has 501 notes; expected at most 500"),
    ],
)
def test_refusals(client: TestClient, parameters: dict[str, str], status: int, code: str, words: str) -> None:
    error = refused(client, "/api/search", status, **parameters)
    assert error["code"] == code
    assert words in error["message"]


def test_a_refusal_of_notation_has_its_place(client: TestClient) -> None:
    assert refused(client, "/api/read", 422, q="'4CDE?F", strict=True)["problem"] == {
        "reason": "mark of doubt",
        "expected": "a note, a rest, a bar line or a sign of the Plaine & Easie Code",
        "found": "'?'",
        "line": 0,
        "column": 6,
    }
    assert refused(client, "/api/read", 422, q="CDE Q", notation="abc", strict=True)["problem"]["line"] == 1
    assert refused(client, "/api/read", 422, q="X:1\nK:C\nCDE Q", strict=True)["problem"]["line"] == 3


@pytest.mark.long
def test_what_is_read_otherwise_is_told(client: TestClient) -> None:
    told = ["left out '?' at column 6"]
    asked = {"q": "'4CDE?F", "matcher": "dp"}
    assert client.get("/api/read", params=asked).json()["deviations"] == told
    assert client.get("/api/search", params=asked).json()["deviations"] == told
    explained = client.get("/api/explain", params={**asked, "candidate": "frere-jacques"}).json()
    assert explained["deviations"] == told
    for path in ("/", "/results", "/explain"):
        page = client.get(path, params={**asked, "candidate": "frere-jacques"}).text
        assert "left out &#39;?&#39; at column 6" in page
    (choice,) = client.post("/api/read", files={"file": ("query.pae", b"'4CDE?F")}).json()["choices"]
    assert choice["deviations"] == told
    assert client.get("/api/read", params={"q": FRERE}).json()["deviations"] == []


def test_text_is_never_a_path(client: TestClient, starter: Path) -> None:
    """A string that names a file is notation here, and bad notation."""
    for name in (str(starter / "collection.sqlite"), "/etc/passwd", "tunes.jsonl"):
        assert refused(client, "/api/read", 422, q=name)["code"] == "notation"


def test_a_query_is_read_drawn_and_played(client: TestClient) -> None:
    answer = client.get("/api/read", params={"q": FRERE}).json()
    assert [note["name"] for note in answer["notes"][:3]] == ["C4", "D4", "E4"]
    assert answer["drawing"].startswith("<svg")
    assert answer["playing"][1] == [1, 0.6, 0.6, 62]
    midi = client.get("/api/read", params={"q": FRERE, "format": "midi"})
    assert midi.headers["content-type"] == "audio/midi"
    assert np.array_equal(load(midi.content)[0].notes["pitch_midi"], load(FRERE)[0].notes["pitch_midi"])


def test_a_melody(client: TestClient) -> None:
    melody = client.get("/api/melodies/roslin-castle").json()
    assert melody["title"] == "Roslin Castle (The House of Glamis)"
    assert len(melody["notes"]) == 35
    assert client.get("/api/melodies/roslin-castle?format=svg").text.startswith("<svg")
    assert client.get("/api/melodies/roslin-castle?format=midi").content.startswith(b"MThd")
    assert refused(client, "/api/melodies/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404)
    assert "nobody" in refused(client, "/api/melodies/nobody", 404)["message"]


def test_explain_by_transport(client: TestClient) -> None:
    asked = {"q": "'4CDE", "candidate": "frere-jacques-2", "matcher": "emd"}
    answer = client.get("/api/explain", params=asked).json()
    assert (answer["kind"], answer["candidate"], answer["query"]) == ("transport", "frere-jacques-2", None)
    assert "transposed up a perfect fifth" in answer["sentence"]
    assert (answer["transposition"], answer["tempo"], answer["place"]) == (7, 1, 0)
    assert answer["pairs"] == [[0, 0], [1, 1], [2, 2]]
    assert sum(step["cost"] for step in answer["steps"]) == answer["distance"] == 0
    assert [(step["kind"], step["weight"], step["apart"]) for step in answer["steps"]] == [("moved", 1, 0)] * 3


def test_explain_by_alignment(client: TestClient) -> None:
    asked = {"q": "'4CDEF", "candidate": "frere-jacques", "matcher": "dp(place='inside')"}
    answer = client.get("/api/explain", params=asked).json()
    assert answer["kind"] == "alignment"
    assert answer["distance"] == sum(step["kind"] != "same" for step in answer["steps"]) / 4


@pytest.mark.parametrize("matcher", ["twv", "dp", "us", "roslin"])
def test_a_drawing_of_every_explanation(client: TestClient, matcher: str) -> None:
    asked = {"q": FRERE, "candidate": "frere-jacques-2", "matcher": matcher, "format": "svg"}
    answer = client.get("/api/explain", params=asked)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text.startswith("<svg")


def test_the_document_describes_an_explanation_as_it_is(client: TestClient) -> None:
    """What pydantic says and what `to_dict` gives have the same fields, all the way down."""
    shapes = client.get("/api/openapi.json").json()["components"]["schemas"]
    answer = client.get("/api/explain", params={"q": FRERE, "candidate": "frere-jacques", "matcher": "fm"}).json()
    step = next(step for step in answer["steps"] if step["within"])
    assert set(step["within"]) == set(shapes["ExplanationAnswer"]["properties"])
    assert set(answer) == set(shapes["ExplainAnswer"]["properties"]) == set(step["within"]) | {"deviations"}
    assert set(step) == set(shapes["StepAnswer"]["properties"])
    assert set(shapes["MatchAnswer"]["properties"]) < set(answer)


@pytest.mark.parametrize("narrowed", [{}, {"note_count": "..30", "words": "e"}, {"place": "start"}])
@pytest.mark.parametrize("matcher", [name for name in offered() if name != "twv"])
def test_an_explanation_is_that_of_the_list(client: TestClient, matcher: str, narrowed: dict[str, str]) -> None:
    """The same search explains a result with the distance of the list, and its steps add up to it."""
    asked: dict[str, Any] = {"q": FRERE, "matcher": matcher, "k": 12, **narrowed}
    results = client.get("/api/search", params=asked).json()["results"]
    for result in (results[0], results[-1]):
        answer = client.get("/api/explain", params={**asked, "candidate": result["id"]}).json()
        assert answer["distance"] == pytest.approx(result["distance"], abs=1e-9)
        whole = answer["start"] + sum(step["cost"] for step in answer["steps"])
        assert whole == pytest.approx(answer["distance"], abs=1e-9)


def test_what_counts_most_in_a_sum_is_told_too(client: TestClient) -> None:
    asked = {"q": FRERE, "candidate": "frere-jacques-2", "matcher": "fm"}
    answer = client.get("/api/explain", params=asked).json()
    assert {step["kind"] for step in answer["steps"]} <= {"measure", "limit"}
    (within,) = [step["within"] for step in answer["steps"] if step["within"]]
    assert within["matcher"] == "ngrukkon"
    assert within["steps"][0]["kind"] == "shared"
    assert answer["pairs"] == within["pairs"]


def test_exports(client: TestClient) -> None:
    asked: dict[str, Any] = {"q": FRERE, "k": 5}
    listed = client.get("/api/search", params=asked).json()["results"]
    table = client.get("/api/search", params={**asked, "format": "csv"})
    assert table.headers["content-disposition"] == 'attachment; filename="results.csv"'
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [(row["id"], float(row["distance"]), float(row["expected"]), row["meaning"]) for row in rows] == [
        (hit["id"], hit["distance"], hit["expected"], hit["meaning"]) for hit in listed
    ]
    assert [(row["above_chance"], row["same_notes"]) for row in rows] == [
        (str(hit["above_chance"]).lower(), str(hit["same_notes"])) for hit in listed
    ]
    run = client.get("/api/search", params={**asked, "format": "trec"}).text
    assert [line.split()[2] for line in run.splitlines()] == [hit["id"] for hit in listed]
    second = client.get("/api/search", params={**asked, "format": "trec", "page": 2}).text
    assert second.split()[3] == "6"
    citations = client.get("/api/search", params={**asked, "format": "citations"}).text
    assert citations.count("@misc{") == 5
    assert "title = {Frère Jacques}" in citations


def test_an_exported_run_can_be_evaluated(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "results.run"
    path.write_text(client.get("/api/search", params={"q": FRERE, "format": "trec"}).text, encoding="utf-8")
    assert len(read_run(path).ids) == 10


def test_matchers_collection_and_health(client: TestClient) -> None:
    listed = client.get("/api/matchers").json()
    assert {one["name"].partition("(")[0] for one in listed} == set(MATCHERS)
    assert all(one["summary"] and one["kind"] for one in listed)
    assert client.get("/api/collection").json()["melodies"] == 243
    assert client.get("/healthz").json() == {"status": "ok", "melodies": 243, "searching": 0}


def test_the_document_and_no_page_from_elsewhere(client: TestClient) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {"/api/search", "/api/read", "/api/explain", "/api/matchers", "/healthz"} <= set(paths)
    assert "/api/melodies/{id}" in paths
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404


@pytest.mark.parametrize("path", ["/", "/about", "/api/matchers", "/nothing", "/static/style.css", "/api/search"])
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "microphone=(self)" in headers["permissions-policy"]


def test_methods_and_static_names(client: TestClient) -> None:
    assert client.post("/api/search").json()["error"]["code"] == "method_not_allowed"
    assert client.get("/static/style.css?v=1").headers["cache-control"] == "public, max-age=31536000"
    for name in ("nothing.js", "..%2fapp.py", "%2e%2e/app.py", "app.py"):
        assert client.get(f"/static/{name}").status_code == 404


# -- files ------------------------------------------------------------------------------------------------------------


def sent(client: TestClient, data: bytes, name: str = "file") -> Any:
    return client.post("/api/read", files={"file": (name, data)})


def test_a_midi_file_becomes_a_query(client: TestClient) -> None:
    answer = sent(client, midi_bytes(load(FRERE)[0]), "tune.mid").json()
    (choice,) = answer["choices"]
    assert (answer["format"], choice["notation"], choice["notes"]) == ("midi", "pae", 11)
    found = client.get("/api/search", params={"q": choice["q"], "notation": "pae"}).json()["results"]
    assert found[0]["id"] == "frere-jacques"


def test_voices_are_choices(client: TestClient) -> None:
    both = b"X:1\nT:Two\nV:1\nV:2\nK:C\n[V:1]CDEF|\n[V:2]G,A,B,C|\n"
    choices = sent(client, both, "two.abc").json()["choices"]
    assert len(choices) == 2
    first, second = (load(choice["q"].encode(), "pae")[0].notes["pitch_midi"].tolist() for choice in choices)
    assert [first[0], second[0]] == [60, 55]


@pytest.mark.long
def test_many_melodies_and_long_ones_are_cut(settings: Settings) -> None:
    few = replace(settings, upload_melodies=2, query_notes=5)
    with TestClient(create_app(few)) as client:
        tunes = b"".join(b"X:%d\nK:C\nCDEFGABc|\n\n" % number for number in range(1, 5))
        answer = sent(client, tunes, "many.abc").json()
        assert len(answer["choices"]) == 2
        assert answer["has_more"]
        assert [choice["is_cut"] for choice in answer["choices"]] == [True, True]
        assert answer["choices"][0]["notes"] == 5


def test_lengths_that_no_sign_has_travel_as_notes(client: TestClient) -> None:
    played = Melody.from_notes([0, 1.01234, 2.00321], [0.97, 0.93123, 1.1], [60, 62, 64])
    from roslin.notation.jsonl import write_jsonl

    (choice,) = sent(client, write_jsonl(played).encode(), "played.jsonl").json()["choices"]
    assert choice["notation"] == "jsonl"
    back = client.get("/api/read", params={"q": choice["q"], "notation": "jsonl"}).json()
    assert [note["pitch"] for note in back["notes"]] == [60, 62, 64]


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"", "empty.mid", ""),
        (b"\x00\x01\x02", "noise", ""),
        (b"MThd\x00\x00", "cut.mid", ""),
        (b"<html></html>", "page.xml", ""),
        (b"PK\x03\x04rest", "archive.zip", "packed"),
        (b"4-", "rest.pae", "no melody could be read"),
    ],
)
def test_files_that_are_refused(client: TestClient, data: bytes, name: str, words: str) -> None:
    answer = sent(client, data, name)
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["error"]["message"]


def test_a_request_without_a_file(client: TestClient) -> None:
    assert client.post("/api/read").status_code == 422
    assert client.post("/api/read", content=b"x", headers={"content-type": "multipart/form-data"}).status_code == 400


# -- settings ---------------------------------------------------------------------------------------------------------


def test_addresses_leave_out_what_is_usual() -> None:
    assert where_to(SearchParams(), "/") == "/"
    assert where_to(SearchParams(q="C D", k=5), "/", page=2) == "/?q=C+D&k=5&page=2"


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("javascript:{id}", "must start with https"),
        ("https://example.org/", "must hold at least one of"),
        ("https://example.org/{nobody}", "must hold at least one of"),
        ("https://example.org/{id", "cannot be read"),
    ],
)
def test_links_that_make_no_sense(link: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Settings("x", link=link)


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "localhost", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.2", "::", "example.org", "127.0.0.1.example.org")))


@pytest.mark.long
def test_settings_travel_to_workers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_WEB_SETTINGS", settings.to_environment())
    assert Settings.from_environment() == settings

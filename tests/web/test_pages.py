"""The pages as the server makes them: whole without scripts, and nothing in them that a title could inject."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from fastapi.testclient import TestClient

from roslin import Collection, Melody, load
from roslin import matcher as roslin_matcher
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.jsonl import write_jsonl
from roslin.represent.line import melodic_line
from roslin.starter import tunes_path
from roslin.web.answers import written
from roslin.web.app import create_app
from roslin.web.pages import examples
from roslin.web.requests import offered
from roslin.web.settings import Settings

FRERE = "%G-2@4/4 '4CDEC/CDEC/EF2G/"
NONSENSE = "'4C,xG''F,,A'D,,bB''C,xF"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\x00‮'


@pytest.mark.long
def test_results_are_cards(client: TestClient) -> None:
    page = client.get("/", params={"q": FRERE, "copies": "apart"}).text
    assert page.count('<li class="card"') == 10
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="notation"') == 11
    assert "a fifth higher; every note agrees." in page
    assert 'rel="next" href="/?q=' in page
    assert page.count('<strong class="meaning ') == page.count(" such matches expected by chance; distance") == 10
    assert FRERE.replace("'", "&#39;") in page
    assert '<div class="empty"' not in page


def test_only_the_results(client: TestClient) -> None:
    part = client.get("/results", params={"q": FRERE}).text
    assert part.count('<li class="card"') == 10
    assert "<html" not in part


@pytest.mark.long
def test_a_line_shows_where_chance_begins(client: TestClient) -> None:
    """The list is full all the same, and an old address that asked for all of it still works."""
    asked: dict[str, Any] = {"id": "roslin-castle"}
    page = client.get("/results", params=asked).text
    assert page.count('<li class="card"') == 10
    before, line, after = page.partition('<li class="chance">Results below this line are no better than chance.</li>')
    assert line
    assert '<strong class="meaning no">' not in before
    assert after.count('<strong class="meaning no"><a href="/about#labels">no more alike than chance</a></strong>') > 2
    assert '<strong class="meaning same">' not in after
    assert "Show all" not in page
    assert client.get("/results", params={**asked, "all": True}).text == page
    second = client.get("/results", params={**asked, "page": 2}).text
    assert "Results below this line" not in second
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", second) == ["Results 11 to 20"]


def test_the_line_may_be_the_first_of_a_page(client: TestClient) -> None:
    asked: dict[str, Any] = {"id": "roslin-castle", "copies": "apart"}
    above = sum(hit["above_chance"] for hit in client.get("/api/search", params={**asked, "k": 20}).json()["results"])
    first, second = (client.get("/results", params={**asked, "k": above, "page": page}).text for page in (1, 2))
    assert "Results below this line" not in first
    assert second.index("Results below this line") < second.index('<li class="card"')


def test_other_methods_have_no_headline_no_labels_and_no_line(client: TestClient) -> None:
    page = client.get("/results", params={"q": "'4CDEFGA", "matcher": "dp"}).text
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page) == ["Results 1 to 10"]
    for absent in ('class="meaning', "Results below this line", "by chance", "Nothing", "notes are few"):
        assert absent not in page


def test_exact_agreement_is_counted_above_the_list(client: TestClient) -> None:
    page = client.get("/results", params={"q": FRERE, "copies": "apart"}).text
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page) == ["Found"]
    count = client.get("/api/search", params={"q": FRERE}).json()["agreeing"]
    assert count >= 3
    assert f'<p class="verdict">{count} melodies have exactly these 11 notes.</p>' in page
    assert page.count('<strong class="meaning same"><a href="/about#labels">same notes</a></strong>') == count
    assert page.count('<p class="match">The same notes') == count
    assert 'id="labels"' in client.get("/about").text


def test_a_melody_of_the_collection_is_not_counted_as_its_own_match(client: TestClient) -> None:
    answer = client.get("/api/search", params={"id": "roslin-castle"}).json()
    same = [hit["same_notes"] for hit in answer["results"]]
    assert answer["agreeing"] == sum(notes == max(same) for notes in same) > 0


@pytest.mark.long
def test_few_notes_get_advice(client: TestClient) -> None:
    page = client.get("/results", params={"q": "'4CDEFGA"}).text
    advice = re.search(r'Only 6 notes: add more, or <a href="([^"]*)"[^>]*>search at the start</a>\.', page)
    assert advice
    started = client.get(unescape(advice[1]).replace("/?", "/results?")).text
    assert "at the start of each" in started
    assert "add more, or" not in started
    assert "add more" not in client.get("/results", params={"id": "roslin-castle"}).text


@pytest.mark.long
def test_exact_fragments_are_never_called_chance(client: TestClient) -> None:
    """Any passage of 6 to 20 notes, with and without its rhythm."""
    rng = np.random.default_rng(27)
    tunes = [melody for melody in load(tunes_path()) if len(melodic_line(melody)) >= 20]
    for size in range(6, 21):
        line = melodic_line(tunes[int(rng.integers(len(tunes)))])
        begin = int(rng.integers(len(line) - size + 1))
        notes = line[begin : begin + size]
        onsets = notes["onset_ticks"] / TICKS_PER_QUARTER
        lengths = notes["duration_ticks"] / TICKS_PER_QUARTER
        for times, durations in ((onsets, lengths), (np.arange(size), np.ones(size))):
            query = Melody.from_notes(times, durations, notes["pitch_midi"].tolist())
            text = written(query)
            assert text
            answer = client.get("/api/search", params={"q": text[1]}).json()
            assert answer["headline"] == "Found"
            assert answer["agreeing"] > 0
            assert answer["results"][0]["meaning"] == "same notes"


def test_nothing_close_is_the_first_thing_seen(client: TestClient) -> None:
    page = client.get("/results", params={"q": NONSENSE}).text
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page) == ["Nothing better than chance; the closest are shown"]
    assert page.index("Nothing better") < page.index("Results below this line") < page.index('<li class="card"')
    assert (
        page.index("Nothing better") < page.index("All notes of the query are equally long") < page.index("card query")
    )
    assert "Nothing better" not in client.get("/results", params={"id": "roslin-castle"}).text


def test_modes_are_kept_in_the_form_and_in_links(client: TestClient) -> None:
    asked: dict[str, Any] = {"q": FRERE, "compare": "melody", "place": "start", "key": "any"}
    page = client.get("/", params=asked).text
    for value in ("melody", "start", "any"):
        assert f'<option value="{value}" selected>' in page
    why = unescape(re.findall(r'href="(/explain[^"]*)"', page)[0])
    assert "compare=melody&place=start&key=any" in why
    assert "roslin(compare=&#39;melody&#39;, place=&#39;start&#39;)" in client.get(why).text
    refused = client.get("/", params={**asked, "matcher": "gam", "compare": "contour"})
    assert refused.status_code == 422
    assert "Gam cannot compare contours" in refused.text


def lines(client: TestClient, **asked: Any) -> list[dict[str, Any]]:
    answer = client.get("/results", params=asked, headers={"accept": "application/x-ndjson, text/html"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def test_results_as_lines(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far it is, rising, and last the same page as without lines; also when somebody wants no compression."""
    monkeypatch.setattr("roslin.web.library._LOOK_EVERY_SECONDS", 0.001)
    monkeypatch.setattr("roslin.search.refine.COMPARED_AT_ONCE", 4)
    told = lines(client, q=FRERE, matcher="alignment")
    shares = [line["done"] for line in told[:-1]]
    assert shares == sorted(set(shares))
    assert all(0 < share <= 1 for share in shares)
    assert told[-1]["page"] == client.get("/results", params={"q": FRERE, "matcher": "alignment"}).text
    plain = client.get(
        "/results", params={"q": FRERE}, headers={"accept": "application/x-ndjson", "accept-encoding": "identity"}
    )
    assert "content-encoding" not in plain.headers
    assert "<li class" in json.loads(plain.text.splitlines()[-1])["page"]


def test_a_refusal_as_a_line(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "mark of doubt" in lines(client, q="'4CDE?F", strict="true")[-1]["page"]

    def fail(*_: object) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr("roslin.web.pages.find", fail)
    told = lines(client, q=FRERE)
    assert "Something went wrong here" in told[-1]["page"]
    assert "secret" not in told[-1]["page"]


def test_no_two_elements_have_one_id(client: TestClient) -> None:
    found = re.findall(r'\sid="([^"]*)"', client.get("/", params={"q": FRERE}).text)
    assert len(found) == len(set(found))


def test_nothing_is_asked_yet(client: TestClient) -> None:
    page = client.get("/").text
    assert "Try one of these" in page
    assert all(example.name in page for example in examples())


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_every_example_finds_its_tune(client: TestClient, example: object) -> None:
    name, query = getattr(example, "name"), getattr(example, "q")  # noqa: B009
    found = client.get("/api/search", params={"q": query, "k": 1}).json()["results"]
    assert name in found[0]["title"]
    assert found[0]["distance"] < 0.35  # the beginning of a longer tune


def test_a_refused_query_stays_in_the_form(client: TestClient) -> None:
    answer = client.get("/", params={"q": "'4CDE?F", "matcher": "dp", "strict": "true"})
    assert answer.status_code == 422
    assert "&#39;4CDE?F</textarea>" in answer.text
    assert "mark of doubt" in answer.text
    assert '<option value="dp" data-summary' in answer.text


def test_other_refusals_are_pages(client: TestClient) -> None:
    for path in ("/melodies/nobody", "/nothing", "/explain?candidate=nobody&q='4CDE", "/?k=0", "/?matcher=magic&q=C"):
        answer = client.get(path)
        assert answer.status_code in (404, 422)
        assert "<h1>" in answer.text
        assert "That did not work" in answer.text
    assert "<html" not in client.get("/results?q=?").text


@pytest.mark.parametrize("matcher", offered())
def test_explain(client: TestClient, matcher: str) -> None:
    page = client.get("/explain", params={"q": FRERE, "candidate": "frere-jacques-2", "matcher": matcher}).text
    kind = roslin_matcher(matcher).kind
    assert "Corresponding notes" in page
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="flow"' in page
    assert ("Cost of each move" in page) == (kind == "transport")
    assert ("side by side</h2>" in page) == (kind == "alignment")
    assert ("Runs that both have" in page) == (kind == "grams" or matcher == "fm")
    assert ("Notes that coincide" in page) == (kind == "places")
    assert ("Contribution of each matcher" in page) == (kind == "sum")
    assert "matched note" in page


def test_an_explanation_says_how_sure_it_is(client: TestClient) -> None:
    asked = {"id": "roslin-castle", "candidate": "roslin-castle-2"}
    page = client.get("/explain", params=asked).text
    assert '<strong class="meaning same"><a href="/about#labels">same notes</a></strong>' in page
    assert "such matches expected by chance, among all 243 melodies." in page
    listed = client.get("/api/search", params={"id": "roslin-castle"}).json()["results"]
    (result,) = [each for each in listed if each["id"] == "roslin-castle-2"]
    assert (result["meaning"], result["same_notes"]) == ("same notes", 35)
    for more in ({"matcher": "orio"}, {"matcher": "dp", "place": "start"}):
        assert 'class="meaning' not in client.get("/explain", params={**asked, **more}).text


def test_the_way_back_from_an_explanation_is_the_whole_search(client: TestClient) -> None:
    asked: dict[str, Any] = {
        "q": FRERE,
        "matcher": "dp",
        "place": "start",
        "words": "e",
        "note_count": "3..",
        "page": 2,
    }
    page = client.get("/", params={**asked, "k": 5}).text
    why = unescape(re.findall(r'href="(/explain[^"]*)"', page)[0])
    back = unescape(re.findall(r'href="([^"]*)">Back to the results', client.get(why).text)[0])
    assert dict(parse_qsl(urlsplit(back).query)) == {name: str(value) for name, value in {**asked, "k": 5}.items()}
    assert client.get(back).text.partition("</main>")[0] == page.partition("</main>")[0]


def test_one_melody_and_about(client: TestClient) -> None:
    page = client.get("/melodies/roslin-castle").text
    assert "G minor" in page
    assert "/?id=roslin-castle" in page
    about = client.get("/about").text
    assert "Earth Mover" in about


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A collection whose every text wants to be more than text."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.roslin"
    said = dict.fromkeys(("title", "composer", "voice", "key", "text", "source"), HOSTILE)
    tune = load(FRERE)[0].with_metadata(id="a/b?c#d <i>", extra={"<b>": HOSTILE}, **said)
    empty = Melody.from_notes([], [], [], id="empty")
    Collection.build([tune, empty], path).close()
    settings = Settings(str(path), log_requests=False, title="<b>T</b>", link="https://x.org/{title}")
    with TestClient(create_app(settings)) as client:
        yield client


def test_metadata_is_only_text(hostile: TestClient) -> None:
    pages = [
        hostile.get("/", params={"q": FRERE}),
        hostile.get("/melodies/a%2Fb%3Fc%23d%20%3Ci%3E"),
        hostile.get("/explain", params={"q": FRERE, "candidate": "a/b?c#d <i>", "matcher": "emd"}),
        hostile.get("/", params={"id": "a/b?c#d <i>"}),
        hostile.get("/", params={"q": HOSTILE}),
    ]
    for page in pages:
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert "{{7" not in page.text or "{{7*7}}" in page.text  # not computed
        assert "<b>T</b>" not in page.text
    assert [page.status_code for page in pages] == [200, 200, 200, 200, 422]
    assert (
        hostile.get("/api/melodies/a%2Fb%3Fc%23d%20%3Ci%3E").json()["link"].startswith("https://x.org/%22%3E%3Cscript")
    )


def test_citations_and_tables_are_only_text(hostile: TestClient) -> None:
    citations = hostile.get("/api/search", params={"q": FRERE, "format": "citations", "k": 1}).text
    assert "\\{\\{7*7\\}\\}" in citations
    assert citations.count("\n") == len(citations.splitlines())


@pytest.mark.long
def test_a_formula_in_a_title_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "formula.roslin"
    Collection.build([load(FRERE)[0].with_metadata(id="x", title="=1+1")], path).close()
    with TestClient(create_app(Settings(str(path), log_requests=False))) as client:
        assert ",'=1+1," in client.get("/api/search", params={"q": FRERE, "format": "csv"}).text


def test_a_melody_without_notes_is_listed(hostile: TestClient) -> None:
    found = hostile.get("/api/search", params={"q": FRERE}).json()["results"]
    assert found[-1]["id"] == "empty"
    assert found[-1]["match"]["sentence"] == "The melody has no notes."
    assert hostile.get("/", params={"q": FRERE}).status_code == 200
    for matcher in ("twv", "dp", "roslin", "fm", "us"):
        asked = {"q": FRERE, "candidate": "empty", "matcher": matcher}
        assert "The melody has no notes." in hostile.get("/explain", params=asked).text


@pytest.mark.long
def test_a_tune_found_by_the_notes_that_coincide_is_explained_by_them(client: TestClient) -> None:
    roslin_melody = next(each for each in load(tunes_path()) if each.id == "roslin-castle")
    tune = melodic_line(roslin_melody)
    usual = float(np.median(tune["duration_ticks"]))
    onsets, durations, pitches = [], [], []
    for onset, duration, pitch in tune[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist():
        figure = [pitch, pitch, pitch + 2, pitch] if duration >= usual else [pitch]
        time = duration / len(figure) / TICKS_PER_QUARTER
        onsets += [onset / TICKS_PER_QUARTER + k * time for k in range(len(figure))]
        durations += [time] * len(figure)
        pitches += figure
    query = write_jsonl(Melody.from_notes(onsets, durations, pitches))
    asked = {"q": query, "notation": "jsonl"}
    answer = client.get("/api/search", params=asked).json()
    first = next(hit for hit in answer["results"] if hit["id"] == roslin_melody.id)
    assert (first["meaning"], first["coincides"]) == ("same tune", True)
    assert len(first["match"]["query_notes"]) == len(tune)
    assert any("found by the notes that coincide in time" in remark for remark in answer["remarks"])
    page = client.get("/explain", params={**asked, "candidate": roslin_melody.id}).text
    assert "<code>p2</code>" in page

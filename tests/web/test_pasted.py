"""Real incipits, pasted as they stand into the command line and into the page; texts that have two readings."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.web.pasting import LEAST_SEARCHED, Pasted, paste, texts

from roslin.web.sentences import expected_number

COUNT = 400


@pytest.fixture(scope="module")
def pasted(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Pasted]:
    sample = texts(data_folder / "rism" / "incipits.jsonl.gz", COUNT)
    return list(paste(sample, tmp_path_factory.mktemp("pasted")))


@pytest.mark.long
def test_nearly_all_are_searched(pasted: list[Pasted]) -> None:
    refused = [(each.text, each.refusal) for each in pasted if not (each.in_terminal and each.on_page)]
    assert len(refused) <= (1 - LEAST_SEARCHED) * COUNT, refused


@pytest.mark.long
def test_what_is_read_otherwise_is_shown(pasted: list[Pasted]) -> None:
    assert [(each.text, each.unsaid) for each in pasted if each.unsaid] == []


@pytest.mark.long
def test_the_sample_has_what_catalogues_have(pasted: list[Pasted]) -> None:
    kinds = {kind for each in pasted for kind in each.kinds}
    assert {
        "octave marks written with a double quote",
        "bars of rest written with -",
        "sharp not written as x",
        "slur written y...z",
        "unreadable clef",
    } <= kinds
    assert 0.25 < sum(bool(each.kinds) for each in pasted) / COUNT < 0.5


@pytest.mark.long
def test_a_text_of_two_meanings_is_searched_for_in_both_and_the_page_tells_which_is_shown(client: TestClient) -> None:
    asked: dict[str, str | int] = {"q": "g2 a2 b2 g2 g2 a2 b2 g2 b2 c3 d3", "k": 3}
    answer = client.get("/api/search", params=asked).json()
    readings = {name: client.get("/api/search", params=asked | {"notation": name}).json() for name in ("abc", "names")}
    surest = min(readings, key=lambda name: readings[name]["results"][0]["expected"])
    assert [each["id"] for each in answer["results"]] == [each["id"] for each in readings[surest]["results"]]
    for both, alone in zip(answer["results"], readings[surest]["results"], strict=True):
        assert both["expected"] == pytest.approx(2 * alone["expected"])
    assert surest == "names"
    [told] = [remark for remark in answer["remarks"] if "choose the notation abc" in remark]
    page = client.get("/", params=asked).text
    assert told in page
    assert answer["results"][0]["id"] == "frere-jacques"
    assert "as note names: G2 A2 B2 G2" in page


def test_notes_repeated_where_a_tune_has_long_ones_find_it_on_the_page(client: TestClient) -> None:
    answer = client.get("/api/search", params={"q": "%G-2 '8DD8.GG8AbBBAG''8.DD8bE", "k": 3}).json()
    assert answer["results"][0]["id"].startswith("roslin-castle")
    assert answer["results"][0]["meaning"] == "same notes"
    assert answer["query_notes"] == 8
    assert any("read as ties" in remark for remark in answer["remarks"])


@pytest.mark.parametrize(
    "typed",
    [
        "%G-2 '8DD8.GG8AbBBAG''8.DD8bE",  # with ties
        "a bb a d a g a g d g",  # with leaps of a fourth upwards
        "g2 a2 b2 g2 g2 a2 b2 g2 b2 c3 d3",  # as names, not as ABC
    ],
)
def test_a_result_is_explained_by_the_reading_that_found_it_with_its_number(client: TestClient, typed: str) -> None:
    first = client.get("/api/search", params={"q": typed}).json()["results"][0]
    why = client.get("/api/explain", params={"q": typed, "candidate": first["id"]}).json()
    assert why["distance"] == pytest.approx(first["distance"])
    page = client.get("/explain", params={"q": typed, "candidate": first["id"]}).text
    assert expected_number(first["expected"]) in page

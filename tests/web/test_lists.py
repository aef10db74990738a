"""Lists that are narrowed, ordered and folded: by the API, and as pages without any script."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.web.catalogue import FRERE, HOSTILE

from roslin.web.settings import Settings


@pytest.fixture(scope="module")
def settings(catalogue_settings: Settings) -> Settings:
    return catalogue_settings


def search(client: TestClient, **asked: Any) -> Any:
    return client.get("/api/search", params={"q": FRERE, **asked}).json()


def ids(answer: Any) -> list[str]:
    return [hit["id"][:3] for hit in answer["results"]]


def counts(answer: Any, field: str) -> dict[str, int]:
    (facet,) = (each for each in answer["facets"] if each["field"] == field)
    return {value["label"]: value["count"] for value in facet["values"]}


def test_facets_are_counted_above_the_line(client: TestClient) -> None:
    """The sixth melody is no more alike than chance; where chance is unknown, everything is counted."""
    answer = search(client, facets=True, k=2)
    assert len(answer["results"]) == 2
    assert answer["counted"] == answer["left"] == 5
    assert answer["is_counted_whole"]
    assert counts(answer, "composer") == {"Grétry, André": 2, "Anonymus": 1, "Bach, Johann": 1, HOSTILE: 1}
    assert counts(answer, "century") == {"18": 3, "19": 1}
    answer = search(client, facets=True, k=2, matcher="dp")
    assert answer["counted"] == answer["left"] == 6
    assert answer["is_counted_whole"]
    assert counts(answer, "composer") == {
        "Grétry, André": 2, "Anonymus": 1, "Bach, Johann": 1, "Bach, Johann Sebastian": 1, HOSTILE: 1,
    }  # fmt: skip
    assert counts(answer, "key") == {"C major": 3, "G major": 1, "G minor": 1, "C minor": 1}
    assert counts(answer, "library") == {"D-B": 2, "D-Dl": 2, "F-Pn": 1, "CZ-Bu": 1}
    assert counts(answer, "century") == {"18": 4, "19": 1}
    (century,) = (each for each in answer["facets"] if each["field"] == "century")
    assert century["unknown"] == 1
    plain = search(client, k=2)
    assert plain["facets"] is plain["counted"] is None


def test_a_choice_leaves_as_many_as_its_count_says(client: TestClient) -> None:
    """Every value of every facet; ranks and numbers of chance matches stay those of the whole list."""
    everything = search(client, facets=True)
    by_id = {hit["id"]: hit for hit in everything["results"]}
    for facet in everything["facets"]:
        for value in facet["values"]:
            left = search(client, only=f"{facet['field']}={value['value']}")
            assert left["left"] == sum(hit["above_chance"] for hit in left["results"]) == value["count"]
            assert [hit["above_chance"] for hit in left["results"]] == sorted(
                (hit["above_chance"] for hit in left["results"]), reverse=True
            )
            assert all(hit == by_id[hit["id"]] for hit in left["results"])


def test_choices_are_combined(client: TestClient) -> None:
    assert ids(search(client, only=["library=D-DL", "library=f-pn"])) == ["100", "101", "103"]
    answer = search(client, only=["library=D-Dl", "century=18", "composer=gretry, andre"], facets=True)
    assert ids(answer) == ["101"]
    assert counts(answer, "library") == {"D-Dl": 1, "F-Pn": 1}
    assert counts(answer, "composer") == {"Grétry, André": 1, "Bach, Johann": 1}
    assert ids(search(client, words="tune 10", only="century=19")) == ["102"]
    assert ids(search(client, composer="bach", only="key=g-Moll")) == ["105"]


@pytest.mark.parametrize("only", ["key", "colour=red", "century=soon"])
def test_choices_that_cannot_be(client: TestClient, only: str) -> None:
    answer = client.get("/api/search", params={"q": FRERE, "only": only})
    assert answer.status_code in (404, 422)
    assert "Traceback" not in answer.text


def test_orders(client: TestClient) -> None:
    nearest = ids(search(client))
    assert nearest[:2] == ["100", "101"]
    by_composer, by_date = ["104", "102", "103", "105", "100", "101"], ["103", "105", "100", "101", "102", "104"]
    assert ids(search(client, order="composer", matcher="dp")) == by_composer
    assert ids(search(client, order="date", matcher="dp")) == by_date
    assert ids(search(client, order="date", k=2, page=2, matcher="dp")) == ["100", "101"]
    below = "105"  # the one below the line stays there
    assert ids(search(client, order="composer")) == [*(id for id in by_composer if id != below), below]
    assert ids(search(client, order="date", k=3, page=2)) == ["102", "104", below]


def test_copies_share_a_line(client: TestClient) -> None:
    """Those of another key are copies, too; the nearest stands for all."""
    answer = search(client, copies="together", facets=True)
    copies = {hit["id"][:3]: [copy["id"][:3] for copy in hit["copies"]] for hit in answer["results"]}
    assert copies == {"100": ["101", "102"], "103": ["104"], "105": []}
    assert ids(answer)[0] == "100"
    assert answer["results"][0]["copies"][0]["library"] == "D-Dl"
    assert answer["left"] == 5
    assert all(hit["copies"] == [] for hit in search(client)["results"])
    assert ids(search(client, copies="together", only="library=CZ-Bu")) == ["102"]


def test_melodies_without_a_query(client: TestClient) -> None:
    answer = client.get("/api/melodies", params={"words": "tune", "only": "century=18", "facets": True, "k": 2}).json()
    assert (answer["searched"], answer["left"], answer["has_more"]) == (6, 4, True)
    assert [each["id"][:3] for each in answer["melodies"]] == ["100", "101"]
    assert counts(answer, "library") == {"D-Dl": 2, "D-B": 1, "F-Pn": 1}
    assert client.get("/api/melodies").json()["searched"] == 6
    assert client.get("/api/melodies", params={"page": 100, "k": 100}).status_code == 422


# -- pages ------------------------------------------------------------------------------------------------------------


def links(page: str, label: str) -> list[str]:
    found = re.findall(rf'<a href="([^"]+)"[^>]*>(?:(?!</a>).)*{re.escape(label)}', page, re.DOTALL)
    return [unescape(address) for address in found]


def test_a_page_is_narrowed_by_links(client: TestClient) -> None:
    page = client.get("/", params={"q": FRERE}).text
    assert "Counted over the 5 melodies that are better than chance." in page
    assert "Download the 5 melodies above the line:" in page
    (table,) = links(page, "CSV")
    assert client.get(table).text.count("\r\n") == 1 + 5
    (narrow,) = links(page, "C major")
    narrowed = client.get(narrow).text
    assert "3 of 5 are shown." in narrowed
    assert "Counted over all 6 melodies of the list." in client.get("/", params={"q": FRERE, "matcher": "dp"}).text
    assert "chosen:" in narrowed
    wider = links(narrowed, "C major")  # the chip, and the facet
    assert len(wider) == 2
    for address in wider:
        assert "of 5 are shown" not in client.get(address).text
    assert "1700–1799" in page
    assert "C (4/4)" not in page


def test_a_page_folds_copies_and_can_unfold_them(client: TestClient) -> None:
    page = client.get("/", params={"q": FRERE}).text
    assert "The same notes in 2 other sources: D-Dl, CZ-Bu" in page
    assert page.count('<li class="card"') == 3
    (apart,) = links(page, "List them one by one")
    assert client.get(apart).text.count('<li class="card"') == 6
    (together,) = links(client.get(apart).text, "Put those with the same notes on one line")
    assert client.get(together).text.count('<li class="card"') == 3


def test_words_alone_list_melodies(client: TestClient) -> None:
    page = client.get("/", params={"words": "gretry"}).text
    assert "2 melodies" in page
    assert page.count('<li class="card"') == 2
    assert "Counted over all 2 melodies that the filters leave." in page
    (narrow,) = links(page, "F-Pn")
    assert "One melody" in client.get(narrow).text
    assert "No melody was found" in client.get("/", params={"words": "nobody"}).text
    refused = client.get("/", params={"words": "tune", "contour_cost": "3"})
    assert refused.status_code == 422
    assert "Contour_cost without LETTERS= needs a query" in unescape(refused.text)


def test_what_catalogues_say_is_only_ever_text(client: TestClient) -> None:
    chosen = f"composer={HOSTILE}"
    searches: list[dict[str, Any]] = [{"q": FRERE}, {"words": "tune"}, {"words": "tune", "only": chosen}]
    for asked in searches:
        page = client.get("/", params=asked).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


# -- side by side -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_methods_side_by_side(client: TestClient) -> None:
    """What both found says so in both columns; what one cannot do it says in its own."""
    page = client.get("/", params={"q": FRERE}).text
    (address,) = links(page, "Compare matchers side by side")
    both = client.get(address).text
    lists = [search(client, matcher=name)["results"] for name in ("roslin", "dp")]
    first, second = ({hit["id"] for hit in found} for found in lists)
    assert both.count("Also found by matcher 2.") == both.count("Also found by matcher 1.") == len(first & second) == 6
    asked: dict[str, Any] = {"q": FRERE, "compare": "contour", "methods": ["roslin", "dp", "nobody"]}
    mixed = unescape(client.get("/side-by-side", params=asked).text)
    assert "Dp cannot compare contours" in mixed
    assert "nobody" in mixed
    assert mixed.count("Only here.") == 6
    assert "Search for a melody first" in client.get("/side-by-side").text
    assert client.get("/side-by-side", params={"q": FRERE, "methods": list("abcd")}).status_code == 422

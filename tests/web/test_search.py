"""What a search says about each of its results, and an explanation in its search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from roslin import Collection, Melody, load, matcher, matchers
from roslin.collection.store import Store
from roslin.deadline import Work, check_stopped, stop_flag
from roslin.matchers import DEFAULT_MATCHER, MATCHERS, Explanation, Matcher
from roslin.notation.pae import write
from roslin.represent.packed import Packed
from roslin.run import Run
from roslin.search import Request, search
from roslin.types import Distances
from roslin.web.answers import MatchAnswer
from roslin.web.app import create_app
from roslin.web.library import Library, Wait
from roslin.web.requests import ExplainParams, SearchParams, offered, query_of
from roslin.web.search import explain, find
from roslin.web.settings import Settings

FRERE = "%G-2@4/4 '4CDEC/CDEC/EF2G/"


@pytest.fixture(scope="module")
def library(settings: Settings) -> Iterator[Library]:
    opened = Library(settings)
    yield opened
    opened.close()


def matches(library: Library, name: str, **asked: Any) -> dict[str, MatchAnswer]:
    found = find(library, SearchParams(q=FRERE, matcher=name, **asked), Wait())
    return {str(result.melody.id): result.match for result in found.answer.results if result.match}


def why_found(library: Library, asked: ExplainParams) -> Explanation:
    return explain(library, asked, query_of(asked, library.collection, library.settings))


def test_a_query_upside_down_and_backwards(client: TestClient, library: Library) -> None:
    tune = library.collection["ode-to-joy"]
    for direction, turned in (
        ("inverted", tune.inverted()),
        ("retrograde", tune.retrograde()),
        ("both", tune.inverted().retrograde()),
    ):
        asked: dict[str, Any] = {"q": write(turned), "direction": direction, "k": 5}
        [first, *_] = client.get("/api/search", params=asked).json()["results"]
        assert (first["id"], first["meaning"]) == ("ode-to-joy", "same notes")
        page = client.get("/", params=asked).text
        assert f'<option value="{direction}" selected>' in page
        why = unescape(re.findall(r'href="(/explain[^"]*)', page)[0])
        assert f"direction={direction}" in why
        assert "The same notes" in client.get(why).text
    mirror = client.get("/api/search", params={"id": "ode-to-joy", "direction": "inverted", "k": 1}).json()
    assert mirror["results"][0]["id"] != "ode-to-joy"
    assert client.get("/api/search?q=cdec&direction=up").status_code == 422


def test_what_is_offered() -> None:
    assert set(matchers()) <= set(offered())
    for text in offered():
        assert repr(matcher(text)) == text


@pytest.mark.parametrize("name", matchers())
def test_a_match_says_what_the_explanation_says(library: Library, name: str) -> None:
    first, match = next(iter(matches(library, name).items()))
    why = why_found(library, ExplainParams(q=FRERE, matcher=name, candidate=first))
    assert match == MatchAnswer.model_validate(why)
    assert match.kind == matcher(name).kind
    assert (why.query.notes == load(FRERE)[0].notes).all()
    assert why.candidate == library.collection[first]


def test_a_sum_is_told_by_what_counts_most_in_it(library: Library) -> None:
    match = matches(library, "fm")["frere-jacques"]
    assert match.sentence.startswith("By ngrukkon, which counts most: ")
    assert (match.kind, match.transposition, match.tempo) == ("sum", 0, 1)


def test_only_the_beginning_is_explained(library: Library) -> None:
    asked = ExplainParams(q="'4CDEC", matcher="dp", candidate="frere-jacques", place="start")
    why = why_found(library, asked)
    assert max(row for step in why.steps for row in step.candidate_notes) == 4
    assert len(why.candidate) > 5


@dataclass(frozen=True, repr=False)
class Backwards(Matcher):
    """A matcher of somebody else, which needs to see all candidates and says nothing about how it measures."""

    name = "backwards"
    summary = "The last melody is the nearest."
    reference = "none"

    @property
    def is_independent(self) -> bool:
        return False

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return np.arange(len(candidates), 0, -1, dtype=np.float64)


@pytest.mark.usefixtures("registries")
def test_a_matcher_without_rules_is_shown_by_an_aid(library: Library) -> None:
    MATCHERS.register(Backwards)
    match = matches(library, "backwards", title="Jacques")["frere-jacques-2"]
    assert match.kind == "likeness"
    assert match.sentence.startswith("As a visual aid, notes side by side: ")
    why = why_found(library, ExplainParams(q=FRERE, matcher="backwards", candidate="frere-jacques-2"))
    assert (why.kind, why.leading is not None) == ("likeness", True)
    assert why.distance == 243 - library.collection.numbers(["frere-jacques-2"])[0]


@dataclass(frozen=True, repr=False)
class Endless(Backwards):
    """Quick to compare; the time of a search ends before it knows the notes that match."""

    name = "endless"
    kind = "alignment"

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation | None:
        stop_flag()[0] = True
        check_stopped()
        return None


@pytest.mark.usefixtures("registries")
def test_the_notes_that_match_are_looked_for_within_the_time_of_the_search(settings: Settings) -> None:
    MATCHERS.register(Endless)
    with TestClient(create_app(settings)) as client:
        asked: dict[str, Any] = {"q": FRERE, "matcher": "endless", "k": 3}
        answer = client.get("/api/search", params=asked).json()
        assert [result["match"] for result in answer["results"]] == [None] * 3
        assert answer["is_complete"], "all melodies were compared"
        page = client.get("/results", params=asked).text
        assert page.count("The time limit was reached before the notes were compared.") == 3
        refused = client.get("/api/explain", params={"q": FRERE, "matcher": "endless", "candidate": "frere-jacques"})
        assert refused.status_code == 503
        assert refused.json()["error"]["message"] == "the explanation was stopped after 600 seconds"
        library: Library = client.app.state.library  # type: ignore[attr-defined]
        found = find(library, SearchParams(**asked), Wait())
        assert not found.is_complete
        assert find(library, SearchParams(**asked), Wait()) is not found, "the next one may be better"


def test_an_identification_shows_its_matches_within_the_time_of_the_search(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MATCHERS[DEFAULT_MATCHER], "_explain", Endless._explain)
    with TestClient(create_app(settings)) as client:
        answer = client.get("/identify", params={"q": FRERE})
        assert answer.status_code == 200
        assert "frere-jacques" in answer.text
        assert 'class="match' not in answer.text


def test_very_long_melodies(settings: Settings, tmp_path: Path) -> None:
    """Beyond 20,000 pairs of notes weight is not moved, beyond 250,000 nothing is laid side by side."""
    path, pitches = tmp_path / "long.roslin", [60, 62, 64, 65]
    tunes = [
        Melody.from_notes(range(4 * count), [1] * (4 * count), pitches * count, id=str(count)) for count in (60, 600)
    ]
    Collection.build(tunes, path).close()
    library = Library(replace(settings, collection=str(path)))
    for name, sentences in (
        (
            "emd",
            ("As a visual aid, notes side by side: 240 agree;", "The two melodies are too long to be shown side by"),
        ),
        ("dp", ("Notes side by side: 240 agree;", "The two melodies are too long to be shown side by side.")),
    ):
        asked: dict[str, Any] = {"id": "60", "matcher": name}
        explained = [why_found(library, ExplainParams(**asked, candidate=candidate)) for candidate in ("60", "600")]
        for why, sentence in zip(explained, sentences, strict=True):
            assert why.sentence.startswith(sentence)
            among = [library.collection[str(why.candidate.id)]]
            assert why.distance == pytest.approx(matcher(name).distances(library.collection["60"], among)[0])
        (result,) = find(library, SearchParams(**asked), Wait()).answer.results
        assert result.match is not None
        assert result.match.sentence == explained[1].sentence
        assert result.match.kind == "likeness"
    library.close()


def test_all_readings_of_a_query_share_one_limit_of_time(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[float] = []

    def measured(request: Request, collection: Store, work: Work) -> Run:
        allowed.append(work.seconds or 0.0)
        return search(request, collection, work)

    monkeypatch.setattr("roslin.web.search.search", measured)
    library = Library(settings)
    found = find(library, SearchParams(q="g g c b a g c e g e c d c"), Wait())
    library.close()
    assert found.readings >= len(allowed) >= 4
    assert settings.search_seconds >= allowed[0]
    assert allowed == sorted(allowed, reverse=True)
    assert len(set(allowed)) == len(allowed)

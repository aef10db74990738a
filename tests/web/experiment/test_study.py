"""The study that is served: settings, limits, and what is refused."""

from __future__ import annotations

import pytest

from roslin.errors import ArgumentError, DecisionError, UnknownNameError
from roslin.experiment.plan import Item, Task
from roslin.web.experiment.study import ExperimentSettings, OpenStudy, ShownTrial
from roslin.web.experiment.trials import DecisionsBody, decided


def test_settings_travel_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ExperimentSettings(
        "/srv/airs.study",
        "postgresql://x/y",
        "https://s.example",
        hosts=("s.example",),
        requests_per_minute=5,
    )
    monkeypatch.setenv(ExperimentSettings.variable, settings.to_environment())
    assert ExperimentSettings.from_environment() == settings


@pytest.mark.parametrize("address", ["study.example.org", "ftp://a.example", "https://", "https://a.example/?b", "x"])
def test_a_public_address_is_one(address: str) -> None:
    with pytest.raises(ArgumentError, match=r"must be one like https://study\.example\.org; got"):
        ExperimentSettings("folder", public_address=address)


def test_a_public_address_may_have_a_path() -> None:
    assert ExperimentSettings("folder", public_address="https://a.example/b/c/").root_path == "/b/c"
    with pytest.raises(ArgumentError, match="a root path must be like /tunes"):
        ExperimentSettings("folder", public_address="https://a.example/b c")


@pytest.mark.parametrize("place", ["2", "-1", "", "x", "0x1", "\u0661", "1.0"])
def test_places_are_numbers_of_what_was_shown(place: str) -> None:
    shown = ShownTrial(Task(Item("q"), (Item("a"), Item("b"))), ("b", "a"))
    assert shown.item("0").id == "b"
    assert shown.item("query").id == "q"
    with pytest.raises(UnknownNameError, match="unknown candidate"):
        shown.item(place)


def test_what_is_not_there(study: OpenStudy) -> None:
    name = study.store.invite()[0].name
    with pytest.raises(UnknownNameError, match="unknown trial '1'"):
        study.state(name, 1)
    study.store.begin(name)
    who = study.participants.begun(name)
    wrong = DecisionsBody.model_validate({"decisions": [{"key": "k", "kind": "heard", "document": 6}]})
    with pytest.raises(DecisionError, match="was not shown; there are 6"):
        decided(study, who, 1, wrong)

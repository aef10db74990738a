"""Signatures and settings: known values, limits, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.errors import ArgumentError, DecisionError, UnknownNameError
from roslin.experiment.plan import Item, Task
from roslin.web.experiment.links import StudySignatures
from roslin.web.experiment.schemas import DecisionsBody
from roslin.web.experiment.settings import STUDY_VARIABLE, ExperimentSettings
from roslin.web.experiment.study import OpenStudy, ShownTrial
from roslin.web.experiment.trials import decided
from roslin.web.experiment.visitor import Visitor

KEY = bytes(range(32))


def test_a_signature_is_hmac_sha256() -> None:
    made = hmac.new(KEY, b"link\x000123456789abcdef0123", hashlib.sha256).digest()[:16]
    signature = base64.urlsafe_b64encode(made).decode().rstrip("=")
    assert StudySignatures(KEY).link("0123456789abcdef0123") == f"0123456789abcdef0123-{signature}"
    assert len(signature) == 22


def test_each_purpose_and_each_key_has_its_own() -> None:
    ours, theirs = StudySignatures(KEY), StudySignatures(bytes(32))
    made = {
        signer.of(purpose, text)
        for signer in (ours, theirs)
        for purpose in ("link", "session", "form", "ticket", "queue")
        for text in ("a", "b", "")
    }
    assert len(made) == 30


@given(st.text(max_size=120))
def test_no_text_is_a_link_or_a_session(text: str) -> None:
    signer = StudySignatures(KEY)
    assert signer.name_in_link(text) is None
    assert signer.name_in_session(text) is None
    assert signer.name_in_ticket(text) is None
    assert not signer.is_form("session", text)


def test_a_session_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    signer = StudySignatures(KEY, session_days=2)
    monkeypatch.setattr("roslin.web.experiment.links.time.time", lambda: 1_000_000.0)
    session = signer.new_session("abc")
    assert signer.new_session("abc") != session, "each is new"
    for later, name in [(0, "abc"), (2 * 86_400, "abc"), (2 * 86_400 + 1, None)]:
        monkeypatch.setattr("roslin.web.experiment.links.time.time", lambda later=later: 1_000_000.0 + later)
        assert signer.name_in_session(session) == name
    assert signer.is_form(session, signer.form(session))
    assert not signer.is_form(signer.new_session("abc"), signer.form(session))


def test_settings_travel_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ExperimentSettings("/srv/airs.study", "postgresql://x/y", "https://s.example", ("s.example",), 5)
    monkeypatch.setenv(STUDY_VARIABLE, settings.to_environment())
    assert ExperimentSettings.from_environment() == settings


@pytest.mark.parametrize("address", ["study.example.org", "ftp://a.example", "https://", "https://a.example/b", "x"])
def test_a_public_address_is_one(address: str) -> None:
    with pytest.raises(ArgumentError, match=r"must be one like https://study\.example\.org; got"):
        ExperimentSettings("folder", public_address=address)


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
    who = Visitor(name, "", "")
    wrong = DecisionsBody.model_validate({"decisions": [{"key": "k", "kind": "heard", "document": 6}]})
    with pytest.raises(DecisionError, match="was not shown; there are 6"):
        decided(study, who, 1, wrong)

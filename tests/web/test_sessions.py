"""SessionSigner and sessions: one key for each purpose, limits of time, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from http.cookies import SimpleCookie

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from roslin.web.sessions import Session, Sessions, SessionSigner

KEY = bytes(range(32))


def sessions(key: bytes = KEY, cookie: str = "who", secret: Callable[[], bytes] = bytes) -> Sessions:
    return Sessions(key, cookie, 2 * 86_400, secret=secret)


def test_a_signature_is_hmac_sha256_with_a_key_for_its_purpose() -> None:
    own_key = hmac.new(KEY, b"link", hashlib.sha256).digest()
    made = hmac.new(own_key, b"0123456789abcdef0123", hashlib.sha256).digest()
    signature = base64.urlsafe_b64encode(made).decode().rstrip("=")
    token = SessionSigner(KEY).token("link", "0123456789abcdef0123")
    assert token == f"0123456789abcdef0123.{signature}"
    assert SessionSigner(KEY).of("link", "0123456789abcdef0123") == signature
    assert len(signature) == 43


def test_each_purpose_and_each_key_has_its_own() -> None:
    ours, theirs = SessionSigner(KEY), SessionSigner(bytes(32))
    made = {
        signer.of(purpose, text)
        for signer in (ours, theirs)
        for purpose in ("link", "session", "form", "ticket", "queue")
        for text in ("a", "b", "")
    }
    assert len(made) == 30
    assert ours.is_of("form", "a", ours.of("form", "a"))
    assert not ours.is_of("form", "a", ours.of("link", "a"))


@given(st.text(max_size=120))
def test_no_text_is_a_token_or_a_session(text: str) -> None:
    signer, people = SessionSigner(KEY), sessions()
    assert signer.text("link", text) is None
    assert signer.text("ticket", text) is None
    assert people.of({"who": text}) is None
    assert not people.is_form(people.begun("ada"), text)


def test_a_session_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    people = sessions()
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: 1_000_000.0)
    session = people.begun("abc")
    assert people.begun("abc").token != session.token, "each is new"
    for later, name in [(0, "abc"), (2 * 86_400, "abc"), (2 * 86_400 + 1, None)]:
        monkeypatch.setattr("itsdangerous.timed.time.time", lambda later=later: 1_000_000.0 + later)
        found = people.of({"who": session.token})
        assert (found and found.name) == name
    assert people.is_form(session, session.form)
    assert not people.is_form(people.begun("abc"), session.form)


def test_sessions_belong_to_one_key_one_cookie_and_one_secret() -> None:
    token = sessions().begun("ada").token
    assert sessions().of({"who": token}) is not None
    others = [sessions(bytes(32)), sessions(secret=lambda: b"new password")]
    assert [other.of({"who": token}) for other in others] == [None, None]
    assert sessions(cookie="other").of({"other": token}) is None
    assert sessions().of({}) is None


@pytest.mark.parametrize(
    ("name", "language"), [("ada", ""), ("Clara Schumann-Wieck", "de"), ("Ø. Ål: 1.2", "en"), ("", "")]
)
def test_the_cookie_holds_name_and_language(name: str, language: str) -> None:
    people, response = sessions(), Response()
    people.remember(response, people.begun(name, language), is_secure=True)
    header = response.headers["set-cookie"]
    assert all(part in header for part in ("HttpOnly", "Secure", "SameSite=strict", "Max-Age=172800"))
    found = people.of({"who": SimpleCookie(header)["who"].value})
    assert isinstance(found, Session)
    assert (found.name, found.language, found.is_new) == (name, language, False)

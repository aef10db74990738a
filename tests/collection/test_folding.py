"""Text as filters compare it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.collection.folding import FOLDED_FIELDS, fold, folded_field, folded_metadata
from roslin.melody import Melody


def test_forms_of_one_name() -> None:
    names = ("Grétry", "GRÉTRY", "gretry", unicodedata.normalize("NFD", "Grétry"), "  Grétry ")
    assert {fold(name) for name in names} == {"gretry"}
    assert [fold(name) for name in ("Dvořák", "Händel", "Straße", "Łódź", "Ærø", "Œuvre", "d’amour")] == [
        "dvorak",
        "handel",
        "strasse",
        "lodz",
        "aero",
        "oeuvre",
        "d'amour",
    ]


@pytest.mark.long
@given(st.text())
def test_folding_twice_changes_nothing_and_forms_do_not_matter(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


def test_a_key_is_folded_to_its_name() -> None:
    assert folded_field("key", "g-Moll") == folded_field("key", "g") == "g minor"
    assert folded_field("key", "2e Mode") == "2e mode"
    melody = Melody.from_notes([0], [1], [60], title="É", key="Bb", text="")
    assert dict(zip(FOLDED_FIELDS, folded_metadata(melody), strict=True)) == {
        **dict.fromkeys(FOLDED_FIELDS), "title": "e", "key": "b flat major",
    }  # fmt: skip


def test_what_catalogues_say_beside_the_fields() -> None:
    said = {"siglum": "CZ-Bu", "scoring": "S, Órg", "date": "[174-?]"}
    melody = Melody.from_notes([0], [1], [60], source="dump", extra=said)
    folded = dict(zip(FOLDED_FIELDS, folded_metadata(melody), strict=True))
    assert {name: folded[name] for name in ("library", "scoring", "date")} == {
        "library": "cz-bu", "scoring": "s, org", "date": "1740",
    }  # fmt: skip
    bare = Melody.from_notes([0], [1], [60], source="dump", extra={"date": "n.d."})
    folded = dict(zip(FOLDED_FIELDS, folded_metadata(bare), strict=True))
    assert (folded["library"], folded["date"]) == ("dump", None)

"""The names of keys: many spellings, one key."""

from __future__ import annotations

import unicodedata

import pytest

from roslin.represent.keys import key_name

SPELLINGS = {
    "G minor": ["g", "G minor", "g minor", "G MINOR", "g-Moll", "g moll", "Sol mineur", "sol mineur", "Gm"],
    "G major": ["G", "G major", "g major", "G-Dur", "Sol", "Sol majeur", "GM", " G  major ", "[Sol majeur]"],
    "B flat major": ["Bb", "B|b", "bB", "B b", "Bb major", "B-Dur", "B flat", "Si bémol majeur", "Sib majeur", "B♭"],
    "B flat minor": ["bb", "b|b", "Bb minor", "b flat", "b-Moll"],
    "B minor": ["b", "h", "h moll", "B minor", "H-Moll", "Bm"],
    "B major": ["B", "H", "B major", "H-Dur"],
    "F sharp minor": ["fx", "xf", "f|x", "f#", "fis", "fis-Moll", "Fa dièse mineur", "F# minor", "F sharp minor"],
    "E flat major": ["Eb", "bE", "E|b", "Es", "Es-Dur", "Mi bemolle maggiore"],
    "A flat major": ["Ab", "As", "As-Dur", "La bémol majeur"],
    "D dorian": ["D dorian", "d Dorian"],
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), [(text, name) for name, texts in SPELLINGS.items() for text in texts])
def test_one_name_for_all_spellings(text: str, name: str) -> None:
    assert key_name(text) == name
    assert key_name(unicodedata.normalize("NFD", text)) == name
    assert key_name(name) == name


@pytest.mark.parametrize("text", ["", "minor", "2e mode", "8t", "bBE", "A F", "Gs", "sol", "Kyrie eleison", "C-1", "I"])
def test_what_names_no_key(text: str) -> None:
    assert key_name(text) is None

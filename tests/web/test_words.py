"""What the page says of music: methods, results and notes, in the words of musicians."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from fastapi.testclient import TestClient

from roslin import Melody, load, matcher
from roslin.display.words import in_words
from roslin.matchers import matchers
from roslin.web.answers import MatchAnswer
from roslin.web.language import Translation
from roslin.web.requests import offered
from roslin.web.sentences import (
    METHODS,
    in_bars,
    interval_words,
    key_words,
    length_words,
    method_words,
    note_words,
    query_name,
    result_sentence,
)

FRERE = "%G-2@4/4 '4CDEC/CDEC/EF2G/"
TUNE = load(FRERE)[0]


def match(
    candidate: Melody, rows: list[int], kind: str = "alignment", tempo: float | None = 1.0, up: float | None = 0.0
) -> MatchAnswer:
    start = float(candidate[rows[0]].onset) if rows else None
    return MatchAnswer(
        kind=kind, sentence="", transposition=up, tempo=tempo, place=start, query_notes=rows, candidate_notes=rows
    )


def test_every_method_is_called_by_what_it_does() -> None:
    assert set(METHODS) == set(offered())
    words = [method_words(matcher(text)) for text in offered()]
    assert len(set(words)) == len(words)
    assert not [each for each in words if any(re.search(rf"\b{name}\b", each) for name in matchers() if name != "time")]
    assert method_words(matcher("emd(pitch='fifths')")) == f"{METHODS['emd']}, with other parameters"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "The same tune; every note agrees."),
        ({"up": 5.0}, "The same tune, a fourth higher; every note agrees."),
        ({"up": -7.0, "tempo": 2.0}, "The same tune, a fifth lower, in notes twice as long; every note agrees."),
        ({"up": None, "tempo": 0.5}, "The same tune, in notes half as long; every note agrees."),
        ({"tempo": 1.5}, "The same tune, in notes 1.5 times as long; every note agrees."),
        ({"tempo": None}, "The same tune, in another rhythm; every note agrees."),
        ({"kind": "transport"}, "The same tune; 11 of 11 notes have a partner in it."),
    ],
)
def test_a_result_in_a_sentence(changes: dict[str, float | None], sentence: str) -> None:
    assert result_sentence(match(TUNE, list(range(11)), **changes), TUNE, TUNE, 1e-6) == sentence  # type: ignore[arg-type]


def test_how_sure_and_how_many_notes_differ() -> None:
    rows = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert result_sentence(match(TUNE, rows), TUNE, TUNE, 0.004) == "Probably the same tune; one note differs."
    assert result_sentence(match(TUNE, rows[:-1]), TUNE, TUNE, 0.05) == "Perhaps the same tune; 2 notes differ."
    assert result_sentence(match(TUNE, rows), TUNE, TUNE, 5).startswith("Similar; ")
    assert result_sentence(match(TUNE, rows), TUNE, TUNE, None).startswith("Similar; ")
    assert result_sentence(match(TUNE, []), TUNE, TUNE, 5) == "None of its notes corresponds to a note of the query."
    ornamented = load("%G-2@4/4 '4CDEC/CDEC/EF8GAGF/")[0]
    answer = match(ornamented, list(range(11)))
    assert "every note agrees" in result_sentence(answer, TUNE, ornamented, 1e-6), "what follows is no difference"


def test_only_what_both_have_is_counted() -> None:
    """Where the incipit ends, or the query does, what the other has more is no difference."""
    incipit = load("%G-2@4/4 '4CDEC/CDEC/")[0]
    said = result_sentence(match(incipit, list(range(8))), TUNE, incipit, 0.05, same=8)
    assert said == "The same notes; all 8 notes of the incipit agree."
    said = result_sentence(match(incipit, list(range(8))), TUNE, incipit, 0.05)
    assert said == "Perhaps the same tune; all 8 notes of the incipit agree."
    rhythm = result_sentence(match(incipit, list(range(8))), TUNE, incipit, 0.05, "rhythm")
    assert rhythm.endswith("; all 8 note values of the incipit agree.")
    changed = match(incipit, [0, 1, 3, 4, 5, 6, 7])
    assert result_sentence(changed, TUNE, incipit, 0.05).endswith("; one note differs.")
    cut_short = match(incipit, [0, 1, 2, 3, 4, 5])
    assert result_sentence(cut_short, TUNE, incipit, 0.05).endswith("; 2 notes differ."), "the incipit has two more"


def test_bars_are_those_on_paper() -> None:
    resting = load("%G-2@4/4 =14/'4CDEC/CDEC/EF2G/")[0]
    at_once = result_sentence(match(resting, list(range(11))), TUNE, resting, 1e-6)
    assert at_once == "The same tune; every note agrees.", "it begins where the notes do"
    later = match(resting, list(range(4, 11)))
    assert "from bar 16;" in result_sentence(later, TUNE, resting, 1e-6)
    assert in_bars(resting)[:2] == [
        "Bar 1: rest (56 quarter notes long)",
        "Bar 15: C 4 quarter note, D 4 quarter note, E 4 quarter note, C 4 quarter note",
    ]


def test_only_what_was_compared_is_told() -> None:
    other = match(TUNE, list(range(11)), tempo=2.0, up=3.0)
    assert "third" not in result_sentence(other, TUNE, TUNE, 1e-6, "rhythm")
    assert "twice" not in result_sentence(other, TUNE, TUNE, 1e-6, "contour")


def test_of_a_rhythm_only_note_values_are_told() -> None:
    rows = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert "; one note value differs." in result_sentence(match(TUNE, rows), TUNE, TUNE, 1e-6, "rhythm")
    assert "; 2 note values differ." in result_sentence(match(TUNE, rows[:-1]), TUNE, TUNE, 1e-6, "rhythm")
    assert "; every note value agrees." in result_sentence(match(TUNE, [*range(11)]), TUNE, TUNE, 1e-6, "rhythm")


def test_a_tune_of_other_pitches_agrees_in_rhythm(client: TestClient) -> None:
    """The values of Frère Jacques on one note: by rhythm, nothing differs."""
    asked = {"q": "%G-2@4/4 '4GGGG/GGGG/GG2G/", "candidate": "frere-jacques", "matcher": "roslin", "compare": "rhythm"}
    page = client.get("/explain", params=asked).text
    told = re.search(r'<p class="lead">(.*?)</p>', page)
    assert told
    assert "every note value agrees" in told[1]
    assert "higher" not in told[1]
    assert "lower" not in told[1]
    assert "Note values side by side: 11 agree" in page
    assert "transposed" not in page


def test_intervals_up_to_several_octaves() -> None:
    assert [interval_words(size) for size in (1, 6, 11, 12, 19, 26)] == [
        "a semitone", "a tritone", "a major seventh", "an octave", "an octave and a fifth", "2 octaves and a whole tone"
    ]  # fmt: skip


def test_notes_in_words() -> None:
    lines = in_bars(load("%G-2@3/4$xF '4F/8G6xxGbbB{8A}4-8qq3ABrC/")[0])
    assert lines[0] == "Upbeat: F sharp 4 quarter note"
    assert "G double sharp 4 sixteenth note" in lines[1]
    assert "B double flat 4 sixteenth note" in lines[1]
    assert "rest (quarter note)" in lines[1]
    assert in_bars(Melody.from_notes([0, 1], [1, Fraction(5, 2)], [60, 61])) == [
        "C 4 quarter note, C sharp 4 2.50 quarter notes long"
    ]
    assert length_words(Fraction(7, 2)) == "double dotted half note"
    assert [note_words(note.pitch_base40) for note in load("'CbExF")[0]] == ["C", "E flat", "F sharp"]
    assert in_bars(Melody.from_notes([], [], [])) == []
    long = in_bars(Melody.from_notes(range(400), [1] * 400, [60] * 400))
    assert long[-1] == "and so on"


def test_a_query_is_called_by_its_title_or_its_first_notes() -> None:
    assert query_name(TUNE) == "C-D-E-C-C-D …"
    assert query_name(TUNE.with_metadata(title="Frère Jacques")) == "Frère Jacques"


def title(client: TestClient, path: str, **asked: str) -> str:
    found = re.search(r"<title>(.*?)</title>", client.get(path, params=asked).text, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.long
def test_titles_name_the_query_and_what_was_asked(client: TestClient) -> None:
    assert title(client, "/") == "starter · Roslin"
    assert title(client, "/", q=FRERE) == "Melodies like C-D-E-C-C-D … · Roslin"
    assert title(client, "/", q=FRERE, compare="rhythm") == "Melodies like C-D-E-C-C-D …, rhythm only · Roslin"
    assert title(client, "/", id="roslin-castle") == "Melodies like Roslin Castle (The House of Glamis) · Roslin"
    assert (
        title(client, "/explain", q=FRERE, candidate="frere-jacques")
        == "Why Frère Jacques resembles C-D-E-C-C-D … · Roslin"
    )
    part = client.get("/results", params={"q": FRERE}).text
    assert 'data-title="Melodies like C-D-E-C-C-D …"' in part


def test_exact_names_are_for_researchers(client: TestClient) -> None:
    page = client.get("/", params={"q": FRERE}).text
    shown = re.sub(r'<details class="researchers">.*?</details>', "", page, flags=re.DOTALL)
    options = re.findall(r"<option value=\"([^\"]*)\"[^>]*data-summary[^>]*>(.*?)</option>", shown)
    assert ("roslin", "Same tune, any key and tempo (recommended)") in options
    assert not [words for _, words in options if "(place=" in words]
    assert '<code id="matcher-code">roslin</code>' in page
    other = client.get("/", params={"q": FRERE, "matcher": "us(n=4)"}).text
    assert '<code id="matcher-code">us(n=4)</code>' in other
    why = client.get("/explain", params={"q": FRERE, "candidate": "frere-jacques"}).text
    assert re.search(r'<p class="lead">(Probably|The|Perhaps).*?every note agrees\.</p>', why)


@pytest.mark.parametrize("path", ["/melodies/frere-jacques", f"/?q={FRERE.replace('%', '%25')}"])
def test_notes_are_there_as_text(client: TestClient, path: str) -> None:
    page = client.get(path).text
    assert '<summary>Notes as text<span class="hidden">: Frère Jacques</span></summary>' in page
    assert "<li>Bar 1: C 4 quarter note, D 4 quarter note, E 4 quarter note, C 4 quarter note</li>" in page


def test_keys_as_their_readers_call_them() -> None:
    assert [key_words(key) for key in ("g", "B|b", "D major", "")] == ["G minor", "B flat major", "D major", ""]
    named = {"de": ["g-Moll", "B-Dur", "h-Moll"], "fr": ["sol mineur", "si bémol majeur", "si mineur"]}
    for language, words in named.items():
        with in_words(Translation(language)):
            assert [key_words(key) for key in ("g", "B|b", "b")] == words

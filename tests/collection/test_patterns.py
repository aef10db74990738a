"""The pattern language: its answers are those of a regular expression over the melody written as text."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import Collection, Melody, filters
from roslin.collection.filters.patterns import compiled, is_found
from roslin.errors import FilterError

Intervals = list[tuple[int, int, str]]  # staff steps, semitones, rhythm
Twin = tuple[str, str]  # a pattern, and a regular expression over `written`

ANY = r"<[^>]*>"


def letter(size: int, first: int) -> str:
    if size == 0:
        return "="
    return (string.ascii_uppercase if size > 0 else string.ascii_lowercase)[abs(size) - first]


def found(pattern: str, melody: Intervals) -> bool:
    strings = {
        "chromatic": "".join(letter(semitones, 1) for _, semitones, _ in melody),
        "diatonic": "".join(letter(steps, 0) for steps, _, _ in melody),
        "rhythm": "".join(rhythm for _, _, rhythm in melody),
    }
    return is_found(pattern, *(strings[name] for name in compiled(pattern).strings))


def written(melody: Intervals) -> str:
    return "".join(f"<{steps:+d}|{semitones:+d}|{rhythm}>" for steps, semitones, rhythm in melody)


@st.composite
def intervals(draw: st.DrawFn) -> Twin:
    sign, size = draw(st.sampled_from(("+", "-", ""))), draw(st.integers(0, 4))
    way = {"+": r"\+", "-": "-", "": "[+-]"}[sign] if size else r"\+"
    pitch = {
        "steps": (f"{sign}{size + 1}", rf"{way}{size}\|[+-]\d+"),
        "semitones": (f"{sign}{size}s", rf"[+-]\d+\|{way}{size}"),
        "up": ("up", r"[+-]\d+\|\+[1-9]\d*"),
        "down": ("down", r"[+-]\d+\|-\d+"),
        "any": (".", r"[+-]\d+\|[+-]\d+"),
    }[draw(st.sampled_from(("steps", "semitones", "up", "down", "any")))]
    rhythm = draw(st.sampled_from(("", "L", "S", "=")))
    return pitch[0] + (f":{rhythm}" if rhythm else ""), f"<{pitch[1]}\\|{rhythm or '[LS=]'}>"


def larger(parts: st.SearchStrategy[Twin]) -> st.SearchStrategy[Twin]:
    repeats = st.sampled_from(("*", "?", "{0}", "{2}", "{1,}", "{2,}", "{0,2}", "{1,3}"))
    return st.one_of(
        st.tuples(parts, parts).map(lambda two: (f"{two[0][0]}  {two[1][0]}", two[0][1] + two[1][1])),
        st.tuples(parts, parts).map(lambda two: (f"({two[0][0]} | {two[1][0]})", f"(?:{two[0][1]}|{two[1][1]})")),
        st.tuples(parts, repeats).map(lambda two: (f"({two[0][0]}){two[1]}", f"(?:{two[0][1]}){two[1]}")),
    )


PATTERNS = st.recursive(intervals(), larger, max_leaves=6)
MELODIES = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.sampled_from("LS=")), max_size=8)


@pytest.mark.long
@settings(max_examples=400)
@given(PATTERNS, st.sampled_from(("", "^")), st.sampled_from(("", "$")), st.lists(MELODIES, min_size=1, max_size=8))
def test_it_answers_as_a_regular_expression_over_the_melody_as_text(
    twin: Twin, begin: str, end: str, melodies: list[Intervals]
) -> None:
    expression = re.compile(f"{begin}(?:{twin[1]}){end}")
    for melody in melodies:
        expected = expression.search(written(melody)) is not None
        assert found(f"{begin} {twin[0]}{end}", melody) == expected


def test_a_collection_is_filtered(tmp_path: Path) -> None:
    def melody(id: str, pitches: list[int], durations: list[float]) -> Melody:
        onsets = [sum(durations[:number]) for number in range(len(pitches))]
        return Melody.from_notes(onsets, durations, pitches, id=id)

    tunes = [
        melody("rise", [60, 64, 67, 72], [1, 1, 1, 2]),
        melody("fall", [72, 67, 64, 60], [2, 1, 1, 1]),
        melody("turn", [60, 62, 60, 59, 60], [1, 0.5, 0.5, 0.5, 2]),
        melody("note", [60], [4]),
    ]
    with Collection.build(tunes, tmp_path / "c.roslin") as collection:
        answers = {
            "+3": ["rise"],
            "3": ["rise", "fall"],
            "+3 +3 .:L$": ["rise"],
            "+4s +3s": ["rise"],
            "^ down{3}$": ["fall"],
            "^:S": ["fall", "turn"],
            "+2 -2{2} +1s": ["turn"],
            "(-2 | +4){1,}": ["rise", "turn"],
            ".*": ["rise", "fall", "turn", "note"],
            ".": ["rise", "fall", "turn"],
            "UP, Down": ["turn"],
        }
        for text, ids in answers.items():
            assert list(collection.filter(filters.pattern(text)).ids) == ids, text
        both = collection.filter(filters.note_count(4, 5), filters.pattern("^.:="), filters.pattern("+4:L"))
        assert list(both.ids) == ["rise"]
    assert repr(filters.pattern("+3")) == "pattern('+3')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected an interval such as .*; found ''"),
        ("+3 fifth", "column 4: expected an interval such as .*; found 'fifth'"),
        ("+3 (-2 | ", r"column 10: expected an interval .*; found ''"),
        ("+3 (-2", r"column 7: expected '\)' for the '\(' in column 4; found ''"),
        ("+3)", r"column 3: expected an interval .*; found '\)'"),
        ("| +3", r"column 1: expected an interval .*; found '\|'"),
        ("+3 ^ +2", r"column 4: expected '\^' only at the beginning"),
        ("+3 $ +2", r"column 6: expected nothing after '\$'; found '\+2'"),
        ("*", r"column 1: expected an interval"),
        ("+3{4,2}", r"column 3: expected a repeat such as .*; found '\{4,2\}'"),
        ("+3{}", r"column 3: expected a repeat"),
        ("+3{100}", r"column 3: expected a repeat"),
        ("+3{2}{99}", r"column 6: expected an interval"),
        ("(+3{2}){99}", r"column 2: expected at most 100 intervals, repeats written out"),
        ("9" * 5000, r"column 1: expected 1"),
        ("+0", r"column 1: expected 1 \(a unison\) to 25; semitones have an s"),
        ("+26s", r"column 1: expected 0 to 25 semitones"),
        ("(+3):L", r"column 5: expected one rhythm beside one interval; or a space before it; found ':L'"),
        ("+3:L:S", r"column 5: expected one rhythm"),
        ("+3:X", r"column 3: expected an interval .*; found ':X'"),
        ("(" * 3000, "column 1: expected at most 100 groups"),
    ],
)
def test_a_fault_has_its_column(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        filters.pattern(text)


def test_a_pattern_that_ruins_backtracking_costs_no_more_than_its_length() -> None:
    automaton = compiled("((+2*)*)* -9s ((up | +2)* -8)* (.{30}) -7s$")
    assert not is_found(automaton.text, "B" * 5000, "B" * 5000)
    assert len(automaton.states) <= 2001
    many = compiled("up .{20} down$")  # each of 2 to the power of 20 sets of places is a state
    line = "".join(letter(1 if number * number % 97 < 40 else -1, 1) for number in range(4000))
    twin = re.compile("[A-Z].{20}[a-z]$")
    for start in range(0, 3000, 100):
        assert is_found(many.text, line[start:]) == (twin.search(line[start:]) is not None)
    assert len(many.states) <= 2001

"""Where a key stands in a file, and what is said about one that is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.errors import ExperimentError, FilterError
from roslin.experiment.toml_table import Key, TomlTable, line_of, read_toml

TEXT = '''\
# [study] in a comment
top = 1
[study]
name = "a"   # name = "b"
title = """
name = "inside a string"
[queries]
"""
"odd key" = 2
long = [
  "x",  # ]
  { name = "inside" },
]
a.b = 3

[[queries]]
id = "first"
[queries.pool]
most = 1

[[queries]]
id = 'second # not a comment'
note = \'\'\'one line\'\'\'
[queries.pool]
also = ["x=]"]
matchers = { roslin = 1, "emd(x=1)" = 2 }

[[ "questions" ]]
name = 5
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("top",), 2),
        (("study",), 3),
        (("study", "name"), 4),
        (("study", "title"), 5),
        (("study", "odd key"), 9),
        (("study", "long"), 10),
        (("study", "long", 1, "name"), 10),
        (("study", "a", "b"), 14),
        (("study", "missing"), 3),
        (("queries", 0, "id"), 17),
        (("queries", 0, "pool", "most"), 19),
        (("queries", 1), 21),
        (("queries", 1, "id"), 22),
        (("queries", 1, "note"), 23),
        (("queries", 1, "pool", "also"), 25),
        (("queries", 1, "pool", "matchers", "emd(x=1)"), 26),
        (("questions", 0, "name"), 29),
        (("nowhere",), 0),
        (("queries", 2), 0),
    ],
)
def test_the_line_of_a_key(key: Key, line: int) -> None:
    tomllib.loads(TEXT)
    assert line_of(TEXT, key) == line


NAMES = st.text("abc-_", min_size=1, max_size=4)
VALUES = st.sampled_from(['"x = 1"', "1", "[\n1,\n2]", '"""\n[t]\nx = 1\n"""', "{ x = 1 }", "'''\n#'''", "[] # ["])


@settings(max_examples=150)
@given(st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=4), max_size=4), st.integers(0, 3))
def test_a_file_cut_before_the_line_of_a_key_lacks_it(tables: dict[str, dict[str, str]], blank: int) -> None:
    text = ("\n" * blank).join(
        [
            f"[{table}]\n" + "".join(f"{name} = {value}\n" for name, value in keys.items())
            for table, keys in tables.items()
        ]
    )
    parsed = tomllib.loads(text)
    lines = text.splitlines(keepends=True)
    for table, keys in tables.items():
        for name in keys:
            line = line_of(text, (table, name))
            assert name not in tomllib.loads("".join(lines[: line - 1])).get(table, {})
            assert lines[line - 1].startswith(f"{name} = ")
            assert name in parsed[table]


def table(values: dict[str, Any], source: str = "") -> TomlTable:
    return TomlTable(Path("study.toml"), source, ("t",), values)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.check_keys(("number", "text")), r"t\.numbre: unknown key; expected 'number'\?; found 'numbre'"),
        (lambda t: t.check_keys(("x", "y")), "unknown key; expected one of x, y; found 'numbre'"),
        (lambda t: t.text("missing"), r"study\.toml:1, t: missing is missing; expected a line missing = \.\.\."),
        (
            lambda t: t.text("numbre"),
            r"study\.toml:2, t\.numbre: must be text; expected text in quotes, not empty; found 3",
        ),
        (lambda t: t.text("blank"), r"must be text; .* found ' '"),
        (lambda t: t.whole("half", None), r"t\.half: must be a whole number; expected 1 or more; found 0\.5"),
        (lambda t: t.whole("yes", None), "must be a whole number; .* found True"),
        (lambda t: t.number("text", None), "must be a number; expected 0 to 9007199254740992; found 'word'"),
        (lambda t: t.yes("text", otherwise=True), "must be yes or no; expected true or false; found 'word'"),
        (lambda t: t.one_of("text", ("a", "b")), "unknown value; expected one of a, b; found 'word'"),
        (lambda t: t.texts("numbre"), "must be a list of texts"),
        (lambda t: t.words("numbre", ("en",)), "must be text; expected text in quotes, or one for each language"),
        (lambda t: t.words("words", ("en", "de")), "a language is missing; expected de; found 'en, fr'"),
        (lambda t: t.words("words", ("en",)), r"unknown language; expected one of study\.languages: en; found 'fr'"),
        (lambda t: t.table("text", ()), r"must be a table; expected \[text\] and keys below it; found 'word'"),
        (lambda t: t.tables("text", ()), r"must be tables; expected \[\[text\]\] and keys below it, for each"),
    ],
)
def test_refusals(ask: Any, message: str) -> None:
    source = "[t]\nnumbre = 3\n"
    values = {"numbre": 3, "text": "word", "blank": " ", "half": 0.5, "yes": True, "words": {"en": "a", "fr": "b"}}
    with pytest.raises(ExperimentError, match=message):
        ask(table(values, source))


def test_asking() -> None:
    asked = table({"one": "x", "many": ["x", "y"], "number": 2, "word": "w"})
    assert asked.texts("one") == ("x",)
    assert asked.texts("many") == ("x", "y")
    assert asked.number("number", None) == 2.0
    assert asked.words("word", ("en", "de")) == {"en": "w", "de": "w"}
    assert asked.whole("other", 5) == 5
    assert asked.tables("none", ()) == []


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(ExperimentError, match=r"found 'x{76}\.\.\.$"):
        table({"v": "x" * 200}).whole("v", None)


def test_blame() -> None:
    asked = table({"v": 1}, "[t]\nv = 1\n")
    with pytest.raises(ExperimentError, match=r"study\.toml:2, t\.v: no such filter"), asked.blaming("v"):
        raise FilterError("no such filter")
    with pytest.raises(ExperimentError, match=r"^as it is$"), asked.blaming("v"):
        raise ExperimentError("as it is")


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('[study]\nname = "x\n', encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"study\.toml:2, column 10: no TOML: Illegal character"):
        read_toml(path)
    path.write_text("[study", encoding="utf-8")
    with pytest.raises(ExperimentError, match="no TOML: Expected"):
        read_toml(path)
    path.write_bytes(b"[study]\nname = \xff")
    with pytest.raises(ExperimentError, match="no UTF-8; expected text in UTF-8; found byte 16"):
        read_toml(path)
    path.write_bytes(b"\xef\xbb\xbf[study]\r\nname = 'x'\r\n")
    assert read_toml(path)[1] == {"study": {"name": "x"}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("9" * 5000, r":3: a number with too many digits; expected a number up to 9007199254740992; found 5000 digits"),
        ("[1, -" + "9" * 5000 + "]", r":3: a number with too many digits"),
        ("[" * 5000, "too many brackets inside one another"),
    ],
)
def test_numbers_and_nestings_beyond_all_measure_have_a_place(tmp_path: Path, value: str, message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"[study]\nname = 'x'\nseed = {value}\n")
    with pytest.raises(ExperimentError, match=message):
        read_toml(path)


def test_a_number_that_no_program_counts_to_has_a_place(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"big = 0x{'f' * 5000}\nfloat = 1e300\n")
    table = TomlTable(path, *read_toml(path)[:1], (), read_toml(path)[1])
    with pytest.raises(ExperimentError, match=r":1, big: the number is too large; expected 1 to 9007199254740992;"):
        table.whole("big", None)
    with pytest.raises(ExperimentError, match=r":1, big: must be a number"):
        table.number("big", None)
    with pytest.raises(ExperimentError, match=r":1, big: must be text.*; found a number with too many digits"):
        table.text("big")

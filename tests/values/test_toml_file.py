"""Where a key stands in a file, and what is said about one that is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.errors import ExperimentError, FilterError
from roslin.values.toml_file import Key, TomlPlace, line_of, read_toml

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
        (("queries", 2), 16),
    ],
)
def test_the_line_of_a_key(key: Key, line: int) -> None:
    tomllib.loads(TEXT)
    assert line_of(TEXT, key) == line


NAMES = st.text("abc-_", min_size=1, max_size=4)
VALUES = st.sampled_from(['"x = 1"', "1", "[\n1,\n2]", '"""\n[t]\nx = 1\n"""', "{ x = 1 }", "'''\n#'''", "[] # ["])


@pytest.mark.long
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


def test_blame() -> None:
    asked = TomlPlace(Path("study.toml"), "[t]\nv = 1\n", ("t",))
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


@pytest.mark.parametrize("value", ["9" * 5000, "[1, -" + "9" * 5000 + "]", "[" * 5000])
def test_numbers_and_nestings_beyond_all_measure(tmp_path: Path, value: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"[study]\nname = 'x'\nseed = {value}\n")
    with pytest.raises(ExperimentError, match=r"study\.toml: a number or a list is too long; expected numbers up to 9"):
        read_toml(path)

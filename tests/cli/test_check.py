"""roslin check: problems with severity and place, and who else has the tune."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.program import roslin

from roslin import Collection
from roslin.starter import tunes_path

FIELD = """<datafield tag="031" ind1=" " ind2=" "><subfield code="a">1</subfield><subfield code="b">1</subfield>
<subfield code="c">{number}</subfield><subfield code="g">G-2</subfield>{music}</datafield>
"""


def record(*incipits: str) -> str:
    fields = "".join(
        FIELD.format(number=number, music=f'<subfield code="p">{music}</subfield>' if music else "")
        for number, music in enumerate(incipits, start=1)
    )
    return (
        '<?xml version="1.0"?>\n<collection xmlns="http://www.loc.gov/MARC21/slim">\n<record>\n'
        f'<controlfield tag="001">77</controlfield>\n{fields}</record>\n</collection>\n'
    )


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "new.xml"
    path.write_text(record("'4CDXE", "Sol majeur", "", "'4CD;E"))
    return path


def test_problems_with_severity_and_place(catalogue: Path) -> None:
    done = roslin("check", catalogue, "--format", "json", code=1)
    rows = json.loads(done.stdout)["problems"]
    assert [(row["severity"], row["line"], row["column"], row["record"]) for row in rows] == [
        ("warning", 5, 5, "77-1.1.1"),
        ("error", 7, 1, "77-1.1.2"),
        ("note", 9, None, "77-1.1.3"),
        ("warning", 11, 5, "77-1.1.4"),
    ]
    assert rows[0]["problem"].endswith("read 'X' as x (sharp)")
    assert rows[2]["problem"] == "no music in field 031; expected subfield $p"
    assert done.stderr == "2 melodies read: 1 error, 2 warnings, 1 note\n"


def test_a_file_without_errors(tmp_path: Path) -> None:
    path = tmp_path / "good.xml"
    path.write_text(record("'4CDE", "'4CEG"))
    done = roslin("check", path, "--format", "tsv")
    assert done.stdout == "severity\tfile\tline\tcolumn\trecord\tproblem\n"
    assert done.stderr == "2 melodies read: 0 errors, 0 warnings, 0 notes\n"


def test_files_that_cannot_be_read_are_errors(tmp_path: Path, catalogue: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 a page")
    (tmp_path / "cut.xml").write_text(catalogue.read_text()[:-40])
    done = roslin("check", tmp_path / "a.pdf", tmp_path / "cut.xml", tmp_path / "none.xml", "--format", "json", code=1)
    errors = [row for row in json.loads(done.stdout)["problems"] if row["severity"] == "error"]
    assert [row["file"] for row in errors] == ["a.pdf", "cut.xml", "none.xml"]
    assert "broken XML" in errors[1]["problem"]
    assert errors[2]["problem"] == "no such file; expected a file"


def test_an_id_that_occurs_again_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text('{"id": "a", "pae": "4CDE"}\n' * 3)
    done = roslin("check", path, "--format", "json")
    (row,) = json.loads(done.stdout)["problems"]
    assert (row["severity"], row["record"], row["problem"]) == ("note", "a", "this id occurs more than once")


@pytest.mark.long
def test_who_else_has_the_tune(tmp_path: Path) -> None:
    with Collection.build(tunes_path(), tmp_path / "starter.roslin") as collection:
        music = collection["roslin-castle"].music
    path = tmp_path / "new.xml"
    path.write_text(record(music or "", "'4CCCCCC"))
    done = roslin("check", path, "--collection", tmp_path / "starter.roslin", "--format", "json")
    (row,) = json.loads(done.stdout)["sources"]
    assert (row["record"], row["best"]) == ("77", "roslin-castle")
    shown = roslin("check", path, "--collection", tmp_path / "starter.roslin").stdout
    assert "Sources\nrecord  answer" in shown
    listed = roslin("check", path, "--collection", tmp_path / "starter.roslin", "--format", "tsv")
    assert "--format json has also sources" in listed.stderr

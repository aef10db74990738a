"""roslin identify: whatever a cataloguer has, as text, as a file, as a record, in three forms."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.program import roslin

from roslin.starter import tunes_path

JOY = "%G-2@4/4$xFC '4xFFGA/AGFE/DDEF/4.F8E2E/"
RECORD = """<record><controlfield tag="001">{number}</controlfield>
<datafield tag="100"><subfield code="a">Anonymus</subfield></datafield>
<datafield tag="031"><subfield code="g">G-2</subfield><subfield code="o">4/4</subfield>
<subfield code="n">xFC</subfield><subfield code="p">{music}</subfield></datafield></record>"""


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("identify") / "starter.roslin"
    roslin("collection", "build", tunes_path(), path)
    return path


def test_a_pasted_incipit(starter: Path) -> None:
    done = roslin("identify", starter, JOY)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Ludwig van Beethoven in ")
    assert lines[0].endswith(" expected by chance.")
    columns = ["rank", "attribution", "sources", "perhaps", "identical", "incipits", "chance", "meaning"]
    head = [line.split() for line in lines].index(columns)
    assert lines[head + 1].split()[:4] == ["1", "Ludwig", "van", "Beethoven"]
    assert any(line.startswith("Ludwig van Beethoven  ode-to-joy ") for line in lines)
    assert "library" not in done.stdout
    assert done.stderr == ""


@pytest.mark.long
def test_a_file_of_two_records_in_all_forms(starter: Path, tmp_path: Path) -> None:
    path = tmp_path / "two.xml"
    music = JOY.partition(" ")[2]
    odd = "''8F,,xG'2bB,8E''xC4.D8,bA''2E/"
    records = [RECORD.format(number=number, music=each) for number, each in (("77", music), ("78", odd))]
    path.write_text(f"<collection>{''.join(records)}</collection>")
    first, second = json.loads(roslin("identify", starter, path, "--format", "json").stdout)
    assert (first["source"], first["attributions"][0]["name"]) == ("77", "Ludwig van Beethoven")
    assert (second["source"], second["sentence"], second["attributions"]) == ("78", "Nothing close was found.", [])
    table = roslin("identify", starter, path).stdout.splitlines()
    assert [line for line in table if line.startswith(("77: Ludwig van Beethoven in", "78: Nothing close was found."))]
    rows = [line.split("\t") for line in roslin("identify", starter, path, "--format", "tsv").stdout.splitlines()]
    assert rows[0][:4] == ["source", "attribution", "record", "expected"]
    sources = [source for each in first["attributions"] for source in each["sources"]]
    assert [(row[0], row[2], float(row[3])) for row in rows[1:]] == [
        ("77", source["record"], source["expected"]) for source in sources
    ]


def test_a_melody_of_the_collection_and_filters(starter: Path) -> None:
    done = roslin("identify", starter, "ode-to-joy", "--where", "composer=beethoven", "--format", "json")
    (found,) = json.loads(done.stdout)
    assert found["source"] == "ode-to-joy"
    assert found["claimed"] == "Ludwig van Beethoven"
    assert found["searched"] == 12
    assert "ode-to-joy" not in [source["id"] for each in found["attributions"] for source in each["sources"]]
    assert done.stderr.startswith("Searched ")


@pytest.mark.long
def test_what_another_program_writes(starter: Path) -> None:
    command = [sys.executable, "-m", "roslin", "identify", str(starter), "-"]
    done = subprocess.run(command, input=JOY, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Ludwig van Beethoven in ")


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-file.xml"], "roslin: no-such-file.xml: no such file; expected a file\n"),
        (["?!"], "no notes"),
        (["99999999"], "roslin: no record with the number 99999999 is in the collection\n"),
        ([JOY, "--part", "1"], "--part is for reading a file; there is none to read"),
        ([JOY, "--contour", "3"], "--contour without LETTERS= needs a query"),
        ([], "Missing argument"),
    ],
)
def test_refusals_are_one_line(starter: Path, arguments: list[str], message: str) -> None:
    done = roslin("identify", starter, *arguments, code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""

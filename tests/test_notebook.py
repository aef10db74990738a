"""What people see in a notebook: one is made, run in a kernel of this Python, and its outputs are looked at."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.long

CELLS = {
    "start": """
import warnings
warnings.simplefilter("error")
import roslin
from roslin.starter import demo_query, truth_path, tunes_path
collection = roslin.Collection.build(tunes_path(), "starter.roslin")
""",
    "melody": "demo_query()",
    "part": "collection['roslin-castle'].bars(1, 2).transposed('minor third up')",
    "roll": "demo_query().stretched(1.01)",
    "collection": "collection",
    "report": "collection.report",
    "selection": "collection.filter(roslin.filters.pitch_range('octave', 'minor tenth'))",
    "run": "collection.search(demo_query(), 'dp', k=5)",
    "truth": "roslin.read_truth(truth_path())",
    "campaign": """
campaign = roslin.run_campaign(collection, truth_path(), ["dp", "p3"], "campaign")
campaign
""",
    "evaluation": "campaign.evaluation",
    "frame": "campaign.to_frame()",
    "note": "demo_query()[0]",
    "printed": "print(demo_query()); print(campaign)",
}
PICTURES, TABLES = ("melody", "part", "roll"), ("collection", "report", "selection", "run", "truth", "campaign")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Any]]:
    """For each cell what it shows."""
    home = tmp_path_factory.mktemp("notebook")
    kernel = home / "kernels" / "roslin"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Roslin", "language": "python"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.setenv("JUPYTER_PATH", str(home))
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(home / name.lower()))
        cells = [new_code_cell(source.strip()) for source in CELLS.values()]  # type: ignore[no-untyped-call]
        notebook = new_notebook(cells=cells)  # type: ignore[no-untyped-call]
        client = NotebookClient(
            notebook, timeout=300, kernel_name="roslin", resources={"metadata": {"path": str(home)}}
        )
        done = client.execute()
    nbformat.validate(done)
    return {name: cell["outputs"] for name, cell in zip(CELLS, done.cells, strict=True)}


def shown(outputs: Mapping[str, list[Any]], name: str) -> dict[str, str]:
    """The forms of the one result of a cell, by mime type."""
    (output,) = outputs[name]
    assert output["output_type"] == "execute_result"
    return dict(output["data"])


def test_nothing_was_said_but_what_was_printed(outputs: Mapping[str, list[Any]]) -> None:
    said = [output for cell in outputs.values() for output in cell if output["output_type"] == "stream"]
    assert [output["name"] for output in said] == ["stdout"]


@pytest.mark.parametrize("name", PICTURES)
def test_melodies_are_drawn(outputs: Mapping[str, list[Any]], name: str) -> None:
    forms = shown(outputs, name)
    assert set(forms) == {"image/svg+xml", "text/plain"}
    picture = ElementTree.fromstring(forms["image/svg+xml"])
    assert picture.attrib["class"] == ("roll" if name == "roll" else "notation")
    notes = {each.attrib["data-note"] for each in picture.iter() if "data-note" in each.attrib}
    assert forms["text/plain"].endswith(f"{len(notes)} notes)")


@pytest.mark.parametrize("name", [*TABLES, "evaluation", "frame"])
def test_the_others_are_tables(outputs: Mapping[str, list[Any]], name: str) -> None:
    forms = shown(outputs, name)
    assert set(forms) == {"text/html", "text/plain"}
    assert "<table" in forms["text/html"]
    assert "</table>" in forms["text/html"]


def test_what_the_tables_say(outputs: Mapping[str, list[Any]]) -> None:
    page = {name: shown(outputs, name)["text/html"] for name in TABLES}
    assert "starter.roslin: 243 melodies, " in page["collection"]
    assert "243 melodies taken; 0 refused" in page["report"]
    assert "Pitch range between an octave and a minor tenth (12 to 15 semitones)." in page["selection"]
    assert "roslin-castle" in page["run"]
    assert "Roslin Castle (The House of Glamis)" in page["run"]
    assert page["campaign"] == shown(outputs, "evaluation")["text/html"].replace(">run<", ">matcher<")
    assert "means over" in page["campaign"]


def test_short_forms(outputs: Mapping[str, list[Any]]) -> None:
    assert shown(outputs, "note") == {"text/plain": "MelodyNote('G4', onset=0, duration=2)"}
    assert shown(outputs, "campaign")["text/plain"].startswith("Campaign(2 matchers, ")
    assert shown(outputs, "evaluation")["text/plain"].startswith("Evaluation(2 runs, 4 measures, ")
    assert shown(outputs, "collection")["text/plain"] == "Collection('starter.roslin', 243 melodies)"
    printed = outputs["printed"][0]["text"].splitlines()
    assert printed[0].startswith("demo-query: Roslin Castle, disguised: ")
    assert printed[1].split() == ["matcher", "ADR", "AP", "R@10", "RR"]


def test_files_stay_where_the_notebook_is(outputs: Mapping[str, list[Any]]) -> None:
    assert outputs["start"] == []
    assert not Path("starter.roslin").exists()

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.program import roslin

from roslin import Melody, load
from roslin.matchers import DEFAULT_MATCHER
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.jsonl import write_jsonl
from roslin.represent.line import melodic_line
from roslin.run.meaning import by_chance
from roslin.starter import tunes_path


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "starter.roslin"
    roslin("collection", "build", tunes_path(), path)
    return path


@pytest.mark.long
def test_table_and_files(starter: Path, tmp_path: Path) -> None:
    svg, page = tmp_path / "flow.svg", tmp_path / "flow.html"
    asked = ("explain", starter, "roslin-castle-2", "--id", "roslin-castle", "--matcher", "emd")
    done = roslin(*asked, "--svg", svg, "--html", page)
    lines = done.stdout.splitlines()
    assert lines[0] == "The query is transposed down a minor third, at the same tempo, starting in the pick-up."
    assert lines[1] == "Distance 0.0000 (emd)"
    assert lines[3].split() == ["query", "candidate", "weight", "distance", "cost"]
    assert lines[4].split() == ["1", "D4", "1", "B3", "1.0000", "0.0000", "0.0000"]
    assert lines[-1] == "Sum of costs 0.0000, weight 32"  # chance was never measured for this matcher
    counted = roslin(*asked[:-2]).stdout.splitlines()
    assert counted[-1].endswith(" such matches expected by chance")
    assert svg.read_text("utf-8").startswith("<svg")
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert done.stderr == f"drawing written to {svg}\npage written to {page}\n"


@pytest.mark.long
def test_tsv_and_json(starter: Path) -> None:
    arguments = ("explain", starter, "roslin-castle-4", "--id", "roslin-castle", "--matcher", "twv(radius=0.5)")
    rows = [line.split("\t") for line in roslin(*arguments, "--format", "tsv").stdout.splitlines()]
    assert rows[0] == ["step", "query", "candidate", "weight", "distance", "cost"]
    assert rows[1][:4] == ["segment 1", "1 D4", "1 D4", "1.0"]
    found = json.loads(roslin(*arguments, "--format", "json").stdout)
    assert (found["query"], found["candidate"], found["matcher"]) == (
        "roslin-castle",
        "roslin-castle-4",
        "twv(radius=0.5)",
    )
    assert sum(len(step["within"]["steps"]) for step in found["steps"]) == len(rows) - 1
    assert sum(step["cost"] for step in found["steps"]) == pytest.approx(found["distance"])
    assert sum(float(row[-1]) for row in rows[1:]) == pytest.approx(found["distance"])
    assert found["sentence"].startswith("11 of 11 expected segments found; not transposed")


def test_the_segments_in_words(starter: Path) -> None:
    done = roslin("explain", starter, "roslin-castle-2", "--id", "roslin-castle", "--matcher", "twv")
    assert "Distance 0.0000 (twv)" in done.stdout
    assert (
        "Segment 2: transposed down a minor third, at the same tempo, starting at bar 1; distance 0.0000" in done.stdout
    )


@pytest.mark.long
def test_query_from_text_and_file(starter: Path, tmp_path: Path) -> None:
    text = "%G-2@2/4 '4CC/GG/AA/2G"
    (tmp_path / "query.pae").write_text(text)
    asked = ("explain", starter, "ah-vous-dirai-je", "--matcher", "dp", "--place", "anywhere")
    by_text = roslin(*asked, "--pae", text).stdout
    assert "Distance 0.0000 (dp(place='inside'))" in by_text
    assert roslin(*asked, "--file", tmp_path / "query.pae").stdout == by_text


@pytest.mark.long
def test_the_distance_is_that_of_the_list(starter: Path) -> None:
    """Also where it depends on the other melodies: the penalty of twv is the largest distance of any match."""
    arguments = ("--id", "roslin-castle", "--matcher", "twv_covered", "--format", "json")
    listed = json.loads(roslin("search", starter, *arguments, "-k", "30").stdout)
    unmatched = 0
    for row in listed[3:30:9]:
        found = json.loads(roslin("explain", starter, row["id"], *arguments).stdout)
        assert found["distance"] == pytest.approx(row["distance"], abs=1e-9)
        unmatched += sum(step["kind"] == "unmatched" for step in found["steps"])
    assert unmatched > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["roslin-castle"], "exactly one of QUERY, --pae, --file and --id"),
        (["nobody", "--pae", "'4CDE"], "roslin: unknown melody 'nobody'"),
        (["roslin-castle", "--pae", "'4CDE", "--matcher", "magic"], "unknown matcher 'magic'"),
        (["roslin-castle", "--pae", "'4CDE", "--number", "2"], "--number is for a melody of a --file"),
        (["roslin-castle", "--pae", "'4CDE", "--track", "2"], "--track is for reading a file"),
        (["roslin-castle", "--pae", "'4CDZ", "--strict"], "column 5: unreadable sign"),
        (["roslin-castle", "--pae", "4-"], "no notes; expected at least one note"),
        (["roslin-castle", "--pae", "'4CDE", "--place", "middle"], "unknown place 'middle'"),
        (["roslin-castle", "--pae", "'4CDE", "--matcher", "us", "--compare", "rhythm"], "us cannot compare the rhythm"),
    ],
)
def test_bad_usage(starter: Path, arguments: list[str], message: str) -> None:
    error = roslin("explain", starter, *arguments, code=2).stderr
    assert message in error
    assert error.count("\n") == 1


def test_the_default_is_that_of_search(starter: Path) -> None:
    done = roslin("explain", starter, "roslin-castle-2", "--id", "roslin-castle", "--format", "json")
    assert json.loads(done.stdout)["matcher"] == DEFAULT_MATCHER


@pytest.mark.long
def test_only_the_beginning_is_explained(starter: Path) -> None:
    asked = ("explain", starter, "frere-jacques", "--pae", "'4CDEC", "--matcher", "dp", "--format", "json")
    whole, start = (json.loads(roslin(*asked, *more).stdout) for more in ((), ("--place", "start")))
    assert len(start["steps"]) == 5 < len(whole["steps"])


@pytest.mark.long
def test_any_other_matcher(starter: Path, tmp_path: Path) -> None:
    asked = ("explain", starter, "frere-jacques-2", "--pae", "'4CDEF", "--matcher")
    lines = roslin(*asked, "dp(place='inside')").stdout.splitlines()
    assert lines[0].startswith("Notes side by side: 3 agree, 1 left out; transposed up a perfect fifth")
    assert lines[1] == "Distance 0.2500 (dp(place='inside'))"
    assert lines[3].split() == ["step", "query", "candidate", "cost"]
    assert lines[4].split() == ["same", "C4", "G4", "0.0000"]
    assert lines[-1] == "Sum of costs 0.2500"
    assert roslin(*asked[:-1]).stdout.splitlines()[-1].startswith("No more alike than chance: ")
    page, picture = tmp_path / "why.html", tmp_path / "why.svg"
    done = roslin(*asked, "fm", "--html", page, "--svg", picture)
    assert "What counts most: distance" in done.stdout
    assert done.stderr == f"drawing written to {picture}\npage written to {page}\n"
    assert "times ngrukkon" in page.read_text("utf-8")
    assert picture.read_text("utf-8").startswith("<svg")
    found = json.loads(roslin(*asked, "us", "--format", "json").stdout)
    assert (found["start"], found["steps"], found["distance"], found["kind"]) == (1.0, [], 1.0, "grams")
    rows = roslin(*asked, "us", "--format", "tsv").stdout.splitlines()
    assert rows == ["step\tquery\tcandidate\twords\tcost", "start\t\t\t\t1.0"]


@pytest.mark.long
def test_the_distance_is_the_one_among_all_melodies(starter: Path) -> None:
    found = json.loads(
        roslin("explain", starter, "roslin-castle-2", "--id", "roslin-castle", "--matcher", "orio", "--format", "json")
        .stdout
    )  # fmt: skip
    listed = json.loads(
        roslin("search", starter, "--id", "roslin-castle", "--matcher", "orio", "--format", "json").stdout
    )
    (distance,) = [row["distance"] for row in listed if row["id"] == "roslin-castle-2"]
    assert found["distance"] == pytest.approx(distance, abs=1e-9)


@pytest.mark.long
def test_a_reader_that_stops_reading_loses_no_file(starter: Path, tmp_path: Path) -> None:
    picture, run = tmp_path / "flow.svg", tmp_path / "found.run"
    command = (
        f"{sys.executable} -m roslin explain {starter} roslin-castle-2 --id roslin-castle --svg {picture} | true; "
        f"{sys.executable} -m roslin search {starter} --id roslin-castle --matcher dp -k 200 --run {run} | true"
    )
    subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert picture.read_text("utf-8").startswith("<svg")
    assert len(run.read_text("utf-8").splitlines()) == 200


@pytest.mark.long
def test_exact_agreement_has_the_label_of_the_list(starter: Path) -> None:
    """However many such matches are expected by chance, all notes agree."""
    for query in ("'4CDEC", "'4CDEC/CDEC"):
        assert roslin("explain", starter, "frere-jacques", query).stdout.splitlines()[-1].startswith("Same notes: ")


@pytest.mark.long
def test_the_reading_that_finds_a_melody_is_the_one_explained(starter: Path) -> None:
    typed = "a bb a d a g a g d g"
    listed = json.loads(roslin("search", starter, typed, "-k", 1, "--format", "json").stdout)[0]
    told = roslin("explain", starter, listed["id"], typed)
    assert "the octaves with the most certain result" in told.stderr
    assert told.stdout.splitlines()[-1] == f"Same notes: {by_chance(listed['expected'])}"


@pytest.mark.long
def test_what_the_notes_that_coincide_find_is_named(starter: Path, tmp_path: Path) -> None:
    tune = melodic_line(next(each for each in load(tunes_path()) if each.id == "roslin-castle"))
    onsets, durations, pitches = [], [], []
    for onset, duration, pitch in tune[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist():
        time = duration / 4 / TICKS_PER_QUARTER
        onsets += [onset / TICKS_PER_QUARTER + k * time for k in range(4)]
        durations += [time] * 4
        pitches += [pitch, pitch, pitch + 2, pitch]
    query = tmp_path / "ornamented.jsonl"
    query.write_text(write_jsonl(Melody.from_notes(onsets, durations, pitches)) + "\n")
    listed = roslin("search", starter, "--file", query, "--format", "tsv")
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
    assert (rows[0][-1], rows[1][-1]) == ("coincides", "True")
    assert "found by the notes that coincide in time" in listed.stderr
    explained = roslin("explain", starter, "roslin-castle", "--file", query).stdout.splitlines()
    assert explained[-1] == "Found by the notes that coincide in time: --matcher p2 shows them."


@pytest.mark.long
def test_id_and_query_in_the_other_order(starter: Path) -> None:
    asked = ("frere-jacques", "'4CDEC/CDEC")
    assert roslin("explain", starter, *reversed(asked)).stdout == roslin("explain", starter, *asked).stdout

"""roslin concordances find: levels, radii, what is new, what is there already, and what is refused in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roslin import Collection, Melody
from roslin.cli import app
from roslin.concordances.concordance import kept_state
from roslin.concordances.review import Review
from roslin.notation import load
from roslin.starter import tunes_path

runner = CliRunner()
TUNES = [tune[:16].with_metadata(id=tune.id) for tune in load(tunes_path())[:120]]


def build(folder: Path, tunes: list[Melody]) -> Path:
    Collection.build(tunes, folder / "tunes.roslin").close()
    return folder / "tunes.roslin"


def run(*words: object) -> tuple[str, str]:
    """What `roslin concordances` prints, and what it remarks."""
    done = runner.invoke(app, ["concordances", *map(str, words)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout, done.stderr


def refused(*words: object) -> str:
    done = runner.invoke(app, ["concordances", *map(str, words)])
    assert done.exit_code != 0
    return str(done.exception) + done.stderr


@pytest.fixture(scope="module")
def tunes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("cli"), TUNES)


def test_groups_as_a_table_and_as_json(tunes: Path, tmp_path: Path) -> None:
    printed, said = run(tunes, "-o", tmp_path / "found", "-k", 2, "--level", "perhaps")
    assert "Attributions disagree" in printed
    assert "certainty" in printed
    assert f"saved in {tmp_path / 'found'}" in said
    assert "the first 2 groups of 18; -k shows more" in said
    assert f"roslin concordances report {tunes}" in said
    again, remarks = run(tunes, "-o", tmp_path / "found", "--level", "perhaps", "--format", "json")
    assert "has these results, and the collection has not changed since" in remarks
    rows = json.loads(again)
    assert len(rows) > 2
    assert {"group", "kind", "melodies", "certainty", "stability", "first"} <= rows[0].keys()


@pytest.mark.long
def test_by_a_matcher_within_a_radius(tunes: Path, tmp_path: Path) -> None:
    printed, said = run(tunes, "-o", tmp_path / "found", "--matcher", "dp", "--radius", 2)
    assert "each pair with distance at most 2 by dp" in said
    assert "distance" in printed
    assert "chance" not in printed
    about = kept_state(tmp_path / "found") or {}
    assert (about["matcher"], about["level"]) == ("dp", 2.0)
    _, said = run(tunes, "-o", tmp_path / "usual", "--radius", "0.1")
    assert "distance at most 0.1 by roslin" in said


@pytest.mark.long
def test_since_and_only_after_melodies_were_added(tmp_path: Path) -> None:
    tunes = build(tmp_path, TUNES[:100])
    folder = tmp_path / "tunes.concordances"
    run(tunes)
    with Collection(tunes) as opened:
        Review.of(opened).decide(TUNES[0].id or "", TUNES[1].id or "", "accept", "as in the old print", "Anna")
    build(tmp_path, TUNES)
    _, said = run(tunes, "-o", tmp_path / "full")
    assert "--since" not in said
    _, said = run(tunes)
    assert f"to compare only new melodies, stop this command and add --since {folder}" in said
    printed, said = run(tunes, "--since", folder, "-o", tmp_path / "since", "--format", "json")
    assert [row["first"] for row in json.loads(printed)]
    assert (kept_state(tmp_path / "since") or {})["all"]
    # What people decided is there as before.
    listed, _ = run("review", "list", tunes)
    assert "as in the old print" in listed
    new = tmp_path / "new.jsonl"
    new.write_text(
        json.dumps({"id": TUNES[110].id, "pae": "%G-2@c 'CDEF"}) + "\n" + json.dumps({"id": "x", "pae": "4C"})
    )
    _, said = run(tunes, "--only", new, "-o", tmp_path / "only")
    assert "1 of 2 melodies is not in the collection and left out" in said
    assert not (kept_state(tmp_path / "only") or {})["all"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--level", "sure"], "the level must be one of same, probably, perhaps"),
        (["--matcher", "dp"], "dp needs a --radius, the largest distance of a pair"),
        (
            ["--matcher", "dp", "--radius", "1", "--level", "same"],
            "use either --level (a probability) or --radius (a distance), not both",
        ),
        (["--radius", "1", "--fast"], "--fast cannot be used with --radius"),
        (["--matcher", "nobody", "--radius", "1"], "unknown matcher 'nobody'"),
        (["--radius", "-1"], "greater than or equal to 0"),
        (["--since", "nowhere"], "nowhere: no concordances that can be read"),
    ],
)
def test_what_makes_no_sense(tunes: Path, tmp_path: Path, words: list[str], message: str) -> None:
    assert message in refused(tunes, "-o", tmp_path / "found", *words)
    assert not (tmp_path / "found" / "about.json").exists()


def test_a_file_without_a_melody_of_the_collection(tunes: Path, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text(json.dumps({"id": "nobody", "pae": "%G-2@c 'CDEF"}))
    message = refused(tunes, "--only", tmp_path / "new.jsonl", "-o", tmp_path / "found")
    assert "new.jsonl is in" in message
    assert "add them first: roslin collection add" in message


def test_no_such_collection(tmp_path: Path) -> None:
    assert "nothing.roslin" in refused(tmp_path / "nothing.roslin")


@pytest.mark.parametrize("command", [[], ["report"], ["marc", "-o", "x"]])
def test_concordances_are_no_collection(command: list[str]) -> None:
    assert "give the collection instead, such as tunes.roslin" in refused(*command, "tunes.concordances")


def test_a_senseless_cluster_is_refused_even_where_the_results_are_there(tunes: Path, tmp_path: Path) -> None:
    run(tunes, "-o", tmp_path / "found")
    assert "foo" in refused(tunes, "-o", tmp_path / "found", "--dask", "foo")

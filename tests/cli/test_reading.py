"""A file as the query, or to be shown: any format, one melody of several, and the options of its reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.notation.samples import LETTERS, SAMPLES, midi, midi_track, musicxml, musicxml_note
from typer.testing import CliRunner, Result

from roslin import Collection, Melody, RoslinError, load
from roslin.cli import app
from roslin.notation import FORMATS
from roslin.notation.midi import write_midi
from roslin.starter import tunes_path

TUNES = "X:1\nT:Up\nL:1/4\nK:C\n|:CDEF:|\n\nX:2\nT:Down\nL:1/4\nK:C\nFEDC\n"
TRANSPOSE = "<attributes><transpose><diatonic>-1</diatonic><chromatic>-2</chromatic></transpose></attributes>"


def roslin(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments: object) -> str:
    """The one line that the program would print before it exits with 2."""
    done = roslin(*arguments)
    if isinstance(done.exception, RoslinError):
        return str(done.exception)
    assert done.exit_code == 2
    return " ".join(done.output.replace("│", " ").split())


def loaded(*arguments: object) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(roslin("load", *arguments, "--format", "json").stdout)
    return rows


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reading") / "starter.roslin"
    Collection.build(tunes_path(), path).close()
    return path


@pytest.fixture
def tunes(tmp_path: Path) -> Path:
    path = tmp_path / "tunes.abc"
    path.write_text(TUNES)
    return path


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_a_query_in_any_format(name: str, collection: Path, tmp_path: Path) -> None:
    path = tmp_path / "query"
    path.write_bytes(SAMPLES[name].scale(8))
    done = roslin("search", collection, "--file", path, "-k", 3, "--format", "tsv")
    assert done.exit_code == 0, done.output
    expected = roslin("search", collection, "--pae", f"'4{LETTERS}C", "-k", 3, "--format", "tsv")
    assert done.stdout == expected.stdout


def test_the_first_of_several_is_taken_and_named(collection: Path, tunes: Path) -> None:
    done = roslin("search", collection, "--file", tunes, "--matcher", "dp")
    assert done.exit_code == 0
    assert f"{tunes} holds several melodies; number 1 is taken (id 'tunes-1', title 'Up')" in done.stderr
    assert f"choose another with --number or --id; see: roslin load {tunes}" in done.stderr
    first = roslin("search", collection, "--file", tunes, "--number", 1, "--matcher", "dp")
    assert first.stdout == done.stdout
    assert "several melodies" not in first.stderr
    shown = roslin("show", tunes)
    assert "number 1 is taken" in shown.stderr
    assert "Up" in shown.stdout


@pytest.mark.long
def test_voices_apart_and_together(collection: Path, tmp_path: Path) -> None:
    path = tmp_path / "two.mid"
    path.write_bytes(midi(midi_track(4), midi_track(3, channel=1), kind=1))
    for options, counts in ((), [4, 3]), (("--voices", "apart"), [4, 3]), (("--voices", "together"), [7]):
        assert [row["notes"] for row in loaded(path, *options)] == counts
    done = roslin("search", collection, "--file", path, "--voices", "together", "--matcher", "dp")
    assert done.exit_code == 0
    assert "--voices is for reading a file" in refused("search", collection, "--pae", "'4C", "--voices", "together")
    built = tmp_path / "together.roslin"
    assert "1 melody taken" in roslin("collection", "build", path, built, "--voices", "together").stdout


@pytest.mark.long
def test_another_is_chosen_by_number_or_id(collection: Path, tunes: Path) -> None:
    asked = ("search", collection, "--file", tunes)
    by_number, by_id = (roslin(*asked, *how) for how in (("--number", 2), ("--id", "2")))
    assert by_number.exit_code == by_id.exit_code == 0
    assert by_number.stdout == by_id.stdout != roslin(*asked).stdout
    assert "several melodies" not in by_id.stderr
    message = refused("search", collection, "--file", tunes, "--id", "9")
    assert "holds 2 melodies; none is --id 9" in message
    assert "one of --id and --number" in refused("search", collection, "--file", tunes, "--id", 1, "--number", 1)


def test_a_melody_of_the_file_may_have_the_id_of_one_in_the_collection(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "auld-lang-syne", "pae": "\'4CDEF"}\n{"id": "b", "pae": "\'4C"}\n')
    done = roslin("search", collection, "--file", tmp_path / "q.jsonl", "--id", "auld-lang-syne", "-k", 200)
    assert "auld-lang-syne" in done.stdout


def test_a_melody_without_notes_is_listed(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text('{"id": "x", "notes": []}\n{"id": "y"}\n')
    assert [(row["id"], row["notes"], bool(row["remark"])) for row in loaded(tmp_path / "none.jsonl")] == [
        ("x", 0, False),
        ("y", 0, True),
    ]
    assert "1 melody, 0 notes, 0 warnings; 1 refused" in roslin("load", tmp_path / "none.jsonl").stderr


def test_repeats_played_out(tunes: Path) -> None:
    assert [row["notes"] for row in loaded(tunes)] == [4, 4]
    assert [row["notes"] for row in loaded(tunes, "--expand-repeats")] == [8, 4]
    assert 'id="note-7"' in roslin("show", tunes, "--number", 1, "--expand-repeats").stdout


@pytest.mark.long
def test_a_track_and_a_channel(tmp_path: Path, collection: Path) -> None:
    path = tmp_path / "two.mid"
    path.write_bytes(midi(midi_track(4), midi_track(7, channel=1), kind=1))
    assert [row["notes"] for row in loaded(path)] == [4, 7]
    assert [row["notes"] for row in loaded(path, "--track", 2)] == [7]
    assert [row["notes"] for row in loaded(path, "--channel", 1)] == [4]
    assert roslin("search", collection, "--file", path, "--track", 2).exit_code == 0
    assert "no such track; expected 1 to 2; found 3" in refused("search", collection, "--file", path, "--track", 3)
    assert "Invalid value for '--channel'" in refused("load", path, "--channel", 17)


@pytest.mark.long
def test_quantised_notes_and_how_far_they_moved(tmp_path: Path, collection: Path) -> None:
    path = tmp_path / "played.mid"
    path.write_bytes(write_midi(Melody.from_notes([0, 1.05, 2], [1, 1, 1], [60, 62, 64])))
    (row,) = loaded(path, "--quantise", "1/16")
    assert row["remark"] == "moved to the grid: mean 0.0167, max 0.0500 quarters"
    assert row["warnings"] == 0
    for command in (("search", collection, "--file", path), ("show", path)):
        done = roslin(*command, "--quantise", "1/16")
        assert done.exit_code == 0
        assert done.stderr.startswith("moved to the grid: mean 0.0167, max 0.0500 quarters\n")
    assert "unknown grid; expected a note value like 1/16" in refused("load", path, "--quantise", "often")


@pytest.mark.long
def test_a_part_a_voice_and_the_written_pitch(tmp_path: Path, collection: Path) -> None:
    path = tmp_path / "duet.musicxml"
    path.write_bytes(musicxml([TRANSPOSE + musicxml_note("D") + musicxml_note("E")], ("Clarinet", "Horn")))
    assert [row["notes"] for row in loaded(path)] == [2, 2]
    assert [row["notes"] for row in loaded(path, "--part", "horn")] == [2]
    assert [row["notes"] for row in loaded(path, "--part", 2, "--voice", 0)] == [2]
    assert "unknown part 'Viola'; known: Clarinet, Horn" in refused("load", path, "--part", "Viola")
    assert roslin("search", collection, "--file", path, "--part", 1, "--written-pitch").exit_code == 0
    pitches = []
    for more in ((), ("--written-pitch",)):
        roslin("show", path, "--part", 1, *more, "--output", tmp_path / "x.svg", "--midi", tmp_path / "x.mid")
        pitches.append(load(tmp_path / "x.mid")[0].notes["pitch_midi"].tolist())
    assert pitches == [[60, 62], [62, 64]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "format", "others"),
    [
        (("--track", 1), "abc", "midi"),
        (("--quantise", "1/8"), "abc", "midi"),
        (("--part", "Viola"), "abc", "musicxml, mei, kern"),
        (("--written-pitch",), "abc", "musicxml, mei, kern"),
    ],
)
def test_an_option_for_another_format_is_refused(
    option: tuple[object, ...], format: str, others: str, tunes: Path, collection: Path
) -> None:
    name = str(option[0]).removeprefix("--").replace("-", "_")
    expected = f"{tunes}: {format} has no option '{name}'; formats that do: {others}"
    for command in (("load", tunes), ("show", tunes), ("search", collection, "--file", tunes)):
        assert refused(*command, *option) == expected


def test_options_of_a_file_without_a_file(collection: Path) -> None:
    message = "--track is for reading a file; there is none to read"
    assert message in refused("search", collection, "--pae", "'4C", "--track", 1)
    assert message in refused("show", collection, "--id", "auld-lang-syne", "--track", 1)
    assert "--number is for a melody of a --file" in refused("search", collection, "--pae", "'4C", "--number", 1)

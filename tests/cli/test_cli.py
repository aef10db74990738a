"""The command line as a newcomer types it: in a process of its own, results on stdout, remarks on stderr."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import platform
import pty
import re
import signal
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from tests.cli.program import roslin
from tests.waiting import until

from roslin.cli import app
from roslin.collection.filters import FILTERS
from roslin.errors import RoslinError
from roslin.matchers import MATCHERS
from roslin.run.meaning import CHANCE_LINE
from roslin.starter import tunes_path

ROOT = Path(__file__).parents[2]
COCKADE = [
    "--pitch-range",
    "octave..minor tenth",
    "--max-interval",
    "8..9",
    "--duration-ratio",
    "..0.51",
    "--contains",
    "fifth up, third down, unison, sixth up",
    "--contains",
    "third up, unison, unison, sixth up",
]


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "starter.roslin"
    roslin("collection", "build", tunes_path(), path)
    return path


# -- help -------------------------------------------------------------------------------------------------------------


def commands() -> list[list[str]]:
    groups: list[list[str]] = [[]] + [[info.name] for info in app.registered_groups if info.name]
    found = [[command.name] for command in app.registered_commands if command.name]
    for info in app.registered_groups:
        assert info.typer_instance is not None
        found += [[str(info.name), str(command.name)] for command in info.typer_instance.registered_commands]
    return groups + found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_help_of_every_command_has_an_example(command: list[str]) -> None:
    text = roslin(*command, "--help").stdout
    assert text.startswith("Usage: ")
    if command and command != ["collection"]:
        assert f"Example: roslin {' '.join(command)}" in " ".join(text.split())


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from roslin.cli import app; print(sorted(m for m in sys.modules if '.' not in m))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "scipy", "sqlite3", "jinja2", "rich", "pyarrow"):
        assert f"'{heavy}'" not in modules


def test_printing_help_imports_nothing_heavy() -> None:
    """Plug-ins are read before a command is chosen, and need none of these either."""
    assert loaded_by("--help").isdisjoint({"numpy", "scipy", "sqlite3", "jinja2", "pyarrow"})


WITH_LIST_OF_MODULES = """
import atexit, sys
from roslin.cli import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
main()
"""
# Whole packages, and parts of some that a search needs something else of.
NOT_FOR_A_SEARCH = {
    "http",
    "jinja2",
    "matplotlib",
    "scipy",
    "numpy.f2py",
    "pyarrow",
    "rich",
    "roslin.campaign",
    "roslin.collection.write",
    "roslin.engrave",
    "roslin.evaluate",
    "roslin.notation.abc",
    "roslin.notation.jsonl",
    "roslin.notation.kern",
    "roslin.notation.marcxml",
    "roslin.notation.mei",
    "roslin.notation.midi",
    "roslin.notation.musicxml",
    "roslin.notation.pae",
    "roslin.report",
    "roslin.truth",
    "roslin.web",
    "verovio",
}


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    command = [sys.executable, "-c", WITH_LIST_OF_MODULES, *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


@pytest.mark.long
@pytest.mark.parametrize("matcher", ["twv", "dp"])
def test_a_search_imports_what_it_needs(starter: Path, matcher: str) -> None:
    search = ("search", str(starter), "--id", "roslin-castle", "--matcher", matcher)
    assert loaded_by(*search) & NOT_FOR_A_SEARCH == set()


@pytest.mark.long
def test_a_query_imports_its_own_reader_only(starter: Path) -> None:
    search = ("search", str(starter), "--matcher", "dp", "--pae", "'4CDEF")
    roslin(*search)
    assert loaded_by(*search) & NOT_FOR_A_SEARCH == {"roslin.notation.pae"}


@pytest.mark.long
def test_evaluating_needs_no_matcher_no_kernel_and_no_statistics_of_scipy(tmp_path: Path) -> None:
    truth, run = tmp_path / "truth.qrel", tmp_path / "mine.run"
    truth.write_text("1 q1 d1 1\n1 q1 d2 2\n1 q2 d1 1\n")
    run.write_text("q1 Q0 d1 1 3 mine\nq1 Q0 d2 2 2 mine\nq2 Q0 d1 1 3 mine\n")
    loaded = loaded_by("evaluate", str(truth), str(run))
    assert "roslin.evaluate" in loaded
    assert loaded & {"roslin.native.kernels", "roslin.matchers", "roslin.search", "scipy.stats", "verovio"} == set()


@pytest.mark.long
def test_templates_load_only_for_a_page(starter: Path, tmp_path: Path) -> None:
    search = ("search", str(starter), "--id", "roslin-castle", "--matcher", "dp")
    assert "jinja2" in loaded_by(*search, "--html", str(tmp_path / "x.html"))


def test_version() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    lines = roslin("--version").stdout.splitlines()
    assert lines[0] == f"roslin {declared}"
    assert [line.partition(" ")[0] for line in lines[1:]] == [platform.python_implementation(), "kernels:"]


@pytest.mark.long
def test_bad_usage() -> None:
    assert roslin("serch", code=2).stderr == (
        "roslin: No such command 'serch'. Did you mean 'search', 'serve'? (see: roslin --help)\n"
    )
    assert roslin("filter", code=2).stderr == "roslin: Missing argument 'collection'. (see: roslin filter --help)\n"
    assert roslin(code=2).stderr.startswith("Usage: roslin [OPTIONS] COMMAND")
    assert "Build and maintain collections" in roslin("collection", code=2).stderr


# -- the demo ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_demo(tmp_path: Path) -> None:
    done = roslin("demo", "--output", tmp_path / "out", "--format", "json")
    rows = json.loads(done.stdout)
    assert len(rows) > 3
    assert all(row["id"].startswith("roslin-castle") for row in rows[:4])
    assert rows[0]["distance"] < rows[-1]["distance"]
    page = (tmp_path / "out" / "results.html").read_text("utf-8")
    assert page.count("<li>") == len(rows)
    assert page.count('class="notation"') == len(rows) + 1
    assert "Building the starter collection" in done.stderr
    report = (tmp_path / "out" / "campaign" / "report.html").read_text("utf-8")
    assert f"<h1>{len(MATCHERS)} matchers on starter.roslin</h1>" in report
    roslin("demo", "--output", tmp_path / "out")  # again, over what is there


# -- collections ------------------------------------------------------------------------------------------------------


def test_build_says_what_it_took_and_refused_in_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "good.pae").write_text("'4CDE")
    (tmp_path / "bad.pae").write_text("Sol majeur")
    out = tmp_path / "x.roslin"
    done = roslin("collection", "build", tmp_path / "good.pae", tmp_path / "bad.pae", out)
    assert done.stdout.splitlines() == [
        "good.pae: 1 taken, 0 refused",
        "bad.pae: 0 taken, 1 refused",
        f"1 melody taken; 1 refused; see {out}/rejects.tsv",
    ]


@pytest.mark.long
def test_a_bad_source_ends_with_1_and_leaves_the_collection_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "tunes.pae").write_text("".join(f"@start:{n}\n@data:'4CDE{'CDEF'[n]}\n@end:{n}\n" for n in range(4)))
    (tmp_path / "err.xml").write_text("<!DOCTYPE html><html>502</html>")
    out = tmp_path / "live.roslin"
    roslin("collection", "build", tmp_path / "tunes.pae", out)
    for command in ("build", "add"):
        done = roslin("collection", command, tmp_path / "err.xml", out, code=1)
        assert done.stdout == ""
        assert done.stderr.startswith(
            f"roslin: damaged source: {tmp_path}/err.xml:1: not MARCXML; expected MARC records"
        )
        assert done.stderr.count("\n") == 1
    smaller = roslin("collection", "build", tmp_path / "err.xml", out, "--allow-damaged", code=1).stderr
    assert smaller.startswith(f"roslin: {out}: the collection has 4 melodies, the new one would have 0; nothing was")
    (tmp_path / "corrected.pae").write_text("@start:2\n@data:'4GGG\n@end:2\n")
    changed = roslin("collection", "add", tmp_path / "corrected.pae", out, code=1).stderr
    assert "under 1 id of the sources: 2; nothing was written, --replace" in changed
    replaced = roslin("collection", "add", tmp_path / "corrected.pae", out, "--replace").stdout
    assert replaced == "1 melody taken; 1 replaced; 0 unchanged; 0 refused\n"
    assert (
        roslin("collection", "remove", out, "--record", "2", "--record", "1").stdout == "2 melodies removed; 2 left\n"
    )
    assert "name at least one melody, or a record" in roslin("collection", "remove", out, code=2).stderr
    export = Path(__file__).parents[2] / "docs" / "tutorials" / "catalogue.xml"
    update = ("collection", "update", out, export)
    assert roslin(*update, "--format", "tsv").stdout.startswith("outcome\trecord\tbefore\tafter\nadded\t1001\t0\t")
    counts = json.loads(roslin(*update, "--complete", "--format", "json").stdout)["counts"]
    assert [each["records"] for each in counts] == [0, 0, 0, 4]
    assert roslin(*update).stdout.splitlines()[-1].split() == ["unchanged", "4"]
    options = ("--allow-damaged", "--allow-smaller")
    assert roslin("collection", "build", tmp_path / "err.xml", out, *options).stdout.startswith(
        "0 melodies taken; 1 ref"
    )


def test_an_unknown_choice_is_named_in_plain_words() -> None:
    found = roslin("search", "x.roslin", "'4C", "--direction", "sideways", code=2).stderr
    assert found == (
        "roslin: Invalid value for '--direction': 'sideways' is not one of 'inverted', 'retrograde', 'both'. "
        "(see: roslin search --help)\n"
    )


@pytest.mark.long
def test_build_usage(tmp_path: Path) -> None:
    assert "name exactly one collection, NAME.roslin; got 0" in flat(roslin("collection", "build", "a.pae", code=2))
    assert "name at least one file or folder" in flat(roslin("collection", "build", "a.roslin", code=2))
    missing = roslin("collection", "build", tmp_path / "none.pae", tmp_path / "a.roslin", code=2)
    assert "there is no such file or folder" in flat(missing)
    assert not (tmp_path / "a.roslin").exists()


def flat(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join(done.stderr.split())


@pytest.mark.long
def test_add_remove_info_check_export(tmp_path: Path, starter: Path) -> None:
    (tmp_path / "one.pae").write_text("@start:mine\n@data:'4CDE\n@end:mine\n")
    out = tmp_path / "mine.roslin"
    roslin("collection", "build", tunes_path(), out)
    assert roslin("collection", "add", tmp_path / "one.pae", out).stdout == "1 melody taken; 0 refused\n"
    info = {
        row["name"]: row["value"] for row in json.loads(roslin("collection", "info", out, "--format", "json").stdout)
    }
    assert info["from one.pae"] == "1"
    assert int(info["melodies"]) > 120
    left = int(info["melodies"]) - 1
    assert roslin("collection", "remove", out, "mine").stdout == f"1 melody removed; {left} left\n"
    assert "unknown melody 'mine'" in roslin("collection", "remove", out, "mine", code=2).stderr
    assert roslin("collection", "check", out).stdout == f"{out}: whole\n"
    assert f"{left} melodies written" in roslin("collection", "export", out, tmp_path / "all.jsonl").stdout
    assert len((tmp_path / "all.jsonl").read_text("utf-8").splitlines()) == left
    assert "unknown export format" in roslin("collection", "export", out, tmp_path / "all.xyz", code=2).stderr
    with (out / "collection.sqlite").open("r+b") as file:
        whole = file.read()
        file.truncate(20_000)
    assert roslin("collection", "check", out, code=1).stdout.endswith(": damaged\n")
    (out / "collection.sqlite").write_bytes(whole)
    notes = next(out.glob("notes-*.npy"))
    content = bytearray(notes.read_bytes())
    content[-10] ^= 1
    notes.write_bytes(content)
    assert roslin("collection", "check", out, code=1).stdout.endswith(": damaged\n")


def test_one_line_for_what_is_no_collection(tmp_path: Path) -> None:
    done = roslin("collection", "info", tmp_path / "none.roslin", code=2)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"roslin: {tmp_path}/none.roslin: there is no such folder; make one with")


@pytest.mark.long
def test_one_line_for_a_link_that_leads_back_to_itself(tmp_path: Path) -> None:
    (tmp_path / "loop.roslin").symlink_to("loop.roslin")
    for command in ("info", "check"):
        said = roslin("collection", command, "loop.roslin", code=2, folder=tmp_path).stderr
        assert said.count("\n") == 1
    for words in (["serve", "loop.roslin"], ["experiment", "status", "loop.roslin"]):
        said = roslin(*words, code=2, folder=tmp_path).stderr
        assert said.count("\n") == 1


@pytest.mark.long
def test_load_says_what_was_understood(tmp_path: Path) -> None:
    (tmp_path / "tunes.pae").write_text("@start:one\n@data:'4CDE\n@end:one\n@start:two\n@data:\"4C\n@end:two\n")
    done = roslin("load", tmp_path / "tunes.pae", "--format", "json")
    rows = json.loads(done.stdout)
    assert [(row["notation"], row["id"], row["notes"], row["warnings"]) for row in rows] == [
        ("pae", "one", 3, 0),
        ("pae", "two", 1, 1),
    ]
    assert done.stderr == "2 melodies, 4 notes, 1 warning; 0 refused\n"
    strict = roslin("load", tmp_path / "tunes.pae", "--strict", code=1)
    assert strict.stderr == "1 melody, 3 notes, 0 warnings; 1 refused\n"
    assert "octave marks written with a double quote" in strict.stdout
    assert "unknown format 'x'" in roslin("load", tmp_path / "tunes.pae", "--notation", "x", code=2).stderr


# -- search and filter ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_search_by_text_by_file_and_by_id(starter: Path, tmp_path: Path) -> None:
    inside = ("-k", 3, "--matcher", "dp", "--place", "anywhere")
    by_text = roslin("search", starter, "%G-2@2/4 '4CC/GG/AA/2G", *inside)
    assert "ah-vous-dirai-je" in by_text.stdout.splitlines()[1]
    assert roslin("search", starter, "--pae", "%G-2@2/4 '4CC/GG/AA/2G", *inside).stdout == by_text.stdout
    (tmp_path / "query.pae").write_text("%G-2@2/4 '4CC/GG/AA/2G\n%G-2 '4CDE")
    assert "holds 2 melodies; none is --number 3" in flat(
        roslin("search", starter, "--file", tmp_path / "query.pae", "--number", 3, code=2)
    )
    by_file = roslin("search", starter, "--file", tmp_path / "query.pae", "--number", 1, *inside)
    assert by_file.stdout == by_text.stdout
    run, page = tmp_path / "run.txt", tmp_path / "page.html"
    by_id = roslin("search", starter, "--id", "roslin-castle", "--format", "tsv", "--run", run, "--html", page)
    rows = [line.split("\t") for line in by_id.stdout.splitlines()]
    counted = ["rank", "distance", "expected", "meaning", "above_chance", "same_notes"]
    assert rows[0] == [*counted, "id", "title", "composer", "key", "metre"]
    assert "roslin-castle" not in [row[6] for row in rows]
    assert (rows[1][3], rows[1][6]) == ("same notes", "roslin-castle-2")
    assert [line.split()[2] for line in run.read_text().splitlines()] == [row[6] for row in rows[1:]]
    assert len(rows) == 11
    assert [float(row[2]) for row in rows[1:]] == sorted(float(row[2]) for row in rows[1:])
    written = page.read_text("utf-8")
    assert "Roslin Castle" in written
    assert written.count(" such matches expected by chance</p>") == len(rows) - 1
    assert '<b class="meaning">same notes</b>' in written
    assert "Nothing close" not in written


@pytest.mark.long
def test_a_run_in_a_file_keeps_what_it_means(starter: Path, tmp_path: Path) -> None:
    for name, known in (("run.csv", "expected,meaning"), ("run.json", '"meaning": "same tune"')):
        roslin("search", starter, "--id", "roslin-castle", "--run", tmp_path / name)
        assert known in (tmp_path / name).read_text("utf-8")


@pytest.mark.long
def test_a_run_is_packed_where_its_name_says_so(starter: Path, tmp_path: Path) -> None:
    for name in ("plain.run", "out.gz", "out.run.gz", "out.json.gz"):
        roslin("search", starter, "--id", "roslin-castle", "--run", tmp_path / name)
    for name in ("out.gz", "out.run.gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()) == (tmp_path / "plain.run").read_bytes()
    assert b"same tune" in gzip.decompress((tmp_path / "out.json.gz").read_bytes())


@pytest.mark.long
def test_nothing_better_than_chance_is_said(starter: Path, tmp_path: Path) -> None:
    """On stderr for people, as a field for programs; the nearest are shown all the same, below a line."""
    nonsense = ("search", starter, "--pae", "'4C,xG''F,,A'D,,bB''C,xF")
    said = roslin(*nonsense)
    assert said.stderr.splitlines() == [
        "All notes of the query are equally long, so the rhythm was ignored.",
        "Nothing better than chance; the closest are shown.",
        "8 notes are few: add more, or search at the start (--place start).",
    ]
    lines = said.stdout.splitlines()
    assert (len(lines), lines[1]) == (12, CHANCE_LINE)
    assert said.stdout.count("no more alike than chance") == 10
    roslin(*nonsense, "-k", 3, "--html", tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text("utf-8")
    assert "Nothing better than chance; the closest are shown" in page
    assert page.count("no more alike than chance</b>") == 3
    answer = json.loads(roslin(*nonsense, "--format", "json").stdout)
    assert [row["above_chance"] for row in answer] == [False] * 10
    header = roslin(*nonsense, "--format", "tsv", "--sure").stdout.splitlines()
    assert len(header) == 1


@pytest.mark.long
def test_a_list_is_full_and_a_line_is_drawn_where_chance_begins(starter: Path) -> None:
    asked = ("search", starter, "--id", "roslin-castle", "-k", 40)
    whole = roslin(*asked).stdout.splitlines()
    assert whole.count(CHANCE_LINE) == 1
    assert len(whole) == 42
    assert whole[0].split()[:4] == ["rank", "distance", "chance", "meaning"]
    line = whole.index(CHANCE_LINE)
    assert "no more alike" not in "".join(whole[:line])
    assert all("no more alike than chance" in row for row in whole[line + 1 :])
    sure = roslin(*asked, "--sure")
    assert [row.split() for row in sure.stdout.splitlines()[1:]] == [row.split() for row in whole[1:line]]
    rows = json.loads(roslin(*asked, "--format", "json").stdout)
    assert [row["above_chance"] for row in rows] == [True] * (line - 1) + [False] * (41 - line)


@pytest.mark.long
def test_exact_agreement_is_named_and_counted(starter: Path) -> None:
    done = roslin("search", starter, "--id", "roslin-castle", "-k", 3, "--format", "json")
    assert "Found: 2 melodies have exactly these 35 notes." in done.stderr
    rows = json.loads(done.stdout)
    assert [(row["meaning"], row["same_notes"]) for row in rows[:2]] == [("same notes", 35)] * 2
    few = roslin("search", starter, "--pae", "'4CDE", "-k", 200).stderr
    assert "3 notes are few: add more, or search at the start (--place start)." in few


@pytest.mark.long
def test_a_query_that_can_be_read_in_two_ways_is_told_and_the_other_can_be_chosen(starter: Path) -> None:
    both = roslin("search", starter, "c4 e g c4", "-k", 1).stderr
    assert "read 'c4 e g c4' as ABC in C major" in both
    assert "It can also be read as note names with octaves: choose the notation names." in both
    other = roslin("search", starter, "c4 e g c4", "-k", 1, "--notation", "names").stderr
    assert "read 'c4 e g c4' as note names: C4 E4 G4 C4" in other
    assert "choose the notation" not in other
    why = roslin("explain", starter, "easter-hymn", "c4 e g c4", "--notation", "abc").stderr
    assert "read 'c4 e g c4' as ABC in C major" in why
    assert "as ABC in C major" in roslin("explain", starter, "easter-hymn", "c4 e g c4").stderr  # as in the list


@pytest.mark.long
def test_a_search_for_several_readings_ends_in_time(starter: Path) -> None:
    done = roslin("search", starter, "c4 e g c4", "-k", 1, "--seconds", 60)
    assert "choose the notation names" in done.stderr
    assert "above 0 seconds" in roslin("search", starter, "c4 e g c4", "--seconds", 0, code=2).stderr


def test_modes_are_the_same_words_as_everywhere() -> None:
    from typing import get_args

    from roslin.cli.options import matcher_options
    from roslin.matchers.base import MODES

    options = inspect.signature(matcher_options, eval_str=True, locals={"ChosenMatcher": None}).parameters
    for name, values in MODES.items():
        assert get_args(options[name].annotation)[1].metavar == "|".join(values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "exactly one of QUERY, --pae, --file and --id"),
        (["--pae", "'4C", "--id", "x"], "exactly one of QUERY, --pae, --file and --id"),
        (["'4C", "--id", "x"], "exactly one of QUERY, --pae, --file and --id"),
        (["'4C", "--pae", "'4C"], "give the query once: as QUERY or with --pae"),
        (["tune.mid"], "tune.mid is the name of a file; use --file for it"),
        (["'4C", "--number", "2"], "--number is for a melody of a --file; there is none"),
        (["'4CDE", "--notation", "x"], "unknown format 'x'"),
        (["--pae", "'4CDZ", "--strict"], "roslin: column 5: unreadable sign, left out; expected a note"),
        (["--pae", "'4CD", "--matcher", "best"], "roslin: unknown matcher 'best'; known: alignment, "),
        (["--id", "nobody"], "roslin: unknown melody 'nobody'"),
        (["--file", "nothing.pae"], "roslin: nothing.pae: no such file"),
        (["--pae", "'4C", "-k", "0"], "roslin: Invalid value for '-k'"),
        (["--id", "greensleeves", "--compare", "all"], "roslin: unknown compare 'all'; known: both, melody, rhythm"),
        (
            ["--id", "greensleeves", "--matcher", "dp", "--key", "written"],
            "roslin: dp cannot tell one key from another",
        ),
    ],
)
def test_bad_searches(starter: Path, arguments: list[str], message: str) -> None:
    error = roslin("search", starter, *arguments, code=2).stderr
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.long
def test_what_is_read_otherwise_is_told(starter: Path) -> None:
    done = roslin("search", starter, "--pae", '"4CDEZC', "-k", 2)
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr.splitlines()[:2] == ["read '\"' as two octave marks at column 1", "left out 'Z' at column 6"]
    many = roslin("search", starter, "--pae", "'4" + "".join(f"{sign}CD" for sign in "ZVWRKLMOPSU?*"), "-k", 2).stderr
    assert many.splitlines()[10] == "... and 3 more; --strict stops at the first"


def test_filter_prints_sentences_and_counts(starter: Path, tmp_path: Path) -> None:
    saved = tmp_path / "ids.txt"
    done = roslin("filter", starter, *COCKADE, "--unique", "--save", saved, "--format", "json")
    rows = json.loads(done.stdout)
    assert [row["step"] for row in rows] == [
        "All melodies.",
        "Pitch range between an octave and a minor tenth (12 to 15 semitones).",
        "Largest interval between a minor sixth and a major sixth (8 to 9 semitones).",
        "Duration ratio at most 0.51 (shortest note to longest note).",
        'Contains "fifth up, third down, unison, sixth up" or "third up, unison, unison, sixth up".',
        "Identical with another, or part of it.",
    ]
    for before, after in pairwise(rows):
        assert before["left"] - after["removed"] == after["left"]
    assert len(saved.read_text().splitlines()) == rows[-1]["left"]
    table = roslin("filter", starter, *COCKADE).stdout
    assert '"third up, unison, unison, sixth up".' in table


@pytest.mark.long
def test_search_among_what_the_filters_leave(starter: Path, tmp_path: Path) -> None:
    asked = ("--pae", "'4CDEC", "--matcher", "dp", "-k", 300, "--format", "tsv")
    narrowed = ("--note-count", "..20", "--where", "metre=3/4", "--unique")
    done = roslin("search", starter, *asked, *narrowed)
    saved = tmp_path / "ids.txt"
    roslin("filter", starter, *narrowed, "--save", saved)
    left = saved.read_text().splitlines()
    assert sorted(line.split("\t")[6] for line in done.stdout.splitlines()[1:]) == sorted(left)
    assert done.stderr.splitlines()[0] == (
        f'Searched {len(left)} of 243 melodies. Number of notes at most 20. Metre contains "3/4". '
        "Without what is identical with another, or part of it."
    )
    exactly = roslin("search", starter, *asked, *narrowed[:-1], "--unique-exactly")
    assert len(exactly.stdout) >= len(done.stdout)
    nothing = roslin("search", starter, *asked, "--where", "composer=nobody")
    assert nothing.stderr.splitlines()[0] == 'Searched 0 of 243 melodies. Composer contains "nobody".'
    assert len(nothing.stdout.splitlines()) == 1
    both = roslin("filter", starter, "--unique", "--unique-exactly", code=2).stderr
    assert "choose one of --unique and --unique-exactly" in both


def test_every_filter_is_on_the_command_line(starter: Path) -> None:
    options = {
        "pitch_range": ["--pitch-range", "5.."],
        "max_interval": ["--max-interval", "..12"],
        "duration_ratio": ["--duration-ratio", "0.01..1"],
        "note_count": ["--note-count", "4..200"],
        "contains": ["--contains", "unison"],
        "pattern": ["--pattern", ".{3} (up | down | 1)"],
        "share_of_interval": ["--share", "second=0.1.."],
        "repeats_motive": ["--motive", "unison", "--times", "2"],
        "contour_distance": ["--contour", "UDUDUD=100"],
        "rhythm_distance": ["--rhythm", "LS===100"],
        "metadata": ["--where", "metre=4"],
        "one_of": ["--only", "metre=4/4", "--only", "metre=2/4"],
    }
    assert set(options) == set(FILTERS)
    chain = [word for words in options.values() for word in words]
    rows = json.loads(roslin("filter", starter, *chain, "--contains-semitones", "0", "--format", "json").stdout)
    assert len(rows) == len(FILTERS) + 2
    assert rows[-1]["left"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pitch-range", "15..12"], "the lowest value must not be above the highest; got 15 and 12"),
        (["--contains", "fifth sideways"], "roslin: "),
        (["--share", "third"], "--share must be INTERVAL=RANGE; got 'third'"),
        (["--contour", "UD=x"], "--contour must be COST or LETTERS=COST; got 'UD=x'"),
        (["--contour", "UD"], "--contour must be COST or LETTERS=COST; got 'UD'"),
        (["--rhythm", "2"], "--rhythm without LETTERS= needs a query; got '2'"),
        (["--also-search", "dp"], "--also-search needs a query: one of --pae, --file and --id"),
        (["--costs", "insertion=1"], "--costs goes with --contour or --rhythm: give one of them, or omit --costs"),
        (["--contour", "UD=1", "--costs", "swap=1"], "costs must be those of insertion, deletion, replacement, two of"),
        (["--contour", "UD=1", "--costs", "UD"], "costs must be NAME=NUMBER, such as insertion=0.5 or UD=2; got 'UD'"),
        (["--also", "colour=red"], "unknown field 'colour'"),
        (["--also", "red"], "--also must be FIELD=TEXT; got 'red'"),
        (["--where", "colour=red"], "unknown field 'colour'"),
        (["--times", "3"], "--times goes with --motive: give a --motive, or omit --times"),
    ],
)
def test_bad_filters(starter: Path, arguments: list[str], message: str) -> None:
    assert message in flat(roslin("filter", starter, *arguments, code=2))


@pytest.mark.long
def test_contour_and_rhythm_near_those_of_a_query(starter: Path) -> None:
    query = ("--id", "roslin-castle")
    near = ("filter", starter, *query, "--contour", "9", "--rhythm", "12", "--costs", "replacement=2, UD=3", "--list")
    rows = json.loads(roslin(*near, "--format", "json").stdout)
    assert list(rows[0]) == ["id", "title", "composer", "contour cost", "rhythm cost", "why"]
    costs = {row["id"]: (row["contour cost"], row["rhythm cost"]) for row in rows}
    assert costs["roslin-castle"] == (0, 0)
    assert len(costs) > 2
    assert all(contour <= 9 and rhythm <= 12 for contour, rhythm in costs.values())
    (step,) = (row for row in json.loads(roslin(*near[:-1], "--format", "json").stdout) if "contour" in row["step"])
    assert step["step"].endswith("(insertion 1, deletion 1, replacement 2, U by D 3).")
    by_text = ("filter", starter, "--pae", "'4CDEC", "--contour", "2", "--format", "json")
    assert roslin(*by_text).stdout == roslin("filter", starter, "--contour", "UUD=2", "--format", "json").stdout


@pytest.mark.long
def test_melodies_are_added_to_what_the_filters_left(starter: Path, tmp_path: Path) -> None:
    """As for "Roslin Castle" in the paper: every title with the word, and what three systems find."""
    saved = tmp_path / "ids.txt"
    ways = ("--also", "title=Roslin", "--also-search", "p2", "--also-search", "p3", "--first", "3")
    asked = ("filter", starter, "--note-count", "..8", *ways, "--id", "roslin-castle", "--save", saved)
    steps = json.loads(roslin(*asked, "--format", "json").stdout)
    assert [row["step"] for row in steps[2:]] == [
        'Added: Title contains "Roslin".',
        "Added: Found by p2.",
        "Added: Found by p3.",
    ]
    assert (steps[1]["added"], steps[2]["removed"], steps[2]["added"]) == (None, None, 7)
    assert steps[-1]["left"] == len(saved.read_text().splitlines())
    why = {row["id"]: row["why"] for row in json.loads(roslin(*asked, "--list", "--format", "json").stdout)}
    assert why["roslin-castle"] == 'Title contains "Roslin".'
    assert why["roslin-castle-2"] == 'Title contains "Roslin". Found by p2. Found by p3.'
    assert "Passed the filters." in why.values()


def test_matchers() -> None:
    rows = json.loads(roslin("matchers", "--format", "json").stdout)
    names = [row["name"] for row in rows]
    assert names == sorted(names)
    assert {"alignment", "dp", "emd", "twv"} <= set(names)


# -- terminals --------------------------------------------------------------------------------------------------------


AT_ONCE = """
from roslin.cli import main, output
output._BAR_AFTER_SECONDS = 0
main()
"""


@pytest.mark.long
def test_a_progress_bar_on_a_terminal_and_none_elsewhere(tmp_path: Path) -> None:
    source = tmp_path / "many.jsonl"
    lines = (json.dumps({"id": f"m{k}", "pae": "'4CDEF/GABC/2DE/1F//"}) for k in range(2_000))
    source.write_text("\n".join(lines))
    master, slave = pty.openpty()
    command = [sys.executable, "-c", AT_ONCE, "collection", "build", str(source), str(tmp_path / "x.roslin")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, text=True) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                block = os.read(master, 4096)
            except OSError:
                break
            if not block:
                break
            shown += block
        assert process.stdout is not None
        assert process.stdout.read() == "2000 melodies taken; 0 refused\n"
    os.close(master)
    assert re.search(rb"Reading: many.jsonl", shown)
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


def test_an_interrupt_while_an_object_is_cleared_away_is_not_lost() -> None:
    program = """
import time
from roslin.cli import repeat_lost_interrupts

class Cleared:
    def __del__(self):
        raise KeyboardInterrupt

repeat_lost_interrupts()
try:
    Cleared()
    for _ in range(1_000):
        time.sleep(0.01)
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


@pytest.mark.long
def test_an_interrupted_build_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tmp_path / "many.jsonl"
    source.write_text("\n".join(json.dumps({"id": f"m{k}", "pae": "'4CDEF/GABC//"}) for k in range(60_000)))
    target = tmp_path / "x.roslin"
    command = [sys.executable, "-m", "roslin", "collection", "build", str(source), str(target)]
    # Whoever runs the tests in the background has told them, and so their children, to ignore interrupts.
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        until(lambda: list(target.glob(".new-*/notes.raw")) or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate()
    assert (process.returncode, out, error) == (130, "", "roslin: stopped\n")
    assert [path.name for path in target.iterdir()] == ["writer.lock"]


@pytest.mark.long
def test_a_closed_pipe_is_no_error(starter: Path) -> None:
    command = f"{sys.executable} -m roslin search {starter} --id roslin-castle -k 200 --format tsv | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rank\t")
    assert done.stderr == "Found: 2 melodies have exactly these 35 notes.\n"


def test_errors_keep_their_parts_between_processes() -> None:
    import pickle

    from roslin import errors

    for error in (
        errors.NotationError(errors.Problem("r", "e", "f", 3, 2, "file", "rec")),
        errors.UnknownNameError("kind", "name", ["b", "a"]),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert isinstance(again, RoslinError)
        assert str(again) == str(error)
    assert str(errors.Problem("r", "e", "f", 3, 2, "file", "rec")) == "file:2, rec, column 3: r; expected e; found f"


@pytest.mark.long
def test_the_command_and_python_search_with_the_same_matcher(starter: Path) -> None:
    from roslin.matchers import DEFAULT_MATCHER

    asked = ("search", starter, "--id", "greensleeves", "--format", "json")
    assert roslin(*asked).stdout == roslin(*asked, "--matcher", DEFAULT_MATCHER).stdout != "[]\n"

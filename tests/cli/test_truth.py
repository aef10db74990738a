"""roslin truth as it is typed."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from roslin.truth import group_rankings, list_consistency, read_rankings, read_truth


def roslin(*arguments: object, code: int = 0, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roslin", "truth", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truth")
    arguments = ["--queries", 2, "--candidates", "6-10", "--experts", 20, "--noise", 0.6, "--dropout", 0.2]
    roslin("simulate", "-o", "said.csv", *arguments, folder=path)
    return path


def test_simulated_rankings(folder: Path) -> None:
    said = read_rankings(folder / "said.csv")
    assert [len(each.documents) for each in said.values()] == [6, 10]
    assert len(said.experts) == 20


def test_group_prints_lists_says_what_noise_gives_and_writes_the_truth(folder: Path) -> None:
    options = ["--rule", "any", "--tails", 1, "--shuffles", 50, "-o", "any.qrel"]
    done = roslin("group", "said.csv", *options, "--format", "json", folder=folder)
    rows = json.loads(done.stdout)
    assert list(rows[0]) == ["query", "group", "document", "median", "mean", "votes", "largest_p"]
    truth = group_rankings(read_rankings(folder / "said.csv"), "any", 1)
    assert [row["document"] for row in rows] == [id for each in truth.values() for group in each for id in group]
    assert dict(read_truth(folder / "any.qrel")) == dict(truth)
    assert f"query q1: {len(truth['q1'])} groups; shuffled rankings give" in done.stderr
    assert done.stderr.splitlines()[-1] == "written to any.qrel"


def test_consistency_and_what_spoils_it(folder: Path) -> None:
    roslin("group", "said.csv", "-o", "truth.qrel", "--shuffles", 0, folder=folder)
    expected = list_consistency(read_truth(folder / "truth.qrel"), read_rankings(folder / "said.csv"))
    rows = json.loads(roslin("consistency", "truth.qrel", "said.csv", "--format", "json", folder=folder).stdout)
    assert [row["consistency"] for row in rows] == [*expected.values(), expected.mean]
    pairs = roslin("consistency", "truth.qrel", "said.csv", "--pairs", "--format", "tsv", folder=folder).stdout
    listed = [line.split("\t") for line in pairs.splitlines()[1:]]
    assert [line[2] for line in listed if line[:2] == ["q2", "intra"]] == [
        " ".join(pair) for pair in expected.lists["q2"].intra
    ]
    assert expected.lists["q2"].intra
    pivots = json.loads(
        roslin("consistency", "truth.qrel", "said.csv", "--pivots", "--format", "json", folder=folder).stdout
    )
    assert len(pivots) == 5 + 9
    done = roslin("consistency", "truth.qrel", "said.csv", "--pivots", "--pairs", code=2, folder=folder)
    assert "choose one of --pairs and --pivots" in done.stderr


@pytest.mark.parametrize(
    ("name", "begins"), [("r.html", "<!DOCTYPE html>"), ("r.svg", "<svg"), ("r.tex", "% Query q1"), ("r.csv", "query,")]
)
def test_reports(folder: Path, name: str, begins: str) -> None:
    (folder / "years.csv").write_text("expert,years\nann,3\nbob,12\n")
    options = ["--shuffles", 20, "--experience", "years.csv"]
    done = roslin("report", "said.csv", "-o", name, *options, folder=folder)
    text = (folder / name).read_text("utf-8")
    assert text.startswith(begins)
    assert done.stdout == ""
    if name == "r.html":
        assert "The experience of 2 experts" in text
        assert "said.csv, SHA-256" in text


def test_votes_and_power(folder: Path) -> None:
    lines = ["query,first,second,answer"] + ["q,a,b,a"] * 9 + ["q,a,b,s"] + ["q,b,c,s"] * 8 + ["q,a,c,a"] * 7
    (folder / "votes.csv").write_text("\n".join(lines) + "\n")
    for model in ("segments", "bradley-terry"):
        done = roslin("votes", "votes.csv", "--model", model, "-o", "votes.qrel", "--format", "json", folder=folder)
        assert json.loads(done.stdout)[0] == {"query": "q", "group": 1, "document": "a"}
        assert [set(group) for group in read_truth(folder / "votes.qrel")["q"]] == [{"a"}, {"b", "c"}]
    done = roslin("votes", "votes.csv", "--against", "votes.qrel", "--format", "json", folder=folder)
    assert json.loads(done.stdout)[0]["identical"] is True
    strengths = ["strengths", "said.csv", "--resamples", 20, "-o", "strengths.qrel", "--format", "json"]
    fitted = json.loads(roslin(*strengths, folder=folder).stdout)
    assert len(fitted) == 16
    assert all(row["low"] <= row["high"] for row in fitted)
    assert [row["document"] for row in fitted] == [
        id for each in read_truth(folder / "strengths.qrel").values() for group in each for id in group
    ]
    rows = list(
        csv.DictReader(
            roslin("power", "said.csv", "--query", "q1", "--format", "tsv", folder=folder).stdout.splitlines(),
            delimiter="\t",
        )
    )
    assert len(rows) == 5
    assert list(rows[0]) == ["query", "first", "second", "p", "chance", "votes", "needed", "more"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["group", "none.csv"], "roslin: none.csv: No such file or directory"),
        (["group", "twice.csv"], "twice.csv:3: expert ann gives rank 1 twice for query q (a in line 2)"),
        (["group", "zero.csv"], "zero.csv:2: bad rank; expected 1 (the most similar) or more, or nothing; found 0"),
        (["group", "said.csv", "--rule", "most"], "unknown rule 'most'; known: all, any, prev"),
        (["group", "said.csv", "--query", "q9"], "unknown query 'q9'; known: q1, q2"),
        (["group", "said.csv", "--alpha", "2"], "alpha must be above 0 and at most 1; got 2.0"),
        (["report", "said.csv", "-o", "r.pdf"], "--output must end with .html, .svg, .tex, .csv; got r.pdf"),
        (["simulate", "-o", "x.csv", "--candidates", "few"], "--candidates must be a number, or two with a dash"),
        (["simulate", "-o", "x.csv", "--model", "x"], "unknown model 'x'; known: mallows, plackett-luce"),
        (["votes", "said.csv"], "said.csv: no column first"),
        (["votes", "votes.csv", "--model", "x"], "unknown model 'x'; known: segments, bradley-terry"),
    ],
)
def test_refusals_are_one_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "twice.csv").write_text("query,expert,document,rank\nq,ann,a,1\nq,ann,b,1\n")
    (folder / "zero.csv").write_text("query,expert,document,rank\nq,ann,a,0\n")
    (folder / "votes.csv").write_text("query,first,second,answer\nq,a,b,a\n")
    done = roslin(*arguments, code=2, folder=folder)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_ties_where_they_are_meant(folder: Path) -> None:
    (folder / "tied.csv").write_text("query,expert,document,rank\nq,ann,a,1\nq,ann,b,1\nq,bob,a,1\nq,bob,b,1\n")
    done = roslin("group", "tied.csv", "--ties", "--shuffles", 5, "--format", "tsv", folder=folder)
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["group", "1", "1"]


def test_melodies_of_a_file_are_drawn(folder: Path) -> None:
    from roslin.starter import tunes_path

    text = "query,expert,document,rank\n"
    text += "".join(f"roslin-castle,e{n},roslin-castle,1\nroslin-castle,e{n},not-a-tune,2\n" for n in range(4))
    (folder / "tunes.csv").write_text(text)
    roslin("report", "tunes.csv", "-o", "tunes.html", "--melodies", tunes_path(), "--shuffles", 5, folder=folder)
    assert (folder / "tunes.html").read_text("utf-8").count('class="notation"') == 1
    subprocess.run(
        [sys.executable, "-m", "roslin", "collection", "build", "tunes.roslin", tunes_path()],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    roslin("report", "tunes.csv", "-o", "again.html", "--melodies", "tunes.roslin", "--shuffles", 5, folder=folder)
    assert (folder / "again.html").read_text("utf-8").count('class="notation"') == 1

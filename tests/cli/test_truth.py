"""roslin truth as it is typed."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import pytest

from roslin.cli import main
from roslin.truth import group_rankings, grouped_truth, list_consistency, method_named, read_rankings, read_truth


@dataclass
class Done:
    """What a command printed."""

    stdout: str
    stderr: str


def roslin(*arguments: object, code: int = 0, folder: Path) -> Done:
    """Run a command in this process, which spares a second each; `test_as_a_program` runs one as it is typed."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["roslin", "truth", *map(str, arguments)]),
        pytest.raises(SystemExit) as left,
    ):
        main()
    assert (left.value.code or 0) == code, (out.getvalue(), err.getvalue())
    return Done(out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truth")
    arguments = ["--queries", 2, "--candidates", "6-10", "--experts", 20, "--noise", 0.6, "--dropout", 0.2]
    roslin("simulate", "-o", "said.csv", *arguments, folder=path)
    return path


@pytest.mark.long
def test_as_a_program(folder: Path) -> None:
    command = [sys.executable, "-m", "roslin", "truth", "group", "said.csv", "--shuffles", "5", "--format", "tsv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout == roslin("group", "said.csv", "--shuffles", 5, "--format", "tsv", folder=folder).stdout
    assert "shuffled rankings give" in done.stderr


def test_simulated_rankings(folder: Path) -> None:
    said = read_rankings(folder / "said.csv")
    assert [len(each.documents) for each in said.values()] == [6, 10]
    assert len(said.experts) == 20


def test_group_prints_lists_says_what_noise_gives_and_writes_the_truth(folder: Path) -> None:
    options = ["--rule", "any", "--tails", 1, "--shuffles", 50, "-o", "any.qrel"]
    done = roslin("group", "said.csv", *options, "--format", "json", folder=folder)
    rows = json.loads(done.stdout)
    assert list(rows[0]) == ["query", "group", "document", "median", "mean", "votes", "largest_p", "confidence"]
    method = replace(method_named("roslin"), rule="any", tails=1)
    truth = grouped_truth(read_rankings(folder / "said.csv"), method)
    assert [row["document"] for row in rows] == [id for each in truth.values() for group in each for id in group]
    assert dict(read_truth(folder / "any.qrel")) == dict(truth)
    said = [line for line in done.stderr.splitlines() if not line.startswith("mostly")]
    assert said[: len(truth.notes) + 1] == [*truth.notes, "written to any.qrel"]
    queries = said[len(truth.notes) + 1 :]
    assert queries[0].startswith(f"query q1: {len(truth['q1'])} groups; shuffled rankings give")
    assert re.search(r"; Kendall's W 0\.\d\d, Krippendorff's alpha 0\.\d\d$", queries[0])
    assert re.match(r"query q1: about \d\.\d of \d lines? may be spurious", queries[1])
    drawn = [row["confidence"] for row in rows if row["confidence"] is not None]
    assert len(drawn) == sum(len(groups) - 1 for groups in truth.values())
    assert all(0.1 < confidence < 1 for confidence in drawn)


def test_group_warns_of_a_candidate_that_one_expert_put_first(folder: Path) -> None:
    lines = ["query,expert,document,rank", "q,expert 0,odd,1"]
    lines += [f"q,expert {n},{id},{rank + (n == 0)}" for n in range(29) for rank, id in enumerate("abc", start=1)]
    (folder / "thin.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = roslin("group", "thin.csv", "--as", "typke2005", "--shuffles", 20, folder=folder)
    assert done.stdout.splitlines()[1].split()[:3] == ["q", "1", "odd"]
    assert "query q: high by few votes: odd (1); later candidates have up to 29 (--min-votes" in done.stderr
    assert "few votes" not in roslin("group", "thin.csv", "--unranked", "last", "--shuffles", 0, folder=folder).stderr
    done = roslin("group", "thin.csv", "--shuffles", 0, folder=folder)
    assert "query q: judged not relevant, as fewer than 8 of 29 experts ranked: odd" in done.stderr
    assert "odd" not in done.stdout


def careless_study(folder: Path) -> Path:
    """Nine experts rank the query and two candidates alike in three queries; three put the query last everywhere."""
    path = folder / "careless.csv"
    lines = ["query,expert,document,rank"]
    for query in ("x", "y", "z"):
        for n in range(12):
            order = [query, f"{query}1", f"{query}2"] if n < 9 else [f"{query}3", f"{query}2", f"{query}1", query]
            lines += [f"{query},e{n:02},{id},{rank}" for rank, id in enumerate(order, start=1)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.long
def test_experts_who_failed_the_check_of_attention_are_left_out_and_named(folder: Path) -> None:
    careless_study(folder)
    done = roslin("group", "careless.csv", "--shuffles", 0, "-o", "careless.qrel", folder=folder)
    assert "mostly did not put the query first, and are left out: e09, e10, e11 (roslin truth experts" in done.stderr
    assert read_truth(folder / "careless.qrel")["x"] == (("x",), ("x1",), ("x2",))
    page = roslin("report", "careless.csv", "-o", "careless.html", "--shuffles", 5, folder=folder)
    assert "written to careless.html" in page.stderr
    text = (folder / "careless.html").read_text("utf-8")
    assert "Experts who failed the check of attention, and do not count: e09, e10, e11." in text
    assert text.count("left out") >= 3
    kept = roslin("group", "careless.csv", "--shuffles", 0, "--no-attention", "--format", "json", folder=folder)
    assert "and are left out" not in kept.stderr
    assert {row["votes"] for row in json.loads(kept.stdout) if row["document"] == "x1"} == {12}
    rows = roslin("consistency", "careless.qrel", "careless.csv", "--format", "json", folder=folder).stdout
    assert [row["consistency"] for row in json.loads(rows)] == [1, 1, 1, 1]
    pairs = json.loads(roslin("power", "careless.csv", "--format", "json", folder=folder).stdout)
    assert {pair["experts"] for pair in pairs} == {9}


def test_the_way_of_the_papers_has_a_name(folder: Path) -> None:
    said = read_rankings(careless_study(folder))
    roslin("group", "careless.csv", "--as", "typke2005", "--shuffles", 0, "-o", "papers.qrel", folder=folder)
    assert dict(read_truth(folder / "papers.qrel")) == dict(group_rankings(said))
    one_by_one = ["--unranked", "drop", "--min-votes", 1, "--no-attention"]
    roslin("group", "careless.csv", *one_by_one, "--shuffles", 0, "-o", "papers-too.qrel", folder=folder)
    assert dict(read_truth(folder / "papers-too.qrel")) == dict(group_rankings(said))
    options = ["--as", "typke2005", "--unranked", "last", "--attention"]
    roslin("group", "careless.csv", *options, "--shuffles", 0, "-o", "mixed.qrel", folder=folder)
    assert dict(read_truth(folder / "mixed.qrel")) == dict(group_rankings(said, unranked="last", attention=True))


@pytest.mark.parametrize("name", ["t.qrel", "t.txt", "t.json", "t.csv"])
def test_every_ending_is_read_back(folder: Path, name: str) -> None:
    truth = grouped_truth(read_rankings(folder / "said.csv"), method_named("roslin"))
    roslin("group", "said.csv", "-o", name, "--shuffles", 0, folder=folder)
    assert dict(read_truth(folder / name)) == dict(truth)
    again = roslin("consistency", name, "said.csv", "--query", "q2", "--format", "json", folder=folder)
    assert [row["query"] for row in json.loads(again.stdout)] == ["q2"]


@pytest.mark.parametrize("test", ["exact", "permutation"])
def test_slow_tests_with_many_shuffles_finish(folder: Path, test: str) -> None:
    done = roslin("group", "said.csv", "--test", test, "--shuffles", 1000, "--query", "q2", folder=folder)
    assert "shuffled rankings give 1." in done.stderr


def test_a_single_expert_is_said_in_words(folder: Path) -> None:
    (folder / "one.csv").write_text("query,expert,document,rank\nq,ann,a,1\nq,ann,b,2\nq,ann,n,\n")
    done = roslin("group", "one.csv", "--shuffles", 5, folder=folder)
    assert "nan" not in done.stdout + done.stderr
    assert "query q: only one expert (ann); no difference can be tested" in done.stderr
    done = roslin("strengths", "one.csv", "-o", "one.qrel", "--format", "json", folder=folder)
    assert "query q: 1 expert cannot tell candidates apart" in done.stderr
    assert [(row["group"], row["low"], row["high"]) for row in json.loads(done.stdout)] == [(1, None, None)] * 2
    truth = read_truth(folder / "one.qrel")
    assert (truth["q"], truth.nonrelevant("q")) == ((("a", "b"),), ("n",))


def test_experts_and_those_who_stand_out(folder: Path) -> None:
    options = ["--queries", 4, "--candidates", 10, "--noise", 0.4, "--carelessness", 0.1, "--seed", 3]
    roslin("simulate", "-o", "mixed.csv", *options, folder=folder)
    rows = json.loads(roslin("experts", "mixed.csv", "--format", "json", folder=folder).stdout)
    assert list(rows[0]) == ["expert", "queries", "agreement", "z", "attention", "remark"]
    assert len(rows) == 30
    outliers = [row["expert"] for row in rows if row["remark"] == "outlier"]
    assert outliers
    done = roslin("group", "mixed.csv", "--shuffles", 0, folder=folder)
    assert f"disagree with the others: {', '.join(outliers)}" in done.stderr


@pytest.mark.long
def test_queries_that_may_occur(folder: Path) -> None:
    (folder / "queries.txt").write_text("q1\n\nq3\n")
    for command in ("group", "experts", "power", "strengths"):
        done = roslin(command, "said.csv", "--known-queries", "queries.txt", code=2, folder=folder)
        assert re.search(r"said.csv:\d+: unknown query; expected one of q1, q3; found q2$", done.stderr.strip())
    (folder / "queries.txt").write_text("q1\nq2\n")
    roslin("experts", "said.csv", "--known-queries", "queries.txt", folder=folder)


@pytest.mark.long
def test_consistency_and_what_spoils_it(folder: Path) -> None:
    roslin("group", "said.csv", "-o", "truth.qrel", "--shuffles", 0, folder=folder)
    said = method_named("roslin").considered(read_rankings(folder / "said.csv"))
    expected = list_consistency(read_truth(folder / "truth.qrel"), said, unranked="last")
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
    ("name", "begins", "experience"),
    [
        ("r.html", "<!DOCTYPE html>", "The experience of 2 experts"),
        ("r.svg", "<svg", "2 experts: median 7.5, mean 7.5 years of experience"),
        ("r.tex", "% \\usepackage{longtable}", "The experience of 2 experts"),
        ("r.csv", "query,", ""),
    ],
)
def test_reports(folder: Path, name: str, begins: str, experience: str) -> None:
    (folder / "years.csv").write_text("expert,years\nann,3\nbob,12\n")
    options = ["--shuffles", 20, *(["--experience", "years.csv"] if experience else [])]
    done = roslin("report", "said.csv", "-o", name, *options, folder=folder)
    text = (folder / name).read_text("utf-8")
    assert text.startswith(begins)
    assert experience in text
    assert ("noise_groups" if name == "r.csv" else "shuffled rankings give") in text
    assert done.stdout == ""
    if name == "r.html":
        assert "said.csv, SHA-256" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ann,-3\n", "years.csv:2: bad years; expected 0 or more; found -3"),
        ("ann,inf\n", "years.csv:2: bad years; expected 0 or more; found inf"),
        ("ann,many\n", "years.csv:2: bad years; expected a number; found 'many'"),
        ("ann,3\nann,4\n", "years.csv:3: participant ann again; expected each participant once"),
        ("", "years.csv: no experience; expected at least one row with expert,years; found none"),
    ],
)
def test_experience_that_cannot_be_drawn(folder: Path, text: str, message: str) -> None:
    (folder / "years.csv").write_text("expert,years\n" + text)
    done = roslin("report", "said.csv", "-o", "y.html", "--experience", "years.csv", code=2, folder=folder)
    assert message in done.stderr
    assert not (folder / "y.html").exists()


@pytest.mark.long
def test_votes_and_power(folder: Path) -> None:
    lines = ["query,first,second,answer"] + ["q,a,b,a"] * 9 + ["q,a,b,s"] + ["q,b,c,s"] * 8 + ["q,a,c,a"] * 7
    (folder / "votes.csv").write_text("\n".join(lines) + "\n")
    for model in ("segments", "bradley-terry"):
        done = roslin("votes", "votes.csv", "--model", model, "-o", "votes.qrel", "--format", "json", folder=folder)
        assert json.loads(done.stdout)[0] == {"query": "q", "group": 1, "document": "a"}
        assert re.search(
            r"query q: 2 groups; shuffled votes give [12]\.\d \(as many or more: p = 0\.\d+\)", done.stderr
        )
        assert [set(group) for group in read_truth(folder / "votes.qrel")["q"]] == [{"a"}, {"b", "c"}]
    done = roslin("votes", "votes.csv", "--against", "votes.qrel", "--format", "json", folder=folder)
    assert json.loads(done.stdout)[0]["identical"] is True
    for options in (["--margin", 10], ["--model", "bradley-terry", "--alpha", 1e-9]):
        done = roslin(
            "votes", "votes.csv", *options, "--shuffles", 0, "--query", "q", "--format", "json", folder=folder
        )
        assert {row["group"] for row in json.loads(done.stdout)} == {1}
        assert done.stderr == ""
    strengths = ["strengths", "said.csv", "--resamples", 20, "-o", "strengths.qrel", "--format", "json"]
    done = roslin(*strengths, "--shuffles", 5, folder=folder)
    assert re.search(r"query q2: \d groups?; shuffled rankings give 1\.", done.stderr)
    fitted = json.loads(done.stdout)
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
    assert list(rows[0]) == ["query", "first", "second", "p", "chance", "experts", "needed", "more"]
    assert {row["experts"] for row in rows} == {"20"}
    options = ["--power", 0.5, "--alpha", 0.1, "--tails", 1, "--test", "paired", "--seed", 1, "--unranked", "last"]
    other = roslin("power", "said.csv", "--query", "q1", *options, "--format", "tsv", folder=folder).stdout
    assert other.splitlines()[1:] != ["\t".join(row.values()) for row in rows]
    both = ["--power", 0.9, "--query", "q1", "--format", "json"]
    assert json.loads(roslin("power", "said.csv", *both, folder=folder).stdout) == json.loads(
        roslin("power", "said.csv", *both, folder=folder).stdout
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["group", "none.csv"], "roslin: none.csv: No such file or directory"),
        (["group", "twice.csv"], "twice.csv:3: expert ann gives rank 1 twice for query q (a in line 2)"),
        (["group", "zero.csv"], "zero.csv:2: bad rank; expected 1 (the most similar) or more, or nothing; found 0"),
        (["group", "said.csv", "--rule", "most"], "unknown rule 'most'; known: all, any, prev"),
        (["group", "said.csv", "--as", "typke"], "unknown method 'typke'; known: roslin, typke2005"),
        (["group", "said.csv", "--min-votes", "1.5"], "min_votes must be a whole number, or a share of the experts"),
        (["group", "said.csv", "--query", "q9"], "unknown query 'q9'; known: q1, q2"),
        (["group", "said.csv", "--alpha", "2"], "alpha must be above 0 and at most 1; got 2.0"),
        (["report", "said.csv", "-o", "r.pdf"], "--output must end with .html, .svg, .tex, .csv; got r.pdf"),
        (
            ["report", "said.csv", "-o", "r.csv", "--experience", "y.csv"],
            "--experience is a plot, and a .csv file has none",
        ),
        (
            ["group", "said.csv", "-o", "t.html"],
            "a truth is written to a file that ends with .qrel, .txt, .json, .csv;",
        ),
        (
            ["votes", "votes.csv", "-o", "t"],
            "a truth is written to a file that ends with .qrel, .txt, .json, .csv; got t",
        ),
        (["strengths", "said.csv", "-o", "t.tsv"], "a truth is written to a file that ends with"),
        (["group", "said.csv", "--correction", "x"], "unknown correction 'x'"),
        (["consistency", "any.qrel", "said.csv", "--query", "q9"], "unknown query 'q9'; known: q1, q2"),
        (["simulate", "-o", "x.csv", "--candidates", "few"], "--candidates must be a number, or two with a dash"),
        (
            ["simulate", "-o", "x.csv", "--candidates", "4-"],
            "--candidates must be a number, or two with a dash; got 4-",
        ),
        (
            ["simulate", "-o", "x.csv", "--candidates", "24-4"],
            "must be at least 1, with the smaller number first; got 24-4",
        ),
        (["simulate", "-o", "x.csv", "--candidates", "0"], "--candidates must be at least 1"),
        (
            ["simulate", "-o", "x.csv", "--seed", "-1"],
            "Invalid value for '--seed': Input should be greater than or equal to 0",
        ),
        (["simulate", "-o", "x.json"], "rankings are written to a file that ends with .csv; got x.json"),
        (
            ["simulate", "-o", "x.csv", "--truth", "any.qrel", "--queries", "3"],
            "--truth has its own queries and candidates",
        ),
        (["group", "said.csv", "-o", "said.csv"], "--output said.csv would replace what it is made from"),
        (["report", "said.csv", "-o", "./said.csv"], "--output said.csv would replace what it is made from"),
        (["strengths", "said.csv", "-o", "said.csv"], "--output said.csv would replace what it is made from"),
        (["votes", "votes.csv", "-o", "votes.csv"], "--output votes.csv would replace what it is made from"),
        (["votes", "votes.csv", "--query", "z"], "unknown query 'z'; known: q"),
        (["votes", "apart.csv", "--model", "bradley-terry"], "query q: no chain of comparisons links a and c"),
        (["votes", "votes.csv", "--against", "other.qrel"], "the two truths have no document in common"),
        (["simulate", "-o", "x.csv", "--model", "x"], "unknown model 'x'; known: mallows, plackett-luce"),
        (["votes", "said.csv"], "said.csv: no column first"),
        (["votes", "votes.csv", "--model", "x"], "unknown model 'x'; known: segments, bradley-terry"),
    ],
)
def test_refusals_are_one_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "twice.csv").write_text("query,expert,document,rank\nq,ann,a,1\nq,ann,b,1\n")
    (folder / "zero.csv").write_text("query,expert,document,rank\nq,ann,a,0\n")
    (folder / "votes.csv").write_text("query,first,second,answer\nq,a,b,a\n")
    (folder / "apart.csv").write_text("query,first,second,answer\nq,a,b,a\nq,c,d,a\n")
    (folder / "other.qrel").write_text("other q x 1\n")
    (folder / "any.qrel").write_text("any q1 q1 1\nany q2 q2 1\n")
    done = roslin(*arguments, code=2, folder=folder)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_ties_where_they_are_meant(folder: Path) -> None:
    (folder / "tied.csv").write_text("query,expert,document,rank\nq,ann,a,1\nq,ann,b,1\nq,bob,a,1\nq,bob,b,1\n")
    done = roslin("group", "tied.csv", "--ties", "--shuffles", 5, "--format", "tsv", folder=folder)
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["group", "1", "1"]


def test_experts_for_whom_a_truth_holds(folder: Path) -> None:
    (folder / "known.qrel").write_text("known q a 1\nknown q b 2\nknown q c 2\nknown q n 0\n")
    roslin("simulate", "-o", "drawn.csv", "--truth", "known.qrel", "--noise", 0, "--experts", 9, folder=folder)
    said = read_rankings(folder / "drawn.csv")["q"]
    assert said.documents == ("a", "b", "c")
    assert said.ranks[:, 0].tolist() == [1] * 9


def test_melodies_of_a_file_are_drawn(folder: Path) -> None:
    from roslin.api import Collection
    from roslin.starter import tunes_path

    text = "query,expert,document,rank\n"
    text += "".join(f"roslin-castle,e{n},roslin-castle,1\nroslin-castle,e{n},not-a-tune,2\n" for n in range(4))
    (folder / "tunes.csv").write_text(text)
    roslin("report", "tunes.csv", "-o", "tunes.html", "--melodies", tunes_path(), "--shuffles", 5, folder=folder)
    assert (folder / "tunes.html").read_text("utf-8").count('class="notation"') == 1
    Collection.build(tunes_path(), folder / "tunes.roslin").close()
    roslin("report", "tunes.csv", "-o", "again.html", "--melodies", "tunes.roslin", "--shuffles", 5, folder=folder)
    assert (folder / "again.html").read_text("utf-8").count('class="notation"') == 1

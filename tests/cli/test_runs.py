"""roslin runs as it is typed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.cli.program import roslin

from roslin.run import read_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    (path / "a.run").write_text("q Q0 a 1 3 x\nq Q0 b 2 2 x\nq Q0 c 3 1 x\n")
    (path / "b.run.gz").write_bytes(gzip.compress(b"q Q0 c 1 9 y\nq Q0 d 2 5 y\nr Q0 a 1 1 y\n"))
    (path / "t.qrel").write_text("mine q a 1\nmine q n 0\nmine r a 1\n")
    return path


def test_fuse(folder: Path) -> None:
    done = roslin("runs", "fuse", "a.run", "other=b.run.gz", "--method", "rrf", "-o", "both.run", folder=folder)
    assert done.stderr.splitlines() == [
        "a lacks 1 query, put together from the other runs",
        "written to both.run: 2 queries, 5 hits of 2 runs",
    ]
    run = read_run(folder / "both.run")
    assert run.ranking("q") == ("c", "a", "b", "d")
    roslin("runs", "fuse", "a.run", "b.run.gz", "--scale", "minmax", "--weights", "1,0", "-o", "one.csv", folder=folder)
    assert read_run(folder / "one.csv").values("q") == (1, 0.5, 0)


def test_pool(folder: Path) -> None:
    done = roslin("runs", "pool", "a.run", "b.run.gz", "--depth", 1, "--format", "tsv", folder=folder)
    assert done.stdout == "query\tdocument\truns\tbest\nq\ta\t1\t1\nq\tc\t1\t1\nr\ta\t1\t1\n"
    done = roslin("runs", "pool", "a.run", "b.run.gz", "--depth", 2, "--judged", "t.qrel", "-o", "p.csv", folder=folder)
    assert done.stderr.splitlines() == [
        "2 judged already: left out",
        "Pool of depth 2: 2 queries, 3 documents to judge",
        "written to p.csv",
    ]
    assert (folder / "p.csv").read_text() == "query,document\nq,b\nq,c\nq,d\n"


@pytest.mark.long
def test_names_and_judged_and_letters(folder: Path) -> None:
    files = ("t.qrel", "first=a.run", "second=b.run.gz", "-m", "RR")
    done = roslin("evaluate", *files, "--judged", 2, folder=folder)
    assert "judged@2" in done.stdout
    assert "first " in done.stdout
    latex = roslin("evaluate", *files, "--format", "latex", "--letters", folder=folder).stdout
    assert r"a & first & \textbf{" in latex
    (folder / "c=d.run").write_text("q Q0 a 1 3 x\n")
    assert "c=d " in roslin("evaluate", "t.qrel", "c=d.run", folder=folder).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs", "fuse", "=a.run", "-o", "x.run"], "a run is FILE or NAME=FILE; got =a.run"),
        (["runs", "fuse", "a.run", "--weights", "1,x", "-o", "x.run"], "--weights must be numbers with commas"),
        (["runs", "fuse", "a.run", "-o", "x.doc"], "a run is written as .run"),
        (["runs", "fuse", "none.run", "-o", "x.run"], "none.run: No such file"),
        (["runs", "pool", "a.run", "-o", "x.txt"], "--output must end with .csv; got x.txt"),
        (["evaluate", "t.qrel", "a.run", "--letters"], "--letters goes with --format latex"),
        (["evaluate", "t.qrel", "x=a.run", "x=b.run.gz"], "two runs are called 'x'"),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], message: str) -> None:
    assert message in roslin(*arguments, code=2, folder=folder).stderr

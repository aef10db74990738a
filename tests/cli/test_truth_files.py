"""roslin truth compare and convert as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.program import roslin

from roslin.truth import Truth, read_truth, write_truth


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truths")
    write_truth(Truth({"q1": [["a"], ["b", "c"]], "q2": [["d"]], "q3": [["e"]]}, name="mine"), path / "mine.qrel")
    write_truth(Truth({"q1": [["b"], ["a"], ["c"]], "q2": [["d"]], "q4": [["f"]]}, name="fine"), path / "fine.qrel")
    write_truth(Truth({"q9": [["a"]]}, name="far"), path / "far.qrel")
    return path


def test_compare(folder: Path) -> None:
    done = roslin("truth", "compare", "mine.qrel", "fine.qrel", folder=folder)
    assert done.stderr.splitlines() == [
        "only in mine.qrel: q3",
        "only in fine.qrel: q4",
        "1 of 2 queries have the same groups; of 4 documents 2 are grouped with others, 2 have been passed by others",
    ]
    head, first, second = done.stdout.splitlines()
    assert head.split()[:5] == ["query", "documents", "groups", "other_groups", "identical"]
    assert first.split()[:5] == ["q1", "3", "2", "3", "False"]
    assert second.split()[:5] == ["q2", "1", "1", "1", "True"]


def test_compare_lists_documents(folder: Path) -> None:
    done = roslin(
        "truth", "compare", "mine.qrel", "fine.qrel", "--documents", "--query", "q1", "--format", "tsv", folder=folder
    )
    assert done.stdout.splitlines()[1:] == ["q1\ta\t1\t2\t0\t1", "q1\tb\t2\t1\t1\t1", "q1\tc\t2\t3\t1\t0"]


def test_compare_in_json_has_both_tables(folder: Path) -> None:
    found = json.loads(roslin("truth", "compare", "mine.qrel", "fine.qrel", "--format", "json", folder=folder).stdout)
    assert [row["query"] for row in found["likeness"]] == ["q1", "q2"]
    assert [row["document"] for row in found["documents"]] == ["a", "b", "c"]
    assert found["likeness"][1]["tau"] is None


def test_compare_needs_a_common_query(folder: Path) -> None:
    done = roslin("truth", "compare", "mine.qrel", "far.qrel", code=2, folder=folder)
    assert "mine.qrel and far.qrel have no query in common" in done.stderr


@pytest.mark.long
def test_convert_says_what_is_lost(folder: Path) -> None:
    (folder / "qrels.txt").write_text("q1 0 a 3\nq1 0 b 1\nq1 0 c 0\n", encoding="utf-8")
    done = roslin("truth", "convert", "qrels.txt", "out.qrel", folder=folder)
    assert done.stderr.splitlines() == [
        "gains are lost for query q1: only the order of the groups is kept",
        "written to out.qrel",
    ]
    assert read_truth(folder / "out.qrel")["q1"] == (("a",), ("b",))
    assert roslin("truth", "convert", "qrels.txt", "out.json", folder=folder).stderr.splitlines() == [
        "written to out.json"
    ]
    roslin("truth", "convert", "out.json", "back.txt", "--to", "trec", folder=folder)
    assert (folder / "back.txt").read_text() == (folder / "qrels.txt").read_text()
    roslin("truth", "convert", "mine.qrel", "read.json", "--from", "grouped", folder=folder)


def test_convert_spares_its_source(folder: Path) -> None:
    done = roslin("truth", "convert", "mine.qrel", "mine.qrel", code=2, folder=folder)
    assert "would replace what it is made from" in done.stderr
    done = roslin("truth", "convert", "mine.qrel", "mine.xml", code=2, folder=folder)
    assert "a truth is written to a file that ends with .qrel, .txt, .json, .csv; got mine.xml" in done.stderr

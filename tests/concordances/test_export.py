"""Tables, a graph and a truth from concordances, read back by other programs than ours, and by `roslin evaluate`."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.concording import concorded, related

from roslin.collection import write
from roslin.collection.store import Store
from roslin.concordances.concordance import Concordances
from roslin.concordances.exchange import EXPORTS, export, reviewed_truth
from roslin.concordances.pairs import FoundPairs
from roslin.concordances.review import Review
from roslin.errors import UnknownNameError
from roslin.evaluate.evaluation import evaluate
from roslin.evaluate.measures.base import EmptyTruthWarning
from roslin.melody import Melody
from roslin.truth import read_truth

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
# A chain that hangs on one weak link, and a pair that the measure cannot tell apart.
PAIRS = [  # numbers of the melodies below, distance, chance matches, copy
    (0, 1, 0.05, 0.0001, False),
    (1, 2, 0.25, 0.5, False),
    (3, 4, 0.0, 0.0002, True),
]


def tune(id: str, composer: str, **extra: str) -> Melody:
    return Melody.from_notes([0, 1], [1, 1], [60, 62], id=id, composer=composer, title="=SUM(A1)", extra=extra)


def concordances(store: Store, pairs: list[tuple[int, int, float, float, bool]]) -> Concordances:
    kinds: list[Any] = [np.int64, np.int64, np.float64, np.float64, np.bool_]
    first, second, distances, expected, is_copy = (
        np.array([row[k] for row in pairs], kind) for k, kind in enumerate(kinds)
    )
    return Concordances(store, FoundPairs(first, second, distances, expected, is_copy, 1.0, 0, len(store)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    melodies = [
        tune("10-1.1.1", "Pergolesi", siglum="D-Dl", shelfmark='Mus. 1 <a> & "b"'),
        tune("11-1.1.1", "Anonymus", siglum="I-Nc", work="Stabat mater [930 1]"),
        tune("12 a-1.1.1", "Ignoto\x0b, Č", siglum="I-Nc"),
        tune("13-1.1.1", "Haydn"),
        tune("13-1.2.1", "Haydn"),
        tune("14-1.1.1", "Haydn"),
    ]
    write.build(melodies, tmp_path / "my tunes.roslin")
    with Store(tmp_path / "my tunes.roslin") as opened:
        yield opened


@pytest.fixture
def found(store: Store) -> Concordances:
    return concordances(store, PAIRS)


@pytest.fixture
def review(store: Store) -> Review:
    review = Review.of(store)
    review.decide("10-1.1.1", "11-1.1.1", "accept", "=1+1", "M. Weiss")
    review.decide("11-1.1.1", "12 a-1.1.1", "reject", "two\nlines", "M. Weiss")
    return review


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_for_each_pair(tmp_path: Path, found: Concordances, review: Review) -> None:
    export("pairs", found, review, tmp_path / "out" / "pairs.csv")
    rows = table(tmp_path / "out" / "pairs.csv")
    assert [(row["first"], row["second"], row["group"]) for row in rows] == [
        ("10-1.1.1", "11-1.1.1", "1"),
        ("11-1.1.1", "12 a-1.1.1", "1"),
        ("13-1.1.1", "13-1.2.1", "2"),
    ]
    assert [float(row["distance"]) for row in rows] == [0.05, 0.25, 0.0]
    assert [float(row["expected"]) for row in rows] == [0.0001, 0.5, 0.0002]
    assert [row["is_weak"] for row in rows] == ["false", "true", "false"]
    assert [row["is_copy"] for row in rows] == ["false", "false", "true"]
    assert [row["verdict"] for row in rows] == ["accept", "reject", "open"]
    assert [row["note"] for row in rows] == ["'=1+1", "two\nlines", ""]
    assert [row["author"] for row in rows] == ["M. Weiss", "M. Weiss", ""]
    first = rows[0]
    assert (first["first_record"], first["first_composer"], first["second_library"]) == ("10", "Pergolesi", "I-Nc")
    assert first["first_title"] == "'=SUM(A1)"
    assert first["second_work"] == "Stabat mater [930 1]"
    assert list(tmp_path.glob("out/.new*")) == []


def test_a_row_for_each_member_of_a_group(tmp_path: Path, found: Concordances, review: Review) -> None:
    export("groups", found, review, tmp_path / "groups.csv")
    rows = table(tmp_path / "groups.csv")
    assert [(row["group"], row["id"], row["record"]) for row in rows] == [
        ("1", "10-1.1.1", "10"),
        ("1", "11-1.1.1", "11"),
        ("1", "12 a-1.1.1", "12 a"),
        ("2", "13-1.1.1", "13"),
        ("2", "13-1.2.1", "13"),
    ]
    assert [row["verdict"] for row in rows] == ["mixed"] * 3 + ["open"] * 2
    assert {(row["melodies"], row["weak_links"], row["stability"]) for row in rows[:3]} == {
        ("3", "1", str(found.groups[0].stability))
    }
    assert rows[0]["kind"] == found.kind(found.groups[0])


def test_the_graph_is_read_by_another_reader_with_its_types(
    tmp_path: Path, found: Concordances, review: Review
) -> None:
    export("graphml", found, review, tmp_path / "graph.graphml")
    root = ElementTree.parse(tmp_path / "graph.graphml").getroot()
    assert root.tag == f"{GRAPHML}graphml"
    keys = {key.attrib["id"]: key.attrib for key in root.iter(f"{GRAPHML}key")}
    assert len(keys) == len(list(root.iter(f"{GRAPHML}key")))
    readers: dict[str, Callable[[str], Any]] = {
        "string": str,
        "double": float,
        "long": int,
        "boolean": {"true": True, "false": False}.__getitem__,
    }

    def values(element: ElementTree.Element) -> dict[str, Any]:
        read = {}
        for data in element.iter(f"{GRAPHML}data"):
            key = keys[data.attrib["key"]]
            assert key["for"] == element.tag.removeprefix(GRAPHML)
            read[key["attr.name"]] = readers[key["attr.type"]](data.text or "")
        return read

    (graph,) = root.iter(f"{GRAPHML}graph")
    assert graph.attrib["edgedefault"] == "undirected"
    nodes = {node.attrib["id"]: values(node) for node in graph.iter(f"{GRAPHML}node")}
    assert [each["id"] for each in nodes.values()] == ["10-1.1.1", "11-1.1.1", "12 a-1.1.1", "13-1.1.1", "13-1.2.1"]
    assert all(id.isalnum() for id in nodes)
    first = nodes["m0"]
    assert (first["shelfmark"], first["group"], first["melodies"]) == ('Mus. 1 <a> & "b"', 1, 3)
    assert nodes["m2"]["composer"] == "Ignoto, Č"
    edges = [
        (nodes[edge.attrib["source"]]["id"], nodes[edge.attrib["target"]]["id"], values(edge))
        for edge in graph.iter(f"{GRAPHML}edge")
    ]
    assert [(one, two) for one, two, _ in edges] == [
        ("10-1.1.1", "11-1.1.1"),
        ("11-1.1.1", "12 a-1.1.1"),
        ("13-1.1.1", "13-1.2.1"),
    ]
    assert [(each["distance"], each["is_weak"], each["verdict"]) for *_, each in edges] == [
        (0.05, False, "accept"),
        (0.25, True, "reject"),
        (0.0, False, "open"),
    ]


@pytest.mark.parametrize("what", EXPORTS)
def test_nothing_found_is_a_file_of_nothing(tmp_path: Path, store: Store, what: str) -> None:
    export(what, concordances(store, []), Review.of(store), tmp_path / "empty")
    text = (tmp_path / "empty").read_text("utf-8")
    if what == "graphml":
        assert not list(ElementTree.fromstring(text).iter(f"{GRAPHML}node"))
    else:
        assert text.count("\n") == (what != "truth")


def test_an_export_that_is_not_known_is_refused(tmp_path: Path, found: Concordances, review: Review) -> None:
    with pytest.raises(UnknownNameError, match="unknown export 'pdf'; known: pairs, groups, records, graphml, truth"):
        export("pdf", found, review, tmp_path / "x.pdf")


def test_all_pairs_of_copies_are_exported(tmp_path: Path) -> None:
    opened, found = concorded(tmp_path)
    review = Review.of(opened)
    export("pairs", found, review, tmp_path / "pairs.csv")
    export("graphml", found, review, tmp_path / "graph.graphml")
    rows = [row for row in table(tmp_path / "pairs.csv") if row["group"] == "1"]
    assert [(row["first"], row["second"], row["is_copy"], row["is_weak"]) for row in rows] == [
        ("400-1.1.1", "401-1.1.1", "true", "false"),
        ("400-1.1.1", "402-1.1.1", "false", "true"),
        ("401-1.1.1", "402-1.1.1", "false", "true"),  # 401 has the notes of 400, and so the same weak link
        ("402-1.1.1", "403-1.1.1", "false", "true"),
    ]
    assert rows[1]["probability"] == rows[2]["probability"]
    assert (tmp_path / "graph.graphml").read_text("utf-8").count("<edge ") == len(found.pairs) == 7
    opened.close()


# Truth.


def test_accepted_and_rejected_pairs_are_a_truth(tmp_path: Path, found: Concordances, review: Review) -> None:
    review.decide("13-1.1.1", "13-1.2.1", "undecided", "", "A")
    review.decide("13-1.1.1", "14-1.1.1", "accept", "", "A")
    review.decide("13-1.1.1", "14-1.1.1", "reject", "", "B")
    export("truth", found, review, tmp_path / "truth.qrel")
    assert (tmp_path / "truth.qrel").read_text("utf-8") == (
        "my%20tunes\t10-1.1.1\t11-1.1.1\t1\n"
        "my%20tunes\t11-1.1.1\t10-1.1.1\t1\n"
        "my%20tunes\t11-1.1.1\t12%20a-1.1.1\t0\n"
        "my%20tunes\t12%20a-1.1.1\t11-1.1.1\t0\n"
    )
    assert reviewed_truth(review)[1] == {"undecided": 1, "disputed": 1}


def test_the_truth_evaluates_a_run(tmp_path: Path, found: Concordances, review: Review) -> None:
    export("truth", found, review, tmp_path / "truth.qrel")
    truth = read_truth(tmp_path / "truth.qrel")
    assert truth.name == "my tunes"
    assert truth["11-1.1.1"] == (("10-1.1.1",),)
    assert truth.nonrelevant("11-1.1.1") == ("12 a-1.1.1",)
    run = {
        "10-1.1.1": ["12 a-1.1.1", "11-1.1.1"],
        "11-1.1.1": ["10-1.1.1", "12 a-1.1.1"],
        "12 a-1.1.1": ["10-1.1.1"],
    }
    with pytest.warns(EmptyTruthWarning, match="1 of 3 queries have no relevant document"):
        result = evaluate(truth, {"mine": run}, ["RR"])
    assert result.of("mine", "RR")["10-1.1.1"] == 0.5
    assert result.of("mine", "RR")["11-1.1.1"] == 1.0
    assert result.means.tolist() == [[0.75]]


def test_pairs_between_groups_and_melodies_in_none(tmp_path: Path) -> None:
    opened, found = related(tmp_path)
    review = Review.of(opened)
    export("pairs", found, review, tmp_path / "pairs.csv")
    rows = table(tmp_path / "pairs.csv")
    assert [(row["group"], row["first"], row["second"]) for row in rows] == [
        ("1", "400-1.1.1", "401-1.1.1"),
        ("1", "400-1.1.1", "402-1.1.1"),
        ("1", "401-1.1.1", "402-1.1.1"),
        ("2", "410-1.1.1", "411-1.1.1"),
        ("", "402-1.1.1", "410-1.1.1"),
        ("", "402-1.1.1", "420-1.1.1"),
    ]
    assert {row["expected"] for row in rows} == {""}
    assert rows[-1]["second_composer"] == "Haydn, Joseph"
    export("groups", found, review, tmp_path / "groups.csv")
    assert [row["id"] for row in table(tmp_path / "groups.csv")] == [
        "400-1.1.1", "401-1.1.1", "402-1.1.1", "410-1.1.1", "411-1.1.1",
    ]  # fmt: skip
    export("graphml", found, review, tmp_path / "graph.graphml")
    graph = (tmp_path / "graph.graphml").read_text("utf-8")
    assert (graph.count("<node "), graph.count("<edge ")) == (6, 6)
    assert "nan" not in graph
    opened.close()

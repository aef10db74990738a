"""Truth files: every form reads to the same truth, and a broken line says where and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.errors import ArgumentError, FormatError, UnknownNameError
from roslin.truth import Truth, read_truth, write_truth
from roslin.truth.qrel import FORMATS

GROUPED = "mine\tq1\ta\t1\nmine\tq1\tb\t1\nmine\tq1\tc\t2\nmine\tq1\tx\t0\nmine\tq2\td\t1\n"
TREC = "q1 0 a 2\nq1 0 b 2\nq1 0 c 1\nq1 0 x 0\nq2 0 d 1\n"
EXPECTED = {"q1": (("a", "b"), ("c",)), "q2": (("d",),)}


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lf.qrel", GROUPED),
        ("crlf.qrel", GROUPED.replace("\n", "\r\n")),
        ("bom.qrel", b"\xef\xbb\xbf" + GROUPED.encode()),
        ("spaces.qrel", GROUPED.replace("\t", "  ") + "\n\n"),
        ("trec.qrels", TREC),
        ("q0.qrels", TREC.replace(" 0 ", " Q0 ")),
        ("numbers.qrel", GROUPED.replace("c\t2", "c\t7")),
        ("t.csv", "query,document,group\nq1,a,1\nq1,b,1\nq1,c,2\nq1,x,0\nq2,d,1\n"),
        ("t.tsv", "doc_id\tquery_id\trelevance\na\tq1\t2\nb\tq1\t2\nc\tq1\t1\nx\tq1\t0\nd\tq2\t1\n"),
        ("plain.json", json.dumps({"q1": [["a", "b"], ["c"]], "q2": [["d"]]})),
        ("graded.json", json.dumps({"q1": {"a": 2, "b": 2, "c": 1, "x": 0}, "q2": {"d": 1}})),
    ],
)
def test_every_form(tmp_path: Path, name: str, text: str | bytes) -> None:
    truth = read_truth(write(tmp_path, name, text))
    assert dict(truth) == EXPECTED
    assert (truth.gains("q1"), truth.gains("q2")) == ((2.0, 1.0), (1.0,))
    assert truth.nonrelevant("q1") == (None if name == "plain.json" else ("x",))
    assert truth.notes == ()


@pytest.mark.parametrize(
    ("text", "queries", "said"),
    [
        # Iterations that are not all 0: what comes before them changes, so it is the query.
        ("q1 0 a 1\nq1 1 x 0\nq2 0 d 1\n", {"q1", "q2"}, "read as TREC qrels"),
        ("q1 0 a 1\nq1 Q0 x 0\nq2 2 d 1\n", {"q1", "q2"}, "read as TREC qrels"),
        ("q1 0 a 1\nq1 Q0 x 0\n", {"q1"}, None),
        ("q1 1 a 1\nq1 1 x 0\nq2 1 d 1\n", {"q1", "q2"}, r"read as TREC qrels: .* iterations (1)"),
        ("q1 1 a 1\nq2 2 x 0\nq3 1 d 1\n", {"q1", "q2", "q3"}, r"iterations (1, 2)"),
        ("mine 1 a 1\n", {"1"}, "for TREC qrels of one query write 0"),
        # One list, whose queries happen to be numbers.
        ("mine 1 a 1\nmine 2 d 1\n", {"1", "2"}, None),
        ("mine 0 a 1\nmine 1 d 1\n", {"0", "1"}, "read as a grouped qrel with one list"),
    ],
)
def test_grouped_and_trec_qrels_are_told_apart(tmp_path: Path, text: str, queries: set[str], said: str | None) -> None:
    truth = read_truth(write(tmp_path, "t.qrel", text))
    assert set(truth) == queries
    assert len(truth.notes) == (said is not None)
    assert said is None or all(part in truth.notes[0] for part in said.split(".*"))


def test_frames_and_parquet(tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"query": ["q1", "q1", "q1", "q1", "q2"], "document": list("abcxd"), "group": [1, 1, 2, 0, 1]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert read_truth(tmp_path / "t.parquet") == read_truth(pd.DataFrame(columns))
    assert dict(read_truth(pd.DataFrame(columns))) == EXPECTED
    broken = write(tmp_path, "broken.parquet", b"no such thing")
    with pytest.raises(FormatError, match=r"broken\.parquet: not a Parquet file"):
        read_truth(broken)


def test_only_what_roslin_writes_is_decoded(tmp_path: Path) -> None:
    truth = read_truth(write(tmp_path, "t.qrel", "mine q a%20b 1\nmine q caf%C3%A9 1\nmine q 50%2525 2\n"))
    assert truth["q"] == (("a b", "caf%C3%A9"), ("50%25",))


def test_gains_of_trec_qrels_are_kept(tmp_path: Path) -> None:
    truth = read_truth(write(tmp_path, "t.qrels", "q 0 a 10\nq 0 b 1\nq 0 c -1\nq 0 d 0\n"))
    assert truth["q"] == (("a",), ("b",))
    assert truth.gains("q") == (10.0, 1.0)
    assert truth.nonrelevant("q") == ("d",)


def test_a_query_with_nothing_relevant_is_kept(tmp_path: Path) -> None:
    assert dict(read_truth(write(tmp_path, "t.qrels", "q 0 a 0\n"))) == {"q": ()}
    assert dict(read_truth(write(tmp_path, "t.qrel", "mine q a 0\n"))) == {"q": ()}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.qrel", "mine q a 1\nmine q b\n", "t.qrel:2: broken line; expected 4 columns .*; found 3 columns"),
        ("t.qrel", "mine\tq\t\t1\n", "t.qrel:1: broken line; .*found an empty column 3"),
        ("t.qrel", "mine q a 1\nmine q b one\n", "t.qrel:2: bad group; expected a whole number; found 'one'"),
        ("t.qrel", "mine q a 1.5\n", r"t.qrel:1: bad group; expected a whole number; found '1\.5'"),
        ("t.qrel", "mine q a -1\n", "t.qrel:1: bad group; expected 0 or more; found -1"),
        ("t.qrel", "mine q a 1\nother q b 1\n", "t.qrel:2: a second list in one file .*expected mine; found other"),
        ("t.qrel", "a 101 x 1\nb 102 x 1\n", "t.qrel:2: a second list in one file .*give format='trec'"),
        ("t.qrels", "q 0 a high\n", "t.qrels:1: bad relevance; expected a number; found 'high'"),
        ("t.qrels", "q 0 a nan\n", "t.qrels:1: bad relevance; expected a number; found 'nan'"),
        ("t.qrel", b"mine q a 1\nmine q \xff 1\n", "t.qrel:2: the file is not text; expected UTF-8"),
        ("t.csv", "query,group\nq,1\n", "t.csv: no column document; expected a header with document"),
        ("t.csv", "query,document\nq,d\n", "t.csv: no column group or relevance"),
        ("t.csv", "query,document,group\nq,d\n", "t.csv:2: broken line; expected 3 columns; found 2"),
        ("t.csv", 'query,document,group\nq,"d"x,1\n', r"t.csv:2: broken line \(.*\); expected CSV"),
        ("t.csv", "query,document,group\nq,d,x\n", "t.csv:2: bad group; expected a whole number; found 'x'"),
        ("t.json", '{"q": [["a"],\n}', "t.json:2: broken JSON"),
        ("t.json", "[1]", r"t.json: not a truth; expected an object \{query: groups\}; found list"),
        ("t.json", '{"q": [["a"], []]}', "t.json: query 'q': group 2 is empty"),
        ("t.json", '{"q": 3}', "t.json: "),
        ("t.json", "[" * 100_000, "t.json: broken JSON"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_truth(write(tmp_path, name, text))


def test_a_document_judged_twice_counts_once_and_is_noted(tmp_path: Path) -> None:
    truth = read_truth(write(tmp_path, "t.qrel", "mine q a 1\nmine q b 2\nmine q a 3\n"))
    assert truth["q"] == (("a",), ("b",))
    (note,) = truth.notes
    assert note.endswith("t.qrel:3: a is judged again for query q; line 1 counts")


def test_formats_by_name(tmp_path: Path) -> None:
    odd = write(tmp_path, "t.qrel", "0 q a 1\n1 q a 1\n")
    assert dict(read_truth(odd, format="trec")) == {"0": (("a",),), "1": (("a",),)}
    assert dict(read_truth(write(tmp_path, "z.qrel", "mine 0 a 1\n"), format="grouped")) == {"0": (("a",),)}
    with pytest.raises(
        UnknownNameError, match="unknown format of a truth 'xml'; known: csv, grouped, json, qrel, trec"
    ):
        read_truth(odd, format="xml")
    assert "qrel" in FORMATS
    with pytest.raises(ArgumentError, match="a truth must be a path, a mapping or a data frame; got int"):
        read_truth(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": {"q": [["a"], ["a"]]}}, "query 'q': 'a' is in the truth twice"),
        ({"groups": {"q": [["a"]]}, "gains": {"q": [1, 2]}}, "query 'q': 2 gains for 1 groups"),
        ({"groups": {"q": [["a"], ["b"]]}, "gains": {"q": [1, 2]}}, "gains must be above 0 and not rise"),
        ({"groups": {"q": [["a"]]}, "gains": {"q": [float("inf")]}}, "gains must be above 0 and not rise"),
        ({"groups": {"q": [["a"]]}, "nonrelevant": {"q": ["a"]}}, "'a' is both in a group and judged not relevant"),
    ],
)
def test_bad_truths(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Truth(**arguments)


IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6)
WORDS = IDS.filter(lambda text: text != "-")  # a dash stands for no name at all


@given(st.dictionaries(WORDS, st.lists(WORDS, min_size=1, max_size=8, unique=True), min_size=1, max_size=3))
def test_written_and_read_again(tmp_path_factory: pytest.TempPathFactory, queries: dict[str, list[str]]) -> None:
    folder = tmp_path_factory.mktemp("truth")
    groups = {query: [ids[:2], ids[2:]] if ids[2:] else [ids] for query, ids in queries.items()}
    truth = Truth(groups, nonrelevant={query: ["no \u2192 such, thing"] for query in groups}, name="mine")
    for name in ("t.json", "t.JSON", "t.qrel", "t.txt"):
        write_truth(truth, folder / name)
        again = read_truth(folder / name, format=None if name.lower() == "t.json" else "grouped")
        assert again == truth
        assert again.name == "mine"
    if not any("\r" in word for query, ids in queries.items() for word in (query, *ids)):  # every line end is one
        write_truth(truth, folder / "t.csv")
        assert read_truth(folder / "t.csv") == truth


@pytest.mark.parametrize("name", ["truth.html", "truth", "truth.qrels", "truth.tsv", "truth.parquet"])
def test_an_ending_that_would_not_be_read_as_written(tmp_path: Path, name: str) -> None:
    expected = f"a truth is written to a file that ends with .qrel, .txt, .json, .csv; got {name}"
    with pytest.raises(ArgumentError, match=expected):
        write_truth(Truth({"q": [["a"]]}), tmp_path / name)
    assert not (tmp_path / name).exists()


def test_only_some_queries() -> None:
    truth = Truth({"q": [["a"]], "r": [["b"], ["c"]]}, gains={"r": [9, 2]}, nonrelevant={"q": ["n"]}, name="x")
    assert truth.only(["r"]) == Truth({"r": [["b"], ["c"]]}, gains={"r": [9, 2]})
    assert truth.only(["r", "q", "r"]) == truth
    with pytest.raises(UnknownNameError, match="unknown query 's'; known: q, r"):
        truth.only(["s"])


def test_a_name_twice_in_json(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"t.json: broken JSON; expected each name once in an object; found q twice"):
        read_truth(write(tmp_path, "t.json", '{"q": [["a"]], "q": [["b"]]}'))


def test_everything_is_kept_in_json(tmp_path: Path) -> None:
    truth = Truth({"q": [["a"], ["b"]]}, gains={"q": [9, 2]}, nonrelevant={"q": ["n"]}, name="x")
    write_truth(truth, tmp_path / "t.json")
    assert read_truth(tmp_path / "t.json") == truth
    assert truth != Truth({"q": [["a"], ["b"]]})
    assert truth != 3
    assert repr(truth) == "Truth('x', 1 query, 2 documents)"
    assert read_truth(truth) is truth


def test_the_lists_of_mirex_2005(data_folder: Path) -> None:
    for name in ("All-1", "All-2", "Any-1", "Any-2", "Prev-1", "Prev-2"):
        truth = read_truth(data_folder / "mirex2005" / f"{name}.qrel")
        assert truth.name == name
        assert len(truth) == 11
        # 119 rows, but one incipit is there twice, in Any-1 even in two groups.
        assert sum(len(group) for groups in truth.values() for group in groups) == 118
        (note,) = truth.notes
        assert "320: 000.122.152-1.1.2 is judged again for query 400.065.784-1.1.1; line 317 counts" in note
        assert all(query in truth[query][0] for query in truth if query != "400.065.784-1.1.1")


def test_other_real_truths(data_folder: Path) -> None:
    assert len(read_truth(data_folder / "crowd2010" / "MTurk.qrel")) == 11
    pairs = read_truth(data_folder / "rism" / "same_work_hard_dev.qrel")
    assert len(pairs) == 594
    assert {len(groups) for groups in pairs.values()} == {1}

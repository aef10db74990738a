"""The one ranked list: what it holds, how it is cut, shown, written, and read back."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roslin.errors import ArgumentError, FormatError, UnknownNameError
from roslin.rows import read_text
from roslin.run import Hit, Kind, Ranking, Run, read_run

DISTANCES = Run({"q 1": {"a b": 0.0, "c": 0.25, "d": 0.25}, "q2": {"c": 1.5}}, name="dp(place=inside)", kind="distance")
SCORES = Run({"q1": {"a": 1.0, "b": 2.5}, "q2": {"c": -3.0}}, name="mine")
ORDER = Run({"q1": ["b", "a"], "q2": []}, name="theirs")


def test_it_knows_whether_small_or_large_is_good() -> None:
    assert DISTANCES.ranking("q 1") == ("a b", "c", "d")
    assert DISTANCES.values("q 1") == (0.0, 0.25, 0.25)
    assert SCORES.lists == {"q1": ("b", "a"), "q2": ("c",)}
    assert SCORES.values("q1") == (2.5, 1.0)
    assert [run.kind for run in (DISTANCES, SCORES, ORDER)] == ["distance", "score", "order"]
    assert ORDER.values("q1") is None
    assert (DISTANCES.ranking("nowhere"), DISTANCES.values("nowhere")) == ((), None)


def test_hits() -> None:
    assert DISTANCES[0] == Hit("q 1", 1, "a b", 0.0, "distance")
    assert [(hit.query, hit.rank, hit.id, hit.distance) for hit in DISTANCES[:1]] == [
        ("q 1", 1, "a b", 0.0),
        ("q2", 1, "c", 1.5),
    ]
    assert [hit.score for hit in SCORES["q1"]] == [2.5, 1.0]
    assert len(DISTANCES) == len(list(DISTANCES)) == len(DISTANCES.hits) == 4
    assert DISTANCES[-1].id == "c"
    with pytest.raises(ArgumentError, match="the run has no distances; it has scores"):
        _ = SCORES[0].distance
    with pytest.raises(ArgumentError, match="the run has no scores, only an order"):
        _ = ORDER[0].score


def test_hits_have_the_titles_of_their_documents() -> None:
    def looked_up(ids: Sequence[str]) -> list[str | None]:
        return [f"The {id}" if id != "d" else None for id in ids]

    for titles in (looked_up, {"a b": "The a b", "c": "The c", "d": None}):
        run = DISTANCES.with_titles(titles)
        assert [hit.title for hit in run] == ["The a b", "The c", None, "The c"]
        assert run["q2"][0].title == run[:1][1].title == run.named("other")[1].title == "The c"
        assert (run[0] == DISTANCES[0], repr(run[0]) == repr(DISTANCES[0])) == (True, True)
    assert DISTANCES[0].title is None


def test_it_goes_to_other_processes() -> None:
    run = DISTANCES.with_titles(lambda ids: [id.upper() for id in ids]).with_remarks(["odd"])
    for sent in (run, run[:1], run.matches):
        came = pickle.loads(pickle.dumps(sent))
        assert came == sent
        assert (came.titles, came.remarks, came.to_table()) == (sent.titles, sent.remarks, sent.to_table())
    assert pickle.loads(pickle.dumps(run[0])).title == "A B"


def test_one_query_and_many() -> None:
    assert DISTANCES.queries == ("q 1", "q2")
    assert DISTANCES["q2"].ids == ["c"]
    assert DISTANCES["q2"].query == "q2"
    assert "q2" in DISTANCES
    assert "c" not in DISTANCES
    assert DISTANCES.only(["q2", "q9"]) == DISTANCES["q2"]
    with pytest.raises(ArgumentError, match=r"the run has 2 queries; choose one of them: run\['q 1'\]"):
        _ = DISTANCES.ids
    with pytest.raises(UnknownNameError, match="unknown query of the run 'q9'; known: q 1, q2"):
        _ = DISTANCES["q9"]
    with pytest.raises(IndexError):
        _ = DISTANCES[4]


def test_the_first_of_every_list() -> None:
    assert DISTANCES[:2].lists == {"q 1": ("a b", "c"), "q2": ("c",)}
    assert DISTANCES[:2].values("q 1") == (0.0, 0.25)
    assert ORDER[:1].lists == {"q1": ("b",), "q2": ()}
    for wrong in (slice(1, 3), slice(None, None, 2)):
        with pytest.raises(ArgumentError, match=r"only from its first rank on, as in run\[:10\]"):
            _ = DISTANCES[wrong]


def test_runs_of_one_system_are_joined() -> None:
    parts = [DISTANCES["q 1"], DISTANCES["q2"]]
    assert Run.joined(parts) == DISTANCES == read_run(parts)
    with pytest.raises(ArgumentError, match="two of the runs to join have lists for query 'q2'"):
        Run.joined([DISTANCES, DISTANCES["q2"]])
    with pytest.raises(ArgumentError, match="runs of distances and of scores cannot be joined"):
        Run.joined([DISTANCES, SCORES])
    with pytest.raises(ArgumentError, match="no run is given"):
        Run.joined([])
    with pytest.raises(UnknownNameError, match="unknown kind of run 'similarity'"):
        Run({}, kind="similarity")  # type: ignore[arg-type]


def test_ties_are_counted() -> None:
    assert DISTANCES.rankings["q 1"].tied == 2
    assert Ranking("q", ("a", "b")).tied == 0


def test_trec_form() -> None:
    assert DISTANCES["q 1"][:2].to_trec() == (
        "q%201 Q0 a%20b 1 0.0 dp(place=inside)\nq%201 Q0 c 2 -0.25 dp(place=inside)\n"
    )
    assert SCORES["q1"].to_trec() == "q1 Q0 b 1 2.5 mine\nq1 Q0 a 2 1.0 mine\n"
    assert ORDER["q1"].to_trec() == "q1 Q0 b 1 -1.0 theirs\nq1 Q0 a 2 -2.0 theirs\n"


@pytest.mark.parametrize("suffix", [".run", ".trec", ".txt", ".csv", ".json", ".parquet"])
@pytest.mark.parametrize("run", [DISTANCES, SCORES, ORDER["q1"]], ids=["distances", "scores", "order"])
def test_what_is_written_is_read_again(tmp_path: Path, run: Run, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    run.write(path)
    again = read_run(path)
    assert again.lists == run.lists
    if suffix == ".json":
        assert again == run
    elif suffix in (".csv", ".parquet") and run.kind != "order":
        assert (again.kind, again.rankings) == (run.kind, run.rankings)
    elif suffix not in (".csv", ".parquet"):
        assert again.to_trec() == run.named("file").to_trec()


def test_json_keeps_empty_lists_and_the_order(tmp_path: Path) -> None:
    ORDER.write(tmp_path / "order.json")
    assert read_run(tmp_path / "order.json") == ORDER
    assert read_run(tmp_path / "order.json", name="mine").name == "mine"


@pytest.mark.parametrize(
    "text",
    ['{"roslin run": 1, "queries": {}}', '{"roslin run": {"name": "x", "kind": "score"}}',
     '{"roslin run": {"name": "x", "kind": "likeness"}, "queries": {"q": []}}',
     '{"roslin run": {"name": "x", "kind": "score"}, "queries": {"q": [{"document": "a"}]}}'],
)  # fmt: skip
def test_broken_json_of_our_own(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(FormatError, match=r"x\.json: not a run; expected what Run\.to_json writes"):
        read_run(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("name", "plain"),
    [("mine.run.gz", "mine.run"), ("mine.csv.GZ", "mine.csv"), ("mine.json.zst", "mine.json"), ("mine.gz", "mine.run")],
)
def test_a_run_is_packed_where_its_name_says_so(tmp_path: Path, name: str, plain: str) -> None:
    DISTANCES.write(tmp_path / name)
    DISTANCES.write(tmp_path / plain)
    packed = (tmp_path / name).read_bytes()
    assert packed.startswith(b"\x28\xb5\x2f\xfd" if name.endswith(".zst") else b"\x1f\x8b")
    assert read_text(tmp_path / name) == (tmp_path / plain).read_text("utf-8")
    assert read_run(tmp_path / name) == read_run(tmp_path / plain)
    if name.lower().endswith(".gz"):
        assert gzip.decompress(packed) == (tmp_path / plain).read_bytes()


def test_parquet_is_not_packed_again(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"x\.parquet\.gz: Parquet is compressed inside; write x\.parquet"):
        DISTANCES.write(tmp_path / "x.parquet.gz")
    with pytest.raises(FormatError, match=r"a run is written as .*; got '\.xls'"):
        DISTANCES.write(tmp_path / "x.xls.gz")


def test_what_chance_does_not_explain_keeps_its_ranks(tmp_path: Path) -> None:
    ranking = Ranking("q", ("a", "b", "c", "d"), (0.1, 0.2, 0.3, 0.4), expected=(0.1, 5.0, 0.2, 0.3))
    run = Run([ranking, Ranking("r", ("e", "f"), (0.1, 0.2), expected=(0.1, 5.0))], name="mine", kind="distance")
    found = run.matches
    assert [(hit.query, hit.rank, hit.id) for hit in found] == [
        ("q", 1, "a"),
        ("q", 3, "c"),
        ("q", 4, "d"),
        ("r", 1, "e"),
    ]
    assert [line.split()[1] for line in str(found["q"][:2].to_table()).splitlines()[1:]] == ["0.1000", "0.3000"]
    assert [row["rank"] for row in found["q"][:2].to_table().rows] == [1, 3]
    assert found.matches == found
    assert [line.split()[3] for line in found["q"].to_trec().splitlines()] == ["1", "3", "4"]
    found.write(tmp_path / "found.json")
    assert read_run(tmp_path / "found.json") == found
    for ranks in ([2, 1], [0, 1], [1, 1.5], [1]):
        rows = [{"document": id, "order": 1} for id in "ab"]
        for row, rank in zip(rows, ranks, strict=False):
            row["rank"] = rank
        text = json.dumps({"roslin run": {"name": "x", "kind": "order"}, "queries": {"q": rows}})
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(FormatError, match="query 'q': ranks must be rising whole numbers from 1 on"):
            read_run(tmp_path / "bad.json")


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"written as \.run, \.trec, \.txt, \.csv, \.json or \.parquet; got '.xls'"):
        DISTANCES.write(tmp_path / "x.xls")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: Any) -> None:
    frame = DISTANCES.to_frame(library)
    assert list(frame.columns) == ["query", "rank", "distance", "document"]
    assert list(frame["distance"]) == [0.0, 0.25, 0.25, 1.5]
    assert list(frame["document"]) == ["a b", "c", "d", "c"]
    assert list(read_run(frame).lists.items()) == list(DISTANCES.lists.items())


def test_it_shows_itself() -> None:
    titles = {"c": "Roslin <Castle>"}
    run = Run(DISTANCES.rankings, name="dp", kind="distance", titles=lambda ids: [titles.get(id) for id in ids])
    assert run.titles == titles
    assert str(run["q2"]) == "rank  distance  document  title\n   1    1.5000  c         Roslin <Castle>"
    html = run["q2"]._repr_html_()
    assert "Roslin &lt;Castle&gt;" in html
    assert html.count("<tr>") == 2
    assert repr(run) == "Run('dp', 2 queries, 4 hits)"
    assert repr(run["q2"]) == "Run('dp', query 'q2', 1 hits)"
    assert str(ORDER["q2"]) == "Run('theirs', query 'q2', 0 hits): nothing was found"


def test_a_long_run_shows_its_beginning() -> None:
    run = Run({"q": [f"d{k}" for k in range(30)]}, name="long")
    html = run._repr_html_()
    assert "the first 20 of 30 hits" in html
    assert html.count("<tr>") == 21


@pytest.mark.parametrize("kind", ["distance", "score", "rank"])
def test_nan_and_text_are_refused(kind: Kind) -> None:
    with pytest.raises(ArgumentError, match=f"query 'q': the {kind} of 'a' is NaN; expected a number"):
        Run({"q": {"a": float("nan")}}, kind=kind)
    with pytest.raises(ArgumentError, match=f"the {kind} of 'a' must be a number; got 'near'"):
        Run({"q": {"a": "near"}}, kind=kind)  # type: ignore[arg-type]


def test_a_run_can_be_compared_but_not_hashed() -> None:
    assert Run({"q1": {"a": 1.0, "b": 2.5}, "q2": {"c": -3.0}}, name="mine") == SCORES
    assert SCORES.named("other") != SCORES
    assert SCORES != "mine"
    with pytest.raises(TypeError, match="unhashable"):
        hash(SCORES)

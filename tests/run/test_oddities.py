"""What is odd about a run is counted in its remarks, what makes none is refused, and packed files are read."""

from __future__ import annotations

import errno
import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from roslin.errors import ArgumentError, FormatError, MissingExtraError
from roslin.evaluate import evaluate
from roslin.rows import replacing, write_whole
from roslin.run import Ranking, Run, read_run
from roslin.truth import read_rankings, read_truth, write_rankings, write_truth
from roslin.truth.choice_models import read_votes

TREC = "q Q0 a 1 3 t\nq Q0 b 2 2 t\nr Q0 a 1 1 t\n"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        (TREC, []),
        ("q Q0 a 0 3 t\nq Q0 b 0 5 t\n", []),  # ranks that say nothing contradict nothing
        ("q Q0 a 1 3 t\nq Q0 b 1 4 t\nq Q0 c 2 1 t\n", []),
        (
            "q Q0 a 1 1 t\nq Q0 b 2 2 t\nr Q0 a 1 2 t\nr Q0 b 2 1 t\n",
            ["x: 1 rank contradicts its score in 1 of 2 queries (first b for q): the scores decide"],
        ),
        (
            "q Q0 a 1 1 t\nq Q0 b 2 2 t\nq Q0 c 3 3 t\n",
            [
                "x: 2 ranks contradict their score in 1 of 1 query (first b for q): the scores decide; "
                "are they distances? Then name the column distance, in CSV"
            ],
        ),
        ("q Q0 a 1 inf t\nq Q0 b 2 -inf t\n", ["x: 2 scores are infinite (first for q)"]),
        (
            "q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 a 3 1 t\n",
            ["x: 1 document comes again in a list (a in that of q): a wasted rank, only the first counts"],
        ),
        ("q Q0 a 1 3 t\nq Q0 b 2 2 u\n", ["x: its lines have 2 tags (t, u): taken as one run"]),
    ],
)
def test_oddities_are_counted(tmp_path: Path, text: str, remarks: list[str]) -> None:
    run = read_run(write(tmp_path, "x.run", text))
    assert list(run.remarks) == remarks
    assert list(run.named("y").remarks) == list(run[:1].remarks) == remarks
    assert list(read_run(run).remarks) == remarks


def test_oddities_of_other_forms(tmp_path: Path) -> None:
    distances = write(tmp_path, "x.csv", "query,document,distance,rank\nq,a,1,1\nq,b,0.5,2\n")
    said = "x: 1 rank contradicts its distance in 1 of 1 query (first b for q): the distances decide"
    assert read_run(distances).remarks == (said,)
    empty = write(tmp_path, "x.json", json.dumps({"q": [], "r": ["a", "a", 1, "1"]}))
    assert read_run(empty).remarks == (
        "x: 2 documents come again in a list (a in that of r): a wasted rank, only the first counts",
        "x: 1 query has an empty list (first q)",
    )
    assert read_run({"q": ["a", "a"]}).remarks[0].startswith("run: 1 document comes again")
    joined = read_run([Run([Ranking("q", ("a",))], remarks=["odd"]), Run([Ranking("r", ("a",))])])
    assert joined.remarks == ("odd",)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.run", "", r"x\.run: the run is empty; expected lines with query Q0 .*; found none"),
        ("x.run", "\n \n", r"x\.run: the run is empty"),
        ("x.csv", "query,document,score\n", r"x\.csv: the run is empty; expected a row for each document found"),
        ("x.json", "{}", r"x\.json: the run is empty"),
        ("x.csv", "query,document,score\n,a,1\n", r"x\.csv:2: no query; expected a name; found nothing"),
        ("x.csv", "query,document,score\nq,,1\n", r"x\.csv:2: no document; expected a name; found nothing"),
        ("x.csv", "query,document,score,score\nq,a,1,2\n", r"x\.csv: two columns have one name; .*found score"),
        ("x.json", '{"q": [["a"]]}', r"x\.json: an id must be a text or a whole number; got \['a'\]"),
        ("x.json", '{"q": [null]}', r"x\.json: an id must be a text or a whole number; got None"),
        ("x.json", '{"q": ["\\ud800"]}', r"x\.json:1: half a character; expected text; found \\ud800"),
        (
            "x.json",
            '{"roslin run": {"name": "x", "kind": "score"}, "queries": {"q": [{"document": "a", "score": 1}, '
            '{"document": "b", "score": 2}]}}',
            r"x\.json: query 'q': the list is not in the order of its scores",
        ),
        (
            "x.run",
            f"q Q0 a {'9' * 5000} 1 t\n",
            r"x\.run:1: bad rank; expected a whole number; found '9{79}… \(5,000 c",
        ),
        ("x.run.gz", gzip.compress(TREC.encode(), mtime=0)[:-3], r"x\.run\.gz: damaged gzip"),
        (
            "x.run.gz",
            TREC,
            r"x\.run\.gz: not compressed, although it has the suffix of a compressed file; expected gzip or zstd",
        ),
        ("x.run.zst", zstandard.compress(TREC.encode())[:-3], r"x\.run\.zst: damaged zstd \(it is cut off\)"),
        ("x.run.zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 40, r"x\.run\.zst: damaged zstd"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_run(write(tmp_path, name, text))


def test_packed_files(tmp_path: Path) -> None:
    raw = TREC.encode()
    parts = raw[:20], raw[20:]
    for name, data in (
        ("mine.run.gz", gzip.compress(raw)),
        ("mine.run.GZ", b"".join(map(gzip.compress, parts))),
        ("mine.run.zst", zstandard.compress(raw)),
        ("mine.run.zst", b"".join(map(zstandard.compress, parts))),
        ("mine.run", gzip.compress(raw)),
    ):
        run = read_run(write(tmp_path, name, data))
        assert run.name == "mine"
        assert run.lists == {"q": ("a", "b"), "r": ("a",)}
    table = gzip.compress(b"query,document,score\nq,a,1\n")
    assert read_run(write(tmp_path, "mine.csv.gz", table)).lists == {"q": ("a",)}
    truth = read_truth(write(tmp_path, "t.json.gz", gzip.compress(b'{"q": [["a"]]}')))
    assert (dict(truth), truth.name) == ({"q": (("a",),)}, "t")
    said = gzip.compress(b"query,expert,document,rank\nq,e,a,1\n")
    assert read_rankings(write(tmp_path, "said.csv.gz", said)).name == "said"


def test_without_zstandard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "x.run.zst", zstandard.compress(TREC.encode()))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"x\.run\.zst: reading zstd needs zstandard.*roslin\[zstd\]"):
        read_run(path)


def test_frames_of_pandas_and_polars() -> None:
    import pandas as pd
    import polars as pl

    columns: dict[str, list[Any]] = {"qid": ["q", "q", "r"], "docno": [1, 2, 1], "score": [1.0, 2.0, 3.0]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns)):
        assert read_run(frame).lists == {"q": ("2", "1"), "r": ("1",)}
    judged = {"qid": ["q", "q"], "docno": ["a", "b"], "label": [1, -1]}
    for frame in (pd.DataFrame(judged), pl.DataFrame(judged), pl.LazyFrame(judged)):
        truth = read_truth(frame)
        assert dict(truth) == {"q": (("a",),)}
        assert truth.notes == ("1 relevance below 0: taken as not judged",)
    missing = {**columns, "docno": ["a", None, "b"]}
    for frame in (pd.DataFrame(missing), pl.DataFrame(missing), pd.DataFrame(missing).convert_dtypes()):
        with pytest.raises(FormatError, match="no document; expected a name; found nothing"):
            read_run(frame)


def test_long_ids_are_cut_in_messages(tmp_path: Path) -> None:
    long = "x" * 200_000
    twice = read_run(write(tmp_path, "x.run", f"q Q0 {long} 1 2 t\nq Q0 {long} 2 1 t\n"))
    truth = read_truth(write(tmp_path, "t.qrels", f"q 0 {long} 1\nq 0 {long} 1\n"))
    assert max(map(len, (*twice.remarks, *truth.notes))) < 400
    for name, text in (
        ("a.run", f"q Q0 {long} {long} 1 t\n"),
        ("b.qrel", f"mine q a 1\n{long} q b 1\n"),
        ("c.json", json.dumps({"q": {long: "much"}})),
    ):
        with pytest.raises(FormatError) as error:
            (read_truth if name == "b.qrel" else read_run)(write(tmp_path, name, text))
        assert len(str(error.value)) < 1_000
    with pytest.raises(ArgumentError, match=r"has no query of the truth: it has 'x{79}") as unknown:
        evaluate({"q": [["a"]]}, {"mine": {long: ["a"]}})
    assert len(str(unknown.value)) < 400


def test_a_run_without_a_known_query_is_refused() -> None:
    with pytest.raises(ArgumentError, match="mine has no query of the truth: it has 'r', the truth has 'q'"):
        evaluate({"q": [["a"]]}, {"mine": {"r": ["a"]}})


def test_votes_in_another_encoding(tmp_path: Path) -> None:
    votes = "query,first,second,expert,answer\nq,a,b,J\xe9r\xf4me,first\n"
    path = write(tmp_path, "votes.csv", votes.encode("cp1252") + b"q,a,b,\x81,first\n")
    with pytest.raises(
        FormatError, match=r"votes\.csv:3: the file is not text; expected UTF-8 or cp1252; found the byte"
    ):
        read_votes(path)
    ranks = f"query,expert,document,rank\nq,e,a,{'9' * 5000}\n"
    with pytest.raises(FormatError, match=r"said\.csv:2: bad rank; expected 1 .*; found 9{79}… \(5,000 characters\)"):
        read_rankings(write(tmp_path, "said.csv", ranks))
    with pytest.raises(FormatError, match=r"said\.json, judgement 1: bad rank; .*found inf"):
        read_rankings(write(tmp_path, "said.json", f'{{"q": {{"e": {{"a": {"9" * 5000}}}}}}}'))


def test_truths_that_are_none(tmp_path: Path) -> None:
    for name, text, message in (
        ("t.qrel", "\n", "the truth is empty; expected a judgement or more; found none"),
        ("t.json", '{"format": "roslin-truth"}', "not a truth; expected what write_truth writes"),
        ("t.json", '{"q": [[null]]}', "an id must be a text or a whole number; got None"),
        ("t.qrels", "q 0 a inf\n", r"t\.qrels:1: bad relevance; expected a finite number; found inf"),
    ):
        with pytest.raises(FormatError, match=message):
            read_truth(write(tmp_path, name, text))
    many = "".join("q 0 a 1\n" for _ in range(9))
    notes = read_truth(write(tmp_path, "t.qrels", many)).notes
    assert len(notes) == 6
    assert notes[-1].endswith("3 more judgements of documents that were judged before: the first counts")
    assert dict(read_truth(write(tmp_path, "n.json", '{"q": [["a", 1]]}'))) == {"q": (("a", "1"),)}


# -- files that users name ------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.qrel"
    path.write_text("older")

    def half() -> None:
        with replacing(path) as unfinished:
            unfinished.write_text("half of")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as refusal:
        half()
    assert refusal.value.filename == str(path), "the refusal names the file that was asked for"
    assert path.read_text() == "older"
    write_whole(path, "newer")
    assert path.read_text() == "newer"
    assert [each.name for each in tmp_path.iterdir()] == ["out.qrel"]


def test_what_is_written_keeps_links_permissions_pipes_and_devices(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"through", 0o600)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600
    (tmp_path / "real").chmod(0o640)
    write_whole(tmp_path / "real", "again")
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", "for another program")
    assert os.read(reading, 100) == b"for another program"
    os.close(reading)
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "a folder")


def test_a_truth_rankings_and_a_run_replace_an_older_file_when_they_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write(tmp_path, "a.run", TREC)
    truth = write(tmp_path, "a.qrel", "list q a 1\n")
    rankings = write(tmp_path, "a.csv", "query,expert,document,rank\nq,e,a,1\nq,e,b,2\n")
    before = {path: path.read_bytes() for path in (run, truth, rankings)}
    known = read_run(run), read_truth(truth), read_rankings(rankings)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    again: list[Callable[[], object]] = [
        lambda: known[0].write(run),
        lambda: known[0].write(tmp_path / "a.parquet"),
        lambda: write_truth(known[1], truth),
        lambda: write_rankings(known[2], rankings),
    ]
    for write_again in again:
        with pytest.raises(OSError, match="No space left"):
            write_again()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before

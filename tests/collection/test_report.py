"""The report of a build or an add, kept in the collection."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.collection.conftest import sealed_anew, three_melodies

from roslin import Collection
from roslin.collection import write
from roslin.collection.check import check
from roslin.collection.files import DATABASE
from roslin.collection.report import BuildReport, FileCount
from roslin.collection.store import Store
from roslin.errors import DamagedError
from roslin.melody import Melody


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    rows = ["'4CD", "Sol majeur", '"4CDE', "'4C+D", "La mineur"]
    lines = [json.dumps({"id": f"m{k}", "pae": pae}) + "\n" for k, pae in enumerate(rows)]
    (folder / "mixed.jsonl").write_text("".join(lines))
    (folder / "good.pae").write_text("'4CDE\n'4CDF")
    (folder / "unknown.bin").write_bytes(b"\0\1\2")
    return folder


def test_what_was_taken_and_refused_and_why(sources: Path, tmp_path: Path) -> None:
    with Collection.build(sources, tmp_path / "x.roslin") as collection:
        report = collection.report
        assert report == write.build(sources, tmp_path / "x.roslin")
    assert report is not None
    assert (report.taken, report.with_warnings, report.refused, report.total) == (5, 2, 3, 5)
    assert report.by_file == {
        "good.pae": FileCount(2, 0),
        "mixed.jsonl": FileCount(3, 2),
        "unknown.bin": FileCount(0, 1),
    }
    assert next(iter(report.refusals.items())) == ("not music", 2)
    assert sum(report.refusals.values()) == report.refused
    assert list(report.warnings.values()) == [1, 1]
    assert report.rejects == tmp_path / "x.roslin" / "rejects.tsv"
    assert len(report.rejects.read_text("utf-8").splitlines()) == 1 + report.refused


def test_it_is_there_when_the_collection_is_opened_again_elsewhere(sources: Path, tmp_path: Path) -> None:
    Collection.build(sources, tmp_path / "x.roslin").close()
    (tmp_path / "x.roslin").rename(tmp_path / "moved.roslin")
    with Collection(tmp_path / "moved.roslin") as collection:
        assert collection.report is not None
        assert collection.report.taken == 5
        assert collection.report.rejects == tmp_path / "moved.roslin" / "rejects.tsv"


def test_an_add_has_a_report_of_its_own_and_a_removal_none(collection_path: Path) -> None:
    new = Melody.from_notes([0, 1], [1, 1], [60, 67], id="d")
    added = write.add([new, three_melodies()[0]], collection_path)
    with Store(collection_path) as store:
        assert store.report == added
        assert (added.taken, added.refused, added.total) == (1, 1, 4)
        assert added.refusals == {"the same melody under the same id is there already": 1}
    write.remove(["b"], collection_path)
    with Store(collection_path) as store:
        assert (len(store), store.report) == (3, added)


def test_collections_made_before_reports_were_kept(collection_path: Path) -> None:
    with sqlite3.connect(collection_path / DATABASE) as database:
        database.execute("DELETE FROM about WHERE name = 'report'")
    database.close()
    sealed_anew(collection_path)
    with Store(collection_path) as store:
        assert store.report is None
    assert write.remove(["a"], collection_path) == 2
    report = write.add([Melody.from_notes([0], [1], [60], id="d")], collection_path)
    with Store(collection_path) as store:
        assert (store.ids(), store.report) == (["b", "c", "d"], report)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"by_file": {}, "taken": 1}', '{"by_file": {"a": 1}}'])
def test_a_damaged_report(collection_path: Path, text: str) -> None:
    with sqlite3.connect(collection_path / DATABASE) as database:
        database.execute("UPDATE about SET value = ? WHERE name = 'report'", (text,))
    database.close()
    sealed_anew(collection_path)
    with Store(collection_path) as store, pytest.raises(DamagedError, match="the report of its making cannot be read"):
        _ = store.report
    assert len(check(collection_path)) == 1


def test_names_that_are_no_proper_text_are_kept() -> None:
    report = BuildReport(Path("x"), 1, 0, 0, 1, {}, {}, {"b\udcf6se.pae": FileCount(1, 0)})
    text = report.to_json()
    assert text.isascii()
    assert BuildReport.from_json(Path("x"), text) == report


def test_tables(sources: Path, tmp_path: Path) -> None:
    report = write.build(sources, tmp_path / "x.roslin")
    assert str(report.to_table()).splitlines()[2].split() == ["mixed.jsonl", "3", "2"]
    assert [row["outcome"] for row in report.reasons().rows] == ["refused"] * 2 + ["taken with a warning"] * 2
    page = report._repr_html_()
    assert page.count("<table") == 2
    assert "5 melodies taken, 2 of them with warnings; 3 refused; see " in page
    many = BuildReport(Path("x"), 30, 0, 0, 30, {}, {}, {f"{k}.pae": FileCount(1) for k in range(30)})
    assert many._repr_html_().count("<tr>") == 1 + 20
    assert "the first 20 of 30 files" in many._repr_html_()
    assert many._repr_html_().count("<table") == 1
    assert repr(many) == "BuildReport('x', 30 taken, 0 refused)"

"""The report of a build or an add, kept in the collection."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.collection.conftest import sealed_anew, three_melodies

from roslin import Collection
from roslin.collection import write
from roslin.collection.files import DATABASE
from roslin.collection.report import BuildReport, FileCount
from roslin.collection.store import Store, check
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
        assert (store.ids(), store.report) == (["c", "b", "d"], report)


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


def test_warnings_are_listed_by_record_and_field(tmp_path: Path) -> None:
    fields = [("1.1.1", "'4C+D"), ("1.1.2", None), ("1.1.3", "'4CDE"), ("1.1.3", "'4CDF")]
    inner = "".join(
        f'<datafield tag="031">\n<subfield code="a">{number}</subfield>'
        + (f'<subfield code="p">{music}</subfield>' if music else "")
        + "</datafield>\n"
        for number, music in fields
    )
    source = tmp_path / "x.xml"
    source.write_text(f'<collection>\n<record><controlfield tag="001">7</controlfield>\n{inner}</record></collection>')
    report = write.build(source, tmp_path / "x.roslin")
    assert (report.taken, report.with_warnings, report.refused, report.skipped) == (3, 2, 0, 1)
    assert report.remarks == tmp_path / "x.roslin" / "warnings.tsv"
    said = (
        f"3 melodies taken, 2 of them with warnings; 0 refused; 1 incipit without music skipped; see {report.remarks}"
    )
    assert str(report) == said
    rows = [line.split("\t") for line in report.remarks.read_text("utf-8").splitlines()]
    assert rows[0] == ["file", "line", "record", "column", "reason", "expected", "found", "taken"]
    assert [row[:3] + row[4:5] for row in rows[1:]] == [
        [str(source), "3", "7-1.1.1", "tie to another pitch, read as a slur"],
        [str(source), "5", "7-1.1.2", "no music in field 031"],
        ["x.xml", "0", "7-1.1.3", "id taken already, a number was added to it"],
    ]
    assert rows[3][-1] == "7-1.1.3~2"
    assert check(tmp_path / "x.roslin") == []
    write.remove(["7-1.1.3"], tmp_path / "x.roslin")
    with Store(tmp_path / "x.roslin") as store:
        assert store.report == report
        assert len(report.remarks.read_text("utf-8").splitlines()) == 4
    assert check(tmp_path / "x.roslin") == []
    report.remarks.write_text("changed")
    assert "damaged: warnings.tsv is not what was written" in check(tmp_path / "x.roslin")[0]


@pytest.mark.long
def test_incipits_without_music_are_counted_in_a_real_export(data_folder: Path, tmp_path: Path) -> None:
    report = write.build(data_folder / "rism" / "muscat_sample_0.xml.gz", tmp_path / "x.roslin")
    assert (report.taken, report.refused, report.skipped) == (1410, 0, 275)  # of 1,685 fields 031
    assert report.remarks.read_text("utf-8").count("\tno music in field 031\t") == 275


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

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import zipfile
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from tests.collection.conftest import sealed_anew, three_melodies
from tests.collection.kills import killed
from tests.notation.samples import musicxml, musicxml_note

from roslin import Collection, load
from roslin.collection import files, write
from roslin.collection.export import export
from roslin.collection.files import DATABASE, writing
from roslin.collection.sources import Sources
from roslin.collection.store import Store, check
from roslin.errors import (
    ArgumentError,
    ChangedError,
    CollectionError,
    SourceError,
    UnknownNameError,
    UnknownRecordError,
)
from roslin.melody import Melody
from roslin.notation import pae

# -- reading back -----------------------------------------------------------------------------------------------------


def test_what_goes_in_comes_out(collection_path: Path) -> None:
    with Collection(collection_path) as collection:
        assert len(collection) == 3
        assert list(collection) == three_melodies()
        assert collection["b"] == three_melodies()[1]
        assert "c" in collection
        assert "d" not in collection
        assert collection.ids() == ["a", "b", "c"]
        assert collection.ids([2, 0]) == ["c", "a"]
        assert collection.numbers(["c", "a"]).tolist() == [2, 0]
        assert collection.packed().offsets.tolist() == [0, 4, 7, 13]
        assert repr(collection).endswith("three.roslin', 3 melodies)")
        assert check(collection_path) == []


def test_an_unknown_id_lists_some_that_are_near(collection_path: Path) -> None:
    with Collection(collection_path) as collection:
        with pytest.raises(UnknownNameError, match=r"unknown melody 'b2'; known: b, \.\.\."):
            collection["b2"]
        with pytest.raises(UnknownNameError, match=r"unknown melody 'x'"):
            collection.numbers(["a", "x"])


def test_notes_are_mapped_and_cannot_be_changed(collection_path: Path) -> None:
    with Collection(collection_path) as collection:
        assert isinstance(collection.packed().notes, np.memmap)
        with pytest.raises(ValueError, match=r"read-only"):
            collection["a"].notes["pitch_midi"] = 1


def test_an_empty_collection(tmp_path: Path) -> None:
    with Collection.build([], tmp_path / "empty.roslin") as collection:
        assert (len(collection), list(collection), collection.search(three_melodies()[0]).ids) == (0, [], [])
        assert len(collection.filter()) == 0
    assert check(tmp_path / "empty.roslin") == []


# -- building ---------------------------------------------------------------------------------------------------------


def test_build_reads_files_folders_archives_and_melodies(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.pae").write_text("@start:p1\n@clef:G-2\n@data:'4CDE\n@end:p1\n@start:p2\n@data:'4GFE\n@end:p2\n")
    (folder / "deep" / "two.jsonl.gz").write_bytes(gzip.compress(b'{"id": "j1", "pae": "\'4CEG"}\n{"id": "j2"}\n'))
    with zipfile.ZipFile(folder / "three.zip", "w") as archive:
        archive.writestr("inner/a.txt", "'4CDEF")
        archive.writestr("b.json", '{"clef": "G-2", "data": "\'4GG"}')
    (folder / ".hidden").write_text("not read")
    (folder / "broken.gz").write_bytes(b"\x1f\x8b\x08\0broken")
    (folder / "unknown.bin").write_bytes(b"\0\1\2")
    seen: list[str] = []
    report = write.build(
        [folder, three_melodies()[0]],
        tmp_path / "out.roslin",
        progress=lambda count, label: seen.append(label),
        allow_damaged=True,
    )
    with Store(tmp_path / "out.roslin") as store:
        assert store.ids() == ["j1", "p1", "p2", "three/inner/a-1", "three/b-1", "a"]
        assert store["p1"].source == "one.pae"
    assert (report.taken, report.refused, report.total) == (6, 3, 6)
    assert str(report).startswith("6 melodies taken; 3 refused; see ")
    assert seen[-1] == "the index of intervals"
    rows = [line.split("\t") for line in report.rejects.read_text("utf-8").splitlines()]
    assert rows[0] == ["file", "line", "record", "column", "reason", "expected", "found"]
    reasons = {Path(row[0]).name: row[4] for row in rows[1:]}
    assert reasons["two.jsonl.gz"] == "incipit without music"
    assert reasons["broken.gz"].startswith("cannot be read to its end")
    assert reasons["unknown.bin"].startswith("unknown notation")


def test_a_bad_record_does_not_stop_a_build_and_strict_refuses_more(tmp_path: Path) -> None:
    source = tmp_path / "mixed.jsonl"
    rows = ["'4CD", "Sol majeur", '"4CDE', "'4C+D"]
    source.write_text("".join(json.dumps({"id": f"m{k}", "pae": pae}) + "\n" for k, pae in enumerate(rows)))
    lenient = write.build(source, tmp_path / "lenient.roslin")
    assert (lenient.taken, lenient.with_warnings, lenient.refused) == (3, 2, 1)
    assert lenient.warnings == {
        "octave marks written with a double quote": 1,
        "tie to another pitch, read as a slur": 1,
    }
    assert "m1\t1\tnot music" in lenient.rejects.read_text("utf-8")
    strict = write.build(source, tmp_path / "strict.roslin", strict=True)
    assert (strict.taken, strict.refused) == (1, 3)
    columns = [line.split("\t")[3] for line in strict.rejects.read_text("utf-8").splitlines()[1:]]
    assert columns == ["1", "1", "4"]


def test_an_id_that_is_taken(tmp_path: Path) -> None:
    one, other = pae.read("'4CD").with_metadata(id="x"), pae.read("'4CE").with_metadata(id="x")
    report = write.build([one, other, one, other, pae.read("'4CF").with_metadata(id="x")], tmp_path / "x.roslin")
    assert (report.taken, report.refused) == (3, 2)
    assert "the same melody under the same id is there already" in report.rejects.read_text("utf-8")
    with Store(tmp_path / "x.roslin") as store:
        assert store.ids() == ["x", "x~2", "x~3"]
        assert store["x~2"].notes["pitch_midi"].tolist() == [60, 64]


def test_add_and_remove(collection_path: Path) -> None:
    new = Melody.from_notes([0, 1], [1, 1], [60, 67], id="d")
    report = write.add([new, three_melodies()[0]], collection_path)
    assert (report.taken, report.refused, report.total) == (1, 1, 4)
    with Collection(collection_path) as collection:
        assert list(collection) == [*three_melodies(), new]
        found = collection.connection.execute("SELECT count(*) FROM interval_index").fetchone()
        assert found == (4,)
    assert check(collection_path) == []
    assert write.remove(["b", "a"], collection_path) == 2
    with Collection(collection_path) as collection:
        assert list(collection) == [new, three_melodies()[2]]  # the last ones go to the places that are free
    assert check(collection_path) == []
    with pytest.raises(UnknownNameError, match=r"unknown melody 'a'"):
        write.remove(["c", "a"], collection_path)
    with Collection(collection_path) as collection:
        assert len(collection) == 2


def incipits(*rows: tuple[str, str, str], number: str = "7") -> str:
    fields = "".join(
        f'<datafield tag="031"><subfield code="a">{name}</subfield><subfield code="p">{music}</subfield></datafield>'
        for name, music, _ in rows
    )
    composer = f'<datafield tag="100"><subfield code="a">{rows[0][2]}</subfield></datafield>'
    return f'<record><controlfield tag="001">{number}</controlfield>{composer}{fields}</record>'


def exported(path: Path, *records: str) -> Path:
    path.write_text(f"<collection>{''.join(records)}</collection>")
    return path


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    first = incipits(("1.1.1", "'4CDE", "Krommer"), ("1.1.2", "'4GFE", "Krommer"), ("1.1.2", "'4GGG", "Krommer"))
    write.build(
        exported(tmp_path / "old.xml", first, incipits(("1.1.1", "'4EEE", ""), number="70")), tmp_path / "c.roslin"
    )
    return tmp_path / "c.roslin"


@pytest.mark.parametrize(
    ("corrected", "changed"),
    [
        ([("1.1.1", "'4CDE", "Anonymus")], ["7-1.1.1"]),  # the composer
        ([("1.1.1", "'4CDF", "Krommer")], ["7-1.1.1"]),  # the music
        ([("1.1.2", "'4GGG", "Krommer"), ("1.1.2", "'4GFF", "Krommer")], ["7-1.1.2"]),
    ],
)
def test_corrected_records_are_refused_by_name_or_replace_the_old_ones(
    catalogue: Path, tmp_path: Path, corrected: list[tuple[str, str, str]], changed: list[str]
) -> None:
    source = exported(tmp_path / "corrected.xml", incipits(*corrected))
    with Collection(catalogue) as collection:
        before = list(collection)
        assert collection.ids() == ["7-1.1.1", "7-1.1.2", "7-1.1.2~2", "70-1.1.1"]
        with pytest.raises(
            ChangedError, match=rf"other music or metadata under 1 id of the sources: {changed[0]}; .* --replace"
        ):
            collection.add(source)
    with Collection(catalogue) as collection:
        assert list(collection) == before
        report = collection.add(source, replace=True)
        assert (report.taken, report.replaced, report.unchanged) == (len(corrected), len(corrected), 0)
        assert sorted(collection.ids()) == ["7-1.1.1", "7-1.1.2", "7-1.1.2~2", "70-1.1.1"]
        wanted = {(f"7-{name}", music, composer) for name, music, composer in corrected}
        assert wanted <= {(str(each.id).partition("~")[0], each.music, each.composer) for each in collection}
    assert check(catalogue) == []


def test_what_has_not_changed_stays_where_it_is(catalogue: Path, tmp_path: Path) -> None:
    whole = [("1.1.1", "'4CDE", "Krommer"), ("1.1.2", "'4GFE", "Krommer"), ("1.1.2", "'4GGG", "Krommer")]
    new = incipits(("1.1.1", "'4AAA", "Hasse"), number="8")
    source = exported(tmp_path / "another-name.xml", incipits(*whole), new)
    with Collection(catalogue) as collection:
        report = collection.add(source)
        assert (report.taken, report.refused) == (1, 3)
        assert report.refusals == {"the same melody under the same id is there already": 3}
        collection.remove("8-1.1.1")
        report = collection.add(source, replace=True)
        assert str(report) == "1 melody taken; 0 replaced; 3 unchanged; 0 refused"
        assert collection.report == report
        assert [each.source for each in collection] == ["old.xml"] * 4 + ["another-name.xml"]
    melody = Melody.from_notes([0], [1], [60], id="m", source="a book")
    with Collection.build([melody], tmp_path / "m.roslin") as collection:
        with pytest.raises(ChangedError, match="1 id of the sources: m;"):
            collection.add(melody.with_metadata(source="another book"))
        with pytest.raises(ChangedError):
            collection.add(melody.with_metadata(extra={"date": "1750"}))
        collection.add(melody.with_metadata(source="another book"), replace=True)
        assert collection["m"].source == "another book"
        nameless = Melody.from_notes([0, 1], [1, 1], [60, 62])
        for pitch in (64, 65):
            collection.add([nameless, Melody.from_notes([0], [1], [pitch])], replace=True)
        assert collection.ids() == ["m", "melody-1", "melody-2", "melody-2~2"]  # a name that was made replaces nothing


def test_a_record_is_removed_by_its_number(catalogue: Path) -> None:
    with Collection(catalogue) as collection:
        with pytest.raises(UnknownRecordError, match=r"no record with the number 9 is in the collection; similar: 7-1"):
            collection.remove(records=["7", "9"])
        assert collection.remove(records="7") == 1
        assert collection.ids() == ["70-1.1.1"]
        assert collection.remove("70-1.1.1") == 0


def test_build_replaces_what_was_there(collection_path: Path) -> None:
    old = Collection(collection_path)
    write.build(three_melodies()[:1], collection_path, allow_smaller=True)
    assert list(old) == three_melodies()  # whoever has it open still sees the old state
    with Collection(collection_path) as new:
        assert len(new) == 1
    old.close()
    assert sorted(path.name.split("-")[0] for path in collection_path.iterdir()) == [
        "bar_offsets",
        "barlines",
        "checksums",
        "collection.sqlite",
        "notes",
        "offsets",
        "rejects.tsv",
        "verified",
        "warnings.tsv",
        "writer.lock",
    ]


@pytest.mark.long
def test_others_read_while_one_writes(collection_path: Path) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def read() -> None:
        while not stop.is_set():
            try:
                with Collection(collection_path) as collection:
                    assert len(list(collection)) in (2, 3)
            except BaseException as error:
                failures.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for k in range(12):
        write.build(three_melodies()[: 2 + k % 2], collection_path, allow_smaller=True)
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []


def test_remove_sees_what_another_writer_just_added(collection_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = Melody.from_notes([0, 1], [1, 1], [60, 67], id="late")
    real = writing

    def add_before_the_lock(folder: Path) -> AbstractContextManager[None]:
        monkeypatch.setattr(files, "writing", real)
        write.add([new], folder)
        return real(folder)

    monkeypatch.setattr(files, "writing", add_before_the_lock)
    assert write.remove(["a"], collection_path) == 3
    with Store(collection_path) as store:
        assert store.ids() == ["late", "b", "c"]


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes-2024.npy", ".newsboat", "collection.sqlite.bak"):
        folder = tmp_path / f"{name}.roslin"
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(CollectionError, match=r"the folder holds other files"):
            write.build(three_melodies(), folder)
        assert (folder / name).read_text() == "mine"


@pytest.mark.long
def test_many_melodies_under_one_id(tmp_path: Path) -> None:
    melodies = (Melody.from_notes([0, k + 1], [1, 1], [60, 62], id="same") for k in range(3000))
    report = write.build(melodies, tmp_path / "x.roslin")
    assert (report.taken, report.refused) == (3000, 0)
    with Store(tmp_path / "x.roslin") as store:
        assert store.ids([0, 1, 2999]) == ["same", "same~2", "same~3000"]


def test_ids_are_one_line_and_count_in_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.pae").write_text("'4C\n'4D")
    (tmp_path / "b.pae").write_text("'4E")
    odd = [Melody.from_notes([0], [1], [60], id=id) for id in ("two\nlines", " ", "a b")]
    write.build([tmp_path / "a.pae", tmp_path / "b.pae", *odd], tmp_path / "x.roslin")
    with Store(tmp_path / "x.roslin") as store:
        assert store.ids() == ["a-1", "a-2", "b-1", "two lines", "melody-1", "a b"]
    again = write.add(tmp_path / "b.pae", tmp_path / "x.roslin")
    assert (again.taken, again.refused) == (0, 1)


def test_a_source_that_is_not_there_is_refused_before_anything_is_replaced(collection_path: Path) -> None:
    wrong: list[Sources] = ["'4CDE", ["missing.krn"], (*three_melodies(), Path("missing.krn"))]
    for sources in wrong:
        for work in (write.build, write.add):
            with pytest.raises(CollectionError, match=r"(missing\.krn|'4CDE): there is no such file or folder \("):
                work(sources, collection_path)
    with pytest.raises(ArgumentError, match="a source must be a file, a folder or a melody; got 5"):
        write.build([5], collection_path)  # type: ignore[list-item]
    with Collection(collection_path) as collection:
        assert list(collection) == three_melodies()
    with pytest.raises(SourceError, match=r"damaged source: missing\.krn: no such file"):  # seen when it is its turn
        write.add((path for path in [Path("missing.krn")]), collection_path)


def test_two_writers_do_not_meet(collection_path: Path) -> None:
    with writing(collection_path), pytest.raises(CollectionError, match=r"another process is writing"):
        write.build(three_melodies(), collection_path)


def test_where_a_collection_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file.roslin").write_text("x")
    with pytest.raises(CollectionError, match=r"this is a file; expected a folder, or a name that is free"):
        write.build([], tmp_path / "file.roslin")
    (tmp_path / "folder.roslin").mkdir()
    (tmp_path / "folder.roslin" / "letter.txt").write_text("dear")
    with pytest.raises(CollectionError, match=r"the folder holds other files"):
        write.build([], tmp_path / "folder.roslin")
    (tmp_path / "parent").write_text("x")
    with pytest.raises(CollectionError, match=r"cannot be written"):
        write.build([], tmp_path / "parent" / "x.roslin")
    with pytest.raises(CollectionError, match=r"there is no such folder; make one with: roslin collection build"):
        write.add([], tmp_path / "none.roslin")


# -- damage -----------------------------------------------------------------------------------------------------------


def array_file(collection: Path, name: str) -> Path:
    return next(collection.glob(f"{name}-*.npy"))


def test_what_is_no_collection(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"there is no such folder; make one with"):
        Collection(tmp_path / "none.roslin")
    with pytest.raises(CollectionError, match=r"it is not a Roslin collection"):
        Collection(tmp_path)


def test_a_newer_format_is_refused(collection_path: Path) -> None:
    with sqlite3.connect(collection_path / DATABASE) as database:
        database.execute("UPDATE about SET value = '99' WHERE name = 'format_version'")
    database.close()
    sealed_anew(collection_path)
    with pytest.raises(
        CollectionError,
        match=r"format 99, written by Roslin .*; this Roslin reads formats 3 and 4: upgrade Roslin with: pip",
    ):
        Collection(collection_path)


def test_an_older_format_is_refused(collection_path: Path) -> None:
    with sqlite3.connect(collection_path / DATABASE) as database:
        database.execute("UPDATE about SET value = '0' WHERE name = 'format_version'")
    database.close()
    sealed_anew(collection_path)
    with pytest.raises(CollectionError, match=r"format 0, .*build the collection again"):
        Collection(collection_path)


@pytest.mark.parametrize("name", ["notes", "offsets", "barlines", "bar_offsets"])
def test_missing_or_broken_arrays(collection_path: Path, name: str) -> None:
    path = array_file(collection_path, name)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(CollectionError, match=rf"damaged: {name}-.* is not what was written"):
        Collection(collection_path)
    np.save(path, np.zeros(3, dtype=np.float32))
    with pytest.raises(CollectionError, match=rf"damaged: {name}-.* is not what was written"):
        Collection(collection_path)
    path.unlink()
    with pytest.raises(CollectionError, match=rf"damaged: {name}-.* is missing"):
        Collection(collection_path)


def test_arrays_of_another_collection(collection_path: Path, tmp_path: Path) -> None:
    write.build(three_melodies()[:1], tmp_path / "one.roslin")
    for name in ("offsets", "bar_offsets", "notes", "barlines"):
        shutil.copy(array_file(tmp_path / "one.roslin", name), array_file(collection_path, name))
    sealed_anew(collection_path)
    with pytest.raises(CollectionError, match=r"damaged: collection.sqlite does not belong to the arrays"):
        Collection(collection_path)


def test_check_reports_what_cannot_be_opened(collection_path: Path) -> None:
    array_file(collection_path, "barlines").unlink()
    (fault,) = check(collection_path)
    assert "damaged: barlines-" in fault


def test_an_array_that_cannot_be_opened(collection_path: Path) -> None:
    path = array_file(collection_path, "notes")
    path.unlink()
    path.mkdir()
    with pytest.raises(CollectionError, match=r"damaged: notes-.* cannot be read"):
        Collection(collection_path)


def test_a_broken_database(collection_path: Path) -> None:
    (collection_path / DATABASE).write_bytes(b"not a database at all, but long enough to look at" * 20)
    with pytest.raises(CollectionError, match=r"damaged: collection.sqlite cannot be read"):
        Collection(collection_path)


def test_check_finds_changed_notes(collection_path: Path) -> None:
    path = array_file(collection_path, "notes")
    notes = np.load(path)
    notes["pitch_midi"][1] += 1
    np.save(path, notes)
    (fault,) = check(collection_path)
    assert f"damaged: {path.name} is not what was written" in fault
    sealed_anew(collection_path)
    assert check(collection_path) == ["The features stored for a are not those of its notes"]


def test_check_finds_broken_offsets(collection_path: Path) -> None:
    path = array_file(collection_path, "offsets")
    offsets = np.load(path)
    offsets[1] = 6
    offsets[2] = 5
    np.save(path, offsets)
    sealed_anew(collection_path)
    (fault,) = check(collection_path)
    assert f"damaged: {path.name} does not divide the 13 rows of notes" in fault


def test_check_finds_missing_rows(collection_path: Path) -> None:
    with sqlite3.connect(collection_path / DATABASE) as database:
        database.execute("DELETE FROM strings WHERE number = 1")
    database.close()
    sealed_anew(collection_path)
    assert check(collection_path) == ["The table strings has 2 rows; expected 3, numbered from 0"]


def test_check_finds_words_that_were_folded_otherwise(collection_path: Path) -> None:
    with sqlite3.connect(collection_path / DATABASE) as database:
        database.execute("UPDATE folded SET title = 'other' WHERE number = 0")
    database.close()
    sealed_anew(collection_path)
    (fault,) = check(collection_path)
    assert fault.startswith("The folded words stored for ")


def test_tunes_of_two_books_keep_the_names_of_their_files(tmp_path: Path) -> None:
    for book in ("ryan", "oneill"):
        (tmp_path / f"{book}.abc").write_text(f"X:1\nT:{book} one\nK:C\nCDE\n\nX:2\nT:{book} two\nK:C\nEDC\n")
    write.build(tmp_path, tmp_path / "books.roslin")
    with Collection(tmp_path / "books.roslin") as collection:
        assert collection.ids() == ["oneill-1", "oneill-2", "ryan-1", "ryan-2"]
        assert [melody.source for melody in collection[::2]] == ["oneill.abc", "ryan.abc"]
        assert collection["ryan-2"].title == "ryan two"


def test_an_id_is_the_same_whatever_else_is_built(tmp_path: Path) -> None:
    """It is the path below the folder that was named, without suffixes; an archive is a folder."""
    music = {
        "bwv245.3.pae": b"'4CDE\n'4CDEZZZZ\n'4GFE",
        "bwv245.5.pae": b"'4EDC\n'4GABA",
        "a/x.pae": b"'4CEG",
        "b/x.pae": b"'4GEC",
        "b/x.abc.gz": gzip.compress(b"X:7\nK:C\nGABc|"),
        "b/more.jsonl": b'{"pae": "\'4C8DE"}\n\n{\n{"pae": "\'4DDD"}\n',
    }
    for name, data in music.items():
        path = tmp_path / "music" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    with zipfile.ZipFile(tmp_path / "music.zip", "w") as archive:
        for name in sorted(music):
            archive.writestr(name, music[name])
    for sources in (tmp_path / "music", tmp_path / "music.zip"):
        for spread in (None, map):
            report = write.build(sources, tmp_path / "all.roslin", spread=spread)
            assert (report.taken, report.refused) == (9, 2)
            with Store(tmp_path / "all.roslin") as store:
                found = {id: len(store[id]) for id in store.ids()}
            assert found == {
                "a/x-1": 3,
                "b/more-1": 3,
                "b/more-3": 3,
                "b/x-7": 4,
                "b/x-1": 3,
                "bwv245.3-1": 3,
                "bwv245.3-3": 3,
                "bwv245.5-1": 3,
                "bwv245.5-2": 4,
            }
    (tmp_path / "music" / "bwv245.3.pae").unlink()
    (tmp_path / "music" / "a" / "x.pae").unlink()
    write.build(tmp_path / "music", tmp_path / "some.roslin")
    write.build([tmp_path / "music" / "bwv245.5.pae", tmp_path / "music" / "b" / "x.pae"], tmp_path / "two.roslin")
    with Store(tmp_path / "some.roslin") as store:
        assert store.ids() == [id for id in found if not id.startswith(("a/", "bwv245.3"))]
    with Store(tmp_path / "two.roslin") as store:
        assert store.ids() == ["bwv245.5-1", "bwv245.5-2", "x-1"]


def test_files_that_give_one_id_are_told_apart_and_reported(tmp_path: Path) -> None:
    for name, music in (("a", "'4CEG"), ("b", "'4GEC")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.pae").write_text(music)
    report = write.build([tmp_path / "a", tmp_path / "b"], tmp_path / "both.roslin")
    assert report.warnings == {"id taken already, a number was added to it": 1}
    with Store(tmp_path / "both.roslin") as store:
        assert [(id, store[id].notes["pitch_midi"][0]) for id in store.ids()] == [("x-1", 60), ("x-1~2", 67)]


def test_a_collection_of_scores_with_their_voices_together(tmp_path: Path) -> None:
    (tmp_path / "two.musicxml").write_bytes(musicxml([musicxml_note("C") * 4], ("Flute", "Oboe")))
    (tmp_path / "tune.abc").write_text("X:1\nK:C\nCDE\n")
    for voices, counts in (("apart", [3, 4, 4]), ("together", [3, 8])):
        path = tmp_path / f"{voices}.roslin"
        write.build([tmp_path / "tune.abc", tmp_path / "two.musicxml"], path, voices=voices)  # type: ignore[arg-type]
        with Collection(path) as collection:
            assert [len(melody) for melody in collection] == counts
    with Collection.build([], tmp_path / "added.roslin") as collection:
        collection.add(tmp_path / "two.musicxml", voices="together")
        assert collection[0].notes["voice"].tolist() == [0, 1] * 4


@pytest.mark.long
def test_check_finds_a_damaged_page(tmp_path: Path) -> None:
    melodies = (Melody.from_notes([0, 1], [1, 1], [60, 60 + k % 40], id=f"m{k}") for k in range(3000))
    write.build(melodies, tmp_path / "x.roslin")
    path = tmp_path / "x.roslin" / DATABASE
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 3000] = b"\xa5" * 3000
    path.write_bytes(content)
    assert any("damaged: collection.sqlite is not what" in fault for fault in check(tmp_path / "x.roslin"))
    sealed_anew(tmp_path / "x.roslin")
    assert any("The database is damaged" in fault for fault in check(tmp_path / "x.roslin"))


# -- kills ------------------------------------------------------------------------------------------------------------


@pytest.mark.kills
@pytest.mark.parametrize("work", ["build", "add", "remove"])
def test_killed_at_every_step(collection_path: Path, tmp_path: Path, work: str) -> None:
    """A process that kills itself (SIGKILL) at the n-th change of the folder, for every n."""
    old = ["a", "b", "c"]
    new = [f"new-{k}" for k in range(5)]
    after = {"build": new, "add": old + new, "remove": ["c", "b"]}[work]
    outcomes = []
    with killed() as attempt:
        for step in range(1, 40):
            target = tmp_path / f"{step}.roslin"
            shutil.copytree(collection_path, target)
            (target / "rejects.tsv").write_text("of before")
            sealed_anew(target)
            code = attempt(step, work, target)
            assert check(target) == []
            with Store(target) as store:
                outcomes.append(store.ids())
                assert store.report is not None  # that of the state that is there
                assert store.report.taken == (3 if outcomes[-1] == old or work == "remove" else 5)
            assert outcomes[-1] in (old, after)
            if (target / "rejects.tsv").exists():  # of the state that is there, or none
                assert ("of before" in (target / "rejects.tsv").read_text()) == (
                    outcomes[-1] == old or work == "remove"
                )
            write.add([Melody.from_notes([0], [1], [60], id="later")], target)  # the next writer is not in the way
            assert not list(target.glob(".new-*"))
            if code == 0:
                break
            assert code == -9
    assert code == 0
    assert outcomes[0] == old
    assert outcomes[-1] == after
    assert len(outcomes) > 10


SLOW_BUILD = """
import sys
from roslin.collection import write
from roslin.melody import Melody
print("started", flush=True)
write.build((Melody.from_notes([0, 1], [1, 1], [60, 60 + k % 50], id=f"m{k}") for k in range(6000)), sys.argv[1])
"""


@pytest.mark.kills
def test_killed_at_any_time(tmp_path: Path) -> None:
    """The same from outside, at times spread over the whole build; also a first build, which leaves no collection."""
    target = tmp_path / "any.roslin"
    sizes = set()
    for delay in (0.02, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3, None):
        with subprocess.Popen([sys.executable, "-c", SLOW_BUILD, str(target)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.kill()
        if not (target / DATABASE).exists():
            with pytest.raises(CollectionError, match=r"not a Roslin collection|no such folder"):
                Collection(target)
            continue
        assert check(target) == []
        with Store(target) as store:
            sizes.add(len(store))
    assert sizes == {6000}


# -- export -----------------------------------------------------------------------------------------------------------


def test_export_jsonl_reads_back_to_the_same_collection(collection_path: Path, tmp_path: Path) -> None:
    with Collection(collection_path) as collection:
        assert export(collection, tmp_path / "out.jsonl") == (3, 0)
        again = load(tmp_path / "out.jsonl", strict=False)
        for before, after in zip(collection, again, strict=True):
            assert after == before


def test_export_pae(collection_path: Path, tmp_path: Path) -> None:
    with Collection(collection_path) as collection:
        assert export(collection, tmp_path / "out.pae") == (2, 1)  # two voices cannot be written
    first, last = load(tmp_path / "out.pae")
    assert (first.id, first.title, first.composer, last.id) == ("a", "First", "Nobody", "c")
    assert first.notes["pitch_midi"].tolist() == [60, 62, 64, 70]


def test_export_parquet(collection_path: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install 'roslin[parquet]'")
    with Collection(collection_path) as collection:
        assert export(collection, tmp_path / "out.parquet") == (3, 0)
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    assert [note["pitch_midi"] for note in rows[1]["notes"]] == [64, 60, 62]


def test_export_to_a_pipe_and_through_a_link(collection_path: Path, tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with Collection(collection_path) as collection:
        export(collection, tmp_path / "link.jsonl")
        reader = threading.Thread(target=lambda: received.append(pipe.read_text("utf-8")))
        received: list[str] = []
        reader.start()
        export(collection, pipe, "jsonl")
        reader.join()
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").read_text("utf-8") == received[0]
    assert pipe.is_fifo()


def test_export_elsewhere(collection_path: Path, tmp_path: Path) -> None:
    with Collection(collection_path) as collection:
        with pytest.raises(UnknownNameError, match=r"unknown export format '.doc'; known: jsonl, pae, parquet"):
            export(collection, tmp_path / "out.doc")
        with pytest.raises(Exception, match=r"cannot be written"):
            export(collection, tmp_path / "no" / "such" / "folder.jsonl")
    assert list(tmp_path.glob("*.part")) == []

"""Sources in parts: read one by one, they give what the whole gives."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from roslin import notation
from roslin.api import Collection
from roslin.collection import write
from roslin.collection.files import DATABASE
from roslin.collection.sources import Reading, read
from roslin.errors import CollectionError, SmallerError, SourceError
from roslin.melody import Melody
from roslin.notation import Part, parts, read_part, records
from roslin.starter import tunes_path


def test_lines_are_cut_and_keep_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notation, "LINES_AT_ONCE", 10)
    lines = tunes_path().read_text("utf-8").splitlines()[:34]
    lines[25] = "{broken"
    for name in ("tunes.jsonl", "tunes.jsonl.gz"):
        path, content = tmp_path / name, "\n".join(lines).encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        cut = list(parts(path))
        assert [part.before for part in cut] == [0, 10, 20, 30]
        found = [record for part in cut for record in read_part(part)]
        assert found == list(records(path))
        assert found[25].problems[0].line == 26
        assert found[25].problems[0].file == str(path)


def test_other_files_are_one_part(tmp_path: Path) -> None:
    for name, content in (("a.abc", b"X:1\nK:C\nCDEF|"), ("b.bin", b"\x00\x01"), ("empty.jsonl", b"")):
        (tmp_path / name).write_bytes(content)
        assert list(parts(tmp_path / name)) == [Part(tmp_path / name)]


def test_elsewhere_as_here(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text('{"pae": "4CDE", "id": "a"}\n{\n')
    sources = [tunes_path(), tmp_path, tmp_path / "missing.krn"]
    assert list(read(sources, Reading(), map)) == list(read(sources, Reading()))


def test_a_file_that_a_process_does_not_see(tmp_path: Path) -> None:
    path = tmp_path / "gone.abc"
    path.write_text("X:1\nK:C\nCDEF|")

    def late(reading: Reading, pieces: object) -> object:
        found = list(pieces)  # type: ignore[call-overload]
        path.unlink()
        return map(reading, found)

    with pytest.raises(CollectionError, match=r"gone\.abc: not every process that reads sees this file; all must"):
        list(read(path, Reading(), late))  # type: ignore[arg-type]


def test_half_a_character_refuses_one_melody(tmp_path: Path) -> None:
    lines = [
        '{"id": "a", "pae": "4CDE"}',
        '{"id": "b", "pae": "4CDE", "title": "\\ud83c"}',
        '{"id": "c", "pae": "4CDE"}',
    ]
    (tmp_path / "tunes.jsonl").write_text("\n".join(lines), "ascii")
    given = Melody.from_notes([0], [1], [60], id="d", title="\ud83c")
    collection = Collection.build([tmp_path / "tunes.jsonl", given], tmp_path / "c.roslin")
    assert [melody.id for melody in collection] == ["a", "c"]
    refused = [each for each in read([tmp_path / "tunes.jsonl", given], Reading()) if each.rows is None]
    assert [str(each.problems[0]).partition(": ")[2] for each in refused] == [
        "half a character; expected text; found \\ud83c"
    ] * 2
    assert [each.problems[0].line for each in refused] == [2, 0]
    assert refused[1].problems[0].record == "d"


# -- sources that are damaged, not recognised or empty ----------------------------------------------------------------

_RECORD = """<record><controlfield tag="001">{0}</controlfield><datafield tag="031">
<subfield code="a">1.{0}.1</subfield><subfield code="p">'4CDE{1}</subfield></datafield></record>"""
EXPORT = f"<collection>{''.join(_RECORD.format(number, 'CDEFGAB'[number % 7]) for number in range(20))}</collection>"
JSONL = b'{"id": "a", "pae": "\'4CDE"}\n{"id": "b", "pae": "\'4CDE'
BAD = {
    "page.xml": (b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", "damaged"),
    "page.html": (b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", "damaged"),
    "answer.xml": (b'<OAI-PMH><error code="badResumptionToken"/></OAI-PMH>', "damaged"),
    "cut.xml": (EXPORT[:-1000].encode(), "damaged"),
    "cut.xml.gz": (gzip.compress(EXPORT.encode())[:-100], "damaged"),
    "cut.jsonl": (JSONL, "damaged"),
    "dump.mrc": (b"00714cam a2200205", "damaged"),
    "nothing.xml": (b"", "empty"),
    "none.xml": (b"<collection/>", "empty"),
    "none.xml.gz": (gzip.compress(b""), "empty"),
}


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """A collection that is in use, of an export with twenty melodies."""
    (tmp_path / "export.xml").write_text(EXPORT)
    report = write.build(tmp_path / "export.xml", tmp_path / "live.roslin")
    assert (report.taken, report.refused) == (20, 0)
    Collection(tmp_path / "live.roslin").close()  # once it was opened, it has all its files
    return tmp_path / "live.roslin"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_source_leaves_the_collection_as_it_was(live: Path, tmp_path: Path, name: str) -> None:
    content, word = BAD[name]
    bad = tmp_path / "bad" / name
    bad.parent.mkdir()
    bad.write_bytes(content)
    before = {path.name: path.read_bytes() for path in live.iterdir()}
    for work in (write.build, write.add):
        for spread in (None, map):
            with pytest.raises(SourceError, match=rf"{word}.*live.roslin was not written, --allow-damaged"):
                work([tmp_path / "export.xml", bad], live, spread=spread)
    assert {path.name: path.read_bytes() for path in live.iterdir()} == before
    report = write.build([tmp_path / "export.xml", bad], live, allow_damaged=True)
    assert 20 <= report.taken <= 21
    assert report.refused >= 1
    with pytest.raises(SourceError, match=word), Collection(live) as collection:
        collection.add(bad)
    with Collection.build(bad, tmp_path / "new.roslin", allow_damaged=True) as collection:
        assert len(collection) < 20


def test_several_bad_sources_are_all_named(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"{number}.mrc").write_bytes(BAD["dump.mrc"][0])
    with pytest.raises(
        SourceError, match=r"0\.mrc:1: broken ISO 2709; .*4\.mrc:1: broken ISO 2709; .*, \.\.\.; .*x\.roslin was not"
    ):
        write.build(sorted(tmp_path.glob("*.mrc")), tmp_path / "x.roslin")


@pytest.mark.parametrize("name", ["cut.xml", "cut.xml.gz", "cut.jsonl", "page.xml", "dump.mrc", "nothing.xml"])
def test_a_bad_file_in_a_folder_or_an_archive_is_not_passed_over(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "export.xml").write_text(EXPORT)
    (folder / name).write_bytes(BAD[name][0])
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    for source in (folder, tmp_path / "in.zip"):
        with pytest.raises(SourceError, match=name.replace(".", r"\.")):
            write.build(source, tmp_path / "x.roslin")


def test_refused_records_and_files_that_promise_no_music_are_no_damage(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "export.xml").write_text(EXPORT.replace("'4CDEC<", "--/<"))
    (folder / "LICENSE").write_bytes(b"\0")
    (folder / "cover.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (folder / "words.pae").write_text("Sol majeur")
    (folder / "none.xml").write_text('<OAI-PMH><error code="noRecordsMatch"/></OAI-PMH>')
    report = write.build(folder, tmp_path / "x.roslin")
    assert (report.taken, report.refused) == (17, 6)


def test_a_file_whose_only_record_is_refused_is_no_damage_beside_others(tmp_path: Path) -> None:
    for name, content in (("words.pae", b"Sol majeur"), ("more.pae", b"La mineur"), ("good.pae", b"'4CDE")):
        (tmp_path / name).write_bytes(content)
    good, *words = sorted(tmp_path.glob("*.pae"))
    report = write.build([*words, good], tmp_path / "x.roslin")
    assert (report.taken, report.refused) == (1, 2)
    with pytest.raises(SourceError, match=r"more\.pae: empty source; expected at least one melody; found none"):
        write.build(words, tmp_path / "y.roslin")


def test_a_folder_without_music_is_empty(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(SourceError, match=r"in: empty source; expected at least one melody"):
        write.build([Melody.from_notes([0], [1], [60]), tmp_path / "in"], tmp_path / "x.roslin")


def test_a_rebuild_that_loses_more_than_a_tenth_has_to_be_asked_for(live: Path, tmp_path: Path) -> None:
    with Collection(live) as collection:
        melodies = list(collection)
    with pytest.raises(SmallerError, match=r"has 20 melodies, the new one would have 17; nothing .* --allow-smaller"):
        Collection.build(melodies[:17], live)
    with pytest.raises(SmallerError, match="would have 0"):
        Collection.build([], live)
    with Collection(live) as collection:
        assert len(collection) == 20
    assert len(Collection.build(melodies[:18], live)) == 18
    assert len(Collection.build(melodies[:2], live, allow_smaller=True)) == 2
    (live / DATABASE).write_bytes(b"broken")  # how many it had is not known
    assert len(Collection.build(melodies[:1], live)) == 1


def test_a_first_build_that_is_refused_leaves_no_database(tmp_path: Path) -> None:
    (tmp_path / "err.xml").write_text("<html/>")
    with pytest.raises(SourceError, match="damaged source"):
        write.build(tmp_path / "err.xml", tmp_path / "x.roslin")
    assert [path.name for path in (tmp_path / "x.roslin").iterdir()] == ["writer.lock"]
    seen = []

    def check(_count: int, what: str) -> None:
        if what == "the index of intervals":  # all is prepared, nothing is published
            seen.append((tmp_path / "x.roslin" / DATABASE).exists())

    write.build(Melody.from_notes([0], [1], [60]), tmp_path / "x.roslin", progress=check)
    assert seen == [False]

"""The public reader: which notation a source is in, and every representation of Plaine & Easie."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.notation.samples import musicxml_scale

import roslin
from roslin import Collection, rows
from roslin.errors import FormatError, NotationError, UnknownNameError
from roslin.melody import TICKS_PER_QUARTER, Melody, SignatureChange
from roslin.notation import FORMATS, Format, Record, abc, jsonl, load, pae, records, register_format
from roslin.run import read_run

MUSIC = "=3/2--''A/2.F4G2A/AGG/1A/"
REPRESENTATIONS = {
    "one line": f"%G-2@3/2$bB {MUSIC}",
    "MARC 21": f"031 ## $a 1 $b 1 $c 1 $g G-2 $n bB $o 3/2 $p {MUSIC} $2 pe",
    "MARC 21, compact": f"$gG-2$nbB$o3/2$p{MUSIC}",
    "MARC 21, compact, with a system": f"$gG-2$nbB$o3/2$p{MUSIC}$2pe",
    "UNIMARC": f"036 ## $m G-2 $n bB $o 3/2 $p {MUSIC}",
    "fields": f"@clef:G-2\n@timesig:3/2\n@keysig:bB\n@data:{MUSIC}",
    "fields with other line ends": f"@clef:G-2\r\n@timesig:3/2\r\n@keysig:bB\r\n@data:{MUSIC}\r\n",
    "JSON": json.dumps({"clef": "G-2", "timesig": "3/2", "keysig": "bB", "data": MUSIC}),
    "JSON list": json.dumps([{"clef": "G-2", "timesig": "3/2", "keysig": "bB", "data": MUSIC}], indent=2),
}


@pytest.mark.parametrize("text", REPRESENTATIONS.values(), ids=REPRESENTATIONS.keys())
def test_representations_give_the_same_melody(text: str) -> None:
    (melody,) = load(text)
    assert (melody.clef, melody.key_signature, melody.metre) == ("G-2", "bB", "3/2")
    assert melody.notes["pitch_midi"].tolist() == [81, 77, 79, 81, 81, 79, 79, 81]
    assert melody.notes["onset_ticks"][0] == 22 * TICKS_PER_QUARTER
    assert melody.music is not None
    assert melody.music.strip() == MUSIC
    assert [melody.music[column - 1] for column in melody.notes["source_column"].tolist()] == list("AFGAAGGA")


def test_bare_music_and_a_beam_that_looks_like_json() -> None:
    assert len(load("'4CDE")[0]) == 3
    assert len(load("{'8AB}")[0]) == 2


def test_several_incipits_in_one_text() -> None:
    text = "@start:1\n@clef:G-2\n@data:'4C\n@end:1\n\n@start:2\n@clef:F-4\n@data:,4CD\n@end:2"
    assert [(melody.id, len(melody)) for melody in load(text)] == [("1", 1), ("2", 2)]
    assert [len(melody) for melody in load("'4C\n'4CD\n")] == [1, 2]
    assert [len(m) for m in load("@clef:G-2\n@data:'4C\n@clef:G-2\n@data:'4CD")] == [1, 2]


def test_one_bad_incipit_does_not_hide_the_next() -> None:
    blocks = (
        "@start:a\n@data:'4C\n@end:a\n@start:b\nnonsense\n@data:'4C\n@end:b\n"
        "@start:c\n@clef:G-2\n@end:c\n@start:d\n@data:'4D"
    )
    found = list(records(blocks, strict=True))
    assert [record.melody is not None for record in found] == [True, False, False, True]
    assert str(found[1].problems[0]).startswith("5, b, column 1: not a field; expected @name:value on every line")
    assert found[2].problems[0].record == "c"
    assert [len(record.melody or ()) for record in records(blocks, strict=False)] == [1, 1, 0, 1]
    objects = '[{"id": "a", "data": "\'4C"}, {"id": "b", "x": 1}, 7, {"id": "d", "data": "\'4D"}]'
    assert [record.melody is not None for record in records(objects)] == [True, False, False, True]
    assert [record.problems[0].record for record in records(objects) if record.problems] == ["b", "item 3"]


def test_metres_that_alternate_as_version_1_writes_them() -> None:
    (melody,) = load("%G-2@3/4 4/4 '4CDE")
    assert (melody.metre, len(melody), melody.barlines_ticks.tolist()) == ("3/4|4/4", 3, [])


def test_version_2_can_be_named() -> None:
    assert len(load('{"clef": "G-2", "data": "G_G", "version": "pe2"}')[0]) == 2
    assert len(load("@clef:G-2\n@data:2^CE>\n@version:pe2")[0]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@clef:G-2\nnonsense\n@data:'4C",
            "2, column 1: not a field; expected @name:value on every line; found 'nonsense'",
        ),
        ("@clef:G-2\n@keysig:bB", "incipit without music"),
        ('{"clef": "G-2", "data": 5}', 'incipit without music; expected a field "data" or "pae"'),
        ('{"clef": "G-2", "data": ', "broken JSON"),
        (
            '[{"clef": "G-2", "data": "\'4C"}, 7]',
            "item 2, column 1: broken JSON; expected an object for each incipit; found int",
        ),
        ("'4CDZE", "column 5: unreadable sign"),
        ("%G-2 '4CDZE", "column 10: unreadable sign"),
        ("'4C\n'4CZ", "2, column 4: unreadable sign"),
        ("", "no notes"),
        ("   ", "no notes"),
    ],
)
def test_what_cannot_be_loaded(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        load(text, strict=True)


def test_strict_and_not() -> None:
    with pytest.raises(NotationError, match=r"double quote"):
        load('"4C', strict=True)
    (melody,) = load('"4C')
    assert melody.notes["pitch_midi"].tolist() == [72]
    assert melody.deviations == ["read '\"' as two octave marks at column 1"]
    assert melody == melody.with_metadata(problems=())
    assert load("''4C")[0].problems == ()


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_are_told_by_content_and_by_suffix(tmp_path: Path) -> None:
    paths = {
        "a.pae": REPRESENTATIONS["fields"].encode(),
        "b.txt": b"'4CDE",
        "c": REPRESENTATIONS["JSON"].encode(),
        "d.data": b'{"id": "x", "pae": "\'4CD"}\n',
        "e.pae.gz": gzip.compress(b"'4CDEF"),
        "f.pae": "\ufeff'4CD".encode(),
        "g.pae": "'4CD [\xe0 deux]".encode("latin-1"),
    }
    for name, content in paths.items():
        (tmp_path / name).write_bytes(content)
    sizes = {name: [len(melody) for melody in load(tmp_path / name, strict=False)] for name in paths}
    assert sizes == {"a.pae": [8], "b.txt": [3], "c": [8], "d.data": [2], "e.pae.gz": [4], "f.pae": [2], "g.pae": [2]}
    assert load(str(tmp_path / "b.txt")) == load(tmp_path / "b.txt")


def test_zip_archives(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("one.pae", "'4C")
        archive.writestr("folder/", "")
        archive.writestr("folder/two.pae", "'4CZ")
    (tmp_path / "all.zip").write_bytes(buffer.getvalue())
    found = list(records(tmp_path / "all.zip"))
    assert [record.melody is not None for record in found] == [True, False]
    assert found[1].problems[0].file.endswith("all.zip!folder/two.pae")


@pytest.mark.long
def test_a_bad_file_in_an_archive_does_not_hide_the_next(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("picture.png", b"\x89PNG\r\n\x1a\n")
        archive.writestr("damaged.pae", "'4C" * 200)
        archive.writestr("bomb.pae", "'4C" + " " * 60_000_000)
        archive.writestr("packed.pae.gz", gzip.compress(b"'4CDE"))
        archive.writestr("inner.zip", (tmp_path / "all.zip").read_bytes()[:4] + bytes(30))
        archive.writestr("twice.abc.gz", gzip.compress(gzip.compress(b"X:1\nK:C\nC")))
        archive.writestr("last.pae", "'4CD")
        damaged = archive.getinfo("damaged.pae").header_offset
    data = bytearray((tmp_path / "all.zip").read_bytes())
    data[damaged + 44] ^= 0xFF  # inside what is packed, after the header of 30 bytes and the name
    (tmp_path / "all.zip").write_bytes(data)
    found = list(records(tmp_path / "all.zip", strict=False))
    told = [str(record.problems[0]).rpartition("!")[2] if record.problems else record.melody for record in found]
    assert str(told[0]).startswith("picture.png: unknown notation; expected one of midi")
    assert str(told[1]).startswith("damaged.pae: cannot be read to its end: ")
    assert str(told[2]).startswith("bomb.pae: would unpack to 60000003 bytes")
    assert found[3].melody_or_raise().notes["pitch_midi"].tolist() == [60, 62, 64]
    assert told[4] == "inner.zip: an archive inside an archive; expected notation"
    assert told[5] == "twice.abc.gz: an archive inside an archive; expected notation"
    assert len(found[6].melody or ()) == 2
    assert len(found) == 7


PACKINGS = {"deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}


@pytest.mark.long
@pytest.mark.parametrize("packing", PACKINGS.values(), ids=PACKINGS.keys())
@pytest.mark.parametrize("kind", ["zip", "mxl"])
def test_a_damaged_archive_is_refused_whatever_packs_it(tmp_path: Path, packing: int, kind: str) -> None:
    """One byte after the other is changed: what can be read is read, and the rest is told, but nothing is raised."""
    if kind == "zip":
        whole = packed({"a.pae": b"'4CDEF" * 50, "b.pae": b"'4GABC"}, packing)
    else:
        names = {"META-INF/container.xml": b'<container><rootfile full-path="score.xml"/></container>'}
        whole = packed({**names, "score.xml": musicxml_scale(12)}, packing)
    refused = set()
    for place in range(0, len(whole), 1 if kind == "zip" else 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        path = tmp_path / f"{place}.{kind}"
        path.write_bytes(damaged)
        with suppress(FormatError):  # no part of the archive can be read
            refused |= {record.problems[0].reason for record in records(path) if record.melody is None}
    assert any(reason.startswith(("cannot be read to its end", "broken archive")) for reason in refused)


def test_a_damaged_lzma_member_is_a_refusal_and_the_next_is_read(tmp_path: Path) -> None:
    whole = bytearray(packed({"a.pae": b"'4CDEF" * 50, "b.pae": b"'4GABC"}, zipfile.ZIP_LZMA))
    whole[30 + len("a.pae") + 4] ^= 0xFF  # the properties of the compression
    (tmp_path / "all.zip").write_bytes(whole)
    first, second = records(tmp_path / "all.zip")
    assert str(first.problems[0]).startswith(f"{tmp_path}/all.zip!a.pae: cannot be read to its end: ")
    assert second.melody is not None
    score = bytearray(packed({"META-INF/container.xml": b"<container/>", "s.xml": musicxml_scale(8)}, zipfile.ZIP_LZMA))
    score[30 + len("META-INF/container.xml") + 4] ^= 0xFF
    (tmp_path / "score.mxl").write_bytes(score)
    (record,) = records(tmp_path / "score.mxl")
    assert record.problems[0].reason == "broken archive"


def packed(members: dict[str, bytes], packing: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.fixture
def failing(registries: None) -> Format:
    """A format whose reader fails at its second melody."""

    def read(stream: io.BufferedReader, *, strict: bool) -> Iterator[Record]:
        yield Record(Melody.from_notes([0], [1], [60]))
        raise KeyError("second")

    format = Format("failing", "fails", (".fail",), lambda head: head.startswith(b"FAIL"), read)
    return register_format(format)


def test_a_reader_that_fails_refuses_its_file_and_no_other(failing: Format, tmp_path: Path) -> None:
    for name, data in (("a.fail", b"FAIL"), ("b.pae", b"'4CDE")):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "c.zip").write_bytes(packed({"a.fail": b"FAIL", "b.pae": b"'4EDC"}, zipfile.ZIP_STORED))
    with pytest.raises(NotationError, match=r"a\.fail: the reader failed; found KeyError in test_load\.py, line \d+"):
        load(tmp_path / "a.fail")
    found = list(records(tmp_path / "c.zip"))
    assert [len(record.melody or ()) for record in found] == [1, 0, 3]
    assert str(found[1].problems[0]).startswith(f"{tmp_path}/c.zip!a.fail: the reader failed; found KeyError in ")
    with Collection.build(tmp_path, tmp_path / "all.roslin") as collection:
        assert collection.report is not None
        assert (collection.report.taken, collection.report.refused) == (4, 2)
        assert "the reader failed" in collection.report.refusals


def test_a_reader_that_fails_at_one_melody_reads_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "pae": "'4CD\n'4BB\n'4EF\n",
        "jsonl": '{"pae": "4CD"}\n{"pae": "4BB"}\n{"pae": "4EF"}\n',
        "abc": "X:1\nK:C\nCD|\n\nX:2\nK:C\nBB|\n\nX:3\nK:C\nEF|\n",
    }
    for format, text in texts.items():
        expected = [record.melody for record in records(text.encode(), format)]
        with monkeypatch.context() as patched:
            for module, function in ((pae, "MusicReader"), (abc, "note_table_of")):
                own = getattr(module, function)

                def reading(*given: Any, own: Any = own, **named: Any) -> Any:
                    if "B" in str(given[0]) or (isinstance(given[0], list) and given[0][0][0].pitch_midi == 71):
                        raise KeyError("odd")
                    return own(*given, **named)

                patched.setattr(module, function, reading)
            first, second, third = records(text.encode(), format)
        assert [first.melody, third.melody] == [expected[0], expected[2]]
        assert second.melody is None
        assert second.problems[0].reason == "the reader failed"
        assert second.problems[0].line > 1
        assert second.problems[0].found.startswith("KeyError in test_load.py, line ")


def test_bytes_and_a_named_format() -> None:
    assert len(load(b"'4CDE")[0]) == 3
    assert len(load(b'{"pae": "\'4CD"}', "jsonl")[0]) == 2
    with pytest.raises(FormatError, match=r"input: packed bytes; expected notation"):
        load(gzip.compress(b"'4C"))
    with pytest.raises(
        UnknownNameError, match=r"unknown format 'mp3'; known: abc, cantus, gabc, jsonl, kern, marcxml, mei, midi"
    ):
        load("'4C", "mp3")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nothing.pae: no such file; expected a file"):
        load("nothing.pae")
    with pytest.raises(FormatError, match=r"a folder; expected a file"):
        load(tmp_path)
    with pytest.raises(FormatError, match=r"a folder; expected a file"):
        load(str(tmp_path))
    with pytest.raises(FormatError, match=r"tune\.mid: no such file"):
        load("my tune.mid")
    (tmp_path / "x.bin").write_bytes(b"\0\1\2\3")
    with pytest.raises(FormatError, match=r"x.bin: unknown notation; expected one of midi, marcxml, jsonl"):
        load(tmp_path / "x.bin")
    (tmp_path / "cut.pae.gz").write_bytes(gzip.compress(b"'4CDE" * 100)[:-12])
    with pytest.raises(FormatError, match=r"cannot be read to its end"):
        load(tmp_path / "cut.pae.gz")
    (tmp_path / "bad.zip").write_bytes(b"PK\3\4nonsense")
    with pytest.raises(FormatError, match=r"bad.zip"):
        load(tmp_path / "bad.zip")


def test_a_text_that_is_too_large_is_refused_before_it_fills_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roslin.notation.sources.MAX_TEXT_BYTES", 1000)
    (tmp_path / "large.pae").write_text("'4C" * 1000)
    with pytest.raises(FormatError, match=r"large\.pae: file too large: more than 1000 bytes"):
        load(tmp_path / "large.pae")


@pytest.mark.long
def test_archives_that_would_burst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.pae", "'4C" + " " * 60_000_000)
    with pytest.raises(
        NotationError, match=r"a\.pae: would unpack to 60000003 bytes, more than 200 times its packed size"
    ):
        load(tmp_path / "bomb.zip")
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.pae", "'4C")
    monkeypatch.setattr("roslin.notation.sources.MAX_ARCHIVE_FILES", 4)
    with pytest.raises(FormatError, match="5 files in one archive; expected at most 4"):
        load(tmp_path / "many.zip")


# -- JSON Lines -------------------------------------------------------------------------------------------------------


def read_jsonl(text: str) -> list[str]:
    found = jsonl.read_jsonl(io.BytesIO(text.encode()), strict=True)
    return [str(record.problems[0]) if record.melody is None else repr(record.melody) for record in found]


def test_a_bad_line_does_not_stop_the_next() -> None:
    good = '{"id": "a", "pae": "\'4CD"}'
    assert read_jsonl(f'{good}\n\nnot json\n[1]\n{{"id": "b"}}\n{good}\n') == [
        "Melody('a', 2 notes)",
        "3, column 1: broken JSON; expected a JSON object; found Expecting value",
        "4, column 1: broken JSON; expected an object on every line; found list",
        '5, b, column 1: incipit without music; expected a field "data" or "pae"; found none',
        "Melody('a', 2 notes)",
    ]


def test_metadata_and_other_fields() -> None:
    (melody,) = load('{"id": "a", "title": "T", "composer": null, "role": "Amor", "pae": "\'4C", "timesig": "3/4"}')
    assert (melody.id, melody.title, melody.composer, melody.metre) == ("a", "T", None, "3/4")
    assert dict(melody.extra) == {"role": "Amor"}


def test_notes_as_rows() -> None:
    melody = Melody.from_notes([0, 0.5], [1, 1], [60, 64], voices=[0, 1], id="v", barlines=[1], metre="2/4", clef="G-2")
    melody = melody.with_metadata(changes=(SignatureChange(40320, metre="3/4"),), music="X:1", notation="abc")
    (again,) = load(jsonl.write_jsonl(melody))
    assert again == melody


@pytest.mark.parametrize("notes", ["[[1]]", "5", '[["a", 1, 60, 162, 0, 0]]', "[[0, 1, 999, 162, 0, 0]]", "[null]"])
def test_rows_that_make_no_melody(notes: str) -> None:
    (answer,) = read_jsonl(f'{{"id": "x", "notes": {notes}}}')
    assert answer.startswith("1, x: unreadable notes; expected rows of onset_ticks, duration_ticks")


def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 100)
    first, second = read_jsonl('{"pae": "' + "C" * 500 + '"}\n{"pae": "\'4C"}')
    assert first == "1, column 100: line too long; expected at most 100 bytes; found more"
    assert second == "Melody(None, 1 note)"


def test_every_format_has_a_description_and_a_suffix() -> None:
    for name, known in FORMATS.items():
        assert known.name == name
        assert known.description
        assert all(suffix.startswith(".") for suffix in known.suffixes)


def test_the_public_names() -> None:
    assert roslin.load is load
    assert roslin.records is records


def test_a_packed_file_may_not_unpack_to_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LARGE_BYTES", 10_000)
    (tmp_path / "bomb.xml.gz").write_bytes(gzip.compress(b"<collection>" + b" " * 1_000_000))
    with pytest.raises(FormatError, match=r"bomb\.xml\.gz: unpacks to more than \d+ bytes, 200 times its packed size"):
        load(tmp_path / "bomb.xml.gz")
    for suffix, compress in (("gz", gzip.compress), ("zst", zstandard.compress)):
        path = tmp_path / f"bomb.run.{suffix}"
        path.write_bytes(compress(b"\n" * 1_000_000))
        with pytest.raises(FormatError, match=rf"bomb\.run\.{suffix}: unpacks to too much; expected at most \d+ bytes"):
            read_run(path)

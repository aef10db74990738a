"""Sources in parts: read one by one, they give what the whole gives."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from roslin.api import Collection
from roslin.collection.sources import Reading, read
from roslin.errors import CollectionError
from roslin.melody import Melody
from roslin.notation import parts, records
from roslin.notation.parts import Part, read_part
from roslin.starter import tunes_path


def test_lines_are_cut_and_keep_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_LINES", 10)
    lines = tunes_path().read_text("utf-8").splitlines()[:34]
    lines[25] = "{broken"
    for name in ("tunes.jsonl", "tunes.jsonl.gz"):
        path, content = tmp_path / name, "\n".join(lines).encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        cut = list(parts.parts(path))
        assert [part.before for part in cut] == [0, 10, 20, 30]
        found = [record for part in cut for record in read_part(part)]
        assert found == list(records(path))
        assert found[25].problems[0].line == 26
        assert found[25].problems[0].file == str(path)


def test_other_files_are_one_part(tmp_path: Path) -> None:
    for name, content in (("a.abc", b"X:1\nK:C\nCDEF|"), ("b.bin", b"\x00\x01"), ("empty.jsonl", b"")):
        (tmp_path / name).write_bytes(content)
        assert list(parts.parts(tmp_path / name)) == [Part(tmp_path / name)]


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

"""A folder as people have them: every notation, packed and unpacked, under wrong names, and some of it broken."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.notation import samples
from tests.notation.samples import SAMPLES

from roslin import Collection

SUFFIXES = {
    "midi": ".mid",
    "marcxml": ".xml",
    "jsonl": ".jsonl",
    "musicxml": ".musicxml",
    "mei": ".mei",
    "kern": ".krn",
    "abc": ".abc",
    "pae": ".pae",
}
GOOD_FILES = 200


def archive(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return packed.getvalue()


def good_files() -> Iterator[tuple[str, bytes]]:
    """200 files, every one with one melody of its own length."""
    for number in range(GOOD_FILES):
        name = list(SUFFIXES)[number % len(SUFFIXES)]
        data = SAMPLES[name].scale(number + 5).replace(b"X:1\n", b"X:%d\n" % number).replace(b">7<", b">%d<" % number)
        data = data.replace(b'"scale"', b'"scale %d"' % number)
        match number // len(SUFFIXES) % 6:
            case 0:
                yield f"{number}{SUFFIXES[name]}", data
            case 1:
                yield f"packed/{number}{SUFFIXES[name]}.gz", gzip.compress(data)
            case 2:
                yield f"packed/{number}.zip", archive((f"in/{number}{SUFFIXES[name]}", data))
            case 3:
                yield f"wrong/{number}{SUFFIXES['abc' if name != 'abc' else 'midi']}", data
            case 4:
                yield f"wrong/{number}", data
            case _ if name == "musicxml":
                yield f"{number}.mxl", samples.mxl(data)
            case _ if name == "mei":
                yield f"{number}.zip", archive(("score.mxl", samples.mxl(samples.musicxml_scale(number + 5))))
            case _:
                yield f"deep/er/{number}{SUFFIXES[name].upper()}", data


BROKEN_FILES = {
    "empty.abc": b"",
    "empty.mid": b"",
    "empty.mxl": b"",
    "empty.xml.gz": gzip.compress(b""),
    "rests.krn": SAMPLES["kern"].rests,
    "cut.mid": samples.midi_scale(20)[:20],
    "cut.mxl": samples.mxl(samples.musicxml_scale(20))[:200],
    "cut.abc.gz": gzip.compress(samples.abc_scale(500))[:40],
    "cut.zip": archive(("a.abc", samples.abc_scale(20)))[:60],
    "cut.mei": samples.mei_scale(20)[:600],
    "cut.musicxml": samples.musicxml_scale(20)[:600],
    "entities.musicxml": samples.entity_bomb("score-partwise"),
    "entities.mei": samples.entity_bomb("mei"),
    "entities.xml": samples.entity_bomb("collection"),
    "bomb.zip": archive(("a.abc", b"X:1\nK:C\n" + b" " * 60_000_000)),
    "bomb.mxl": samples.mxl(b"<score-partwise>" + b" " * 70_000_000),
    "bomb.abc.gz": gzip.compress(b"X:1\nK:C\n" + b" " * 70_000_000),
    "latin.mei": samples.mei(["<note label='\xe9'/>"]).replace("\xe9".encode(), b"\xe9"),
    "picture.abc": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
    "words.pae": b"Sol majeur, \xe0 deux",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed") / "music"
    for name, data in (*good_files(), *((f"broken/{name}", data) for name, data in BROKEN_FILES.items())):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("strict", [False, True])
def test_one_command_takes_what_is_good_and_names_what_is_not(folder: Path, tmp_path: Path, strict: bool) -> None:
    target = tmp_path / "out.roslin"
    command = [sys.executable, "-m", "roslin", "collection", "build", str(folder), str(target), "--allow-damaged"]
    done = subprocess.run(command + ["--strict"] * strict, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    with (target / "rejects.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    files = [row["file"].removeprefix(f"{folder}/broken/").partition("!")[0] for row in rows]
    assert sorted(files) == sorted(BROKEN_FILES)
    assert all(row["reason"] for row in rows)
    said = f"{GOOD_FILES} melodies taken; {len(BROKEN_FILES)} refused; see {target / 'rejects.tsv'}"
    assert done.stdout.splitlines()[-1] == said
    with Collection(target) as collection:
        assert sorted(len(melody) for melody in collection) == [number + 5 for number in range(GOOD_FILES)]

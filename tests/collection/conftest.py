from __future__ import annotations

from pathlib import Path

import pytest

from roslin.collection import write
from roslin.collection.arrays import read_checksums, write_checksums
from roslin.collection.files import checksum_of
from roslin.melody import Melody
from roslin.notation import pae


def three_melodies() -> list[Melody]:
    return [
        pae.read("%G-2@3/4$bB '4CDE/2.B//").with_metadata(id="a", title="First", composer="Nobody", extra={"x": "y"}),
        Melody.from_notes([0, 0, 1], [1, 1, 2], [60, 64, 62], id="b", voices=[0, 0, 1], barlines=[1, 3]),
        pae.read("%C-1 '8CC{DE}@2/4 gF4G").with_metadata(id="c", key="D minor", text="Kyrie", source="book"),
    ]


def sealed_anew(folder: Path) -> None:
    """Record the files as they are now: what somebody made so on purpose has checksums that fit."""
    (path,) = folder.glob("checksums-*.txt")
    token = path.stem.partition("-")[2]
    write_checksums(folder, token, {name: checksum_of(folder / name) for name in read_checksums(folder, token)})


@pytest.fixture
def collection_path(tmp_path: Path) -> Path:
    path = tmp_path / "three.roslin"
    write.build(three_melodies(), path)
    return path

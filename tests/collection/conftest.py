from __future__ import annotations

from pathlib import Path

import pytest

from roslin.collection import write
from roslin.melody import Melody
from roslin.notation import pae


def three_melodies() -> list[Melody]:
    return [
        pae.read("%G-2@3/4$bB '4CDE/2.B//").with_metadata(id="a", title="First", composer="Nobody", extra={"x": "y"}),
        Melody.from_notes([0, 0, 1], [1, 1, 2], [60, 64, 62], id="b", voices=[0, 0, 1], barlines=[1, 3]),
        pae.read("%C-1 '8CC{DE}@2/4 gF4G").with_metadata(id="c", key="D minor", text="Kyrie", source="book"),
    ]


@pytest.fixture
def collection_path(tmp_path: Path) -> Path:
    path = tmp_path / "three.roslin"
    write.build(three_melodies(), path)
    return path

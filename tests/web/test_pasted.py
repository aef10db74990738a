"""Real incipits, pasted as they stand into the command line and into the page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from paste_incipits import LEAST_SEARCHED, Pasted, paste, texts

COUNT = 400


@pytest.fixture(scope="module")
def pasted(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Pasted]:
    sample = texts(data_folder / "rism" / "incipits.jsonl.gz", COUNT)
    return list(paste(sample, tmp_path_factory.mktemp("pasted")))


def test_nearly_all_are_searched(pasted: list[Pasted]) -> None:
    refused = [(each.text, each.refusal) for each in pasted if not (each.in_terminal and each.on_page)]
    assert len(refused) <= (1 - LEAST_SEARCHED) * COUNT, refused


def test_what_is_read_otherwise_is_shown(pasted: list[Pasted]) -> None:
    assert [(each.text, each.unsaid) for each in pasted if each.unsaid] == []


def test_the_sample_has_what_catalogues_have(pasted: list[Pasted]) -> None:
    kinds = {kind for each in pasted for kind in each.kinds}
    assert {
        "octave marks written with a double quote",
        "bars of rest written with -",
        "sharp written otherwise than x",
        "slur written y...z",
        "unreadable clef",
    } <= kinds
    assert 0.25 < sum(bool(each.kinds) for each in pasted) / COUNT < 0.5

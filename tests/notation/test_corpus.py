"""Every input that ever broke something comes to what it should; tests/corpus/README.md says how to add one.

python tests/notation/test_corpus.py     # prints the lines of expected.tsv, as things are
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from soak_inputs import BAD, FORMATS, SANDBOXED, tried

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
EXPECTED = CORPUS / "expected.tsv"


def inputs() -> list[str]:
    """The files of the corpus, by folder and name."""
    return sorted(str(path.relative_to(CORPUS)) for path in CORPUS.glob("*/*"))


def content(name: str) -> bytes:
    data = (CORPUS / name).read_bytes()
    if name.endswith(".rows.json"):
        return "".join(text * times for text, times in json.loads(data)).encode()
    return data


def outcome(name: str, folder: Path) -> tuple[str, str]:
    """What comes of an input, and where and why it is refused."""
    format = name.partition("/")[0]
    found, detail = tried(format, content(name), folder, sandboxed=format in SANDBOXED)
    return found, detail if found in BAD else detail.replace(f"{folder}/", "").partition(";")[0]


def expected() -> dict[str, tuple[str, str]]:
    lines = [line.split("\t") for line in EXPECTED.read_text("utf-8").splitlines()]
    return {name: (found, detail) for name, found, detail in lines}


def test_every_input_has_its_outcome() -> None:
    assert sorted(expected()) == inputs()
    assert {name.partition("/")[0] for name in inputs()} <= set(FORMATS)
    assert {found for found, _ in expected().values()} <= {"read", "refused"}


@pytest.mark.long
@pytest.mark.parametrize("name", inputs())
def test_it_comes_to_what_it_should(name: str, tmp_path: Path) -> None:
    assert outcome(name, tmp_path) == expected()[name]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for each in inputs():
            print(each, *outcome(each, Path(made)), sep="\t", flush=True)

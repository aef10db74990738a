"""Damaged JSON Lines and MARCXML, the two forms of whole collections: every line and record is read or refused."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import re
from pathlib import Path

import pytest
from tests.fuzzing import bounded, mutated

from roslin.notation import jsonl, marcxml
from roslin.notation.record import Record
from roslin.starter import tunes_path

MUTATED_FILES = 1_500
JSON_PIECES = [bytes([value]) for value in range(256)] + [
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b'"notes": [[', b'"pae": ', b"null", b"-1", b"1e999"),
    *(b"9" * 30, b"NaN", b"\\ud800", b"\xff\xfe"),
] * 8
XML_PIECES = [bytes([value]) for value in range(256)] + [
    *(b"<", b">", b"&", b"</", b"<!--", b"<![CDATA[", b"&#0;", b"&lt;", b"<!DOCTYPE x [", b"</record>", b"<record>"),
    *(b'<datafield tag="031">', b'<subfield code="p">', b"</subfield>", b"\xff\xfe", b"<?xml "),
] * 8


def lines() -> list[bytes]:
    """Real incipits, and music as rows of notes."""
    with tunes_path().open("rb") as file:
        tunes = list(itertools.islice(file, 60))
    rows = {"id": "r", "notes": [[0, 40320, 60, 162, 0, 0], [40320, 0, 62, 168, 1, 1]], "barlines": [40320]}
    rows["changes"] = [[40320, None, "xF", "3/4"]]
    return [*tunes, *[json.dumps(rows).encode() + b"\n"] * 30]


@pytest.fixture(scope="module")
def catalogue_records(data_folder: Path) -> list[bytes]:
    """Records of real catalogues that have incipits."""
    found = []
    for name in ("muscat_sample_0.xml.gz", "brno_2017.xml.gz"):
        with gzip.open(data_folder / "rism" / name) as file:
            text = file.read(3_000_000)
        whole = re.findall(rb"<(?:\w+:)?record[ >].*?</(?:\w+:)?record>", text, re.DOTALL)
        found += [record for record in whole if re.search(rb"tag=.031.", record)][:40]
    assert len(found) > 40
    return found


def check(records: list[Record]) -> int:
    """How many melodies there are; everything else is refused with its place."""
    for record in records:
        assert record.melody is not None or record.problems
        assert all(problem.reason and problem.line > 0 for problem in record.problems)
    return sum(record.melody is not None for record in records)


@pytest.mark.long
def test_mutated_lines() -> None:
    source = random.Random(8)
    seeds = lines()
    read = 0
    for number in range(MUTATED_FILES):
        data = mutated(source, b"".join(source.sample(seeds, 3)), JSON_PIECES)
        with bounded():
            read += check(list(jsonl.read_jsonl(io.BytesIO(data), strict=bool(number % 2))))
    assert read > MUTATED_FILES


@pytest.mark.long
def test_mutated_catalogues(catalogue_records: list[bytes]) -> None:
    source = random.Random(9)
    read = 0
    for number in range(MUTATED_FILES):
        whole = b"<collection>\n" + b"\n".join(source.sample(catalogue_records, 2)) + b"\n</collection>\n"
        data = mutated(source, whole, XML_PIECES)
        with bounded():
            read += check(list(marcxml.read(io.BytesIO(data), strict=bool(number % 2))))
    assert read > MUTATED_FILES // 2


@pytest.mark.parametrize(
    "line",
    [b"[" * 100_000, b'{"a":' * 100_000, b'{"notes": [' + b"[" * 100_000, b'{"pae": "' + b"C" * 3_000_000 + b'"}'],
    ids=lambda line: f"{line[:12]!r}...",
)
def test_towers_in_a_line(line: bytes) -> None:
    with bounded(512):
        check(list(jsonl.read_jsonl(io.BytesIO(line), strict=False)))

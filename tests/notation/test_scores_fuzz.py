"""Damaged scores of every kind: a melody or a located problem, no other exception, no hang, no flood of memory.

Each seed is mutated in its text, its zip archive in its bytes. What reaches verovio may crash it: that must cost one
refusal. Strict and lenient reading are asked in turn. For each file the reader has five seconds and verovio five, and
the reader may take no more than `MEMORY_BYTES` on top of what the process has; verovio's worker has its own limit.
"""

from __future__ import annotations

import io
import random
import resource
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.fuzzing import no_hang
from tests.notation.reading import read_score

from roslin import sandbox
from roslin.melody import Melody
from roslin.notation import kern, mei, musicxml, scores
from roslin.notation.scores import to_mei

MUTATED_FILES = 200
MEMORY_BYTES = 256 * 2**20

KERN = """!!!COM: Other, Ann
!!!OTL: A tune
**kern\t**kern\t**text
*I"Bass\t*I"Soprano\t*
*clefF4\t*clefG2\t*
*k[b-]\t*k[b-]\t*
*M3/4\t*M3/4\t*
4C\t[4a\tla-
=1\t=1\t=1
*\t*^\t*
2F 2A\t4a]\t2f\t.
.\t8qb-\t.\t.
.\t12b-L\t.\t-la
.\t12cc\t.\t.
.\t12ddJ\t.\t.
*\t*v\t*v\t*
4r\t4ee\t.
==\t==\t==
*-\t*-\t*-
"""

MUSICXML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE score-partwise PUBLIC "-//Recordare//DTD MusicXML 2.0 Partwise//EN" "http://www.musicxml.org/partwise.dtd">
<score-partwise><movement-title>A tune</movement-title>
<part-list><score-part id="P1"><part-name>Clarinet</part-name></score-part></part-list>
<part id="P1"><measure number="0"><attributes><divisions>6</divisions><key><fifths>2</fifths><mode>major</mode></key>
<time><beats>3</beats><beat-type>4</beat-type></time><clef><sign>G</sign><line>2</line></clef>
<transpose><diatonic>-1</diatonic><chromatic>-2</chromatic></transpose></attributes>
<note><pitch><step>D</step><octave>5</octave></pitch><duration>6</duration><tie type="start"/><voice>1</voice>
<type>quarter</type><notations><tied type="start"/></notations><lyric><text>la</text></lyric></note></measure>
<measure number="1"><attributes><divisions>12</divisions></attributes>
<note><pitch><step>D</step><octave>5</octave></pitch><duration>12</duration><tie type="stop"/><voice>1</voice>
<type>quarter</type><notations><tied type="stop"/></notations></note>
<note><grace/><pitch><step>C</step><alter>1</alter><octave>5</octave></pitch><voice>1</voice><type>eighth</type></note>
<note><pitch><step>F</step><alter>1</alter><octave>5</octave></pitch><duration>24</duration><voice>1</voice></note>
<note><chord/><pitch><step>A</step><octave>5</octave></pitch><duration>24</duration><voice>1</voice></note>
<backup><duration>36</duration></backup><forward><duration>12</duration></forward>
<note><pitch><step>A</step><octave>4</octave></pitch><duration>24</duration><voice>2</voice><type>half</type></note>
</measure><measure number="2"><note><rest measure="yes"/><duration>36</duration><voice>1</voice></note></measure>
</part></score-partwise>
"""

PIECES = {
    "kern": [
        "\t",
        "\n",
        "4c",
        "*^",
        "*v",
        "*x",
        "*+",
        "*-",
        ".",
        "=",
        "**kern",
        "[",
        "]",
        "_",
        "0",
        "%",
        "q",
        "999999999",
        "r",
    ],
    "musicxml": [
        "<",
        ">",
        "/",
        '"',
        "&",
        "<note>",
        "</note>",
        "0",
        "-1",
        "99999999999",
        "<chord/>",
        "<grace/>",
        "</part>",
        "]]>",
    ],
    "mei": [
        "<",
        ">",
        "/",
        '"',
        "&a;",
        "#",
        "0",
        "-1",
        "99999999999",
        "1.5",
        "dur",
        "note",
        "chord",
        "ppq",
        "<mRpt/>",
        "x",
        "𝄞",
    ],
}


@contextmanager
def little_memory() -> Iterator[None]:
    """Whatever asks for more than `MEMORY_BYTES` of new memory gets a MemoryError, and fails its test."""
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def mutated(text: str, pieces: list[str], chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text))
        end = min(len(text), start + chance.choice((0, 1, 1, 2, 5, 40)))
        deed = chance.randrange(4)
        if deed == 0:
            text = text[:start] + text[end:]
        elif deed == 1:
            text = text[:start] + chance.choice(pieces) + text[end:]
        elif deed == 2:
            text = text[:start] + text[start:end] * 2 + text[end:]
        else:
            lines = text.split("\n")
            one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            text = "\n".join(lines)
        text = text or " "
    return text


def answers(data: bytes, kind: str, *, strict: bool) -> None:
    """A melody or a problem for each record; a problem of broken text has a line."""
    with no_hang(), little_memory():
        records = read_score(data, kind, strict=strict)
    assert records
    for record in records:
        if record.melody is None:
            (problem,) = record.problems
            assert problem.reason
            if problem.reason == "broken XML":
                assert problem.line
                assert problem.column
        else:
            assert isinstance(record.melody, Melody)
            assert len(record.melody)
            assert not (strict and record.problems)


@pytest.mark.long
def test_the_limit_on_memory_works() -> None:
    with pytest.raises(MemoryError), little_memory():
        bytearray(2 * MEMORY_BYTES)
    assert bytearray(2 * MEMORY_BYTES)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["kern", "musicxml", "mei"])
def test_damaged_text(kind: str) -> None:
    seed = {"kern": KERN, "musicxml": MUSICXML, "mei": ""}[kind] or to_mei(MUSICXML, "xml")
    answers(seed.encode(), kind, strict=True)
    chance = random.Random(kind)
    for number in range(MUTATED_FILES):
        answers(mutated(seed, PIECES[kind], chance).encode(), kind, strict=number % 2 == 0)


def test_damaged_mei_values() -> None:
    """Well-formed XML with any value in any attribute: the reader itself, not the parser, has to stand it."""
    seed = to_mei(MUSICXML, "xml")
    places = [place for place in range(len(seed)) if seed.startswith('="', place)]
    chance = random.Random(7)
    for number in range(MUTATED_FILES):
        place = chance.choice(places) + 2
        value = chance.choice(["", "0", "-3", "7", "1e9", "999999999", "breve", "c", "q", "semibrevis", "#", "4 4"])
        answers((seed[:place] + value + seed[seed.index('"', place) :]).encode(), "mei", strict=number % 2 == 0)


@pytest.mark.long
def test_damaged_musicxml_values() -> None:
    """Well-formed XML with any value in any element: what reaches verovio, and what comes back."""
    places = [place for place in range(MUSICXML.index("<part "), len(MUSICXML)) if MUSICXML[place] == ">"]
    chance = random.Random(11)
    for number in range(MUTATED_FILES):
        start = chance.choice(places) + 1
        value = chance.choice(
            ["", "0", "-3", "7", "1e9", "999999999", "H", "q", "0.5", "quarter", "<chord/>", "<rest/>"]
        )
        text = MUSICXML[:start] + value + MUSICXML[MUSICXML.find("<", start) :]
        answers(text.encode(), "musicxml", strict=number % 2 == 0)


@pytest.mark.parametrize(
    "text",
    [
        MUSICXML + "<!-- " + "<measure> <note " * 200_000 + "-->",
        MUSICXML.replace("<duration>6<", f"<duration>{'9' * 10_000}<"),
        MUSICXML.replace("<voice>1<", f"<voice>{' ' * 300_000}1{' ' * 300_000}x<", 1),
        MUSICXML.replace("<voice>2<", f"<voice>1</voice><!-- <voice>2 --><![CDATA[{'<note>' * 100_000}]]><voice>2<"),
        MUSICXML.replace("<chord/>", "<chord/>" * 100_000),
    ],
    ids=["comment", "digits", "spaces", "text", "chords"],
)
def test_musicxml_made_to_be_slow(text: str) -> None:
    answers(text.encode(), "musicxml", strict=False)


def test_damaged_archives() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", '<container><rootfile full-path="a.xml"/></container>')
        archive.writestr("a.xml", MUSICXML)
    chance = random.Random(3)
    for number in range(MUTATED_FILES):
        data = bytearray(file.getvalue())
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(4, len(data))] = chance.randrange(256)
        answers(
            bytes(data[: chance.choice((len(data), chance.randrange(4, len(data))))]),
            "musicxml",
            strict=number % 2 == 0,
        )


def test_detection_stands_any_bytes() -> None:
    chance = random.Random(5)
    for seed in (KERN, MUSICXML):
        for _ in range(MUTATED_FILES):
            data = bytearray(seed.encode())
            for _ in range(5):
                data[chance.randrange(200)] = chance.randrange(256)
            for module in (kern, mei, musicxml):
                assert module.matches(bytes(data[:4096])) in (True, False)


@pytest.fixture(autouse=True)
def _impatient_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verovio gets all the memory that its own limit allows, and as much time as a busy computer may need."""
    with sandbox.Worker(90.0) as worker:
        worker.call("to_mei", {"data": MUSICXML, "format": "xml", "options": {}})
        monkeypatch.setattr(scores, "shared_worker", lambda: worker)
        yield

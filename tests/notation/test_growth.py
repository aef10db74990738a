"""Readers and writers take steps in proportion to their input: at most five times as many for four times as much.

A step is an executed line of Python, so the same code always takes the same number. A reader is tried on rows of one
sign (every printable one of ASCII, white space, a zero byte, some others) and of each token of its format, alone and
behind the start of a good file; a writer on melodies of every shape. In the formats that verovio converts (`kern`,
`musicxml`), the lines before the conversion count here, and those for the MEI that comes back count as `mei`. Verovio
itself has a time limit. Input that takes long within one step, as in a regular expression, is in `tests/corpus`.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

from roslin.errors import RoslinError
from roslin.melody import TICKS_PER_QUARTER, Melody, SignatureChange, checked_table
from roslin.notation import FORMATS, mei, pae, records
from roslin.notation.jsonl import write_jsonl
from roslin.notation.midi import write_midi
from roslin.notation.query import read_query
from roslin.notation.record import refusal

FEW = 125  # characters, and four times as many
NOTES = 100
LARGER = 12  # times, for a second look: some signs multiply until a limit ends it
AT_MOST = 5.0
NEGLIGIBLE = 5_000  # steps

SIGNS = [*(string.ascii_letters + string.digits + string.punctuation + " \n\r\t\0"), "é", "𝄞", "\u00a0", "\u2028", "’"]

_MARC = '<collection><record><controlfield tag="001">7</controlfield>'
_MARC_FIELD = "<datafield tag='031'><subfield code='p'>'4CDE</subfield></datafield>"
_NOTE = "<note><pitch><step>C</step><octave>4</octave></pitch><duration>1</duration></note>"
_MUSICXML = f'<score-partwise><part-list/><part id="P1"><measure number="1">{_NOTE}'
_MEI_NOTE = "<note pname='c' oct='4' dur='4'/>"
_MEI = (
    "<mei><music><body><mdiv><score><scoreDef><staffGrp><staffDef n='1'/></staffGrp></scoreDef><section><measure>"
    f"<staff n='1'><layer n='1'>{_MEI_NOTE}"
)
_MEI_END = "</layer></staff></measure></section></score></mdiv></body></music></mei>"
_NEXT_BAR = "</layer></staff></measure><measure><staff n='1'><layer n='1'>"
_MIDI = "MThd\0\0\0\x06\0\x01\0\x01\0`MTrk\0\0\xff\xff\0\x90<@"

# For each format: what stands before and behind a row of signs or tokens.
AROUND: dict[str, list[tuple[str, str]]] = {
    "pae": [("", ""), ("%G-2@3/4 '4CDE", ""), ("@clef:G-2\n@data:'4CDE", ""), ("$g G-2 $p '4CDE", ""), ("'4cde", "Z")],
    "abc": [("", ""), ("X:1\nK:C\nCDEF", ""), ("X:1\nT:", "\nK:C\nCDE"), ("X:1\nK:C\nCDE\nw:", ""), ("X:1\nK:", "")],
    "names": [("", ""), ("c d e ", ""), ("c, d, ", "")],
    "volpiano": [("", ""), ("1---gh", ""), ("1---gh---4", "")],
    "gabc": [("", ""), ("(c4) la(g)", ""), ("name:x;\n%%\n(c4", ""), ("(c4) la(g", ")"), ("name:", "\n%%\n(c4) la(g)")],
    "cantus": [("", ""), ("incipit,volpiano\nx,1---gh", ""), ('incipit,volpiano\n"', '",1---gh')],
    "kern": [("", ""), ("**kern\n4c\n", "\n*-\n"), ("**kern\n4c", "\n*-\n")],
    "musicxml": [("", ""), (_MUSICXML, "</measure></part></score-partwise>"), ("<score-partwise ", "")],
    "mei": [("", ""), (_MEI, _MEI_END), ("<mei ", "")],
    "marcxml": [
        ("", ""),
        (f"{_MARC}{_MARC_FIELD}", "</record></collection>"),
        (f"{_MARC}{_MARC_FIELD[:-24]}", "</subfield></datafield></record></collection>"),
    ],
    "jsonl": [
        ("", ""),
        ('{"pae":"\'4CDE', '"}\n'),
        ('{"notes":[[0,1,60,162,0,0]', "]}\n"),
        ('{"pae":"C","id":"', '"}'),
    ],
    "midi": [("", ""), (_MIDI, "")],
}

TOKENS: dict[str, list[str]] = {
    "pae": [
        *("'4C", "{8CD}", "(3CDE)", "4(3CDE;3)", "qC", "gC", "qqCDr", "yCz", "C+", "C_", "C^E", "^CE>", "=9999", "8.6"),
        *("!C!ff", "!Cf", "/i", "C/i", "//:", "://", "%C", "%G-2", "$xF", "$bB ", "@3/4", "@c ", "~?", "-24/", "(3/4)"),
        *(
            "[abc]",
            "[a",
            "&#x4",
            "(c)",
            "xx",
            "nC",
            "\n$g G-2 $p C",
            "'4CDE\n",
            '{"data":"C"},',
            "@data:C\n",
            " @data:",
        ),
        *("@start:1\n@data:C\n@end:1\n", "1/1|", "1/2 ", " \n", "aceg", "$p C", "$a", "-2"),
    ],
    "abc": [
        *(
            "CDE",
            "|:",
            ":|",
            "[1",
            "(3CDE",
            "{g}",
            "[CEG]",
            "[V:1]",
            "[K:G]",
            "[M:3/4]",
            "!f!",
            '"G"',
            "C-",
            "C2",
            "C/",
        ),
        *(
            "C>D",
            "^C",
            "&",
            "\\\n",
            "%%x\n",
            "V:1\n",
            "K:G\nCDE\n",
            "X:1\nK:C\nC\n\n",
            "w:a b\n",
            "T:x\n+:a\n",
            "+:a\n",
        ),
        *("%%begintext\n", "[r:x]", "Z9", "(5:4:3", "<<", "U:T\n", "\\'e", "&amp;", '"’"', "—", "1/1+", "clef=", "C::"),
    ],
    "names": ["c d ", "c, d, ", "c4 ", "h ", "cis ", "do ré ", "sol dièse ", "c' ", "c - ", "|c ", "xy "],
    "volpiano": ["gh--", "4--", "[", "[?", "[?]", "ij", "\n1---gh", "777", " ", "¶"],
    "gabc": [
        "la(g)",
        "(",
        ")",
        "gsss",
        "e(g)u(g)o(g)u(g)a(g)e(g)",
        "<sp>",
        "<",
        "name:",
        ";",
        "%%",
        "%x\n",
        "[",
        "(c4)",
        "|",
        "x",
    ],
    "cantus": ["x,1---gh\n", ",", '"', '""', "\n", "\r", "1---", "[?", "x,\n"],
    "kern": [
        *("4c\n", "4c 4e 4g ", "*^\n", "*v\n", "*\n", "=\n", "!! a\n", "4c\t", "**kern\t", "**kern\n4c\n*-\n", ".\n"),
        *("4%3", "4.", "4qc\n", "*k[f#]\n", "*x\n", "*+\n", "7c\n11c\n13c\n"),
    ],
    "musicxml": [
        *(_NOTE, "<note/>", "<note />", "<note>", "</measure><measure>", "<accidental>", "<!-- -->", "<!--", "<?a?>"),
        *(
            "<![CDATA[x]]>",
            "<divisions>1</divisions>",
            "<divisions>7</divisions><divisions>11</divisions>",
            "<forward/>",
        ),
        *(
            "<note><tie type='start'/></note>",
            "<tie type='start'/>",
            "<note><chord/></note>",
            "&amp;",
            "a='b' ",
            "</note",
        ),
        "<backup><duration>1</duration></backup>",
        "<note><voice>1</voice><duration>1</duration></note><note><voice>2</voice><duration>1</duration></note>",
    ],
    "mei": [
        *(
            _MEI_NOTE,
            _MEI_NOTE.replace("/", " tie='m'/"),
            "<rest dur='4'/>",
            "<chord dur='4'><note pname='c'/></chord>",
        ),
        *(
            "<clef shape='G' line='2'/><clef shape='F' line='4'/>",
            "<mRpt/>",
            f"{_NEXT_BAR}<mRpt/>",
            "<!-- -->",
            "<beam>",
        ),
        *(f"</layer><layer n='2'>{_MEI_NOTE}", f"</layer></staff><staff n='2'><layer n='1'>{_MEI_NOTE}", "<beatRpt/>"),
        *("<tuplet num='3' numbase='2'/>", "<tie startid='#a' endid='#b'/>", "x<dot/>", "&amp;", "a='b' ", "<keySig/>"),
        *(
            "<app><lem/></app>",
            "<note pname='c' oct='99' dur='4'/>",
            "<multiRest num='100'/>",
            f"{_NEXT_BAR}{_MEI_NOTE}",
        ),
        "<note dur='4' pname='c' oct='4'><verse><syl>a</syl></verse></note>",
    ],
    "marcxml": [
        *("<record/>", _MARC_FIELD, "<!-- -->", "<?a?>", "<![CDATA[a]]>", "&amp;", "&#10;", "a='b' ", "<a>", "<!--"),
        *("</subfield><subfield code='p'>C", "</subfield><subfield code='t'>x", "</subfield><subfield code='n'>xF"),
        "</record><record>" + _MARC_FIELD,
        "<datafield tag='594'><subfield code='b'>x</subfield></datafield>",
    ],
    "jsonl": [
        *(
            ",[1,1,60,162,0,0]",
            ",[]",
            "\\u00e9",
            '"}\n{"pae":"C',
            '{"pae":"C"}\n',
            "}\n",
            "\\\\",
            '","a":"b',
            "[[[",
            "0,",
        ),
        *("{", "\\ud800", " \n"),
    ],
    "midi": [
        *(
            "\0\x90<@",
            "\x01\x90<@\x01\x80<@",
            "\0\xff\x01\x01a",
            "\0\xff\x58\x04\x04\x02\x18\x08",
            "\0\xff\x59\x02\0\0",
        ),
        *(
            "MTrk\0\0\0\x04\0\xff\x2f\0",
            "MTrk\0\0\0\x04",
            "MTrk",
            "\0\xf0\0",
            "\0\xff\x05\x02a-",
            "\x01\xb0{\0",
            "..MTrk",
        ),
        *("ab12\0\0\0\0", "\x01\x90<@\x01\x90<@\x01\xb0{\0", "\xff", "\x80"),
    ],
}


def steps(work: Callable[[], object]) -> int:
    """The lines of Python that something executes; a refusal is an answer too."""
    count = 0

    def traced(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        with suppress(RoslinError):
            work()
    finally:
        sys.settrace(before)
    return count


def grows_too_fast(work: Callable[[Any], object], make: Callable[[int], Any], size: int) -> str:
    """The numbers of steps, where four times as much takes more than five times as many; `make` makes so much of it."""
    for times in (1, 1, LARGER):  # the first time may load something
        long = steps(partial(work, make(4 * size * times)))
        short = steps(partial(work, make(size * times))) if long >= NEGLIGIBLE else long
        if long <= AT_MOST * short:
            return ""
    return f"{short} steps, then {long}"


def too_fast(format: str, read: Callable[[bytes], object], rows: list[str]) -> list[str]:
    """The rows on which a reader grows too fast."""
    encoding = "latin-1" if format == "midi" else "utf-8"
    found = []
    for before, behind in AROUND[format]:
        for row in rows:
            if format == "midi" and not row.isascii() and ord(max(row)) > 255:
                continue

            def data(size: int, before: str = before, row: str = row, behind: str = behind) -> bytes:
                return (before + row * (size // len(row)) + behind).encode(encoding, "surrogatepass")

            if measured := grows_too_fast(read, data, FEW):
                found.append(f"{before[-12:]!r} + {row[:40]!r} * n: {measured}")
    return found


@pytest.mark.long
def test_growth_is_seen() -> None:
    def loop(count: int) -> None:
        for _ in range(count):
            pass

    assert grows_too_fast(loop, lambda size: size, 10_000) == ""
    assert "steps, then" in grows_too_fast(loop, lambda size: size**2, 25)


@pytest.fixture(autouse=True)
def _without_verovio(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_text: str, _format: str, line: int = 1) -> str:
        raise refusal("not converted", "", "", line)

    monkeypatch.setattr(mei, "to_mei", refused)


def test_every_format_of_ours_is_tried() -> None:
    ours = {name for name in FORMATS if FORMATS.origin(name) == "roslin"}
    assert ours <= AROUND.keys() == TOKENS.keys()


@pytest.mark.long
@pytest.mark.parametrize("format", list(AROUND))
def test_a_reader_is_linear_in_its_input(format: str) -> None:
    def read(data: bytes) -> None:
        for _ in records(data, format):
            pass

    assert too_fast(format, read, [*SIGNS, *TOKENS[format]]) == []


def test_reading_a_query_is_linear_in_its_text() -> None:
    assert (
        too_fast("pae", lambda data: read_query(data.decode(errors="replace")), ["\n", " \n", "C\n", "’", "'4CDE\n"])
        == []
    )


# -- writing ----------------------------------------------------------------------------------------------------------

Rows = list[tuple[int, int, int]]
_QUARTER = TICKS_PER_QUARTER


def melody(rows: Rows, *, graces: bool = False, bars: int = 0, changes: int = 0) -> Melody:
    """Rows are onset, duration and semitones above middle C, which is a white key."""
    table = np.array([(onset, length, 60 + up, 162 + 40 * up // 12, graces, 0) for onset, length, up in rows])
    return Melody(
        checked_table(table),
        barlines_ticks=np.arange(1, bars + 1) * _QUARTER,
        changes=tuple(SignatureChange(n * _QUARTER, "F-4" if n % 2 else "G-2") for n in range(changes)),
    )


SHAPES: dict[str, Callable[[int], Melody]] = {
    "one after another": lambda n: melody([(k * _QUARTER, _QUARTER, 0) for k in range(n)]),
    "all at once": lambda n: melody([(0, _QUARTER, 12 * (k % 4)) for k in range(n)]),
    "all held to the end": lambda n: melody([(k * _QUARTER, (n - k) * _QUARTER, 12 * (k % 4)) for k in range(n)]),
    "held over the next three": lambda n: melody([(k * _QUARTER, 3 * _QUARTER, 12 * (k % 4)) for k in range(n)]),
    "in triplets": lambda n: melody([(k * _QUARTER // 3, _QUARTER // 3, 0) for k in range(n)]),
    "in sevenths": lambda n: melody([(k * _QUARTER // 7, _QUARTER // 7, 0) for k in range(n)]),
    "of odd lengths": lambda n: melody([(k * 1009, 1009, 0) for k in range(n)]),
    "very long": lambda n: melody([(k * 500 * _QUARTER, 500 * _QUARTER, 0) for k in range(n)]),
    "far apart": lambda n: melody([(k * 500 * _QUARTER, _QUARTER, 0) for k in range(n)]),
    "grace notes": lambda n: melody([(k, 0, 0) for k in range(n)], graces=True),
    "grace notes at once": lambda n: melody([(0, 0, 0) for k in range(n)], graces=True),
    "one note over many bars": lambda n: melody([(0, n * _QUARTER, 0)], bars=n),
    "many changes": lambda n: melody([(k * _QUARTER, _QUARTER, 0) for k in range(n)], changes=n),
}
WRITERS: dict[str, Callable[[Melody], object]] = {
    "pae": pae.write,
    "pae, marc": lambda each: pae.write(each, "marc"),
    "midi": write_midi,
    "jsonl": write_jsonl,
}


@pytest.mark.long
@pytest.mark.parametrize("writer", list(WRITERS))
def test_a_writer_is_linear_in_its_melody(writer: str) -> None:
    write = WRITERS[writer]
    for shape, make in SHAPES.items():
        assert not (measured := grows_too_fast(write, make, NOTES)), f"{shape}: {measured}"

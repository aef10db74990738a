"""Small files in every format, made here: a scale of any length, only rests, only grace notes, and broken ones.

The scale goes up from middle C to B and starts again, in quarter notes and 4/4. A format that is registered without an
entry in `SAMPLES` fails the contract suite.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.notation import jsonl, pae
from roslin.notation.midi import write_midi

PITCHES = (60, 62, 64, 65, 67, 69, 71)
LETTERS = "CDEFGAB"
BASE40 = (162, 168, 174, 179, 185, 191, 197)


@dataclass(frozen=True, slots=True)
class Sample:
    """`scale(n)` has n notes; `write` is there where Roslin writes the format."""

    scale: Callable[[int], bytes]
    rests: bytes
    graces: bytes
    broken: tuple[bytes, ...]
    write: Callable[[Melody], bytes] | None = None


def letters(count: int) -> list[str]:
    return [LETTERS[number % 7] for number in range(count)]


def bars(notes: list[str], between: str = "") -> list[str]:
    return [between.join(notes[start : start + 4]) for start in range(0, len(notes), 4)]


# -- text -------------------------------------------------------------------------------------------------------------


def abc_tune(music: str) -> bytes:
    return f"X:1\nT:Scale\nM:4/4\nL:1/4\nK:C\n{music}\n".encode()


def abc_scale(count: int) -> bytes:
    return abc_tune("|\n".join(bars(letters(count))))


def kern(*tokens: str) -> bytes:
    return "\n".join(("**kern", "*clefG2", "*M4/4", *tokens, "*-", "")).encode()


def kern_scale(count: int) -> bytes:
    tokens = (f"4{letter.lower()}" for letter in letters(count))
    return kern(
        *(
            line
            for number, token in enumerate(tokens)
            for line in ([f"={number // 4 + 1}"] * (number % 4 == 0) + [token])
        )
    )


def pae_scale(count: int) -> bytes:
    return ("%G-2@c '4" + "/".join(bars(letters(count)))).encode()


def names_scale(count: int) -> bytes:
    return " ".join(f"{letter}4" for letter in letters(count)).encode()


def jsonl_line(**fields: object) -> bytes:
    return json.dumps({"id": "scale", **fields}).encode() + b"\n"


def jsonl_scale(count: int) -> bytes:
    quarter = TICKS_PER_QUARTER
    return jsonl_line(notes=[[n * quarter, quarter, PITCHES[n % 7], BASE40[n % 7], 0, 0] for n in range(count)])


VOLPIANO = "cdefghj"


def volpiano(music: str) -> bytes:
    return f"1---{music}---3\n".encode()


def volpiano_scale(count: int) -> bytes:
    return volpiano("--".join(VOLPIANO[number % 7] for number in range(count)))


def gabc(music: str) -> bytes:
    return f"name: Scale;\nmode: 1;\n%%\n(c3) {music} (::)\n".encode()


def gabc_scale(count: int) -> bytes:
    places = "abcdefg"  # middle C is at a in this clef
    return b"%%\n(f1)" + b"".join(f" la({places[n % 7]})".encode() for n in range(count)) + b" (::)\n"


def cantus(music: str) -> bytes:
    return f"cantus_id,incipit,volpiano,siglum\n006928,Scale,{music},A-Gu 29\n".encode()


def cantus_scale(count: int) -> bytes:
    return cantus(volpiano_scale(count).decode().strip())


# -- XML --------------------------------------------------------------------------------------------------------------


def marcxml(music: str) -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<collection xmlns="http://www.loc.gov/MARC21/slim">\n<record>\n'
        '<controlfield tag="001">7</controlfield>\n<datafield tag="031" ind1=" " ind2=" ">\n'
        f'<subfield code="g">G-2</subfield>\n<subfield code="p">{music}</subfield>\n'
        "</datafield>\n</record>\n</collection>\n"
    ).encode()


def marcxml_scale(count: int) -> bytes:
    return marcxml("'4" + "/".join(bars(letters(count))))


def musicxml(measures: Iterable[str], parts: Iterable[str] = ("Flute",)) -> bytes:
    """A score in which every part has the same measures."""
    names = list(parts)
    inside = "".join(f'<measure number="{number}">{music}</measure>\n' for number, music in enumerate(measures, 1))
    time = "<time><beats>4</beats><beat-type>4</beat-type></time>"
    first = f'<measure number="1"><attributes><divisions>2</divisions>{time}</attributes>'
    inside = inside.replace('<measure number="1">', first, 1)
    listed = "".join(
        f'<score-part id="P{n}"><part-name>{name}</part-name></score-part>' for n, name in enumerate(names)
    )
    written = "".join(f'<part id="P{n}">\n{inside}</part>' for n in range(len(names)))
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<score-partwise version="4.0">'
    return f"{head}<part-list>{listed}</part-list>\n{written}</score-partwise>\n".encode()


def musicxml_note(letter: str, grace: bool = False) -> str:
    length = "<duration>2</duration><type>quarter</type>"
    start, end = ("<grace/>", "<type>eighth</type>") if grace else ("", length)
    return f"<note>{start}<pitch><step>{letter}</step><octave>4</octave></pitch>{end}</note>"


def musicxml_scale(count: int) -> bytes:
    return musicxml(bars([musicxml_note(letter) for letter in letters(count)]))


def mxl(score: bytes) -> bytes:
    """Compressed MusicXML, with the same bytes at any time."""
    container = '<container><rootfiles><rootfile full-path="score.xml"/></rootfiles></container>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("META-INF/container.xml", container.encode()), ("score.xml", score)):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def mei(measures: Iterable[str]) -> bytes:
    inside = "".join(
        f'<measure n="{number}"><staff n="1"><layer n="1">{music}</layer></staff></measure>\n'
        for number, music in enumerate(measures, 1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<mei xmlns="http://www.music-encoding.org/ns/mei"><music><body><mdiv>'
        '<score><scoreDef meter.count="4" meter.unit="4"><staffGrp><staffDef n="1" lines="5" clef.shape="G" '
        f'clef.line="2"/></staffGrp></scoreDef><section>\n{inside}</section></score></mdiv></body></music></mei>\n'
    ).encode()


def mei_scale(count: int) -> bytes:
    return mei(bars([f'<note pname="{letter.lower()}" oct="4" dur="4"/>' for letter in letters(count)]))


# -- MIDI -------------------------------------------------------------------------------------------------------------


def midi(*tracks: bytes, kind: int = 0) -> bytes:
    chunks = [b"MTrk" + len(track).to_bytes(4, "big") + track for track in tracks]
    return b"MThd\0\0\0\6" + bytes((0, kind, 0, len(tracks), 0, 96)) + b"".join(chunks)


MIDI_END = b"\0\xff\x2f\0"


def midi_track(count: int, channel: int = 0, length: int = 96) -> bytes:
    on, off = 0x90 | channel, 0x80 | channel
    notes = (bytes((0, on, PITCHES[n % 7], 64, length, off, PITCHES[n % 7], 64)) for n in range(count))
    return b"".join(notes) + MIDI_END


def midi_scale(count: int) -> bytes:
    return midi(midi_track(count))


# -- all of them ------------------------------------------------------------------------------------------------------

_BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>\n'
)


def entity_bomb(root: str) -> bytes:
    return f"{_BOMB}<{root}>&c;</{root}>".encode()


def _cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


SAMPLES = {
    "names": Sample(names_scale, b"- | -", b"-", (b"c4 d4 q e4", b"ho ho ho", b"c d e?", names_scale(8) + b" c9#")),
    "midi": Sample(
        midi_scale,
        midi(MIDI_END),
        midi(midi_track(4, length=0)),
        (_cut(midi_scale(8)), midi_scale(8)[:9], b"MThd", midi(b"\xff" * 50), midi_scale(4).replace(b"\x90", b"\xf4")),
        write_midi,
    ),
    "marcxml": Sample(
        marcxml_scale,
        marcxml("2-4-"),
        marcxml("'8gCgDgE"),
        (_cut(marcxml_scale(8)), marcxml("Sol majeur"), marcxml("'4CDZ"), entity_bomb("collection"), b"<collection"),
    ),
    "jsonl": Sample(
        jsonl_scale,
        jsonl_line(pae="2-4-"),
        jsonl_line(notes=[[0, 0, 60, 162, 1, 0], [0, 0, 62, 168, 1, 0]]),
        (b"{", _cut(jsonl_scale(8)), b"[1]\n", b'{"id": "x"}\n', jsonl_line(notes=[["a"]]), b'{"pae": "\'4CDZ"}'),
        lambda melody: jsonl.write_jsonl(melody).encode(),
    ),
    "musicxml": Sample(
        musicxml_scale,
        musicxml(["<note><rest/><duration>8</duration></note>"]),
        musicxml([musicxml_note("C", grace=True) + musicxml_note("D", grace=True)]),
        (
            _cut(musicxml_scale(8)),
            _cut(mxl(musicxml_scale(8))),
            musicxml(["<pitch>"]),
            entity_bomb("score-partwise"),
            b"<score-partwise",
            musicxml([]),
        ),
    ),
    "mei": Sample(
        mei_scale,
        mei(['<rest dur="1"/>']),
        mei(['<note pname="c" oct="4" dur="8" grace="unacc"/><note pname="d" oct="4" dur="8" grace="acc"/>']),
        (_cut(mei_scale(8)), mei(["<note>"]), mei(['<note pname="h" oct="4"/>']), entity_bomb("mei"), b"<mei", mei([])),
    ),
    "kern": Sample(
        kern_scale,
        kern("=1", "1r"),
        kern("=1", "8qc", "8qd"),
        (kern("4c\t4d"), b"**kern", b"**kern\n4c\n", b"**text\nla\n*-\n", kern("=1")),
    ),
    "abc": Sample(
        abc_scale,
        abc_tune("z4|z4|"),
        abc_tune("{CDE}|"),
        (abc_tune("C§D E"), abc_tune("???"), b"X:1\n", abc_tune('"'), abc_tune("[CE")),
    ),
    "volpiano": Sample(
        volpiano_scale,
        b"1---3---4",
        b"1---7---",
        (b"1---g--t--g", b"1---3", b"g--h--g", b"1---[?]--g--h", b"1---gh--'--h", b"1---"),
    ),
    "gabc": Sample(
        gabc_scale,
        gabc("la() (,) (::)"),
        gabc("(z)"),
        (gabc("la(fu)"), gabc("la(fg"), gabc("la fg)"), b"%%\nla(g)", b"(c4) la", gabc("$(&)")),
    ),
    "cantus": Sample(
        cantus_scale,
        cantus("1---3---4"),
        cantus("1---7"),
        (
            cantus("1---g--t"),
            b"incipit,siglum\nA,B\n",
            b"volpiano,incipit\n1---,x\n",
            cantus('"' + "g" * 200_000 + '"'),
        ),
    ),
    "pae": Sample(
        pae_scale,
        b"%G-2@c 2-4-/",
        b"%G-2@c '8gCgDgE",
        (b"'4CDZE", b"Sol majeur", b"%G-2@c '4C(DE", b"@clef:G-2\nnonsense\n@data:'4C", b'{"data": '),
        lambda melody: pae.write(melody).encode(),
    ),
}

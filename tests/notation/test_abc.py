"""ABC: the standard's own examples, what real files do, where mistakes are reported, and music21 as a second reader."""

from __future__ import annotations

import io
import pickle

import pytest
from tests.notation.music21_agreement import compare

from roslin.errors import NotationError
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.notation import abc
from roslin.notation.abc import fields
from roslin.notation.record import MAX_NOTES, Record

EIGHTH = TICKS_PER_QUARTER // 2


def tune(body: str, header: str = "M:4/4\nL:1/8\nK:C\n") -> str:
    return f"X:1\n{header}{body}"


def melody(text: str, *, strict: bool = True, expand_repeats: bool = False) -> Melody:
    [record] = abc.read_tunes(text, strict, expand_repeats)
    return record.melody_or_raise()


def rows(body: str, header: str = "M:4/4\nL:1/8\nK:C\n", *, expand: bool = False) -> list[tuple[float, float, int]]:
    """(onset and duration in eighths, pitch) of every note that is not a grace note."""
    notes = melody(tune(body, header), expand_repeats=expand).notes
    return [
        (row["onset_ticks"] / EIGHTH, row["duration_ticks"] / EIGHTH, int(row["pitch_midi"]))
        for row in notes[~notes["is_grace"]]
    ]


def pitches(body: str, header: str = "M:4/4\nL:1/8\nK:C\n", *, expand: bool = False) -> list[int]:
    return [pitch for _, _, pitch in rows(body, header, expand=expand)]


def lengths(body: str, header: str = "M:4/4\nL:1/8\nK:C\n") -> list[float]:
    return [duration for _, duration, _ in rows(body, header)]


def lenient(text: str) -> Record:
    [record] = abc.read_tunes(text, strict=False)
    return record


# -- notes ------------------------------------------------------------------------------------------------------------


def test_octaves_and_accidentals() -> None:
    assert pitches("C,, C, C c c' c'' C'") == [36, 48, 60, 72, 84, 96, 72]
    assert pitches("^C _D =E ^^F __B") == [61, 61, 64, 67, 69]
    spelled = melody(tune("C ^C _D ^^F __B")).notes["pitch_base40"].tolist()
    assert spelled == [162, 163, 167, 181, 195]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A A2 A3 A/2 A/ A// A/4 A3/2 A3/ A/3", [1, 2, 3, 0.5, 0.5, 0.25, 0.25, 1.5, 1.5, 1 / 3]),
        ("A>B A<B A>>B A<<B A>>>B", [1.5, 0.5, 0.5, 1.5, 1.75, 0.25, 0.25, 1.75, 1.875, 0.125]),
        ("A2>B2 A > B a(<b) a>{g}b", [3, 1, 1.5, 0.5, 0.5, 1.5, 1.5, 0.5]),
        ("A>B<C", [1.5, 0.25, 1.5]),
        ("(3ABC (2AB (4ABCD (6ABCDEF", [2 / 3] * 3 + [1.5] * 2 + [0.75] * 4 + [1 / 3] * 6),
        ("(5ABCDE (3:2:4 ABCD (3::2 AB C (5:4ABCDE", [0.4] * 5 + [2 / 3] * 4 + [2 / 3] * 2 + [1] + [0.8] * 5),
        ("(3A2BC (3[Ac]zB", [4 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3]),
        ("[CEG]2 [C2E2G2] [C2E2]/2", [2] * 6 + [1] * 2),
        ("[C2E4]G", [4, 2, 1]),
    ],
)
def test_lengths(body: str, expected: list[float]) -> None:
    assert lengths(body) == pytest.approx(expected, abs=1e-4)


def test_tuplets_by_metre_and_exact() -> None:
    assert lengths("(5ABCDE", "M:6/8\nL:1/8\nK:C\n") == pytest.approx([0.6] * 5, abs=1e-4)
    notes = melody(tune("(11:8:11 ABCDEFGABCD E")).notes
    assert notes["onset_ticks"][-1] == 8 * EIGHTH
    assert melody(tune("(7ABCDEFG A")).notes["onset_ticks"][-1] == 2 * EIGHTH
    assert melody(tune("(12ABCDEFGABCDE A")).notes["onset_ticks"][-1] == 8 * EIGHTH  # twelve in the time of eight


def test_rests_and_bars_of_rest() -> None:
    assert rows("z2 A x B") == [(2, 1, 69), (4, 1, 71)]
    assert rows("A8|Z2|B8") == [(0, 8, 69), (24, 8, 71)]
    assert rows("X A", "M:3/4\nK:C\n") == [(6, 1, 69)]
    assert melody(tune("A8|Z2|B8")).barlines_ticks.tolist() == [8 * EIGHTH, 16 * EIGHTH, 24 * EIGHTH]


def test_ties_are_merged_also_across_bars() -> None:
    assert rows("A4-|A4 B-BB") == [(0, 8, 69), (8, 2, 71), (10, 1, 71)]
    assert rows("^f4-|f4 f") == [(0, 8, 78), (8, 1, 77)]
    assert rows("[CE]2-[CE]2") == [(0, 4, 64), (0, 4, 60)]
    assert rows("[C-E]2[CE]2") == [(0, 2, 64), (0, 4, 60), (2, 2, 64)]
    assert rows("A-\nA- A-") == [(0, 3, 69)]


def test_chords_and_their_spelling() -> None:
    assert pitches("[^CE!f!G]") == [67, 64, 61]
    assert rows("[zE]2 A") == [(0, 2, 64), (2, 1, 69)]
    assert rows('["Am"Ac]2 B') == [(0, 2, 72), (0, 2, 69), (2, 1, 71)]


def test_grace_notes_take_no_time() -> None:
    notes = melody(tune("A{gf}B {/e}c")).notes
    assert notes["is_grace"].tolist() == [False, True, True, False, True, False]
    assert notes["onset_ticks"].tolist() == [0, EIGHTH, EIGHTH, EIGHTH, 2 * EIGHTH, 2 * EIGHTH]
    assert notes["duration_ticks"][[1, 4]].tolist() == [EIGHTH, 0]


def test_only_grace_notes_and_grace_notes_at_the_end() -> None:
    for expand in (False, True):
        assert melody(tune("{AB}:|"), expand_repeats=expand).notes["is_grace"].tolist() == [True, True]
        assert melody(tune("A{B}"), expand_repeats=expand).notes["is_grace"].tolist() == [False, True]


def test_what_does_not_sound_is_skipped() -> None:
    assert pitches('!trill!A +trill+B ~c.d HE LF MG OA PB Sc Td ue vf "Am7"g "^text|"a y2 b`c (d(ef)) $ \\') == [
        69, 71, 72, 74, 64, 65, 67, 69, 71, 72, 74, 76, 77, 79, 81, 83, 72, 74, 76, 77,
    ]  # fmt: skip
    assert pitches("AB % a comment CDE\n%%vskip 10\nw:la la\nW:la\nP:B\nr:remark\nc\\\nd") == [69, 71, 72, 74]
    assert pitches("A\n%%begintext\nCDE [[[\n%%endtext\nB") == [69, 71]
    assert pitches("A!B") == [69, 71]  # an old line break
    assert pitches("WA", "U:W=!trill!\nK:C\n") == [69]


# -- fields -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "name", "signature"),
    [
        ("C", "C major", ""),
        ("G", "G major", "xF"),
        ("Bb", "B flat major", "bBE"),
        ("F#m", "F sharp minor", "xFCG"),
        ("A Minor", "A minor", ""),
        ("AMin", "A minor", ""),
        ("GM", "G minor", "bBE"),
        ("Edor", "E dorian", "xFC"),
        ("D Mixolydian", "D mixolydian", "xF"),
        ("Bphr", "B phrygian", "xF"),
        ("Flyd", "F lydian", ""),
        ("B loc", "B locrian", ""),
        ("Cion", "C ionian", ""),
        ("Daeol", "D aeolian", "bB"),
        ("Hp", "Highland pipes", "xFC"),
        ("HP", "Highland pipes", ""),
        ("none", None, ""),
        ("D exp _b ^f", "D major", "xFbB"),
        ("D =c", "D major", "xF"),
        ("Dmix=c", "D mixolydian", "xF"),
        ("Dm=c", "D minor", "bB"),
        ("D m=d", "D major", "xFC"),
        ("Aphr^c", "A phrygian", "xCbB"),
        ("G treble", "G major", "xF"),
        ("C# clef=bass", "C sharp major", "xFCGDAEB"),
        ("G#", "G sharp major", "xxFxCGDAEB"),
    ],
)
def test_keys(key: str, name: str | None, signature: str) -> None:
    found = fields.read_key(key, fields.KeyField())
    assert (found.name, found.signature, found.unread) == (name, signature, "")


@pytest.mark.parametrize(
    ("metre", "text", "quarters", "unit"),
    [("4/4", "4/4", 4, 8), ("C", "4/4", 4, 8), ("C|", "2/2", 4, 8), ("2/4", "2/4", 2, 16), ("3/4", "3/4", 3, 8),
     ("6/8", "6/8", 3, 8), ("(2+3)/8", "2+3/8", 2.5, 16), ("none", "", 0, 8), ("5/16", "5/16", 1.25, 16)],
)  # fmt: skip
def test_metre_and_the_unit_that_follows_from_it(metre: str, text: str, quarters: float, unit: int) -> None:
    found = fields.read_metre(metre)
    assert (found.text, found.measure_ticks / TICKS_PER_QUARTER) == (text, quarters)
    assert found.unit_ticks == 4 * TICKS_PER_QUARTER // unit
    assert melody(tune("A", f"M:{metre}\nK:C\n")).notes["duration_ticks"].tolist() == [found.unit_ticks]


def test_key_signature_and_accidentals_through_the_bar() -> None:
    assert pitches("F f =F F|F", "K:D\n") == [66, 78, 65, 65, 66]
    assert pitches("^F f F,|F", "K:C\n") == [66, 78, 54, 65]  # the standard's default: all octaves
    assert pitches("^F f F,|F", "I:propagate-accidentals octave\nK:C\n") == [66, 77, 53, 65]
    assert pitches("^F F f|F", "%%propagate-accidentals not\nK:C\n") == [66, 65, 77, 65]
    assert pitches("^F F\n%%propagate-accidentals not\nF", "K:C\n") == [66, 66, 66]
    assert pitches("F C B", "K:D exp _b ^f\n") == [66, 60, 70]


def test_modifiers_that_move_the_sounding_pitch() -> None:
    assert pitches("C", "K:C octave=-1\n") == [48]
    assert pitches("C", "K:C clef=treble-8\n") == [48]
    assert pitches("C", "K:G mix treble8\n") == [48]
    assert pitches("C", "K:C treble+8\n") == [72]
    assert pitches("C", "K:C -8va\n") == [48]
    assert pitches("C", "K:C bass\n") == pitches("C", "K:C clef=bass middle=d\n") == [60]
    read = melody(tune("C ^^C", "K:C transpose=-2\n")).notes
    assert read["pitch_midi"].tolist() == [58, 60]
    assert read["pitch_base40"].tolist() == [156, 162]
    assert pitches("C [K:octave=1] C", "K:C octave=-1\n") == [48, 72]
    assert melody(tune("C", "K:C clef=treble-8\n")).clef == "g-2"
    assert melody(tune("C", "K:C alto\n")).clef == "C-3"


def test_fields_inside_the_music() -> None:
    read = melody(tune("F2|[K:D]F2|[M:3/4]F2 [L:1/4]F|\nK:F\nB", "M:4/4\nL:1/8\nK:C\n"))
    assert read.notes["pitch_midi"].tolist() == [65, 66, 66, 66, 70]
    assert read.notes["duration_ticks"].tolist() == [2 * EIGHTH] * 4 + [2 * EIGHTH]
    assert [(c.onset_ticks // EIGHTH, c.key_signature, c.metre) for c in read.changes] == [
        (2, "xFC", None), (4, None, "3/4"), (8, "bB", None),
    ]  # fmt: skip
    assert melody(tune("K:D\nF")).key_signature == "xFC"  # before the first note it is no change


def test_metadata() -> None:
    text = (
        "X:7\nT:First\nT:Second\nC:Somebody\nC:Else\nS:a book\nR:reel\nO:Sk\\aane\nM:C|\nL:1/8\nQ:1/4=100\n"
        'K:Ador % as printed\nV:1 name="Fife"\nA|B\nw:one two- three_\nw:three'
    )
    read = melody(text)
    assert (read.id, read.title, read.composer, read.source) == ("7", "First", "Somebody", "a book")
    assert (read.key, read.metre, read.key_signature, read.text) == ("A dorian", "2/2", "xF", "one twothree")
    assert read.extra == {"rhythm": "reel", "origin": "Skåne", "other_titles": "Second"}
    assert (read.notation, read.voice, read.music) == ("abc", "Fife", text)
    assert [text[column - 1] for column in read.notes["source_column"].tolist()] == ["A", "B"]
    assert pickle.loads(pickle.dumps(read)) == read


def test_a_field_may_go_on_in_the_next_line() -> None:
    assert melody("X:1\nT:A long\n+:title\nK:C\nA").title == "A long title"


# -- voices -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    ["V:1\nAB|\nV:2\nCD|\nV:1\nc2|\nV:2\nE2|", "[V:1]AB|\n[V:2]CD|\n[V:1]c2|\n[V:2]E2|", "[V:1]AB|c2|[V:2]CD|E2|"],
)
def test_voices_are_kept(body: str) -> None:
    notes = melody(tune(body)).notes
    assert list(zip(notes["onset_ticks"] // EIGHTH, notes["voice"], notes["pitch_midi"], strict=True)) == [
        (0, 0, 69), (0, 1, 60), (1, 0, 71), (1, 1, 62), (2, 0, 72), (2, 1, 64),
    ]  # fmt: skip


def test_voices_of_the_header_have_their_own_modifiers() -> None:
    notes = melody(tune("V:T\nC2\nV:B\nC2 [K:D] F", "V:T clef=treble\nV:B clef=bass octave=-1\nK:C\n")).notes
    assert notes["pitch_midi"].tolist() == [60, 48, 54]


def test_overlays_are_voices_that_go_back_to_the_bar_line() -> None:
    notes = melody(tune("A2B2|c4 & E2^F2 & C4|d2F2|")).notes
    found = list(zip(notes["onset_ticks"] // EIGHTH, notes["voice"], notes["pitch_midi"], strict=True))
    assert found == [(0, 0, 69), (2, 0, 71), (4, 0, 72), (4, 1, 64), (4, 2, 60), (6, 1, 66), (8, 0, 74), (10, 0, 65)]


# -- repeats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "as_played"),
    [
        ("|:AB:|c", "ABABc"),
        ("AB:|c|", "ABABc"),
        ("A|:B:|c", "ABBc"),
        ("|:A:||:B:|", "AABB"),
        ("|:A::B:|", "AABB"),
        ("|:A:|:B:|", "AABB"),
        ("|:A|1 B:|2 c|]", "ABAc"),
        ("|:A|[1 B:|[2 c||d", "ABAcd"),
        ("|:A [1B:|[2c:|:d:|", "ABAcdd"),
        ("|:A|1,3 B:|2 c:|4 d||e", "ABAcABAde"),
        ("|:A|1-2 B:|3 c||", "ABABAc"),
        ("A||B|]", "AB"),
        ("A|B|1 c:|2 d|:e:|", "ABcABdee"),
        ("AB|", "AB"),
    ],
)
def test_repeats_as_written_and_played_out(body: str, as_played: str) -> None:
    letters = {"A": 69, "B": 71, "c": 72, "d": 74, "e": 76}
    assert pitches(body) == [letters[sign] for sign in body if sign in letters]
    assert pitches(body, expand=True) == [letters[sign] for sign in as_played]


def test_repeats_played_out_carry_everything_with_them() -> None:
    read = melody(tune("V:1\n|:A2-|A2 [K:D]F2:|c2|\nV:2\nC4|E2:|E2|"), expand_repeats=True)
    lead = read.notes[read.notes["voice"] == 0]
    assert (lead["onset_ticks"] // EIGHTH).tolist() == [0, 4, 6, 10, 12]
    assert lead["pitch_midi"].tolist() == [69, 66, 69, 66, 73]
    assert (read.notes[read.notes["voice"] == 1]["onset_ticks"] // EIGHTH).tolist() == [0, 4, 6, 10, 12]
    assert (read.barlines_ticks // EIGHTH).tolist() == [2, 6, 8, 12, 14]
    assert [(c.onset_ticks // EIGHTH, c.key_signature) for c in read.changes] == [(4, "xFC"), (6, ""), (10, "xFC")]


# -- files ------------------------------------------------------------------------------------------------------------


def read_bytes(data: bytes, *, strict: bool = True) -> list[Record]:
    return list(abc.read(io.BytesIO(data), strict=strict))


def test_several_tunes_with_a_file_header_and_free_text() -> None:
    text = "%abc-2.1\nL:1/4\nM:3/4\nC:Trad.\n\nfree text here\n\nX:1\nK:C\nA\n\nmore K: text\n\n"
    text += "X:2\nL:1/8\nK:D\nF\nX:3\nK:G\nF"
    found = [record.melody_or_raise() for record in read_bytes(text.encode())]
    assert [(m.id, m.composer, m.metre) for m in found] == [(str(n), "Trad.", "3/4") for n in (1, 2, 3)]
    assert [int(m.notes["duration_ticks"][0]) for m in found] == [2 * EIGHTH, EIGHTH, 2 * EIGHTH]
    for m in found:  # a tune's text is complete: it reads back to the same notes
        assert melody(m.music or "").notes.tolist() == m.notes.tolist()


def test_a_file_without_x_is_one_tune() -> None:
    [record] = read_bytes(b"T:t\n\nK:C\nAB\n\ncd")
    assert len(record.melody_or_raise()) == 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    [record] = read_bytes(f"X:1{end}K:C{end}AB|{end}cd".encode())
    assert len(record.melody_or_raise()) == 4


@pytest.mark.parametrize(
    "data",
    [
        "X:1\nT:Ré\nK:C\nA".encode(),
        b"\xef\xbb\xbf" + "X:1\nT:Ré\nK:C\nA".encode(),
        "X:1\nT:Ré\nK:C\nA".encode("latin-1"),
        "%%abc-charset iso-8859-15\nX:1\nT:Ré\nK:C\nA".encode("iso-8859-15"),
        b"%%abc-charset no-such-thing\nX:1\nT:R\xe9\nK:C\nA",
        b"X:1\nT:R\\'e\nK:C\nA",
        b"X:1\nT:R&eacute;\nK:C\nA",
    ],
)
def test_encodings(data: bytes) -> None:
    [record] = read_bytes(data)
    assert record.melody_or_raise().title == "Ré"


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        (b"X:1\nT:x\nK:C\n", True),
        (b"%abc-2.1\n", True),
        (b"\xef\xbb\xbfX: 1\r\nK:C\r\n", True),
        (b"% a book\n\nX:12\nK:C\n", True),
        (b"M:4/4\nK:G\nGAB", True),
        (b"%G-2@3/4 '4CDE/2.F", False),
        (b"@clef:G-2\n@data:4C", False),
        (b"**kern\n4c\n*-", False),
        (b'{"pae": "4C"}', False),
        (b"<?xml version='1.0'?>", False),
        (b"MThd\0\0", False),
        (b"", False),
    ],
)
def test_detection(head: bytes, answer: bool) -> None:
    assert abc.matches(head) is answer


# -- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X:1\nK:C\nAB %\nA€B", r"^4, 1, column 2: unreadable sign; expected a note, .*; found '€'"),
        ("X:1\nK:C\nA2 3B", "^3, 1, column 4: unreadable sign"),
        ("X:1\nK:C\nAB ^", "^3, 1, column 4: accidental without a note"),
        ("X:1\nK:Q\nA", "^2, 1, column 3: unreadable key; expected a key such as .*; found Q"),
        ("X:1\nK:G squiggle\nA", "unreadable key"),
        ("X:1\nM:4/5\nK:C\nA", "^2, 1, column 3: unreadable metre"),
        ("X:1\nL:long\nK:C\nA", "^2, 1, column 3: unreadable unit note length"),
        ("X:1\nK:C\nV:1 octave=x\nA", "unreadable modifier of a voice.*found octave=x"),
        ("X:1\nK:C\nV:\nA", "voice without a name"),
        ("X:1\n%%propagate-accidentals maybe\nK:C\nA", "unreadable propagate-accidentals"),
        ("X:1\nnothing\nK:C\nA", "^2, 1, column 1: unreadable line in the header"),
        ("X:1\nABC", "^2, 1, column 1: no key field before the music"),
        ("X:1\nK:C\nA [CE", r"^3, 1, column 3: chord without an end; expected \]"),
        ("X:1\nK:C\nA []", "empty chord"),
        ("X:1\nK:C\nA [C7§]", "^3, 1, column 6: unreadable sign in a chord"),
        ("X:1\nK:C\nA {ag", "^3, 1, column 3: grace notes without an end"),
        ('X:1\nK:C\nA "Am', '^3, 1, column 3: text without an end; expected a second "'),
        ("X:1\nK:C\n>A", "broken rhythm without a note before it"),
        ("X:1\nK:C\n-A", "tie without a note before it"),
        ("X:1\nK:C\nA-B", "^3, 1, column 3: tie to another note"),
        ("X:1\nK:C\nA : B", "^3, 1, column 3: colon without a bar line"),
        ("X:1\nK:C\nA|99 B", "unreadable ending"),
        ("X:1\nK:C\nA Z0", "bars of rest out of range"),
        ("X:1\nK:C\nA Z99999", "bars of rest out of range"),
        ("X:1\nK:C\nA0", "length out of range"),
        ("X:1\nK:C\nA/123456", "length out of range"),
        ("X:1\nL:999\nK:C\n[CE9999]9999", "length out of range"),
        ("X:1\nK:C\nA(0BC", "unreadable tuplet"),
        ("X:1\nK:C\nA,,,,,,,,", "^3, 1, column 1: pitch out of range"),
        ("X:1\nK:C\n+CE+", r"chord between plus signs; expected \[...\]"),
        ("X:1\nK:C\nA+B", "unreadable sign"),
    ],
)
def test_mistakes_are_located_and_survived(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        melody(text)
    record = lenient(text + "\nABCDEF")
    assert len(record.melody_or_raise()) >= 6
    assert len(record.problems) >= 1
    assert record.problems[0].line > 1
    assert record.problems[0].column > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "^1, column 1: no tune"),
        ("X:1\nK:C\nzzz", "^1, 1, column 1: no notes; expected at least one note; found only rests"),
        ("X:1\nT:title only", "no notes; expected at least one note; found none"),
        ("X:1\nK:C\n" + "A" * 200_001, "^3, 1, column 200001: too many notes"),
        ("X:1\nK:C\n" + "|" * 2_000_001, "too long for one tune"),
        ("X:1\nK:C\n" + "\n".join(f"V:{n}\nA" for n in range(1001)), "too many voices"),
        ("X:1\nK:C\nA" + "&A" * 1000, "too many voices"),
        ("X:1\nL:999/1\nK:C\nA" + "Z9999" * 200 + "A9999" * 100_000, "far too long"),
        ("X:1\nK:C\nA" + "§" * 10, "not music; expected more notes than unreadable signs"),
    ],
)
def test_refused_even_leniently(text: str, message: str) -> None:
    record = lenient(text)
    assert record.melody is None
    with pytest.raises(NotationError, match=message):
        record.melody_or_raise()


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "|:" + "A" * 20_000 + "|1-20 B:|",
            "1, 1: too many repeated notes; expected at most 50000 added to one melody",
        ),
        ("|:A|20 B:|" * 20_000, "too many repeats"),
        ("L:999/1\n" + "|:" + "A9999" * 100 + "|20 B:|", "far too long with its repeats"),
    ],
)
def test_repeats_that_run_away_are_refused(body: str, message: str) -> None:
    [record] = abc.read_tunes(tune(body), strict=False, expand_repeats=True)
    with pytest.raises(NotationError, match=message):
        record.melody_or_raise()


def test_old_chords_between_plus_signs() -> None:
    record = lenient(tune("+E3A3+ B +f+A"))
    assert record.melody_or_raise().notes["pitch_midi"].tolist() == [69, 64, 71, 69]


def test_signs_among_grace_notes_are_told_and_words_among_them_are_no_notes() -> None:
    record = lenient(tune('{"Am"g!accent!a§h}B'))
    assert record.melody_or_raise().notes["pitch_midi"].tolist() == [79, 81, 71]
    assert [problem.found for problem in record.problems] == ["'§'", "'h'"]
    assert {problem.reason for problem in record.problems} == {"unreadable sign in grace notes"}


def test_notes_between_exclamation_marks_are_read_and_told() -> None:
    record = lenient(tune("A!BcA!B !f!A !fff!A"))
    assert record.melody_or_raise().notes["pitch_midi"].tolist() == [69, 71, 72, 69, 71, 69, 69]
    (problem,) = record.problems
    assert (problem.reason, problem.found, problem.taken) == ("notes between ! and !", "!BcA!", "notes")


def test_only_so_many_problems_are_kept() -> None:
    assert len(lenient(tune("A§" * 500 + "A" * 10)).problems) == 100


def test_one_bad_tune_leaves_the_others() -> None:
    found = read_bytes(b"X:1\nK:C\nA\n\nX:2\nK:C\n[[[\n\nX:3\nK:C\nB")
    assert [record.melody is not None for record in found] == [True, False, True]


def test_limits_are_far_away() -> None:
    assert len(melody(tune("ABcd efga|" * 1250))) == 10_000
    assert MAX_NOTES == 200_000


# -- a second reader --------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_music21_agrees_on_a_fixed_sample() -> None:
    pytest.importorskip("music21", reason="needs music21: pip install 'roslin[test]'")
    result = compare(60)
    assert result.compared == 60
    assert result.agreed >= 54
    assert result.agreed + result.explained == result.compared

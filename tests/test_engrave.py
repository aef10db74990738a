from __future__ import annotations

import gzip
import json
import os
import random
import re
import resource
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roslin import TICKS_PER_QUARTER, Melody
from roslin.data import cache_folder
from roslin.engrave import engrave, mei_from_melody, read_entry, score, write_entry
from roslin.errors import ArgumentError, NotationError, SandboxError
from roslin.melody import SignatureChange
from roslin.notation import pae
from roslin.sandbox import Worker

SVG = "{http://www.w3.org/2000/svg}"
MEI = "{http://www.music-encoding.org/ns/mei}"
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"

# Plaine & Easie of all kinds: beams, tuplets, ties, chords, rests, changes, pick-ups, unusual signatures.
MUSIC = [
    "%G-2@3/4 '4CDE/2.F",
    "%C-1@c$bBEA '8CDEF{6GABG}/=12/4.G8xF2-/4C({6DEFGA;5})''4D+/D//",
    "%F-4@4/2$xFC ,,2.G4A+/A^C^E2-//",
    "%G-2@6/8 4'C8D8EFG/6CDEFGA{3BAGFEDCD}8E/@2/4$bB 4CD/",
    "%g-2@3/8 ''6CC'B8A/4(8GAB;3)8C/8(6CDE)(6CDE)8C",
    "%G-2@c/ 9'C1D2E4F8G6A3B5C7D/0.E/",
    "%G-2@3/4|2/4$x[F]CG '4.C8xDbEnF/xxFbbGnnG2G",
    "%G-2@o '1CD/E",
    "%G-2$bE '4CE%F-4 ,EC",
    "%G-2@5/4 (6'CDEFGAB;7)4CDE-/2C.4D(8EFG)",
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(90.0) as made:
        yield made


def read(text: str) -> Melody:
    records = list(pae.read_text(text, strict=False))
    return records[0].melody_or_raise()


def notes_in(svg: str) -> list[tuple[str, str]]:
    """(id, row) of every note, in the order of the drawing."""
    tree = ElementTree.fromstring(svg)
    return [(e.get("id", ""), e.get("data-note", "")) for e in tree.iter() if e.get("data-note")]


def elements(melody: Melody, name: str) -> list[dict[str, str]]:
    return [dict(element.attrib) for element in ElementTree.fromstring(mei_from_melody(melody)).iter(MEI + name)]


def assert_played_as_written(melody: Melody, worker: Worker) -> None:
    """A second route: verovio's own time map of our MEI has the table's onsets and pitches."""
    played = worker.call("sounding", {"data": mei_from_melody(melody), "format": "mei"})["notes"]
    found = {name: (onset, pitch) for onset, pitch, name in played}
    for row, note in enumerate(melody.notes):
        onset, pitch = found[f"note-{row}"]
        assert pitch == note["pitch_midi"]
        assert onset == pytest.approx(float(note["onset_ticks"]) / TICKS_PER_QUARTER, abs=0.002)


# -- what is drawn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("music", MUSIC)
def test_every_note_is_drawn_and_carries_its_row(music: str, worker: Worker) -> None:
    melody = read(music)
    drawing = engrave(melody, worker=worker)
    assert (drawing.drawn, drawing.reason) == (True, "")
    rows = {int(row) for _, row in notes_in(drawing.svg)}
    assert rows == set(range(len(melody)))
    assert_played_as_written(melody, worker)


@pytest.mark.parametrize("music", MUSIC)
def test_narrow_systems_hold_every_note(music: str, worker: Worker) -> None:
    melody = read(music)
    page, narrow, line = (engrave(melody, worker=worker, layout=layout) for layout in ("page", "narrow", "line"))
    assert notes_in(narrow.svg) == notes_in(page.svg) == notes_in(line.svg)
    assert 0 < narrow.width <= 440
    assert narrow.width <= page.width
    assert line.svg.count('class="system"') == 1
    assert narrow.svg.count('class="system"') >= page.svg.count('class="system"')


def test_a_melody_that_cannot_be_drawn_has_no_width(worker: Worker) -> None:
    nothing = engrave(Melody.from_notes([], [], []), worker=worker, layout="narrow")
    assert (nothing.drawn, nothing.width) == (False, 0)


def test_a_tied_note_is_drawn_in_pieces_of_one_row(worker: Worker) -> None:
    melody = Melody.from_notes([0, 3], [3, 1], [60, 62], barlines=[2], metre="2/4")
    drawn = notes_in(engrave(melody, worker=worker).svg)
    assert drawn == [("note-0", "0"), ("note-0-2", "0"), ("note-1", "1")]
    assert elements(melody, "tie") == [{"startid": "#note-0", "endid": "#note-0-2"}]


def test_grace_notes(worker: Worker) -> None:
    melody = read("%G-2@2/4 'gC4DqqEFr8GgAB/q2.C4D")
    assert [name for name, _ in notes_in(engrave(melody, worker=worker).svg)] == [
        f"note-{n}" for n in range(len(melody))
    ]
    graces = [(note["grace"], note["dur"]) for note in elements(melody, "note") if "grace" in note]
    assert graces == [("unacc", "8"), ("acc", "4"), ("acc", "4"), ("unacc", "8"), ("acc", "2")]


def test_grace_notes_without_a_note_to_lead_to(worker: Worker) -> None:
    only = Melody.from_notes([0, 0], [0, Fraction(1, 3)], [60, 62], graces=[True, True])
    last = Melody.from_notes([0, 1], [1, 0], [60, 62], graces=[False, True])
    for melody in (only, last):
        assert len(notes_in(engrave(melody, worker=worker).svg)) == 2


def test_accidentals_hold_until_the_bar_line_and_through_a_tie() -> None:
    melody = read("%G-2@4/4$xF '4xCCF''C/'nFFxF+/Fbb1B")
    signs = [(note["pname"], note.get("accid"), note.get("accid.ges")) for note in elements(melody, "note")]
    assert signs == [
        ("c", "s", None),
        ("c", None, "s"),
        ("f", None, "s"),
        ("c", None, None),
        ("f", "n", None),
        ("f", None, None),
        ("f", "s", None),
        ("f", None, "s"),
        ("b", "ff", None),
    ]


def test_accidentals_hold_where_there_is_no_bar_line() -> None:
    melody = Melody.from_notes(range(40), [1] * 40, [61, 60] * 20)
    signs = [note.get("accid") for note in elements(melody, "note")]
    assert signs == ["s", "n"] * 20
    same = Melody.from_notes(range(40), [1] * 40, [61] * 40)
    assert [note.get("accid") for note in elements(same, "note")] == ["s", *[None] * 39]
    lines = [measure["right"] for measure in elements(same, "measure")]
    assert len(lines) > 2
    assert set(lines) == {"invis"}


def test_rests_of_whole_bars() -> None:
    melody = read("%G-2@3/4 =/'4CDE/=/=/=/4C--/=5/4-DE/")
    assert [rest["num"] for rest in elements(melody, "multiRest")] == ["3", "5"]
    assert len(elements(melody, "mRest")) == 1
    assert [rest["dur"] for rest in elements(melody, "rest")] == ["2", "4"]


def test_beams_follow_the_beat() -> None:
    def beams(music: str) -> list[int]:
        tree = ElementTree.fromstring(mei_from_melody(read(music)))
        return [len([e for e in beam if e.tag == MEI + "note"]) for beam in tree.iter(MEI + "beam")]

    assert beams("%G-2@4/4 '8CDEFGABC/") == [2, 2, 2, 2]
    assert beams("%G-2@6/8 '8CDEFGA/") == [3, 3]
    assert beams("%G-2@3/8 '8CDE/") == [3]
    assert beams("%G-2@2/2 '8CDEF4GA/") == [4]
    assert beams("%G-2@4/4 '8DE/8CD-E4FG") == [2, 2]
    assert beams("%G-2@4/4 (8'CDE;3)4C") == [3]
    assert beams("%G-2@3/4 '8D/8CDEFGA/") == [2, 2, 2]
    assert beams("%G-2@4/4 '8C4.D8E%F-4 8E") == []


def test_signatures() -> None:
    assert elements(read("%F-4@c/$bBE '4C"), "clef") == [{"shape": "F", "line": "4"}]
    assert elements(read("%g-2 '4C"), "clef") == [{"shape": "G", "line": "2", "dis": "8", "dis.place": "below"}]
    assert elements(read("%F-4@c/$bBE '4C"), "keySig") == [{"sig": "2f"}]
    assert elements(read("%F-4@c/$bBE '4C"), "meterSig") == [{"sym": "cut"}]
    assert elements(read("%G-2@3 '4C"), "meterSig") == [{"count": "3", "unit": "4", "form": "num"}]
    assert elements(read("%G-2@o '4C"), "meterSig") == []
    assert elements(read("%G-2@3/4|2/4 '4C"), "meterSigGrp") == [{"func": "alternating"}]
    unusual = elements(read("%G-2$bE '4C"), "keyAccid")
    assert unusual == [{"pname": "e", "accid": "f", "oct": "5"}]
    changed = read("%G-2@3/4$xF '4CDE/$n@2/4 4CD/%F-4 $bB C")
    assert [key["sig"] for key in elements(changed, "keySig")] == ["1s", "0", "1f"]
    assert [clef["shape"] for clef in elements(changed, "clef")] == ["G", "F"]
    assert [metre["count"] for metre in elements(changed, "meterSig")] == ["3", "2"]
    low, high = (Melody.from_notes([0], [1], [pitch]) for pitch in (48, 67))
    assert [elements(melody, "clef")[0]["shape"] for melody in (low, high)] == ["F", "G"]


def test_a_bar_of_rest_right_after_a_change(worker: Worker) -> None:
    melody = read("%G-2@3/4 '4CDE/@2/4 =/4CD/=/=/@3/4 4CDE/=3/C")
    assert [rest["num"] for rest in elements(melody, "multiRest")] == ["2", "3"]
    assert_played_as_written(melody, worker)


def test_a_change_after_the_end_is_left_out() -> None:
    melody = replace(read("%G-2 '4CDE"), changes=(SignatureChange(99 * TICKS_PER_QUARTER, clef="F-4"),))
    assert len(elements(melody, "clef")) == 1


def test_voices_have_a_staff_each(worker: Worker) -> None:
    melody = Melody.from_notes(
        [0, 0, 1, 2, 3, 8, 8], [2, 1, 1, 2, 1, 1, 1], [72, 48, 50, 74, 52, 72, 48], voices=[0, 1, 1, 0, 1, 0, 1],
        barlines=[4, 8], metre="4/4",
    )  # fmt: skip
    assert [clef["shape"] for clef in elements(melody, "clef")] == ["G", "F"]
    drawing = engrave(melody, worker=worker)
    assert {int(row) for _, row in notes_in(drawing.svg)} == set(range(7))
    assert_played_as_written(melody, worker)


def test_a_bar_of_rest_in_all_voices(worker: Worker) -> None:
    melody = Melody.from_notes(
        [0, 0, 12, 12], [4, 4, 4, 4], [72, 48] * 2, voices=[0, 1] * 2, barlines=[4, 8, 12], metre="4/4"
    )
    assert [rest["num"] for rest in elements(melody, "multiRest")] == ["2", "2"]
    assert_played_as_written(melody, worker)


def test_a_spelling_that_contradicts_the_pitch_is_not_followed() -> None:
    melody = Melody.from_notes([0], [1], [61], base40=[162])
    assert elements(melody, "note")[0]["pname"] == "c"
    assert elements(melody, "note")[0]["accid"] == "s"


LENGTHS = [
    Fraction(n, d) for n, d in [(1, 1), (1, 2), (1, 4), (3, 2), (3, 4), (7, 4), (2, 3), (1, 3), (1, 6), (2, 5), (2, 7)]
]


@pytest.mark.long
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(LENGTHS), st.integers(40, 90), st.booleans()), min_size=1, max_size=20),
    st.sampled_from(["3/4", "4/4", "6/8", "5/8", None]),
)
def test_any_rhythm_is_played_as_written(
    worker: Worker, notes: list[tuple[Fraction, int, bool]], metre: str | None
) -> None:
    onsets, time = [], Fraction(0)
    kept = []
    for length, pitch, is_rest in notes:
        if not is_rest:
            onsets.append(time)
            kept.append((length, pitch))
        time += length
    if not kept:
        return
    melody = Melody.from_notes(onsets, [length for length, _ in kept], [pitch for _, pitch in kept], metre=metre)
    if metre is not None:
        upper, lower = map(int, metre.split("/"))
        melody = replace(melody, barlines_ticks=np.arange(1, 8) * upper * 4 * TICKS_PER_QUARTER // lower)
    with suppress(NotationError):  # a tuplet cut by a bar line can leave pieces that nothing can write
        assert_played_as_written(melody, worker)


# -- the drawing as a piece of a page ---------------------------------------------------------------------------------


def test_a_drawing_needs_nothing_but_itself(worker: Worker) -> None:
    svg = engrave(read(MUSIC[1]), "A <title> & more", worker=worker).svg
    tree = ElementTree.fromstring(svg)
    assert tree.findtext(f"{SVG}title") == "A <title> & more"
    assert tree.get("viewBox") == f"0 0 {tree.get('width')} {tree.get('height')}"
    assert (tree.get("fill"), tree.get("stroke"), tree.get("role")) == ("currentColor", "currentColor", "img")
    assert set(re.findall(r"https?://[^\s\"'<>]+", svg)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|<style|xlink|black|url\(|on\w+=", svg)


def test_nonsense_in_the_metadata_does_no_harm(worker: Worker) -> None:
    nonsense = "\x00\x1b<&>\"'\n²/0"
    melody = read(MUSIC[0]).with_metadata(title=nonsense, clef=nonsense, key_signature=nonsense, metre=nonsense)
    drawing = engrave(melody, worker=worker)
    assert drawing.drawn
    assert ElementTree.fromstring(drawing.svg).findtext(f"{SVG}title") == "Notation of <&>\"' ²/0"
    for metre in ("3/0", "0/4", "999/999", "1/999"):
        assert engrave(melody.with_metadata(metre=metre), worker=worker).drawn


def test_several_drawings_in_one_page(worker: Worker) -> None:
    engraving = engrave(read(MUSIC[0]), worker=worker)
    page = f"<div>{engraving.in_page('a-')}{engraving.in_page('b-')}</div>"
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {"a-note-0", "b-note-0"} <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_the_same_melody_gives_the_same_drawing(worker: Worker) -> None:
    melody = read(MUSIC[3])
    once = engrave(melody, worker=worker, use_cache=False)
    engrave(read(MUSIC[2]), worker=worker, use_cache=False)
    assert engrave(melody, worker=worker, use_cache=False) == once


# -- what cannot be drawn ---------------------------------------------------------------------------------------------


class FakeWorker(Worker):
    """A worker that gives one answer, or fails."""

    def __init__(self, answer: dict[str, Any] | None = None):
        super().__init__()
        self.answer = answer

    def call(self, function: str, payload: dict[str, Any]) -> dict[str, Any]:
        if self.answer is None:
            raise SandboxError("engrave: the worker process crashed (SIGSEGV)")
        return self.answer


def test_a_crash_is_a_reason() -> None:
    drawing = engrave(read(MUSIC[0]), worker=FakeWorker())
    assert (drawing.svg, drawing.drawn) == ("", False)
    assert drawing.reason == "engrave: the worker process crashed (SIGSEGV)"
    assert not list(cache_folder().rglob("*.z"))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"svg": "", "pages": 1}, "engrave: verovio gave no drawing"),
        ({"svg": '<svg viewBox="0 0 1 1"></svg>', "pages": 1}, "verovio left out 4 of 4 notes"),
        ({"svg": '<svg viewBox="0 0 1 1"></svg>', "pages": 2}, "too long for one drawing; expected one page; found 2"),
    ],
)
def test_a_drawing_that_is_none(answer: dict[str, Any], reason: str) -> None:
    assert engrave(read(MUSIC[0]), worker=FakeWorker(answer)).reason == reason


def test_what_notation_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = Melody.from_notes([0, Fraction(17, 19)], [Fraction(1, 19), 1], [60, 62])
    with pytest.raises(NotationError, match=r"a length that notation cannot write; found \d+ ticks"):
        mei_from_melody(odd)
    many = Melody.from_notes([0] * 9, [1] * 9, [60] * 9, voices=range(9))
    with pytest.raises(NotationError, match="too many voices for a drawing; expected at most 8; found 9"):
        mei_from_melody(many)
    with pytest.raises(NotationError, match="there are no notes"):
        mei_from_melody(Melody.from_notes([], [], []))
    monkeypatch.setattr(score, "MAX_DRAWN_NOTES", 3)
    with pytest.raises(NotationError, match="too many notes for a drawing; expected at most 3; found 4"):
        mei_from_melody(read(MUSIC[0]))
    monkeypatch.setattr(score, "MAX_DRAWN_NOTES", 10)
    monkeypatch.setattr(score, "MAX_BAR_LINES", 0)
    with pytest.raises(NotationError, match="too many bar lines for a drawing; expected at most 0; found 1"):
        mei_from_melody(read(MUSIC[0]))


# -- the cache --------------------------------------------------------------------------------------------------------


def entries() -> list[Path]:
    return sorted(path for path in cache_folder().rglob("*") if path.is_file())


def test_a_drawing_is_made_once(worker: Worker) -> None:
    melody = read(MUSIC[1])
    drawn = engrave(melody, "one", worker=worker)
    again = engrave(melody.with_metadata(id="other", title="other"), "one", worker=FakeWorker())
    assert again == drawn
    assert len(entries()) == 1
    assert "<title>two</title>" in engrave(melody, "two", worker=FakeWorker()).svg


def test_another_drawing_for_other_content(worker: Worker) -> None:
    melody = read(MUSIC[0])
    others = [
        melody,
        melody.with_metadata(clef="C-1"),
        melody.with_metadata(key_signature="xF"),
        melody.with_metadata(metre="3/8"),
        replace(melody, barlines_ticks=np.empty(0, dtype=np.int64)),
        replace(melody, changes=(SignatureChange(0, clef="F-4"),)),
        replace(melody, notes=melody.notes[:-1]),
    ]
    for other in others:
        engrave(other, worker=worker)
    assert len(entries()) == len(others)


@pytest.mark.parametrize("damage", [b"", b"garbage", zlib.compress(b"not a drawing"), zlib.compress(b"\xff\xfe")])
def test_a_damaged_entry_is_drawn_again(worker: Worker, damage: bytes) -> None:
    melody = read(MUSIC[0])
    drawn = engrave(melody, worker=worker)
    (entry,) = entries()
    whole = entry.read_bytes()
    for broken in (damage, whole[: len(whole) // 2], whole[:50] + b"\0\0" + whole[52:]):
        entry.write_bytes(broken)
        assert engrave(melody, worker=worker) == drawn
        assert entry.read_bytes() == whole


def test_a_folder_that_cannot_be_used(worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path / "file"))
    assert engrave(read(MUSIC[0]), worker=worker).drawn
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    assert engrave(read(MUSIC[0]), worker=worker).drawn
    assert entries() == []


def test_what_was_used_least_recently_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_CACHE_MEGABYTES", "1")  # 4096 bytes in each of the 256 folders
    text = random.Random(1).randbytes(700).hex()  # packs to more than 700 bytes
    keys = [f"ab{number}" for number in range(9)]
    for age, key in enumerate(keys):
        write_entry(key, text)
        for path in entries():
            if path.name.startswith(key):
                os.utime(path, (age, age))
        if age == 2:
            assert read_entry(keys[0]) == text  # used now: younger than all that follow
    left = [key for key in keys if read_entry(key) is not None]
    assert left[0] == keys[0]
    assert left[1:] == keys[-len(left) + 1 :]
    assert sum(path.stat().st_size for path in entries()) <= 4096
    write_entry("ab-large", random.Random(2).randbytes(9000).hex())
    assert [path.name for path in entries()] == ["ab-large.svg.z"]


def test_the_size_of_the_cache_can_be_set(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_CACHE_MEGABYTES", "0")
    assert engrave(read(MUSIC[0]), worker=worker).drawn
    assert entries() == []
    monkeypatch.setenv("ROSLIN_CACHE_MEGABYTES", "lots")
    with pytest.raises(ArgumentError, match="ROSLIN_CACHE_MEGABYTES must be a whole number from 0; got 'lots'"):
        engrave(read(MUSIC[0]), worker=worker)


def test_a_full_disk_leaves_nothing_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        write_entry("aabb", "a drawing, longer than the disk has room for")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    write_entry("aabb", "a drawing")
    assert read_entry("aabb") == "a drawing"


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("ROSLIN_CACHE", "/chosen")
    assert cache_folder() == Path("/chosen")
    monkeypatch.delenv("ROSLIN_CACHE")
    assert cache_folder() == Path("/somewhere/roslin")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "roslin"


def test_several_at_once(worker: Worker) -> None:
    melodies = [read(music) for music in MUSIC[:4]] * 4
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda melody: engrave(melody, worker=worker), melodies))
    assert all(drawing.drawn for drawing in drawn)
    assert drawn[:4] == drawn[4:8]
    assert len(entries()) == 4


# -- real incipits ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_real_incipits(data_folder: Path, worker: Worker) -> None:
    with gzip.open(data_folder / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = random.Random(5).sample(file.readlines(), 60)
    for line in lines:
        record = pae.read_incipit(pae.incipit_from_mapping(json.loads(line)), strict=False)
        if record.melody is not None:
            drawing = engrave(record.melody, worker=worker)
            assert drawing.drawn, f"{drawing.reason}: {line}"

"""A melody as text, as sound and as a picture, asked of the melody itself."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import mido
import pytest

from roslin import ArgumentError, FormatError, Melody, MelodyError, NotationError, load
from roslin.melody.melody import WRITERS, writer
from roslin.notation import pae
from roslin.playback import midi_bytes

TUNE = load("%G-2@3/4$bB '4G/''CDE/2.F//")[0].with_metadata(id="tune", title="A tune")


@pytest.mark.parametrize("form", WRITERS)
def test_every_form_has_somebody_who_makes_it(form: str) -> None:
    assert callable(writer(form))


def test_plaine_and_easie() -> None:
    assert TUNE.to_pae() == pae.write(TUNE) == "%G-2@3/4$bB '4G/''CDE/2.F/"
    assert TUNE.to_pae("fields").startswith("@clef:G-2")
    assert TUNE.bars(1).transposed("minor third down").stretched(2).to_pae() == "%G-2@3/2$xFC '2AB''C/"
    with pytest.raises(ArgumentError, match="style must be one of line, fields, json, marc, music; got 'roman'"):
        TUNE.to_pae("roman")
    with pytest.raises(NotationError, match="voices cannot be written"):
        Melody.from_notes([0, 0], [1, 1], [60, 64], voices=[0, 1]).to_pae()


def test_what_is_written_reads_back() -> None:
    for part in (TUNE, TUNE[1:4], TUNE.bars(1, 2).transposed(6), TUNE.stretched(0.5)):
        (again,) = load(part.to_pae())
        columns = ["onset_ticks", "duration_ticks", "pitch_base40"]
        assert again.notes[columns].tolist() == part.notes[columns].tolist()
        assert again.barlines_ticks.tolist() == part.barlines_ticks.tolist()
        assert (again.clef, again.key_signature, again.metre) == (part.clef, part.key_signature, part.metre)


def test_midi(tmp_path: Path) -> None:
    data = TUNE.to_midi(tmp_path / "tune.mid", quarters_per_minute=120)
    assert data == midi_bytes(TUNE, 120) == (tmp_path / "tune.mid").read_bytes()
    messages = list(mido.MidiFile(file=io.BytesIO(data)))
    assert [message.note for message in messages if message.type == "note_on"] == [67, 72, 74, 76, 77]
    assert [message.tempo for message in messages if message.type == "set_tempo"] == [500_000]
    assert TUNE.to_midi() == midi_bytes(TUNE)
    assert TUNE.to_midi(str(tmp_path / "again.mid")) == (tmp_path / "again.mid").read_bytes()
    with pytest.raises(FormatError, match=r"no/tune\.mid: cannot be written: No such file or directory"):
        TUNE.to_midi(tmp_path / "no" / "tune.mid")
    with pytest.raises(MelodyError, match="the tempo must be from 4 to 1000"):
        TUNE.to_midi(quarters_per_minute=0)


def test_a_picture_for_notebooks() -> None:
    picture = TUNE.transposed(2)._repr_svg_()
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "background: white" in root.attrib["style"]
    notes = [element for element in root.iter() if "data-note" in element.attrib]
    assert [element.attrib["data-note"] for element in notes] == ["0", "1", "2", "3", "4"]
    # Two pictures in one page have no id in common.
    ids = [{e.attrib["id"] for e in ElementTree.fromstring(m._repr_svg_()).iter() if "id" in e.attrib}
           for m in (TUNE, TUNE.transposed(2))]  # fmt: skip
    assert ids[0]
    assert not ids[0] & ids[1]


def test_a_piano_roll_where_notation_cannot_say_it() -> None:
    odd = TUNE.stretched(1.2345)
    root = ElementTree.fromstring(odd._repr_svg_())
    assert root.attrib["class"] == "roll"
    assert ElementTree.fromstring(Melody.from_notes([], [], [])._repr_svg_()).tag.endswith("svg")


def test_in_a_line() -> None:
    assert repr(TUNE) == "Melody('tune', 'A tune', 5 notes)"
    assert str(TUNE) == "tune: A tune: 5 notes: G4 C5 D5 E5 F5"
    long = Melody.from_notes(range(9), [1] * 9, range(60, 69))
    assert str(long) == "9 notes: C4 C♯4 D4 E♭4 E4 F4 F♯4 G4 ..."
    assert (repr(long), str(long[:0])) == ("Melody(None, 9 notes)", "0 notes")

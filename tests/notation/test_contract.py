"""One suite over every registered format: what anybody may count on, whatever the notation."""

from __future__ import annotations

import importlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.notation.samples import (
    PITCHES,
    SAMPLES,
    Sample,
    abc_tune,
    jsonl_line,
    kern,
    mei,
    musicxml,
    musicxml_note,
)

from roslin import Melody, load
from roslin.errors import FormatError, NotationError, RoslinError, UnknownNameError
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation import FORMATS, Options, Record, records
from roslin.starter import tunes_path

ANY_FORMAT = pytest.mark.parametrize("name", FORMATS)
BROKEN = [(name, data) for name, sample in SAMPLES.items() for data in sample.broken]
MANY = 10_000
WHOLE_FILE = {"broken archive"}  # no part of it can be looked at: its place is the file
TUNES = load(tunes_path())


def sample_of(name: str) -> Sample:
    assert name in SAMPLES, f"{name} is registered, but tests/notation/samples.py has nothing to try it on"
    return SAMPLES[name]


def check_scale(melody: Melody, count: int) -> None:
    notes = melody.notes
    assert notes["pitch_midi"].tolist() == [PITCHES[number % 7] for number in range(count)]
    assert notes["onset_ticks"].tolist() == [number * TICKS_PER_QUARTER for number in range(count)]
    assert (notes["duration_ticks"] == TICKS_PER_QUARTER).all()
    assert not notes["is_grace"].any()


def check_place(record: Record) -> None:
    """Every problem says what is wrong and where."""
    assert record.melody is not None or record.problems
    for problem in record.problems:
        assert problem.reason
        assert problem.line or problem.column or problem.reason in WHOLE_FILE, str(problem)
        assert "\n" not in str(problem)
        assert "Traceback" not in str(problem)


@ANY_FORMAT
def test_every_format_has_samples(name: str) -> None:
    sample = sample_of(name)
    module = importlib.import_module(f"roslin.notation.{name}")
    writers = [public for public in vars(module) if public.startswith("write")]
    assert bool(writers) == (sample.write is not None)


@ANY_FORMAT
@pytest.mark.parametrize("count", [1, 2, 100])
def test_the_scale(name: str, count: int) -> None:
    (melody,) = load(sample_of(name).scale(count), name)
    check_scale(melody, count)


@pytest.mark.long
@ANY_FORMAT
def test_ten_thousand_notes(name: str) -> None:
    (melody,) = load(sample_of(name).scale(MANY), name)
    check_scale(melody, MANY)


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.write])
def test_what_is_written_reads_back(name: str) -> None:
    write = SAMPLES[name].write
    assert write is not None
    for tune in TUNES:
        (again,) = load(write(tune), name)
        kept = tune.notes[~tune.notes["is_grace"]] if name == "midi" else tune.notes  # MIDI has no grace notes
        for column in ("onset_ticks", "duration_ticks", "pitch_midi", "is_grace", "voice"):
            assert again.notes[column].tolist() == kept[column].tolist(), tune.id
        if name != "midi":
            assert again.notes["pitch_base40"].tolist() == kept["pitch_base40"].tolist(), tune.id


@ANY_FORMAT
@pytest.mark.parametrize("data", [b"", b"\n", b"   \n\n"], ids=["nothing", "a line end", "spaces"])
def test_empty_input(name: str, data: bytes) -> None:
    for strict in (True, False):
        for record in records(data, name, strict=strict):
            assert record.melody is None
            check_place(record)


@ANY_FORMAT
def test_only_rests(name: str) -> None:
    for strict in (True, False):
        (record,) = records(sample_of(name).rests, name, strict=strict)
        assert record.melody is None
        assert record.problems[0].reason == "no notes"
        check_place(record)


@ANY_FORMAT
def test_only_grace_notes(name: str) -> None:
    """They are taken as what they are, or refused."""
    (record,) = records(sample_of(name).graces, name, strict=False)
    check_place(record)
    if record.melody is not None:
        assert record.melody.notes["is_grace"].all()
        assert len(record.melody) > 1


@pytest.mark.parametrize(("name", "data"), BROKEN, ids=[f"{name}-{data[-12:]!r}" for name, data in BROKEN])
def test_broken_input_is_located(name: str, data: bytes) -> None:
    found = list(records(data, name, strict=False))
    assert any(record.problems for record in found)
    for record in found:
        check_place(record)
    with pytest.raises(NotationError):
        load(data, name, strict=True)


@ANY_FORMAT
def test_several_threads_read_what_one_reads(name: str) -> None:
    files = [sample_of(name).scale(count) for count in (1, 5, 8, 13, 40)] * 3
    expected = [load(data, name) for data in files]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda data: load(data, name), files)) == expected


@ANY_FORMAT
def test_a_file_is_known_by_its_content(name: str, tmp_path: Path) -> None:
    data = sample_of(name).scale(8)
    expected = load(data, name)
    assert load(data) == expected
    for file in ("tune", "tune.dat", "tune.mid", "tune.xml", "tune.abc"):
        (tmp_path / file).write_bytes(data)
        melodies = load(tmp_path / file)
        if FORMATS[name].counts:
            assert [melody.id for melody in melodies] == [f"tune-{melody.id}" for melody in expected]
            melodies = [melody.with_metadata(id=one.id) for melody, one in zip(melodies, expected, strict=True)]
        assert melodies == expected


@ANY_FORMAT
def test_a_problem_names_its_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tune.dat"
    path.write_bytes(sample_of(name).rests)
    (record,) = records(path, name)
    assert record.problems[0].file == os.fspath(path)


@ANY_FORMAT
def test_random_bytes_are_refused(name: str) -> None:
    for data in (
        bytes(range(256)),
        b"\xff" * 1000,
        b"\0" * 1000,
        b"PK\3\4" + bytes(200),
        "é\u2028日本".encode("utf-16"),
    ):
        for record in records(data, name, strict=False):
            assert record.melody is None
            check_place(record)


# -- options ----------------------------------------------------------------------------------------------------------

ASKED: dict[str, Options] = {
    "part": {"part": 1},
    "voice": {"voice": 0},
    "voices": {"voices": "together"},
    "written_pitch": {"written_pitch": True},
    "track": {"track": 1},
    "channel": {"channel": 1},
    "quantise": {"quantise": "1/16"},
    "expand_repeats": {"expand_repeats": True},
}


@ANY_FORMAT
def test_options_are_known_or_refused(name: str) -> None:
    data = sample_of(name).scale(8)
    assert set(ASKED) == set(Options.__annotations__)
    assert set(FORMATS[name].options) <= set(ASKED)
    for option, asked in ASKED.items():
        if option in FORMATS[name].options or option == "voices":  # where there is one melody, it is one already
            check_scale(load(data, name, **asked)[0], 8)
        else:
            with pytest.raises(FormatError, match=f"{name} has no option '{option}'; formats that do: [a-z]"):
                load(data, name, **asked)


def test_voices_are_apart_or_together() -> None:
    assert load("'4CDE", voices="apart") == load("'4CDE", voices="together") == load("'4CDE")
    with pytest.raises(UnknownNameError, match="unknown value of voices 'mixed'; known: apart, together"):
        load("'4C", voices="mixed")  # type: ignore[arg-type]


def test_an_option_that_nobody_knows() -> None:
    with pytest.raises(RoslinError, match="unknown option 'tempo'; known: part, voice"):
        load("'4C", tempo=3)  # type: ignore[call-arg]


# -- nothing is left out without a word -------------------------------------------------------------------------------

GOOD: dict[str, list[str]] = {
    "kern": ["4c", "8dd#", "16qBB-", "4.e;"],
    "mei": ['<note pname="c" oct="4" dur="4"/>', '<beam><note pname="b" oct="3" dur="8" accid="f"/></beam>'],
    "musicxml": [musicxml_note("C"), musicxml_note("G"), musicxml_note("B").replace("<note>", "<note default-x='1'>")],
    "abc": ["C", "^d2", "_B,/", "{g}", "!trill!A", '"Am"e', "~G"],
    "pae": ["'4C", "8xD", "''6bE", "gF", "2.G"],
    "names": ["c4", "do5", "fis4"],
    "volpiano": ["c", "8-", "E", ")7", "ij", "3Ij"],
    "gabc": ["la(f)", "(g./)", " E(fr)", "<i>la</i>(hxh)", "(,) la(c4 G)"],
    "jsonl": ['{"pae": "4C"}', '{"data": "8D"}', '{"notes": [[0, 1, 60, 162, 0, 0]]}', '{"seconds": [[0, 1, 60]]}'],
}
BAD: dict[str, list[str]] = {
    "kern": ["89n", "8h", "4", "xyz", "4.", "q", "4H"],
    "mei": [
        '<note pname="h" oct="4" dur="4"/>',
        '<note oct="4" dur="4"/>',
        '<note pname="c" oct="x" dur="4"/>',
        '<note pname="c" oct="4"/>',
        '<chord dur="4"><note pname="q" oct="4"/></chord>',
        '<notes><note pname="c" oct="4" dur="4"/></notes>',
    ],
    "musicxml": [
        musicxml_note("H"),
        musicxml_note("c"),
        musicxml_note("C").replace("<octave>4</octave>", "<octave>44</octave>"),
        "<note><duration>2</duration><type>quarter</type></note>",
        "<note/>",
    ],
    "abc": ["§", "{§}", "{h}", "[§]", "[k]", "k", "^"],
    "pae": ["Z", "Ü", "h", "&#xdc;", "[abc C]", "k"],
    "names": ["x4", "hello", "c44"],
    "volpiano": ["t", "V", "'", "[?]", "é"],
    "gabc": ["(&)", "(é)", "(u)", "({)"],
    "jsonl": ["{", "[1]", '{"id": "x"}', '{"notes": [[0]]}', '{"seconds": [[0, 1]]}', '{"pae": "4"}'],
}


def written(name: str, tokens: list[str]) -> bytes:
    """A file in a format of such tokens, in a row."""
    if name == "kern":
        return kern(*tokens)
    if name in ("mei", "musicxml"):
        return (mei if name == "mei" else musicxml)(["".join(tokens)])
    if name == "abc":
        return abc_tune(" ".join(tokens))
    if name in ("volpiano", "gabc"):
        return ("1---" if name == "volpiano" else "(c4)").encode() + "-".join(tokens).encode()
    return {"pae": "/", "names": " ", "jsonl": "\n"}[name].join(tokens).encode()


@pytest.mark.long
@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_is_left_out_is_told_with_its_place(name: str, data: st.DataObject) -> None:
    good = data.draw(st.lists(st.sampled_from(GOOD[name]), min_size=8, max_size=8))
    bad = data.draw(st.lists(st.sampled_from(BAD[name]), min_size=1, max_size=3))
    tokens = data.draw(st.permutations(good + bad))
    found = list(records(written(name, tokens), name))
    assert sum(len(record.melody or ()) for record in found) == len(good)
    for record in found:
        check_place(record)
    places = {(problem.line, problem.column) for record in found for problem in record.problems}
    assert len(places) >= len(bad)
    assert all(record.problems for record in records(written(name, tokens), name, strict=True) if not record.melody)
    assert any(record.melody is None for record in records(written(name, tokens), name, strict=True))
    assert not any(record.problems for record in records(written(name, good), name) if name != "names")


# -- repeats ----------------------------------------------------------------------------------------------------------

FIGURE = "!'6" + "C" * 240 + "!" + "f" * 200  # 48,000 notes from 445 signs
REPEATING: dict[str, tuple[bytes, bytes]] = {
    "pae": (f"{FIGURE}\n".encode(), f"{FIGURE}ffffffffff\n".encode()),
    "jsonl": (jsonl_line(pae=FIGURE), jsonl_line(pae=f"{FIGURE}ffffffffff")),
    "abc": (abc_tune("|:" + "C" * 2500 + "|1-20 D:|\n"), abc_tune("|:" + "C" * 2700 + "|1-20 D:|\n")),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REPEATING)
def test_repeats_have_a_limit_for_a_melody_and_for_a_file(name: str) -> None:
    most, too_many = REPEATING[name]
    asked: Options = {"expand_repeats": True} if name == "abc" else {}
    (refused,) = records(too_many, name, **asked)
    assert refused.melody is None
    assert refused.problems[0].reason == "too many repeated notes"
    assert refused.problems[0].expected == "at most 50000 added to one melody by repeats"
    assert refused.problems[0].column or refused.problems[0].line
    for data in (most, too_many):  # refused ones cost as much
        found = list(records(data * 20, name, **asked))
        assert len(found) in (4, 5)
        last = found[-1].problems[0]
        assert last.reason == "too many repeated notes"
        assert last.expected.startswith("at most 200000 added to one file by repeats, or 4 times as many as")
        assert last.record == ("1" if name == "abc" else "scale" if name == "jsonl" else f"melody {len(found)}")
        assert last.is_damage

"""The implication-realization parser: every label, every cue, every overlap, and a second parser."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from tests.matchers.melodies import TUNES, moved

from roslin import Melody
from roslin.matchers.edit.gam import LABELS, structures
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.line import melodic_line
from roslin.represent.points import point_sets


class Structure(NamedTuple):
    label: str
    size: int
    direction: int
    overlap: int


def parsed(melody: Melody, **options: float) -> list[Structure]:
    found = structures([melody], **options)  # type: ignore[arg-type]  # whole numbers and others together
    columns = (found.label, found.size, found.direction, found.overlap)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Structure(LABELS[label], size, direction, overlap) for label, size, direction, overlap in rows]


def even(pitches: list[int]) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


@pytest.mark.parametrize(
    ("label", "intervals"),
    [
        ("P", (2, 2)), ("P", (1, 4)), ("P", (-6, -3)), ("(P)", (7, 7)), ("(P)", (-9, -12)),
        ("D", (0, 0)),
        ("ID", (2, -2)), ("ID", (-6, 6)), ("(ID)", (7, -7)),
        ("IP", (2, -4)), ("IP", (4, -3)), ("IP", (2, 0)), ("IP", (0, -2)), ("(IP)", (8, -7)),
        ("VP", (2, 7)), ("VP", (1, 5)), ("(VP)", (7, 11)),
        ("R", (9, -2)), ("R", (-7, 0)), ("(R)", (5, -2)), ("(R)", (-3, 0)),
        ("IR", (9, 2)), ("(IR)", (6, 2)),
        ("VR", (7, -12)), ("(VR)", (2, -7)), ("(VR)", (0, 3)),
    ],
)  # fmt: skip
def test_labels(label: str, intervals: tuple[int, int]) -> None:
    pitches = [60, 60 + intervals[0], 60 + sum(intervals)]
    direction = int(np.sign(sum(intervals)))
    assert parsed(even(pitches)) == [Structure(label, 3, direction, 0)]


def test_the_examples_of_the_page() -> None:
    assert parsed(even([60, 62, 64, 60])) == [Structure("P", 3, 1, 2), Structure("IP", 3, -1, 0)]
    assert parsed(even([60, 62, 64, 65, 67])) == [Structure("P", 5, 1, 0)]
    with_rest = Melody.from_notes([0, 1, 2, 4, 5], [1] * 5, [60, 62, 64, 65, 67])
    assert parsed(with_rest) == [Structure("P", 3, 1, 1), Structure("P", 3, 1, 0)]


def test_what_is_small_can_be_set() -> None:
    assert parsed(even([60, 66, 72]), small=5) == [Structure("(P)", 3, 1, 0)]


def test_chains() -> None:
    assert parsed(even([60] * 5)) == [Structure("D", 5, 0, 0)]
    assert parsed(even([40, 50, 60, 70])) == [Structure("(P)", 4, 1, 0)]
    assert parsed(even([60, 62, 60, 62])) == [Structure("ID", 3, 0, 2), Structure("ID", 3, 0, 0)]
    up_and_down = parsed(even([60, 62, 64, 62, 60]))
    assert up_and_down == [Structure("P", 3, 1, 2), Structure("ID", 3, 0, 2), Structure("P", 3, -1, 0)]


def test_one_cue_is_weak_closure_and_two_are_strong() -> None:
    pitches = [60, 62, 64, 65, 67, 69]
    long = Melody.from_notes([0, 1, 2, 4, 5, 6], [1, 1, 2, 1, 1, 1], pitches)
    assert parsed(long) == [Structure("P", 3, 1, 1), Structure("P", 4, 1, 0)]
    long_and_rest = Melody.from_notes([0, 1, 2, 5, 6, 7], [1, 1, 2, 1, 1, 1], pitches)
    assert parsed(long_and_rest) == [Structure("P", 3, 1, 0), Structure("P", 3, 1, 0)]
    assert parsed(long_and_rest, longer=2.5) == [Structure("P", 3, 1, 1), Structure("P", 4, 1, 0)]
    assert parsed(long_and_rest, longer=2.5, rest=0.5) == [Structure("P", 6, 1, 0)]


def test_accents_need_bar_lines() -> None:
    pitches = [60, 62, 64, 65, 67, 69]
    in_three = Melody.from_notes(range(6), [1] * 6, pitches, barlines=[3, 6])
    assert parsed(in_three) == [Structure("P", 4, 1, 1), Structure("P", 3, 1, 0)]
    assert parsed(in_three, accent=2.0) == parsed(even(pitches)) == [Structure("P", 6, 1, 0)]
    in_four = Melody.from_notes(range(6), [1] * 6, pitches, barlines=[4])
    assert [found.size for found in parsed(in_four, accent=0.5)] == [3, 3, 2]


def test_what_is_left_alone() -> None:
    assert parsed(Melody.from_notes([], [], [])) == []
    assert parsed(even([60])) == [Structure("monad", 1, 0, 0)]
    assert parsed(even([64, 60])) == [Structure("dyad", 2, -1, 0)]
    strong = Melody.from_notes([0, 1, 4], [1, 2, 1], [60, 62, 64])
    assert parsed(strong) == [Structure("dyad", 2, 1, 0), Structure("monad", 1, 0, 0)]
    weak = Melody.from_notes([0, 1, 3], [1, 2, 1], [60, 62, 64])
    assert parsed(weak) == [Structure("dyad", 2, 1, 1), Structure("dyad", 2, 1, 0)]


def test_transposition_and_tempo_do_not_matter() -> None:
    for tune in TUNES[::10]:
        slow = moved(tune, slower=2.0)
        bars = 2 * tune.barlines_ticks
        slow = Melody(slow.notes, barlines_ticks=bars)
        assert parsed(slow) == parsed(tune) == parsed(Melody(moved(tune, up=3).notes, barlines_ticks=bars // 2))


def test_a_second_parser_agrees() -> None:
    random = np.random.default_rng(5)
    melodies = list(TUNES[::6])
    for _ in range(200):
        n = int(random.integers(0, 14))
        durations = random.choice([0.5, 1.0, 1.5, 2.0], n)
        gaps = random.choice([0.0, 0.0, 0.0, 0.25, 1.0], n)
        onsets = np.concatenate([[0.0], np.cumsum(durations + gaps)])[:n]
        bars = np.arange(2.0, onsets.max(initial=0.0) + 1, 2.0)[: 100 * int(random.integers(0, 2))]
        pitches = random.choice([48, 55, 59, 60, 60, 62, 64, 72], n)
        melodies.append(Melody.from_notes(onsets, durations, pitches, barlines=bars))
    for melody in melodies:
        assert parsed(melody, accent=0.5) == slowly(melody, accent=0.5)


def slowly(melody: Melody, accent: float) -> list[Structure]:
    """The rules of the page, one after the other."""
    line = melodic_line(melody)
    stress = [1.0] * len(line)
    if len(line):
        plain = point_sets([Melody(line, barlines_ticks=melody.barlines_ticks)], weight="stress")
        stress = (plain.weight / plain.duration).tolist()
    onset = (line["onset_ticks"] / TICKS_PER_QUARTER).tolist()
    length = (line["duration_ticks"] / TICKS_PER_QUARTER).tolist()
    pitch = line["pitch_midi"].tolist()
    last = len(pitch) - 1

    def cues(k: int) -> int:
        gap = onset[k + 1] - onset[k] - length[k]
        metre = len(melody.barlines_ticks) > 0 and stress[k] >= accent
        found = (
            gap >= 0.25 * (onset[k + 1] - onset[k]),
            length[k] >= 1.5 * length[k - 1],
            metre and stress[k] > max(stress[k - 1], stress[k + 1]),
        )
        return sum(map(int, found))

    groups: list[tuple[int, int, int]] = []  # first note, last note, overlap with the next group
    first = 0
    for k in range(1, last):
        if k > first and cues(k):
            groups.append((first, k, 1 if cues(k) == 1 else 0))
            first = k if cues(k) == 1 else k + 1
    if last >= 0:
        groups.append((first, last, 0))
    found: list[Structure] = []
    for begin, end, overlap in groups:
        notes = pitch[begin : end + 1]
        if len(notes) < 3:
            name = ("monad", "dyad")[len(notes) - 1]
            found.append(Structure(name, len(notes), int(np.sign(notes[-1] - notes[0])), overlap))
            continue
        names = [name_of(b - a, c - b) for a, b, c in zip(notes, notes[1:], notes[2:], strict=False)]
        k = 0
        while k < len(names):
            size = 3
            while names[k] in ("P", "(P)", "D") and k + size - 2 < len(names) and names[k + size - 2] == names[k]:
                size += 1
            is_last = k + size - 2 == len(names)
            direction = int(np.sign(notes[k + size - 1] - notes[k]))
            found.append(Structure(names[k], size, direction, overlap if is_last else 2))
            k += size - 2
    return found


def name_of(x: int, y: int) -> str:
    large, same = abs(x) > 6, np.sign(x) == np.sign(y)
    if x == y == 0:
        return "D"
    if same and abs(abs(x) - abs(y)) <= 3:
        plain, expected_large = "P", False
    elif same:
        plain, expected_large = ("VP", False) if abs(y) > abs(x) else ("IR", True)
    elif abs(abs(x) - abs(y)) <= 2:
        plain, expected_large = ("ID" if abs(x) == abs(y) else "IP"), False
    else:
        plain, expected_large = ("VR" if abs(y) > abs(x) else "R"), True
    return plain if large == expected_large else f"({plain})"

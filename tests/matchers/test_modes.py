"""Modes mean the same for every matcher that declares them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.matchers.melodies import a_fourth_higher

from roslin import ArgumentError, Melody, matcher, matchers
from roslin.errors import UnknownNameError
from roslin.matchers import MATCHERS, Matcher, fuse
from roslin.matchers.base import MODE_WORDS, MODES, Mode, has_mode, in_mode, those_with

LENGTHS = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0])


def made(pitches: list[int], lengths: list[float], bar: float | None = None) -> Melody:
    onsets = np.concatenate([[0.0], np.cumsum(lengths)])
    bars = [] if bar is None else np.arange(bar, onsets[-1], bar).tolist()
    return Melody.from_notes(onsets[:-1].tolist(), list(lengths), list(pitches), barlines=bars)


def some(random: np.random.Generator, notes: int) -> Melody:
    """A tune in steps and small leaps, with bars or without."""
    pitches = 67 + np.cumsum(random.choice([-5, -4, -2, -1, 0, 1, 2, 3, 7], notes))
    bar = (None, 3.0, 4.0)[int(random.integers(3))]
    return made(np.clip(pitches, 40, 100).tolist(), random.choice(LENGTHS, notes).tolist(), bar)


def pitches_of(melody: Melody) -> list[int]:
    pitches: list[int] = melody.notes["pitch_midi"].tolist()
    return pitches


def lengths_of(melody: Melody) -> list[float]:
    lengths: list[float] = (melody.notes["duration_ticks"] / 40320).tolist()
    return lengths


def other_rhythm(melody: Melody, random: np.random.Generator) -> Melody:
    bar = (None, 3.0, 4.0)[int(random.integers(3))]
    return made(pitches_of(melody), random.choice(LENGTHS, len(melody)).tolist(), bar)


def other_pitches(melody: Melody, random: np.random.Generator) -> Melody:
    bars = melody.barlines_ticks / 40320
    lengths = lengths_of(melody)
    onsets = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return Melody.from_notes(
        onsets.tolist(), lengths, random.integers(50, 80, len(melody)).tolist(), barlines=bars.tolist()
    )


def other_steps(melody: Melody, random: np.random.Generator) -> Melody:
    """Up, the same and down where they were, by other intervals."""
    signs = np.sign(np.diff(pitches_of(melody)))
    pitches = 64 + np.concatenate([[0], np.cumsum(signs * random.integers(1, 4, len(signs)))])
    return made(pitches.tolist(), lengths_of(melody))


CHANGES: dict[str, Callable[[Melody, np.random.Generator], Melody]] = {
    "melody": other_rhythm,
    "rhythm": other_pitches,
    "contour": other_steps,
}


def in_one_mode(name: str, mode: str, value: str) -> Matcher:
    return in_mode(matcher(name), **{mode: value})


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(15)


@pytest.fixture
def tunes(random: np.random.Generator) -> list[Melody]:
    return [some(random, int(notes)) for notes in random.integers(8, 30, 40)]


@pytest.fixture
def plain(tunes: list[Melody]) -> list[Melody]:
    """Without bars, so that they can be joined."""
    return [made(pitches_of(tune), lengths_of(tune)) for tune in tunes]


@pytest.mark.parametrize(
    ("value", "name"), [(value, name) for value in CHANGES for name in those_with("compare", value)]
)
def test_what_is_not_compared_does_not_count(
    value: str, name: str, tunes: list[Melody], random: np.random.Generator
) -> None:
    chosen, change = in_one_mode(name, "compare", value), CHANGES[value]
    for query in tunes[:10]:
        expected = chosen.distances(query, tunes)
        assert np.ptp(expected) > 0
        assert chosen.distances(change(query, random), tunes) == pytest.approx(expected, abs=1e-12)
        assert chosen.distances(query, [change(tune, random) for tune in tunes]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", those_with("compare", "both"))
def test_both_means_that_both_count(name: str, tunes: list[Melody], random: np.random.Generator) -> None:
    chosen, query = in_one_mode(name, "compare", "both"), tunes[0]
    for change in (other_rhythm, other_pitches):
        assert chosen.distances(query, [query, *(change(query, random) for _ in range(5))]).max() > 0


@pytest.mark.parametrize("name", those_with("key", "any"))
def test_in_any_key(name: str, tunes: list[Melody]) -> None:
    chosen = in_one_mode(name, "key", "any")
    expected = chosen.distances(tunes[0], tunes)
    assert chosen.distances(a_fourth_higher(tunes[0]), tunes) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", those_with("key", "written"))
def test_a_written_key_is_seen(name: str, tunes: list[Melody]) -> None:
    chosen = in_one_mode(name, "key", "written")
    for tune in tunes:
        same, other = chosen.distances(tune, [tune, a_fourth_higher(tune)])
        assert same == 0 < other


@pytest.mark.parametrize("name", those_with("place", "whole"))
def test_of_a_whole_melody_everything_counts(name: str, plain: list[Melody]) -> None:
    chosen = in_one_mode(name, "place", "whole")
    for before, query, after in zip(plain[:10], plain[10:20], plain[20:30], strict=True):
        longer = [query, joined(query, after), joined(before, query)]
        distances = chosen.distances(query, longer)
        assert distances[0] == 0 < distances[1:].min()


@pytest.mark.parametrize("name", those_with("place", "start"))
def test_at_the_start_only_what_comes_before_counts(name: str, plain: list[Melody]) -> None:
    """What follows costs nothing, but for the end of a phrase that is none any more."""
    chosen = in_one_mode(name, "place", "start")
    for other, query in zip(plain[:10], plain[10:20], strict=True):
        same, begins, ends = chosen.distances(query, [query, joined(query, other), joined(other, query)])
        assert same == 0
        assert begins < 0.1
        assert begins < ends / 2


@pytest.mark.parametrize("name", those_with("place", "anywhere"))
def test_a_passage_is_found_anywhere(name: str, plain: list[Melody]) -> None:
    """It is nearer than any other melody that is as long, wherever it is."""
    chosen = in_one_mode(name, "place", "anywhere")
    for number in range(10):
        before, query, after, *others = (plain[(number + step) % len(plain)] for step in range(9))
        holding = [joined(joined(before, query), after), joined(joined(query, before), after)]
        length = len(holding[0])
        unlike = [joined(joined(a, b), c) for a, b, c in (others[:3], others[3:], others[1:4])]
        unlike = [made(pitches_of(each)[:length], lengths_of(each)[:length]) for each in unlike]
        distances = chosen.distances(query, [*holding, *unlike])
        assert distances[:2].max() < distances[2:].min()


def joined(first: Melody, second: Melody) -> Melody:
    return made(pitches_of(first) + pitches_of(second), lengths_of(first) + lengths_of(second))


def test_what_every_matcher_declares_is_known() -> None:
    for name in matchers():
        for mode, values in MATCHERS[name].modes.items():
            assert set(values) <= set(MODES[mode])
            for value in values:
                assert in_one_mode(name, mode, value).name == name
    assert {mode: tuple(words) for mode, words in MODE_WORDS.items()} == MODES


def test_the_default_can_do_everything() -> None:
    assert all("roslin" in those_with(mode, value) for mode, values in MODES.items() for value in values)


def test_all_modes_together() -> None:
    assert repr(in_mode(matcher("roslin"), compare="melody", place="whole", key="written")) == (
        "roslin(compare='melody', place='whole', key='written')"
    )
    assert in_mode(matcher("dp(place='inside')")) == matcher("dp(place='inside')")
    assert in_mode(matcher("us(n=4)"), place="whole") == matcher("us(n=4, divide='both')")


def test_out_of_one_mode_into_another() -> None:
    """What made the one is taken back; what has nothing to do with it stays."""
    assert in_mode(matcher("time(rhythm=0, aligner='local')"), compare="both") == matcher("time(aligner='local')")
    assert in_mode(matcher("time(rhythm=0.7)"), compare="both") == matcher("time(rhythm=0.7)")
    assert in_mode(in_mode(matcher("orio"), compare="melody"), compare="rhythm") == matcher("orio(pitch=0, both=0)")
    assert in_mode(matcher("rismonline(field='pitches')"), key="any") == matcher("rismonline")


def test_a_sum_can_do_what_its_members_can() -> None:
    both = fuse("dp", "lcts")
    assert in_mode(both, place="anywhere") == fuse("dp(place='inside')", "lcts(place='inside')")
    assert has_mode(both, "place", "whole")
    assert not has_mode(fuse("dp", "emd"), "place", "whole")
    with pytest.raises(ArgumentError, match=r"emd cannot compare whole melodies"):
        in_mode(fuse("dp", "emd"), place="whole")


def test_who_cannot_says_so_and_names_those_who_can() -> None:
    with pytest.raises(ArgumentError, match=r"^dp cannot compare contours \(compare 'contour'\); these can: roslin$"):
        in_mode(matcher("dp"), compare="contour")
    with pytest.raises(ArgumentError, match=r"gam cannot tell one key from another .*: rismonline, roslin$"):
        in_mode(matcher("gam"), key="written")
    with pytest.raises(ArgumentError, match="harmcore cannot compare the melody without its rhythm"):
        in_mode(matcher("harmcore"), compare="melody")
    with pytest.raises(UnknownNameError, match="unknown place 'middle'; known: anywhere, start, end, whole"):
        in_mode(matcher("dp"), place="middle")
    with pytest.raises(ArgumentError, match=r"^dp cannot compare endings \(place 'end'\); these can: roslin$"):
        in_mode(matcher("dp"), place="end")


def test_beginnings_by_a_way_of_its_own_or_by_cutting() -> None:
    assert Mode(place="start").of(matcher("roslin")) == (matcher("roslin(place='start')"), False)
    assert Mode(place="start").of(matcher("time(aligner='local')")) == (matcher("time"), False)
    assert Mode(place="start").of(matcher("dp")) == (matcher("dp"), True)
    assert Mode(compare="melody").of(matcher("dp")) == (matcher("dp"), False)

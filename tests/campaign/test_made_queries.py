"""Made queries: every form differs from its base by what its name says and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody, load, make_queries
from roslin.campaign.made_queries import EDITS, edited, write_queries
from roslin.errors import ArgumentError, FormatError
from roslin.represent.line import melodic_line
from roslin.starter import tunes_path
from roslin.truth import read_truth

TUNES = [tune for tune in load(tunes_path()) if len(melodic_line(tune)) == np.count_nonzero(~tune.notes["is_grace"])]
FORMS = [(tune, seed) for seed in range(3) for tune in TUNES]


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("made") / "starter.roslin") as collection:
        yield collection


def forms(edit: str) -> Iterator[tuple[Melody, Melody]]:
    found = [(tune, edited(tune, edit, seed)) for tune, seed in FORMS]
    made = [(tune, form) for tune, form in found if form is not None]
    assert len(made) > 0.9 * len(found)
    return iter(made)


def line(melody: Melody) -> list[tuple[int, int, int]]:
    rows = melodic_line(melody)
    return list(
        zip(rows["onset_ticks"].tolist(), rows["duration_ticks"].tolist(), rows["pitch_midi"].tolist(), strict=True)
    )


def intervals(melody: Melody) -> list[int]:
    pitches: list[int] = np.diff(melodic_line(melody)["pitch_midi"].astype(int)).tolist()
    return pitches


def test_as_it_is() -> None:
    for tune, form in forms("as-it-is"):
        assert form == tune.with_metadata(id=f"{tune.id}/as-it-is")


def test_one_note_less() -> None:
    for tune, form in forms("deleted"):
        before, after = line(tune), line(form)
        (gone,) = [k for k in range(len(before)) if before[k][0] not in {onset for onset, _, _ in after}]
        onset, duration, pitch = before[gone - 1]
        assert onset + duration == before[gone][0]
        longer = (onset, duration + before[gone][1], pitch)
        assert after == [*before[: gone - 1], longer, *before[gone + 1 :]]


def test_one_note_more() -> None:
    for tune, form in forms("inserted"):
        before, after = line(tune), line(form)
        (new,) = [k for k in range(len(after)) if after[k][0] not in {onset for onset, _, _ in before}]
        first, second = after[new - 1], after[new]
        assert first[0] + first[1] == second[0]
        assert abs(first[1] - second[1]) <= 1
        assert 1 <= abs(second[2] - first[2]) <= 2
        assert before == [*after[: new - 1], (first[0], first[1] + second[1], first[2]), *after[new + 1 :]]


@pytest.mark.parametrize(("edit", "signs"), [("enlarged", (1, 2)), ("compressed", (-2, -1))])
def test_one_interval_changed(edit: str, signs: tuple[int, int]) -> None:
    for tune, form in forms(edit):
        before, after = intervals(tune), intervals(form)
        assert len(before) == len(after)
        (place,) = [k for k in range(len(before)) if before[k] != after[k]]
        assert before[place] * after[place] > 0
        assert signs[0] <= abs(after[place]) - abs(before[place]) <= signs[1]
        assert [note[:2] for note in line(tune)] == [note[:2] for note in line(form)]


def test_grace_notes_go_with_their_note() -> None:
    onsets, graces = [0, 1, 1, 2, 3], [False, True, False, False, False]
    tune = Melody.from_notes(onsets, [1, 0, 1, 1, 1], [60, 65, 64, 67, 72], id="t", graces=graces)
    deleted = [edited(tune, "deleted", seed) for seed in range(20)]
    counts = {(len(form), int(form.notes["is_grace"].sum())) for form in deleted if form is not None}
    assert counts == {(4, 1), (3, 0)}  # another note is gone, or that with the grace note and both
    for seed in range(20):
        form = edited(tune, "enlarged", seed)
        assert form is not None
        grace = form.notes["pitch_midi"][form.notes["is_grace"]][0]
        assert grace - form.notes["pitch_midi"][2] == 1  # as far from its note as before


def test_no_place_for_an_edit() -> None:
    with_rests = Melody.from_notes([0, 2, 4], [1, 1, 1], [60, 61, 60], id="t")
    assert edited(with_rests, "deleted") is None
    assert edited(with_rests, "compressed") is None
    repeated = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 60, 60], id="t")
    assert edited(repeated, "enlarged") is None
    at_the_top = Melody.from_notes([0, 1], [1, 1], [120, 127], id="t")
    assert edited(at_the_top, "enlarged") is None
    steps = {edited(at_the_top, "inserted", seed) is None for seed in range(20)}
    assert steps == {True, False}  # a step up from the highest note there is, or another one


def test_the_set(starter: Collection) -> None:
    queries, truth = make_queries(starter)
    assert len(queries) == len(truth) == 30
    for query in queries:
        ((base,),) = truth[str(query.id)]
        assert query.id in {f"{base}/{edit}" for edit in EDITS}
        assert starter[base].title == query.title
    bases = {groups[0][0] for groups in truth.values()}
    assert len(bases) == 6
    again, same = make_queries(starter)
    assert (again, same) == (queries, truth)
    _, other = make_queries(starter, seed=1)
    assert {groups[0][0] for groups in other.values()} != bases


def test_of_equal_melodies_none_is_taken(starter: Collection) -> None:
    _, truth = make_queries(starter, 100)
    strings = [tuple(intervals(tune)) for tune in starter]
    for groups in truth.values():
        assert strings.count(tuple(intervals(starter[groups[0][0]]))) == 1
    assert not {"roslin-castle", "roslin-castle-2"} & {groups[0][0] for groups in truth.values()}


@pytest.mark.long
def test_a_melody_more_changes_at_most_one_base(starter: Collection, tmp_path: Path) -> None:
    _, before = make_queries(starter)
    for number in range(8):
        new = Melody.from_notes(
            range(9), [1] * 9, [60, 61, 59, 66, 72, 58, 63 + number % 4, 70, 50], id=f"new-{number}"
        )
        with Collection.build([*starter, new], tmp_path / f"{number}.roslin") as larger:
            _, after = make_queries(larger)
        assert len(set(before) - set(after)) in (0, len(EDITS))


def test_files_keep_every_note(starter: Collection, tmp_path: Path) -> None:
    queries, truth = make_queries(starter, 3)
    path = write_queries(queries, truth, tmp_path / "q.jsonl")
    assert path == tmp_path / "q.qrel"
    assert read_truth(path) == truth
    for query, read in zip(queries, load(tmp_path / "q.jsonl"), strict=True):
        columns = ["onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace", "voice"]
        assert read.notes[columns].tolist() == query.notes[columns].tolist()
        assert read.barlines_ticks.tolist() == query.barlines_ticks.tolist()
        assert (read.id, read.metre, read.key_signature) == (query.id, query.metre, query.key_signature)


def test_refusals(starter: Collection, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="the number of base queries must be at least 1; got 0"):
        make_queries(starter, 0)
    with pytest.raises(
        ArgumentError, match=r"starter.roslin has only \d+ melodies that can be base queries .*; 500 are"
    ):
        make_queries(starter, 500)
    with pytest.raises(FormatError, match=r"q.csv: queries are written as JSON Lines; expected a name that ends with"):
        write_queries(*make_queries(starter, 1), tmp_path / "q.csv")

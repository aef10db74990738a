"""The flow of weight that `emd` and `twv` explain their distances by."""

from __future__ import annotations

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, moved

from roslin import Melody, load, matcher
from roslin.errors import MelodyError
from roslin.matchers import Explanation, Step, explain
from roslin.melody import NOTE_DTYPE

ORNAMENTED = next(tune for tune in TUNES if tune.id == "roslin-castle-4")


def notes(step: Step) -> tuple[int, int | None]:
    (query,) = step.query_notes
    return query, step.candidate_notes[0] if step.candidate_notes else None


def test_the_paper_s_fragment() -> None:
    """Section 2.3: a quarter B that comes a sixteenth late, 1/16 x 0.25 = 1/64 with whole notes as the unit."""
    query = Melody.from_notes([0, 4], [4, 1], [67, 71])
    late = Melody.from_notes([0, 4.25], [4, 1], [67, 71])
    found = explain(query, late, "emd(unit='quarter')")
    assert [notes(step) for step in found.steps] == [(0, 0), (1, 1)]
    b = found.steps[1]
    assert b.weight is not None
    assert b.apart is not None
    assert (b.weight / 4) * (b.apart / 4) == pytest.approx(1 / 64)
    assert b.cost == pytest.approx(found.distance) == pytest.approx(b.weight * b.apart / 5)


@pytest.mark.parametrize(
    "how",
    [
        "twv_covered(radius=0.5, penalty='radius')",
        "twv_covered(radius=0.8, ground='cityblock', score='mean', penalty='radius')",
        "twv_covered(radius=0.8, ground='tonal', penalty='radius')",
        "twv(radius=0.8, agree=True, penalty='radius')",
        "twv_covered(radius=0.5, alignment='refined', penalty='radius')",
        "twv_covered(radius=0.5, both=True, penalty='radius')",
    ],
)
def test_the_moves_of_a_segment_add_up_to_its_distance(how: str) -> None:
    chosen = matcher(how)
    for query, candidate in ((CASTLE, ORNAMENTED), (ORNAMENTED, TUNES[30]), (CASTLE, TUNES[60])):
        found = chosen.explain(query, [candidate])
        segments = [step for step in found.steps if step.kind in ("segment", "back")]
        lost = [step for step in found.steps if step.kind == "unmatched"]
        assert len(segments) + len(lost) == len(found.steps)
        counted = len(found.steps) if "mean" in how or "both" in how else 1
        radius = 0.5 if "radius=0.5" in how else 0.8
        for step in segments:
            assert step.within is not None
            assert step.within.distance <= radius + 1e-9
            assert step.cost == pytest.approx(step.within.distance / counted, abs=1e-12)
        for step in lost:
            assert step.cost == pytest.approx(radius / counted)


def sent(found: Explanation) -> list[float]:
    weights = [0.0] * len(found.query)
    for step in found.steps:
        weights[step.query_notes[0]] += step.weight or 0.0
    return weights


def test_every_note_of_the_query_sends_its_weight() -> None:
    assert sent(explain(CASTLE, ORNAMENTED, "emd")) == pytest.approx((CASTLE.notes["duration_ticks"] / 40320).tolist())


def test_what_finds_no_partner_is_listed_with_its_cost() -> None:
    query = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 62, 64])
    found = explain(query, Melody.from_notes([0, 1], [1, 1], [67, 69]), "emd")
    assert [(*notes(step), step.cost) for step in found.steps] == [
        (0, 0, 0),
        (1, 1, 0),
        (2, None, pytest.approx(2 / 3)),
    ]
    assert found.steps[-1].kind == "missing"
    assert found.pairs == ((0, 0), (1, 1))
    free = explain(query, Melody.from_notes([0, 1], [1, 1], [67, 69]), "emd(missing=None)")
    assert [notes(step)[1] for step in free.steps] == [0, 1]


def test_words() -> None:
    slow = moved(CASTLE, slower=1.5, up=5, later=3)
    whole = explain(CASTLE, slow, "emd(tempos=(1.0, 1.5))")
    assert whole.sentence == (
        "The query is transposed up a perfect fourth, 1.5 times slower, starting after 3 quarters."
    )
    assert (whole.transposition, whole.tempo, whole.place) == (5, 1.5, 3)
    found = explain(CASTLE, slow, "twv(tempos=(1.0, 1.5))")
    assert found.sentence.startswith(
        "11 of 11 expected segments found; transposed up a perfect fourth, 1.5 times slower, "
    )
    assert [step.words for step in found.steps] == [f"segment {number}" for number in range(1, 12)]
    assert found.distance == 0
    nothing = explain(load("'8CxCDxDExF''CDE")[0], TUNES[60], "twv_covered(radius=0.01)")
    assert (
        nothing.sentence
        == "0 of 2 expected segments found: none is within the radius, so the melody is not in the list."
    )
    assert str(nothing).startswith(nothing.sentence)
    assert [row["cost"] for row in nothing.short_table.rows] == [np.inf]
    assert (nothing.steps, nothing.pairs, nothing.place, nothing.distance) == ((), (), None, np.inf)


def test_which_segments_are_missing_is_told_where_it_is_known() -> None:
    """Nine notes make two segments, overlapping; the second half of the candidate is something else."""
    query = load("'4CDEFGABAG")[0]
    near = explain(query, load("'4CDEFGA''CxDxF")[0], "twv_covered")
    assert [(step.kind, step.words) for step in near.steps] == [
        ("segment", "segment 1"),
        ("unmatched", "segment 2, not found"),
    ]
    assert near.steps[1].query_places == (tuple(range(3, 9)),)
    # A candidate of six onsets expects one segment of the two; one of seven, two, and which is not said.
    chosen = matcher("twv_covered(segment=3, step=1)")
    short = chosen.explain(query, [load("'4CDE''xCxF")[0]])
    assert [step.kind for step in short.steps] == ["segment", "unmatched", "unmatched"]
    assert short.steps[1].words == "a segment, not found"
    assert short.steps[1].query_places == ()


def test_both_directions_are_shown() -> None:
    found = explain(CASTLE, ORNAMENTED, "twv_covered(radius=0.5, both=True)")
    there = [step for step in found.steps if step.kind == "segment"]
    back = [step for step in found.steps if step.kind == "back"]
    assert there
    assert back
    assert found.pairs == tuple(dict.fromkeys(pair for step in there for pair in step.pairs))
    for step in back:
        assert step.within is not None
        assert step.within.query == ORNAMENTED
        assert step.within.query_notes == step.candidate_notes
        assert step.words.endswith("(of the melody, in the query)")
    rows = {row["step"]: row for row in found.table.rows}
    assert rows[back[0].words]["query"].split()[0] in {str(row + 1) for row in back[0].query_notes}


def test_notes_without_length() -> None:
    table = np.zeros(2, dtype=NOTE_DTYPE)
    table["pitch_midi"], table["pitch_base40"], table["onset_ticks"] = 60, 162, [0, 40320]
    silent = Melody(table)
    found = explain(CASTLE, silent, "emd")
    assert found.sentence == "The melody has no notes with a duration."
    assert found.distance == matcher("emd").distances(CASTLE, [silent])[0]
    assert explain(CASTLE, silent, "twv").distance == np.inf
    with pytest.raises(MelodyError, match="the query has no weight; expected at least one note that lasts"):
        explain(silent, CASTLE, "emd")

"""Values of the rooms below as JSON answers."""

from __future__ import annotations

from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.search.words import note_name
from roslin.web.answers import (
    ExplainAnswer,
    FilterAnswer,
    MatchAnswer,
    MelodyAnswer,
    MoveAnswer,
    NoteAnswer,
    PairAnswer,
    PartAnswer,
    ResultAnswer,
    RunAnswer,
    SearchAnswer,
)
from roslin.web.asking import Asked
from roslin.web.finding import Found, Result, link_to
from roslin.web.matching import Match
from roslin.web.settings import Settings

__all__ = ["explain_answer", "melody_answer", "notes_answer", "search_answer"]

_ABOUT = ("id", "title", "composer", "voice", "key", "metre", "text", "source")


def notes_answer(melody: Melody) -> list[NoteAnswer]:
    """The note table."""
    return [
        NoteAnswer(
            onset=row["onset_ticks"] / TICKS_PER_QUARTER,
            duration=row["duration_ticks"] / TICKS_PER_QUARTER,
            pitch=int(row["pitch_midi"]),
            name=note_name(int(row["pitch_base40"])),
            is_grace=bool(row["is_grace"]),
            voice=int(row["voice"]),
        )
        for row in melody.notes
    ]


def melody_answer(melody: Melody, settings: Settings) -> MelodyAnswer:
    """A melody with all its notes."""
    about = {name: getattr(melody, name) for name in (*_ABOUT, "notation", "music")}
    return MelodyAnswer(**about, link=link_to(melody, settings), notes=notes_answer(melody))


def search_answer(found: Found, asked: Asked) -> SearchAnswer:
    """A page of a ranked list."""
    return SearchAnswer(
        query_notes=len(found.query),
        matcher=repr(found.matcher),
        place=asked.place,
        searched=found.searched,
        filters=[FilterAnswer(sentence=step.sentence, removed=step.removed, left=step.left) for step in found.steps],
        page=found.page,
        has_more=found.has_more,
        seconds=found.seconds,
        results=[_result(result) for result in found.results],
    )


def _result(result: Result) -> ResultAnswer:
    match = result.match
    return ResultAnswer(
        rank=result.rank,
        distance=result.distance,
        link=result.link,
        match=MatchAnswer(
            kind=match.kind,
            words=match.words,
            transposition=match.transposition,
            tempo=match.tempo,
            query_notes=list(match.query_notes),
            candidate_notes=list(match.candidate_notes),
        ),
        **{name: getattr(result.melody, name) for name in _ABOUT},
    )


def explain_answer(match: Match, candidate: str, matcher: str, distance: float) -> ExplainAnswer:
    """An explanation, with what fits its kind."""
    parts = [] if match.explanation is None else match.explanation.parts
    return ExplainAnswer(
        kind=match.kind,
        matcher=matcher,
        candidate=candidate,
        distance=distance,
        words=match.words,
        parts=[
            PartAnswer(
                segment=part.segment,
                words=part.words,
                distance=part.alignment.distance,
                moves=[
                    MoveAnswer(
                        query_note=move.query_note,
                        candidate_note=move.candidate_note,
                        weight=move.weight,
                        distance=move.distance,
                        cost=move.cost,
                    )
                    for move in part.moves
                ],
            )
            for part in parts
        ],
        pairs=[
            PairAnswer(query_note=pair.query_note, candidate_note=pair.candidate_note, deed=pair.deed)
            for pair in match.pairs
        ],
        runs=[
            RunAnswer(
                words=run.words,
                query_places=[list(place) for place in run.query_places],
                candidate_places=[list(place) for place in run.candidate_places],
            )
            for run in match.runs
        ],
    )

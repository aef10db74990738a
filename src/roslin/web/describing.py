"""Values of the rooms below as JSON answers."""

from __future__ import annotations

from roslin.matchers import Matcher
from roslin.matchers.account import Account
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.search.explain import Part
from roslin.search.words import note_name
from roslin.web.answers import (
    AccountAnswer,
    ExplainAnswer,
    FilterAnswer,
    MatchAnswer,
    MelodyAnswer,
    MoveAnswer,
    NoteAnswer,
    PartAnswer,
    ResultAnswer,
    SearchAnswer,
    StepAnswer,
)
from roslin.web.asking import Asked
from roslin.web.explaining import Explained
from roslin.web.finding import Found, Result, link_to
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
    about = {name: getattr(melody, name) for name in _ABOUT}
    return MelodyAnswer(
        **about,
        notation=melody.notation,
        music=melody.music,
        link=link_to(melody, settings),
        notes=notes_answer(melody),
    )


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


def explain_answer(why: Explained) -> ExplainAnswer:
    """An explanation, with what fits its kind."""
    found, account = why.match, why.account
    within = account.within if account is not None else None
    return ExplainAnswer(
        kind=found.kind,
        matcher=repr(why.matcher),
        candidate=why.candidate.id or "",
        distance=why.distance,
        words=found.words,
        parts=[_part(part) for part in found.explanation.parts] if found.explanation is not None else [],
        account=None if account is None else _account(account, why.matcher),
        within=None if within is None else _account(within, why.matcher.leading),
    )


def _part(part: Part) -> PartAnswer:
    return PartAnswer(
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


def _account(account: Account, matcher: Matcher) -> AccountAnswer:
    return AccountAnswer(
        matcher=repr(matcher),
        start=account.start,
        steps=[
            StepAnswer(
                deed=step.deed,
                query_places=[list(place) for place in step.query_places],
                candidate_places=[list(place) for place in step.candidate_places],
                cost=step.cost,
                words=step.words,
            )
            for step in account.steps
        ],
    )

"""What is known by now: the truth layer's groups for each query, how sure they are, and what more experts would bring.

Pure. What was found of the same trials before is not made again, so that a study that runs can be asked often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from roslin.errors import ArgumentError
from roslin.experiment.plan import StudyPlan
from roslin.experiment.results import TrialRecord, rank_rows, votes_of
from roslin.truth.grouping import method_named
from roslin.truth.model import Groups
from roslin.truth.rankings import as_rankings
from roslin.truth.study import Study, study_rankings, study_votes
from roslin.truth.tables import Neighbours

__all__ = ["MORE_EXPERTS", "Findings", "QueryFinding", "findings_in_turn", "findings_of"]

_METHOD = method_named("roslin")  # what `roslin truth group` does with the export
_SHUFFLES = 200
MORE_EXPERTS = (0, 5, 10, 20, 50)  # for how many the separated neighbours are counted
_FEWEST = 5  # experts from whose ranks that can be told; one alone disagrees with nobody


@dataclass(frozen=True, slots=True)
class QueryFinding:
    """What the truth layer says of one query by now. `of` names the trials behind it.

    `study` has everything behind it, where experts rank.
    """

    query: str
    of: tuple[tuple[str, int], ...]
    groups: Groups
    sentence: str
    agreement: str
    consistency: float | None = None
    apart: tuple[tuple[int, int], ...] = ()  # (more experts, neighbours that these would tell apart)
    neighbours: int = 0
    study: Study | None = None

    @property
    def outlook(self) -> str:
        """What more experts would bring, in words."""
        if not self.apart:
            return ""
        (_, now), *later = self.apart
        gains = [f"{more} more experts would tell about {count} apart" for more, count in later if count > now]
        told = f"{now} of {self.neighbours} pairs of neighbours are told apart"
        if now == self.neighbours:
            return told
        if len(self.of) < _FEWEST:
            return f"{told}; from {_FEWEST} experts on, the effect of more can be estimated"
        return (
            f"{told}; {'; '.join(gains[:2])}"
            if gains
            else f"{told}; even {MORE_EXPERTS[-1]} more experts like these would add none"
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """By query. `problem`: why there is nothing."""

    queries: dict[str, QueryFinding]
    problem: str = ""


def findings_of(
    plan: StudyPlan, records: Iterable[TrialRecord], known: Findings | None = None, shuffles: int = _SHUFFLES
) -> Findings:
    """Groups by the truth layer's usual methods: of ranks as `roslin truth group` does, of votes by Bradley-Terry.

    What is `known` already, and of the same trials, is not made again.
    """
    *_, found = findings_in_turn(plan, records, known, shuffles)
    return found


def findings_in_turn(
    plan: StudyPlan, records: Iterable[TrialRecord], known: Findings | None = None, shuffles: int = _SHUFFLES
) -> Iterator[Findings]:
    """The same, one query after the other: what is known after each, and at the end all of it."""
    of_query: dict[str, list[TrialRecord]] = {task.query.id: [] for task in plan.tasks}
    finished = [record for record in records if record.state.is_finished]
    if plan.rules.design == "ranking":
        counted = set(_METHOD.considered(as_rankings(rank_rows(finished))).experts)
        finished = [record for record in finished if record.expert.label in counted]
    for record in finished:
        of_query[record.state.query].append(record)
    before = known.queries if known else {}
    found = {query: before[query] for query, own in of_query.items() if own and query in before}
    for query, own in of_query.items():
        of = tuple((each.expert.label, each.trial) for each in own)
        if not own or (query in found and found[query].of == of):
            continue
        made = (
            _of_ranks(query, of, own, shuffles)
            if plan.rules.design == "ranking"
            else _of_votes(query, of, own, shuffles)
        )
        found.pop(query, None)
        if made is not None:
            found[query] = made
        yield _in_order(plan, found)
    problem = ""
    if not found:
        judged = any(of_query.values())
        problem = "too few comparisons for a common scale yet" if judged else "nobody has finished a query yet"
    yield _in_order(plan, found, problem)


def _in_order(plan: StudyPlan, found: Mapping[str, QueryFinding], problem: str = "") -> Findings:
    return Findings({task.query.id: found[task.query.id] for task in plan.tasks if task.query.id in found}, problem)


def _of_ranks(
    query: str, of: tuple[tuple[str, int], ...], records: Sequence[TrialRecord], shuffles: int
) -> QueryFinding:
    study = study_rankings(rank_rows(records), replace(_METHOD, attention=False), shuffles)
    each = study.queries[query]
    apart = tuple(_apart(each.neighbours))
    value = each.consistency.value
    return QueryFinding(
        query, of, study.truth[query], each.sentence, each.agreement, value, apart, len(each.neighbours), study
    )


def _apart(neighbours: Sequence[Neighbours]) -> Iterable[tuple[int, int]]:
    for more in MORE_EXPERTS if neighbours else ():
        yield more, sum(pair.more is not None and pair.more <= more for pair in neighbours)


def _of_votes(
    query: str, of: tuple[tuple[str, int], ...], records: Sequence[TrialRecord], shuffles: int
) -> QueryFinding | None:
    """None where no chain of comparisons links all candidates yet."""
    votes = votes_of(records)
    try:
        model = study_votes(votes, "bradley-terry", shuffles=shuffles)
    except ArgumentError:
        return None
    null = model.nulls.get(query)
    return QueryFinding(query, of, model.truth[query], null.sentence("votes") if null else "", f"{len(votes)} votes")

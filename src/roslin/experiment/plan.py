"""The plan of a study as one frozen value: its rules, texts, queries and candidates.

A plan is made from `study.toml` (`planning`) and stored as JSON in the folder of the study (`folder`) and in its
database. Its fingerprint identifies it. Once a participant has joined, the parts in `FROZEN` cannot change, because
judgements made under different rules or of different candidates are not one ground truth.

A candidate is an `Item`: a melody, which the collection of the study has under the same id, or a picture, a sound or
both, which are in the folder of the study under meaningless names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, Self
from urllib.parse import quote

import numpy as np

# The same text in the languages of the study, by code ("en", "de"); instructions and consent are Markdown.
Words = dict[str, str]

Design = Literal["ranking", "pairs", "triplets"]
# The number of candidates in a comparison, by the design.
SIZES = {"pairs": 2, "triplets": 3}
Resume = Literal["continue", "reread", "restart"]
QuestionKind = Literal["number", "text", "choice", "choices"]


@dataclass(frozen=True, slots=True)
class Item:
    """A query or a candidate. Without a picture or a sound it is a melody of the collection of the study.

    `content` is a checksum of the notes: a corrected melody is a different one. The names of files are checksums.
    """

    id: str
    picture: str = ""  # a file in the study's folder
    sound: str = ""
    content: str = ""

    @property
    def is_melody(self) -> bool:
        return not (self.picture or self.sound)


@dataclass(frozen=True, slots=True)
class Task:
    """One query and its candidates, which include the query if it is a check of attention."""

    query: Item
    candidates: tuple[Item, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the candidates, in the order of the plan, which participants do not see."""
        return tuple(item.id for item in self.candidates)


@dataclass(frozen=True, slots=True)
class Practice:
    """A trial that does not count. `expected`: the expected answer for each candidate, by id."""

    task: Task
    expected: dict[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the questionnaire. `choices`: the exported word of each, and its text."""

    name: str
    kind: QuestionKind
    label: Words
    choices: dict[str, Words] = field(default_factory=dict)
    required: bool = False
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class StudyRules:
    """How participants judge, how many are wanted, and the effect of pauses. The defaults are the paper's."""

    design: Design = "ranking"
    quota: int = 30  # participants per query
    queries_per_expert: int = 11
    ties: bool = False
    resume: Resume = "reread"  # after a pause of `pause_hours`
    pause_hours: float = 24.0
    abandoned_hours: float = 48.0  # without a decision, after which a trial no longer counts towards the quota
    comparisons: int = 40  # per participant and query, for pairs and triplets
    differences: bool = False  # whether the page marks notes without a partner in the other melody
    keeps_participant: bool = False  # whether the participant id of a panel is stored
    completion_address: str = ""  # of the panel, for participants who have judged everything
    screen_out_address: str = ""  # of the panel, for participants without anything to judge


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A whole study."""

    name: str
    title: Words
    languages: tuple[str, ...]
    consent: Words
    instructions: Words
    thanks: Words
    contact: str
    questions: tuple[Question, ...]
    practice: Practice | None
    tasks: tuple[Task, ...]
    rules: StudyRules
    seed: int

    def way_back(self, receipt: str, participant: str, *, is_complete: bool) -> str:
        """The address of the panel for a participant who leaves; empty without a panel."""
        address = self.rules.completion_address if is_complete else self.rules.screen_out_address
        return address.replace("{receipt}", quote(receipt, "")).replace("{participant}", quote(participant, ""))

    @property
    def experts_needed(self) -> int:
        """The number of participants that the quota needs if all of them finish."""
        each = min(self.rules.queries_per_expert, len(self.tasks))
        return -(-self.rules.quota * len(self.tasks) // each)

    def task(self, query: str, trial: int = 1) -> Task:
        """The task of a query, or that of the practice, which is trial 0."""
        if trial == 0 and self.practice is not None:
            return self.practice.task
        return next(task for task in self.tasks if task.query.id == query)

    def consent_in(self, language: str) -> tuple[str, str]:
        """The language of the consent that readers of this language see, and the checksum of its text."""
        shown = language if self.consent.get(language) else self.languages[0]
        return shown, checksum(self.consent.get(shown, ""))

    def text(self, words: Mapping[str, str], language: str) -> str:
        """A text in a language, or in the first language of the study."""
        return words.get(language) or words.get(self.languages[0], "")

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    @property
    def fingerprint(self) -> str:
        return checksum(self.to_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        values: dict[str, Any] = json.loads(text)
        practice = values["practice"]
        return cls(
            **{
                **values,
                "languages": tuple(values["languages"]),
                "questions": tuple(Question(**each) for each in values["questions"]),
                "practice": practice and Practice(_task(practice["task"]), practice["expected"]),
                "tasks": tuple(map(_task, values["tasks"])),
                "rules": StudyRules(**values["rules"]),
            }
        )

    def frozen_changes(self, other: StudyPlan) -> list[str]:
        """The frozen parts that differ from another plan, such as "rules.ties"."""
        return [name for name in FROZEN if attrgetter(name)(self) != attrgetter(name)(other)]


@lru_cache(maxsize=256)
def checksum(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def most_comparisons(candidates: int, size: int) -> int:
    """The number of comparisons that one participant can make of a query in any order.

    Sets of three share no pair. When none is left, the remaining pairs form no triangle, so they are at most n^2/4 of
    the n(n-1)/2 pairs (Mantel). The others were compared three at a time.
    """
    if size == 2:
        return candidates * (candidates - 1) // 2
    return max(candidates * (candidates - 2) // 12, 1 if candidates >= 3 else 0)


# The parts that change the question. Texts may be corrected, and the quota may grow.
FROZEN = (
    *("name", "tasks", "seed", "rules.design", "rules.ties", "rules.comparisons", "rules.differences"),
    "rules.keeps_participant",
)


def _task(values: Mapping[str, Any]) -> Task:
    return Task(Item(**values["query"]), tuple(Item(**each) for each in values["candidates"]))


# -- design ------------------------------------------------------------------------------------------------------------
#
# The next query of a participant, and the order of its candidates. Pure and seeded.
#
# A query is chosen when it is begun, not when a participant joins, so that participants who never finish take no places
# from others. The query that lacks most judgements comes next; open trials count as finished. Among equals chance
# decides, from the seed of the study and the name of the participant. A trial without any decision counts only for this
# choice, so that opening a page turns no participant away. A query gets more judgements than wanted only if several
# participants begin the last places at the same moment, or finish an abandoned trial.


@dataclass(frozen=True, slots=True)
class Load:
    """Trials of one query: finished, running, and recently begun without a decision."""

    finished: int = 0
    running: int = 0
    begun: int = 0


def next_query(plan: StudyPlan, loads: Mapping[str, Load], done: Collection[str], expert: str) -> str | None:
    """The next query of a participant, or None if all other queries have enough judgements."""
    lacking = {
        query: plan.rules.quota - load.finished - load.running for query, load in loads.items() if query not in done
    }
    free = {query: lack - loads[query].begun for query, lack in lacking.items() if lack > 0}
    if not free:
        return None
    most = max(free.values())
    wanted = sorted(query for query, lack in free.items() if lack == most)
    return wanted[int(chance_of(plan.seed, expert, len(done)).integers(len(wanted)))]


def shown_order(plan: StudyPlan, task: Task, expert: str) -> tuple[str, ...]:
    """The candidates in the order for this participant."""
    ids = np.array(task.ids, dtype=object)
    return tuple(chance_of(plan.seed, expert, task.query.id).permutation(ids).tolist())


def chance_of(*parts: object) -> np.random.Generator:
    """A random generator seeded by these parts, the same on every computer and in every process."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))

"""What an experimenter decided, as one frozen value: who judges how many queries, how, with which texts and candidates.

A plan is made from `study.toml` (`reading`), kept as JSON in the folder of the study (`folder`) and in its database.
Its fingerprint tells two plans apart. Once somebody has joined, only what is not in `FROZEN` may change: judgements
that were made under other rules, of other candidates, are not one ground truth.

A candidate is an `Item`: a melody, which the study's own small collection holds under the same id, or a picture, a
sound or both, which lie in the folder of the study under names that say nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal, Self
from urllib.parse import quote

import numpy as np

# The same text in the languages of the study, by code ("en", "de"); instructions and consent are Markdown.
Words = dict[str, str]

Design = Literal["ranking", "pairs", "triplets"]
# How many candidates are compared at once, by the design.
SIZES = {"pairs": 2, "triplets": 3}
Resume = Literal["continue", "reread", "restart"]
QuestionKind = Literal["number", "text", "choice", "choices"]


@dataclass(frozen=True, slots=True)
class Item:
    """A query or a candidate. With neither picture nor sound it is a melody of the study's collection.

    `content` is a checksum of the notes: a melody that was corrected is another one to the plan. Files need none, they
    are named by what is in them.
    """

    id: str
    picture: str = ""  # a file in the study's folder
    sound: str = ""
    content: str = ""

    @property
    def is_melody(self) -> bool:
        """Whether it is drawn and played from its notes."""
        return not (self.picture or self.sound)


@dataclass(frozen=True, slots=True)
class Task:
    """One query and its candidates; the query is among them where it is hidden there as a check of attention."""

    query: Item
    candidates: tuple[Item, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the candidates, in the order of the plan, which nobody is shown."""
        return tuple(item.id for item in self.candidates)


@dataclass(frozen=True, slots=True)
class Practice:
    """A trial before the first that counts. `expected`: what most people would say of each candidate, by id."""

    task: Task
    expected: dict[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the questionnaire. `choices`: each as the word that is exported and as people read it."""

    name: str
    kind: QuestionKind
    label: Words
    choices: dict[str, Words] = field(default_factory=dict)
    required: bool = False
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class StudyRules:
    """How experts judge, how many there are, and what happens to those who stop. The defaults are the paper's."""

    design: Design = "ranking"
    quota: int = 30  # opinions wanted of each query
    queries_per_expert: int = 11
    ties: bool = False
    resume: Resume = "reread"  # what somebody does who comes back after `pause_hours`
    pause_hours: float = 24.0
    abandoned_hours: float = 48.0  # a trial untouched so long no longer counts towards the quota
    comparisons: int = 40  # that an expert makes of each query; for pairs and triplets
    differences: bool = False  # whether the page marks the notes of two melodies that have no partner
    keeps_participant: bool = False  # whether the id in the address (of Prolific and the like) is kept
    completion_address: str = ""  # where the platform of a panel takes people back who have done everything
    screen_out_address: str = ""  # and people for whom there was nothing to judge


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
        """The address at which the platform of a panel takes somebody back; empty: there is none."""
        address = self.rules.completion_address if is_complete else self.rules.screen_out_address
        return address.replace("{receipt}", quote(receipt, "")).replace("{participant}", quote(participant, ""))

    @property
    def experts_needed(self) -> int:
        """How many people the quota takes if all of them finish."""
        each = min(self.rules.queries_per_expert, len(self.tasks))
        return -(-self.rules.quota * len(self.tasks) // each)

    def task(self, query: str) -> Task:
        """The task of a query."""
        return next(task for task in self.tasks if task.query.id == query)

    def consent_in(self, language: str) -> tuple[str, str]:
        """The language in which a reader of this one is asked to agree, and the checksum of the text."""
        shown = language if self.consent.get(language) else self.languages[0]
        return shown, checksum(self.consent.get(shown, ""))

    def text(self, words: Mapping[str, str], language: str) -> str:
        """A text in a language, or in the first language of the study where it has none."""
        return words.get(language) or words.get(self.languages[0], "")

    def to_json(self) -> str:
        """The plan as text; the same plan gives the same text."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the plan."""
        return checksum(self.to_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The plan that `to_json` wrote."""
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
        """What of the frozen parts is different in another plan, as "rules.ties"."""
        mine, theirs = (asdict(plan) for plan in (self, other))
        flat = [
            {name: part[name] for name in part if name != "rules"} | {f"rules.{k}": v for k, v in part["rules"].items()}
            for part in (mine, theirs)
        ]
        return [name for name in FROZEN if flat[0][name] != flat[1][name]]


@lru_cache(maxsize=256)
def checksum(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def most_comparisons(candidates: int, size: int) -> int:
    """How many comparisons one expert can make of a query, whatever was asked before.

    Of three: sets that share no pair. When none is left, what was not asked has no triangle, so it has at most n^2/4 of
    the n(n-1)/2 pairs (Mantel); the others were asked three at a time.
    """
    if size == 2:
        return candidates * (candidates - 1) // 2
    return max(candidates * (candidates - 2) // 12, 1 if candidates >= 3 else 0)


# What changes the question that experts answer. Texts may be corrected, the quota may grow.
FROZEN = (
    *("name", "tasks", "seed", "rules.design", "rules.ties", "rules.comparisons", "rules.differences"),
    "rules.keeps_participant",
)


def _task(values: Mapping[str, Any]) -> Task:
    return Task(Item(**values["query"]), tuple(Item(**each) for each in values["candidates"]))


# -- design ------------------------------------------------------------------------------------------------------------
#
# Who judges which query next, and in which order candidates are shown. Pure and seeded.
#
# A query is chosen when it is begun, not when an expert joins: whoever never finishes then takes no place away from
# others. The query that lacks most opinions comes next, trials that are being worked on counted as if they were
# finished; among equals chance decides, from the seed of the study and the name of the expert. A trial without any
# decision is counted for this choice alone: nobody is turned away because others have opened a page. More opinions than
# wanted come only from people who begin the last places at the same moment, and from trials that were no longer counted
# on. Which candidates are compared is in `comparisons`.


@dataclass(frozen=True, slots=True)
class Load:
    """Opinions of one query: given, being given, and of people who have begun it lately and decided nothing yet."""

    finished: int = 0
    running: int = 0
    begun: int = 0


def next_query(plan: StudyPlan, loads: Mapping[str, Load], done: Collection[str], expert: str) -> str | None:
    """The query that an expert judges next, not one of those they have done; None where enough is known of all."""
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
    """The candidates in the order in which this expert sees them."""
    ids = np.array(task.ids, dtype=object)
    return tuple(chance_of(plan.seed, expert, task.query.id).permutation(ids).tolist())


def chance_of(*parts: object) -> np.random.Generator:
    """A source of chance of its own for these parts, the same on every computer and in every process."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))

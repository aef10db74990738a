"""What every column of an export means: the data dictionary. A name means the same in every table that has it."""

from __future__ import annotations

from dataclasses import dataclass

from roslin.experiment.plan import StudyPlan

__all__ = ["KEYS", "TABLES", "VARIABLES", "Variable", "answer_columns", "variables_of"]


@dataclass(frozen=True, slots=True)
class Variable:
    """One column: what it says, and in which unit."""

    description: str
    unit: str = ""


# The tables, and what a row of each is.
TABLES = {
    "rankings": "A candidate that an expert was shown for a query, and its rank. `roslin truth group` reads this file.",
    "votes": "What an expert said of two candidates. `roslin truth votes` reads this file.",
    "choice-rankings": (
        "A candidate of one comparison, with its rank in it: the form in which Plackett-Luce reads comparisons, as "
        "`roslin truth strengths --unranked drop`. Every comparison stands as an expert of its own, so that intervals "
        "come out narrower than they are."
    ),
    "choices": "A comparison of two or three candidates, as it was made.",
    "trials": "A query that an expert judged.",
    "shown": "A candidate in the order in which an expert was shown it, and what became of it.",
    "experts": "Somebody who takes part, with their answers to the questionnaire.",
    "consents": "A text that an expert agreed to. Of a consent before Roslin kept texts only the time is known.",
    "consent-texts": "A text that people were asked to agree to, in one language.",
    "events": "Everything that an expert did, in order.",
}

# The columns by which a row of each table is found: no two rows have the same in all of them.
KEYS = {
    "rankings": ("query", "expert", "document"),
    "votes": ("query", "expert", "first", "second"),
    "choice-rankings": ("query", "expert", "document"),
    "choices": ("expert", "trial", "comparison"),
    "trials": ("expert", "trial"),
    "shown": ("expert", "trial", "document"),
    "experts": ("expert",),
    "consents": ("expert", "time"),
    "consent-texts": ("version", "language"),
    "events": ("expert", "sequence"),
}

VARIABLES = {
    "query": Variable("Id of the query"),
    "expert": Variable("Who judged: a number under which nobody is known elsewhere; in choice-rankings, with a count"),
    "document": Variable("Id of the candidate"),
    "rank": Variable(
        "Place in the list of the expert; 1 is the most similar, tied ones share the mean; empty: left out"
    ),
    "first": Variable("Id of the first of two candidates"),
    "second": Variable("Id of the second of two candidates"),
    "answer": Variable("a: the first is more similar; b: the second; s: no difference"),
    "trial": Variable("Number of the trial of this expert, from 1; 0 is the practice, and what came before it"),
    "comparison": Variable("Number of the comparison in its trial, from 1"),
    "documents": Variable("Ids of the candidates compared, in the order shown, as a JSON list; null: the query"),
    "best": Variable("Id of the candidate chosen as the most similar; empty: no difference"),
    "position": Variable("Place in the order shown, from 1"),
    "verdict": Variable("What was said of the candidate before ordering: resembles, perhaps or no"),
    "began": Variable("When the trial was begun, by the clock of the server", "ISO 8601, UTC"),
    "finished": Variable("When the trial was finished, by the clock of the server; empty: it is not", "ISO 8601, UTC"),
    "elapsed_seconds": Variable("From the beginning to the end of the trial", "seconds"),
    "active_seconds": Variable("The same without pauses of more than five minutes", "seconds"),
    "decisions": Variable("Decisions that were made in the trial, with those that were undone"),
    "undone": Variable("Decisions that were undone"),
    "heard": Variable("How often a melody was played, the query included"),
    "heard_seconds": Variable("How long melodies were played in all; plays without a recorded end count 0", "seconds"),
    "compared": Variable("How often the differences of two melodies were shown; 0 where the study shows none"),
    "duration_seconds": Variable("How long the melody was played; empty: nothing was played, or unknown", "seconds"),
    "restarts": Variable("How often the trial was begun again after a long pause"),
    "median_latency_seconds": Variable("Half of the decisions of the trial took longer than this", "seconds"),
    "attention": Variable(
        "Whether the query, hidden among its candidates, was put first, or chosen in every comparison with it: passed "
        "or failed; empty: no check"
    ),
    "device": Variable("Kind of device, as the page saw it"),
    "source": Variable("How the expert came: single (a personal invitation), open (the open one), bot (simulated)"),
    "language": Variable("Language in which the expert read, or of a text"),
    "trials_begun": Variable("Trials that the expert began"),
    "trials_finished": Variable("Trials that the expert finished"),
    "is_complete": Variable("Whether the expert has judged everything that there was for them: yes or no"),
    "participant": Variable("Id that the expert brought along from elsewhere; only where it was asked for"),
    "version": Variable("Number of the text of the consent, from 1; a change of any language is another version"),
    "sha256": Variable("Checksum of the text, in UTF-8"),
    "text": Variable("The text, in Markdown"),
    "sequence": Variable("Number of the event of this expert, from 1"),
    "kind": Variable(
        "What happened, as in the documentation of events: began, sorted, placed, chose, heard, compared, undone ..."
    ),
    "time": Variable("When it was kept, by the clock of the server", "ISO 8601, UTC"),
    "latency_seconds": Variable(
        "Time since the event before it in this trial: by the clock of the browser, or of the server at the beginning",
        "seconds",
    ),
    "after": Variable("Id of the candidate behind which it was placed; empty: it was placed first"),
    "tied": Variable("Whether it was placed on one place with that candidate: yes or no"),
    "undoes": Variable("Number of the event that was undone"),
}


def answer_columns(plan: StudyPlan) -> dict[str, str]:
    """The column of each question; a question that is called like another column is given a longer name."""
    return {
        question.name: f"answer_{question.name}" if question.name in VARIABLES else question.name
        for question in plan.questions
    }


def variables_of(plan: StudyPlan) -> dict[str, Variable]:
    """Every column that an export of this study can have."""
    columns = answer_columns(plan)
    asked = {
        columns[question.name]: Variable(f"Answer to: {plan.text(question.label, plan.languages[0])}")
        for question in plan.questions
    }
    return VARIABLES | asked

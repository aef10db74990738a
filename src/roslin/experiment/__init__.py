"""The ranking study: participants order melodies in a browser, and a ground truth is made from their answers.

plan         the decisions of the experimenter, frozen; who judges which query next
study_toml   every key of study.toml, checked and read
planning     from the file to the plan: material, candidates and practice
folder       all of it in one folder, made whole or not at all; the example to start from
events       what a participant did, and the state that follows
comparisons  which two or three candidates a participant compares next
store        where every decision is kept; `study_store` has the study as a whole and its participants
database     tables, connections and upgrades, for SQLite and PostgreSQL; `clock` is the time of all modules
backup       a copy while the study runs, and the move to another database
results      tables of what was found; `export` writes them as files
overview     progress of the study, and results so far
bots         simulated participants who go through it, and their opinions

The server is in `roslin.web.experiment`.
"""

from __future__ import annotations

from roslin.experiment.plan import Item, Practice, Question, StudyPlan, StudyRules, Task
from roslin.experiment.store import EventStore

__all__ = ["EventStore", "Item", "Practice", "Question", "StudyPlan", "StudyRules", "Task"]

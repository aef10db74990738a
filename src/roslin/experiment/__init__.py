"""The ranking study: experts order melodies in a browser, and a ground truth comes of it. No server in here.

plan      what the experimenter decided, frozen
reading   study.toml, checked; `keys` has every key, `questionnaire` and `practice` what is usual
planning  from that to the plan; `material` is what is shown, `pool` finds candidates
folder    all of it in one folder, made whole or not at all
events    what an expert did, and the state that follows
design    who judges which query next, and in which order
comparisons  which two or three candidates an expert compares next
store     where every decision is kept: SQLite or PostgreSQL; `study_store` is what concerns the study as a whole
log, trials, experts  the statements that the store is made of; `clock` is what it goes by
database  how it is reached and brought up to date; `schema` has its tables, `migrations` the steps to them
backup    a copy while the study runs; `moving` takes everything to another database
export    what the truth layer and other programs read
overview  how far the study is, and what is known by now
bots      simulated experts who go through it; `opinions` is what they think, `tabs` their browser, `visits` what became
          of them
"""

from __future__ import annotations

from roslin.experiment.plan import Item, Practice, Question, StudyPlan, StudyRules, Task
from roslin.experiment.store import EventStore

__all__ = ["EventStore", "Item", "Practice", "Question", "StudyPlan", "StudyRules", "Task"]

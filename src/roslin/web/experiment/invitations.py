"""Invitations in numbers: new experts with their links, as a table to send them from."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from roslin.experiment.study_store import StudyExpert
from roslin.web.experiment.study import OpenStudy


def links_as_csv(study: OpenStudy, number: int, address: str = "") -> str:
    """New experts, one in a row: the name that tables give them, and their personal link."""
    return as_csv(study, study.store.invite(number), address)


def as_csv(study: OpenStudy, experts: Iterable[StudyExpert], address: str = "") -> str:
    """Experts with their links, one in a row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["expert", "link"])
    for expert in experts:
        writer.writerow([expert.label, study.link(expert, address)])
    return out.getvalue()

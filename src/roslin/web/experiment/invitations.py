"""Invitations in numbers: new experts with their links, as a table to send them from."""

from __future__ import annotations

import csv
import io

from roslin.web.experiment.study import OpenStudy

__all__ = ["links_as_csv"]


def links_as_csv(study: OpenStudy, number: int, address: str = "") -> str:
    """New experts, one in a row: the name that tables give them, and their personal link."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["expert", "link"])
    for expert in study.store.invite(number):
        writer.writerow([expert.label, study.link(expert, address)])
    return out.getvalue()

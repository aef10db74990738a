"""Every key of study.toml for the reference: its form, its default and its meaning."""

from __future__ import annotations

import json
from typing import NamedTuple

from pydantic.fields import FieldInfo

from roslin.experiment.plan import FROZEN
from roslin.experiment.study_toml import MODELS, Form


class KeyInfo(NamedTuple):
    """A key of a table. `otherwise` is the default, empty for a required key."""

    form: str
    otherwise: str
    meaning: str


def _info(field: FieldInfo) -> KeyInfo:
    form = next(each for each in field.metadata if isinstance(each, Form))
    shown = f"{field.default:g}" if isinstance(field.default, float) else json.dumps(field.default, default=str)
    otherwise = "" if field.is_required() else form.otherwise or f"`{shown}`"
    return KeyInfo(form.form, otherwise, " ".join((field.description or "").split()))


# The purpose of each table, and every key that it may have.
TABLES = {name: " ".join((model.__doc__ or "").split()) for name, model in MODELS.items()}
KEYS = {table: {name: _info(field) for name, field in model.model_fields.items()} for table, model in MODELS.items()}

# The keys that cannot change once a study has begun, by the part of the plan that they set.
FROZEN_KEYS: dict[str, str] = {
    "name": "`study.name`",
    "seed": "`study.seed`",
    "tasks": "queries and candidates, with `design.query_among_candidates`, and what melodies and files are like",
    **{
        part: f"`design.{'kind' if part == 'rules.design' else part.removeprefix('rules.')}`"
        for part in FROZEN
        if part.startswith("rules.")
    },
}

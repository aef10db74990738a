"""Studies of the starter collection for tests: a small one, and one of eleven queries with all their variants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from roslin.experiment.folder import StudyFolder, create_study
from roslin.starter import truth_path, tunes_path
from roslin.truth.qrel import read_truth

PASSWORD_FILE = "password.txt"  # beside the study, for tests of the dashboard
# Three queries with six candidates each: variants of the query, the nearest first, and tunes that are others.
SMALL = {
    "roslin-castle": [
        *(f"roslin-castle-{number}" for number in (2, 3, 4, 5)),
        "auld-lang-syne",
        "greensleeves",
    ],
    "ode-to-joy": [*(f"ode-to-joy-{number}" for number in (2, 3, 4)), "la-folia", "frere-jacques", "old-hundredth"],
    "white-cockade": [
        *(f"white-cockade-{number}" for number in (2, 3, 4, 5)),
        "yankee-doodle",
        "amazing-grace",
    ],
}


def study_text(queries: dict[str, list[str]], rules: dict[str, Any], extra: str = "", name: str = "test") -> str:
    """A `study.toml` over the starter collection; the query does not hide among its candidates unless `rules` ask."""
    rules = {"query_among_candidates": False} | rules
    design = "".join(f"{key} = {json.dumps(value)}\n" for key, value in rules.items())
    tables = "".join(
        f"[[queries]]\nid = {json.dumps(id)}\ncandidates = {json.dumps(candidates)}\n"
        for id, candidates in queries.items()
    )
    return (
        f'[study]\nname = "{name}"\ntitle = {{ en = "Melodies", de = "Melodien" }}\nlanguages = ["en", "de"]\n'
        f'contact = "someone@example.org"\nseed = 7\n\n[design]\n{design}\n'
        f"[material]\ncollection = {json.dumps(str(tunes_path()))}\n\n{extra}\n{tables}"
    )


def small_study(folder: Path, extra: str = "", **rules: Any) -> StudyFolder:
    """A study of three queries with six candidates each, a practice and a questionnaire. `rules`: keys of [design].

    The password of its dashboard lies beside it in `PASSWORD_FILE`.
    """
    return _made(folder, study_text(SMALL, {"queries_per_expert": 3} | rules, extra))


def starter_study(folder: Path, extra: str = "", queries: int = 11, others: int = 4, **rules: Any) -> StudyFolder:
    """A study of the first queries of the starter truth: all their variants, and some tunes that are others."""
    truth = read_truth(truth_path())
    chosen = sorted(truth)[:queries]
    bases = sorted(truth)
    candidates = {
        query: [
            *(id for group in truth[query] for id in group),
            *[bases[(bases.index(query) + step) % len(bases)] for step in range(1, others + 1)],
        ]
        for query in chosen
    }
    return _made(folder, study_text(candidates, {"queries_per_expert": queries} | rules, extra))


def _made(folder: Path, text: str) -> StudyFolder:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    created = create_study(folder / "study.toml")
    (folder / PASSWORD_FILE).write_text(created.password, encoding="utf-8")
    return created.folder

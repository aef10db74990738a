"""The export of a study, for `roslin truth`, other programs and archives.

    csv       rankings (or votes, choice-rankings and choices), trials, shown, experts, consents, consent-texts,
              events; each as NAME.csv
    json      the same tables, each a list of objects
    parquet   the same tables
    psych-ds  a dataset after https://psych-ds.github.io: dataset_description.json and data/study-NAME_..._data.csv

Each export has a README with the data dictionary, the plan, and a manifest with versions and checksums. Participants
appear under numbers. Their ids of a panel are included only if wanted. A folder is written completely or not at all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from roslin.display.table import Table, tame
from roslin.display.text import counted
from roslin.errors import ExperimentError, MissingExtraError, UnknownNameError
from roslin.experiment.events import receipt_of
from roslin.experiment.folder import new_folder
from roslin.experiment.plan import StudyPlan
from roslin.experiment.results import KEYS, TABLES, History, answer_columns, study_tables, variables_of
from roslin.experiment.store import EventStore

_NOT_IN_A_KEYWORD = re.compile("[^a-zA-Z0-9]")


def export_study(
    store: EventStore, folder: Path, format: str = "csv", *, unfinished: bool = False, participants: bool = False
) -> dict[str, int]:
    """Write a study into a new or empty folder; returns the number of rows of each table."""
    if format not in EXPORTS:
        raise UnknownNameError("format", format, EXPORTS)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExperimentError(f"{folder}: an export needs a new or empty folder")
    plan = store.plan
    histories = list(store.histories())
    tables = study_tables(plan, histories, store.consents(), unfinished=unfinished, participants=participants)
    rows = {name: len(table.rows) for name, table in tables.items()}
    with new_folder(folder) as prepared:
        EXPORTS[format](plan, tables, prepared)
        plans, manifests = ("materials", "documentation") if format == "psych-ds" else ("", "")
        _write(prepared / plans / "plan.json", plan.to_json())
        _write(prepared / "README.md", _readme(plan, tables, unfinished))
        about = {"unfinished": unfinished, "participants": participants, "rows": rows}
        manifest = _manifest(plan, prepared, format) | about
        _write(prepared / manifests / "manifest.json", _as_text(manifest))
        prepared.chmod(0o755)
    return rows


# -- formats -----------------------------------------------------------------------------------------------------------


def _as_csv(plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> None:
    for name, table in tables.items():
        _write(folder / f"{name}.csv", _csv(plan, name, table))


def _as_json(_plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> None:
    for name, table in tables.items():
        _write(folder / f"{name}.json", _whole(table.to_json()))


def _as_parquet(_plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("an export as Parquet", "pyarrow", "parquet") from None

    for name, table in tables.items():
        columns = {}
        for column in table.columns:
            cells = [row.get(column) for row in table.rows]
            kinds = {type(cell) for cell in cells if cell is not None}
            # One type per column: mixed numbers become floats, mixed answers become text.
            one = float if kinds == {int, float} else str if len(kinds) > 1 else None
            columns[column] = [cell if cell is None or one is None else one(cell) for cell in cells]
        parquet.write_table(pyarrow.table(columns), folder / f"{name}.parquet")


def _as_psych_ds(plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> None:
    study = _NOT_IN_A_KEYWORD.sub("", plan.name) or "study"
    for part in ("data", "materials", "documentation"):
        (folder / part).mkdir()
    for name, table in tables.items():
        keyword = _NOT_IN_A_KEYWORD.sub("", name)
        _write(folder / "data" / f"study-{study}_description-{keyword}_data.csv", _csv(plan, name, table))
    variables = variables_of(plan)
    measured = [
        {
            "@type": "PropertyValue",
            "name": column,
            "description": variables[column].description,
            **({"unitText": variables[column].unit} if variables[column].unit else {}),
        }
        for column in dict.fromkeys(column for table in tables.values() for column in table.columns)
    ]
    title = plan.text(plan.title, plan.languages[0])
    described = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": title or plan.name,
        "description": f"Judgements of similarity that experts made in the study {plan.name!r}. "
        + " ".join(f"{name}: {TABLES[name]}" for name in tables),
        "schemaVersion": "Psych-DS 1.5.1",
        "dateCreated": datetime.now(UTC).date().isoformat(),
        "keywords": ["similarity", "ground truth", plan.rules.design],
        "variableMeasured": measured,
    }
    _write(folder / "dataset_description.json", _as_text(described))


EXPORTS: dict[str, Callable[[StudyPlan, Mapping[str, Table], Path], None]] = {
    "csv": _as_csv,
    "json": _as_json,
    "parquet": _as_parquet,
    "psych-ds": _as_psych_ds,
}


def _csv(plan: StudyPlan, name: str, table: Table) -> str:
    """A table as CSV. Typed answers are protected from being run as formulas."""
    if name == "experts":
        typed = {*answer_columns(plan).values(), "participant"}
        safe = ({name: tame(cell) if name in typed else cell for name, cell in row.items()} for row in table.rows)
        table = replace(table, rows=tuple(safe))
    return _whole(table.to_csv())


def _whole(text: str) -> str:
    """Text without lone surrogates, which only programs send and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _manifest(plan: StudyPlan, folder: Path, format: str) -> dict[str, Any]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        "study": plan.name,
        "format": format,
        "exported": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "roslin": version("roslin"),
        "plan": plan.fingerprint,
        "files": {
            path.relative_to(folder).as_posix(): {
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "bytes": path.stat().st_size,
            }
            for path in files
        },
    }


def _readme(plan: StudyPlan, tables: Mapping[str, Table], unfinished: bool) -> str:
    variables = variables_of(plan)
    which = "All trials, also those that are not finished" if unfinished else "Only trials that were finished"
    lines = [
        f"# {plan.text(plan.title, plan.languages[0]) or plan.name}",
        "",
        f"Judgements of the study `{plan.name}`, exported by Roslin {version('roslin')}. {which}. Experts are called",
        "by numbers; whoever has withdrawn is not in it. `plan.json` has everything that was decided before: queries,",
        "candidates, rules, texts. `manifest.json` has the checksums of all files. An empty cell is a value that is",
        "not there.",
        "In CSV, an answer that a spreadsheet would run as a formula has a `'` before it.",
    ]
    for name, table in tables.items():
        key = ", ".join(f"`{column}`" for column in KEYS[name])
        rows = f"{TABLES[name]} {counted(len(table.rows), 'row')}, each with its own {key}."
        lines += ["", f"## {name}", "", rows, "", "| column | meaning | unit |", "|---|---|---|"]
        for column in table.columns:
            meaning = variables[column].description.replace("|", "\\|").replace("\n", " ")
            lines.append(f"| `{column}` | {meaning} | {variables[column].unit} |")
    return _whole("\n".join(lines) + "\n")


# -- receipts ----------------------------------------------------------------------------------------------------------
#
# A list of receipt codes from a panel, compared with the receipts of the study.
#
# A line is a receipt code, or a participant id if the study stores them; text after a comma, a semicolon, a tab or a
# space is ignored, and so are case and dashes. Participants were turned away if the study was closed or full and they
# have not completed it since.


CodeVerdict = Literal["valid", "twice", "turned away", "not finished", "unknown"]
_MOST_LINES = 10_000


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """A line of the list. `expert` is the label of its participant, or empty."""

    code: str
    verdict: CodeVerdict
    expert: str = ""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The list in its order, and the participants who completed the study and are not in it."""

    codes: tuple[CheckedCode, ...]
    missing: tuple[str, ...]

    def count(self, verdict: CodeVerdict) -> int:
        return sum(each.verdict == verdict for each in self.codes)


def reconcile(text: str, histories: Iterable[History]) -> Reconciled:
    """Compare a pasted list with the receipts of the study."""
    receipts: dict[str, str] = {}
    participants: dict[str, tuple[str, str]] = {}
    turned_away = set()
    for expert, told in histories:
        if receipt := receipt_of(told):
            receipts[receipt] = expert.label
            if all(event.kind != "completed" for event in told):
                turned_away.add(receipt)
        if expert.participant:
            participants[expert.participant] = expert.label, receipt
    seen: set[str] = set()
    checked = []
    for line in text.splitlines()[:_MOST_LINES]:
        words = re.split(r"[\s,;]+", line.strip(), maxsplit=1)
        if not words[0]:
            continue
        code = re.sub("[^A-Z0-9]", "", words[0].upper())
        if words[0] in participants:
            label, code = participants[words[0]]
        else:
            label = receipts.get(code, "")
        verdict: CodeVerdict = "unknown" if not label else "not finished" if not code else "valid"
        if verdict == "valid":
            verdict = "twice" if code in seen else "turned away" if code in turned_away else "valid"
        seen.add(code)
        checked.append(CheckedCode(words[0], verdict, label))
    missing = tuple(label for code, label in receipts.items() if code not in seen | turned_away)
    return Reconciled(tuple(checked), missing)

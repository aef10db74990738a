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

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ExperimentError, MissingExtraError, UnknownNameError
from roslin.experiment.events import receipt_of
from roslin.experiment.folder import new_folder
from roslin.experiment.plan import StudyPlan
from roslin.experiment.results import KEYS, TABLES, History, answer_columns, study_tables, variables_of
from roslin.experiment.store import EventStore

# Spreadsheets run cells that begin with these characters as formulas.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NOT_IN_A_KEYWORD = re.compile("[^a-zA-Z0-9]")
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export: rows by table."""

    folder: Path
    rows: dict[str, int]


def export_study(
    store: EventStore, folder: Path, format: str = "csv", *, unfinished: bool = False, participants: bool = False
) -> Exported:
    """Write a study into a new or empty folder."""
    if format not in EXPORTS:
        raise UnknownNameError("format", format, EXPORTS)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExperimentError(f"{folder}: an export needs a new or empty folder")
    plan = store.plan
    histories = list(store.histories())
    tables = study_tables(plan, histories, store.consents(), unfinished=unfinished, participants=participants)
    with new_folder(folder) as prepared:
        manifest = EXPORTS[format](plan, tables, prepared)
        rows = {name: len(table.rows) for name, table in tables.items()}
        about = {"unfinished": unfinished, "participants": participants, "rows": rows}
        (prepared / "README.md").write_text(_readme(plan, tables, unfinished), encoding="utf-8", newline="\n")
        _write_json(prepared / manifest, _manifest(plan, prepared, format) | about)
        prepared.chmod(0o755)
    return Exported(folder, rows)


# -- formats: each writes its tables and returns the place of the manifest --------------------------------------------


def _as_csv(plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> Path:
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(_csv(plan, name, table), encoding="utf-8", newline="\n")
    (folder / "plan.json").write_text(plan.to_json(), encoding="utf-8", newline="\n")
    return Path(_MANIFEST)


def _as_json(plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> Path:
    for name, table in tables.items():
        (folder / f"{name}.json").write_text(_whole(table.to_json()), encoding="utf-8", newline="\n")
    (folder / "plan.json").write_text(plan.to_json(), encoding="utf-8", newline="\n")
    return Path(_MANIFEST)


def _as_parquet(plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> Path:
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
    (folder / "plan.json").write_text(plan.to_json(), encoding="utf-8", newline="\n")
    return Path(_MANIFEST)


def _as_psych_ds(plan: StudyPlan, tables: Mapping[str, Table], folder: Path) -> Path:
    study = _NOT_IN_A_KEYWORD.sub("", plan.name) or "study"
    for part in ("data", "materials", "documentation"):
        (folder / part).mkdir()
    for name, table in tables.items():
        described = _NOT_IN_A_KEYWORD.sub("", name)
        path = folder / "data" / f"study-{study}_description-{described}_data.csv"
        path.write_text(_csv(plan, name, table), encoding="utf-8", newline="\n")
    (folder / "materials" / "plan.json").write_text(plan.to_json(), encoding="utf-8", newline="\n")
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
    _write_json(
        folder / "dataset_description.json",
        {
            "@context": "https://schema.org/",
            "@type": "Dataset",
            "name": title or plan.name,
            "description": f"Judgements of similarity that experts made in the study {plan.name!r}. "
            + " ".join(f"{name}: {TABLES[name]}" for name in tables),
            "schemaVersion": "Psych-DS 1.5.1",
            "dateCreated": datetime.now(UTC).date().isoformat(),
            "keywords": ["similarity", "ground truth", plan.rules.design],
            "variableMeasured": measured,
        },
    )
    return Path("documentation") / _MANIFEST


EXPORTS: dict[str, Callable[[StudyPlan, Mapping[str, Table], Path], Path]] = {
    "csv": _as_csv,
    "json": _as_json,
    "parquet": _as_parquet,
    "psych-ds": _as_psych_ds,
}


def _csv(plan: StudyPlan, name: str, table: Table) -> str:
    """A table as CSV. Typed answers are protected from being run as formulas."""
    if name == "experts":
        typed = {*answer_columns(plan).values(), "participant"}
        rows = tuple(
            {column: _tame(cell) if column in typed else cell for column, cell in row.items()} for row in table.rows
        )
        table = replace(table, rows=rows)
    return _whole(table.to_csv())


def _tame(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _whole(text: str) -> str:
    """Text without lone surrogates, which only programs send and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")


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
        lines += [
            "",
            f"## {name}",
            "",
            f"{TABLES[name]} {counted(len(table.rows), 'row')}, each with its own {key}.",
            "",
        ]
        lines.append("| column | meaning | unit |")
        lines.append("|---|---|---|")
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
        """The number of lines with a verdict."""
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

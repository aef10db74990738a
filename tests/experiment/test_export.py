"""Exports: known numbers, the way into the truth layer, and that nobody can be told by them."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.experiment.plans import judge_all, ranked, ranking_plan

from roslin.errors import DecisionError, ExperimentError, MissingExtraError, UnknownNameError
from roslin.experiment import clock, export
from roslin.experiment.events import Decision, trial_state
from roslin.experiment.export import EXPORTS, export_study
from roslin.experiment.results import KEYS, TABLES, study_tables, trial_records, variables_of
from roslin.experiment.store import EventStore
from roslin.truth import read_rankings, study_rankings, study_strengths, study_votes
from roslin.truth.choice_models import read_votes


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(quota=99))
    for each in opened.invite(3, participant="PROLIFIC-77"):
        judge_all(opened, each.name, years=each.number)
    late = opened.invite()[0].name
    opened.consent(late)
    opened.add(late, "answered", {"answers": {"years": 2, "remarks": "=cmd|' /C calc'!A0", "other": [1, 2]}})
    trial = opened.begin(late)
    shown = trial_state(opened.events(late, trial)).shown
    opened.decide(late, trial, [Decision("sorted", {"document": shown[0], "verdict": "no"}, "k")])
    yield opened
    opened.close()


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_rankings_go_straight_into_the_truth_layer(store: EventStore, tmp_path: Path) -> None:
    done = export_study(store, tmp_path / "out")
    assert done["rankings"] == 3 * 3 * 4
    said = read_rankings(tmp_path / "out" / "rankings.csv")
    assert said.experts == ("expert-001", "expert-002", "expert-003")
    assert set(said["q1"].documents) == {"q1", "q1-1", "q1-2", "q1-3"}
    order = said["q1"].documents
    assert {order[k]: rank for k, rank in enumerate(said["q1"].ranks[0]) if rank == rank} == {
        "q1": 1,
        "q1-1": 2,
        "q1-2": 3,
    }
    found = study_rankings(said, shuffles=50, power=False)
    assert found.truth["q1"][0] == ("q1",)


def test_every_format_says_the_same(store: EventStore, tmp_path: Path) -> None:
    for format in EXPORTS:
        export_study(store, tmp_path / format, format)
    as_csv = read_rankings(tmp_path / "csv" / "rankings.csv")
    for other in (
        tmp_path / "json" / "rankings.json",
        tmp_path / "parquet" / "rankings.parquet",
        tmp_path / "psych-ds" / "data" / "study-small_description-rankings_data.csv",
    ):
        assert list(read_rankings(other).rows()) == list(as_csv.rows())
    for name in TABLES:
        path = tmp_path / "csv" / f"{name}.csv"
        if path.exists():
            assert len(rows(path)) == len(json.loads((tmp_path / "json" / f"{name}.json").read_text()))


def test_trials_have_their_times_and_the_order_shown(store: EventStore, tmp_path: Path) -> None:
    export_study(store, tmp_path / "out")
    trials, shown = (rows(tmp_path / "out" / f"{name}.csv") for name in ("trials", "shown"))
    assert len(trials) == 9
    assert {each["attention"] for each in trials} == {"passed"}
    assert {each["decisions"] for each in trials} == {"7"}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each["began"]) for each in trials)
    assert all(float(each["elapsed_seconds"]) >= float(each["active_seconds"]) >= 0 for each in trials)
    name = store.experts()[0].name
    began = next(event for event in store.events(name, 1) if event.kind == "began")
    mine = [each["document"] for each in shown if each["expert"] == "expert-001" and each["trial"] == "1"]
    assert mine == began.payload["shown"]
    assert {each["verdict"] for each in shown} == {"resembles", "no"}


def test_pauses_do_not_count_and_clocks_of_browsers_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10_000 + 1000 * step for step in range(200)])
    jump = [0]
    monkeypatch.setattr(clock, "now_ms", lambda: next(times) + jump[0])
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(1, candidates=2))
    name = store.invite()[0].name
    trial = store.begin(name)
    first, second = trial_state(store.events(name, trial)).shown

    def no(document: str, key: str, made_ms: int) -> None:
        decision = Decision("sorted", {"document": document, "verdict": "no"}, key, made_ms)
        store.decide(name, trial, [decision], "phone touch")

    no(first, "a", 500_000)
    jump[0] = 3_600_000  # an hour's rest
    no(second, "b", 502_500)
    no(second, "c", 501_000)  # the clock of the browser was set back
    store.finish(name, trial, "end")
    [record] = trial_records(store.histories())
    assert record.finished_ms is not None
    assert record.finished_ms - record.began_ms > 3_600_000
    assert record.active_seconds < 60
    assert 2.5 in record.latencies.values()
    assert len(record.latencies) == 2
    assert record.device == "phone touch"
    assert record.attention is False
    store.close()


def test_a_wrong_clock_of_a_browser_gives_no_latency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10_000 + 1000 * step for step in range(200)])
    monkeypatch.setattr(clock, "now_ms", lambda: next(times))
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(1, candidates=2))
    name = store.invite()[0].name
    trial = store.begin(name)
    first, second = trial_state(store.events(name, trial)).shown
    for key, document, made_ms in (("a", first, 500_000), ("b", second, 2**53 - 2000), ("c", first, 2**53)):
        decision = Decision("sorted", {"document": document, "verdict": "no"}, key, made_ms)
        store.decide(name, trial, [decision], "phone touch")
    store.finish(name, trial, "end")
    [record] = trial_records(store.histories())
    assert max(record.latencies.values()) < 10
    assert record.median_latency is not None
    assert record.median_latency < 10
    store.close()


def test_nobody_is_named(store: EventStore, tmp_path: Path) -> None:
    names = [each.name for each in store.experts()]
    receipts = [
        event.payload["receipt"] for _, told in store.histories() for event in told if event.kind == "completed"
    ]
    keys = [event.key for _, told in store.histories() for event in told if len(event.key) == 16]
    assert len(receipts) == 3
    for format in EXPORTS:
        export_study(store, tmp_path / format, format, unfinished=True)
        for path in (tmp_path / format).rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            for secret in (*names, *receipts, *keys, "PROLIFIC-77"):
                assert secret.encode() not in content, path
    export_study(store, tmp_path / "asked", participants=True)
    assert {each["participant"] for each in rows(tmp_path / "asked" / "experts.csv")} == {"PROLIFIC-77", ""}


def test_answers_of_the_questionnaire(store: EventStore, tmp_path: Path) -> None:
    export_study(store, tmp_path / "out")
    people = rows(tmp_path / "out" / "experts.csv")
    assert [each["years"] for each in people] == ["1", "2", "3", "2"]
    assert people[0]["remarks"] == 'fine, "really"'
    assert people[3]["remarks"] == "'=cmd|' /C calc'!A0"
    assert [each["is_complete"] for each in people] == ["yes", "yes", "yes", "no"]
    assert [each["trials_finished"] for each in people] == ["3", "3", "3", "0"]


def test_what_is_not_finished_is_there_if_it_is_asked_for(store: EventStore, tmp_path: Path) -> None:
    export_study(store, tmp_path / "finished")
    export_study(store, tmp_path / "all", unfinished=True)
    less, more = (rows(tmp_path / name / "trials.csv") for name in ("finished", "all"))
    assert (len(less), len(more)) == (9, 10)
    assert more[-1]["finished"] == more[-1]["attention"] == ""
    kinds = [each["kind"] for each in rows(tmp_path / "finished" / "events.csv") if each["expert"] == "expert-004"]
    assert kinds == ["consented", "answered"]


def test_what_was_undone_names_its_number(tmp_path: Path) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(1))
    name = store.invite()[0].name
    trial = store.begin(name)
    store.decide(name, trial, [Decision("sorted", {"document": "q1", "verdict": "no"}, "k")])
    store.decide(name, trial, [Decision("undone", {"undoes": "k"}, "u")])
    ranked(store, name, key="x")
    export_study(store, tmp_path / "out")
    events = rows(tmp_path / "out" / "events.csv")
    assert [each["undoes"] for each in events if each["kind"] == "undone"] == ["2"]
    assert rows(tmp_path / "out" / "trials.csv")[0]["undone"] == "1"
    store.close()


def test_plays_and_differences_are_exported_with_their_durations(tmp_path: Path) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan(1, differences=True))
    name = store.invite()[0].name
    trial = store.begin(name)
    plays = [
        Decision("heard", {"document": None, "duration_ms": 2500}, "a"),
        Decision("heard", {"document": "q1"}, "b"),
    ]
    store.decide(name, trial, [*plays, Decision("compared", {"documents": [None, "q1"]}, "c")])
    with pytest.raises(DecisionError, match="differences are those of two melodies"):
        store.decide(name, trial, [Decision("compared", {"documents": ["q1"]}, "d")])
    ranked(store, name, key="x")
    export_study(store, tmp_path / "out")
    told = [
        (each["kind"], each["document"], each["documents"], each["duration_seconds"])
        for each in rows(tmp_path / "out" / "events.csv")
        if each["kind"] in ("heard", "compared")
    ]
    assert told == [("heard", "", "", "2.5"), ("heard", "q1", "", ""), ("compared", "", '[null, "q1"]', "")]
    counted = rows(tmp_path / "out" / "trials.csv")[0]
    assert [counted[name] for name in ("heard", "heard_seconds", "compared")] == ["2", "2.5", "1"]
    store.close()


def test_who_agreed_to_which_text_is_exported(tmp_path: Path) -> None:
    url, plan = f"sqlite:///{tmp_path / 'study.db'}", ranking_plan()
    store = EventStore(url, plan)
    early, unknown = (each.name for each in store.invite(2))
    store.consent(early)
    store.add(unknown, "consented")  # as an earlier Roslin kept it
    store.close()
    store = EventStore(url, replace(plan, consent={"en": "I agree to more."}))
    store.consent(early)
    export_study(store, tmp_path / "out")
    store.close()
    given, texts = (rows(tmp_path / "out" / f"{name}.csv") for name in ("consents", "consent-texts"))
    assert [(each["expert"], each["version"], each["language"]) for each in given] == [
        ("expert-001", "1", "en"),
        ("expert-001", "2", "en"),
        ("expert-002", "", ""),
    ]
    assert [(each["version"], each["text"]) for each in texts] == [("1", "I agree."), ("2", "I agree to more.")]
    assert [each["sha256"] for each in given[:2]] == [each["sha256"] for each in texts]
    assert [each["sha256"] for each in texts] == [hashlib.sha256(each["text"].encode()).hexdigest() for each in texts]


# -- comparisons ------------------------------------------------------------------------------------------------------


def compared(tmp_path: Path, design: str, size: int) -> Path:
    """Twelve experts who always choose the candidate with the smallest number; the fourth sees no difference once."""
    plan = ranking_plan(1, design=design, quota=99, comparisons=3)
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", plan)
    every: dict[int, list[tuple[str, ...]]] = {
        2: [("q1", "q1-1"), ("q1-2", "q1-1"), ("q1-2", "q1-3"), ("q1-1", "q1")],
        3: [("q1", "q1-1", "q1-2"), ("q1-3", "q1-1", "q1-2"), ("q1-3", "q1", "q1-2")],
    }
    sets = every[size]
    for expert in store.invite(12):
        trial = store.begin(expert.name)
        for number, documents in enumerate(sets):
            best = None if expert.number == 4 and number == 1 else min(documents)
            payload = {"documents": list(documents), "best": best}
            store.decide(expert.name, trial, [Decision("chose", payload, f"k{number}")])
        store.finish(expert.name, trial, "end")
    export_study(store, tmp_path / "out")
    store.close()
    return tmp_path / "out"


def test_pairs_go_straight_into_the_truth_layer(tmp_path: Path) -> None:
    out = compared(tmp_path, "pairs", 2)
    assert not (out / "rankings.csv").exists()
    votes = read_votes(out / "votes.csv")
    assert len(votes) == 12 * 3  # two were compared again: the last answer counts
    assert sum(vote.answer == "s" for vote in votes) == 1
    found = study_votes(votes, "bradley-terry", shuffles=0)
    assert [id for group in found.truth["q1"] for id in group] == ["q1", "q1-1", "q1-2", "q1-3"]


def test_triplets_go_straight_into_the_truth_layer(tmp_path: Path) -> None:
    out = compared(tmp_path, "triplets", 3)
    said = read_rankings(out / "choice-rankings.csv")
    assert len(said["q1"].experts) == 36
    from roslin.truth.grouping import Method

    found = study_strengths(said, Method(unranked="drop"), shuffles=0, resamples=20)
    assert found.truth["q1"][:2] == (("q1",), ("q1-1",))
    assert read_votes(out / "votes.csv")
    first = rows(out / "choices.csv")[0]
    assert json.loads(first["documents"]) == ["q1", "q1-1", "q1-2"]
    assert first["best"] == "q1"


# -- the form of the folder -------------------------------------------------------------------------------------------


def test_the_manifest_holds(store: EventStore, tmp_path: Path) -> None:
    for format, where in (("csv", "."), ("psych-ds", "documentation")):
        out = tmp_path / format
        export_study(store, out, format)
        manifest = json.loads((out / where / "manifest.json").read_text())
        assert manifest["plan"] == store.plan.fingerprint
        found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        assert found - set(manifest["files"]) == {f"{where}/manifest.json".removeprefix("./")}
        for name, said in manifest["files"].items():
            assert hashlib.sha256((out / name).read_bytes()).hexdigest() == said["sha256"]


def test_every_column_is_described(store: EventStore, tmp_path: Path) -> None:
    variables = variables_of(store.plan)
    export_study(store, tmp_path / "out")
    readme = (tmp_path / "out" / "README.md").read_text()
    tables = study_tables(store.plan, list(store.histories()), participants=True)
    for name, table in tables.items():
        assert f"## {name}" in readme
        for column in table.columns:
            assert variables[column].description
            assert column == "participant" or f"| `{column}` |" in readme


@pytest.mark.long
def test_rows_are_found_by_their_keys(store: EventStore, tmp_path: Path) -> None:
    names = set()
    export_study(store, tmp_path / "out", unfinished=True)
    outs = [tmp_path / "out"]
    for design, size in (("pairs", 2), ("triplets", 3)):
        (tmp_path / design).mkdir()
        outs.append(compared(tmp_path / design, design, size))
    for path in (path for out in outs for path in out.glob("*.csv")):
        found = [tuple(row[column] for column in KEYS[path.stem]) for row in rows(path)]
        assert len(set(found)) == len(found), path
        names.add(path.stem)
    assert names == set(KEYS) == set(TABLES)


def psych_ds_errors(folder: Path) -> list[str]:
    """The rules of Psych-DS whose breach is an error (psychds-docs, rules and conventions)."""
    errors = []
    about = json.loads((folder / "dataset_description.json").read_text("utf-8"))
    if about.get("@type") != "Dataset" or about.get("@context", "").rstrip("/") != "https://schema.org":
        errors.append("the description is no Dataset of schema.org")
    errors += [f"no {name}" for name in ("name", "description", "variableMeasured") if not about.get(name)]
    measured = {each if isinstance(each, str) else each["name"] for each in about["variableMeasured"]}
    errors += [f"{each} has no type" for each in about["variableMeasured"] if each.get("@type") != "PropertyValue"]
    files = sorted((folder / "data").rglob("*.csv"))
    if not files:
        errors.append("no data")
    for path in files:
        if not re.fullmatch(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv", path.name):
            errors.append(f"the name {path.name}")
        with path.open(encoding="utf-8", newline="") as stream:
            header, *lines = list(csv.reader(stream, strict=True))
        errors += [f"{path.name} line {n}" for n, line in enumerate(lines, 2) if len(line) != len(header)]
        errors += [f"column {column} is not described" for column in header if column not in measured]
        errors += ["a column is there twice"] if len(set(header)) != len(header) else []
        if "row_id" in header:
            ids = [line[header.index("row_id")] for line in lines]
            errors += ["row_id is not unique"] if len(set(ids)) != len(ids) else []
    return errors


def test_the_rules_of_psych_ds_are_kept(store: EventStore, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_study(store, out, "psych-ds")
    assert psych_ds_errors(out) == []
    described = json.loads((out / "dataset_description.json").read_text())
    assert described["name"] == "A small study"
    (out / "data" / "wrong name.csv").write_text("strange\n1,2\n")
    assert psych_ds_errors(out) == [
        "the name wrong name.csv",
        "wrong name.csv line 2",
        "column strange is not described",
    ]


def test_folders_that_cannot_be_written(store: EventStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(ExperimentError, match="an export needs a new or empty folder"):
        export_study(store, tmp_path / "full")
    with pytest.raises(UnknownNameError, match="unknown format 'xls'; known: csv, json, parquet, psych-ds"):
        export_study(store, tmp_path / "out", "xls")

    def fail(*_: Any) -> Path:
        raise OSError("no more paper")

    monkeypatch.setitem(export.EXPORTS, "csv", fail)
    with pytest.raises(OSError, match="no more paper"):
        export_study(store, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir() if "study.db" not in path.name) == ["full"]
    missing: Any = None
    monkeypatch.setitem(sys.modules, "pyarrow", missing)
    with pytest.raises(MissingExtraError, match="an export as Parquet needs pyarrow"):
        export_study(store, tmp_path / "out", "parquet")


def test_a_study_without_answers_is_exported(tmp_path: Path) -> None:
    store = EventStore(f"sqlite:///{tmp_path / 'study.db'}", ranking_plan())
    for format in EXPORTS:
        export_study(store, tmp_path / format, format)
    assert (tmp_path / "csv" / "rankings.csv").read_text() == "query,expert,document,rank\n"
    assert psych_ds_errors(tmp_path / "psych-ds") == []
    store.close()

"""The folder of a study: made whole or not at all, changed only where nobody's judgement is touched."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.experiment.studies import PASSWORD_FILE, SMALL, small_study, starter_study, study_text

from roslin.api import Collection
from roslin.errors import CollectionError, ExperimentError, FrozenError, UnknownNameError
from roslin.experiment import folder as folder_module
from roslin.experiment.folder import StudyFolder, create_study, throwaway_study, write_example
from roslin.experiment.plan import StudyPlan
from roslin.experiment.planning import usual_practice
from roslin.experiment.store import EventStore
from roslin.melody import Melody
from roslin.starter import tunes_path

TWO = {"one": ["a", "b", "c"], "two": ["b", "c", "d"]}


def tunes(changed: str = "") -> list[Melody]:
    """Melodies under short ids; of one of them another note."""
    return [
        Melody.from_notes([0, 1, 2, 3], [1] * 4, [60, 62 + k, 64, 60 + (id == changed)], id=id, title=f"Secret {id}")
        for k, id in enumerate(("one", "two", "a", "b", "c", "d"))
    ]


def two_queries(path: Path, **changes: str) -> Path:
    """A study.toml with a collection beside it; `changes`: text to text."""
    path.mkdir(exist_ok=True)
    if not (path / "tunes.roslin").exists():
        Collection.build(tunes(), path / "tunes.roslin").close()
    text = study_text(TWO, {"quota": 4}).replace(str(tunes_path()), "tunes.roslin")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (path / "study.toml").write_text(text, encoding="utf-8")
    return path / "study.toml"


def begin(study: StudyFolder) -> None:
    store = EventStore(study.database, study.plan)
    (expert,) = store.invite()
    store.add(expert.name, "consented")
    store.close()


def test_a_new_study_has_all_that_it_needs(tmp_path: Path) -> None:
    created = create_study(two_queries(tmp_path))
    with created.folder as study:
        assert study.path == tmp_path / "test.study"
        assert created.is_new
        assert created.is_changed
        assert created.notes == ("one: 3 candidates by name.", "two: 3 candidates by name.")
        assert [(task.query.id, task.ids) for task in study.plan.tasks] == [
            ("one", ("a", "b", "c")),
            ("two", ("b", "c", "d")),
        ]
        assert study.melody("a") == tunes()[2].with_metadata(source=study.melody("a").source)
        assert study.melody("practice-query").title is None
        assert len(study.key) == 32
        assert study.check_password(created.password)
        assert not study.check_password(created.password + "x")
        assert not study.check_password("")
        assert study.database == f"sqlite:///{tmp_path}/test.study/study.db"
        with pytest.raises(UnknownNameError, match="unknown melody 'white-cockade'"):
            study.melody("white-cockade")
    kept = {path.name for path in study.path.iterdir()}
    assert kept == {"study.toml", "plan.json", "key", "password", "melodies.roslin", "pool.csv"}
    for name in ("key", "password"):
        assert stat.S_IMODE((study.path / name).stat().st_mode) == 0o600
    assert created.password not in "".join(
        path.read_text("utf-8") for path in study.path.iterdir() if path.suffix != ".roslin"
    )
    assert stat.S_IMODE(study.path.stat().st_mode) == 0o700


def test_two_studies_share_no_secret(tmp_path: Path) -> None:
    toml = two_queries(tmp_path)
    first, second = create_study(toml), create_study(toml, tmp_path / "other.study")
    assert first.folder.key != second.folder.key
    assert first.password != second.password
    assert not second.folder.check_password(first.password)
    assert first.folder.plan == second.folder.plan


def test_nothing_changed(tmp_path: Path) -> None:
    toml = two_queries(tmp_path)
    first = create_study(toml)
    before = {path: path.stat().st_mtime_ns for path in sorted(first.folder.path.rglob("*"))}
    again = create_study(toml)
    assert (again.is_new, again.is_changed, again.password) == (False, False, "")
    assert again.folder.key == first.folder.key
    assert {path: path.stat().st_mtime_ns for path in sorted(first.folder.path.rglob("*"))} == before


def test_before_anybody_begins_everything_may_change(tmp_path: Path) -> None:
    first = create_study(two_queries(tmp_path))
    EventStore(first.folder.database, first.folder.plan).close()
    again = create_study(two_queries(tmp_path, **{'"b", "c", "d"': '"a", "d"', "quota = 4": "quota = 4\nties = true"}))
    assert again.is_changed
    assert again.folder.plan.task("two").ids == ("a", "d")
    assert again.folder.check_password(first.password)


def test_a_study_that_has_begun_takes_only_what_changes_no_judgement(tmp_path: Path) -> None:
    first = create_study(two_queries(tmp_path))
    begin(first.folder)
    plan = (first.folder.path / "plan.json").read_text("utf-8")
    frozen = {'"b", "c", "d"': '"a", "d"', "quota = 4": "ties = true", "seed = 7": "seed = 8"}
    with pytest.raises(FrozenError, match=r"the study has begun, so tasks, seed, rules.ties can no longer change"):
        create_study(two_queries(tmp_path, **frozen))
    assert (first.folder.path / "plan.json").read_text("utf-8") == plan
    with Collection(first.folder.path / "melodies.roslin") as melodies:
        assert "b" in melodies
    free = create_study(two_queries(tmp_path, **{"someone@": "another@", "quota = 4": "quota = 40"}))
    assert free.is_changed
    assert free.folder.plan.rules.quota == 40
    assert "another@example.org" in free.folder.plan.consent["de"]
    assert EventStore(free.folder.database, free.folder.plan).plan == free.folder.plan


def test_a_melody_that_was_corrected_is_another_one(tmp_path: Path) -> None:
    toml = two_queries(tmp_path)
    begin(create_study(toml).folder)
    Collection.build(tunes("c"), tmp_path / "tunes.roslin").close()
    with pytest.raises(FrozenError, match="tasks"):
        create_study(toml)
    Collection.build([tune.with_metadata(title="Another") for tune in tunes()], tmp_path / "tunes.roslin").close()
    assert not create_study(toml).is_changed


def test_a_pool_stays_once_somebody_has_begun(tmp_path: Path) -> None:
    """Whatever the collection has become since: another melody that would be in it, and texts that were corrected."""
    pool = {
        'id = "two"\ncandidates = ["b", "c", "d"]': 'id = "two"\n[queries.pool]\nnote_count = "1.."\nunique = false'
    }
    toml = two_queries(tmp_path, **pool)
    first = create_study(toml)
    before = first.folder.plan.task("two").ids
    assert set(before) == {"one", "a", "b", "c", "d"}
    Collection.build([*tunes(), tunes()[0].with_metadata(id="e")], tmp_path / "tunes.roslin").close()
    assert set(create_study(toml).folder.plan.task("two").ids) == {*before, "e"}
    begin(StudyFolder(first.folder.path))
    Collection.build([*tunes(), *(tunes()[0].with_metadata(id=id) for id in "ef")], tmp_path / "tunes.roslin").close()
    corrected = create_study(two_queries(tmp_path, **pool, **{"someone@": "another@"}))
    assert corrected.is_changed
    assert corrected.notes[1] == "two: the pool stays as it is: 6 candidates."
    assert set(corrected.folder.plan.task("two").ids) == {*before, "e"}
    with (corrected.folder.path / "pool.csv").open(encoding="utf-8") as file:
        assert len(file.readlines()) == 7
    pool = {old: new.replace("1..", "2..") for old, new in pool.items()}
    with pytest.raises(FrozenError, match="tasks"):
        create_study(two_queries(tmp_path, **pool))


def test_another_database_is_asked_as_well(tmp_path: Path) -> None:
    created = create_study(two_queries(tmp_path))
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    store = EventStore(elsewhere, created.folder.plan)
    store.add(store.invite()[0].name, "consented")
    store.close()
    changed = two_queries(tmp_path, **{"quota = 4": "ties = true"})
    with pytest.raises(FrozenError, match=r"rules\.ties"):
        create_study(changed, database=elsewhere)


@pytest.mark.parametrize("step", ["_write_content", "write_text", "sync"])
def test_an_interrupted_creation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    toml = two_queries(tmp_path)
    before = sorted(tmp_path.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(folder_module, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            create_study(toml)
    assert sorted(tmp_path.iterdir()) == before
    assert create_study(toml).is_new


KILLED = """
import os, sys
from pathlib import Path
from roslin.experiment import folder
folder.write_text = lambda *_: os._exit(9)
folder.create_study(Path(sys.argv[1]))
"""


@pytest.mark.kills
def test_a_killed_creation_leaves_no_study_and_the_next_one_clears_up(tmp_path: Path) -> None:
    toml = two_queries(tmp_path)
    assert subprocess.run([sys.executable, "-c", KILLED, toml], check=False).returncode == 9
    assert not (tmp_path / "test.study").exists()
    assert list(tmp_path.glob(".test.study-*.new"))
    create_study(toml)
    assert not list(tmp_path.glob(".test.study-*.new"))


def test_an_interrupted_change_leaves_the_study_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = create_study(two_queries(tmp_path))
    toml = two_queries(tmp_path, **{"someone@": "another@"})
    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "write_text", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            create_study(toml)
    assert StudyFolder(first.folder.path).plan == first.folder.plan
    assert create_study(toml).is_changed


def test_a_study_to_try_is_gone_afterwards(tmp_path: Path) -> None:
    with throwaway_study(two_queries(tmp_path)) as study:
        begin(study)
        path = study.path
        assert len(study.plan.tasks) == 2
    assert not path.exists()
    assert not (tmp_path / "test.study").exists()


TRIED = """
import sys, time
from pathlib import Path
from roslin.experiment.folder import throwaway_study
with throwaway_study(Path(sys.argv[1])) as study:
    print(study.path, flush=True)
    time.sleep(60)
"""


@pytest.mark.kills
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_study_to_try_is_gone_also_where_the_process_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", TRIED, str(two_queries(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        assert path.exists()
        process.send_signal(number)
    assert process.returncode != 0
    assert not path.parent.exists()


def test_in_another_thread_signals_are_left_alone(tmp_path: Path) -> None:
    toml = two_queries(tmp_path)
    seen: list[bool] = []

    def tried() -> None:
        with throwaway_study(toml) as study:
            seen.append(study.path.exists())

    thread = threading.Thread(target=tried)
    thread.start()
    thread.join()
    assert seen == [True]


def test_what_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="no study; expected a folder that `roslin experiment create` made"):
        StudyFolder(tmp_path)
    (tmp_path / "plan.json").write_text('{"name": 1}', encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"plan\.json is damaged"):
        StudyFolder(tmp_path)
    (tmp_path / "taken").mkdir()
    with pytest.raises(ExperimentError, match="this is no study; expected a name that is free"):
        create_study(two_queries(tmp_path), tmp_path / "taken")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({'"a", "b", "c"': '"a", "z"'}, r"queries\[1\]\.candidates: no melody of tunes\.roslin; expected an id .*'z'"),
        ({'id = "one"': 'id = "zzz"'}, r"queries\[1\]\.id: no melody of tunes\.roslin"),
        ({'id = "one"': 'id = "one"\nnotation = "x"'}, "id: a melody of the collection has this id; .* 'one'"),
        ({'id = "one"': 'id = "new"\nnotation = "4??"'}, r"queries\[1\]\.notation: "),
        ({'id = "one"': 'id = "new"\nnotation = "4-"'}, r"queries\[1\]\.notation: column 1: no notes"),
        ({"quota = 4": 'kind = "triplets"', '"a", "b", "c"': '"a", "b"'}, r"\[1\]: too few .* 3 or more; found 2"),
        ({"tunes.roslin": "none.roslin"}, "material.collection: no such file; .* found 'none.roslin'"),
        ({"[material]": '[practice]\nquery = "x"\nexpected = { a = "no", b = "no" }\n[material]'}, "practice.query"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_material(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        create_study(two_queries(tmp_path, **changes))
    assert not (tmp_path / "test.study").exists()


def test_a_query_that_is_written_down_and_a_practice_of_ones_own(tmp_path: Path) -> None:
    practice = '[practice]\nquery = "d"\nexpected = { a = "resembles", b = "no" }\n[material]'
    changes = {'id = "one"': 'id = "new"\nnotation = "\'4CDEC"', "[material]": practice}
    study = create_study(two_queries(tmp_path, **changes)).folder
    assert study.melody("new").notes["pitch_midi"].tolist() == [60, 62, 64, 60]
    assert study.plan.practice is not None
    assert study.plan.practice.expected == {"a": "resembles", "b": "no"}
    assert study.plan.practice.task.ids == ("a", "b")


def test_more_comparisons_than_there_are(tmp_path: Path) -> None:
    created = create_study(two_queries(tmp_path, **{"quota = 4": 'kind = "pairs"\ncomparisons = 4'}))
    assert created.notes[0] == (
        "one: 3 candidates by name. Of the 4 comparisons only 3 can be made: nobody compares two candidates twice."
    )
    created = create_study(two_queries(tmp_path, **{"quota = 4": 'kind = "pairs"\ncomparisons = 3'}))
    assert created.notes[0] == "one: 3 candidates by name."


def test_what_the_consent_must_say(tmp_path: Path) -> None:
    created = create_study(two_queries(tmp_path, **{"quota = 4": "keeps_participant = true"}))
    assert created.notes[-1] == "The ids that participants bring along are kept: the consent must say so."


def test_no_practice(tmp_path: Path) -> None:
    changes = {"[material]": "[practice]\nskip = true\n[material]"}
    assert create_study(two_queries(tmp_path, **changes)).folder.plan.practice is None


def test_an_id_of_the_usual_practice_is_taken(tmp_path: Path) -> None:
    Collection.build([*tunes(), tunes()[0].with_metadata(id="practice-query")], tmp_path / "tunes.roslin").close()
    with pytest.raises(ExperimentError, match=r"an id of the practice is one of the study; .* 'practice-query'"):
        create_study(two_queries(tmp_path, **{'"a", "b", "c"': '"a", "practice-query"'}))


def test_the_query_hides_among_its_candidates_unless_the_study_does_without_the_check(tmp_path: Path) -> None:
    hidden = create_study(two_queries(tmp_path, **{"query_among_candidates = false\n": ""}))
    assert [task.ids[0] for task in hidden.folder.plan.tasks] == ["one", "two"]
    assert hidden.notes[0] == "one: 3 candidates by name, and the query itself."


def test_the_usual_practice() -> None:
    melodies, expected = usual_practice()
    assert list(melodies)[1:] == list(expected)
    assert set(expected.values()) == {"resembles", "no"}
    assert all(not melody.problems for melody in melodies.values())
    starter = Collection.build(tunes_path(), Path(os.environ["ROSLIN_CACHE"]) / "practice.roslin")
    assert not any(id in starter for id in melodies)
    with Collection.build(melodies.values(), starter.path.with_name("p.roslin")) as practice:
        nearest = practice.search(melodies["practice-query"], "dp", k=4, exclude=("practice-query",)).ids
    assert {expected[id] for id in nearest[:2]} == {"resembles"}


@pytest.mark.long
def test_the_studies_of_other_tests(tmp_path: Path) -> None:
    with small_study(tmp_path / "small", quota=2) as small:
        assert {task.query.id: list(task.ids) for task in small.plan.tasks} == SMALL
        assert (small.plan.rules.quota, small.plan.rules.queries_per_expert) == (2, 3)
        assert small.check_password((tmp_path / "small" / PASSWORD_FILE).read_text("utf-8"))
    with starter_study(tmp_path / "starter") as starter:
        assert len(starter.plan.tasks) == 11


@pytest.mark.long
def test_the_example_runs_as_it_is(tmp_path: Path) -> None:
    written = write_example(tmp_path / "mine")
    assert all(path.exists() for path in written)
    with pytest.raises(ExperimentError, match="is not empty; expected a folder that is new or empty"):
        write_example(tmp_path / "mine")
    created = create_study(tmp_path / "mine" / "study.toml")
    plan = created.folder.plan
    assert [task.query.id for task in plan.tasks] == ["white-cockade", "roslin-castle", "ode-to-joy"]
    assert all(task.query.id in task.ids for task in plan.tasks)
    assert all(10 <= len(task.ids) <= 17 for task in plan.tasks)
    assert StudyPlan.from_json(plan.to_json()) == plan
    assert "Dr. A. Example" in plan.consent["de"]


def test_an_example_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def damaged(*_: object) -> None:
        raise CollectionError(f"{tmp_path / '.mine.part' / 'starter.roslin'}: cannot be written: disk full")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", full)
        with pytest.raises(ExperimentError, match=r"mine: cannot be written: No space left on device"):
            write_example(tmp_path / "mine")
    with monkeypatch.context() as patch:
        patch.setattr(Collection, "build", damaged)
        with pytest.raises(ExperimentError, match=r"/mine/starter.roslin: cannot be written: disk full"):
            write_example(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    assert all(path.exists() for path in write_example(tmp_path / "mine"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]

"""The folder of a study: everything that a running study needs, made from `study.toml`.

    NAME.study/
      study.toml       the file that it was made from
      plan.json        the frozen plan
      key              32 random bytes as hex: signs links and sessions
      password         hash of the dashboard's secret
      melodies.roslin  every melody that the study shows
      files/           pictures and sounds, under meaningless names
      pool.csv         the reason for each pooled candidate
      study.db         the answers, unless they are in another database
      database         the address of that database, without a password

A new folder is prepared under another name and moved when it is complete. In an existing folder `plan.json` is written
last: until then the study is unchanged.
"""

from __future__ import annotations

import csv
import logging
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from roslin.api import Collection
from roslin.collection.files import sync, write_text
from roslin.display.table import Table
from roslin.errors import CollectionError, ExperimentError, UnknownNameError
from roslin.experiment.database import without_password
from roslin.experiment.plan import StudyPlan
from roslin.experiment.planning import POOL_COLUMNS, Material, Planned, PoolRow, open_material, planned
from roslin.experiment.store import EventStore
from roslin.experiment.study_toml import StudyDraft, asked_pools, read_study
from roslin.melody import Melody
from roslin.passwords import hashed, is_password
from roslin.rows import write_whole
from roslin.starter import tunes_path
from roslin.types import Progress

_LOG = logging.getLogger("roslin.experiment")
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that are mistaken for one another
_ENDING = ".study"


class StudyFolder:
    """A study on disk, opened to run it."""

    def __init__(self, path: str | Path):
        self.path = Path(path).resolve()
        if not (self.path / "plan.json").is_file():
            raise ExperimentError(f"{path}: no study; expected a folder that `roslin experiment create` made")
        try:
            self.plan = StudyPlan.from_json((self.path / "plan.json").read_text(encoding="utf-8"))
        except (ValueError, TypeError, KeyError) as error:
            if "unexpected keyword" in str(error):
                upgrade = "upgrade Roslin with: pip install --upgrade roslin"
                raise ExperimentError(f"{path}: plan.json was written by a newer Roslin; {upgrade}") from error
            raise ExperimentError(f"{path}: plan.json is damaged ({error}); create the study again") from error
        self.key = bytes.fromhex((self.path / "key").read_text(encoding="ascii"))
        self._melodies: Collection | None = None
        if (self.path / "melodies.roslin").is_dir():
            self._melodies = Collection(self.path / "melodies.roslin")

    @property
    def database(self) -> str:
        """The address of the database in the form of SQLAlchemy: in the folder, or the stored address."""
        kept = self.path / "database"
        if not kept.is_file():
            return self.own_database
        address = kept.read_text(encoding="utf-8").strip()
        if address.startswith("sqlite:///") and not Path(address.removeprefix("sqlite:///")).is_file():
            raise ExperimentError(
                f"{kept}: there is no database at {address}; put it back there, or correct the address"
            )
        return address

    @property
    def own_database(self) -> str:
        return f"sqlite:///{self.path / 'study.db'}"

    @property
    def has_database(self) -> bool:
        """Whether there is a database. A study without invitations has none."""
        return (self.path / "database").is_file() or (self.path / "study.db").is_file()

    def settle(self, database: str) -> None:
        """Use this database from now on, after opening it as a check. Refused if another database has answers."""
        before = without_password(self.database)
        if without_password(database) != before:
            is_elsewhere = (self.path / "database").is_file()
            if is_elsewhere or ((self.path / "study.db").is_file() and _has_begun(self.database, self.plan)):
                raise ExperimentError(
                    f"{self.path}: the answers of this study are in {before}; to take them to another database: "
                    f"roslin experiment move"
                )
        EventStore(database, self.plan).close()
        try:
            self.remember(database)
        except OSError as error:  # the server can run without
            _LOG.warning("%s: the address of the database is not remembered: %s", self.path, error.strerror)

    def remember(self, database: str) -> None:
        """Store the address of the database without a password, unless the file has the same address already."""
        address, kept = without_password(database), self.path / "database"
        if address == without_password(self.own_database):
            kept.unlink(missing_ok=True)
        elif not kept.is_file() or without_password(self.database) != address:
            write_whole(kept, f"{address}\n", 0o600)

    def melody(self, id: str) -> Melody:
        """A melody of the study, with its title, which participants must not see."""
        if self._melodies is None:
            raise UnknownNameError("melody", id, ["none: the study shows pictures or sounds"])
        return self._melodies[id]

    def file(self, name: str) -> Path:
        tasks = [*self.plan.tasks, *([self.plan.practice.task] if self.plan.practice else [])]
        items = [item for task in tasks for item in (task.query, *task.candidates)]
        if name not in {each for item in items for each in (item.picture, item.sound) if each}:
            raise UnknownNameError("file", name, ["those that the plan names"])
        return self.path / "files" / name

    def check_password(self, text: str) -> bool:
        return is_password(text, (self.path / "password").read_text(encoding="ascii"))

    def close(self) -> None:
        if self._melodies is not None:
            self._melodies.close()

    def __enter__(self) -> StudyFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Created:
    """A study that is ready. `password` is known only now, and empty for an existing study."""

    folder: StudyFolder
    password: str
    notes: tuple[str, ...]
    is_new: bool
    is_changed: bool


def create_study(
    toml: Path, folder: Path | None = None, *, database: str = "", progress: Progress | None = None
) -> Created:
    """Create the study of a file, or update an existing one.

    A study that has begun accepts only changes that affect no judgement; `FrozenError` names the others. `database` is
    the address of the answers, if they are not in the folder.
    """
    toml = Path(toml)
    draft = read_study(toml)
    target = folder if folder is not None else toml.parent / f"{draft.plan.name}{_ENDING}"
    if target.exists() and not (target / "plan.json").is_file():
        raise ExperimentError(
            f"{target}: this is no study; expected a name that is free, or a study to bring up to date"
        )
    kept = target / "key"
    key = bytes.fromhex(kept.read_text(encoding="ascii")) if kept.is_file() else secrets.token_bytes(32)
    tell = progress or (lambda *_: None)
    with open_material(draft, key) as material:
        if target.exists():
            return _brought_up_to_date(target, draft, material, database, tell)
        made = planned(draft, material, {}, tell)
        password = "-".join("".join(secrets.choice(_LETTERS) for _ in range(5)) for _ in range(4))
        with new_folder(target) as prepared:
            write_whole(prepared / "key", key.hex(), 0o600)
            write_whole(prepared / "password", hashed(password), 0o600)
            _write_content(prepared, made, material)
    if database:
        with StudyFolder(target) as study:
            study.settle(database)
    return Created(StudyFolder(target), password, made.notes, is_new=True, is_changed=True)


@contextmanager
def throwaway_study(toml: Path, *, progress: Progress | None = None) -> Iterator[StudyFolder]:
    """A temporary study to show to colleagues. It is deleted afterwards with its answers."""
    with _ending_in_order(), tempfile.TemporaryDirectory(prefix="roslin-try-") as name:
        created = create_study(toml, Path(name) / f"try{_ENDING}", progress=progress)
        try:
            yield created.folder
        finally:
            created.folder.close()


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Clean up even if a signal ends the process, for example at shutdown."""
    signals = [signal.SIGTERM, signal.SIGHUP] if hasattr(signal, "SIGHUP") else [signal.SIGTERM]
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, lambda number, _: sys.exit(128 + number)) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


# -- on disk --------------------------------------------------------------------------------------------------------


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which replaces a missing or empty one at the end of the block. An error leaves nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}-*.new"):  # of a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    prepared = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".new", dir=target.parent))
    try:
        yield prepared
        sync(prepared)
        if target.exists():
            target.rmdir()
        prepared.rename(target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(prepared, ignore_errors=True)
        raise


def _brought_up_to_date(
    target: Path, draft: StudyDraft, material: Material, database: str, progress: Progress
) -> Created:
    with StudyFolder(target) as study:
        if database:
            study.settle(database)
        before, url, has_database = study.plan, study.database, study.has_database
    made = planned(draft, material, _kept_pools(target, draft, url, before) if has_database else {}, progress)
    is_changed = before.fingerprint != made.plan.fingerprint
    if is_changed:
        if has_database:
            EventStore(url, made.plan).close()  # refuses what is frozen
        _write_content(target, made, material)
    return Created(StudyFolder(target), "", made.notes, is_new=False, is_changed=is_changed)


def _kept_pools(target: Path, draft: StudyDraft, url: str, before: StudyPlan) -> dict[str, list[PoolRow]]:
    """Once a participant has begun, an unchanged pool keeps its candidates, even if the collection has changed."""
    if not _has_begun(url, before):
        return {}
    asked, wanted = asked_pools(target / "study.toml"), asked_pools(draft.place.path)
    with (target / "pool.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    same = [query for query, pool in wanted.items() if asked.get(query) == pool]
    return {query: [row for row in rows if row["query"] == query] for query in same}


def _has_begun(url: str, plan: StudyPlan) -> bool:
    with closing(EventStore(url, plan)) as store:
        return any(expert.sequence for expert in store.experts())


def _write_content(folder: Path, made: Planned, material: Material) -> None:
    """Write melodies, files and pool, and then the plan."""
    if material.melodies:
        Collection.build(material.melodies.values(), folder / "melodies.roslin").close()
    if material.files:
        (folder / "files").mkdir(exist_ok=True)
        for name, source in material.files.items():
            shutil.copyfile(source, folder / "files" / name)
            sync(folder / "files" / name)
    write_text(folder / "study.toml", made.source)
    write_text(folder / "pool.csv", Table(POOL_COLUMNS, made.pool).to_csv())
    write_text(folder / "plan.json", made.plan.to_json())


# -- example -----------------------------------------------------------------------------------------------------------


_EXAMPLE_COLLECTION = "starter.roslin"
_EXAMPLE_TEXTS = ("consent", "instructions", "thanks")


def write_example(folder: Path) -> list[Path]:
    """Write a complete example study into a new or empty folder; returns its files."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExperimentError(f"{folder}: is not empty; expected a folder that is new or empty")
    source = Path(str(files("roslin.experiment") / "example"))
    names = [
        "study.toml",
        *(f"texts/{path.name}" for name in _EXAMPLE_TEXTS for path in sorted(source.glob(f"{name}.*.md"))),
    ]
    prepared = folder.absolute().with_name(f".{folder.absolute().name}.part")
    shutil.rmtree(prepared, ignore_errors=True)
    try:
        (prepared / "texts").mkdir(parents=True)
        for name in names:
            shutil.copyfile(source / Path(name).name, prepared / name)
        Collection.build(tunes_path(), prepared / _EXAMPLE_COLLECTION).close()
        if not folder.exists():
            prepared.replace(folder)
        else:
            for path in prepared.iterdir():
                path.replace(folder / path.name)
    except OSError as error:
        raise ExperimentError(f"{folder}: cannot be written: {error.strerror or error}") from error
    except CollectionError as error:
        raise ExperimentError(str(error).replace(str(prepared), str(folder))) from error
    finally:
        shutil.rmtree(prepared, ignore_errors=True)
    return [folder / name for name in (*names, _EXAMPLE_COLLECTION)]

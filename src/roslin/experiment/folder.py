"""The folder of a study: everything that running it needs, made once from `study.toml` and changed only with care.

    NAME.study/
      plan.json        the frozen plan
      key              32 random bytes as hex: signs links and sessions
      password         hash of the dashboard's secret
      melodies.roslin  every melody that the study shows
      files/           pictures and sounds, under names that say nothing
      pool.csv         why each candidate is there, of those that were pooled
      study.db         what the experts said, unless another database is named

A new folder is prepared under another name and moved when it is complete. A folder that is there is changed so that
`plan.json` comes last: until then the study is what it was.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from roslin.api import Collection
from roslin.collection.files import sync
from roslin.display.text import counted
from roslin.errors import ExperimentError, UnknownNameError
from roslin.experiment.material import FileMaterial, MelodyMaterial, open_material
from roslin.experiment.plan import Item, Plan, Practice, Task
from roslin.experiment.pool import pooled, read_pool
from roslin.experiment.practice import PRACTICE_QUERY, usual_practice
from roslin.experiment.reading import QueryWish, StudyDraft, read_study
from roslin.melody import Melody

__all__ = ["Created", "StudyFolder", "create_study", "throwaway_study"]

Progress = Callable[[float, str], None]
"""Told the share that is done, and what is being done."""

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that are mistaken for one another
_ENDING = ".study"
_COMPARED = {"ranking": 2, "pairs": 2, "triplets": 3}  # candidates that are compared at once
_POOL_COLUMNS = ("query", "document", "title", "composer", "why")


class StudyFolder:
    """A study on disk, opened to run it."""

    def __init__(self, path: str | Path):
        self.path = Path(path).resolve()
        if not (self.path / "plan.json").is_file():
            raise ExperimentError(f"{path}: no study; expected a folder that `roslin experiment create` made")
        try:
            self.plan = Plan.from_json((self.path / "plan.json").read_text(encoding="utf-8"))
        except (ValueError, TypeError, KeyError) as error:
            raise ExperimentError(f"{path}: plan.json is damaged ({error}); create the study again") from error
        self.key = bytes.fromhex((self.path / "key").read_text(encoding="ascii"))
        self._melodies: Collection | None = None
        if (self.path / "melodies.roslin").is_dir():
            self._melodies = Collection(self.path / "melodies.roslin")

    @property
    def database(self) -> str:
        """Where SQLite keeps what the experts say, as SQLAlchemy names it."""
        return f"sqlite:///{self.path / 'study.db'}"

    def melody(self, id: str) -> Melody:
        """A melody of the study, with its title: mind who sees it."""
        if self._melodies is None:
            raise UnknownNameError("melody", id, ["none: the study shows pictures or sounds"])
        return self._melodies[id]

    def file(self, name: str) -> Path:
        """A picture or a sound that the plan names."""
        if name not in self._files:
            raise UnknownNameError("file", name, ["those that the plan names"])
        return self.path / "files" / name

    @property
    def _files(self) -> set[str]:
        tasks = [*self.plan.tasks, *([self.plan.practice.task] if self.plan.practice else [])]
        items = [item for task in tasks for item in (task.query, *task.candidates)]
        return {name for item in items for name in (item.picture, item.sound) if name}

    def check_password(self, text: str) -> bool:
        """Whether this is the secret of the dashboard."""
        salt, _, digest = (self.path / "password").read_text(encoding="ascii").partition(":")
        return hmac.compare_digest(_hashed(text, bytes.fromhex(salt)), bytes.fromhex(digest))

    def close(self) -> None:
        """Close the melodies."""
        if self._melodies is not None:
            self._melodies.close()

    def __enter__(self) -> StudyFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Created:
    """A study that is ready. `password` is known only now, and empty where the study was there already."""

    folder: StudyFolder
    password: str
    notes: tuple[str, ...]
    is_new: bool
    is_changed: bool


def create_study(
    toml: Path, folder: Path | None = None, *, database: str = "", progress: Progress | None = None
) -> Created:
    """Make the study of a file, or bring the one that is there up to date.

    A study that has begun takes only what changes no judgement; `FrozenError` says what was changed beyond that.
    `database` is where what the experts say is kept, unless that is in the folder.
    """
    toml = Path(toml)
    draft = read_study(toml)
    target = folder if folder is not None else toml.parent / f"{draft.plan.name}{_ENDING}"
    if target.exists() and not (target / "plan.json").is_file():
        raise ExperimentError(
            f"{target}: this is no study; expected a name that is free, or a study to bring up to date"
        )
    key = _kept_key(target)
    tell = progress or _silent
    with open_material(draft, key) as material:
        plan, notes, why = _planned(draft, material, tell)
        tell(0.9, "taking over the melodies")
        if target.exists():
            return _brought_up_to_date(target, plan, material, notes, why, database)
        password = "-".join("".join(secrets.choice(_LETTERS) for _ in range(5)) for _ in range(4))
        _publish_new(target, plan, material, why, key, password)
    return Created(StudyFolder(target), password, tuple(notes), is_new=True, is_changed=True)


@contextmanager
def throwaway_study(toml: Path, *, progress: Progress | None = None) -> Iterator[StudyFolder]:
    """A study to show to colleagues: made from the file, and gone afterwards with all that was said in it."""
    with tempfile.TemporaryDirectory(prefix="roslin-try-") as name:
        created = create_study(toml, Path(name) / f"try{_ENDING}", progress=progress)
        try:
            yield created.folder
        finally:
            created.folder.close()


# -- the plan -------------------------------------------------------------------------------------------------------


def _planned(
    draft: StudyDraft, material: MelodyMaterial | FileMaterial, progress: Progress
) -> tuple[Plan, list[str], list[dict[str, str]]]:
    """The whole plan, what to say about it, and why each pooled candidate is there."""
    tasks: list[Task] = []
    notes: list[str] = []
    why: list[dict[str, str]] = []
    for place, wish in enumerate(draft.queries):
        progress(0.9 * place / len(draft.queries), f"candidates of {wish.id}")
        query = _query_item(wish, material)
        ids, said = wish.candidates, ""
        if wish.pool is not None and isinstance(material, MelodyMaterial):
            melody = material.melodies[query.id]
            pool = pooled(
                material.collection, melody, read_pool(wish.pool, melody), wish.pool, hides_query=draft.hides_query
            )
            ids, said = tuple(pool.why), pool.sentence
            why += [_row(query.id, material.collection[id], reasons) for id, reasons in pool.why.items()]
        candidates = [material.item(id, wish.table, "candidates") for id in ids if id != query.id]
        if draft.hides_query or query.id in ids:
            candidates.insert(0, query)
        if len(candidates) < _COMPARED[draft.plan.rules.design]:
            at_once = _COMPARED[draft.plan.rules.design]
            raise wish.table.error("", "too few candidates to compare", f"{at_once} or more", len(candidates))
        task = Task(query, tuple(candidates))
        tasks.append(task)
        notes.append(f"{query.id}: {said or _named(task)}")
    plan = replace(draft.plan, tasks=tuple(tasks), practice=_practice(draft, material))
    if plan.rules.keeps_participant:
        notes.append("The ids that participants bring along are kept: the consent must say so.")
    if draft.ships_texts and not isinstance(material, MelodyMaterial):
        notes.append("The texts that come with Roslin speak of melodies: write your own.")
    return plan, notes, why


def _named(task: Task) -> str:
    others = sum(item != task.query for item in task.candidates)
    itself = ", and the query itself" if task.query in task.candidates else ""
    return f"{counted(others, 'candidate')} by name{itself}."


def _row(query: str, melody: Melody, reasons: Sequence[str]) -> dict[str, str]:
    values = (query, melody.id, melody.title, melody.composer, " ".join(reasons))
    return {name: value or "" for name, value in zip(_POOL_COLUMNS, values, strict=True)}


def _query_item(wish: QueryWish, material: MelodyMaterial | FileMaterial) -> Item:
    if not isinstance(material, MelodyMaterial):
        if wish.notation:
            raise wish.table.error("notation", "is for melodies", "an id of the table")
        if wish.pool is not None:
            raise wish.table.error("pool", "is for melodies", "candidates = [...]")
        return material.item(wish.id, wish.table, "id")
    if wish.notation:
        return material.written(wish.id, wish.notation, wish.table)
    return material.item(wish.id, wish.table, "id")


def _practice(draft: StudyDraft, material: MelodyMaterial | FileMaterial) -> Practice | None:
    table = draft.practice
    if table.yes("skip", otherwise=False):
        return None
    if "query" in table:
        expected = {str(id): str(verdict) for id, verdict in table.values["expected"].items()}
        query = material.item(table.text("query"), table, "query")
        candidates = [material.item(id, table, "expected") for id in expected]
        return Practice(Task(query, tuple(candidates)), expected)
    if not isinstance(material, MelodyMaterial):
        return None
    melodies, expected = usual_practice()
    for id in melodies:
        if id in material.melodies:
            raise draft.practice.error("", "an id of the practice is one of the study", "another id", id)
    items = {id: material.take(id, melody) for id, melody in melodies.items()}
    return Practice(Task(items.pop(PRACTICE_QUERY), tuple(items.values())), expected)


def _silent(_share: float, _what: str) -> None:
    pass


# -- on disk --------------------------------------------------------------------------------------------------------


def _kept_key(target: Path) -> bytes:
    if (target / "key").is_file():
        return bytes.fromhex((target / "key").read_text(encoding="ascii"))
    return secrets.token_bytes(32)


def _publish_new(
    target: Path,
    plan: Plan,
    material: MelodyMaterial | FileMaterial,
    why: list[dict[str, str]],
    key: bytes,
    password: str,
) -> None:
    """Prepare a folder beside, and move it when it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}-*.new"):  # of a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    prepared = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".new", dir=target.parent))
    try:
        _write_secret(prepared / "key", key.hex())
        salt = secrets.token_bytes(16)
        _write_secret(prepared / "password", f"{salt.hex()}:{_hashed(password, salt).hex()}")
        _write_content(prepared, plan, material, why)
        sync(prepared)
        prepared.rename(target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(prepared, ignore_errors=True)
        raise


def _brought_up_to_date(
    target: Path,
    plan: Plan,
    material: MelodyMaterial | FileMaterial,
    notes: list[str],
    why: list[dict[str, str]],
    database: str,
) -> Created:
    with StudyFolder(target) as study:
        before, url = study.plan, database or study.database
    if before.fingerprint == plan.fingerprint:
        return Created(StudyFolder(target), "", tuple(notes), is_new=False, is_changed=False)
    if database or (target / "study.db").is_file():
        from roslin.experiment.store import EventStore

        EventStore(url, plan).close()  # refuses what is frozen
    _write_content(target, plan, material, why)
    return Created(StudyFolder(target), "", tuple(notes), is_new=False, is_changed=True)


def _write_content(
    folder: Path, plan: Plan, material: MelodyMaterial | FileMaterial, why: list[dict[str, str]]
) -> None:
    """Melodies, files and pool, and then the plan that names them."""
    if material.melodies:
        Collection.build(material.melodies.values(), folder / "melodies.roslin").close()
    if material.files:
        (folder / "files").mkdir(exist_ok=True)
        for name, source in material.files.items():
            shutil.copyfile(source, folder / "files" / name)
            sync(folder / "files" / name)
    _write_whole(folder / "pool.csv", _as_csv(why))
    _write_whole(folder / "plan.json", plan.to_json())


def _as_csv(rows: list[dict[str, str]]) -> str:
    stream = io.StringIO()
    table = csv.DictWriter(stream, _POOL_COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return stream.getvalue()


def _write_whole(path: Path, text: str) -> None:
    """A file that is there whole or not at all."""
    prepared = path.with_name(f".{path.name}.new")
    prepared.write_text(text, encoding="utf-8", newline="\n")
    sync(prepared)
    prepared.replace(path)


def _write_secret(path: Path, text: str) -> None:
    """A file that only its owner reads."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)


def _hashed(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)

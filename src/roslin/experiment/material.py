"""The material of a study: melodies of a collection, or pictures and sounds of a folder, each under an id.

Files are copied under names made from their content and the key of the study: the same file always has the same name,
and the name does not reveal anything. The type of a file follows from its first bytes. Its ending must agree. SVG is
refused, because it can contain scripts.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from roslin.api import Collection
from roslin.errors import ExperimentError, Problem, UnknownNameError
from roslin.experiment.plan import Item
from roslin.experiment.study_toml import StudyDraft
from roslin.melody import Melody
from roslin.notation.query import read_query
from roslin.values.toml_file import TomlPlace

_COLUMNS = ("id", "picture", "sound")
_LARGEST_FILE = 20 * 1024 * 1024
_PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}
_SOUNDS = {".mp3": "mp3", ".ogg": "ogg", ".wav": "wav", ".flac": "flac"}


@dataclass
class MelodyMaterial:
    """Melodies of a collection. Requested melodies are remembered for the study."""

    collection: Collection
    melodies: dict[str, Melody] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    def item(self, id: str, place: TomlPlace, key: str) -> Item:
        """A melody of the collection."""
        try:
            return self.take(id, self.collection[id])
        except UnknownNameError as error:
            some = ", ".join(error.known)
            raise place.error(key, f"no melody of {self.collection.path.name}", f"an id such as {some}", id) from None

    def written(self, id: str, notation: str, place: TomlPlace) -> Item:
        """A query written in the file."""
        if id in self.collection:
            raise place.error("id", "a melody of the collection has this id", "another id, or no notation", id)
        with place.blaming("notation"):
            melody = read_query(notation)
        return self.take(id, melody.with_metadata(id=id))

    def take(self, id: str, melody: Melody) -> Item:
        """Use a melody in the study."""
        self.melodies[id] = melody
        return melody_item(melody)


def melody_item(melody: Melody) -> Item:
    """A melody as an item. Its content is everything that is drawn and played."""
    drawn = (melody.clef, melody.key_signature, melody.metre, *map(repr, melody.changes))
    digest = hashlib.blake2b("\0".join(map(str, drawn)).encode(), digest_size=8)
    digest.update(melody.notes.tobytes())
    digest.update(melody.barlines_ticks.tobytes())
    return Item(str(melody.id), content=digest.hexdigest())


@dataclass
class FileMaterial:
    """Pictures and sounds from a table with the columns id, picture and sound. Requested files are remembered."""

    path: Path
    items: dict[str, Item]
    sources: dict[str, Path]  # by the name in the study's folder
    melodies: dict[str, Melody] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    def item(self, id: str, place: TomlPlace, key: str) -> Item:
        """An item of the table."""
        if id not in self.items:
            some = ", ".join([*sorted(self.items)[:3], "..."])
            raise place.error(key, f"no id of {self.path.name}", f"one such as {some}", id)
        item = self.items[id]
        self.files |= {name: self.sources[name] for name in (item.picture, item.sound) if name}
        return item


Material = MelodyMaterial | FileMaterial


@contextmanager
def open_material(draft: StudyDraft, key: bytes) -> Iterator[Material]:
    """The material of a study file."""
    material, place = draft.file.material, draft.place.below("material")
    if not material.collection:
        folder, table = draft.beside(material.folder), draft.beside(material.table)
        if not folder.is_dir():
            raise place.error("folder", "no such folder", "a folder beside this file", material.folder)
        if not table.is_file():
            raise place.error("table", "no such file", "a CSV file beside this file", material.table)
        try:
            listed = _read_table(table, folder, key)
        except (UnicodeDecodeError, csv.Error) as error:
            raise place.error("table", "cannot be read", "a CSV file in UTF-8", str(error)) from None
        yield listed
        return
    path = draft.beside(material.collection)
    if not path.exists():
        raise place.error("collection", "no such file", "a collection beside this file", material.collection)
    if path.suffix == ".roslin":
        with Collection(path) as collection:
            yield MelodyMaterial(collection)
        return
    with TemporaryDirectory() as made, Collection.build(path, Path(made) / f"{path.stem}.roslin") as collection:
        yield MelodyMaterial(collection)


# -- tables of files ------------------------------------------------------------------------------------------------


def _read_table(path: Path, folder: Path, key: bytes) -> FileMaterial:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        columns = list(rows.fieldnames or ())
        if "id" not in columns or not {"picture", "sound"} & set(columns):
            raise _refused(path, 1, "columns are missing", "id, and picture or sound or both", ", ".join(columns))
        items: dict[str, Item] = {}
        sources: dict[str, Path] = {}
        for row in rows:
            id, *named = ((row.get(column) or "").strip() for column in _COLUMNS)
            if not id or not any(named):
                raise _refused(path, rows.line_num, "a row is not complete", "an id, and a picture or a sound", id)
            if id in items:
                raise _refused(path, rows.line_num, "an id is there twice", "each once", id)
            names = ["", ""]
            for place, (name, known) in enumerate(zip(named, (_PICTURES, _SOUNDS), strict=True)):
                if name:
                    names[place] = _checked(path, rows.line_num, folder, name, known, key)
                    sources[names[place]] = folder / name
            items[id] = Item(id, *names)
    return FileMaterial(path, items, sources)


def _checked(table: Path, line: int, folder: Path, name: str, known: dict[str, str], key: bytes) -> str:
    """The name of a file in the folder of the study."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise _refused(table, line, f"no such file in {folder.name}", "the name of a file", name)
    ending = path.suffix.lower()
    if ending not in known:
        raise _refused(table, line, "a file of another kind", f"one that ends with {', '.join(known)}", name)
    size = path.stat().st_size
    if size > _LARGEST_FILE:
        most = f"{_LARGEST_FILE // 1024**2} MiB at most"
        raise _refused(table, line, "a file is too large", most, f"{name}, {size:,} bytes")
    content = path.read_bytes()
    kind = _kind(content)
    if kind != known[ending]:
        reason = f"{name} is not of the kind that its ending names"
        raise _refused(table, line, reason, known[ending], kind or "something else")
    return hmac.new(key, content, hashlib.sha256).hexdigest()[:32] + ending


def _kind(content: bytes) -> str:
    """The type of a file by its first bytes."""
    head = content[:16]
    starts: Sequence[tuple[bytes, str]] = (
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff", "jpeg"),
        (b"OggS", "ogg"),
        (b"fLaC", "flac"),
        (b"ID3", "mp3"),
    )
    for start, kind in starts:
        if head.startswith(start):
            return kind
    if head[:4] == b"RIFF":
        return {b"WEBP": "webp", b"WAVE": "wav"}.get(head[8:12], "")
    is_frame = len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2  # the first frame of an MP3 without a tag
    return "mp3" if is_frame else ""


def _refused(path: Path, line: int, reason: str, expected: str, found: str) -> ExperimentError:
    return ExperimentError(str(Problem(reason, expected, repr(found), line=line, file=str(path))))

"""A study to start from: `study.toml`, texts in English and German, and the starter collection."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

from roslin.api import Collection
from roslin.errors import ExperimentError
from roslin.starter import tunes_path

__all__ = ["write_example"]

_COLLECTION = "starter.roslin"
_TEXTS = ("consent", "instructions", "thanks")


def write_example(folder: Path) -> list[Path]:
    """Write a study that runs as it is into a new or empty folder; the files that were written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExperimentError(f"{folder}: is not empty; expected a folder that is new or empty")
    (folder / "texts").mkdir(parents=True)
    source = Path(str(files("roslin.experiment") / "example"))
    written = [folder / "study.toml"]
    shutil.copyfile(source / "study.toml", written[0])
    for text in sorted(path for name in _TEXTS for path in source.glob(f"{name}.*.md")):
        written.append(folder / "texts" / text.name)
        shutil.copyfile(text, written[-1])
    Collection.build(tunes_path(), folder / _COLLECTION).close()
    return [*written, folder / _COLLECTION]

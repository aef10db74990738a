"""A study to start from: `study.toml`, texts in English and German, and the starter collection."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

from roslin.api import Collection
from roslin.errors import CollectionError, ExperimentError
from roslin.starter import tunes_path

__all__ = ["write_example"]

_COLLECTION = "starter.roslin"
_TEXTS = ("consent", "instructions", "thanks")


def write_example(folder: Path) -> list[Path]:
    """Write a study that runs as it is into a new or empty folder, whole or not at all; the files that were written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExperimentError(f"{folder}: is not empty; expected a folder that is new or empty")
    source = Path(str(files("roslin.experiment") / "example"))
    names = ["study.toml", *(f"texts/{path.name}" for name in _TEXTS for path in sorted(source.glob(f"{name}.*.md")))]
    prepared = folder.absolute().with_name(f".{folder.absolute().name}.part")
    shutil.rmtree(prepared, ignore_errors=True)
    try:
        (prepared / "texts").mkdir(parents=True)
        for name in names:
            shutil.copyfile(source / Path(name).name, prepared / name)
        Collection.build(tunes_path(), prepared / _COLLECTION).close()
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
    return [folder / name for name in (*names, _COLLECTION)]

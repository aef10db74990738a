"""roslin doctor: what is installed, what is missing or slow and why, and whether a collection is whole."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from typer import Argument

from roslin.cli.output import FormatOption, OutputFormat, print_table
from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import RoslinError

if TYPE_CHECKING:
    from roslin.collection.store import Store

# What an extra adds; docs/install.md has the same.
EXTRAS = {
    "web": "the search page (roslin serve)",
    "experiment": "ranking studies in the browser (roslin experiment)",
    "scores": "MusicXML and Humdrum files, and drawings of notation",
    "postgresql": "studies that store judgements in PostgreSQL",
    "cluster": "work on several computers (--dask)",
    "parquet": "exports and truths in Parquet",
    "zstd": "files that end in .zst",
    "ir_measures": "metrics for ir_measures",
    "mcp": "a collection as tools for assistants (roslin mcp)",
    "pyterrier": "retrieval pipelines of PyTerrier",
}
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+).*?>=(?P<least>[\d.]+)[^;]*(?:;.*extra == '(?P<extra>[\w-]+)')?")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "firefox")


class Finding(NamedTuple):
    """One row. The state is ok, missing, slow or wrong. The advice is what to do about it."""

    part: str
    name: str
    state: str
    value: str
    advice: str = ""


def doctor_command(
    collection: Annotated[Path | None, Argument(help="A collection to check as well, NAME.roslin.")] = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Check the installation and a collection. The exit code is 1 if something is wrong.

    The report shows versions, extras, kernels, pictures, caches and, for a collection, its size and damage. It also
    lists what makes Roslin slow. Please attach it to bug reports.

    Example: roslin doctor mine.roslin --format json
    """
    found = [*_versions(), *_kernels(), *_extras(), *_pictures(), *_caches()]
    if collection is not None:
        found += _collection(collection)
    table = Table.of(Finding._fields, found)
    print_table(table.without("advice") if format is OutputFormat.table else table, format)
    advice = [f"{each.name}: {each.advice}" for each in found if each.advice]
    if format is OutputFormat.table and advice:
        typer.echo("\n" + "\n".join(advice))
    raise typer.Exit(any(each.state == "wrong" for each in found))


def build_information() -> str:
    """Versions and compiler, in a few lines that need no library."""
    from roslin.native import build

    compiled = build.compiled_with() or "not compiled yet"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"roslin {version('roslin')}\n{python} on {platform.platform()}\nkernels: {compiled}"


def _versions() -> Iterator[Finding]:
    import sqlite3

    yield Finding("versions", "roslin", "ok", f"{version('roslin')} in {Path(__file__).parents[1]}")
    yield Finding("versions", "Python", "ok", f"{platform.python_version()} in {sys.prefix}")
    yield Finding("versions", "system", "ok", f"{platform.platform()}, {counted(os.cpu_count() or 1, 'processor')}")
    yield Finding("versions", "SQLite", "ok", sqlite3.sqlite_version)
    for name, least in required()[""]:
        yield _library("versions", name, least, "")


def required() -> dict[str, list[tuple[str, str]]]:
    """The libraries of each extra with the least version of each; those that are always needed under no name."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for requirement in requires("roslin") or []:
        if parts := _REQUIREMENT.match(requirement):
            found[(parts["extra"] or "").replace("-", "_")].append((parts["name"], parts["least"]))
    return found


def _library(part: str, name: str, least: str, extra: str) -> Finding:
    upgrade = f'pip install --upgrade "roslin{extra}"'
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(part, name, "wrong", "not installed", upgrade)
    if _numbers(found) < _numbers(least):
        return Finding(part, name, "wrong", f"{found}; Roslin needs {least}", upgrade)
    return Finding(part, name, "ok", found)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(".") if number.isdigit()]


def _extras() -> Iterator[Finding]:
    libraries = required()
    for extra, adds in EXTRAS.items():
        found = [_library("extras", name, least, f"[{extra}]") for name, least in libraries[extra]]
        missing = [each.name for each in found if each.value == "not installed"]
        if missing:
            advice = f'{adds}: pip install "roslin[{extra}]"'
            yield Finding("extras", extra, "missing", f"needs {', '.join(missing)}", advice)
        else:
            old = next((each for each in found if each.state == "wrong"), None)
            value = ", ".join(f"{each.name} {each.value}" for each in found)
            yield Finding("extras", extra, old.state if old else "ok", value, old.advice if old else "")


def _kernels() -> Iterator[Finding]:
    from roslin.native import build, kernels

    try:
        used, known = kernels.level(), kernels.available()
    except RoslinError as error:
        yield Finding("kernels", "instruction set", "wrong", "none", str(error))
        return
    yield Finding("kernels", "compiler", "ok", build.compiled_with() or "unknown")
    if used != known[-1]:
        advice = f"ROSLIN_KERNELS={used} is slower than this processor allows; unset it to use {known[-1]}"
    else:
        advice = "this processor has no vectors that Roslin can use" if used == "plain" else ""
    yield Finding("kernels", "instruction set", "slow" if advice else "ok", f"{used} of {', '.join(known)}", advice)


def _pictures() -> Iterator[Finding]:
    from roslin.engrave import engrave
    from roslin.melody import Melody

    try:
        installed = distribution("verovio")
    except PackageNotFoundError:
        yield Finding("pictures", "notation", "missing", "piano rolls only", 'pip install "roslin[scores]"')
    else:
        drawing = engrave(Melody.from_notes([0, 1], [1, 1], [60, 62]), use_cache=False)
        state = "ok" if drawing.drawn else "wrong"
        yield Finding("pictures", "notation", state, f"verovio {installed.version}", drawing.reason)
        fonts = sorted(path.stem for path in Path(str(installed.locate_file("verovio/data"))).glob("*.xml"))
        yield Finding("pictures", "fonts", "ok" if fonts else "wrong", ", ".join(fonts))
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), "")
    yield Finding("pictures", "browser", "ok" if browser else "missing", browser or "none in PATH")


def _caches() -> Iterator[Finding]:
    from roslin.data import cache_folder

    folder = cache_folder()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    advice = "" if os.access(there, os.W_OK) else "cannot be written, so nothing is stored; set ROSLIN_CACHE"
    if os.environ.get("ROSLIN_CACHE_MEGABYTES") == "0":
        advice = "ROSLIN_CACHE_MEGABYTES=0, so every drawing is made again; unset it"
    yield Finding("caches", "folder", "slow" if advice else "ok", str(folder), advice)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        yield Finding("caches", path.name, "ok", _size(path))


def _size(path: Path) -> str:
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return f"{sum(each.stat().st_size for each in files) / 1e6:.1f} MB, {counted(len(files), 'file')}"


def _collection(path: Path) -> Iterator[Finding]:
    from roslin.collection.store import Store, check

    try:
        if faults := check(path):
            yield from (Finding("collection", str(path), "wrong", "damaged", fault) for fault in faults)
            return
        with Store(path) as store:
            yield from _health(store)
    except RoslinError as error:
        yield Finding("collection", str(path), "wrong", "cannot be opened", str(error).removeprefix(f"{path}: "))


def _health(store: Store) -> Iterator[Finding]:
    from roslin.collection.files import state_path
    from roslin.collection.store import has_checksums
    from roslin.search.engines.emd import index_file
    from roslin.search.engines.roslin import table_file

    about = store.about
    yield Finding("collection", str(store.path), "ok", f"{about['melodies']} melodies, {about['notes']} notes")
    seen = "all checksums compared" if has_checksums(about) else "but without checksums"
    advice = "" if has_checksums(about) else f"roslin collection upgrade {store.path} adds checksums"
    written = f"{about['format_version']}, written by Roslin {about['roslin']}"
    yield Finding("collection", "format", "missing" if advice else "ok", written, advice)
    yield Finding("collection", "files", "ok", f"whole, {seen}; {_size(store.path)}")
    can_write = os.access(store.path, os.W_OK)
    if not can_write:
        advice = "Roslin cannot store what it makes there, so every command makes it again; allow writing once"
        yield Finding("collection", "folder", "slow", "read-only", advice)
    for name, matcher, file_of in (("roslin", "roslin", table_file), ("index", "emd", index_file)):
        file = file_of(state_path(store.path, name, about["token"]))
        is_made = file.path.exists() and file.read() is not None
        value = _size(file.path) if is_made else "out of date" if file.path.exists() else "not made yet"
        advice = "the first search makes it" if can_write and not is_made and name == "roslin" else ""
        state = "ok" if is_made else "slow" if name == "roslin" else "missing"
        yield Finding("collection", f"table of {matcher}", state, value, advice)

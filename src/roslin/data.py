"""The public data sets by name: where they are, under which licence, how to cite them, and what their bytes must be.

None of them is part of Roslin. `get` copies a data set to the user's cache, from its public address or from a file or
folder that is already there; it is available when every file is complete and has the right checksum. Where ROSLIN_DATA
names a folder with the data set in it, that one is used and nothing is copied.

A file that its publisher renews has no checksum that could last. Its archive is read through when it arrives, and its
SHA-256 is written beside it, so that later damage is noticed. A damaged copy in the cache is fetched again.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from roslin.errors import RoslinError, UnknownNameError


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file; `sha256` is empty where its publisher renews it. An archive must hold a file that ends with `holds`."""

    name: str
    address: str
    sha256: str
    holds: str = ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set, with what must be known before it is used."""

    name: str
    title: str
    licence: str
    citation: str
    files: tuple[DataFile, ...]


_URBANO = "https://raw.githubusercontent.com/julian-urbano"
_LISTS = f"{_URBANO}/ismir2010-groundtruths/a833509c784594932a5284912527e5a151a819e0/data"
_VOTES = f"{_URBANO}/sigir2010-crowdsourcing/62aad1a2e9c14229f1664356436ed9a3d46c95f8/data"
_LIST_SUMS = {
    "All-1": "811c4d42f2d274dfca772ae5002254fa27371c506487968128ad61c917c7f324",
    "All-2": "a25312ce67094cf2c9102293a061f3456c62578c361845d4872c53a8fa181f63",
    "Any-1": "98ddbbe701ef85cd77d9550ca4056fa83e277d7174a503c76ff29bbbc80ccfca",
    "Any-2": "4abe2ff27e9609f2558770422381d02f15bf3ad425c0113765a50aa99134d8dc",
    "Prev-1": "08cd1bd1c5cea9d9ec19ae48ba21e60790356672784d898c0beb807da9147e2d",
    "Prev-2": "b37abb026bd10a14256c576997112e95304471a349280f0b0130db1c2c25bce9",
}
_VOTE_SUMS = {
    "judgments.csv": "b01acb12c7401e1eb88717ceab96c4028b2837a9a7dc5d356845ebfcaa635e74",
    "MTurk.qrel": "85efa3910e6bbda61379ac158b2c5f0af8f6dc646b3e3a58bf78eb870d794e4e",
}
_RISM = "https://opac.rism.info/fileadmin/user_upload/lod/update/rismAllMARCXML.zip"

DATA_SETS: dict[str, DataSet] = {
    each.name: each
    for each in (
        DataSet(
            "mirex2005",
            "Ground truth of MIREX 2005, symbolic melodic similarity, under six aggregation functions",
            "CC BY-SA 4.0",
            "Urbano, Marrero, Martín, Lloréns: Improving the Generation of Ground Truths based on Partially Ordered "
            "Lists. ISMIR 2010, 285-290.",
            tuple(DataFile(f"{name}.qrel", f"{_LISTS}/{name}.qrel", sha) for name, sha in _LIST_SUMS.items()),
        ),
        DataSet(
            "crowd2010",
            "2,810 preference votes on melodies, and the lists built from them",
            "CC BY-SA 4.0",
            "Urbano, Morato, Marrero, Martín: Crowdsourcing Preference Judgments for Evaluation of Music Similarity "
            "Tasks. ACM SIGIR Workshop on Crowdsourcing for Search Evaluation 2010, 9-16.",
            tuple(DataFile(name, f"{_VOTES}/{name}", sha) for name, sha in _VOTE_SUMS.items()),
        ),
        DataSet(
            "rism",
            "The RISM catalogue in MARCXML, with its incipits; several gigabytes, renewed by RISM",
            "CC BY 3.0",
            "Répertoire International des Sources Musicales (RISM): RISM Catalog, rism.info.",
            (DataFile("rismAllMARCXML.zip", _RISM, "", holds=".xml"),),
        ),
    )
}


def data_set(name: str) -> DataSet:
    """The data set of this name."""
    if name not in DATA_SETS:
        raise UnknownNameError("data set", name, sorted(DATA_SETS))
    return DATA_SETS[name]


def path(name: str) -> Path:
    """The folder of a data set that is already here: in ROSLIN_DATA, or in the cache. `get` also checks it."""
    wanted = data_set(name)
    chosen = os.environ.get("ROSLIN_DATA")
    for folder in (*([Path(chosen) / name] if chosen else []), cache_folder() / "data" / name):
        if all((folder / file.name).is_file() for file in wanted.files):
            return folder
    raise RoslinError(f"the data set {name} is not here; fetch it with: roslin data get {name}")


def get(name: str, source: str | Path | None = None) -> Path:
    """Fetch a data set and return its folder. One that is already here is only checked, and fetched again if damaged.

    source: a folder with its files, a zip archive that holds them, or the file itself where there is only one.
    """
    wanted = data_set(name)
    target = cache_folder() / "data" / name
    damage = ""
    if source is None:
        try:
            folder = path(name)
        except RoslinError:
            pass
        else:
            damage = _damage(folder, wanted)
            if not damage:
                return folder
            if folder != target:
                raise RoslinError(f"{folder}: {damage}; correct or unset ROSLIN_DATA, which names this folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _replace(target, wanted, None if source is None else Path(source))
    except RoslinError as error:
        raise RoslinError(f"{error}; the copy in {target} is damaged ({damage})" if damage else str(error)) from None
    return target


def _replace(target: Path, wanted: DataSet, source: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix=f".new-{wanted.name}-", dir=target.parent) as new:
        complete = Path(new) / wanted.name
        complete.mkdir()
        for file in wanted.files:
            if source is None:
                _download(file, complete)
            else:
                _copy(file, source, complete, only=len(wanted.files) == 1)
            if not file.sha256:
                _check_archive(complete / file.name, file.holds)
                _record(complete / file.name).write_text(f"{_sha256(complete / file.name)}  {file.name}\n")
        if damage := _damage(complete, wanted):
            raise RoslinError(damage)
        if target.exists():
            target.rename(Path(new) / "old")
        complete.rename(target)


def cache_folder() -> Path:
    """Where data sets and drawings are kept for this user."""
    if chosen := os.environ.get("ROSLIN_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roslin"


def _download(file: DataFile, folder: Path) -> None:
    import logging

    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    known = f"sha256:{file.sha256}" if file.sha256 else None
    try:
        pooch.retrieve(file.address, known_hash=known, fname=file.name, path=folder)
    except Exception as error:  # pooch lets every error of the network through as it is
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RoslinError(f"{file.address}: the download failed ({reason}); nothing was saved") from None


def _copy(file: DataFile, source: Path, folder: Path, *, only: bool) -> None:
    target = folder / file.name
    if source.is_dir():
        if not (source / file.name).is_file():
            raise RoslinError(f"{source}: expected a file {file.name} in this folder; found none")
        shutil.copyfile(source / file.name, target)
    elif not source.exists():
        raise RoslinError(f"{source}: no such file or folder")
    elif only:
        shutil.copyfile(source, target)
    elif zipfile.is_zipfile(source):
        _extract(file.name, source, target)
    else:
        raise RoslinError(f"{source}: expected a folder or a zip archive with {file.name}; found another file")


# What zipfile raises for an archive that is damaged, encrypted, or packed in a way that it does not know.
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, NotImplementedError)


@contextmanager
def _archive(file: Path, name: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except _BROKEN_ARCHIVE as error:
        raise RoslinError(f"{name}: the archive is damaged ({error})") from None


def _extract(name: str, source: Path, target: Path) -> None:
    with _archive(source, str(source)) as archive:
        inside = [member for member in archive.namelist() if member.rpartition("/")[2] == name]
        if len(inside) != 1:
            raise RoslinError(f"{source}: expected one file {name} in this archive; found {len(inside)}")
        with archive.open(inside[0]) as packed, target.open("wb") as stream:
            shutil.copyfileobj(packed, stream)


def _check_archive(found: Path, holds: str) -> None:
    with _archive(found, found.name) as archive:
        if (broken := archive.testzip()) is not None:
            raise RoslinError(f"{found.name}: the archive is damaged (bad checksum of {broken})")
        if not any(name.lower().endswith(holds) for name in archive.namelist()):
            raise RoslinError(f"{found.name}: expected a file *{holds} in this archive; found none")


def _damage(folder: Path, wanted: DataSet) -> str:
    """The problem of the first file whose checksum is neither the published nor the recorded one."""
    for file in wanted.files:
        record = _record(folder / file.name)
        expected = file.sha256 or (record.read_text().partition(" ")[0] if record.is_file() else "")
        if expected and (sha256 := _sha256(folder / file.name)) != expected:
            return f"{file.name}: wrong checksum; expected SHA-256 {expected}; found {sha256}"
    return ""


def _record(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

"""roslin doctor: versions, extras, kernels, pictures, caches, the health of a collection, and what is slow."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from tests.cli.program import roslin

from roslin.cli import doctor
from roslin.cli.output import OutputFormat
from roslin.collection.arrays import ArrayFile
from roslin.collection.files import state_path
from roslin.collection.store import token_of
from roslin.native import build, kernels
from roslin.starter import tunes_path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOR_DEVELOPERS = {"all", "bench", "docs", "test"}

Rows = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("doctor") / "starter.roslin"
    roslin("collection", "build", tunes_path(), path)
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path / "cache"))
    for name in ("ROSLIN_KERNELS", "ROSLIN_CACHE_MEGABYTES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def examined(capsys: pytest.CaptureFixture[str], collection: Path | None = None, *, code: int = 0) -> Rows:
    """The rows of a report in this process, by their names."""
    with pytest.raises(typer.Exit) as ended:
        doctor.doctor_command(collection, OutputFormat.json)
    assert ended.value.exit_code == code
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


@pytest.mark.long
def test_a_healthy_installation(collection: Path, own_cache: Path) -> None:
    (own_cache / "engravings").mkdir(parents=True)
    (own_cache / "engravings" / "a").write_bytes(bytes(200_000))
    rows = {row["name"]: row for row in json.loads(roslin("doctor", collection, "--format", "json").stdout)}
    assert rows["roslin"]["value"].startswith(PROJECT["version"])
    assert rows["numpy"]["value"] == version("numpy")
    assert rows["compiler"]["value"] == build.compiled_with() != ""
    assert rows["instruction set"]["value"].startswith(kernels.available()[-1])
    assert rows["notation"]["state"] == "ok"
    assert "Leipzig" in rows["fonts"]["value"]
    assert rows["engravings"]["value"] == "0.2 MB, 1 file"
    assert rows[str(collection)]["value"].startswith("243 melodies, ")
    assert rows["files"]["value"].startswith("whole, all checksums compared; ")
    assert {row["state"] for row in rows.values()} <= {"ok", "missing", "slow"}


def test_every_extra_is_known() -> None:
    assert set(doctor.EXTRAS) == PROJECT["optional-dependencies"].keys() - FOR_DEVELOPERS
    required = doctor.required()
    for extra in doctor.EXTRAS:
        assert required[extra], extra


def test_what_is_for_people_has_advice_below(collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_KERNELS", "plain")
    monkeypatch.setenv("ROSLIN_CACHE_MEGABYTES", "0")
    text = " ".join(roslin("doctor").stdout.split())
    assert "instruction set slow plain of plain" in text
    advice = "instruction set: ROSLIN_KERNELS=plain is slower than this processor allows; unset it to use "
    assert advice in text
    assert "folder: ROSLIN_CACHE_MEGABYTES=0, so every drawing is made again; unset it" in text


def test_a_missing_extra_and_an_old_library(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def installed(name: str) -> str:
        if name == "pyarrow":
            raise PackageNotFoundError(name)
        return {"dask": "2024.12.1", "numpy": "1.26"}.get(name) or version(name)

    monkeypatch.setattr(doctor, "version", installed)
    rows = examined(capsys, code=1)
    assert rows["parquet"] | {"part": ""} == {
        "part": "", "name": "parquet", "state": "missing", "value": "needs pyarrow",
        "advice": 'exports and truths in Parquet: pip install "roslin[parquet]"',
    }  # fmt: skip
    assert rows["cluster"]["value"] == "dask 2024.12.1; Roslin needs 2025.1"
    assert (rows["cluster"]["state"], rows["numpy"]["state"]) == ("wrong", "wrong")
    assert rows["numpy"]["advice"] == 'pip install --upgrade "roslin"'


def test_without_verovio(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", missing)
    monkeypatch.setenv("PATH", "")
    rows = examined(capsys)
    assert (rows["notation"]["state"], rows["notation"]["value"]) == ("missing", "piano rolls only")
    assert (rows["browser"]["state"], rows["browser"]["value"]) == ("missing", "none in PATH")


def test_kernels_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_KERNELS", "mmx")
    done = roslin("doctor", code=1)
    assert "instruction set  wrong" in done.stdout
    assert "instruction set: ROSLIN_KERNELS must be one of plain, " in done.stdout


@pytest.mark.long
def test_tables_that_are_not_there_or_out_of_date(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = state_path(collection, "roslin", token_of(collection))
    table.unlink(missing_ok=True)
    rows = examined(capsys, collection)
    assert rows["table of roslin"]["value"] == "not made yet"
    assert (rows["table of roslin"]["state"], rows["table of roslin"]["advice"]) == (
        "slow",
        "the first search makes it",
    )
    roslin("search", collection, "'4CCGGAA2G4FFEEDD2C")
    made = examined(capsys, collection)["table of roslin"]
    assert (made["state"], made["value"]) == ("ok", "0.0 MB, 1 file")
    ArrayFile(table, "table 0", {"notes": np.int8}).write({"notes": np.zeros(1, np.int8)})
    assert examined(capsys, collection)["table of roslin"]["value"] == "out of date"
    table.write_bytes(b"")
    assert f"{table.name} is not what was written" in str(examined(capsys, collection, code=1))
    table.unlink()


def test_a_folder_that_cannot_be_written(
    collection: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(typer.Exit):
        doctor.doctor_command(collection, OutputFormat.table)
    text = capsys.readouterr().out
    assert "folder: cannot be written, so nothing is stored; set ROSLIN_CACHE" in text
    assert "so every command makes it again; allow writing once" in text


@pytest.mark.long
def test_a_damaged_collection_and_none(collection: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.roslin"
    shutil.copytree(collection, broken)
    notes = state_path(broken, "notes", token_of(broken))
    data = bytearray(notes.read_bytes())
    data[-1] ^= 1
    notes.write_bytes(data)
    assert f"{notes.name} is not what was written" in roslin("doctor", broken, code=1).stdout
    assert "there is no such folder" in roslin("doctor", tmp_path / "none.roslin", code=1).stdout


def test_a_collection_of_the_format_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(shutil.copytree(ROOT / "tests" / "fixtures" / "format-3" / "small.roslin", tmp_path / "old.roslin"))
    rows = examined(capsys, path)
    assert rows["format"]["advice"] == f"roslin collection upgrade {path} adds checksums"
    assert rows["files"]["value"].startswith("whole, but without checksums; ")

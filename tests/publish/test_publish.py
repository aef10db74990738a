"""Publishing: what is written, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, load
from roslin.cli.publish import publish_command
from roslin.errors import ArgumentError
from roslin.native import build
from roslin.publish import publish


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    tunes = load("%G-2@3/4 '4G/''CDE/2.F/\n%F-4$bB ,4C^EGqF'C\n")
    return Collection.build(tunes, tmp_path_factory.mktemp("publish") / "two.roslin")


def unpacked(folder: Path, name: str) -> bytes:
    return gzip.decompress(next(folder.glob("files-*")).joinpath(name).read_bytes())


def test_a_collection_becomes_pages_scripts_and_data(collection: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    size = publish(collection, folder, title="Two <tunes>", link="https://example.org/{id}")
    assert {path.name for path in folder.iterdir() if path.is_file()} == {
        "index.html", "de.html", "fr.html", "it.html", "service-worker.js",
    }  # fmt: skip
    assert size == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    page = (folder / "de.html").read_text("utf-8")
    assert '<html lang="de"' in page
    assert "Two &lt;tunes&gt;" in page
    assert "ABC" not in page  # which the scripts do not read
    assert "http://" not in page.replace("http://www.w3.org", "")
    melodies = json.loads(unpacked(folder, "melodies-0.bin"))
    assert melodies[0]["link"] == "https://example.org/melody-1"
    assert melodies[0]["isUpbeat"] is True
    assert melodies[0]["notes"][:10] == [0, 40320, 32, 0, 0, 40320, 40320, 35, 0, 0]
    assert json.loads(unpacked(folder, "ids.bin")) == ["melody-1", "melody-2"]


def test_lines_and_points_are_those_of_the_collection(collection: Collection, tmp_path: Path) -> None:
    publish(collection, tmp_path / "site")
    about = json.loads(unpacked(tmp_path / "site", "about.bin"))
    columns = unpacked(tmp_path / "site", "notes-0.bin")
    assert np.frombuffer(columns, "<u4", 2).tolist() == [5, 3]
    numbers = np.frombuffer(columns, "<u4", 8, 16)
    assert [about["durations"][number] / 40320 for number in numbers[:5]] == [1, 1, 1, 1, 3]
    assert np.frombuffer(columns, "i1", 8, 48).tolist() == [67, 5, 2, 2, 1, 52, 3, 5]
    assert [pitch for _, pitch in about["points"]["1"]] == [48, 52, 55, 60]


def test_a_folder_is_replaced_only_if_it_was_published(collection: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(ArgumentError, match="site: the folder is not empty; choose another one, or replace it with"):
        publish(collection, folder)
    with pytest.raises(ArgumentError, match="--replace replaces only a folder that roslin publish has written"):
        publish(collection, folder, replace=True)
    (folder / "mine.txt").unlink()
    publish(collection, folder)
    publish(collection, folder, replace=True)
    assert len(list(folder.glob("files-*"))) == 1


def test_an_empty_collection_is_refused(tmp_path: Path) -> None:
    with (
        Collection.build([], tmp_path / "empty.roslin") as empty,
        pytest.raises(ArgumentError, match=r"empty\.roslin: the collection is empty; add melodies before"),
    ):
        publish(empty, tmp_path / "site")


def test_without_zig_the_command_names_what_to_install(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "WASM", tmp_path / "roslin.wasm")
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match=r"kernels for browsers are missing: .* pip install ziglang"):
        publish(collection, tmp_path / "site")


def test_a_page_needs_verovio_for_its_glyphs(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from roslin.engrave import Engraving
    from roslin.errors import MissingExtraError
    from roslin.publish import pages

    monkeypatch.setattr(pages, "engrave", lambda melody: Engraving("", drawn=False, reason="no verovio"))
    with pytest.raises(MissingExtraError, match="roslin publish needs verovio"):
        publish(collection, tmp_path / "site")


def test_the_command_prints_where_and_how_large(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish_command(collection.path, tmp_path / "site")
    assert "MB. To try it: python -m http.server --directory" in capsys.readouterr().err

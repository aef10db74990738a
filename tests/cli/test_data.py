"""roslin data: the registry, copies, downloads that break, and what is left behind."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from roslin import data
from roslin.data import DATA_SETS, DataFile, DataSet, get, path
from roslin.errors import RoslinError, UnknownNameError

CONTENT = {"a.txt": b"first\n", "b.txt": b"second\n"}


def roslin(
    *arguments: object, code: int = 0, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roslin", *map(str, arguments)]
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


class _Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT; anything under /cut/ stops half-way."""

    def do_GET(self) -> None:
        body = CONTENT.get(self.path.rpartition("/")[2])
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:2] if self.path.startswith("/cut/") else body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ROSLIN_DATA", raising=False)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache" / "data"


def pretend(monkeypatch: pytest.MonkeyPatch, base: str, names: tuple[str, ...] = ("a.txt", "b.txt")) -> DataSet:
    files = tuple(DataFile(n, f"{base}/{n}", hashlib.sha256(CONTENT.get(n, b"")).hexdigest()) for n in names)
    pretended = DataSet("toy", "A toy.", "CC0", "Nobody 2005.", files)
    monkeypatch.setitem(data.DATA_SETS, "toy", pretended)
    return pretended


def test_every_data_set_says_what_it_is() -> None:
    assert set(DATA_SETS) == {"mirex2005", "crowd2010", "rism"}
    for name, each in DATA_SETS.items():
        assert each.name == name
        assert each.licence.startswith("CC BY")
        assert re.search(r"\d{4}|rism\.info", each.citation)
        for file in each.files:
            assert file.address.startswith("https://")
            assert file.address.endswith(file.name)
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256) or name == "rism"


def test_checksums_are_those_of_the_real_files(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_DATA", str(data_folder))
    for name in ("mirex2005", "crowd2010"):
        assert get(name) == path(name) == data_folder / name


def test_a_download(cache: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, server)
    with pytest.raises(RoslinError, match="the data set toy is not here; fetch it with: roslin data get toy"):
        path("toy")
    folder = get("toy")
    assert folder == path("toy") == cache / "toy"
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == CONTENT
    assert [each.name for each in cache.iterdir()] == ["toy"]


@pytest.mark.parametrize("where", ["/cut", "/wrong", "nowhere"])
def test_a_broken_download_leaves_nothing(
    cache: Path, server: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    toy = pretend(monkeypatch, "http://127.0.0.1:9" if where == "nowhere" else server + where.replace("/wrong", ""))
    if where == "/wrong":
        monkeypatch.setitem(
            data.DATA_SETS, "toy", replace(toy, files=(toy.files[0], replace(toy.files[1], sha256="0" * 64)))
        )
    with pytest.raises(RoslinError, match=r"the download failed .*; nothing was saved"):
        get("toy")
    assert list(cache.iterdir()) == []


def test_a_missing_address(cache: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, server, ("a.txt", "missing.txt"))
    with pytest.raises(RoslinError, match=r"missing\.txt: the download failed \(404"):
        get("toy")
    assert list(cache.iterdir()) == []


def test_a_failure_keeps_what_was_there(
    cache: Path, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, server)
    get("toy")
    (tmp_path / "a.txt").write_bytes(b"other")
    (tmp_path / "b.txt").write_bytes(b"other")
    with pytest.raises(RoslinError, match=r"a\.txt: wrong checksum; expected SHA-256 .*; found"):
        get("toy", tmp_path)
    assert {file.name: file.read_bytes() for file in path("toy").iterdir()} == CONTENT
    assert [each.name for each in cache.iterdir()] == ["toy"]


def test_files_folders_and_archives_in_place_of_a_download(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, "http://127.0.0.1:9")
    source = tmp_path / "source"
    source.mkdir()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, content in CONTENT.items():
            (source / name).write_bytes(content)
            archive.writestr(f"toy-main/data/{name}", content)
    for origin in (source, tmp_path / "all.zip", source):  # the last one replaces what is there
        assert {file.name: file.read_bytes() for file in get("toy", origin).iterdir()} == CONTENT
    assert [each.name for each in cache.iterdir()] == ["toy"]
    pretend(monkeypatch, "http://127.0.0.1:9", ("a.txt",))
    assert get("toy", source / "a.txt") == cache / "toy"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nothing", "nothing: no such file or folder"),
        (".", r"expected a file a\.txt in this folder; found none"),
        ("plain.txt", r"expected a folder or a zip archive with a\.txt"),
        ("empty.zip", r"expected one file a\.txt in this archive; found 0"),
    ],
)
def test_bad_sources(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, message: str) -> None:
    pretend(monkeypatch, "http://127.0.0.1:9")
    (tmp_path / "plain.txt").write_text("x")
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    with pytest.raises(RoslinError, match=message):
        get("toy", tmp_path / source)
    assert list(cache.iterdir()) == []


def test_a_damaged_copy_is_fetched_again(cache: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, server)
    (get("toy") / "a.txt").write_bytes(b"changed")
    assert {file.name: file.read_bytes() for file in get("toy").iterdir()} == CONTENT
    (cache / "toy" / "a.txt").write_bytes(b"changed")
    toy = DATA_SETS["toy"]
    elsewhere = tuple(replace(file, address=file.address.replace(server, "http://127.0.0.1:9")) for file in toy.files)
    monkeypatch.setitem(data.DATA_SETS, "toy", replace(toy, files=elsewhere))
    with pytest.raises(
        RoslinError, match=r"the download failed .*; the copy in .* is damaged \(a\.txt: wrong checksum"
    ):
        get("toy")


def test_a_damaged_folder_of_the_user_is_left_alone(
    cache: Path, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, server)
    mine = tmp_path / "mine" / "toy"
    mine.mkdir(parents=True)
    for name in CONTENT:
        (mine / name).write_bytes(b"changed")
    monkeypatch.setenv("ROSLIN_DATA", str(mine.parent))
    with pytest.raises(RoslinError, match=r"a\.txt: wrong checksum.*; correct or unset ROSLIN_DATA"):
        get("toy")
    assert (mine / "a.txt").read_bytes() == b"changed"
    assert not cache.exists()


def renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set whose publisher gives no checksum."""
    file = DataFile("dump.zip", "http://127.0.0.1:9/dump.zip", "", holds=".xml")
    monkeypatch.setitem(data.DATA_SETS, "toy", DataSet("toy", "A toy.", "CC0", "Nobody 2005.", (file,)))


def archive(path: Path, name: str = "all.XML") -> Path:
    with zipfile.ZipFile(path, "w") as written:
        written.writestr(name, "<x/>" * 100)
    return path


def test_a_file_without_a_checksum_gets_one(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    renewed(monkeypatch)
    dump = archive(tmp_path / "dump.zip")
    folder = get("toy", dump)
    sha256 = hashlib.sha256(dump.read_bytes()).hexdigest()
    assert (folder / "dump.zip.sha256").read_text() == f"{sha256}  dump.zip\n"
    assert get("toy") == folder
    (folder / "dump.zip").write_bytes(b"changed")
    with pytest.raises(RoslinError, match=rf"is damaged \(dump\.zip: wrong checksum; expected SHA-256 {sha256}"):
        get("toy")


def test_an_archive_without_a_checksum_is_read_through(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    renewed(monkeypatch)
    whole = archive(tmp_path / "whole.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:-30])
    (tmp_path / "bad.zip").write_bytes(whole.replace(b"<x/>", b"<y/>", 1))
    archive(tmp_path / "other.zip", "readme.txt")
    for name, message in (
        ("cut.zip", r"dump\.zip: the archive is damaged"),
        ("bad.zip", r"dump\.zip: the archive is damaged \(bad checksum of all\.XML\)"),
        ("other.zip", r"dump\.zip: expected a file \*\.xml in this archive; found none"),
    ):
        with pytest.raises(RoslinError, match=message):
            get("toy", tmp_path / name)
    assert list(cache.iterdir()) == []


def test_a_damaged_archive_in_place_of_a_download(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend(monkeypatch, "http://127.0.0.1:9")
    broken = archive(tmp_path / "broken.zip", "a.txt")
    broken.write_bytes(broken.read_bytes().replace(b"<x/>", b"<y/>", 1))
    with pytest.raises(RoslinError, match=r"broken\.zip: the archive is damaged"):
        get("toy", broken)
    assert list(cache.iterdir()) == []


def test_an_unknown_name_lists_the_known_ones(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(UnknownNameError, match="unknown data set 'essen'; known: crowd2010, mirex2005, rism, toy"):
        get("essen")


@pytest.mark.long
def test_the_command_line(tmp_path: Path, data_folder: Path) -> None:
    listed = json.loads(roslin("data", "list", "--format", "json").stdout)
    assert [row["name"] for row in listed] == list(DATA_SETS)
    assert listed[0]["files"][0]["sha256"]
    assert "CC BY-SA 4.0" in roslin("data", "list").stdout
    environment = {"ROSLIN_CACHE": str(tmp_path), "ROSLIN_DATA": ""}
    done = roslin("data", "get", "mirex2005", "--from", data_folder / "mirex2005", environment=environment)
    folder = tmp_path / "data" / "mirex2005"
    assert done.stdout == f"{folder}\n"
    assert "Licence: CC BY-SA 4.0\nPlease cite: Urbano, Marrero" in done.stderr
    shown = roslin("data", "path", "mirex2005", environment=environment)
    assert shown.stdout == f"{folder}\n"
    assert "Licence: CC BY-SA 4.0\nPlease cite: Urbano, Marrero" in shown.stderr
    refused = roslin("data", "path", "crowd2010", code=2, environment=environment).stderr
    assert refused == "roslin: the data set crowd2010 is not here; fetch it with: roslin data get crowd2010\n"
    unknown = roslin("data", "get", "essen", code=2).stderr
    assert unknown == "roslin: unknown data set 'essen'; known: crowd2010, mirex2005, rism\n"

"""The build of the kernels: only what has changed, errors in full, and several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from tests.native.conftest import kernels_of


def objects(own: ModuleType) -> dict[str, int]:
    """The objects and when each was made."""
    return {path.name: path.stat().st_mtime_ns for path in (own.LIBRARIES / "objects").glob("*.o")}


@pytest.mark.long
def test_only_what_has_changed_is_compiled(make_family: Callable[[str], ModuleType]) -> None:
    own = make_family("own")
    own.build()
    first = objects(own)
    assert len(first) == 2 * len(own.levels())
    own.build()
    assert objects(own) == first
    with (own.SOURCES / "sample.c").open("a") as file:
        file.write("// a remark\n")
    own.build()
    second = objects(own)
    assert {name for name in second if name in first} == {name for name in first if name.startswith("common-")}
    assert all(second[name] == first[name] for name in second if name in first)
    assert len(second) == len(first)  # those that are out of date are gone
    with (own.SOURCES / "sample.h").open("a") as file:
        file.write("// a remark\n")
    own.build()
    assert set(objects(own)).isdisjoint(second)


@pytest.mark.long
def test_a_changed_source_is_compiled_before_the_next_call(make_family: Callable[[str], ModuleType]) -> None:
    own = make_family("own")
    level = kernels_of(own).level()
    before, source = own.library(level).read_bytes(), own.SOURCES / "sample.c"
    source.write_text(source.read_text("utf-8").replace("return answer", "return !answer"), "utf-8")
    assert kernels_of(own).level() == level
    assert own.library(level).read_bytes() != before


def test_an_error_of_the_compiler_comes_with_its_command(make_family: Callable[[str], ModuleType]) -> None:
    own = make_family("own")
    (own.SOURCES / "sample.c").write_text("int nothing(void) { return undeclared; }\n", "utf-8")
    with pytest.raises(own.BuildError, match=r"(?s)cannot be compiled: .* -c .*sample\.c\n.*undeclared"):
        own.build()
    assert not own.STAMP.exists()


def test_without_a_compiler_the_message_names_one(
    make_family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = make_family("own")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(own, "find_spec", lambda _name: None)
    assert own.compiler() == []
    with pytest.raises(
        own.BuildError, match=r"no C compiler \(cc, gcc, clang\) was found; to get one: pip install ziglang"
    ):
        own.build()
    monkeypatch.setattr(own, "find_spec", lambda name: name)
    assert own.compiler()[1:] == ["-m", "ziglang", "cc", "-mcpu=baseline"]
    assert own.compiler("aarch64-macos")[-2:] == ["-target", "aarch64-macos.11.0"]


def test_a_compiler_that_does_not_exist(
    make_family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = make_family("own")
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(own.BuildError, match="no-such-compiler: No such file or directory; set CC"):
        own.build()


@pytest.mark.long
def test_two_builds_at_once(make_family: Callable[[str], ModuleType]) -> None:
    own = make_family("own")
    command = [sys.executable, str(own.SOURCES / "build.py")]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in both] == [("", 0), ("", 0)]
    assert own.STAMP.read_text("utf-8") == own.stamp()
    assert kernels_of(own).takes_memory(True) is None
    assert {path.suffix for path in own.LIBRARIES.iterdir()} == {"", ".txt", own.library("plain").suffix}


@pytest.mark.long
def test_more_flags_have_libraries_of_their_own(
    make_family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROSLIN_KERNELS_FLAGS", raising=False)
    own = make_family("own")
    own.build()
    before = own.library("plain").read_bytes()
    flagged = {**os.environ, "ROSLIN_KERNELS_FLAGS": "-g -O1"}
    subprocess.run([sys.executable, str(own.SOURCES / "build.py")], check=True, env=flagged)
    assert own.library("plain").read_bytes() == before
    assert (own.LIBRARIES / "flagged" / own.library("plain").name).exists()


@pytest.mark.long
def test_the_compiler_is_recorded_without_a_date(
    make_family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = make_family("own")
    assert own.compiled_with() == ""
    own.build()
    version, flags = own.COMPILED_WITH.read_text("utf-8").splitlines()
    said = subprocess.run([*own.compiler(), "--version"], capture_output=True, text=True, check=True).stdout
    assert own.compiled_with() == version == said.splitlines()[0]
    assert flags.endswith(" ".join(own.FLAGS))
    monkeypatch.setattr(own, "FLAGS", ["-std=c11", "-O1", "-fPIC"])
    own.build()
    assert own.COMPILED_WITH.read_text("utf-8").splitlines()[1].endswith("-std=c11 -O1 -fPIC")

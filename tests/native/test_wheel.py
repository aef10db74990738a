"""The wheel: which compiler it is built with, for which machines it is, and which libraries are in it."""

from __future__ import annotations

import importlib.util
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from roslin.native import build

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from check_wheels import faults_of  # noqa: E402

RECORDS = ("stamp.txt", "compiler.txt", "roslin.wasm")


class App:
    """What hatchling gives a hook to speak to people."""

    def abort(self, message: str) -> None:
        raise SystemExit(message)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook of the build, with compilation left out."""
    for name in ("CC", "ROSLIN_TARGET"):
        monkeypatch.delenv(name, raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def loaded() -> ModuleType:
        return build

    monkeypatch.setattr(module, "_build", loaded)
    monkeypatch.setattr(build, "build", lambda target="": None)
    monkeypatch.setattr(build, "build_wasm", lambda: build.WASM)
    monkeypatch.setattr(build, "find_spec", lambda name: name)
    return module.KernelsHook(str(ROOT), {}, None, None, "", "wheel", App())


def test_without_a_compiler_the_build_installs_one(hook: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "find_spec", lambda _name: None)
    (tmp_path / "gcc").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hook.dependencies() == []
    assert build.compiler() == [str(tmp_path / "gcc")]
    monkeypatch.setenv("PATH", "")
    assert hook.dependencies() == ["ziglang>=0.14"]


def test_a_wheel_for_another_machine_is_built_by_zig(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "find_spec", lambda _name: None)
    monkeypatch.setenv("ROSLIN_TARGET", "aarch64-macos")
    assert hook.dependencies() == ["ziglang>=0.14"]
    monkeypatch.setattr(build, "find_spec", lambda name: name)
    assert build.compiler("aarch64-macos")[:4] == [sys.executable, "-m", "ziglang", "cc"]


@pytest.mark.parametrize(
    ("target", "tag", "libraries"),
    [
        ("aarch64-macos", "py3-none-macosx_11_0_arm64", ["kernels-plain.so", "kernels-neon.so"]),
        (
            "x86_64-windows",
            "py3-none-win_amd64",
            ["kernels-plain.dll", "kernels-sse4.dll", "kernels-avx2.dll", "kernels-avx512.dll"],
        ),
    ],
)
def test_a_wheel_names_its_machines_and_has_their_libraries(
    hook: Any, monkeypatch: pytest.MonkeyPatch, target: str, tag: str, libraries: list[str]
) -> None:
    monkeypatch.setenv("ROSLIN_TARGET", target)
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize("standard", data)
    assert (data["tag"], data["pure_python"]) == (tag, False)
    assert set(data["force_include"].values()) == {f"roslin/native/lib/{name}" for name in (*RECORDS, *libraries)}


def test_an_editable_installation_takes_nothing_along(hook: Any) -> None:
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize("editable", data)
    assert data == {"force_include": {}}


def test_an_unknown_machine(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_TARGET", "pdp11-unix")
    with pytest.raises(SystemExit, match=r"ROSLIN_TARGET must be one of x86_64-linux-gnu.2.17, .*; got 'pdp11-unix'"):
        hook.initialize("standard", {"force_include": {}})


def test_an_error_of_the_compiler_ends_the_build(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(target: str = "") -> None:
        raise build.BuildError(f"the kernels cannot be compiled for {target or 'this machine'}")

    monkeypatch.setattr(build, "build", failing)
    with pytest.raises(SystemExit, match="the kernels cannot be compiled for this machine"):
        hook.initialize("standard", {"force_include": {}})


def mac_library(processor: int, macos: int) -> bytes:
    header = struct.pack("<8I", 0xFEEDFACF, processor, 0, 6, 1, 24, 0, 0)
    return header + struct.pack("<6I", 0x32, 24, 1, macos << 16, 0, 0)


def test_a_library_must_fit_the_name_of_its_wheel() -> None:
    dll = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"PE\0\0" + struct.pack("<H", 0x8664)
    assert list(faults_of(dll, "win_amd64")) == []
    assert list(faults_of(dll, "win_arm64")) == ["no DLL for arm64"]
    assert list(faults_of(mac_library(0x0100000C, 11), "macosx_11_0_arm64")) == []
    assert list(faults_of(mac_library(0x0100000C, 13), "macosx_11_0_arm64")) == ["needs macOS 13"]
    assert list(faults_of(mac_library(0x0100000C, 11), "macosx_11_0_x86_64")) == ["no library for x86_64"]

"""Compiles the kernels whenever a wheel or an editable installation of Roslin is built.

    pip wheel . --no-deps                                      for this machine
    ROSLIN_TARGET=aarch64-macos pip wheel . --no-deps          for another one

`src/roslin/native/build.py` does the work and explains which compiler is used. Where there is none, pip first installs
the package ziglang, a whole C compiler. Nothing of CPython is linked, so one wheel serves all versions of Python.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What ROSLIN_TARGET may be, and the platforms that such a wheel is for.
PLATFORMS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos": "macosx_11_0_x86_64",
    "aarch64-macos": "macosx_11_0_arm64",
    "x86_64-windows": "win_amd64",
    "aarch64-windows": "win_arm64",
}


class KernelsHook(BuildHookInterface[Any]):
    """Puts the compiled kernels into the wheel, and names the wheel after the machines that can run them."""

    def dependencies(self) -> list[str]:
        """A compiler, where there is none."""
        return [] if _build().compiler(_target()) else ["ziglang>=0.14"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before the files of the wheel are collected."""
        target, build = _target(), _build()
        if target and target not in PLATFORMS:
            self.app.abort(f"ROSLIN_TARGET must be one of {', '.join(PLATFORMS)}; got {target!r}")
        try:
            build.build(target)
        except build.BuildError as error:
            self.app.abort(str(error))
        if version == "editable":
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORMS[target] if target else _this_platform()}"
        for path in (
            *(build.LIBRARIES / target / record.name for record in (build.STAMP, build.COMPILED_WITH)),
            *(build.library(level, target) for level in build.levels(target)),
        ):
            build_data["force_include"][str(path)] = f"roslin/native/lib/{path.name}"
        if build.find_spec("ziglang"):
            path = build.build_wasm()
            build_data["force_include"][str(path)] = f"roslin/native/lib/{path.name}"


def _target() -> str:
    return os.environ.get("ROSLIN_TARGET", "")


def _build() -> ModuleType:
    """The module of Roslin that compiles; Roslin itself is not installed yet."""
    path = Path(__file__).parent / "src" / "roslin" / "native" / "build.py"
    spec = importlib.util.spec_from_file_location("roslin_native_build", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _this_platform() -> str:
    """The platform as wheels write it. A Python for both processors of a Mac still compiles for one of them."""
    if platform.system() == "Darwin":
        return f"macosx_{platform.mac_ver()[0].split('.')[0]}_0_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")

"""Compiles the kernels: every C file of this folder, once for each instruction set, into one library each.

    python -m roslin.native.build                             for this machine
    ROSLIN_TARGET=aarch64-macos pip wheel . --no-deps         for another one, with zig (hatch_build.py)
    ROSLIN_KERNELS_FLAGS="-g" python -m roslin.native.build   with more flags (tools/sanitize.sh)

Nothing but a C compiler is needed: the one that CC names, cc, gcc or clang; where there is none, the one of the package
ziglang, a whole C compiler in a wheel. The build of a wheel and an editable installation call `build` (hatch_build.py);
in a clone, `roslin.native.kernels` calls it when a source has changed.

An object is named after all that it is made of, so only what has changed is compiled again. This module imports nothing
of Roslin: it runs before Roslin is installed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).parent
_MORE_FLAGS = shlex.split(os.environ.get("ROSLIN_KERNELS_FLAGS", ""))
LIBRARIES = SOURCES / "lib" / ("flagged" if _MORE_FLAGS else "")
STAMP = LIBRARIES / "stamp.txt"
COMPILED_WITH = LIBRARIES / "compiler.txt"  # the compiler and its version, then the target and the flags

# No fused or reordered sums: results are the same bits on every processor. The two flags that follow change no result;
# without errno and signals of floating-point operations, loops can become vectors.
FLAGS = [
    *("-std=c11", "-O3", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types"),
    *_MORE_FLAGS,
]

# The instruction sets of a processor family, from the one that every machine has to the newest, and their flags.
_LEVELS = {
    "x86_64": {
        "plain": ["-DLANES_PLAIN"],
        "sse4": ["-march=x86-64-v2"],
        "avx2": ["-march=x86-64-v3"],
        "avx512": ["-march=x86-64-v4"],
    },
    "aarch64": {"plain": ["-DLANES_PLAIN"], "neon": []},
    "other": {"plain": ["-DLANES_PLAIN"]},
}


WASM = SOURCES / "lib" / "roslin.wasm"
_IN_BROWSERS = (
    *("malloc", "free", "align_all", "align_each", "self_scores", "best_path", "step_worths", "put_melodies"),
    *("bound_blocks", "align_melodies", "same_intervals", "label_notes", "most_in_common"),
)


class BuildError(Exception):
    """The kernels could not be compiled."""


def levels(target: str = "") -> dict[str, list[str]]:
    """The instruction sets for a target like "x86_64-linux-gnu", the simplest first, with their flags."""
    machine = (target.partition("-")[0] or platform.machine()).lower()
    family = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    return _LEVELS.get(family, _LEVELS["other"])


def library(level: str, target: str = "") -> Path:
    """Where the library of an instruction set is. Those for other machines have folders of their own."""
    is_windows = "windows" in target if target else os.name == "nt"
    return LIBRARIES / target / f"kernels-{level}{'.dll' if is_windows else '.so'}"


def compiler(target: str = "") -> list[str]:
    """The command that compiles. An empty list where there is no compiler."""
    # Without a target, zig would use all instructions of this processor, in the library for every processor too.
    zig = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"] if find_spec("ziglang") else []
    if target:
        # Otherwise zig asks for a macOS that is newer than the wheel promises (hatch_build.py).
        oldest = ".11.0" if target.endswith("-macos") else ""
        return [*zig, "-target", target + oldest] if zig else []
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    found = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    return [found] if found else zig


def build_wasm() -> Path:
    """The kernels of the matcher `roslin` for browsers (`roslin.publish`), compiled with zig if a source has changed.

    A wheel has no sources; it has the compiled kernels if zig was there when it was built.
    """
    sources = [SOURCES / name for name in ("roslin.c", "roslin_blocks.c", "labels.c", "geometric.c")]
    made_of, mark = f"{stamp()} {shlex.join(_IN_BROWSERS)}", WASM.with_suffix(".txt")
    is_new = mark.is_file() and mark.read_text("utf-8") == made_of
    if not (WASM.is_file() and (is_new or not sources[0].is_file())):
        if not (find_spec("ziglang") and sources[0].is_file()):
            raise BuildError("they are compiled with zig; in a clone of Roslin, pip install ziglang")
        WASM.parent.mkdir(parents=True, exist_ok=True)
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi", "-mexec-model=reactor", "-msimd128"]
        exported = [f"-Wl,--export={name}" for name in _IN_BROWSERS]
        _run_into(WASM, [*zig, *FLAGS, "-s", *exported, *map(str, sources)])
        _replace(mark, made_of)
    return WASM


def stamp() -> str:
    """A hash of all that the libraries are made of."""
    files = (*sorted(SOURCES.glob("*.[ch]")), Path(__file__))
    parts = [shlex.join(_MORE_FLAGS).encode(), *(path.read_bytes() for path in files)]
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def build(target: str = "") -> None:
    """Compile what has changed. Several processes can build at the same time."""
    command = compiler(target)
    if not command:
        raise BuildError(
            "the kernels cannot be compiled: no C compiler (cc, gcc, clang) was found; to get one: pip install ziglang"
        )
    made_of = stamp()
    objects = LIBRARIES / target / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    headers = b"\0".join(path.read_bytes() for path in sorted(SOURCES.glob("*.h")))
    jobs = {
        level: [_object(source, objects, [*command, *FLAGS, *flags], headers) for source in sorted(SOURCES.glob("*.c"))]
        for level, flags in _flags(command, target).items()
    }
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_compile, {job[0]: job for one in jobs.values() for job in one}.values()))
    for level, made in jobs.items():
        stripped = ["-s"] if target else []  # a quarter of the size; only wheels are built for a target
        link = [*command, *_MORE_FLAGS, *stripped, "-shared", *[str(path) for path, _ in made], "-lm"]
        _run_into(library(level, target), link)
    flags = shlex.join([target or f"{platform.machine()}-{platform.system()}".lower(), *FLAGS])
    _replace(LIBRARIES / target / COMPILED_WITH.name, f"{_version(command)}\n{flags}\n")
    _replace(LIBRARIES / target / STAMP.name, made_of)
    used = {path for made in jobs.values() for path, _ in made}
    for path in objects.glob("*.o"):
        if path not in used:
            path.unlink(missing_ok=True)


def _flags(command: list[str], target: str) -> dict[str, list[str]]:
    """The flags of each instruction set, as this compiler writes them: zig writes the names of processors with _."""
    if "ziglang" not in command:
        return levels(target)
    return {level: [flag.replace("x86-64-", "x86_64_") for flag in flags] for level, flags in levels(target).items()}


def _version(command: list[str]) -> str:
    """The name and the version of a compiler, in its own words."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    said = (done.stdout.splitlines() or [command[0]])[0]
    return f"zig: {said}" if "ziglang" in command else said


def compiled_with() -> str:
    """The compiler of the libraries that are there, and its version; empty where that is not known."""
    try:
        return COMPILED_WITH.read_text("utf-8").partition("\n")[0]
    except OSError:
        return ""


def _object(source: Path, objects: Path, command: list[str], headers: bytes) -> tuple[Path, list[str]]:
    """The object of a source, named after all that it is made of, and the command that makes it."""
    compile_it = [*command, "-c", str(source)]
    made_of = b"\0".join((source.read_bytes(), headers, shlex.join(compile_it).encode()))
    return objects / f"{source.stem}-{hashlib.blake2b(made_of, digest_size=12).hexdigest()}.o", compile_it


def _compile(job: tuple[Path, list[str]]) -> None:
    path, command = job
    if not path.exists():
        _run_into(path, command)


def _run_into(path: Path, command: list[str]) -> None:
    """Run a compiler; what it makes appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        try:
            done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True, check=False)
        except OSError as error:
            raise BuildError(f"the kernels cannot be compiled: {command[0]}: {error.strerror}; set CC") from error
        if done.returncode:
            raise BuildError(f"the kernels cannot be compiled: {shlex.join(command)}\n{done.stderr.strip()}")
        if done.stderr.strip():
            print(done.stderr, file=sys.stderr)
        made.replace(path)


def _replace(path: Path, text: str) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        (Path(folder) / path.name).write_text(text, "utf-8")
        (Path(folder) / path.name).replace(path)


if __name__ == "__main__":
    try:
        build(os.environ.get("ROSLIN_TARGET", ""))
    except BuildError as error:
        sys.exit(str(error))

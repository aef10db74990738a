"""Check that the libraries in wheels fit the platforms that the wheels are named after, and print a table of sizes.

.venv-wheels/bin/python tools/check_wheels.py dist

manylinux_2_17   no symbol of glibc is newer than 2.17 (auditwheel checks the same for this machine's processor)
musllinux        the only library is libc.so; musl's loader knows it by this name
macosx_11_0      made for this processor, and for macOS 11.0 or older
win              a DLL for this processor
"""

from __future__ import annotations

import io
import platform
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ELF_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
MACH_MACHINES = {"x86_64": 0x01000007, "arm64": 0x0100000C}
PE_MACHINES = {"amd64": 0x8664, "arm64": 0xAA64}
_BUILD_VERSION, _MINIMUM_MACOS = 0x32, 0x24


def faults_of(library: bytes, tag: str) -> Iterator[str]:
    """What keeps a library from working where the tag of its wheel promises that it does."""
    system = re.split(r"[_\d]", tag)[0]
    machine = next(name for name in (*ELF_MACHINES, *PE_MACHINES) if tag.endswith(name))
    if system in ("manylinux", "musllinux"):
        yield from _elf(library, system, machine)
    elif system == "macosx":
        yield from _mach(library, machine)
    elif struct.unpack_from("<H", library, struct.unpack_from("<I", library, 0x3C)[0] + 4)[0] != PE_MACHINES[machine]:
        yield f"no DLL for {machine}"


def _elf(library: bytes, system: str, machine: str) -> Iterator[str]:
    from elftools.elf.elffile import ELFFile  # type: ignore[import-not-found,unused-ignore]

    elf = ELFFile(io.BytesIO(library))
    if elf["e_machine"] != ELF_MACHINES[machine]:
        yield f"made for {elf['e_machine']}"
    needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    known = {"libc.so"} if system == "musllinux" else {"libc.so.6", "libm.so.6", "libpthread.so.0"}
    if needed - known:
        yield f"needs {', '.join(sorted(needed - known))}"
    for version in re.findall(rb"\0GLIBC_2\.(\d+)[\d.]*(?=\0)", library):
        if system == "musllinux" or int(version) > 17:
            yield f"needs glibc 2.{int(version)}"


def _mach(library: bytes, machine: str) -> Iterator[str]:
    magic, processor, _, _, commands = struct.unpack_from("<IIIII", library)
    if (magic, processor) != (0xFEEDFACF, MACH_MACHINES[machine]):
        yield f"no library for {machine}"
    at = 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", library, at)
        if kind in (_BUILD_VERSION, _MINIMUM_MACOS):
            least = struct.unpack_from("<I", library, at + (12 if kind == _BUILD_VERSION else 8))[0] >> 16
            if least > 11:
                yield f"needs macOS {least}"
        at += size


def main(folder: Path) -> int:
    """Print the table and every fault; how many faults there are."""
    faults = 0
    print("| file | MB | installed, MB |\n|---|---|---|")
    for path in sorted(folder.iterdir()):
        installed = "–"
        if path.suffix == ".whl":
            tag = path.stem.split("-")[-1].split(".")[0]
            with zipfile.ZipFile(path) as wheel:
                installed = f"{sum(file.file_size for file in wheel.infolist()) / 1e6:.1f}"
                for name in wheel.namelist():
                    for fault in faults_of(wheel.read(name), tag) if name.endswith((".so", ".dll")) else ():
                        faults += 1
                        print(f"{path.name}: {name} {fault}", file=sys.stderr)
            if tag.startswith("manylinux") and tag.endswith(platform.machine()):
                command = [str(Path(sys.executable).with_name("auditwheel")), "show", str(path)]
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                if f'"{tag}"' not in " ".join(said.split()):
                    faults += 1
                    print(said, file=sys.stderr)
        print(f"| `{path.name}` | {path.stat().st_size / 1e6:.1f} | {installed} |")
    return faults


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]))))

#!/usr/bin/env bash
# Make the source distribution and a wheel for each platform in dist/, all on this machine, and check them. zig compiles the kernels.
#
#     tools/wheels.sh                                           all platforms
#     tools/wheels.sh x86_64-linux-gnu.2.17 x86_64-linux-musl   some of them
set -euo pipefail
cd "$(dirname "$0")/.."
tools=.venv-wheels/bin

if [ requirements.lock -nt .venv-wheels/ready ]; then
    "${PYTHON:-.venv/bin/python}" -m venv .venv-wheels
    $tools/python tools/locked.py wheels >.venv-wheels/needed.txt
    $tools/python -m pip install --quiet --require-hashes --requirement .venv-wheels/needed.txt
    touch .venv-wheels/ready
fi
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <($tools/python -c "import hatch_build; print(*hatch_build.PLATFORMS, sep='\n')")

# Files in a wheel have the date of the commit, so the same sources give the same wheel.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
rm -rf dist
$tools/python -m hatchling build -t sdist -d dist
for target in "${targets[@]}"; do
    ROSLIN_TARGET=$target $tools/python -m hatchling build -t wheel -d dist
done
$tools/twine check --strict dist/*
$tools/check-wheel-contents dist/*.whl
$tools/python tools/check_wheels.py dist

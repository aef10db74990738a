#!/usr/bin/env bash
# Make .venv and install Roslin in it with what PURPOSE needs (demo, test, docs, or the name of an extra): with uv when it is there, otherwise
# with python -m venv and pip. Everything that is downloaded must have a checksum of requirements.lock; Roslin itself has none, so it comes last
# and alone, built by what has been installed before.
set -euo pipefail
cd "$(dirname "$0")/.."

case $1 in
    demo) extra=web ;;
    *) extra=$1 ;;
esac
needed=$(mktemp)
trap 'rm -f "$needed"' EXIT

newest_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "Roslin needs Python 3.11 or newer; none was found. Install one, or name it: make PYTHON=/path/to/python3" >&2
    exit 2
}

if command -v uv >/dev/null; then
    [ -x .venv/bin/python ] || uv venv --quiet --python "${PYTHON:->=3.11}" .venv
    # Compiled at once, as pip does: commands start in a fraction of the time.
    install="uv pip install --quiet --compile-bytecode --python .venv/bin/python"
else
    python=$(newest_python)
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    install=".venv/bin/python -m pip install --quiet --disable-pip-version-check"
    echo "Installing (a minute or two; with uv it would be seconds) ..." >&2
fi
# The kernels of Roslin are compiled; where there is no C compiler, one is installed.
compiler=compiler
for name in ${CC:-cc gcc clang}; do
    ! command -v "$name" >/dev/null || compiler=
done
.venv/bin/python tools/locked.py "$extra" $compiler >"$needed"
$install --require-hashes --requirement "$needed"
$install --no-deps --no-build-isolation --editable .

#!/usr/bin/env bash
# Install the wheel for this machine into empty environments, with pip and with uv, for every Python from 3.11 that is here, and run what the
# README shows. Prints for each the seconds from nothing to the first result (on the clock, and of the processor), and the size of the environment.
#
#     tools/try_wheel.sh dist/roslin-*-manylinux*_x86_64.whl
set -euo pipefail
wheel=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
space=$(mktemp -d)
trap 'rm -rf "$space"' EXIT

pythons() {
    for python in "$(command -v python3 || true)" /usr/bin/python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
        "$python" -c 'import sys, venv, ensurepip; v = sys.version_info; v < (3, 11) and sys.exit(1); print(v.minor, sys.executable)' 2>/dev/null || true
    done | sort -n -u -k 1,1 | cut -d " " -f 2
}

first_result() { # PYTHON INSTALLER ENVIRONMENT
    local env=$3
    if [ "$2" = uv ]; then
        uv venv -q --python "$1" "$env"
        uv pip install -q --python "$env/bin/python" "$wheel"
    else
        "$1" -m venv "$env"
        "$env/bin/pip" install -q --disable-pip-version-check "$wheel"
    fi
    local tunes
    tunes=$("$env/bin/python" -c "from roslin.starter import tunes_path; print(tunes_path())")
    "$env/bin/roslin" collection build "$tunes" my.roslin >/dev/null
    "$env/bin/roslin" search my.roslin "c c g g a a g f f e e d d c" -k 3 | grep -q ah-vous-dirai-je
}

try() { # PYTHON INSTALLER
    local env=$space/$2-$(basename "$(dirname "$(dirname "$1")")") seconds size
    mkdir -p "$env.work"
    cd "$env.work"
    seconds=$({ TIMEFORMAT="%0R %0U %0S"; time first_result "$1" "$2" "$env" 2>"$env.log"; } 2>&1) || { cat "$env.log" >&2; return 1; }
    size=$(du -sm --apparent-size "$env" | cut -f 1)
    {
        "$env/bin/roslin" identify my.roslin "%G-2@2/4 '4CC/GG/AA/2G/4FF/EE/DD/2C"
        "$env/bin/roslin" concordances my.roslin
        "$env/bin/roslin" doctor my.roslin
        (cd "$root" && "$env/bin/python" -P -m doctest README.md)
    } >"$env.log" 2>&1 || { cat "$env.log" >&2; return 1; }
    # shellcheck disable=SC2086
    printf '| %s | %s | %d | %d + %d | %d |\n' "$("$env/bin/python" -V)" "$2" $seconds "$size"
}

echo "| Python | installed with | seconds to the first result | of the processor | MB |"
echo "|---|---|---|---|---|"
for python in $(pythons); do
    (try "$python" pip)
    ! command -v uv >/dev/null || (try "$python" uv)
done

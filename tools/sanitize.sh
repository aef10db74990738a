#!/usr/bin/env bash
# Compile the kernels with AddressSanitizer and UndefinedBehaviorSanitizer and run the tests that call them: a read or write outside an array, an
# overflow or a wrong shift ends the run with its place in the C source. Arguments go to pytest; without any, tests that call every kernel are run.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
compiler=${CC:-gcc}
export ROSLIN_KERNELS_FLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
export ROSLIN_KERNELS=${ROSLIN_KERNELS:-plain}
"$python" -m roslin.native.build

if [ $# -eq 0 ]; then
    set -- tests/native/test_kernels.py tests/native/test_lanes.py tests/represent tests/transport tests/matchers/roslin tests/matchers/test_contract.py
    set -- "$@" tests/search/test_index.py tests/search/test_roslin_table.py tests/concordances/test_blocking.py tests/truth/test_ranktests.py
fi
# The sanitizers must be loaded before all else, and the C++ library before SciPy. Python frees most of its memory at the end or never.
unset ROSLIN_REQUIRE_ALL  # tests of other instruction sets are skipped
libraries="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so)"
LD_PRELOAD=$libraries ASAN_OPTIONS=detect_leaks=0 exec "$python" -m pytest -q -p no:cacheprovider "$@"

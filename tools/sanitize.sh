#!/usr/bin/env bash
# Compile the kernels with AddressSanitizer and UndefinedBehaviorSanitizer and run the tests that call them: a read or write outside an array, an
# overflow or a wrong shift ends the run with its place in the C source. Arguments go to pytest; without any, all tests of kernels are run.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
compiler=${CC:-gcc}
export ROSLIN_KERNELS_FLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
export ROSLIN_KERNELS=${ROSLIN_KERNELS:-plain}
"$python" -m roslin.native.build

[ $# -gt 0 ] || set -- tests/native/test_kernels.py tests/matchers tests/transport tests/represent tests/search tests/truth/test_ranktests.py
# The sanitizers must be loaded before all else, and the C++ library before SciPy. Python frees most of its memory at the end or never.
libraries="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so)"
LD_PRELOAD=$libraries ASAN_OPTIONS=detect_leaks=0 exec "$python" -m pytest -q -p no:cacheprovider "$@"

#!/usr/bin/env bash
# Install the programs that some tests need, where that is possible (Debian and root). Otherwise those tests are skipped
# and say so.
set -euo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
# Debian keeps initdb off the path. Tests start a server of their own: none needs to run.
command -v initdb >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || missing+=(postgresql)
for program in nginx caddy openssl; do
    command -v "$program" >/dev/null || missing+=("$program")
done
command -v systemd-analyze >/dev/null || missing+=(systemd)
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing ${missing[*]} ..." >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq --yes --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 ||
        echo "${missing[*]} could not be installed; the tests that need it will be skipped." >&2
else
    echo "Not installed: ${missing[*]}. The tests that need it will be skipped." >&2
fi

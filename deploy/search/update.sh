#!/bin/sh
# Take over all records that have changed since the day in the file `updated`. A run that fails changes nothing, and the
# next one takes over the same changes.
set -eu
cd /srv/roslin
today=$(date --utc +%F)
venv/bin/roslin harvest oai https://oai.example.org/oai "changes-$today" --from "$(cat updated)" \
    --contact melodies@example.org
if ls "changes-$today"/*.xml >/dev/null 2>&1; then
    venv/bin/roslin collection update tunes.roslin "changes-$today"
fi
rm -r "changes-$today"
echo "$today" > updated

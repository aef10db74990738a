#!/usr/bin/env bash
# Run the steps of deploy/Dockerfile in a clean Debian, where no containers can be built, and start a search page and a
# study in it, as the user of the images. Needs root and debootstrap.
#
#     tools/try_image.sh
set -euo pipefail
cd "$(dirname "$0")/.."
root=$(mktemp -d)
chmod 755 "$root"  # the user of the images must reach it
trap 'umount "$root/proc"; rm -rf --one-file-system "$root"' EXIT
suite=$(sed -n 's/^FROM python:.*-slim-\([a-z]*\) .*/\1/p' deploy/Dockerfile)

# The image of Python has Python in /usr/local; here, an environment beside the Python of Debian takes its place.
debootstrap --variant=minbase --include=ca-certificates,python3-venv "$suite" "$root" >/dev/null
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
mkdir -p "$root/usr/src/roslin"
git archive HEAD | tar -x -C "$root/usr/src/roslin"

in_image() {
    env -i PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$@"
}

# build IMAGE: the steps of one image.
build() {
    while IFS= read -r step; do
        echo "RUN $step" >&2
        in_image "$root" sh -ec "$step" </dev/null
    done < <(awk -v image="$1" '/^FROM /{ours = $NF == image} ours' deploy/Dockerfile |
        sed -e ':join' -e '/\\$/{N;s/\\\n *//;b join}' | sed -n 's/^RUN //p')
}

# try FOLDER COMMANDS: as the user of the images. `serve` starts a server, waits until it is healthy, and ends it.
try() {
    mkdir "$root/$1"
    chown 1000:1000 "$root/$1"
    in_image --userspec=1000:1000 "$root" sh -ec "cd /$1; export HOME=/home/roslin
        serve() {
            roslin \"\$@\" --port 18123 & server=\$!
            until python3 -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:18123/healthz')\" 2>/dev/null
            do kill -0 \$server; sleep 0.5; done
            kill \$server; wait \$server
        }
        $2"
}

in_image "$root" python3 -m venv /usr/local
build search
try library "roslin --version; roslin demo >/dev/null; roslin doctor demo/starter.roslin; serve serve demo/starter.roslin"
build study
try study "roslin experiment example mine >/dev/null; roslin experiment create mine/study.toml >/dev/null 2>&1
    serve experiment serve mine/starter.study; pg_dump --version"

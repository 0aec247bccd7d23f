#!/usr/bin/env bash
# Install the locked packages into .venv; if nothing changed, this takes a few hundredths of a second.
#     scripts/setup.sh runtime    packages of the site, its tasks and the demo
#     scripts/setup.sh dev        also test tools, linters, types, and the packages of generation
#     scripts/setup.sh generation packages of the site, and those that draw images and talk to model servers
#     scripts/setup.sh video      packages of the site, and PyAV, which reads film clips
# Prints to stderr only, so that stdout is free for the command that follows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec 1>&2

TORCH=2.13.0      # installed alone and first, without a hash: each platform has its own build
DISK_GB=6
VENV=.venv

fail() { echo "setup: $*"; exit 1; }

case "${1:-}" in
    runtime) layers="torch base ml" ;;
    dev) layers="torch base ml generation dev" ;;
    generation) layers="torch base ml generation" ;;
    video) layers="torch base ml video" ;;
    *) fail "use scripts/setup.sh runtime, dev, generation or video" ;;
esac

# A layer's stamp file has torch's installed version, or the hash of the installed lock file.
required() {
    if [ "$1" = torch ]; then echo "$TORCH"; else sha256sum <"requirements/$1.txt" | cut -c 1-64; fi
}
installed() { [ -f "$VENV/.$1.stamp" ] && [ "$(cat "$VENV/.$1.stamp")" = "$(required "$1")" ]; }

supported() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

find_python() {
    local name
    for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
        if command -v "$name" >/dev/null && supported "$name"; then echo "$name"; return; fi
    done
}

free_gb() { echo $(( $(df -Pk . | awk 'NR == 2 { print $4 }') / 1024 / 1024 )); }

build_venv() {
    local python
    python=$(find_python)
    [ -n "$python" ] || fail "no Python 3.11, 3.12 or 3.13 found: apt-get install python3, or name one with PYTHON=/path/to/python"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || fail "python3-venv is missing: apt-get install python3-venv"
    [ "$(free_gb)" -ge "$DISK_GB" ] || fail "less than $DISK_GB GB of disk are free here ($(free_gb) GB): make room, then run the same command again"
    echo "setup: $VENV with $("$python" -V) (the first time takes some minutes)"
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
}

pip_install() { "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

install_layer() {
    rm -f "$VENV/.$1.stamp"
    if [ "$1" = torch ]; then
        echo "setup: torch $TORCH"
        pip_install "torch==$TORCH"
    else
        echo "setup: requirements/$1.txt"
        # --no-deps: the locks are complete, and only the line above may install torch
        pip_install --no-deps --require-hashes -r "requirements/$1.txt"
    fi
    required "$1" >"$VENV/.$1.stamp"
}

# A moved or copied environment, or one whose Python is gone, is rebuilt, never repaired.
if ! { supported "$VENV/bin/python" && grep -qsF "$PWD/$VENV/" "$VENV/bin/pip"; }; then build_venv; fi
# Commands of the environment find the packages of this folder, as `python -m` does: .venv/bin/pytest, for one.
for folder in "$VENV"/lib/python3*/site-packages; do [ ! -d "$folder" ] || echo "$PWD" >"$folder/deerstalker.pth"; done

changed=
for layer in $layers; do
    if ! installed "$layer"; then install_layer "$layer"; changed=yes; fi
done
if [ -n "$changed" ] && ! "$VENV/bin/python" -m pip check --disable-pip-version-check; then
    rm -f "$VENV"/.*.stamp
    fail "the installed packages conflict (above): run make clean, then the same command again"
fi

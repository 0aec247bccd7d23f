#!/usr/bin/env bash
# Update requirements/{base,ml,generation,dev,video}.txt from the .in files: exact versions with hashes, for Python 3.11 to 3.13.
#     scripts/lock.sh             keep the locked versions, add new packages of the .in files
#     scripts/lock.sh --upgrade   take the newest versions that the ranges allow
# The environment variable UV names uv; otherwise it is installed into a temporary environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../requirements"

if [ -z "${UV:-}" ]; then
    throwaway=$(mktemp -d)
    trap 'rm -rf "$throwaway"' EXIT
    "${PYTHON:-python3}" -m venv "$throwaway"
    "$throwaway/bin/python" -m pip install --quiet uv
    UV=$throwaway/bin/uv
fi

for layer in base ml generation dev video; do
    # --universal with the fewest versions: one lock for every supported Python. No header and no index lines, so
    # that the files do not name a package index.
    "$UV" pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
        --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --override overrides.txt --output-file "$layer.txt" "$@" "$layer.in"
    { printf '# Locked by scripts/lock.sh from %s.in: do not edit. torch 2.13.0 is installed first, by itself.\n' "$layer"
      grep -v '^#' "$layer.txt"; } > "$layer.txt.new"
    mv "$layer.txt.new" "$layer.txt"
done

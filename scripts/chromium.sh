#!/usr/bin/env bash
# The browser tests drive the system's Chromium. Found: nothing to do. Missing: as root it is installed from the
# system's packages; otherwise one loud line, and those tests skip themselves. Never fails; speaks on stderr only.
set -uo pipefail
exec 1>&2

works() {
    local name
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null && timeout 60 "$name" --version >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

loud() { printf '\n*** BROWSER TESTS WILL BE SKIPPED: %s ***\n\n' "$1"; }

works && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    loud "no Chromium here (apt-get install chromium fonts-liberation)"
    exit 0
fi
echo "setup: Chromium from the system's packages, for the browser tests"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends chromium fonts-liberation >/dev/null
works || loud "Chromium could not be installed from the system's packages"
exit 0

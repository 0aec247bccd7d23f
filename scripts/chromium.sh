#!/usr/bin/env bash
# The browser tests drive the system's Chromium through Playwright, whose driver needs libatomic. If one is missing,
# root installs both from the system's packages; other users get a warning, and the tests are skipped. Never fails;
# prints to stderr only.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec 1>&2

runs() { command -v "$1" >/dev/null && timeout 60 "$1" --version >/dev/null 2>&1; }
driver() { local node; for node in .venv/lib/python3*/site-packages/playwright/driver/node; do runs "$node"; return; done; }
works() { { runs chromium || runs chromium-browser; } && driver; }
loud() { printf '\n*** BROWSER TESTS WILL BE SKIPPED: %s ***\n\n' "$1"; }

packages="chromium fonts-liberation libatomic1"

works && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    loud "no working Chromium here (apt-get install $packages)"
    exit 0
fi
echo "setup: Chromium from the system's packages, for the browser tests"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends $packages >/dev/null
works || loud "Chromium could not be installed from the system's packages ($packages)"
exit 0

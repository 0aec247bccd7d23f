#!/usr/bin/env bash
# Install what the browser tests need: the system's Chromium, and libatomic for Playwright's driver. If either is
# missing, root installs both from the system's packages; other users get a warning, and the tests are skipped. The
# script never fails and prints to stderr only.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec 1>&2

can_run() { command -v "$1" >/dev/null && timeout 60 "$1" --version >/dev/null 2>&1; }
has_driver() { local node; for node in .venv/lib/python3*/site-packages/playwright/driver/node; do can_run "$node"; return; done; }
is_usable() { { can_run chromium || can_run chromium-browser; } && has_driver; }
warn_skipped() { printf '\n*** BROWSER TESTS WILL BE SKIPPED: %s ***\n\n' "$1"; }

packages="chromium fonts-liberation libatomic1"

is_usable && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    warn_skipped "no working Chromium here (apt-get install $packages)"
    exit 0
fi
echo "setup: Chromium from the system's packages, for the browser tests"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends $packages >/dev/null
is_usable || warn_skipped "Chromium could not be installed from the system's packages ($packages)"
exit 0

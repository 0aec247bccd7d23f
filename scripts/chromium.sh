#!/usr/bin/env bash
# Install what the browser tests need: the system's Chromium, and libatomic for Playwright's driver. Debian's package of
# the headless shell alone uses a sixth of the processor time; where there is none, the whole browser serves as well.
# What is missing is installed by root from the system's packages; other users get a warning, and the tests are skipped.
# The script never fails and prints to stderr only.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec 1>&2

can_run() { command -v "$1" >/dev/null && timeout 60 "$1" --version >/dev/null 2>&1; }
has_driver() { local node; for node in .venv/lib/python3*/site-packages/playwright/driver/node; do can_run "$node"; return; done; }
has_shell() { can_run chromium-headless-shell && has_driver; }
is_usable() { has_shell || { { can_run chromium || can_run chromium-browser; } && has_driver; }; }
can_install() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }
install() { apt-get install -qq -y --no-install-recommends fonts-liberation libatomic1 "$@" >/dev/null; }
warn_skipped() { printf '\n*** BROWSER TESTS WILL BE SKIPPED: %s ***\n\n' "$1"; }

has_shell && exit 0
if ! can_install; then
    is_usable || warn_skipped "no working Chromium here (apt-get install chromium fonts-liberation libatomic1)"
    exit 0
fi
if is_usable && ! apt-cache show chromium-headless-shell >/dev/null 2>&1; then exit 0; fi
echo "setup: Chromium from the system's packages, for the browser tests"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null
install chromium-headless-shell || is_usable || install chromium
is_usable || warn_skipped "Chromium could not be installed from the system's packages (chromium or chromium-headless-shell)"
exit 0

"""The system's Chromium, and the flags under which it runs quietly without a screen or a network."""

import shutil

# The shell draws the same pages without a browser's own windows, for a sixth of the processor time.
_COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = next(filter(None, map(shutil.which, _COMMANDS)), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Form fields, the account and updates are asked about at Google's otherwise. Chromium's look whether the machine
    # has IPv6 stays: it connects a UDP socket, and sends nothing.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1",
]

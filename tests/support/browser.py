"""The system's Chromium, and the flags under which it runs quietly without a screen or a network."""

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
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

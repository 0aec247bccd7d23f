"""Adds file names to messages about their contents."""

from collections.abc import Mapping
from pathlib import Path


def add_file_path(message: str, files: Mapping[str, Path | None]) -> str:
    """Return the message with the path after the input's name.

    Checks of arrays and keys do not know the files: "features: row 4 is all zeros" becomes
    "features (F.npy): row 4 is all zeros". files: paths by the names used in checks.
    """
    for label, path in files.items():
        if path is not None and message.startswith(f"{label}:"):
            return f"{label} ({path}){message.removeprefix(label)}"
    return message

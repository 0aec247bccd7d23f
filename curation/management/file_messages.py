"""Put the file's name into a message about what was in it."""

from collections.abc import Mapping
from pathlib import Path


def add_file_path(message: str, files: Mapping[str, Path | None]) -> str:
    """Return the message with the path behind the input it begins with.

    The checks of arrays and keys know no files: "features: row 4 is all zeros" becomes
    "features (F.npy): row 4 is all zeros". files: path by the name that the checks use.
    """
    for label, path in files.items():
        if path is not None and message.startswith(f"{label}:"):
            return f"{label} ({path}){message.removeprefix(label)}"
    return message

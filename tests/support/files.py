"""What tests ask of folders and of messages about them."""

from pathlib import Path


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder by its name."""
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def is_one_line(error: BaseException) -> bool:
    """Say whether a message is one line that a person can read."""
    return bool(str(error)) and "\n" not in str(error) and len(str(error)) < 400

"""Restrict file access to one folder, also through links."""

from pathlib import Path

from curation.records import InvalidInput


class PathSandbox:
    """Rejects files outside of a folder, after following links.

    root: the folder; if empty, all paths are allowed.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).resolve() if str(root) else None

    def check(self, path: Path) -> None:
        """Check that a path is inside the folder; the file may be missing.

        Raises:
            InvalidInput: the path is outside.
        """
        if not self.contains(path):
            raise InvalidInput(
                f"{path}: is outside of {self._root}; put the file itself there, not a link to it"
            )

    def contains(self, path: Path) -> bool:
        """Whether a path is inside the folder."""
        if self._root is None:
            return True
        try:
            return path.resolve().is_relative_to(self._root)
        except (OSError, RuntimeError, ValueError):  # a link to itself, a NUL
            return False

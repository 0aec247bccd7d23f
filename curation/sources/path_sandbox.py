"""Keep within one folder, whatever links say."""

from __future__ import annotations

from pathlib import Path

from curation.records import InvalidInput


class PathSandbox:
    """Refuses files that lie outside of a folder once links are followed.

    root: the folder; when empty, files may lie anywhere.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).resolve() if str(root) else None

    def check(self, path: Path) -> None:
        """See that a file, or the place of one that is not there, lies inside.

        Raises:
            InvalidInput: it does not.
        """
        if not self.contains(path):
            raise InvalidInput(
                f"{path}: lies outside of {self._root}; put the file itself there, not a link to it"
            )

    def contains(self, path: Path) -> bool:
        """Whether a file lies inside."""
        if self._root is None:
            return True
        try:
            return path.resolve().is_relative_to(self._root)
        except (OSError, RuntimeError, ValueError):  # a link to itself, a NUL
            return False
